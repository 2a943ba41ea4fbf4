"""What answer-blind selectors keep of what a probe reaches, and what they break."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme

_ROW = 23
_COLOURS = {
    "vote": theme.GAINS_MOST,
    "choose": theme.GIVEN,
    "trained": theme.REPAIRS_MOST,
    "control": theme.DOT,
}
_WORDS = {
    "vote": "votes",
    "choose": "one stands out",
    "trained": "fixed by other golds",
    "control": "control",
}


def selector_chart(selectors: pl.DataFrame, *, default: float, oracle: float) -> go.Figure:
    """Accuracy of each selector between the deployed score and what the attempts reach.

    Args:
        selectors: One row a selector, as `interp.readings.recovered.selector_table` gives them.
        default: The deployed score.
        oracle: Share of questions with a right attempt, or a right deployed answer.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(selectors, "the table of selectors")
    rows = selectors.sort("accuracy", "selector", descending=[True, False])
    figure = go.Figure()
    places = list(range(rows.height))
    for family, colour in _COLOURS.items():
        inside = [y for y in places if rows["family"][y] == family]
        if inside:
            _add_family(figure, rows, inside, colour, family)
    _add_rules(figure, rows.height, default, oracle)
    _add_numbers(figure, rows)
    figure.update_yaxes(
        range=[rows.height - 0.4, -2.0],
        tickvals=places,
        ticktext=[theme.label(name) for name in rows["selector"]],
        showgrid=False,
    )
    figure.update_xaxes(
        range=[0, 1.02], dtick=0.25, tickformat=".2~f", title_text="share right", domain=[0, 0.74]
    )
    used = [f for f in _COLOURS if f in set(rows["family"])]
    figure.add_annotation(
        text="   ".join(f"<span style='color:{_COLOURS[f]}'>●</span> {_WORDS[f]}" for f in used),
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        yshift=-52,
        xanchor="left",
        font={"size": 12, "color": theme.SOFT_INK},
    )
    figure.update_layout(margin={"l": 150, "b": 70})
    note = "One row a selector, none knows the answer; whiskers are 95% intervals."
    height = theme.TITLE_MARGIN + 110 + _ROW * rows.height
    return theme.layout(figure, _title(rows, default), note, height=height)


def _title(rows: pl.DataFrame, default: float) -> str:
    blind = rows.filter(~pl.col("family").is_in(["trained", "control"]))
    if blind.is_empty():
        return "No answer-blind selector could be read"
    best = blind.row(0, named=True)
    if best["recovered"] is None or best["accuracy"] <= default:
        return "No answer-blind selector keeps any of the gain"
    return (
        f"The best of {blind.height} selectors, {best['selector']}, keeps {best['recovered']:.2f} of the gain"
    )


def _add_rules(figure: go.Figure, n_rows: int, default: float, oracle: float) -> None:
    """Draws the deployed score and what is reached as rules, their names one above the other."""
    for x, name, colour, y in (
        (default, "deployed", theme.REALIZED, -0.55),
        (oracle, "reached", theme.SOFT_INK, -1.25),
    ):
        line = {"color": colour, "width": 1.5, "dash": "dot"}
        figure.add_shape(type="line", x0=x, x1=x, y0=y, y1=n_rows - 0.4, line=line)
        figure.add_annotation(
            x=x,
            y=y,
            text=f"{name} {x:.2f}",
            xanchor="right" if x > 0.25 else "left",
            yanchor="bottom",
            font={"color": colour, "size": 12},
        )


def _add_family(figure: go.Figure, rows: pl.DataFrame, inside: list[int], colour: str, family: str) -> None:
    lows, highs = rows["low"], rows["high"]
    figure.add_scatter(
        x=[x for y in inside for x in (lows[y], highs[y], None)],
        y=[place for y in inside for place in (y, y, None)],
        mode="lines",
        line={"color": colour, "width": 2},
        opacity=0.45,
        hoverinfo="skip",
        name=f"{family}, whiskers",
    )
    figure.add_scatter(
        x=[rows["accuracy"][y] for y in inside],
        y=inside,
        mode="markers",
        marker={"size": 9, "color": colour, "line": {"color": theme.PAPER, "width": 1}},
        customdata=[
            (
                theme.label(rows["selector"][y]),
                theme.interval(lows[y], highs[y]),
                theme.signed(rows["difference"][y]),
                rows["gained"][y] if rows["gained"][y] is not None else "–",
                rows["lost"][y] if rows["lost"][y] is not None else "–",
            )
            for y in inside
        ],
        hovertemplate="<b>%{customdata[0]}</b><br>right %{x:.2f} %{customdata[1]}<br>"
        "%{customdata[2]} to deployed: %{customdata[3]} gained, %{customdata[4]} lost<extra></extra>",
        name=family,
    )


def _add_numbers(figure: go.Figure, rows: pl.DataFrame) -> None:
    """Writes recovered fraction and harm in two columns at the right."""
    for x, heading, name in ((0.86, "gain kept", "recovered"), (0.985, "harm", "harm")):
        texts = [theme.signed(v) if name == "recovered" else theme.fraction(v) for v in rows[name]]
        for y, text in [(-1.0, f"<b>{heading}</b>"), *enumerate(texts)]:
            figure.add_annotation(
                xref="paper", x=x, y=y, text=text, xanchor="right", font={"size": 12, "color": theme.SOFT_INK}
            )
