"""Checks a question file row by row: `check_questions`, its report, and how a row becomes a question."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from interp.question import Kind, Question
from interp.tasks.file_notes import describe_file
from interp.tasks.grading import canonical
from interp.tasks.row import Problem, Row
from interp.tasks.row_fields import RowError
from interp.tasks.row_question import Draft, Finished, draft_row, find_habits, finish
from interp.tasks.rows import read_rows

_SHOWN = 10
_In = TypeVar("_In", Row, Draft)
_Out = TypeVar("_Out")
_Answer: TypeAlias = tuple[Kind, frozenset[str | None]]


@dataclass(frozen=True)
class QuestionReport:
    """What a question file holds and what is wrong with it.

    Attributes:
        file: The file's path.
        n_rows: Rows found, unusable ones included.
        questions: The usable questions, in file order; a row that repeats an earlier one is left out.
        problems: Errors, warnings and notes, in file order.
    """

    file: str
    n_rows: int
    questions: tuple[Question, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that make rows, or the file, unusable."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems that do not."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def notes(self) -> tuple[Problem, ...]:
        """How names and golds were understood where the file leaves it to the reader."""
        return tuple(problem for problem in self.problems if problem.severity == "note")

    @property
    def usable(self) -> bool:
        """Whether the file can be loaded as it is: at least one question and no error."""
        return bool(self.questions) and not self.errors

    @property
    def n_bad_rows(self) -> int:
        """Rows with an error."""
        return len({problem.line for problem in self.errors if not problem.is_of_file})

    @property
    def usable_in_part(self) -> bool:
        """Whether it can be loaded without its bad rows: at most half of all, and no error of the file."""
        is_whole = not any(problem.is_of_file for problem in self.errors)
        return bool(self.questions) and is_whole and 2 * self.n_bad_rows <= self.n_rows

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
            "usable_in_part": self.usable_in_part,
            "n_bad_rows": self.n_bad_rows,
        }
        return head | counts | {"problems": problems}


def check_questions(path: Path | str) -> QuestionReport:
    """Reads a question file and reports every problem in it.

    Raises:
        BadInput: The file does not exist, cannot be opened, or is of no known format.
    """
    path = Path(path)
    rows, problems = read_rows(path)
    n_rows = len(rows) + sum(not problem.is_of_file for problem in problems)
    drafts, wrong = _each(str(path), rows, draft_row)
    habits = find_habits(drafts)
    finished, unclear = _each(str(path), drafts, lambda draft: finish(draft, habits))
    questions, repeated = _different(str(path), finished)
    found = [*problems, *wrong, *unclear, *repeated, *describe_file(str(path), rows, finished, habits)]
    order = sorted(found, key=lambda problem: problem.line or 0)
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


def _each(file: str, items: Iterable[_In], step: Callable[[_In], _Out]) -> tuple[list[_Out], list[Problem]]:
    """What a step makes of each item, and what is wrong with those of which it makes nothing."""
    made: list[_Out] = []
    problems: list[Problem] = []
    for item in items:
        try:
            made.append(step(item))
        except RowError as error:
            problems += [Problem("error", file, item.line, *what) for what in error.problems]
    return made, problems


def _different(file: str, finished: Sequence[Finished]) -> tuple[list[Question], list[Problem]]:
    """The questions that stand once, with ids; and what is wrong with those that stand again.

    A question that stands again with the same gold is left out; with another one nobody knows which is right,
    and both are refused.
    """
    groups: dict[str, dict[_Answer, Finished]] = {}
    for done in finished:
        groups.setdefault(done.question.text, {}).setdefault(_answer(done.question), done)
    questions: list[Question] = []
    problems: list[Problem] = []
    places: dict[str, int] = {}
    for done in finished:
        problem = _repeated(file, done, groups[done.question.text])
        question = done.question if done.question.id else _named(done.question)
        if problem is None and question.id in places:
            message = f"{question.id!r} already stands on line {places[question.id]}; ids must be unique"
            problem = Problem("error", file, done.line, "id", "duplicate id", message)
        if problem is None:
            places[question.id] = done.line
            questions.append(question)
        else:
            problems.append(problem)
    return questions, problems


def _repeated(file: str, done: Finished, same: Mapping[_Answer, Finished]) -> Problem | None:
    """What to say of a question whose text stands elsewhere too; None of the first, if all agree.

    Args:
        file: The file's path.
        done: The question.
        same: The first question with this text for each different answer.
    """
    first = next(iter(same.values()))
    if len(same) > 1:
        other = next(other for answer, other in same.items() if answer != _answer(done.question))
        golds = f"{done.question.gold[0]!r}, there {other.question.gold[0]!r}"
        message = f"is the question of line {other.line} with another gold ({golds})"
        return Problem("error", file, done.line, "question", "contradiction", message)
    if done is first:
        return None
    message = f"is the question of line {first.line} again; it is left out"
    return Problem("warning", file, done.line, "question", "repeated question", message)


def _answer(question: Question) -> _Answer:
    """Its kind, and its golds in the spelling of verdicts: 1 and 1.0 are one answer."""
    return question.kind, frozenset(canonical(question, gold) for gold in question.gold)


def _named(question: Question) -> Question:
    """The question with an id from its text, the same wherever the row stands."""
    digest = hashlib.sha256(question.text.encode()).hexdigest()[:10]
    return replace(question, id=f"q-{digest}")


def _counts(values: Iterable[str]) -> Mapping[str, int]:
    return dict(Counter(values).most_common())
