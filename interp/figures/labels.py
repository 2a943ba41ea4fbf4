"""Where labels stand and how long they are: beside their values, never one over another."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate


def spread(values: Sequence[float], gap: float, *, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Places for labels, each near its value, none nearer to the next than a gap, within two ends.

    Labels that would overlap share what they must move: the places have the least sum of squared moves.
    Where they cannot all keep the gap between the ends, they share the room evenly. Equal values keep their
    order, the first lowest.
    """
    from scipy.optimize import isotonic_regression

    if not values:
        return []
    gap = min(gap, (high - low) / max(1, len(values) - 1))
    order = sorted(range(len(values)), key=lambda i: values[i])
    wanted = [values[i] - rank * gap for rank, i in enumerate(order)]
    highest = high - gap * (len(values) - 1)
    places = [0.0] * len(values)
    for rank, (i, start) in enumerate(zip(order, isotonic_regression(wanted).x, strict=True)):
        places[i] = min(max(float(start), low), highest) + rank * gap
    return places


def n_columns(text: str) -> int:
    """How wide a text is, in letters: marks that combine take no room, East Asian letters and emoji two."""
    return len(text) if text.isascii() else sum(_width(character) for character in text)


def shortened(text: object, most: int) -> str:
    """Text cut to a number of columns (see `n_columns`), with "…" where something was left out."""
    whole = str(text)
    if whole.isascii() and len(whole) > most:
        return whole[: most - 1].rstrip() + "…"
    if n_columns(whole) <= most:
        return whole
    ends = accumulate(_width(character) for character in whole)
    n_kept = sum(end < most for end in ends)
    return whole[:n_kept].rstrip() + "…"


def counted(n: int, noun: str) -> str:
    """A number with its noun: "1 question", "3 questions"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
