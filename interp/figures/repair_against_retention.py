"""The trap in one picture: what each block repairs against what it keeps."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme

_NUMBERED = 0.15
"""Blocks that repair or break at least this share carry their number; the others are small dots."""

_TEXT_WIDTH = 0.32
"""Width of the explanation of the dotted line, in units of the retention axis."""

_HOVER = (
    "<b>MLP %{customdata[0]}</b><br>repairs %{y:.2f} %{customdata[1]}<br>"
    "keeps %{x:.2f} %{customdata[2]}<br>net gain %{customdata[3]}<extra></extra>"
)


def repair_against_retention(
    repair: pl.DataFrame, *, title: str | None = None, totals: tuple[int, int] | None = None
) -> go.Figure:
    """Repair (up) against retention (right), a dot a block; the block to silence lies at the top right.

    Args:
        repair: One row a block: `layer`, `repair`, `retention` with their `_low` and `_high`, `net_gain`.
        title: Replaces the title that is written from the table.
        totals: Failures and successes of all questions asked; with them the line is drawn on which
            a block repairs as many answers as it breaks.

    Raises:
        BadInput: The table has no row.
    """
    most, gains = theme.standout_layers(repair)
    figure = go.Figure()
    if totals is not None and min(totals) > 0:
        _add_break_even(figure, *totals)
        _explain_break_even(figure, repair)
    plain = repair.filter(~pl.col("layer").is_in([most, gains])).sort("layer", descending=True)
    stands_out = (pl.col("repair") >= _NUMBERED) | (pl.col("retention") <= 1 - _NUMBERED)
    _add_blocks(figure, plain.filter(~stands_out.fill_null(value=True)), theme.DOT, size=8)
    _add_blocks(figure, plain.filter(stands_out.fill_null(value=True)), theme.DOT, size=18)
    for layer, colour in {most: theme.REPAIRS_MOST, gains: theme.GAINS_MOST}.items():
        row = repair.filter(pl.col("layer") == layer)
        _add_blocks(figure, row, colour, size=24, whiskers=True)
        _add_name(figure, row.row(0, named=True), colour, (layer == most, layer == gains))
    figure.update_xaxes(range=[-0.04, 1.05], dtick=0.2, title_text="Retention: successes still right")
    figure.update_yaxes(
        range=[-0.05, 1.1], dtick=0.2, title_text="Repair: failures now right", tickformat=".1f"
    )
    note = "One dot a silenced MLP block, the best at the top right; whiskers are 95% intervals."
    return theme.layout(figure, title or theme.headline(repair), note, height=480)


def _add_blocks(
    figure: go.Figure, rows: pl.DataFrame, colour: str, *, size: int, whiskers: bool = False
) -> None:
    """Draws one dot a block with its number inside."""
    custom = [
        (
            r["layer"],
            theme.interval(r["repair_low"], r["repair_high"]),
            theme.interval(r["retention_low"], r["retention_high"]),
            theme.signed(r["net_gain"]),
        )
        for r in rows.iter_rows(named=True)
    ]
    bars = {axis: _whisker(rows, name, colour) if whiskers else None for axis, name in _AXES.items()}
    figure.add_scatter(
        x=rows["retention"].to_list(),
        y=rows["repair"].to_list(),
        error_x=bars["x"],
        error_y=bars["y"],
        mode="markers+text",
        text=[str(layer) if size > 10 else "" for layer in rows["layer"]],
        textfont={"size": 11 if whiskers else 9.5, "color": theme.PAPER, "weight": 600},
        marker={"size": size, "color": colour, "line": {"color": theme.PAPER, "width": 1}, "opacity": 1},
        customdata=custom,
        hovertemplate=_HOVER,
        cliponaxis=False,
    )


_AXES = {"x": "retention", "y": "repair"}


def _whisker(rows: pl.DataFrame, name: str, colour: str) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": (rows[f"{name}_high"] - rows[name]).to_list(),
        "arrayminus": (rows[name] - rows[f"{name}_low"]).to_list(),
        "color": colour,
        "thickness": 1.5,
        "width": 0,
    }


def _add_name(figure: go.Figure, row: dict[str, Any], colour: str, best: tuple[bool, bool]) -> None:
    """Writes what a marked block does beside its dot, on the side where there is room."""
    repairs_most, gains_most = best
    gain = "gains" if row["net_gain"] > 0 else "loses"
    role = "repairs most" if repairs_most else "gains most" if gain == "gains" else "loses least"
    if repairs_most and gains_most and gain == "gains":
        role = "repairs and gains most"
    keeps = "but keeps" if repairs_most and not gains_most else "and keeps"
    if row["retention"] is None:
        return
    at_right = row["retention"] < 0.5
    figure.add_annotation(
        x=row["retention_high" if at_right else "retention_low"],
        y=row["repair"],
        text=f"<b>MLP {row['layer']} {role}</b><br>repairs {theme.fraction(row['repair'])} {keeps} "
        f"{theme.fraction(row['retention'])}",
        align="left" if at_right else "right",
        xanchor="left" if at_right else "right",
        xshift=8 if at_right else -8,
        font={"color": colour, "size": 13, "shadow": theme.HALO},
    )


def _add_break_even(figure: go.Figure, n_failures: int, n_successes: int) -> None:
    """Draws the line on which as many answers are repaired as broken, and shades what loses."""
    reach = min(1.0, n_failures / n_successes)
    top = min(1.0, n_successes / n_failures)
    figure.add_scatter(
        x=[0, 1, 1 - reach, 0],
        y=[0, 0, top, top],
        mode="none",
        fill="toself",
        fillcolor=theme.LOSS_AREA,
        hoverinfo="skip",
        name="loses",
    )
    figure.add_scatter(
        x=[1, 1 - reach],
        y=[0, top],
        mode="lines",
        line={"color": theme.DOT, "width": 1.2, "dash": "dot"},
        hoverinfo="skip",
        name="break-even",
    )


def _explain_break_even(figure: go.Figure, repair: pl.DataFrame) -> None:
    """Says what the line means, at the left, at the height that is farthest from any dot."""
    dots = repair.filter(pl.col("retention").fill_nan(None) < _TEXT_WIDTH)["repair"].to_list()
    heights = (0.04, 0.2, 0.35, 0.5, 0.65, 0.8)
    room = {y: min((abs(dot - y - 0.06) for dot in dots), default=1.0) for y in heights}
    figure.add_annotation(
        x=0.02,
        y=max(heights, key=lambda y: round(min(room[y], 0.15), 2)),
        xanchor="left",
        yanchor="bottom",
        align="left",
        text="Below the dotted line<br>more answers break<br>than are repaired",
        font={"color": theme.SOFT_INK, "size": 11.5, "shadow": theme.HALO},
    )
