"""Tasks made by reasoning-gym: one row of a table each.

Reference: Stojanovski et al., "Reasoning Gym: Reasoning Environments for Reinforcement Learning with
Verifiable Rewards", 2025, arXiv 2505.24760. We take its questions and golds and depart from it twice.
Answers are graded by our grader, since its scores give part credit to substrings. A seed of ours picks items
of one pool of 100,000, since there item i of seed s is item i - 1 of seed s + 1. Left out are datasets whose
golds our grader cannot tell right from wrong (unreduced fractions, part of a list), whose answers come from
two options, or that change with the hash seed of the process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from interp.procedure import Decoding, Prompt
from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs
from interp.tasks.grading import check_gold
from interp.tasks.task import ASKED, ONE_NAME

_POOL = 100_000


@dataclass(frozen=True)
class Row:
    """One dataset of reasoning-gym as a task.

    Attributes:
        dataset: Its name there.
        description: One line for a reader.
        knobs: Allowed values of each knob, the default first.
        settings: What each knob's value sets; every name gets the value as an integer.
        fixed: Settings that no knob changes.
        kind: How its golds are compared.
        ask: The question, from the dataset's own text.
        max_new_tokens: Longest answer.
        prompt: What stands around a question.
        stop: Strings that end the answer.
    """

    dataset: str
    description: str
    knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = Kind.NUMBER
    ask: str = "{}"
    max_new_tokens: int = 16
    prompt: Prompt = ASKED
    stop: tuple[str, ...] = ("\n",)


_DIGITS = ("min_digits", "max_digits")
_TERMS = ("min_terms", "max_terms")
_SUMS = {"terms": ("2", "3", "4"), "digits": ("1", "2", "3")}
_SUM_SETTINGS = {"terms": _TERMS, "digits": _DIGITS}

ROWS: Mapping[str, Row] = {
    "chain_sum": Row("chain_sum", "Sums and differences of several numbers.", _SUMS, _SUM_SETTINGS),
    "basic_arithmetic": Row(
        "basic_arithmetic",
        "Expressions with the four operations and brackets; divisions come out even.",
        _SUMS,
        _SUM_SETTINGS,
        {"allow_negation": False},
    ),
    "decimal_chain_sum": Row(
        "decimal_chain_sum",
        "Sums and differences of decimal numbers.",
        _SUMS,
        _SUM_SETTINGS,
        {"min_decimal_places": 1, "max_decimal_places": 2},
    ),
    "multiplication": Row(
        "products", "Products of two numbers.", {"digits": ("2", "1", "3")}, {"digits": _DIGITS}
    ),
    "simple_equations": Row(
        "simple_equations",
        "A linear equation in one unknown.",
        {"terms": ("2", "3"), "max": ("10", "100")},
        {"terms": _TERMS, "max": ("max_value",)},
    ),
    "gcd": Row(
        "gcd",
        "The greatest common divisor of two numbers.",
        {"max": ("100", "20", "1000")},
        {"max": ("max_value",)},
    ),
    "lcm": Row(
        "lcm",
        "The least common multiple of two numbers.",
        {"max": ("20", "10", "100")},
        {"max": ("max_value",)},
    ),
    "leg_counting": Row(
        "leg_counting",
        "How many legs some animals have in all.",
        {"animals": ("2", "1", "3", "5"), "max": ("5", "15")},
        {"animals": ("min_animals", "max_animals"), "max": ("max_instances",)},
    ),
    "number_sequence": Row(
        "number_sequence",
        "The next number of a sequence made by a hidden rule.",
        {"complexity": ("1", "2", "3")},
        {"complexity": ("max_complexity",)},
        {"min_value": -20, "max_value": 20},
        ask="What number comes next? {}",
    ),
    "letter_counting": Row(
        "letter_counting",
        "How often a letter stands in a line of text.",
        {"words": ("5", "3", "10")},
        {"words": ("min_words", "max_words")},
    ),
    "count_bits": Row(
        "count_bits",
        "How many ones the binary form of a number has.",
        {"max": ("255", "65535")},
        {"max": ("max_n",)},
    ),
    "calendar": Row(
        "calendar_arithmetic",
        "The weekday of a date.",
        fixed={"tasks": ["weekday_offset", "weekday_of_date", "weekday_of_date_from_first_date"]},
        kind=Kind.TEXT,
        stop=ONE_NAME.stop,
    ),
    "day_counting": Row(
        "calendar_arithmetic",
        "How often a weekday falls between two dates, and how many working days there are.",
        fixed={"tasks": ["count_days", "count_business_days"]},
    ),
    "spell_backward": Row(
        "spell_backward",
        "A word spelled backward.",
        {"length": ("4", "3", "5", "6")},
        {"length": ("min_word_len", "max_word_len")},
        kind=Kind.TEXT,
        stop=ONE_NAME.stop,
    ),
    "gsm": Row(
        "gsm_symbolic",
        "School word problems of several steps, answered with reasoning.",
        fixed={"difficulty": 1.0},
        max_new_tokens=256,
        prompt=Prompt(system="You answer questions."),
        stop=(),
    ),
}


@cache
def _dataset(dataset: str, settings: tuple[tuple[str, Any], ...]) -> Any:
    from reasoning_gym.factory import create_dataset

    given = {name: list(value) if isinstance(value, tuple) else value for name, value in settings}
    return create_dataset(dataset, seed=0, size=_POOL, **given)


def _question(name: str, knobs: Knobs, index: int) -> Question | None:
    """Item of the pool as a question; None if its gold cannot be read back."""
    row = ROWS[name]
    settings = dict(row.fixed) | {s: int(knobs[k]) for k, names in row.settings.items() for s in names}
    frozen = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in settings.items()))
    item = _dataset(row.dataset, frozen)[index]
    text = row.ask.format(item["question"].strip())
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    question = Question(f"{name}/{digest}", text, row.kind, (str(item["answer"]).strip(),), subject=name)
    return None if check_gold(question) else question


def _family(name: str) -> Family:
    row = ROWS[name]
    return Family(
        row.description,
        lambda knobs: [
            Cell(f"{name} {sorted(knobs.items())}", [range(_POOL)], partial(_question, name, knobs))
        ],
        knobs=row.knobs,
        n=100,
        prompt=row.prompt,
        decoding=Decoding(max_new_tokens=row.max_new_tokens, stop=row.stop),
    )


REASONING: Mapping[str, Family] = {name: _family(name) for name in ROWS}
