"""One row of a question file, its values as written, and what can be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Problem:
    """What is wrong with a question file, and where.

    Attributes:
        severity: An error makes its row unusable, or the whole file if it is of the file; a warning does not,
            and a note says how something was understood.
        file: The file's path.
        line: Physical line, counted from 1 (of a Parquet file the row); None for the whole file.
        field: The field, or "file" or "row".
        rule: Short name of the kind of problem; problems are counted by it.
        message: What was found and what was expected.
    """

    severity: Literal["error", "warning", "note"]
    file: str
    line: int | None
    field: str
    rule: str
    message: str

    @property
    def is_of_file(self) -> bool:
        """Whether it concerns the file as a whole, not one of its rows."""
        return self.field == "file"

    def __str__(self) -> str:
        row = "row " if self.file.lower().endswith(".parquet") else ""
        place = self.file if self.line is None else f"{self.file}:{row}{self.line}"
        return f"{place}: {self.field}: {self.message}"


class Numeral(str):
    """A number of a JSON or Parquet file in its own spelling: 1e5 stays "1e5"."""

    __slots__ = ()


@dataclass(frozen=True)
class Row:
    """One row of a file.

    Attributes:
        line: Physical line on which it begins (of a Parquet file its number), counted from 1.
        values: Its fields: text, `Numeral`, bool, None, lists of these, or anything else that JSON knows.
        has_cells: Whether its values are cells of text, in which a list is written as JSON.
    """

    line: int
    values: Mapping[str, Any]
    has_cells: bool = False


def type_name(value: object) -> str:
    """The type of a value in words that fit all three formats."""
    names: dict[type, str] = {
        type(None): "null",
        Numeral: "a number",
        str: "text",
        bool: "true or false",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
