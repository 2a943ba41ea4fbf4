"""The ranking of the blocks by what silencing them repairs, with retention and net gain beside it."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme

MOST_ROWS = 40
"""Blocks shown when no number is given."""

_ROW_HEIGHT = 19
_PANELS = (("repair", "Repair"), ("retention", "Retention"), ("net_gain", "Net gain"))


def block_ranking(repair: pl.DataFrame, *, title: str | None = None, n_top: int | None = None) -> go.Figure:
    """Blocks in the order of repair: repair and retention with 95% Wilson intervals, and net gain.

    Args:
        repair: One row a block: `layer`, `repair`, `retention` with their `_low` and `_high`, `net_gain`,
            and the counts `n_failures`, `n_repaired`, `n_successes`, `n_kept`.
        title: Replaces the title that is written from the table.
        n_top: How many blocks are shown; 40 unless given. The two marked blocks are always among them.

    Raises:
        BadInput: The table has no row.
    """
    most, gains = theme.standout_layers(repair)
    order = repair.sort("repair", "net_gain", "layer", descending=[True, True, False], nulls_last=True)
    rows = order.head(max(n_top or MOST_ROWS, len({most, gains})))
    if gains not in rows["layer"]:
        rows = pl.concat([rows.head(rows.height - 1), order.filter(pl.col("layer") == gains)])
    colours = theme.accents(rows["layer"].to_list(), repair)
    figure = make_subplots(
        rows=1, cols=3, shared_yaxes=True, horizontal_spacing=0.035, column_widths=[0.4, 0.33, 0.27]
    )
    _add_bands(figure, rows, most, gains)
    _add_interval_panel(figure, rows, colours, name="repair", column=1)
    _add_interval_panel(figure, rows, colours, name="retention", column=2)
    _add_net_gain(figure, rows, colours)
    _add_marks(figure, rows, most, gains)
    _set_axes(figure, rows)
    headline = (
        f"MLP {most} comes first by repair and by net gain"
        if most == gains
        else f"By repair MLP {most} comes first, by net gain MLP {gains}"
    )
    shown = "" if rows.height == repair.height else f"The first {rows.height} of {repair.height} blocks. "
    note = f"{shown}One row a silenced MLP block, ranked by repair; whiskers are 95% Wilson intervals."
    return theme.layout(figure, title or headline, note, height=150 + _ROW_HEIGHT * max(rows.height, 8))


def _add_bands(figure: go.Figure, rows: pl.DataFrame, most: int, gains: int) -> None:
    """Lays a band behind the marked rows, through all panels."""
    layers = rows["layer"].to_list()
    for layer, colour in {most: theme.REPAIRS_MOST_BAND, gains: theme.GAINS_MOST_BAND}.items():
        y = layers.index(layer)
        figure.add_shape(
            type="rect",
            xref="paper",
            x0=0,
            x1=1,
            y0=y - 0.5,
            y1=y + 0.5,
            layer="below",
            line_width=0,
            fillcolor=colour,
        )


def _add_interval_panel(
    figure: go.Figure, rows: pl.DataFrame, colours: list[str], *, name: str, column: int
) -> None:
    """Draws dots with whiskers, one trace of whiskers a colour."""
    counts = {"repair": ("n_repaired", "n_failures"), "retention": ("n_kept", "n_successes")}[name]
    for colour in dict.fromkeys(colours):
        inside = [y for y, own in enumerate(colours) if own == colour]
        lows, highs = rows[f"{name}_low"], rows[f"{name}_high"]
        figure.add_scatter(
            x=[x for y in inside for x in (lows[y], highs[y], None)],
            y=[place for y in inside for place in (y, y, None)],
            mode="lines",
            line={"color": theme.WHISKER if colour == theme.DOT else colour, "width": 2},
            hoverinfo="skip",
            name=f"{name}, whiskers",
            row=1,
            col=column,
        )
    figure.add_scatter(
        x=rows[name].to_list(),
        y=list(range(rows.height)),
        mode="markers",
        marker={"size": 9, "color": colours, "line": {"color": theme.PAPER, "width": 1}},
        customdata=[
            (r["layer"], r[counts[0]], r[counts[1]], theme.interval(r[f"{name}_low"], r[f"{name}_high"]))
            for r in rows.iter_rows(named=True)
        ],
        hovertemplate=f"<b>MLP %{{customdata[0]}}</b><br>{name} %{{x:.2f}} %{{customdata[3]}}<br>"
        "%{customdata[1]} of %{customdata[2]}<extra></extra>",
        name=name,
        cliponaxis=False,
        row=1,
        col=column,
    )


def _add_net_gain(figure: go.Figure, rows: pl.DataFrame, colours: list[str]) -> None:
    """Draws net gain as bars from zero."""
    figure.add_bar(
        x=rows["net_gain"].to_list(),
        y=list(range(rows.height)),
        orientation="h",
        marker={"color": [theme.WHISKER if c == theme.DOT else c for c in colours], "line": {"width": 0}},
        customdata=[(r["layer"], theme.signed(r["net_gain"])) for r in rows.iter_rows(named=True)],
        hovertemplate="<b>MLP %{customdata[0]}</b><br>net gain %{customdata[1]}<extra></extra>",
        name="net_gain",
        row=1,
        col=3,
    )


def _add_marks(figure: go.Figure, rows: pl.DataFrame, most: int, gains: int) -> None:
    """Writes what each marked block does beside its repair, and how much it gains at the end of its bar."""
    layers = rows["layer"].to_list()
    gain = "gains most" if theme.positive(rows, "net_gain") else "loses least"
    names = {most: "repairs most", gains: gain if most != gains else f"repairs and {gain}"}
    for layer, name in names.items():
        y = layers.index(layer)
        row = rows.row(y, named=True)
        colour = theme.GAINS_MOST if layer == gains else theme.REPAIRS_MOST
        at_left = row["repair_low"] > 0.36
        edges = {
            1: (row["repair_low"] if at_left else row["repair_high"], f"<b>{name}</b>", at_left),
            3: (row["net_gain"], theme.signed(row["net_gain"]), (row["net_gain"] or 0) < 0),
        }
        for column, (x, text, to_left) in edges.items():
            figure.add_annotation(
                x=x,
                y=y,
                text=text,
                xanchor="right" if to_left else "left",
                xshift=-5 if to_left else 5,
                font={"color": colour, "size": 11},
                row=1,
                col=column,
            )


def _set_axes(figure: go.Figure, rows: pl.DataFrame) -> None:
    """Puts rank downwards, fractions from 0 to 1, zero as a line, and a heading above each panel."""
    layers = rows["layer"].to_list()
    figure.update_yaxes(
        range=[rows.height - 0.4, -0.6],
        tickvals=list(range(rows.height)),
        ticktext=[str(layer) for layer in layers],
        showgrid=False,
    )
    figure.update_yaxes(title_text="MLP block silenced", col=1)
    figure.update_xaxes(range=[-0.03, 1.03], dtick=0.25, tickformat=".2~f", col=1)
    figure.update_xaxes(range=[-0.03, 1.03], dtick=0.5, tickformat=".1~f", col=2)
    gains = [abs(g) for g in rows["net_gain"].drop_nulls().drop_nans()]
    reach = max([0.05, *gains])
    tick = next(step for step in (0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05) if step <= reach)
    ticktext = [f"−{tick:g}", "0", f"+{tick:g}"]
    figure.update_xaxes(
        range=[-1.6 * reach, 1.6 * reach], tickvals=[-tick, 0, tick], ticktext=ticktext, col=3
    )
    figure.update_xaxes(zeroline=True, zerolinecolor=theme.AXIS, tickangle=0, col=3)
    notes = ("failures now right", "successes still right", "change of accuracy")
    for column, ((_, heading), note) in enumerate(zip(_PANELS, notes, strict=True), start=1):
        figure.add_annotation(
            xref="x domain" if column == 1 else f"x{column} domain",
            yref="paper",
            x=0,
            y=1,
            yshift=4,
            xanchor="left",
            yanchor="bottom",
            align="left",
            text=f"<b>{heading}</b><br>{note}",
            font={"color": theme.SOFT_INK, "size": 12},
        )
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + 36})
