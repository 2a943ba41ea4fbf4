"""Reads the rows of a question file (JSONL, CSV, Parquet), each with its line, values kept as written."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from interp.errors import BadInput
from interp.tasks.row import Numeral, Problem, Row, type_name
from interp.tasks.row_fields import understand

FORMATS = (".jsonl", ".csv", ".parquet")
"""Suffixes of the question files that can be read."""


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
            value = json.loads(
                line,
                parse_int=Numeral,
                parse_float=Numeral,
                parse_constant=_no_constant,
                object_pairs_hook=_no_key_twice,
            )
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


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return found


def _csv(path: Path, text: str) -> Iterator[Row | Problem]:
    """Rows of a CSV file, the header taken off; ends where a quoting error leaves the next row uncertain."""
    header: list[str] | None = None
    for line, cells in _csv_records(text):
        if isinstance(cells, _BadRecord):
            place = "file" if cells.hides_the_rest or header is None else "row"
            yield _problem(path, line, place, "csv", f"is not valid CSV ({cells})")
            if place == "file":
                return
        elif not any(cell.strip() for cell in cells):
            continue
        elif header is None:
            header = [cell.strip() for cell in cells]
            wrong = _check_header(header)
            if wrong:
                yield _problem(path, line, "file", "header", wrong)
                return
        elif len(cells) != len(header):
            expected = f"expected {len(header)} fields ({', '.join(header)}), got {len(cells)}"
            yield _problem(path, line, "row", "fields", f"{expected}; quote a field that holds a comma")
        else:
            values = {k: v if v.strip() else None for k, v in zip(header, cells, strict=True)}
            yield Row(line, values, has_cells=True)


class _BadRecord(str):
    """Why a CSV record cannot be read."""

    hides_the_rest = False
    """Whether it cannot be told where the next record begins."""


def _csv_records(text: str) -> Iterator[tuple[int, list[str] | _BadRecord]]:
    """The records of a CSV text, each with the physical line on which it begins.

    After a quoting error the next line is a new record only if all quotes of the broken one are in pairs.
    """
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(iter(lines), strict=True)
    limit = csv.field_size_limit(max(len(text), csv.field_size_limit()))
    begin = 0
    try:
        while begin < len(lines):
            try:
                cells: list[str] | _BadRecord = next(reader)
            except csv.Error as error:
                quotes = sum(line.count('"') for line in lines[begin : reader.line_num])
                never = quotes % 2 and reader.line_num == len(lines)
                cells = _BadRecord("a quote opens here and is never closed" if never else str(error))
                cells.hides_the_rest = bool(quotes % 2)
            yield begin + 1, cells
            begin = reader.line_num
    finally:
        csv.field_size_limit(limit)


def _check_header(header: list[str]) -> str | None:
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        return f"the header names the column {twice!r} twice"
    if len(header) == 1 and any(mark in header[0] for mark in (";", "\t")):
        mark = "tabs" if "\t" in header[0] else "semicolons"
        return f"the header has one column, with {mark} in it; separate them with commas"
    missing = understand(tuple(header)).missing
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
    if isinstance(value, dict):
        return {name: _as_written(item) for name, item in value.items()}
    return [_as_written(item) for item in value] if isinstance(value, list) else value
