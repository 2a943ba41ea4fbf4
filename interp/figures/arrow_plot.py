"""What is delivered against what is reachable, an arrow from before to after."""

from __future__ import annotations

import html
import math
from typing import Any

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme
from interp.figures.labels import counted, n_columns, shortened, spread

_PLOT = 410
"""Height of the plot in pixels."""
_COLUMN = 6.7
"""Pixels of a letter of a name."""
_NAME_COLUMNS = 27
_SMALLEST_SPAN = 0.2
_STILL = 0.005
"""A change that two decimals do not show."""


def arrow_plot(pairs: pl.DataFrame) -> go.Figure:
    """One arrow a pair of runs, from before to after: deployed score to the right, reachable ceiling upwards.

    Blue is an arrow whose ceiling holds or rises, orange one whose ceiling falls. Below the diagonal less
    would be reachable than is delivered.

    Args:
        pairs: One row an arrow: `name`, `deployed_before`, `deployed_after`, `ceiling_before`,
            `ceiling_after` (shares of questions), and `probe` and `k`, which reach the ceiling; k is null or
            0 where it says nothing. Names are written beside up to a dozen arrows without crowding.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(pairs, "the table of pairs")
    rows = pairs.rows(named=True)
    low, high = _range(rows)
    figure = go.Figure()
    _add_area(figure, low, high)
    names, shared = _names(rows)
    line_height = (30 if any("<br>" in name for name in names) else 18) * (high - low) / _PLOT
    order = sorted(range(len(rows)), key=lambda i: (rows[i]["ceiling_after"], rows[i]["deployed_after"]))
    places = spread(
        [rows[i]["ceiling_after"] for i in order],
        line_height,
        low=low + line_height / 2,
        high=high - line_height / 2,
    )
    for i, place in zip(order, places, strict=True):
        _add_leader(figure, rows[i], place, edge=high)
    for i, place in zip(order, places, strict=True):
        _add_arrow(figure, rows[i])
        figure.add_annotation(
            x=high, y=place, text=names[i], xanchor="left", xshift=14, align="left",
            font={"color": _colour(rows[i]), "size": 12},
        )  # fmt: skip
    ticks: dict[str, Any] = {
        "dtick": 0.25 if high - low > 0.8 else 0.1 if high - low > 0.35 else 0.05,
        "tickformat": ".2~f",
    }
    figure.update_xaxes(range=[low, high], title_text="Deployed score", **ticks)
    figure.update_yaxes(range=[low, high], title_text="Reachable ceiling", **ticks)
    widest = max(n_columns(line) for name in names for line in html.unescape(name).split("<br>"))
    figure.update_layout(
        margin={"t": theme.TITLE_MARGIN, "b": 52, "l": 60, "r": round(26 + _COLUMN * widest)}
    )
    note = f"{shared}Before is a ring, after an arrowhead; orange where the ceiling falls."
    return theme.layout(figure, _title(rows), note, height=theme.TITLE_MARGIN + 52 + _PLOT)


def _range(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """One range for both axes, so that the diagonal runs from corner to corner."""
    values = [
        row[f"{part}_{end}"]
        for row in rows
        for part in ("deployed", "ceiling")
        for end in ("before", "after")
    ]
    low, high = min(values), max(values)
    pad = max(0.06 * (high - low), (_SMALLEST_SPAN - (high - low)) / 2, 0.02)
    return max(-0.03, low - pad), min(1.03, high + pad)


def _add_area(figure: go.Figure, low: float, high: float) -> None:
    """Shades what cannot be, and says why."""
    figure.add_scatter(
        x=[low, high, high],
        y=[low, high, low],
        fill="toself",
        fillcolor=theme.LOSS_AREA,
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        name="cannot be",
    )
    figure.add_annotation(
        x=high,
        y=low,
        xshift=-8,
        yshift=6,
        xanchor="right",
        yanchor="bottom",
        align="right",
        text="cannot be:<br>what is delivered<br>is reachable",
        font={"color": theme.SOFT_INK, "size": 12},
    )


def _names(rows: list[dict[str, Any]]) -> tuple[list[str], str]:
    """What each arrow is called, and what all have in common, for the subtitle."""
    budgets = [_budget(row) for row in rows]
    same_budget, same_name = (len(set(words)) == 1 for words in (budgets, [row["name"] for row in rows]))
    if same_budget:
        shared = f"Ceiling: {shortened(budgets[0], 40)}. "
        return [theme.label(shortened(row["name"], _NAME_COLUMNS)) for row in rows], shared
    cut = [theme.label(shortened(budget, _NAME_COLUMNS)) for budget in budgets]
    if same_name:
        return cut, f"{shortened(rows[0]['name'], 40)}. "
    named = [theme.label(shortened(row["name"], _NAME_COLUMNS)) for row in rows]
    return [f"<b>{name}</b><br>{budget}" for name, budget in zip(named, cut, strict=True)], ""


def _budget(row: dict[str, Any]) -> str:
    return f"{row['probe']}, {counted(row['k'], 'attempt')}" if row["k"] else str(row["probe"])


def _change(row: dict[str, Any], part: str) -> float:
    return row[f"{part}_after"] - row[f"{part}_before"]


def _colour(row: dict[str, Any]) -> str:
    return theme.REPAIRS_MOST if _change(row, "ceiling") < -_STILL else theme.GAINS_MOST


def _add_leader(figure: go.Figure, row: dict[str, Any], place: float, *, edge: float) -> None:
    """Leads from an arrow's head to its name."""
    figure.add_annotation(
        x=row["deployed_after"], y=row["ceiling_after"], ax=edge, ay=place, xref="x", yref="y", axref="x",
        ayref="y", text="", showarrow=True, arrowhead=0, arrowwidth=1, arrowcolor=theme.AXIS, standoff=6,
    )  # fmt: skip


