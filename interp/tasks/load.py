"""Loads a task by name, with knobs, or from a question file: one table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from interp.errors import BadInput, UnknownName
from interp.tasks.arithmetic import ADDITION, ARITHMETIC, PRODUCTS
from interp.tasks.capitals import CAPITALS
from interp.tasks.comparison import COMPARISON, THREE
from interp.tasks.family import Family, Knobs
from interp.tasks.files import FORMATS, load_file
from interp.tasks.reasoning import REASONING
from interp.tasks.task import Task
from interp.tasks.two_options import TWO_OPTION, YES_NO
from interp.tasks.words import COUNTING, SEQUENCE, WEEKDAY

TASKS: Mapping[str, Family] = MappingProxyType(
    {
        "comparison": COMPARISON,
        "three": THREE,
        "addition": ADDITION,
        "arithmetic": ARITHMETIC,
        "products": PRODUCTS,
        "counting": COUNTING,
        "sequence": SEQUENCE,
        "weekday": WEEKDAY,
        "capitals": CAPITALS,
        "yes_no": YES_NO,
        "two_option": TWO_OPTION,
        **REASONING,
    }
)
"""Every built-in task: name, and how its questions are made and asked."""


def load_task(spec: str | Path, *, n: int | None = None, seed: int = 0, strict: bool = False) -> Task:
    """Loads a task.

    The first n questions of a seed are the same whatever n is. Seeds of different parity draw from different
    halves of the questions first, so an even and an odd seed share none while n is at most half of what there
    is (see `Cell.questions`).

    Args:
        spec: A built-in task ("comparison"), with knobs ("comparison:ask=smaller,digits=1"), or the path of a
            .jsonl, .csv or .parquet file.
        n: Number of questions; the task's default, or every question of a file, unless given.
        seed: Which sample; a file that is read whole keeps its order.
        strict: Whether one bad row of a file is an error; else it is left out, as the task's warnings say.

    Raises:
        UnknownName: There is no such built-in task.
        BadInput: A knob or its value is unknown, n is below 1 or above the number of different questions, or
            the file does not exist.
        BadQuestions: The file has rows that cannot be used, and is read strictly or has too many of them.
    """
    if n is not None and n < 1:
        raise BadInput(f"A task needs at least one question, got n={n}.")
    spec = str(spec)
    name, _, line = spec.partition(":")
    if name not in TASKS:
        if _is_file(spec):
            return load_file(Path(spec), n=n, seed=seed, strict=strict)
        raise UnknownName("task", name, [*TASKS])
    family = TASKS[name]
    knobs = _parse_knobs(name, line, family)
    questions = family.draw(knobs, n=n or family.n, seed=seed)
    canonical = _canonical(name, knobs, family)
    if n is not None and len(questions) < n:
        raise BadInput(
            f"Task {canonical!r} has only {len(questions)} different questions, not {n}; ask for fewer."
        )
    return Task(canonical, questions, family.prompt, family.decoding, family.description, family.binary)


def _is_file(spec: str) -> bool:
    path = Path(spec)
    return path.suffix.lower() in FORMATS or "/" in spec or "\\" in spec or path.exists()


def _parse_knobs(name: str, line: str, family: Family) -> Knobs:
    """The value of every knob: its default, or what the line says."""
    knobs = {knob: values[0] for knob, values in family.knobs.items()}
    given: set[str] = set()
    for word in (w.strip() for w in line.split(",") if w.strip()):
        knob, equals, value = (part.strip() for part in word.partition("="))
        if not equals or knob in given or value not in family.knobs.get(knob, ()):
            known = "; ".join(f"{k}={'|'.join(v)}" for k, v in family.knobs.items()) or "none"
            why = "is given twice" if knob in given else "is not a knob with a known value"
            raise BadInput(f"Task {name!r}: {word!r} {why}. Knobs, the default first: {known}.")
        given.add(knob)
        knobs[knob] = value
    return knobs


def _canonical(name: str, knobs: Knobs, family: Family) -> str:
    """The line with the knobs that differ from their default, in the order of the table."""
    changed = [f"{knob}={knobs[knob]}" for knob, values in family.knobs.items() if knobs[knob] != values[0]]
    return f"{name}:{','.join(changed)}" if changed else name
