"""Sums, products, and arithmetic of one and two steps."""

from __future__ import annotations

from collections.abc import Callable

from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs, chosen, digits_label, with_digits

_ONE_STEP: dict[str, dict[str, Callable[..., int]]] = {
    "add": {"{} + {}": lambda a, b: a + b},
    "subtract": {"{} - {}": lambda a, b: a - b},
    "multiply": {"{} * {}": lambda a, b: a * b},
}
_TWO_STEPS: dict[str, dict[str, Callable[..., int]]] = {
    "add": {"{} + {} + {}": lambda a, b, c: a + b + c},
    "subtract": {"{} + {} - {}": lambda a, b, c: a + b - c, "{} - {} - {}": lambda a, b, c: a - b - c},
    "multiply": {"{} * {} + {}": lambda a, b, c: a * b + c, "{} * {} - {}": lambda a, b, c: a * b - c},
}


def _question(
    form: str, answer: Callable[..., int], subject: str, numbers: tuple[int, ...]
) -> Question | None:
    """The question, unless its answer is negative."""
    gold = answer(*numbers)
    if gold < 0:
        return None
    expression = form.format(*numbers)
    return Question(
        id=expression.replace("times", "*").replace(" ", ""),
        text=f"What is {expression}?",
        kind=Kind.NUMBER,
        gold=(str(gold),),
        subject=subject,
    )


def _cell(form: str, answer: Callable[..., int], digits: str) -> Cell:
    subject = f"{form.replace('{}', 'n')} {digits_label(digits)}"
    return Cell(
        subject,
        [with_digits(digits)] * form.count("{}"),
        lambda *numbers: _question(form, answer, subject, numbers),
        key=lambda question: "-".join(sorted(question.id.replace("+", " ").replace("*", " ").split())),
    )


def _cells(knobs: Knobs) -> list[Cell]:
    return [
        _cell(form, answer, digits)
        for digits in chosen(knobs, "digits", ("1", "2"))
        for steps in chosen(knobs, "steps", ("1", "2"))
        for op in chosen(knobs, "op", tuple(_ONE_STEP))
        for form, answer in (_ONE_STEP if steps == "1" else _TWO_STEPS)[op].items()
    ]


def _one_form(form: str, answer: Callable[..., int]) -> Callable[[Knobs], list[Cell]]:
    return lambda knobs: [_cell(form, answer, digits) for digits in chosen(knobs, "digits", ("1", "2"))]


ARITHMETIC = Family(
    "Sums, differences and products in one or two steps; no answer is negative.",
    _cells,
    knobs={
        "steps": ("both", "1", "2"),
        "op": ("mixed", "add", "subtract", "multiply"),
        "digits": ("1", "2", "3", "both"),
    },
)
ADDITION = Family(
    "What is x + y.",
    _one_form("{} + {}", lambda a, b: a + b),
    knobs={"digits": ("both", "1", "2", "3")},
    n=160,
)
PRODUCTS = Family(
    "What is x times y.",
    _one_form("{} times {}", lambda a, b: a * b),
    knobs={"digits": ("1", "2", "3", "both")},
    n=80,
)
