"""Question files as tasks: load, and write back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from interp.errors import BadInput, BadQuestions
from interp.procedure import Prompt
from interp.question import Question
from interp.tasks.check import QuestionReport, check_questions, summary
from interp.tasks.rows import FORMATS
from interp.tasks.sample import seeded_sample
from interp.tasks.task import ASKED, LONG_LINE, Task, is_binary

__all__ = ["FORMATS", "load_file", "load_questions", "write_questions"]


def load_questions(path: Path | str) -> tuple[Question, ...]:
    """The questions of a file, in its order; a row that repeats an earlier one is left out.

    A JSONL, CSV or Parquet file with the fields question and gold, and if wanted id, kind (number, choice or
    text), choices, labels, candidates, subject and template. Names that benchmarks use for them are known too
    (`ALIASES` in `interp.tasks.row_fields`). A gold may be a list of alternatives; in a CSV file a list is
    written as JSON. The gold of a choice is a label, an option's text, "B. text", or an index: the file must
    show whether it counts from 0 or 1, or say so in gold_index_base. Choices are put below the question, one
    a line. Values keep their spelling: "007", "1e5" and "NA" stay as they are. A row without an id gets one
    from its text.

    Raises:
        BadInput: The file does not exist, cannot be opened, or is of no known format.
        BadQuestions: Rows cannot be used; all are listed, at most ten of a kind, with file, line and field.
    """
    return _usable(path, strict=True).questions


def load_file(
    path: Path | str, *, n: int | None = None, seed: int = 0, prompt: Prompt = ASKED, strict: bool = False
) -> Task:
    """A question file as a task.

    Args:
        path: The file.
        n: How many of its questions, drawn by the seed; all, in the file's order, unless given.
        seed: Which sample; seeds of different parity share no question while n is at most half of the file.
        prompt: What stands around a question.
        strict: Whether one row that cannot be used is an error. Else such rows are left out, and the warnings
            of the task say which and why.

    Raises:
        BadInput: The file cannot be read, or has fewer than n questions.
        BadQuestions: Rows cannot be used: one if strict, else more than half of them; or none is good; or it
            cannot be told where the rows are.
    """
    report = _usable(path, strict=strict)
    questions = report.questions
    if n is not None and n > len(questions):
        raise BadInput(f"{path} has only {len(questions)} different questions, not {n}; ask for fewer.")
    if n is not None:
        questions = seeded_sample(questions, seed)[:n]
    task = Task(
        str(path),
        questions,
        decoding=LONG_LINE,
        description=f"{len(questions)} questions from {Path(path).name}.",
        binary=is_binary(questions),
        warnings=_left_out(report),
    )
    return task.with_prompt(prompt)


def _usable(path: Path | str, *, strict: bool) -> QuestionReport:
    """The report on a file that can be used.

    Raises:
        BadQuestions: It cannot.
    """
    report = check_questions(path)
    if report.usable or (report.usable_in_part and not strict):
        return report
    head = f"{path} cannot be used: {_count(len(report.errors), 'error')} in {_count(report.n_rows, 'row')}."
    raise BadQuestions(f"{head}\n{summary(report.errors)}")


def _left_out(report: QuestionReport) -> tuple[str, ...]:
    """How many rows were left out, then why, at most ten of a kind; empty if none was."""
    if not report.errors:
        return ()
    rows = "1 bad row is" if report.n_bad_rows == 1 else f"{report.n_bad_rows} bad rows are"
    head = f"{rows} left out of {_count(report.n_rows, 'row')} of {report.file} (--strict refuses it)."
    return head, *summary(report.errors).splitlines()


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def write_questions(path: Path | str, questions: Iterable[Question]) -> None:
    """Writes questions as JSONL that `load_questions` reads back as they are.

    Raises:
        BadInput: The file cannot be written.
    """
    lines = [json.dumps(question.to_json(), ensure_ascii=False) + "\n" for question in questions]
    try:
        Path(path).write_text("".join(lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror}.") from error
