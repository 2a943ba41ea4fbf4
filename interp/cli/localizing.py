"""`interp localize`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interp.cli.app import app
from interp.cli.options import (
    AllowPickle,
    Device,
    Download,
    Dtype,
    Strict,
    TrustRemoteCode,
    asked_task,
    one_of,
)

if TYPE_CHECKING:
    from interp.localized import LocalizeRun


@app.command()
def localize(
    model: Annotated[str, typer.Argument(help="smollm2, tiny:llama, a folder, a .gguf file, or owner/model")],
    task: Annotated[str, typer.Option(help="a task or benchmark (see `interp tasks`), or a question file")],
    out: Annotated[Path, typer.Option(help="the run directory")],
    n: Annotated[int | None, typer.Option(help="questions to ask; the task's default unless given")] = None,
    failures: Annotated[
        str, typer.Option(help="wrong, unreadable, not-right, or a file with question ids")
    ] = "wrong",
    scope: Annotated[str, typer.Option(help="positions to silence: prompt, decode or both")] = "both",
    ablation: Annotated[str, typer.Option(help="zero, or mean over all questions")] = "zero",
    max_failures: Annotated[int, typer.Option(help="most failures to sweep over; 0 takes all")] = 48,
    max_successes: Annotated[int, typer.Option(help="most successes; 0 takes as many as failures")] = 0,
    seed: Annotated[int, typer.Option(help="seed of questions, halves and permutations")] = 0,
    batch_size: Annotated[int, typer.Option(help="rows a batch; 0 takes about 256")] = 0,
    system: Annotated[str | None, typer.Option(help="system text, in place of the task's")] = None,
    answer_prefix: Annotated[str | None, typer.Option(help="text with which the answer is begun")] = None,
    examples: Annotated[Path | None, typer.Option(help="question file with few-shot examples")] = None,
    template: Annotated[str | None, typer.Option(help="chat or plain")] = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="longest answer in tokens")] = None,
    strict: Strict = False,
    dtype: Dtype = "float32",
    device: Device = None,
    download: Download = False,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    remote: Annotated[bool, typer.Option(help="run on nnsight's server; nnsight: models only")] = False,
) -> None:
    """Find the MLP block whose silencing repairs what MODEL gets wrong."""
    from interp.intervention import Scope
    from interp.jobs.localizing import ABLATIONS, LocalizePlan
    from interp.jobs.localizing import localize as run_localize
    from interp.localizers.running import RunningRepair
    from interp.models.load import LoadOptions, load
    from interp.progress import watch

    plan = LocalizePlan(
        failures=failures,
        scope=Scope(one_of("--scope", scope, list(Scope))),
        ablation=one_of("--ablation", ablation, ABLATIONS),
        seed=seed,
        max_failures=max_failures or None,
        max_successes=max_successes or None,
        batch_size=batch_size or None,
    )
    asked = asked_task(
        task,
        n=n,
        seed=seed,
        download=download,
        strict=strict,
        system=system,
        answer_prefix=answer_prefix,
        template=template,
        examples=examples,
    )
    if max_new_tokens is not None:
        asked = replace(asked, decoding=replace(asked.decoding, max_new_tokens=max_new_tokens))
    print(f"Loading {model} ...", file=sys.stderr)
    options = LoadOptions(dtype, device, download, allow_pickle, trust_remote_code, remote)
    loaded = load(model, options)
    with watch(RunningRepair()) as watcher:
        run = run_localize(loaded, asked, out=out, plan=plan, watcher=watcher)
    _print_localization(run)


def _print_localization(run: LocalizeRun) -> None:
    """The ranking, what it is compared with, the verdict in words, and where the page is."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from interp.report.controls import compared_rows

    found, repair = run.localization, run.repair()
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else 110)
    table = Table(
        "MLP", "repairs", "95%", "keeps", "net gain", "mostly named", "unreadable",
        title=f"{found.n_failures_asked} failures, {found.n_successes_asked} successes",
    )  # fmt: skip
    marked = {found.best_repair.layer: "repairs most", found.best_net_gain.layer: "gains most"}
    if len(marked) == 1:
        marked = {found.best_repair.layer: "repairs and gains most"}
    shown = repair.head(8)
    if found.best_net_gain.layer not in shown["layer"]:
        shown = shown.vstack(repair.filter(repair["layer"] == found.best_net_gain.layer))
    for row in shown.iter_rows(named=True):
        name = f"{row['layer']:>2} {marked.get(row['layer'], '')}"
        table.add_row(
            Text(name.rstrip(), style="bold" if row["layer"] in marked else ""),
            f"{row['repair']:.2f}",
            f"{row['repair_low']:.2f}-{row['repair_high']:.2f}",
            f"{row['retention']:.2f}",
            f"{row['net_gain']:+.2f}",
            Text(_mostly_named(row)),
            f"{row['n_unreadable_before']} -> {row['n_unreadable_after']}",
        )
    console.print(table, "")
    compared = Table("compared with", "repairs", "95%", "keeps", "net gain", "accuracy", box=None)
    for other in (row for row in compared_rows(found) if not row.mark):
        interval = other.repair.interval.strip("[]").replace(", ", "-")
        numbers = [other.repair.text, interval, other.retention.text, other.net_gain.text]
        cells = [f"{other.label} ({other.role})", *numbers, other.accuracy]
        compared.add_row(*(Text(cell.replace("−", "-")) for cell in cells))
    console.print(compared)
    for warning in run.warnings:
        console.print(Text(f"Note: {warning}"), soft_wrap=not terminal)
    console.print()
    for sentence in found.sentences:
        style = "bold" if sentence == found.headline else ""
        console.print(Text(sentence, style=style), soft_wrap=not terminal)
    console.print()
    console.print(Text(f"Page: {run.page}"), soft_wrap=True)


def _mostly_named(row: dict[str, Any]) -> str:
    """The commonest place among the answers named, else the commonest answer; with shares."""
    from interp.report.rows import ordinal

    if row["position_share_before"] is None or row["position_share_after"] is None:
        before, after, what = repr(row["answer_before"]), repr(row["answer_after"]), "answer"
    else:
        before, after = ordinal(row["position_before"]), ordinal(row["position_after"])
        what = "position"
    return f"{before} {row[f'{what}_share_before']:.2f} -> {after} {row[f'{what}_share_after']:.2f}"
