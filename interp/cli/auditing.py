"""`interp audit`, `interp score` and `interp compare`: what is realized, and what is reachable."""

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
from interp.errors import BadInput

if TYPE_CHECKING:
    from rich.table import Table

    from interp.audited import AuditRun


@app.command()
def audit(
    model: Annotated[str, typer.Argument(help="smollm2, tiny:llama, a folder, a .gguf file, or owner/model")],
    task: Annotated[str, typer.Option(help="a task or benchmark (see `interp tasks`), or a question file")],
    out: Annotated[Path, typer.Option(help="the run directory")],
    probe: Annotated[
        list[str] | None,
        typer.Option(help="sampling:32, silencing, random_routes:32, cola:32, ...; repeatable"),
    ] = None,
    n: Annotated[int | None, typer.Option(help="questions to ask; the task's default unless given")] = None,
    temperature: Annotated[float, typer.Option(help="of the deployed procedure; 0 is greedy")] = 0.0,
    top_p: Annotated[float, typer.Option(help="of the deployed procedure")] = 1.0,
    top_k: Annotated[int, typer.Option(help="of the deployed procedure; 0 keeps all")] = 0,
    min_p: Annotated[float, typer.Option(help="of the deployed procedure")] = 0.0,
    rule: Annotated[str, typer.Option(help="how draws make one answer: first, or majority:8")] = "first",
    silence: Annotated[list[int] | None, typer.Option(help="an MLP block to silence throughout")] = None,
    edit: Annotated[list[str] | None, typer.Option(help="an edit throughout, 'L7.mlp_out*0.5'")] = None,
    route: Annotated[str | None, typer.Option(help="order of the layers throughout, '0-11,8-29'")] = None,
    clusters: Annotated[
        str, typer.Option(help="questions drawn together: auto, template, subject or none")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="seed of questions and draws")] = 0,
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
) -> None:
    """Audit, question by question, what MODEL answers and what it could have answered."""
    from interp.intervention import parse_intervention
    from interp.intervention import silence as silenced
    from interp.jobs.auditing import AuditPlan
    from interp.jobs.auditing import audit as run_audit
    from interp.models.load import LoadOptions, load
    from interp.progress import watch
    from interp.readings.running import RunningReach
    from interp.route import Route

    kind, n_draws = _rule(rule)
    plan = AuditPlan(
        probes=tuple(probe or ("sampling:32",)),
        rule=kind,
        n_draws=n_draws,
        interventions=(*map(silenced, silence or ()), *map(parse_intervention, edit or ())),
        route=None if route is None else Route.parse(route),
        seed=seed,
        clusters=one_of("--clusters", clusters, ("auto", "template", "subject", "none")),
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
    drawn = {"temperature": temperature, "top_p": top_p, "top_k": top_k, "min_p": min_p}
    if max_new_tokens is not None:
        drawn["max_new_tokens"] = max_new_tokens
    asked = replace(asked, decoding=replace(asked.decoding, **drawn))
    print(f"Loading {model} ...", file=sys.stderr)
    loaded = load(model, LoadOptions(dtype, device, download, allow_pickle, trust_remote_code))
    with watch(RunningReach()) as watcher:
        run = run_audit(loaded, asked, out=out, plan=plan, watcher=watcher)
    print_audit(run)


@app.command()
def score(
    run: Annotated[Path, typer.Argument(help="a run of audit")],
    grader: Annotated[
        str | None, typer.Option(help="module:function of your own; the grader of this version unless given")
    ] = None,
) -> None:
    """Read every answer of RUN again with another grader, without the model."""
    from interp.jobs.scoring import score as run_score

    scored, changed = run_score(run, grader=grader)
    print(
        f"{scored.table.height} attempts read by {scored.grader}; {changed} outcomes differ from the log's."
    )
    print_audit(scored)


@app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="a run of audit: the base model, or the plain one")],
    after: Annotated[list[Path], typer.Argument(help="runs of audit: trained, or with a block silenced")],
    out: Annotated[Path, typer.Option(help="the folder for tables and page")],
    allow: Annotated[
        list[str] | None, typer.Option(help="a difference between the evaluations to accept; repeatable")
    ] = None,
) -> None:
    """Compare audits of the same questions: what changed, and where the gain came from."""
    from rich.console import Console
    from rich.text import Text

    from interp.jobs.comparing import compare as run_compare
    from interp.readings.changed_words import changed_sentences

    compared = run_compare(before, after, out=out, allow=allow or ())
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else 110)
    for page, found in zip(compared.pages, compared.comparisons, strict=True):
        console.print(Text(f"{found.before} -> {found.after}"))
        for i, sentence in enumerate(changed_sentences(found)):
            shown = Text(sentence.replace("\u2212", "-"), style="bold" if i == 0 else "")
            console.print(shown, soft_wrap=not terminal)
        console.print(Text(f"\nPage: {page}\n"), soft_wrap=True)


