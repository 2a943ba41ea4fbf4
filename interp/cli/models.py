"""`interp doctor` and `interp export`: models looked at and written."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interp.cli.app import app
from interp.cli.options import AllowPickle, Device, Download, Dtype, TrustRemoteCode
from interp.errors import BadInput

if TYPE_CHECKING:
    from interp.models.checks import Check


@app.command()
def doctor(
    model: Annotated[str, typer.Argument(help="a model, without a backend before it")],
    backends: Annotated[bool, typer.Option(help="compare with TransformerLens and nnsight")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a check")] = False,
    dtype: Dtype = "float32",
    device: Device = None,
    download: Download = False,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Examine MODEL: one page of checks to paste into an issue. Exit code 1 if one fails."""
    from interp.errors import ModelError
    from interp.models.checks import Check as Found
    from interp.models.doctor import examine
    from interp.models.hooks import HooksModel
    from interp.models.load import LoadOptions, load_unchecked

    options = LoadOptions(dtype, device, download, allow_pickle, trust_remote_code)
    try:
        loaded = load_unchecked(model, options)
    except ModelError as error:
        rows = (Found("loads", False, str(error)),)
    else:
        if type(loaded) is not HooksModel:
            raise BadInput(f"The doctor compares the backends itself: name {model.partition(':')[2]!r}.")
        rows = examine(loaded, backends=("lens", "nnsight") if backends else ())
    for row in rows:
        print(json.dumps(asdict(row), ensure_ascii=False) if as_json else _checked_line(row))
    n_failed = sum(row.passed is False for row in rows)
    n_passed = sum(row.passed is True for row in rows)
    print(f"\n{n_passed} checks passed, {n_failed} failed.", file=sys.stderr if as_json else sys.stdout)
    if n_failed:
        raise typer.Exit(1)


def _checked_line(row: Check) -> str:
    sign = {True: "ok", False: "FAIL", None: ""}[row.passed]
    advice = f"\n{' ' * 34}-> {row.advice}" if row.passed is False and row.advice else ""
    return f"{sign:<5}{row.name:<29}{row.value}{advice}"


@app.command()
def export(
    model: Annotated[str, typer.Argument(help="smollm2, tiny:llama, a folder, a .gguf file or a hub id")],
    out: Annotated[Path, typer.Argument(help="the folder to write")],
    silence: Annotated[
        list[int] | None, typer.Option(help="an MLP block to silence; may be repeated")
    ] = None,
    edit: Annotated[list[str] | None, typer.Option(help="an edit, for instance 'L7.mlp_out*0.5'")] = None,
    route: Annotated[str | None, typer.Option(help="order of the layers, for instance '0-11,8-29'")] = None,
    run: Annotated[Path | None, typer.Option(help="the run that this comes from, for the card")] = None,
    dtype: Dtype = "float32",
    device: Device = None,
    download: Download = False,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Write MODEL with its edits as an ordinary checkpoint, which transformers loads by itself."""
    from interp.intervention import parse_intervention
    from interp.intervention import silence as silenced
    from interp.localized import LocalizeRun as Localized
    from interp.models.export import check_free
    from interp.models.export import export as write
    from interp.models.load import LoadOptions, load
    from interp.route import Route

    check_free(out)  # before a large model is loaded
    interventions = [*map(silenced, silence or ()), *map(parse_intervention, edit or ())]
    parsed = Route.parse(route) if route is not None else None
    note = ""
    if run is not None:
        found = Localized.read(run)
        asked = found.run.plan["model"]
        note = f"`{run}`: {found.localization.headline} (`{asked['name']}`, {asked['fingerprint']})"
    print(f"Loading {model} ...", file=sys.stderr)
    loaded = load(model, LoadOptions(dtype, device, download, allow_pickle, trust_remote_code))
    folder = write(loaded, out, interventions=interventions, route=parsed, note=note)
    print(f"Written and compared: {folder}")
    print(f'model = transformers.AutoModelForCausalLM.from_pretrained("{folder}", dtype="auto")')
    print(f'tokenizer = transformers.AutoTokenizer.from_pretrained("{folder}")')
