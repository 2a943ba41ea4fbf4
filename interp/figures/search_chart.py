"""Search against random routes, a point a setting: what is reached, and what is left of it chosen blind."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme
from interp.figures.labels import counted, shortened, spread

_PANEL = 340
"""Height of a panel in pixels."""
_BETWEEN = 88
_AXIS = (-0.03, 1.03)
_HEIGHT = (-0.03, 1.17)
_NAMES = 1.11
"""Where the names of cases stand on the y axis."""
_NAME_GAP = 0.17
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
_RANDOM_NAME = "random routes"
_MOST_NAMED = 8
"""Up to so many cases are named at their place on the axis."""


def search_chart(settings: pl.DataFrame) -> go.Figure:
    """Two panels: reach of a search over that of random routes, and both chosen blind over what is deployed.

    Above, a point on the diagonal is a search that finds no more than random routes within the same budget,
    and in the shaded band it is ahead by less than the margin. Below, the answer-blind pick of the same
    attempts: on the diagonal nothing of what is reached can be kept. A filled point is ahead by more than
    chance, by the 95 percent interval of the paired difference.

    Args:
        settings: One row a case and search: `case`, `search`, `reach` (of the search), `reach_other` (of
            random routes) with `low` and `high`, the interval of random - search; `margin`; `deployed`, the
            deployed score; `blind` and `blind_other`, the score of the answer-blind pick from the attempts of
            the search and of random routes, with `blind_low` and `blind_other_low`, the lower ends of their
            differences to the deployed score. All are shares of questions.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(settings, "the table of settings")
    figure = make_subplots(rows=2, cols=1, vertical_spacing=_BETWEEN / (2 * _PANEL + _BETWEEN))
    margin = float(settings["margin"][0])
    _add_diagonal(figure, 1, above=margin)
    _add_diagonal(figure, 2)
    for i, (search, rows) in enumerate(_groups(settings, "search")):
        style = theme.PROBES[i % len(theme.PROBES)][0], _SYMBOLS[i % len(_SYMBOLS)]
        name = f"{search} (oracle)"
        _add_points(figure, 1, rows, ("reach_other", "reach", pl.col("high") < 0), style, name=name)
        _add_points(figure, 2, rows, ("deployed", "blind", pl.col("blind_low") > 0), style, name=name)
    by_case = settings.unique("case", maintain_order=True)
    kept = ("deployed", "blind_other", pl.col("blind_other_low") > 0)
    _add_points(figure, 2, by_case, kept, (theme.SOFT_INK, "x"), name=_RANDOM_NAME)
    highest = settings.with_columns(kept=pl.max_horizontal("blind", "blind_other"))
    _name_cases(figure, 1, highest, "reach_other", "reach")
    _name_cases(figure, 2, highest, "deployed", "kept")
    for row, text in (
        (1, "<b>Reached</b> within the budget, gold answers seen"),
        (2, "<b>Kept</b> by a majority vote over the same attempts, blind to the gold answers"),
    ):
        axis = "" if row == 1 else row
        figure.add_annotation(
            text=text, xref=f"x{axis} domain", yref=f"y{axis} domain", x=0, y=1, yshift=5, xanchor="left",
            yanchor="bottom", font={"size": 13, "color": theme.INK},
        )  # fmt: skip
    figure.update_xaxes(range=_AXIS, dtick=0.25, tickformat=".2~f")
    figure.update_yaxes(range=_HEIGHT, tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".2~f")
    figure.update_xaxes(title_text="Reached by random routes", row=1)
    figure.update_yaxes(title_text="Reached by the search", row=1)
    figure.update_xaxes(title_text="Deployed score", row=2)
    figure.update_yaxes(title_text="Score of the blind pick", row=2)
    top = theme.TITLE_MARGIN + 26
    figure.update_layout(margin={"t": top, "l": 64, "r": 24, "b": 92})
    theme.layout(figure, _title(settings), _note(settings), height=top + 92 + 2 * _PANEL + _BETWEEN)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"}
    return figure.update_layout(
        showlegend=True, legend=legend | {"font": {"size": 12, "color": theme.SOFT_INK}}
    )


