"""Loads a task by name, with knobs, or from a question file: a table of what is made, one of what is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from interp.errors import BadInput, UnknownName
from interp.tasks.arithmetic import ADDITION, ARITHMETIC, PRODUCTS
from interp.tasks.benchmarks.aime import AIME2024, AIME2025
from interp.tasks.benchmarks.arc import ARC
from interp.tasks.benchmarks.benchmark import Benchmark
from interp.tasks.benchmarks.commonsense_qa import COMMONSENSE_QA
from interp.tasks.benchmarks.dart_math import DART_MATH
from interp.tasks.benchmarks.gsm8k import GSM8K
from interp.tasks.benchmarks.math500 import MATH500
from interp.tasks.benchmarks.mmlu import MMLU
from interp.tasks.benchmarks.mmlu_pro import MMLU_PRO
from interp.tasks.benchmarks.truthfulqa_mc import TRUTHFULQA_MC
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

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            GSM8K,
            MATH500,
            MMLU,
            MMLU_PRO,
            ARC,
            COMMONSENSE_QA,
            TRUTHFULQA_MC,
            AIME2024,
            AIME2025,
            DART_MATH,
        )
    }
)
"""Every benchmark: name, where its files are, and how its questions are read and asked."""

_ANY: Mapping[str, Callable[[str], bool]] = {
    "N": lambda value: re.fullmatch("0|[1-9][0-9]{0,2}", value) is not None,
    "NAME": bool,
    "FOLDER": bool,
}
"""What stands for any value of its kind in the table of a benchmark's knobs."""


def load_task(
    spec: str | Path,
    *,
    n: int | None = None,
    seed: int = 0,
    download: bool = False,
    strict: bool = False,
) -> Task:
    """Loads a task.

    The first n questions of a seed are the same whatever n is. Seeds of different parity draw from different
    halves of the questions first, so an even and an odd seed share none while n is at most half of what there
    is (see `Cell.questions`).

    Args:
        spec: A built-in task ("comparison"), with knobs ("comparison:ask=smaller,digits=1"), a benchmark
            ("gsm8k", "mmlu:subject=anatomy,shots=5", "gsm8k:dir=FOLDER"), or the path of a .jsonl, .csv or
            .parquet file.
        n: Number of questions; the task's default, or every question of a benchmark or a file, unless given.
        seed: Which sample; a benchmark or file that is read whole keeps its order.
        download: Whether a benchmark's files may be fetched from the hub.
        strict: Whether one bad row of a question file is an error; else it is left out, as the task's
            warnings say.

    Raises:
        UnknownName: There is no such built-in task or benchmark, or no such subject of it.
        BadInput: A knob or its value is unknown, n is below 1 or above the number of different questions, or
            a file does not exist.
        BadQuestions: A file has rows that cannot be used, and is read strictly or has too many of them.
    """
    if n is not None and n < 1:
        raise BadInput(f"A task needs at least one question, got n={n}.")
    spec = str(spec)
    name, _, line = spec.partition(":")
    if name in BENCHMARKS:
        benchmark = BENCHMARKS[name]
        knobs = _parse_knobs(name, line, benchmark.knobs)
        title = _canonical(name, knobs, benchmark.knobs)
        return benchmark.load(title, knobs, n=n, seed=seed, download=download)
    if name not in TASKS:
        if _is_file(spec):
            return load_file(Path(spec), n=n, seed=seed, strict=strict)
        raise UnknownName("task", name, [*TASKS, *BENCHMARKS])
    family = TASKS[name]
    knobs = _parse_knobs(name, line, family.knobs)
    questions = family.draw(knobs, n=n or family.n, seed=seed)
    canonical = _canonical(name, knobs, family.knobs)
    if n is not None and len(questions) < n:
        raise BadInput(
            f"Task {canonical!r} has only {len(questions)} different questions, not {n}; ask for fewer."
        )
    return Task(canonical, questions, family.prompt, family.decoding, family.description, family.binary)


def _is_file(spec: str) -> bool:
    path = Path(spec)
    return path.suffix.lower() in FORMATS or "/" in spec or "\\" in spec or path.exists()


def _parse_knobs(name: str, line: str, known: Mapping[str, tuple[str, ...]]) -> Knobs:
    """The value of every knob: its default, or what the line says."""
    knobs = {knob: values[0] for knob, values in known.items()}
    given: set[str] = set()
    for word in (w.strip() for w in line.split(",") if w.strip()):
        knob, equals, value = (part.strip() for part in word.partition("="))
        if not equals or knob in given or not _allows(known.get(knob, ()), value):
            listed = "; ".join(f"{k}={'|'.join(v)}" for k, v in known.items()) or "none"
            why = "is given twice" if knob in given else "is not a knob with a known value"
            raise BadInput(f"Task {name!r}: {word!r} {why}. Knobs, the default first: {listed}.")
        given.add(knob)
        knobs[knob] = value
    return knobs


def _allows(values: tuple[str, ...], value: str) -> bool:
    return any(_ANY[known](value) if known in _ANY else value == known for known in values)


def _canonical(name: str, knobs: Knobs, known: Mapping[str, tuple[str, ...]]) -> str:
    """The line with the knobs that differ from their default, in the order of the table."""
    changed = [f"{knob}={knobs[knob]}" for knob, values in known.items() if knobs[knob] != values[0]]
    return f"{name}:{','.join(changed)}" if changed else name
