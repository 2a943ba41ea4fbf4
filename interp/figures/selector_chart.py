"""What answer-blind selectors keep of what a probe reaches, and what they break."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme
from interp.figures.labels import counted, shortened

_ROW = 24
_NAME_COLUMNS = 26
_SMALLEST_SPAN = 0.2
_HEADINGS = (("recovered", "gain kept", 0.85), ("harm", "harm", 0.985))
"""The columns of numbers: of which column of the table, their heading, and their right end."""
_FAMILIES = {
    "vote": ("votes", theme.PROBE_1, "circle"),
    "choose": ("one stands out", theme.PROBE_3, "diamond"),
    "trained": ("fixed by other golds", theme.PROBE_2, "square"),
    "control": ("control", theme.SOFT_INK, "x"),
}
_OTHER = ("other", theme.SOFT_INK, "cross")


def selector_chart(
    selectors: pl.DataFrame, *, default: float, oracle: float, sees_verdicts: bool = False
) -> go.Figure:
    """Accuracy of each selector between the deployed score and what the attempts reach.

    Args:
        selectors: One row a selector: `selector`, `family` ("vote", "choose", "trained", "control"),
            `accuracy` with `low` and `high`, `recovered` = (accuracy - default) / (oracle - default), `harm`
            (share of right deployed answers that become wrong), and the counts `gained` and `lost`.
            `difference_low`, the lower end of accuracy - default, paired, is used where it is given.
        default: The deployed score.
        oracle: Share of questions with a right attempt, or a right deployed answer.
        sees_verdicts: Whether the attempts depend on the gold answers: then only the choice among them is
            blind, and the figure says so.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(selectors, "the table of selectors")
    rows = selectors.sort("accuracy", "selector", descending=[True, False], nulls_last=True)
    low, high = _range(rows, default, oracle)
    figure = go.Figure()
    _add_rules(figure, rows.height, low, default=default, oracle=oracle)
    kinds = rows["family"].to_list()
    for family in [*_FAMILIES, *sorted(set(kinds) - set(_FAMILIES))]:
        inside = [y for y, own in enumerate(kinds) if own == family]
        if inside:
            _add_family(figure, rows, inside, family)
    _add_numbers(figure, rows)
    figure.update_yaxes(
        range=[rows.height - 0.4, -2.3],
        tickvals=list(range(rows.height)),
        ticktext=[theme.label(shortened(name, _NAME_COLUMNS)) for name in rows["selector"]],
        showgrid=False,
    )
    figure.update_xaxes(
        range=[low, high], nticks=6, tickformat=".2~f", title_text="Share right", domain=[0, 0.74]
    )
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(
        margin={"l": 60, "r": 16, "b": 88},
        legend=legend | {"font": {"size": 12, "color": theme.SOFT_INK}, "itemclick": False},
    )
    blind = "Oracle attempts: they depend on gold answers" if sees_verdicts else "None sees the gold answer"
    note = f"{blind}; whiskers: 95% intervals; shaded: worse than deployed."
    height = theme.TITLE_MARGIN + 88 + round(_ROW * (rows.height + 1.9))
    theme.layout(figure, _title(rows, default, oracle), note, height=height)
    return figure.update_layout(showlegend=True)


def _range(rows: pl.DataFrame, default: float, oracle: float) -> tuple[float, float]:
    """The stretch of the axis that holds rules and whiskers."""
    values = [
        default,
        oracle,
        *(v for name in ("accuracy", "low", "high") for v in rows[name].drop_nulls().drop_nans()),
    ]
    low, high = min(values), max(values)
    pad = max(0.06 * (high - low), (_SMALLEST_SPAN - (high - low)) / 2)
    return max(-0.03, low - pad), min(1.03, high + pad)


def _title(rows: pl.DataFrame, default: float, oracle: float) -> str:
    blind = rows.filter(~pl.col("family").is_in(["trained", "control"])).drop_nulls("accuracy")
    if blind.is_empty():
        return "No answer-blind selector could be read"
    if oracle <= default:
        return "The attempts reach no more than is delivered"
    best = blind.row(0, named=True)
    if best["accuracy"] <= default:
        return "No answer-blind selector keeps any of the gain"
    gain_low = best.get("difference_low")
    is_clear = best["low"] is None or best["low"] > default if gain_low is None else gain_low > 0
    name = shortened(best["selector"], _NAME_COLUMNS)
    if not is_clear and best["recovered"] is not None:
        return f"No selector clearly keeps any of the gain; the best keeps {best['recovered']:.2f}"
    says = f"Best of {counted(blind.height, 'selector')}: {name}"
    if best["recovered"] is None:
        return f"{says} is right in {best['accuracy']:.2f}"
    return f"{says} keeps {best['recovered']:.2f} of the gain"


def _add_rules(figure: go.Figure, n_rows: int, low: float, *, default: float, oracle: float) -> None:
    """Draws the deployed score and what is reached as rules with their names, and shades what is worse."""
    figure.add_shape(
        type="rect", x0=low, x1=default, y0=-0.7, y1=n_rows - 0.4, layer="below", line_width=0,
        fillcolor=theme.LOSS_AREA,
    )  # fmt: skip
    for x, name, colour, left in (
        (default, "deployed", theme.REALIZED, True),
        (oracle, "reached", theme.INK, False),
    ):
        figure.add_shape(
            type="line", x0=x, x1=x, y0=-1.6, y1=n_rows - 0.4, line={"color": colour, "width": 2}
        )
        figure.add_annotation(
            x=x,
            y=-1.75,
            text=f"{name} {x:.2f}",
            xanchor="right" if left else "left",
            yanchor="middle",
            xshift=-5 if left else 5,
            font={"color": colour, "size": 12},
        )


def _add_family(figure: go.Figure, rows: pl.DataFrame, inside: list[int], family: str) -> None:
    """Draws the dots of a family with their whiskers."""
    word, colour, symbol = _FAMILIES.get(family, _OTHER)
    own = rows[inside]
    figure.add_scatter(
        x=[x for low, high in own.select("low", "high").iter_rows() for x in (low, high, None)],
        y=[place for y in inside for place in (y, y, None)],
        mode="lines",
        line={"color": colour, "width": 2},
        opacity=0.45,
        hoverinfo="skip",
        showlegend=False,
        name=f"{theme.label(family)}, whiskers",
    )
    figure.add_scatter(
        x=own["accuracy"].to_list(),
        y=inside,
        mode="markers",
        marker={"size": 10, "symbol": symbol, "color": colour, "line": {"color": theme.PAPER, "width": 1}},
        customdata=[
            (
                theme.label(row["selector"]),
                theme.interval(row["low"], row["high"]),
                *("–" if row[name] is None else row[name] for name in ("gained", "lost")),
            )
            for row in own.iter_rows(named=True)
        ],
        hovertemplate="<b>%{customdata[0]}</b><br>right %{x:.2f} %{customdata[1]}<br>"
        "against deployed: %{customdata[2]} gained, %{customdata[3]} lost<extra></extra>",
        name=word if family in _FAMILIES else theme.label(family),
        cliponaxis=False,
    )


def _add_numbers(figure: go.Figure, rows: pl.DataFrame) -> None:
    """Writes recovered fraction and harm in two columns at the right."""
    for name, heading, x in _HEADINGS:
        texts = [theme.signed(v) if name == "recovered" else theme.fraction(v) for v in rows[name]]
        for y, text in [(-0.8, f"<b>{heading}</b>"), *enumerate(texts)]:
            figure.add_annotation(
                xref="paper", x=x, y=y, text=text, xanchor="right", font={"size": 12, "color": theme.SOFT_INK}
            )