def _groups(table: pl.DataFrame, column: str) -> list[tuple[Any, pl.DataFrame]]:
    return [(name, rows) for (name,), rows in table.group_by(column, maintain_order=True)]


def _add_diagonal(figure: go.Figure, row: int, *, above: float = 0.0) -> None:
    """Draws the diagonal, and the band above it in which the search is ahead by less than the margin."""
    low, high = _AXIS
    if above:
        figure.add_scatter(
            x=[low, high, high, low],
            y=[low, high, high + above, low + above],
            fill="toself",
            fillcolor=theme.LOSS_AREA,
            mode="lines",
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            name="margin",
            row=row,
            col=1,
        )
    figure.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": theme.AXIS, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
        name="equal",
        row=row,
        col=1,
    )


def _add_points(
    figure: go.Figure,
    row: int,
    rows: pl.DataFrame,
    columns: tuple[str, str, pl.Expr],
    style: tuple[str, str],
    *,
    name: str,
) -> None:
    """Draws the points of one probe: filled where it is ahead by more than chance, open elsewhere."""
    (x, y, clear), (colour, symbol) = columns, style
    fills = rows.select(clear.fill_null(value=False)).to_series()
    figure.add_scatter(
        x=rows[x].to_list(),
        y=rows[y].to_list(),
        mode="markers",
        marker={
            "symbol": symbol,
            "size": 11,
            "color": [colour if filled else theme.PAPER for filled in fills],
            "line": {"color": colour, "width": 2},
        },
        customdata=[theme.label(case) for case in rows["case"]],
        hovertemplate=f"<b>{theme.label(name)}</b>, %{{customdata}}<br>%{{y:.2f}} against %{{x:.2f}}"
        "<extra></extra>",
        legendgroup=theme.label(name),
        showlegend=row == 1 or name == _RANDOM_NAME,
        name=theme.label(name),
        cliponaxis=False,
        row=row,
        col=1,
    )


def _name_cases(figure: go.Figure, row: int, settings: pl.DataFrame, x: str, highest: str) -> None:
    """Writes each case's name above its points, where there are few."""
    cases = [(case, rows) for case, rows in _groups(settings, "case")]
    if len(cases) > _MOST_NAMED:
        return
    axis = "" if row == 1 else row
    wanted = [float(rows[x][0]) for _, rows in cases]
    for (case, rows), start, place in zip(
        cases, wanted, spread(wanted, _NAME_GAP, low=0.04, high=0.96), strict=True
    ):
        figure.add_annotation(
            text=theme.label(shortened(case, 16)), xref=f"x{axis}", yref=f"y{axis}", axref=f"x{axis}",
            ayref=f"y{axis}", x=start, y=float(rows[highest].max() or 0.0),  # pyright: ignore[reportArgumentType]
            ax=place, ay=_NAMES, showarrow=True, arrowhead=0, arrowwidth=1, arrowcolor=theme.AXIS, standoff=9,
            font={"size": 12, "color": theme.SOFT_INK},
        )  # fmt: skip


def _title(settings: pl.DataFrame) -> str:
    """In how many settings random routes are shown to be no worse, and in how many the search is ahead."""
    n = settings.height
    no_worse = int((settings["low"] > -settings["margin"]).sum())
    ahead = int((settings["high"] < 0).sum())
    return f"Random is no worse in {no_worse} of {counted(n, 'setting')}, search is ahead in {ahead}"


def _note(settings: pl.DataFrame) -> str:
    return (
        "Filled: ahead by more than chance (95%, paired); shaded: ahead by less than the margin, "
        f"{settings['margin'][0]:.2f}."
    )
