"""Checks a question file row by row: `check_questions`, its report, and how a row becomes a question."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from interp.question import Kind, Question
from interp.tasks.grading import canonical
from interp.tasks.row_question import FIELDS, RowError, question_from_row
from interp.tasks.rows import Problem, Row, read_rows

_SHOWN = 10


@dataclass(frozen=True)
class QuestionReport:
    """What a question file holds and what is wrong with it.

    Attributes:
        file: The file's path.
        n_rows: Rows found, unusable ones included.
        questions: The usable questions, in file order; a row that repeats an earlier one is left out.
        problems: Errors and warnings, in file order.
    """

    file: str
    n_rows: int
    questions: tuple[Question, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that make the file unusable."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def usable(self) -> bool:
        """Whether the file can be loaded: at least one question and no error."""
        return bool(self.questions) and not self.errors

    @property
    def kinds(self) -> Mapping[str, int]:
        """Questions of each kind."""
        return _counts(str(question.kind) for question in self.questions)

    @property
    def golds(self) -> Mapping[str, int]:
        """Questions of each gold (the first of its alternatives), commonest first."""
        return _counts(question.gold[0] for question in self.questions)

    @property
    def subjects(self) -> Mapping[str, int]:
        """Questions of each subject; "" counts those without one."""
        return _counts(question.subject for question in self.questions)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value: counts and problems, without the questions."""
        counts = {name: dict(getattr(self, name)) for name in ("kinds", "golds", "subjects")}
        problems = [asdict(problem) for problem in self.problems]
        head = {
            "file": self.file,
            "n_rows": self.n_rows,
            "n_questions": len(self.questions),
            "usable": self.usable,
        }
        return head | counts | {"problems": problems}


def check_questions(path: Path | str) -> QuestionReport:
    """Reads a question file and reports every problem in it.

    Raises:
        BadInput: The file does not exist, cannot be opened, or is of no known format.
    """
    path = Path(path)
    rows, problems = read_rows(path)
    n_rows = len(rows) + sum(p.line is not None and p.rule in ("json", "object", "fields") for p in problems)
    questions: list[Question] = []
    places: dict[str, int] = {}
    texts: dict[str, tuple[int, Question]] = {}
    for row in rows:
        try:
            question = question_from_row(row.values)
        except RowError as error:
            problems += [Problem("error", str(path), row.line, *what) for what in error.problems]
            continue
        repeated = _repeated(path, row.line, question, texts)
        if repeated is not None:
            problems.append(repeated)
            continue
        question = question if question.id else _named(question)
        if question.id in places:
            message = f"{question.id!r} already stands on line {places[question.id]}; ids must be unique"
            problems.append(Problem("error", str(path), row.line, "id", "duplicate id", message))
            continue
        places[question.id] = row.line
        texts[question.text] = row.line, question
        questions.append(question)
    problems += _unknown_fields(path, rows)
    problems += _mixed_kinds(path, rows, questions)
    order = sorted(problems, key=lambda problem: problem.line or 0)
    return QuestionReport(str(path), n_rows, tuple(questions), tuple(order))


def summary(problems: Iterable[Problem]) -> str:
    """The problems, one a line, at most ten of a kind."""
    shown: list[str] = []
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.rule] += 1
        if counts[problem.rule] <= _SHOWN:
            shown.append(str(problem))
    more = [
        f"... and {count - _SHOWN} more of this kind: {rule}"
        for rule, count in counts.items()
        if count > _SHOWN
    ]
    return "\n".join(shown + more)


def _repeated(
    path: Path, line: int, question: Question, texts: Mapping[str, tuple[int, Question]]
) -> Problem | None:
    """What to say of a question whose text has stood before."""
    first, other = texts.get(question.text, (0, None))
    if other is None:
        return None
    if other.kind == question.kind and _accepted(other) == _accepted(question):
        message = f"is the question of line {first} again; it is left out"
        return Problem("warning", str(path), line, "question", "repeated question", message)
    message = (
        f"is the question of line {first} with another gold ({question.gold[0]!r}, there {other.gold[0]!r})"
    )
    return Problem("error", str(path), line, "question", "contradiction", message)


def _accepted(question: Question) -> set[str | None]:
    """Its golds in the spelling of verdicts: 1 and 1.0 are one answer."""
    return {canonical(question, gold) for gold in question.gold}


def _named(question: Question) -> Question:
    """The question with an id from its text, the same wherever the row stands."""
    digest = hashlib.sha256(question.text.encode()).hexdigest()[:10]
    return replace(question, id=f"q-{digest}")


def _unknown_fields(path: Path, rows: Iterable[Row]) -> list[Problem]:
    first: dict[str, int] = {}
    for row in rows:
        for name in row.values:
            if name not in FIELDS:
                first.setdefault(name, row.line)
    message = f"is not a field of a question and is not read; known: {', '.join(FIELDS)}"
    return [
        Problem("warning", str(path), line, name, "unknown field", message) for name, line in first.items()
    ]


def _mixed_kinds(path: Path, rows: Iterable[Row], questions: Iterable[Question]) -> list[Problem]:
    """Warns when kinds were inferred and both numbers and texts came out."""
    kinds = Counter(question.kind for question in questions)
    inferred = any(row.values.get("kind") is None for row in rows)
    if not (inferred and kinds[Kind.NUMBER] and kinds[Kind.TEXT]):
        return []
    counts = f"{kinds[Kind.NUMBER]} golds are read as numbers and {kinds[Kind.TEXT]} as text"
    message = f"{counts}; add a kind to each row if that is not meant"
    return [Problem("warning", str(path), None, "kind", "mixed kinds", message)]


def _counts(values: Iterable[str]) -> Mapping[str, int]:
    return dict(Counter(values).most_common())
