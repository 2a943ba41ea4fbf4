"""What a reader should know of how a question file was understood: warnings and notes on its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from interp.question import Kind
from interp.tasks.row import Problem, Row
from interp.tasks.row_fields import FIELDS, understand
from interp.tasks.row_question import Finished, Habits


def describe_file(
    file: str, rows: Sequence[Row], finished: Sequence[Finished], habits: Habits
) -> list[Problem]:
    """Warnings and notes on a file, beside the errors of its rows.

    Args:
        file: The file's path.
        rows: The rows that could be read.
        finished: The questions that came out, repeated ones included.
        habits: What the rows together say of their golds.
    """
    return [
        *_unread(file, rows),
        *_mixed_kinds(file, finished),
        *_other_names(file, rows),
        *_ways(file, finished, habits),
    ]


def _unread(file: str, rows: Iterable[Row]) -> list[Problem]:
    """A warning for each name that is no field."""
    first: dict[str, int] = {}
    for row in rows:
        for name in understand(tuple(row.values)).unread:
            first.setdefault(name, row.line)
    message = f"is not a field of a question and is not read; known: {', '.join(FIELDS)}"
    return [Problem("warning", file, line, name, "unknown field", message) for name, line in first.items()]


def _mixed_kinds(file: str, finished: Sequence[Finished]) -> list[Problem]:
    """Warns when kinds were inferred and both numbers and texts came out."""
    kinds = Counter(done.question.kind for done in finished)
    inferred = any(done.draft.is_open for done in finished)
    if not (inferred and kinds[Kind.NUMBER] and kinds[Kind.TEXT]):
        return []
    counts = f"{kinds[Kind.NUMBER]} golds are read as numbers and {kinds[Kind.TEXT]} as text"
    message = f"{counts}; add a kind to each row if that is not meant"
    return [Problem("warning", file, None, "kind", "mixed kinds", message)]


def _other_names(file: str, rows: Iterable[Row]) -> list[Problem]:
    """A note for each name that is read as another field."""
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        names = understand(tuple(row.values))
        for field, given in names.fields.items():
            for name in given:
                if name != field:
                    first.setdefault((name, field), row.line)
        if names.columns:
            first.setdefault((", ".join(names.columns), "choices"), row.line)
    return [
        Problem("note", file, line, name, "other name", f"read as the field {field}")
        for (name, field), line in first.items()
    ]


def _ways(file: str, finished: Sequence[Finished], habits: Habits) -> list[Problem]:
    """A note for each way, other than by its label, in which golds were understood."""
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    own_base = any(done.draft.base is not None for done in finished)
    for done in finished:
        for way in done.ways:
            counts[way] += 1
            first.setdefault(way, done.draft.line)
    index = "indices" if own_base else f"indices from {habits.index.base}, since {habits.index.describe()}"
    said = {
        "index": f"read as {index}",
        "text": "texts of options, read as their labels",
        "labelled": 'options with their label ("B. text"), read as the label',
        "unit": "numbers with a unit, read as the number; the unit is not compared",
        "hashes": "worked answers, of which only what stands behind #### is read",
    }
    return [
        Problem("note", file, first[way], "gold", f"gold as {way}", f"{_golds(counts[way])}: {said[way]}")
        for way in said
        if counts[way]
    ]


def _golds(n: int) -> str:
    return "1 gold" if n == 1 else f"{n} golds"
