"""Grades a file of cases: texts with the verdict that each should get."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal, cast

from interp.errors import BadQuestions
from interp.question import Kind, Outcome, Question, Reason
from interp.tasks.grading import grade


def grade_cases(path: Path) -> list[dict[str, Any]]:
    """Grades every row of a JSONL file of cases.

    A row holds `kind`, `gold` (one or a list) and `text`, and if wanted `id`, `choices`, `labels`,
    `finish` ("stop" or "length"), and the expected `verdict` and `reason`.

    Returns:
        One JSON value a row: `id`, `verdict`, `reason`, `answer`, `expected` (verdict and reason, None
        where the row gives none) and `agrees` (true where nothing is expected). The last value counts:
        `rows`, `right`, `wrong`, `unreadable`, `expected` (rows that expect a verdict), `differ`.

    Raises:
        BadQuestions: The file cannot be read, is empty, or has an unusable row; names file and line.
    """
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise BadQuestions(f"{path} cannot be read: {error.strerror}. Name a JSONL file of cases.") from None
    results: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                results.append(_grade_row(_parse(line), number))
            except _RowError as flaw:
                raise BadQuestions(f"{path}, line {number}: {flaw}") from None
    if not results:
        raise BadQuestions(f"{path} holds no case. Write one JSON object a line.")
    return [*results, _counts(results)]


class _RowError(Exception):
    """A row that cannot be used; the message says why and what to write."""


def _parse(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _RowError(f"not valid JSON in UTF-8 ({error}).") from None
    if not isinstance(row, dict):
        raise _RowError('a case is an object such as {"kind": "number", "gold": "3", "text": "3"}.')
    return cast("dict[str, Any]", row)


def _grade_row(row: dict[str, Any], number: int) -> dict[str, Any]:
    text = _field(row, "text")
    finish = _one_of(row, "finish", ("stop", "length")) or "stop"
    question = Question(
        id=str(row.get("id", number)),
        text="",
        kind=Kind(_one_of(row, "kind", tuple(Kind), needed=True)),
        gold=_texts(row, "gold", needed=True),
        choices=_texts(row, "choices"),
        labels=_texts(row, "labels"),
    )
    expected = {
        "verdict": _one_of(row, "verdict", tuple(Outcome)),
        "reason": _one_of(row, "reason", tuple(Reason)),
    }
    verdict = grade(question, text, cast('Literal["stop", "length"]', finish))
    got = {"verdict": str(verdict.outcome), "reason": verdict.reason and str(verdict.reason)}
    agrees = all(wanted in (None, got[name]) for name, wanted in expected.items())
    return {"id": question.id, **got, "answer": verdict.answer, "expected": expected, "agrees": agrees}


def _field(row: dict[str, Any], name: str) -> str:
    if not isinstance(row.get(name), str):
        raise _RowError(f"the field {name!r} is missing or no string.")
    return row[name]


def _one_of(row: dict[str, Any], name: str, known: tuple[str, ...], *, needed: bool = False) -> str | None:
    value = row.get(name)
    if value is None and not needed:
        return None
    if value not in known:
        raise _RowError(f"the field {name!r} must be one of {', '.join(known)}; it is {value!r}.")
    return str(value)


def _texts(row: dict[str, Any], name: str, *, needed: bool = False) -> tuple[str, ...]:
    """A field with one text or number, or a list of them."""
    value = row.get(name)
    if value is None and not needed:
        return ()
    values = cast("list[Any]", value if isinstance(value, list) else [value])
    for item in values:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise _RowError(f"the field {name!r} must hold a text or a number, or a list of them.")
    if needed and not values:
        raise _RowError(f"the field {name!r} is an empty list.")
    return tuple(map(str, values))


def _counts(results: list[dict[str, Any]]) -> dict[str, Any]:
    outcomes = Counter(result["verdict"] for result in results)
    return {
        "rows": len(results),
        **{str(outcome): outcomes[outcome] for outcome in Outcome},
        "expected": sum(result["expected"]["verdict"] is not None for result in results),
        "differ": sum(not result["agrees"] for result in results),
    }
