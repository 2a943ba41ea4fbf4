"""The repair table as the page shows it: one row a block, each cell with its text and its sort value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from interp.figures import theme

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What it shows.
        note: Smaller text behind it.
        value: What it is sorted by; None sorts last.
        share: A fraction drawn as a bar behind the text, or None.
    """

    text: str
    note: str = ""
    value: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Row:
    """One block: its cells, and its mark ("most", "gains" or nothing)."""

    layer: int
    mark: str
    cells: tuple[Cell, ...]


HEADINGS = (
    ("Repair", "failures now right"),
    ("Retention", "successes still right"),
    ("Net gain", "change of accuracy over all questions"),
    ("Accuracy after", "estimate over all questions"),
    ("Repair by half", "first and second half of the failures"),
    ("Commonest answer", "before and after, with its share"),
    ("Commonest position", "of the answers a question names"),
    ("Unreadable", "answers before and after"),
)
"""Heading and explanation of each column behind the block."""


def repair_rows(repair: pl.DataFrame) -> list[Row]:
    """Rows for the page, in the order of the table.

    Raises:
        BadInput: The table has no row.
    """
    most, gains = theme.standout_layers(repair)
    marks = {most: "most", gains: "gains"}
    return [
        Row(int(row["layer"]), marks.get(row["layer"], ""), _cells(row))
        for row in repair.iter_rows(named=True)
    ]


def _cells(row: dict[str, Any]) -> tuple[Cell, ...]:
    halves = f"{theme.fraction(row['repair_first_half'])} / {theme.fraction(row['repair_second_half'])}"
    unreadable = f"{row['n_unreadable_before']} → {row['n_unreadable_after']}"
    return (
        _share(row, "repair"),
        _share(row, "retention"),
        Cell(theme.signed(row["net_gain"]), value=_known(row["net_gain"])),
        Cell(theme.fraction(row["accuracy_after"]), value=_known(row["accuracy_after"])),
        Cell(halves, value=_known(row["repair_first_half"])),
        _shift(row, "answer"),
        _shift(row, "position"),
        Cell(unreadable, value=row["n_unreadable_after"]),
    )


def _share(row: dict[str, Any], name: str) -> Cell:
    note = theme.interval(row[f"{name}_low"], row[f"{name}_high"])
    known = _known(row[name])
    return Cell(theme.fraction(known), note=note, value=known, share=known)


def _shift(row: dict[str, Any], name: str) -> Cell:
    before, after = row[f"{name}_before"], row[f"{name}_after"]
    if before is None and after is None:
        return Cell("–")
    shares = row[f"{name}_share_before"], row[f"{name}_share_after"]
    if name == "position":
        before, after = ordinal(before), ordinal(after)
    before, after = ("–" if word is None else str(word) for word in (before, after))
    text = before if before == after else f"{before} → {after}"
    return Cell(
        text, note=f"{theme.fraction(shares[0])} → {theme.fraction(shares[1])}", value=_known(shares[1])
    )


def _known(value: float | None) -> float | None:
    """The number, or None where there is none (NaN included)."""
    return None if value is None or math.isnan(value) else value


def ordinal(position: int | None) -> str:
    """A position counted from 0, in words ("first"); a dash where there is none."""
    if position is None:
        return "–"
    return _ORDINALS[position] if position < len(_ORDINALS) else f"number {position + 1}"
