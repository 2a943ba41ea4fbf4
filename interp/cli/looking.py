"""`interp grade`, `interp check` and `interp tasks`: what needs no model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from interp.cli.app import app


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
        print(f"Its {report.n_bad_rows} bad rows are left out of a run, unless --strict.")
    if not report.usable:
        print(f"{file} cannot be used.", file=sys.stderr)
        raise typer.Exit(2)
    print("It can be used.")


@app.command()
def tasks() -> None:
    """List the built-in tasks and the benchmarks, with their knobs."""
    from rich.console import Console
    from rich.table import Table

    from interp.tasks.load import BENCHMARKS, TASKS

    table = Table("task", "questions", "knobs, the default first", "what it asks")
    for name, family in {**TASKS, **BENCHMARKS}.items():
        knobs = " ".join(f"{knob}={'|'.join(values)}" for knob, values in family.knobs.items())
        marked = f"{family.description} [two options]" if family.binary else family.description
        table.add_row(name, str(family.n), knobs, marked.replace("[", r"\["))
    Console().print(table)
