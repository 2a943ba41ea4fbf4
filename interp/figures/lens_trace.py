"""How gold and given answer grow over depth, read through the logit lens."""

from __future__ import annotations

import math

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme

_ANSWERS = (
    ("given", "given answer", theme.GIVEN, theme.GIVEN_BAND),
    ("gold", "gold answer", theme.GOLD, theme.GOLD_BAND),
)


def lens_trace(lens: pl.DataFrame, *, title: str | None = None) -> go.Figure:
    """Probability of gold and given over depth, and the share of failures in which gold leads.

    The log probabilities of the table are drawn as probabilities: where the lens reads nothing yet they lie
    tens of nats below zero, and would press flat the end, where the two answers part.

    Args:
        lens: One row a depth (`layer`: the number of blocks already applied): `gold_median`, `gold_low`,
            `gold_high`, `given_median`, `given_low`, `given_high` (quartiles of the log probability in nats,
            over the failures), and `gold_first`, the share of failures in which gold is above given.
        title: Replaces the title that is written from the table.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(lens, "the lens table")
    rows = lens.sort("layer")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.14, row_heights=[0.68, 0.32])
    for answer in _ANSWERS:
        _add_answer(figure, rows, *answer)
    _add_names(figure, rows.row(-1, named=True))
    _add_share(figure, rows)
    depth = overtaking_depth(rows)
    if depth is not None:
        _add_overtaking(figure, depth)
    headline = {
        None: "The lens puts the gold answer first at the end",
        rows["layer"][0]: "The given answer leads at every depth",
    }.get(depth, f"The given answer takes the lead at depth {depth}")
    first, last = rows["layer"][0], rows["layer"][-1]
    figure.update_xaxes(range=[first - 0.3, last + 0.17 * (last - first)], showgrid=False)
    figure.update_xaxes(tickvals=_ticks(first, last))
    figure.update_xaxes(title_text="Blocks already applied", row=2)
    figure.update_yaxes(title_text="Probability", rangemode="tozero", row=1)
    figure.update_yaxes(range=[0, 1.02], tickvals=[0, 0.5, 1], row=2)
    note = "Median over the failures; the bands hold the middle half of them."
    theme.layout(figure, title or headline, note, height=430)
    return figure.update_layout(hovermode="x unified")


def overtaking_depth(lens: pl.DataFrame) -> int | None:
    """The depth from which the given answer's median stays above the gold one's; None if it ends below."""
    depth = None
    for row in lens.sort("layer", descending=True).iter_rows(named=True):
        if row["given_median"] is None or not row["given_median"] > row["gold_median"]:
            break
        depth = int(row["layer"])
    return depth


def _add_answer(figure: go.Figure, rows: pl.DataFrame, name: str, text: str, colour: str, band: str) -> None:
    """Draws the band and the median of one answer."""
    layers = rows["layer"].to_list()
    figure.add_scatter(
        x=[*layers, *reversed(layers)],
        y=[*_probabilities(rows, f"{name}_high"), *reversed(_probabilities(rows, f"{name}_low"))],
        mode="none",
        fill="toself",
        fillcolor=band,
        hoverinfo="skip",
        name=f"{text}, band",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=layers,
        y=_probabilities(rows, f"{name}_median"),
        mode="lines",
        line={"color": colour, "width": 2.5},
        hovertemplate="%{y:.2f}",
        name=text,
        row=1,
        col=1,
    )


def _probabilities(rows: pl.DataFrame, column: str) -> list[float | None]:
    return [_probability(value) for value in rows[column]]


def _probability(logprob: float | None) -> float | None:
    return None if logprob is None else math.exp(logprob)


def _add_names(figure: go.Figure, end: dict[str, float | None]) -> None:
    """Names each line at its end, apart from each other."""
    above = "gold" if (end["gold_median"] or 0) >= (end["given_median"] or 0) else "given"
    for name, _, colour, _ in _ANSWERS:
        figure.add_annotation(
            x=end["layer"],
            y=_probability(end[f"{name}_median"]),
            text=f"<b>{name}</b>",
            xanchor="left",
            yanchor="bottom" if name == above else "top",
            yshift=-4 if name == above else 4,
            xshift=6,
            font={"color": colour, "size": 13},
            row=1,
            col=1,
        )


def _add_share(figure: go.Figure, rows: pl.DataFrame) -> None:
    """Draws the share of failures in which gold leads, with one half as the line of no preference."""
    figure.add_scatter(
        x=rows["layer"].to_list(),
        y=rows["gold_first"].to_list(),
        mode="lines",
        line={"color": theme.GOLD, "width": 2},
        fill="tozeroy",
        fillcolor=theme.GOLD_BAND,
        hovertemplate="%{y:.2f}",
        name="gold leads in",
        row=2,
        col=1,
    )
    figure.add_annotation(
        xref="x2 domain",
        yref="y2 domain",
        x=0,
        y=1,
        yshift=3,
        xanchor="left",
        yanchor="bottom",
        text="<b>Share of failures in which gold leads</b>",
        font={"color": theme.SOFT_INK, "size": 12},
    )


def _add_overtaking(figure: go.Figure, depth: int) -> None:
    """Marks the depth from which the given answer leads."""
    figure.add_shape(
        type="line",
        xref="x",
        yref="paper",
        x0=depth,
        x1=depth,
        y0=0,
        y1=1,
        layer="below",
        line={"color": theme.GIVEN, "width": 1.2, "dash": "dot"},
    )
    figure.add_annotation(
        x=depth,
        xref="x",
        yref="y domain",
        y=0.98,
        yanchor="top",
        xanchor="right",
        xshift=-6,
        align="right",
        text=f"given leads<br>from depth {depth}",
        font={"color": theme.GIVEN, "size": 12},
    )


def _ticks(first: int, last: int) -> list[int]:
    step = next((step for step in (1, 2, 5, 10) if (last - first) / step <= 16), 20)
    return [layer for layer in range(first, last + 1) if layer % step == 0]
