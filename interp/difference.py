"""What differs between two plans or two lists of questions, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interp.question import Question

ABSENT = object()
"""Stands for the value of a name that one side lacks."""

_N_NAMED = 5
_N_SHOWN = 48


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with dotted names."""
    names: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict) and item:
            names |= flat(item, f"{prefix}{key}.")
        else:
            names[f"{prefix}{key}"] = item
    return names


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Dotted name to its two values, for every name whose values differ; `ABSENT` where there is none."""
    before, after = flat(old), flat(new)
    pairs = {n: (before.get(n, ABSENT), after.get(n, ABSENT)) for n in sorted({*before, *after})}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two JSON values, one phrase a dotted name."""
    return [f"{name} was {_shown(a, b)}, now {_shown(b, a)}" for name, (a, b) in changes(old, new).items()]


def question_differences(old: Sequence[Question], new: Sequence[Question]) -> list[str]:
    """Questions that were edited, are missing or were added, by id, one phrase each.

    Of each kind the first five are named and the others counted.
    """
    before, after = {q.id: q for q in old}, {q.id: q for q in new}
    edited = [
        f"question {i!r} was edited ({'; '.join(differences(q.to_json(), after[i].to_json()))})"
        for i, q in before.items()
        if i in after and q.hash != after[i].hash
    ]
    missing = [f"question {i!r} is missing" for i in before if i not in after]
    added = [f"question {i!r} is new" for i in after if i not in before]
    if not (edited or missing or added) and list(before) != list(after):
        return ["the questions come in another order"]
    return [*_first(edited, "edited"), *_first(missing, "missing"), *_first(added, "new")]


def _first(phrases: Sequence[str], kind: str) -> list[str]:
    rest = len(phrases) - _N_NAMED
    return [*phrases[:_N_NAMED], *([f"{rest} more are {kind}"] if rest > 0 else [])]


def _shown(value: object, other: object) -> str:
    """A value in short; if it is long, the part where it parts from the other one."""
    if value is ABSENT:
        return "absent"
    text, against = (json.dumps(v, ensure_ascii=False, default=str) for v in (value, other))
    if len(text) <= _N_SHOWN:
        return text
    parting = next((i for i, (a, b) in enumerate(zip(text, against, strict=False)) if a != b), 0)
    start = max(0, parting - _N_SHOWN // 3)
    end = start + _N_SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
