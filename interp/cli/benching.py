"""`interp bench`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interp.cli.app import app
from interp.cli.options import AllowPickle, Device, Download, Dtype, TrustRemoteCode

if TYPE_CHECKING:
    from rich.console import Console

    from interp.bench.benched import Benched, Timed


@app.command()
def bench(
    model: Annotated[str, typer.Argument(help="smollm2, tiny:llama, a folder, a .gguf file, or owner/model")],
    task: Annotated[str, typer.Option(help="a task (see `interp tasks`), or a question file")] = "comparison",
    shapes: Annotated[str, typer.Option(help="of short, long, few-shot; commas between")] = (
        "short,long,few-shot"
    ),
    against: Annotated[str, typer.Option(help="of transformers, nnsight, TransformerLens")] = (
        "transformers,nnsight,TransformerLens"
    ),
    questions: Annotated[int, typer.Option(help="questions of the sweep")] = 48,
    tokens: Annotated[int, typer.Option(help="longest answer of the long shape")] = 64,
    repeats: Annotated[int, typer.Option(help="how often each is timed")] = 3,
    passes: Annotated[int, typer.Option(help="blocks that a loop silences each time; 0 takes all")] = 3,
    out: Annotated[Path | None, typer.Option(help="a JSON file for all that was measured")] = None,
    dtype: Dtype = "float32",
    device: Device = None,
    download: Download = False,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Time the sweep of MODEL against plain transformers, nnsight and TransformerLens, row by row."""
    from rich.console import Console

    from interp.disk import write_atomic
    from interp.jobs.benching import N_SHOTS, BenchPlan
    from interp.jobs.benching import bench as run_bench
    from interp.models.load import LoadOptions, load
    from interp.tasks.load import load_task

    plan = BenchPlan(_names(shapes), _names(against), questions, tokens, repeats, passes)
    asked = load_task(task, n=questions + (N_SHOTS if "few-shot" in plan.shapes else 0))
    loaded = load(model, LoadOptions(dtype, device, download, allow_pickle, trust_remote_code))
    found = run_bench(loaded, asked, plan=plan, told=lambda line: print(line, file=sys.stderr, flush=True))
    if out is not None:
        write_atomic(out, (json.dumps(found.to_json(), indent=2) + "\n").encode())
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    _print_times(console, found)
    _print_bounds(console, found)


def _names(line: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in line.split(",") if name.strip())


def _print_times(console: Console, found: Benched) -> None:
    """Times, ratios, memory, and how many answers are the same."""
    from rich import box
    from rich.table import Table

    table = Table(
        *("sweep", "by", "rows a batch", "seconds", "times ours", "range", "memory", "same answers"),
        box=box.MARKDOWN,
    )
    ours = {timed.shape: timed for timed in found.timed if timed.name == "interp"}
    for timed in found.timed:
        table.add_row(*_cells(timed, ours[timed.shape]))
    console.print(table)


def _cells(timed: Timed, ours: Timed) -> list[str]:
    seconds, (ratio, low, high) = timed.spread("seconds"), timed.spread("ratios")
    own = timed is ours
    memory = f"{timed.peak_bytes / 2**20:.0f} MB"
    return [
        timed.shape,
        timed.name,
        str(timed.batch_size),
        f"{seconds[0]:.1f} ({seconds[1]:.1f} to {seconds[2]:.1f})",
        "" if own else f"{ratio:.2f} x",
        "" if own else f"{low:.2f} to {high:.2f}",
        memory,
        "" if own else f"{timed.n_same} of {timed.n_rows}",
    ]


def _print_bounds(console: Console, found: Benched) -> None:
    """What bounds our own sweep, where its time goes, and how it grows."""
    from rich import box
    from rich.table import Table

    ours = {timed.shape: timed.spread("seconds")[0] for timed in found.timed if timed.name == "interp"}
    stages = list(found.bounds[0].stages)
    table = Table("sweep", "layer-tokens", "of a loop's", "floor", "floor / time", *stages, box=box.MARKDOWN)
    for bound in found.bounds:
        table.add_row(
            bound.shape,
            f"{bound.n_layer_tokens:,}",
            f"{bound.n_layer_tokens / bound.n_layer_tokens_loop:.2f}",
            f"{bound.floor:.1f} s",
            f"{bound.floor / ours[bound.shape]:.2f}",
            *(f"{bound.stages[stage]:.2f}" for stage in stages),
        )
    console.print(table)
    table = Table("interp, short sweep, as these grow", "how many", "seconds", box=box.MARKDOWN)
    for what, n, seconds in found.growth:
        table.add_row(what, str(n), f"{seconds:.2f}")
    console.print(table)
    rates = found.rates
    console.print(f"Measured: {rates['flops'] / 1e9:.0f} GFLOP/s, {rates['bytes'] / 1e9:.1f} GB/s.")
