"""What is delivered against what is reachable, an arrow from before to after."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme


def arrow_plot(pairs: pl.DataFrame) -> go.Figure:
    """One arrow a pair of runs and probe: deployed score to the right, reachable ceiling upwards.

    Args:
        pairs: `name`, `probe`, `k`, `deployed_before`, `deployed_after`, `ceiling_before`, `ceiling_after`.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(pairs, "the table of pairs")
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1, 1, 0],
        y=[0, 1, 0, 0],
        fill="toself",
        fillcolor=theme.LOSS_AREA,
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        name="below",
    )
    rows = list(pairs.iter_rows(named=True))
    places = theme.spread([row["ceiling_after"] for row in rows], 0.05, low=0.03, high=1.02)
    for row, place in zip(rows, places, strict=True):
        _add_arrow(figure, row, place)
    figure.add_annotation(
        x=0.97, y=0.05, text="less reachable than delivered", xanchor="right", font={"color": theme.SOFT_INK}
    )
    figure.update_xaxes(range=[0, 1.02], dtick=0.25, tickformat=".2~f", title_text="deployed score")
    figure.update_yaxes(range=[0, 1.05], dtick=0.25, tickformat=".2~f", title_text="reachable ceiling")
    return theme.layout(
        figure, _title(rows), "From before to after, on the same questions, probes and budgets.", height=480
    )


def _title(rows: list[dict[str, object]]) -> str:
    ups = sum(_gain(row, "deployed") > 0 for row in rows)
    falls = sum(_gain(row, "ceiling") < 0 for row in rows)
    if len(rows) == 1:
        moved = [_word(_gain(rows[0], part)) for part in ("deployed", "ceiling")]
        return f"The deployed score {moved[0]}, the reachable ceiling {moved[1]}"
    return f"{ups} of {len(rows)} arrows go right, {falls} go down"


def _word(gain: float) -> str:
    if abs(gain) < 0.005:
        return "stays"
    return f"{'rises' if gain > 0 else 'falls'} by {abs(gain):.2f}"


def _gain(row: dict[str, object], part: str) -> float:
    return float(row[f"{part}_after"]) - float(row[f"{part}_before"])  # pyright: ignore[reportArgumentType]


def _add_arrow(figure: go.Figure, row: dict[str, object], place: float) -> None:
    falls = _gain(row, "ceiling") < 0
    colour = theme.REPAIRS_MOST if falls else theme.GAINS_MOST
    name = theme.label(f"{row['name']}, {row['probe']}" + (f" at {row['k']}" if row["k"] else ""))
    ends = [(row["deployed_before"], row["ceiling_before"]), (row["deployed_after"], row["ceiling_after"])]
    figure.add_scatter(
        x=[x for x, _ in ends],
        y=[y for _, y in ends],
        mode="markers",
        marker={"size": [9, 7], "color": [theme.PAPER, colour], "line": {"color": colour, "width": 2}},
        hovertemplate=f"<b>{name}</b><br>deployed %{{x:.2f}}<br>ceiling %{{y:.2f}}<extra></extra>",
        name=name,
        cliponaxis=False,
    )
    (x0, y0), (x1, y1) = ends
    figure.add_annotation(
        x=x1, y=y1, ax=x0, ay=y0, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True,
        arrowhead=2, arrowwidth=2, arrowsize=1.1, arrowcolor=colour, standoff=4, startstandoff=6,
    )  # fmt: skip
    at_left = float(x1) > 0.6  # pyright: ignore[reportArgumentType]
    left = min(float(x0), float(x1)) if at_left else max(float(x0), float(x1))  # pyright: ignore[reportArgumentType]
    figure.add_annotation(
        x=left,
        y=place,
        text=name,
        xanchor="right" if at_left else "left",
        xshift=-12 if at_left else 12,
        font={"color": colour, "size": 12},
    )
