"""Which of two or three numbers is the smallest or the largest: the default task, and its held-out cousin."""

from __future__ import annotations

from collections.abc import Sequence

from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs, chosen, digits_label, with_digits

_PICK = {"smaller": min, "larger": max, "smallest": min, "largest": max}
_DIGITS = ("both", "1", "2", "3")


def _unordered(question: Question) -> str:
    return "-".join(sorted(question.candidates, key=int))


def _question(ask: str, digits: str, numbers: tuple[int, ...], position: int) -> Question | None:
    """The question about these numbers, if they differ and the gold stands at this position."""
    if len(set(numbers)) < len(numbers) or numbers.index(_PICK[ask](numbers)) != position:
        return None
    names = tuple(map(str, numbers))
    which = (
        f"{ask}, {names[0]} or {names[1]}"
        if len(names) == 2
        else f"the {ask}, {', '.join(names[:-1])} or {names[-1]}"
    )
    return Question(
        id=f"{ask}/{'-'.join(names)}",
        text=f"Which number is {which}?",
        kind=Kind.NUMBER,
        gold=(names[position],),
        candidates=names,
        subject=f"{ask} {digits_label(digits)}",
    )


def _cell(ask: str, digits: str, position: int, n_numbers: int) -> Cell:
    return Cell(
        f"{ask} {digits} {position}",
        [with_digits(digits)] * n_numbers,
        lambda *numbers: _question(ask, digits, numbers, position),
        key=_unordered,
    )


def _cells(knobs: Knobs, asks: Sequence[str], n_numbers: int) -> list[Cell]:
    return [
        _cell(ask, digits, position, n_numbers)
        for digits in chosen(knobs, "digits", ("1", "2"))
        for ask in chosen(knobs, "ask", asks)
        for position in range(n_numbers)
    ]


COMPARISON = Family(
    "Which of two numbers is smaller, or larger; the answer's place in the question is balanced.",
    lambda knobs: _cells(knobs, ("smaller", "larger"), 2),
    knobs={"ask": ("both", "smaller", "larger"), "digits": _DIGITS},
    n=144,
)
THREE = Family(
    "Which of three numbers is the smallest, or the largest; the answer's place is balanced.",
    lambda knobs: _cells(knobs, ("smallest", "largest"), 3),
    knobs={"ask": ("both", "smallest", "largest"), "digits": _DIGITS},
    n=144,
)
