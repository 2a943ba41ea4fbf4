r"""Questions whose gold is written in LaTeX: which of them have one number as their answer.

The grader reads numbers, choices and texts. An answer such as `\frac{3}{4}` or `90^\circ` is one number to
it; `x^2 + 1`, `(3, \frac{\pi}{2})` and `2\sqrt{3}` are not, and to compare them needs computer algebra. So
these are left out unless asked for: `gold=all` compares them as text, letter by letter, which calls many a
right answer wrong ("2x+1" for "2x + 1").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from interp.question import Kind, Question
from interp.tasks.benchmarks.row import BenchmarkRow, question_of
from interp.tasks.cue import find_region
from interp.tasks.family import Knobs
from interp.tasks.grading import check_gold, grade

LEVELS = ("1", "2", "3", "4", "5")
KNOBS: Mapping[str, tuple[str, ...]] = {"gold": ("number", "all"), "level": ("all", *LEVELS)}
"""Which golds are kept, and which of MATH's five levels of difficulty."""

_UNIT = re.compile(
    r"(?:\s*(?:\\?%|\^\s*(?:\\circ|\{\s*\\circ\s*\})|\\(?:text|mbox|mathrm)\{[^{}0-9]*\}))+\.?\Z"
)
_NUMERAL = re.compile(r"(?:[0-9.,!{}/+\-$\s\\]|\\[dt]?frac)+")


def is_number(answer: str) -> bool:
    """Whether an answer in LaTeX is one number, with or without a unit, that the grader reads back boxed."""
    bare = _UNIT.sub("", answer.strip())
    question = Question("", "", Kind.NUMBER, (answer.strip(),))
    if _NUMERAL.fullmatch(bare) is None or check_gold(question) is not None:
        return False
    return grade(question, f"\\boxed{{{answer.strip()}}}").right


def math_question(row: BenchmarkRow, question: Question, *, gold_column: str, level: str) -> Question | None:
    """The question if the knobs keep it.

    Args:
        row: Where it comes from.
        question: The question, its gold as the dataset writes it.
        gold_column: The gold's column.
        level: Its level of difficulty.

    Raises:
        RowError: The gold is empty or cannot be read as text.
    """
    if row.knobs["level"] not in ("all", level):
        return None
    kind = Kind.NUMBER if is_number(question.gold[0]) else Kind.TEXT
    if kind is Kind.TEXT and row.knobs["gold"] == "number":
        return None
    gold = question.gold if kind is Kind.NUMBER else _spellings(question.gold[0])
    return question_of(row, replace(question, kind=kind, gold=gold), gold_column=gold_column)


def _spellings(answer: str) -> tuple[str, ...]:
    r"""The answer as it is written, and as the grader sees it: without `\left`, `\text` and their kind."""
    seen = " ".join(find_region(answer).text.split())
    return (answer,) if seen == answer else (answer, seen)


def kept(knobs: Knobs) -> str:
    """What is said of the questions that the knobs keep."""
    rules = {
        "whose gold is one number": knobs["gold"] == "number",
        f"of level {knobs['level']}": knobs["level"] != "all",
    }
    return " and ".join(rule for rule, holds in rules.items() if holds)
