"""Every question a cell, coloured by what the audit found of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme

_LONGEST = 80
_MOST_GAPS = 2500
_SIDE = 16
_ORDER = tuple(theme.STATES)


def question_map(questions: pl.DataFrame, *, probe: str) -> go.Figure:
    """One cell a question, ordered by state and by how often the probe's attempts are right.

    Within a state that has right attempts, pale cells have few of them.

    Args:
        questions: One row a question: `id`, `text`, `gold`, `state`, `rate`, `deployed_answer`.
        probe: Name of the probe whose attempts give the rate.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(questions, "the table of questions")
    figure = make_subplots(rows=1, cols=1)
    order = _ranked(questions)
    height = _add_cells(figure, questions[order], row=1)
    counts = _counts(questions)
    realized, only = counts["realized"], counts["reachable only"]
    title = f"{realized} of {questions.height} questions are realized, {only} more are only reachable"
    note = f"One cell a question; the paler, the fewer attempts of {probe} are right."
    _add_legend(figure, counts, row=1)
    return theme.layout(figure, title, note, height=theme.TITLE_MARGIN + 58 + height)


def question_map_pair(before: pl.DataFrame, after: pl.DataFrame) -> go.Figure:
    """The questions of two runs, each at the same place in both maps: ordered by state before, then after.

    Args:
        before: As for `question_map`.
        after: The same questions in another run.

    Raises:
        BadInput: A table has no row.
    """
    theme.require_rows(before, "the table of questions before")
    theme.require_rows(after, "the table of questions after")
    after = before.select("id").join(after, on="id", how="inner", maintain_order="left")
    before = after.select("id").join(before, on="id", how="inner", maintain_order="left")
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.16)
    states = [[_ORDER.index(s) for s in table["state"]] for table in (before, after)]
    rates = [r or 0.0 for r in before["rate"]]
    order = sorted(range(before.height), key=lambda i: (states[0][i], states[1][i], -rates[i], i))
    height = max(_add_cells(figure, table[order], row=row) for row, table in ((1, before), (2, after)))
    for row, table, name in ((1, before, "before"), (2, after, "after")):
        _add_legend(figure, _counts(table), row=row, name=name)
    moved = sum(a != b for a, b in zip(*states, strict=True))
    title = f"{moved} of {before.height} questions change their state"
    note = "One cell a question, at the same place in both maps."
    return theme.layout(figure, title, note, height=theme.TITLE_MARGIN + 110 + 2 * height)


def _ranked(questions: pl.DataFrame) -> list[int]:
    states = [_ORDER.index(state) for state in questions["state"]]
    rates = [rate or 0.0 for rate in questions["rate"]]
    return sorted(range(questions.height), key=lambda i: (states[i], -rates[i], i))


def _add_cells(figure: go.Figure, questions: pl.DataFrame, *, row: int) -> int:
    """Draws the cells, row by row, and gives the height they need in pixels."""
    n = questions.height
    width = max(1, min(n, round(math.sqrt(n * 2.6)))) if n > 40 else n
    n_rows = math.ceil(n / width)
    side = max(2.0, min(_SIDE * 1.6, 640 / width))
    cells: list[float | None] = [
        _ORDER.index(state) + 0.04 + 0.92 * (rate or 0.0)
        for state, rate in zip(questions["state"], questions["rate"], strict=True)
    ]
    notes: list[Sequence[str]] = [
        (
            theme.label(r["id"]),
            theme.label(r["text"] if len(r["text"]) <= _LONGEST else r["text"][: _LONGEST - 1] + "…"),
            theme.label(r["gold"]),
            theme.label("–" if r["deployed_answer"] is None else r["deployed_answer"]),
            theme.fraction(r["rate"]),
            r["state"],
        )
        for r in questions.iter_rows(named=True)
    ]
    empty: Sequence[str] = ("",) * 6
    cells += [None] * (n_rows * width - n)
    notes += [empty] * (n_rows * width - n)
    gap = 1 if n <= _MOST_GAPS else 0
    figure.add_heatmap(
        z=[cells[i : i + width] for i in range(0, len(cells), width)],
        customdata=[notes[i : i + width] for i in range(0, len(notes), width)],
        zmin=0,
        zmax=len(_ORDER),
        colorscale=_colours(),
        showscale=False,
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        hovertemplate="<b>%{customdata[0]}</b>: %{customdata[5]}<br>%{customdata[1]}<br>"
        "gold %{customdata[2]}, answered %{customdata[3]}<br>"
        "right %{customdata[4]} of the time<extra></extra>",
        name="questions",
        row=row,
        col=1,
    )
    axes: dict[str, Any] = {"visible": False, "row": row, "col": 1}
    figure.update_xaxes(range=[-0.5, max(width, 640 / _SIDE / 1.6) - 0.5], **axes)
    figure.update_yaxes(range=[n_rows - 0.5, -0.5], **axes)
    return max(40, round(side * n_rows))


def _colours() -> list[list[Any]]:
    """A scale in which each state has its own stretch, from pale to full."""
    n = len(_ORDER)
    scale: list[list[Any]] = []
    for i, (full, pale, _) in enumerate(theme.STATES.values()):
        scale += [[i / n, pale], [(i + 1) / n, full]]
    return scale


def _counts(questions: pl.DataFrame) -> dict[str, int]:
    found = dict(questions["state"].value_counts().iter_rows())
    return {state: int(found.get(state, 0)) for state in _ORDER}


def _add_legend(figure: go.Figure, counts: dict[str, int], *, row: int, name: str = "") -> None:
    parts = [
        f"<span style='color:{theme.STATES[state][0]}'>■</span> {state} <b>{count}</b>"
        for state, count in counts.items()
        if count
    ]
    head = f"<b>{name}</b>   " if name else ""
    axis = "" if row == 1 else str(row)
    figure.add_annotation(
        text=head + "   ".join(parts),
        xref="paper",
        yref=f"y{axis} domain",
        x=0,
        y=1,
        yshift=6,
        xanchor="left",
        yanchor="bottom",
        font={"size": 12.5, "color": theme.INK},
    )
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + 26, "b": 20, "l": 16})