def print_audit(run: AuditRun) -> None:
    """Reach with its controls, what selectors keep, the audit in words, and where the page is."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from interp.readings.words import sentences

    found = run.audit
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else 110)
    table = Table(
        "probe", "k", "reaches", "95%", "wrong targets", "guessing", "pass@1", "majority", "confirmed",
        title=f"{found.n_questions} questions, {found.realized:.2f} answered as deployed",
    )  # fmt: skip
    for reached in found.probes:
        numbers = (reached.decoy, reached.floor, reached.first, reached.majority, reached.confirmed)
        low, high = reached.reach_interval
        cells = [f"{reached.reach:.2f}", f"{low:.2f}-{high:.2f}", *map(_number, numbers)]
        table.add_row(Text(reached.probe.title), str(reached.k), *cells)
    if found.probes:
        console.print(table, "")
    for name, shown in run.probes.items():
        rows = run.selectors().filter(probe=name).head(5)
        kept = Table(
            f"picks of {shown.title}",
            "right",
            "of the gain",
            "made wrong",
            "gained",
            "lost",
            "p (Holm)",
            box=None,
        )
        for row in rows.iter_rows(named=True):
            numbers = (row["accuracy"], row["recovered"], row["harm"])
            counts = ("-" if row[c] is None else str(row[c]) for c in ("gained", "lost"))
            kept.add_row(Text(row["selector"]), *map(_number, numbers), *counts, _number(row["p_holm"]))
        console.print(kept, "")
    if run.search_pairs:
        console.print(_contrasted(run), "")
    for warning in run.warnings:
        console.print(Text(f"Note: {warning}"), soft_wrap=not terminal)
    for i, sentence in enumerate(sentences(found)):
        console.print(
            Text(sentence.replace("\u2212", "-"), style="bold" if i == 0 else ""), soft_wrap=not terminal
        )
    console.print()
    console.print(Text(f"Page: {run.page}"), soft_wrap=True)


def _contrasted(run: AuditRun) -> Table:
    """Searches against probes that know no answer, budgets matched in attempts."""
    from rich.table import Table
    from rich.text import Text

    found = run.contrast().filter(matched="attempts")
    table = Table(
        "search (oracle)", "against", "k", "reaches", "other", "difference", "95%", "p",
        f"less than {found['margin'][0]:.2f} worse", box=None,
    )  # fmt: skip
    for row in found.iter_rows(named=True):
        ends = f"{row['low']:+.2f} to {row['high']:+.2f}"
        shares = (row["reach"], row["reach_other"])
        said = "yes" if row["non_inferior"] else "not shown"
        table.add_row(
            Text(row["search"]), Text(row["other"]), str(row["k"]), *map(_number, shares),
            f"{row['difference']:+.2f}", ends, _number(row["p"]), said,
        )  # fmt: skip
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _rule(line: str) -> tuple[Any, int]:
    """The rule for one answer, and the draws that it takes."""
    name, _, count = line.partition(":")
    if name == "first" and not count:
        return name, 1
    if name == "majority" and count.isdecimal() and int(count) > 1:
        return name, int(count)
    raise BadInput(f"--rule is first, or majority with a number of draws as in majority:8, not {line!r}.")
