"""Where a search puts its edits of the route, against where the same search puts them without a reward."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme
from interp.figures.labels import shortened

_PANEL = 170
_BETWEEN = 56
_KINDS = (("skipped", "left out"), ("repeated", "run more than once"))


def placement_chart(placement: pl.DataFrame, *, search: str, null: str) -> go.Figure:
    """Share of routes that leave each layer out, and that run it again: a search in bars, its null as a line.

    Args:
        placement: One row a probe and layer: `probe`, `layer`, `skipped` and `repeated`, shares of its
            routes; see `interp.readings.placement.placement_table`.
        search: The probe in bars.
        null: The probe as a line: what the search does when its reward says nothing.

    Raises:
        BadInput: The table has no row of a probe.
    """
    figure = make_subplots(
        rows=2, shared_xaxes=True, vertical_spacing=_BETWEEN / (2 * _PANEL + _BETWEEN)
    )  # fmt: skip
    for i, (kind, words) in enumerate(_KINDS, start=1):
        for probe, colour in ((search, theme.PROBE_1), (null, theme.SOFT_INK)):
            rows = placement.filter(pl.col("probe") == probe).sort("layer")
            theme.require_rows(rows, f"the placement of {probe!r}")
            shown = {
                "x": rows["layer"].to_list(),
                "y": rows[kind].to_list(),
                "name": theme.label(probe),
                "hovertemplate": f"<b>layer %{{x}}</b> {words} by %{{y:.2f}} of the routes of "
                f"{theme.label(probe)}<extra></extra>",
                "showlegend": i == 1,
                "row": i,
                "col": 1,
            }
            if probe == search:
                figure.add_bar(marker={"color": colour}, **shown)
            else:
                figure.add_scatter(
                    mode="lines+markers",
                    line={"color": colour, "width": 2, "shape": "hvh"},
                    marker={"size": 5, "color": colour},
                    **shown,
                )
        figure.add_annotation(
            text=f"<b>{words}</b>", xref="x domain", yref=f"y{'' if i == 1 else i} domain", x=0, y=1,
            xanchor="left", yanchor="bottom", yshift=4, font={"size": 13, "color": theme.INK},
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero", tickformat=".2~f", title_text="Share of routes")
    figure.update_xaxes(title_text="Layer", row=2, col=1)
    figure.update_xaxes(showgrid=False)
    top = theme.TITLE_MARGIN + 26
    figure.update_layout(margin={"t": top, "l": 64, "r": 20, "b": 84}, bargap=0.25)
    title = f"Where {shortened(search, 24)} puts its edits, and where chance does"
    note = f"Bars: {shortened(search, 40)} (oracle); line: {shortened(null, 40)}."
    theme.layout(figure, title, note, height=top + 84 + 2 * _PANEL + _BETWEEN)
    legend = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom"}
    return figure.update_layout(
        showlegend=True, legend=legend | {"font": {"size": 12, "color": theme.SOFT_INK}}
    )
