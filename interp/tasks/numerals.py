"""Finds the numbers in a text and spells them: all equal numbers in the same way, exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

MAX_EXPONENT = 1000
MAX_FRACTION_DIGITS = 300

_GROUP = r",\\!|[, \u00a0\u2007\u2009\u202f]|\{,\}|\\,"
_SIGN = "-+−–‐‑﹣－"
CURRENCY = "$£€¥₹₩₽₺¢"


def _amount(name: str) -> str:
    """Pattern of an unsigned number; thousands are set apart by one and the same separator."""
    return (
        rf"(?P<{name}>(?:[1-9][0-9]{{0,2}}(?P<{name}_group>{_GROUP})[0-9]{{3}}"
        rf"(?:(?P={name}_group)[0-9]{{3}})*+(?![0-9])|[0-9]++)(?:\.[0-9]++)?|(?<![\w.])\.[0-9]++)"
    )


_LEAD = rf"""(?:(?<![^\W_])(?<![{_SIGN}—)\]}}%])(?P<sign>[{_SIGN}])[\u200e\u200f]?(?:\\?[{CURRENCY}][ ]?)?
    | (?<=[=({{$])[ ]?(?P<spaced_sign>[-−])[ ])?"""
_TEX_FRACTION = rf"""\\[dtc]?frac[ ]?
    (?:\{{[ ]?(?P<top_sign>[-−])?[ ]?{_amount("top")}[ ]?\}}[ ]?\{{[ ]?{_amount("bottom")}[ ]?\}}
    | (?P<top_digit>[0-9])[ ]?(?P<bottom_digit>[0-9]))"""
_POWER_OF_TEN = r"""[ ]?(?:[×x*]|\\times|\\cdot)[ ]?10[ ]?(?:\^|\*\*)[ ]?
    (?:\{(?P<power>[-+−]?[0-9]++)\}|(?P<bare_power>[-+−]?[0-9]++))"""
_PLAIN = rf"""{_amount("whole")}
    (?:[eE](?P<exponent>[-+−]?[0-9]++)(?![^\W_]) | {_POWER_OF_TEN})?
    (?:[ ]?/[ ]?{_amount("over")})?"""
_NOT_SUBSCRIPT = r"(?<![0-9])(?<![^\W\d_]_)(?<![^\W\d_]_\{)"
_NUMBER = re.compile(rf"{_LEAD}(?:{_TEX_FRACTION}|{_NOT_SUBSCRIPT}(?:{_PLAIN}))", re.VERBOSE)

# What stands beside a number that is only a part of something else: "1,5", "2^3", "3\pi", "5 million".
_SCALE = r"(?:hundred|thousand|million|billion|trillion|dozen)(?![^\W_])"
_PART_AFTER = re.compile(
    rf"""[,_'’.\u200b-\u200f\u2060\ufeff][0-9] | /[0-9] | _\{{?[0-9] | \*\*[0-9]
    | [ ]?(?:\^(?![ ]?\{{?[ ]?\\circ)|√|\\sqrt|π|\\pi|{_SCALE})""",
    re.VERBOSE | re.IGNORECASE,
)
_PART_BEFORE = re.compile(
    r"""(?:[0-9](?:[,_'’./\u200b-\u200f\u2060\ufeff]|\*\*) | \^[ ]?\{?[-−]? | ± | \\pm[ ]?
    | (?:√|\\sqrt|π|\\pi)[\s{}\[\]0-9]* | \\[dtc]?frac[ ]?\{(?:[^{}]{0,30}\}[ ]?\{)?
    | (?:(?<![^\W_])is|:)[ ]?[-−–][ ])$""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number in a text: its value in canonical spelling, None if it has none ("1/0", "1e999999")."""

    start: int
    end: int
    value: str | None
    is_part: bool
    is_fraction: bool


def canonical_number(text: str) -> str | None:
    """The one spelling that all equal numbers share; None if the text is not exactly one number.

    Decimals that end are written out ("0.5" for 1/2, "1000" for 1e3), other fractions are reduced ("1/3").
    A currency before and a unit after it are allowed.
    """
    found = list(islice(find_numbers(text, 0, len(text)), 2))
    if len(found) != 1 or found[0].is_part:
        return None
    before, after = text[: found[0].start].strip(), text[found[0].end :]
    alone = re.fullmatch(rf"[{CURRENCY}\\(+]*|[A-Z]{{2,3}}[{CURRENCY}]?|Rs\.?", before) is not None
    return found[0].value if alone and not any(c.isnumeric() for c in after) else None


def is_less(a: str | None, b: str | None) -> bool:
    """Whether one spelled number is less than another; False if one has no value or is very long."""
    if a is None or b is None or max(len(a), len(b)) > 2 * MAX_EXPONENT:
        return False
    return Fraction(a) < Fraction(b)


def find_last_numbers(text: str, start: int) -> tuple[Number | None, Number | None]:
    """The last number but one and the last number from an offset on; None where there is none."""
    before = last = None
    for match in _NUMBER.finditer(text, start):
        before, last = last, match
    return before and _number(text, before), last and _number(text, last)


def find_numbers(text: str, start: int, end: int) -> Iterator[Number]:
    """The numbers that stand between two offsets, in order; one look at each, whatever the length."""
    for match in _NUMBER.finditer(text, start, end):
        yield _number(text, match)


def _number(text: str, match: re.Match[str]) -> Number:
    start = match.start() if match["spaced_sign"] is None else match.start("spaced_sign")
    after = text[match.end() : match.end() + 12]
    before = text[max(0, start - 48) : start]
    odd = any(c.isnumeric() and not c.isascii() for c in (before[-1:], after[:1]) if c)
    is_part = odd or _PART_AFTER.match(after) is not None or _PART_BEFORE.search(before) is not None
    is_fraction = match["over"] is not None or match["whole"] is None
    return Number(start, match.end(), _value(match), is_part, is_fraction)


def _value(match: re.Match[str]) -> str | None:
    negative = (match["sign"] or match["spaced_sign"] or "+") != "+"
    if match["whole"] is None:
        negative ^= match["top_sign"] is not None
        top = _decimal(match["top"] or match["top_digit"])
        bottom = _decimal(match["bottom"] or match["bottom_digit"])
    else:
        top = _decimal(match["whole"], match["exponent"] or match["power"] or match["bare_power"] or "0")
        bottom = _decimal(match["over"] or "1")
    value = top if bottom == "1" else _divide(top, bottom)
    return f"-{value}" if negative and value not in (None, "0") else value


def _decimal(amount: str, exponent: str = "0") -> str | None:
    """An unsigned amount with all its digits; None if the exponent is beyond `MAX_EXPONENT`.

    Works on the digits as text, so that it is exact and linear at any length.
    """
    whole, _, part = re.sub(_GROUP, "", amount).partition(".")
    shift_sign, shift_digits = ("-", exponent[1:]) if exponent[0] in "-−" else ("", exponent.lstrip("+"))
    shift_digits = shift_digits.lstrip("0") or "0"
    if len(shift_digits) > 4 or int(shift_digits) > MAX_EXPONENT:
        return None
    digits, point = whole + part, len(whole) + int(shift_sign + shift_digits)
    if point < 0:
        digits, point = "0" * -point + digits, 0
    digits = digits.ljust(point, "0")
    whole, part = digits[:point].lstrip("0") or "0", digits[point:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def _divide(top: str | None, bottom: str | None) -> str | None:
    """The quotient as a decimal that ends, else as a reduced fraction; None if there is none."""
    if top is None or bottom in (None, "0") or max(len(top), len(bottom)) > MAX_FRACTION_DIGITS:
        return None
    quotient = Fraction(top) / Fraction(bottom)
    rest, n_twos, n_fives = quotient.denominator, 0, 0
    while rest % 2 == 0:
        rest, n_twos = rest // 2, n_twos + 1
    while rest % 5 == 0:
        rest, n_fives = rest // 5, n_fives + 1
    if rest != 1:
        return str(quotient)
    n_places = max(n_twos, n_fives)
    digits = str(quotient.numerator * 10**n_places // quotient.denominator).rjust(n_places + 1, "0")
    return _decimal(f"{digits[: len(digits) - n_places]}.{digits[len(digits) - n_places :]}")
