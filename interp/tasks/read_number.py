"""Reads a number out of a text, exactly: nothing is rounded and nothing is evaluated."""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import islice

from interp.question import Reason
from interp.tasks.cue import NO_ANSWER, Reading, Region, is_twin
from interp.tasks.numerals import CURRENCY, Number, find_last_numbers, find_numbers, is_less

MAX_CHAIN = 64
MAX_JOIN = 40

_GOES_ON = re.compile(r"[.,/:^×x*eE\\ \u00a0\u2007\u2009\u202f–—-]?")
_NEGATION = re.compile(
    r"(?<![^\W_])(?:not|never|neither|nor|none|no(?!\.)|unknown|unclear|cannot|impossible|undefined)(?![^\W_])"
    r"|n['’]t(?![^\W_])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_DECORATION = re.compile(rf"\*\*|\\[()\[\]%]|[{CURRENCY}{{}}_`%°]")


class _Join(Enum):
    """What stands between two numbers."""

    EQUALS = auto()
    IS = auto()
    OPERATOR = auto()
    DASH = auto()
    EITHER = auto()
    LIST = auto()


_JOINS: dict[str, _Join] = {
    **dict.fromkeys(("=", "equals", "makes", "gives"), _Join.EQUALS),
    "is": _Join.IS,
    **dict.fromkeys(("+", "*", "x", "X", "×", "·", "÷", "/", "^"), _Join.OPERATOR),
    **dict.fromkeys(("\\times", "\\cdot", "\\div"), _Join.OPERATOR),
    **dict.fromkeys(("plus", "minus", "times", "divided by"), _Join.OPERATOR),
    **dict.fromkeys((*"-−–—‐‑", "to", "through", "\\sim"), _Join.DASH),
    **dict.fromkeys(("", ",", ";"), _Join.LIST),
    **dict.fromkeys(("and", "&"), _Join.EITHER),
}


def read_number(region: Region, *, cut: bool) -> Reading:
    """Reads the number that a region gives as its answer.

    After a cue it is the first number, or what an equation comes to; without a cue the last one. An
    expression that is not worked out ("10 - 3", "7:30"), a range and two candidates are ambiguous.

    Args:
        region: Where to read.
        cut: Whether the text was cut at its length limit.
    """
    return _read_statement(region, cut) if region.cued else _read_last(region, cut)


def _read_statement(region: Region, cut: bool) -> Reading:
    text = region.text
    numbers = find_numbers(text, region.start, region.end)
    first = next(numbers, None)
    if first is None or _NEGATION.search(text, region.start, first.start):
        return NO_ANSWER
    sides, joins, last = [[first]], set[_Join](), first
    for number in islice(numbers, MAX_CHAIN):
        join = _join(text, last, number)
        if join is None or (join is _Join.IS and not joins):
            break
        if join in (_Join.EQUALS, _Join.IS):
            sides.append([])
            join = _Join.EQUALS
        joins.add(join)
        sides[-1].append(number)
        last = number
    span = first.start, last.end
    if cut and _may_go_on(text, last):
        return Reading(reason=Reason.TRUNCATED, span=span)
    everything = [number for side in sides for number in side]
    results = [side[0] for side in sides if len(side) == 1]
    if joins & {_Join.EITHER, _Join.LIST} or not results:
        results = everything if joins <= {_Join.EITHER, _Join.LIST} else []
    distinct = {number.value for number in results}
    if len(distinct) != 1 or any(number.is_part for number in results) or is_twin(region):
        return Reading(reason=Reason.AMBIGUOUS, span=span)
    return _reading(results[-1])


def _read_last(region: Region, cut: bool) -> Reading:
    before, last = find_last_numbers(region.text, region.start)
    if last is None:
        return NO_ANSWER
    span = last.start, last.end
    if cut and _may_go_on(region.text, last):
        return Reading(reason=Reason.TRUNCATED, span=span)
    if last.is_part or (before is not None and _are_two(region.text, before, last)):
        return Reading(reason=Reason.AMBIGUOUS, span=span)
    return _reading(last)


def _are_two(text: str, first: Number, second: Number) -> bool:
    """Whether two neighbours are a range, two candidates, or a mixed number."""
    match _join(text, first, second):
        case _Join.DASH:
            return is_less(first.value, second.value)
        case _Join.EITHER:
            return first.value != second.value
        case _Join.LIST:
            return second.is_fraction and second.start - first.end == 1 and text[first.end] == " "
        case _:
            return False


def _reading(number: Number) -> Reading:
    span = number.start, number.end
    if number.value is None:
        return Reading(reason=Reason.NO_ANSWER, span=span)
    return Reading(number.value, span=span)


def _may_go_on(text: str, number: Number) -> bool:
    return len(text) - number.end <= 1 and _GOES_ON.fullmatch(text, number.end) is not None


def _join(text: str, left: Number, right: Number) -> _Join | None:
    """What joins two neighbours; None if the second does not belong to the first."""
    raw = text[left.end : right.start]
    if len(raw) > MAX_JOIN:
        return None
    between = _DECORATION.sub("", raw).strip()
    if between in _JOINS:
        return _JOINS[between]
    if raw == ":":
        return _Join.OPERATOR
    words = [word.lower() for word in _WORD.findall(between)]
    is_one_clause = re.search(r"[.!?;\n]", between) is None and len(words) <= 4
    return _Join.EITHER if is_one_clause and ("or" in words or words == ["and"]) else None
