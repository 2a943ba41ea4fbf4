"""Tasks whose answers come from two fixed options; marked, since repair and reach say little about them."""

from __future__ import annotations

from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs, chosen, digits_label, with_digits
from interp.tasks.task import ONE_NAME


def _key(question: Question) -> str:
    return "-".join(sorted(question.id.rpartition("/")[2].split("-"), key=int))


def _yes_no(ask: str, digits: str, gold: str, numbers: tuple[int, int]) -> Question | None:
    x, y = numbers
    if x == y or (x > y) != ((ask == "larger") == (gold == "Yes")):
        return None
    return Question(
        id=f"yes_no/{ask}/{x}-{y}",
        text=f"Is {x} {ask} than {y}? Answer Yes or No.",
        kind=Kind.TEXT,
        gold=(gold,),
        candidates=("Yes", "No"),
        subject=f"is {ask} {digits_label(digits)}",
    )


def _two_option(ask: str, digits: str, gold: str, numbers: tuple[int, int]) -> Question | None:
    x, y = numbers
    if x == y or (x > y) != ((ask == "larger") == (gold == "A")):
        return None
    return Question(
        id=f"two_option/{ask}/{x}-{y}",
        text=f"Which number is {ask}?\nA. {x}\nB. {y}",
        kind=Kind.CHOICE,
        gold=(gold,),
        choices=(str(x), str(y)),
        labels=("A", "B"),
        candidates=("A", "B"),
        subject=f"{ask} of two options {digits_label(digits)}",
    )


def _cells(knobs: Knobs, options: tuple[str, str]) -> list[Cell]:
    make = _yes_no if options[0] == "Yes" else _two_option
    return [
        Cell(
            f"{ask} {digits} {gold}",
            [with_digits(digits)] * 2,
            lambda x, y, ask=ask, digits=digits, gold=gold: make(ask, digits, gold, (x, y)),
            key=_key,
        )
        for digits in chosen(knobs, "digits", ("1", "2"))
        for ask in chosen(knobs, "ask", ("larger", "smaller"))
        for gold in options
    ]


_KNOBS = {"ask": ("larger", "smaller", "both"), "digits": ("1", "2", "3", "both")}
YES_NO = Family(
    "Is x larger than y, Yes or No (two options).",
    lambda knobs: _cells(knobs, ("Yes", "No")),
    knobs=_KNOBS,
    n=72,
    decoding=ONE_NAME,
    binary=True,
)
TWO_OPTION = Family(
    "Which number is larger, A or B (two options).",
    lambda knobs: _cells(knobs, ("A", "B")),
    knobs=_KNOBS,
    n=72,
    binary=True,
)
