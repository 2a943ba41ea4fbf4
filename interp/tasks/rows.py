"""Reads the rows of a question file (JSONL, CSV, Parquet), each with its line, values kept as written."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NoReturn

from interp.errors import BadInput

FORMATS = (".jsonl", ".csv", ".parquet")
"""Suffixes of the question files that can be read."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a question file, and where.

    Attributes:
        severity: An error makes the file unusable, a warning does not.
        file: The file's path.
        line: Physical line, counted from 1 (of a Parquet file the row); None for the whole file.
        field: The field, or "file" or "row".
        rule: Short name of the kind of problem; problems are counted by it.
        message: What was found and what was expected.
    """

    severity: Literal["error", "warning"]
    file: str
    line: int | None
    field: str
    rule: str
    message: str

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
    """

    line: int
    values: Mapping[str, Any]


def read_rows(path: Path) -> tuple[list[Row], list[Problem]]:
    """The rows that can be read, and what is wrong with the others.

    Raises:
        BadInput: The file does not exist or cannot be opened, or its suffix is not one of `FORMATS`.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise BadInput(f"{path} is not a question file; its name must end in {', '.join(FORMATS)}.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}. Give the path of a question file.") from error
    if not data.strip():
        return [], [_problem(path, None, "file", "empty", "is empty; expected one question a row")]
    if suffix == ".parquet":
        found = list(_parquet(path, data))
    else:
        text = _decode(path, data)
        found = (
            [text]
            if isinstance(text, Problem)
            else list(_jsonl(path, text) if suffix == ".jsonl" else _csv(path, text))
        )
    rows = [row for row in found if isinstance(row, Row)]
    problems = [problem for problem in found if isinstance(problem, Problem)]
    if not found:
        problems = [_problem(path, None, "file", "empty", "has no rows; expected one question a row")]
    return rows, problems


def _problem(path: Path, line: int | None, field: str, rule: str, message: str) -> Problem:
    return Problem("error", str(path), line, field, rule, message)


def _decode(path: Path, data: bytes) -> str | Problem:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _problem(path, None, "file", "encoding", "is UTF-16; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _problem(
            path, line, "file", "encoding", f"byte 0x{data[error.start]:02x} is not UTF-8; save it as UTF-8"
        )


def _jsonl(path: Path, text: str) -> Iterator[Row | Problem]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_int=Numeral, parse_float=Numeral, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            yield _problem(
                path, number, "row", "json", f"is not valid JSON ({why}); expected one object a line"
            )
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            got = type_name(value)
            yield _problem(
                path, number, "row", "object", f'expected an object such as {{"question": ...}}, got {got}'
            )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _csv(path: Path, text: str) -> Iterator[Row | Problem]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    begin = 1
    try:
        for cells in reader:
            line, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                wrong = _check_header(header)
                if wrong:
                    yield _problem(path, line, "row", "header", wrong)
                    return
            elif len(cells) != len(header):
                expected = f"expected {len(header)} fields ({', '.join(header)}), got {len(cells)}"
                yield _problem(path, line, "row", "fields", f"{expected}; quote a field that holds a comma")
            else:
                yield Row(line, {k: v if v.strip() else None for k, v in zip(header, cells, strict=True)})
    except csv.Error as error:
        yield _problem(path, begin, "row", "csv", f"is not valid CSV ({error})")


def _check_header(header: list[str]) -> str | None:
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        return f"the header names the column {twice!r} twice"
    if len(header) == 1 and any(mark in header[0] for mark in (";", "\t")):
        return "the header has one column; separate the columns with commas"
    missing = [
        name for name, other in (("question", "text"), ("gold", "gold")) if not {name, other} & {*header}
    ]
    if missing:
        return f"the header lacks {' and '.join(missing)}; it has {', '.join(header)}"
    return None


def _parquet(path: Path, data: bytes) -> Iterator[Row | Problem]:
    import polars
    from polars.exceptions import PolarsError

    try:
        frame = polars.read_parquet(io.BytesIO(data))
    except (PolarsError, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        yield _problem(path, None, "file", "parquet", f"is not valid Parquet ({why})")
        return
    for number, values in enumerate(frame.iter_rows(named=True), start=1):
        yield Row(number, {name: _as_written(value) for name, value in values.items()})


def _as_written(value: Any) -> Any:
    """A Parquet value as a JSON file would have given it."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Numeral(value)
    return [_as_written(item) for item in value] if isinstance(value, list) else value


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
