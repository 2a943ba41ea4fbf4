"""The command line: the verbs of `jobs`, with progress on a terminal and plain lines elsewhere.

The only file that prints. Errors that the package raises on purpose are one line and exit code 2.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from interp.errors import BadInput, InterpError

if TYPE_CHECKING:
    from interp.localized import LocalizeRun
    from interp.models.checks import Check
    from interp.tasks.task import Task


class _Interruptible(TyperGroup):
    """Commands that say how to go on when they are stopped; typer alone would leave without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print(f"\ninterp: stopped. Nothing is lost; to go on: {_again()}", file=sys.stderr)
            raise SystemExit(130) from None


Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1; a GPU if there is one")]
Download = Annotated[bool, typer.Option(help="allow fetching the model from the hub")]
AllowPickle = Annotated[bool, typer.Option(help="accept pickled weights, which can run code")]
TrustRemoteCode = Annotated[bool, typer.Option(help="run code that comes with the model")]

app = typer.Typer(
    cls=_Interruptible,
    help="What could a model have answered, what does it answer, and which block stands in between?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Runs the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack the signs of a table
    try:
        app()
    except InterpError as error:
        print(f"interp: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None


@app.command()
def localize(
    model: Annotated[str, typer.Argument(help="smollm2, tiny:llama, a folder, a .gguf file, or owner/model")],
    task: Annotated[str, typer.Option(help="a built-in task (see `interp tasks`), or a question file")],
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
    strict: Annotated[bool, typer.Option(help="stop at a bad row of a question file")] = False,
    dtype: Dtype = "float32",
    device: Device = None,
    download: Download = False,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    remote: Annotated[bool, typer.Option(help="run on nnsight's server; nnsight: models only")] = False,
) -> None:
    """Find the MLP block whose silencing repairs what MODEL gets wrong."""
    from interp.intervention import Scope
    from interp.jobs import ABLATIONS, LocalizePlan
    from interp.jobs import localize as run_localize
    from interp.models.load import LoadOptions, load
    from interp.progress import watch
    from interp.tasks.load import load_task

    plan = LocalizePlan(
        failures=failures,
        scope=Scope(_one_of("--scope", scope, list(Scope))),
        ablation=_one_of("--ablation", ablation, ABLATIONS),
        seed=seed,
        max_failures=max_failures or None,
        max_successes=max_successes or None,
        batch_size=batch_size or None,
    )
    chosen = load_task(task, n=n, seed=seed, strict=strict)
    for warning in chosen.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    asked = _with_prompt(chosen, system, answer_prefix, template, examples)
    if max_new_tokens is not None:
        asked = replace(asked, decoding=replace(asked.decoding, max_new_tokens=max_new_tokens))
    print(f"Loading {model} ...", file=sys.stderr)
    options = LoadOptions(dtype, device, download, allow_pickle, trust_remote_code, remote)
    loaded = load(model, options)
    with watch() as watcher:
        run = run_localize(loaded, asked, out=out, plan=plan, watcher=watcher)
    _print_localization(run)


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


@app.command()
def grade(file: Annotated[Path, typer.Argument(help="JSONL rows as in tests/cases/grading.jsonl")]) -> None:
    """Grade answers: one JSON verdict a row, then the counts. Exit code 1 if an expected verdict differs."""
    from interp.tasks.cases import grade_cases

    rows = grade_cases(file)
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    if any(row.get("agrees") is False for row in rows):
        raise typer.Exit(1)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="a .jsonl, .csv or .parquet question file")]) -> None:
    """Check a question file: rows, kinds, golds, problems by line. Exit code 2 if it cannot be used."""
    from interp.tasks.check import check_questions, summary

    report = check_questions(file)
    print(f"{file}: {report.n_rows} rows, {len(report.questions)} usable questions")
    for name, counts in (("kinds", report.kinds), ("subjects", report.subjects), ("golds", report.golds)):
        shown = [f"{key or '(none)'} {count}" for key, count in list(counts.items())[:8]]
        more = f", and {len(counts) - 8} more" if len(counts) > 8 else ""
        print(f"  {name}: {', '.join(shown) or '(none)'}{more}")
    told = (("errors", report.errors), ("warnings", report.warnings), ("notes", report.notes))
    for heading, problems in told:
        if problems:
            print(f"{len(problems)} {heading}:\n{summary(problems)}")
    if report.usable_in_part and not report.usable:
        print(f"`interp localize` leaves bad rows out ({report.n_bad_rows}), unless --strict.")
    if not report.usable:
        print(f"{file} cannot be used.", file=sys.stderr)
        raise typer.Exit(2)
    print("It can be used.")


@app.command()
def tasks() -> None:
    """List the built-in tasks and their knobs."""
    from rich.console import Console
    from rich.table import Table

    from interp.tasks.load import TASKS

    table = Table("task", "questions", "knobs, the default first", "what it asks")
    for name, family in TASKS.items():
        knobs = " ".join(f"{knob}={'|'.join(values)}" for knob, values in family.knobs.items())
        marked = f"{family.description} [two options]" if family.binary else family.description
        table.add_row(name, str(family.n), knobs, marked.replace("[", r"\["))
    Console().print(table)


def _with_prompt(
    task: Task, system: str | None, answer_prefix: str | None, template: str | None, examples: Path | None
) -> Task:
    """The task with the parts of its prompt that the command line names."""
    from interp.procedure import Template
    from interp.tasks.files import load_questions

    changes: dict[str, Any] = {}
    if system is not None:
        changes["system"] = system or None
    if answer_prefix is not None:
        changes["answer_prefix"] = answer_prefix
    if template is not None:
        changes["template"] = Template(_one_of("--template", template, list(Template)))
    if examples is not None:
        changes["examples"] = tuple((q.text, q.gold[0]) for q in load_questions(examples))
        asked = {question.text for question in task.questions}
        shown = [text for text, _ in changes["examples"] if text in asked]
        if shown:
            raise BadInput(f"The example {shown[0][:60]!r} of {examples} is also a question of the task.")
    return task.with_prompt(replace(task.prompt, **changes)) if changes else task


def _one_of(option: str, value: str, known: Sequence[str]) -> Any:
    if value not in known:
        raise BadInput(f"{option} is one of {', '.join(known)}, not {value!r}.")
    return value


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


def _again() -> str:
    import shlex

    return shlex.join(["interp", *sys.argv[1:]])
