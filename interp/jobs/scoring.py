"""`score`: another grader reads the stored answers; no model is asked."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from interp.audited import KEY, VERDICT, VERDICTS, AuditRun
from interp.errors import BadInput, RunError
from interp.jobs.auditing import write_readings
from interp.log import table_schema
from interp.procedure import Procedure
from interp.question import Outcome, Question, Reason, Verdict
from interp.run import Run
from interp.tasks.task import Task

Grader = Callable[[Question, str, str], Any]
"""Question, answer and finish ("stop" or "length") to a `Verdict`, or to True or False."""


def score(path: str | Path, *, grader: Grader | str | None = None, name: str = "") -> tuple[AuditRun, int]:
    """Reads every answer of an audit again; the log stays as it is.

    Verdicts are written beside it, and every reading and the page anew. Scored by the grader of its log, the
    run is as it was before any scoring.

    Args:
        path: The run directory.
        grader: A function, or the line "module:function" that names one; this package's grader unless given.
        name: Name of the grader, stored with each verdict; its module and name unless given.

    Returns:
        The run, and how many outcomes differ from the log's.

    Raises:
        BadInput: The grader cannot be found, or gives neither a verdict nor True or False.
        RunError: There is no audit at the path, it is being written to, or cannot be written.
    """
    AuditRun.read(path)  # refuses runs of another kind
    with Run.reopen(path) as run:
        function, version = _grader(run, grader, name)
        table = run.table()
        verdicts = _verdicts(table, run.questions, function, version)
        differs = verdicts["outcome"] != table["outcome"]
        if verdicts.equals(table.select(*KEY, *VERDICT)):
            (run.path / VERDICTS).unlink(missing_ok=True)
        else:
            run.write_parquet(VERDICTS, verdicts)
        audited = AuditRun(run)
        write_readings(audited)
    return audited, int(differs.sum())


def _grader(run: Run, grader: Grader | str | None, name: str) -> tuple[Grader, str]:
    if grader is None:
        prompt = Procedure.from_json({"prompt": run.plan["procedure"].get("prompt", {})}).prompt
        task = Task(run.plan["task"]["name"], run.questions, prompt)
        return lambda q, text, finish: task.grade(
            q, text, "length" if finish == "length" else "stop"
        ), task.grader
    if not isinstance(grader, str):
        return grader, name or f"{grader.__module__}:{getattr(grader, '__name__', 'grader')}"
    module, _, function = grader.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
        inspect.signature(found).bind(None, "", "stop")
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise BadInput(
            f"The grader {grader!r} cannot be used ({error}). Name a function of question, text and finish "
            "as module:function, in a folder where Python finds it (PYTHONPATH)."
        ) from error
    return found, name or grader


def _verdicts(
    table: pl.DataFrame, questions: tuple[Question, ...], grader: Grader, version: str
) -> pl.DataFrame:
    """One verdict an attempt; each different answer to a question is read once."""
    by_id = {question.id: question for question in questions}
    seen: dict[tuple[str, str, str], Verdict] = {}
    rows: list[dict[str, Any]] = []
    for probe, i, draw, text, finish in table.select(*KEY, "text", "finish").iter_rows():
        if (i, text, finish) not in seen:
            if i not in by_id:
                raise RunError(f"The log asks {i!r}, which is not among the run's questions.")
            seen[i, text, finish] = _verdict(grader, by_id[i], text, finish)
        verdict = seen[i, text, finish]
        rows.append(
            {
                **dict(zip(KEY, (probe, i, draw), strict=True)),
                "outcome": verdict.outcome.value,
                "reason": verdict.reason and verdict.reason.value,
                "answer": verdict.answer,
                "span": verdict.span and list(verdict.span),
                "grader": version,
            }
        )
    schema = table_schema()
    return pl.DataFrame(rows, schema={key: schema[key] for key in (*KEY, *VERDICT)})


def _verdict(grader: Grader, question: Question, text: str, finish: str) -> Verdict:
    """What a grader says; one that fails on an answer makes it unreadable."""
    try:
        said = grader(question, text, finish)
    except Exception:
        return Verdict(Outcome.UNREADABLE, Reason.ERROR)
    if isinstance(said, Verdict):
        return said
    if isinstance(said, bool):
        return Verdict(Outcome.RIGHT if said else Outcome.WRONG, answer=" ".join(text.split()) or None)
    raise BadInput(
        f"The grader said {said!r} of question {question.id!r}. It must give a Verdict, True or False."
    )