def _add_arrow(figure: go.Figure, row: dict[str, Any]) -> None:
    """Draws a ring where the pair was and an arrowhead where it is; a dot if it did not move."""
    colour = _colour(row)
    x, y = ([row[f"{part}_{end}"] for end in ("before", "after")] for part in ("deployed", "ceiling"))
    still = math.dist((x[0], y[0]), (x[1], y[1])) < _STILL
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        marker={
            "size": [9, 9],
            "color": [colour if still else theme.PAPER, colour],
            "opacity": [1, 1 if still else 0],
            "line": {"color": colour, "width": 2},
        },
        customdata=[
            (
                theme.label(row["name"]),
                theme.label(_budget(row)),
                word,
                theme.signed(_change(row, "deployed")),
                theme.signed(_change(row, "ceiling")),
            )
            for word in ("before", "after")
        ],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}, %{customdata[2]}<br>"
        "deployed %{x:.2f} (%{customdata[3]})<br>ceiling %{y:.2f} (%{customdata[4]})<extra></extra>",
        name=theme.label(row["name"]),
        cliponaxis=False,
    )
    if not still:
        figure.add_annotation(
            x=x[1], y=y[1], ax=x[0], ay=y[0], xref="x", yref="y", axref="x", ayref="y", text="",
            showarrow=True, arrowhead=2, arrowwidth=2.5, arrowsize=1, arrowcolor=colour, startstandoff=5,
        )  # fmt: skip


def _title(rows: list[dict[str, Any]]) -> str:
    if len(rows) == 1:
        moved = [_word(_change(rows[0], part)) for part in ("deployed", "ceiling")]
        return f"The deployed score {moved[0]}, the reachable ceiling {moved[1]}"
    rises = [sum(_change(row, part) > _STILL for row in rows) for part in ("deployed", "ceiling")]
    if len({row["name"] for row in rows}) == 1 and len({_change(row, "deployed") for row in rows}) == 1:
        moved = _word(_change(rows[0], "deployed"))
        return f"The deployed score {moved}; {rises[1]} of {len(rows)} ceilings rise"
    return f"The deployed score rises in {rises[0]} of {len(rows)} pairs, the ceiling in {rises[1]}"


def _word(change: float) -> str:
    if abs(change) <= _STILL:
        return "stays"
    return f"{'rises' if change > 0 else 'falls'} by {abs(change):.2f}"
