"""Which field of a question each name in a file stands for: the field itself, or a name that people use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import Any

FIELDS = (
    "id", "question", "text", "kind", "gold", "gold_index_base", "choices", "labels", "candidates", "subject",
    "template",
)  # fmt: skip
"""Fields that are read: "question" gets its choices below it, "text" is whole as the model sees it."""

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "question": ("problem", "prompt", "query", "input"),
        "gold": ("answer", "target", "answerKey", "label"),
        "choices": ("options",),
        "id": ("question_id",),
        "subject": ("category",),
    }
)
"""Names that public benchmarks give to a field; one is read only where the field itself is absent."""

_COLUMN = re.compile(r"(?P<family>(?:option|choice)[ _-]?)(?P<place>[a-z]|[0-9]{1,2})", re.IGNORECASE)


class RowError(Exception):
    """The fields of a row that cannot be used; caught where the file is checked.

    Attributes:
        problems: Triples of field, kind of problem, and message.
    """

    def __init__(self, *problems: tuple[str, str, str]) -> None:
        """Keeps the problems."""
        super().__init__(problems)
        self.problems = problems


@dataclass(frozen=True)
class Names:
    """How the names of a row or a header are understood.

    Attributes:
        fields: For each field that is there, the names that stand for it: itself alone, or its aliases.
        columns: The columns that hold one option each, in order, where there is no field choices.
        lettered: Whether those columns are named by letters, which then are the labels.
        unread: Names that stand for nothing.
    """

    fields: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]
    lettered: bool
    unread: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """What a question cannot do without and no name stands for."""
        has_text = "question" in self.fields or "text" in self.fields
        return (() if has_text else ("question",)) + (() if "gold" in self.fields else ("gold",))


@dataclass(frozen=True)
class Fields:
    """The values of a row by field.

    Attributes:
        values: What stands in each field.
        written: The name in the file of each field that has another one there.
        columns: Names and values of the columns that hold one option each.
        lettered: Whether those columns are named by letters.
    """

    values: Mapping[str, Any]
    written: Mapping[str, str]
    columns: tuple[tuple[str, Any], ...] = ()
    lettered: bool = False

    def name(self, field: str) -> str:
        """The name of a field as the file has it."""
        return self.written.get(field, field)


@lru_cache(maxsize=256)
def understand(names: tuple[str, ...]) -> Names:
    """Says what each name of a row or a header stands for.

    A field that is there is read and no alias of it; capitals do not matter where it is not there as it
    should be written. Columns A, B, C, ... (or option_a, choice 1, ...) hold one option each, if no field
    choices and no alias of it is there.
    """
    fields: dict[str, tuple[str, ...]] = {}
    for field in FIELDS:
        same = (field,) if field in names else _like(names, (field,))
        if same:
            fields[field] = same
    for field, aliases in ALIASES.items():
        taken = field in fields or (field == "question" and "text" in fields)
        others = () if taken else _like(names, aliases)
        if others:
            fields[field] = others
    columns, lettered = ((), False) if "choices" in fields else _columns(names)
    used = {name for group in fields.values() for name in group} | {*columns}
    return Names(MappingProxyType(fields), columns, lettered, tuple(n for n in names if n and n not in used))


def name_fields(row: Mapping[str, Any]) -> Fields:
    """The values of a row by field.

    Raises:
        RowError: Two names stand for one field and their values differ.
    """
    names = understand(tuple(row))
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    problems: list[tuple[str, str, str]] = []
    for field, group in names.fields.items():
        given = [name for name in group if row[name] is not None] or [group[0]]
        if any(row[name] != row[given[0]] for name in given[1:]):
            message = f"may each be the {field}, and they differ; name the right one {field}"
            problems.append((" and ".join(given), "two names for a field", message))
        values[field] = row[given[0]]
        if given[0] != field:
            written[field] = given[0]
    if problems:
        raise RowError(*problems)
    return Fields(values, written, tuple((name, row[name]) for name in names.columns), names.lettered)


def _like(names: Iterable[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The names that are one of these, capitals aside."""
    folded = {word.casefold() for word in wanted}
    return tuple(name for name in names if name.strip().casefold() in folded)


def _columns(names: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The columns of options, in order, and whether letters name them; none if that is not certain."""
    families: dict[str, dict[str, str]] = {}
    for name in names:
        match = _COLUMN.fullmatch(name)
        if match is not None:
            families.setdefault(match["family"].casefold(), {})[match["place"].casefold()] = name
        elif len(name) == 1 and name in ascii_uppercase:
            families.setdefault("", {})[name.casefold()] = name
    whole = [found for places in families.values() if (found := _in_sequence(places))]
    if len(whole) != 1:
        return (), False
    first = whole[0][0][0]
    return tuple(name for _, name in whole[0]), first == "a"


def _in_sequence(places: Mapping[str, str]) -> list[tuple[str, str]]:
    """Places and names from a (or 0, or 1) on without a gap; empty if there is one, or fewer than two."""
    n = len(places)
    sequences = ([*ascii_lowercase[:n]], [str(i) for i in range(n)], [str(i + 1) for i in range(n)])
    order = next((sequence for sequence in sequences if {*sequence} == {*places}), [])
    return [(place, places[place]) for place in order] if n > 1 else []
