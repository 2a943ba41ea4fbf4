"""Where attribution looks: every MLP and attention block over depth, under the repair that was measured."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme
from interp.site import Point

_ROWS = ((Point.ATTN_OUT, "Attention"), (Point.MLP_OUT, "MLP"))
_METHODS = (("direct", "Direct logit attribution, sign turned"), ("patching", "Attribution patching"))


def attribution_map(
    attribution: pl.DataFrame, *, repair: pl.DataFrame | None = None, title: str | None = None
) -> go.Figure:
    """Heat maps of two attributions over layers, mean over the failures; above them the repair.

    Both maps show how silencing a block is expected to move the logit difference gold - given: direct
    attribution is therefore shown with its sign turned (what a block wrote is taken away). Teal says that
    silencing favours the gold answer, purple that it favours the given one. A colour scale ends where
    single extreme blocks would wash out the others; its ends then carry ≤ and ≥, and the number under the
    pointer is never cut.

    Args:
        attribution: One row a layer and point ("mlp_out", "attn_out"): `layer`, `point`, and the means
            `direct` and `patching`, in logits.
        repair: One row a block: `layer`, `repair`, `net_gain`; drawn as bars above the maps.
        title: Replaces the title.

    Raises:
        BadInput: A table has no row.
    """
    theme.require_rows(attribution, "the table of attributions")
    n_top = 0 if repair is None else 1
    figure = make_subplots(
        rows=n_top + 2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.11,
        row_heights=[0.44] * n_top + [0.28, 0.28],
    )
    layers = sorted(attribution["layer"].unique().to_list())
    if repair is not None:
        _add_repair(figure, repair)
    for offset, (method, heading) in enumerate(_METHODS, start=1):
        _add_map(figure, attribution, layers, method=method, row=n_top + offset)
        _add_heading(figure, heading, row=n_top + offset)
        if repair is not None:
            _add_frames(figure, repair, row=n_top + offset)
    figure.update_xaxes(
        range=[layers[0] - 0.6, layers[-1] + 0.6], dtick=_tick_step(len(layers)), showgrid=False
    )
    figure.update_xaxes(title_text="Layer", row=n_top + 2)
    note = "Teal: silencing the block favours the gold answer. Purple: it favours the given one."
    theme.layout(figure, title or "What attribution says of the same blocks", note, height=320 + 140 * n_top)
    return figure.update_layout(margin={"t": theme.TITLE_MARGIN + 26, "r": 88})


def _add_repair(figure: go.Figure, repair: pl.DataFrame) -> None:
    """Draws the measured repair as bars, the two marked blocks in their colours with their numbers."""
    rows = repair.sort("layer")
    layers = rows["layer"].to_list()
    figure.add_bar(
        x=layers,
        y=rows["repair"].to_list(),
        marker={"color": theme.accents(layers, repair, plain=theme.WHISKER), "line": {"width": 0}},
        customdata=[
            (theme.fraction(r["repair"]), theme.signed(r["net_gain"])) for r in rows.iter_rows(named=True)
        ],
        hovertemplate="<b>MLP %{x}</b><br>repairs %{customdata[0]}<br>"
        "net gain %{customdata[1]}<extra></extra>",
        name="repair",
        row=1,
        col=1,
    )
    for layer in set(theme.standout_layers(repair)):
        y = layers.index(layer)
        figure.add_annotation(
            x=layer,
            y=rows["repair"][y],
            text=f"<b>{layer}</b>",
            yanchor="bottom",
            font={"color": theme.accents([layer], repair)[0]},
            row=1,
            col=1,
        )
    figure.update_yaxes(range=[0, 1.2], tickvals=[0, 0.5, 1], row=1, col=1)
    _add_heading(figure, "Measured repair", row=1)


def _add_frames(figure: go.Figure, repair: pl.DataFrame, *, row: int) -> None:
    """Frames the MLPs of the two marked blocks in a map, so that the eye finds them again."""
    most, gains = theme.standout_layers(repair)
    mlp = [point for point, _ in _ROWS].index(Point.MLP_OUT)
    for layer, colour in {most: theme.REPAIRS_MOST, gains: theme.GAINS_MOST}.items():
        figure.add_shape(
            type="rect",
            x0=layer - 0.5,
            x1=layer + 0.5,
            y0=mlp - 0.5,
            y1=mlp + 0.5,
            line={"color": colour, "width": 2},
            row=row,
            col=1,
        )


def _add_map(
    figure: go.Figure, attribution: pl.DataFrame, layers: list[int], *, method: str, row: int
) -> None:
    """Draws one attribution: a row for attention, a row for MLPs."""
    sign = -1.0 if method == "direct" else 1.0
    found = {(r["layer"], r["point"]): r[method] for r in attribution.iter_rows(named=True)}
    values = [[_turned(found.get((layer, point)), sign) for layer in layers] for point, _ in _ROWS]
    sizes = [abs(v) for line in values for v in line if v is not None]
    limit = _limit(sizes)
    beyond = ("≤ ", "≥ ") if max(sizes, default=0.0) > limit else ("", "")
    what = "taken away: %{z:+.2f} logits" if method == "direct" else "estimate if silenced: %{z:+.2f} logits"
    figure.add_heatmap(
        x=layers,
        y=[name for _, name in _ROWS],
        z=values,
        zmin=-limit,
        zmax=limit,
        zmid=0,
        colorscale=theme.DIVERGING,
        xgap=1,
        ygap=2,
        colorbar={
            "thickness": 8,
            "outlinewidth": 0,
            "len": 0.26,
            "y": _middle(figure, row),
            "x": 1.01,
            "tickvals": [-limit, 0, limit],
            "ticktext": [beyond[0] + theme.signed(-limit), "0", beyond[1] + theme.signed(limit)],
            "tickfont": {"size": 11, "color": theme.SOFT_INK},
        },
        hovertemplate=f"<b>%{{y}} %{{x}}</b><br>{what}<extra></extra>",
        name=method,
        row=row,
        col=1,
    )


def _turned(value: float | None, sign: float) -> float | None:
    return None if value is None else sign * value


def _limit(values: list[float]) -> float:
    """The end of a colour scale: the largest value, unless a few values lie far outside the others."""
    sizes = sorted(values)
    if not sizes or sizes[-1] == 0:
        return 1.0
    usual = sizes[int(0.9 * (len(sizes) - 1))]
    return min(sizes[-1], 2 * usual) or sizes[-1]


def _middle(figure: go.Figure, row: int) -> float:
    """Height of the middle of a panel, in fractions of the figure."""
    low, high = next(figure.select_yaxes(row=row)).domain
    return (low + high) / 2


def _add_heading(figure: go.Figure, text: str, *, row: int) -> None:
    suffix = "" if row == 1 else str(row)
    figure.add_annotation(
        xref=f"x{suffix} domain",
        yref=f"y{suffix} domain",
        x=0,
        y=1,
        yshift=3,
        xanchor="left",
        yanchor="bottom",
        text=f"<b>{text}</b>",
        font={"color": theme.SOFT_INK, "size": 12},
    )


def _tick_step(n_layers: int) -> int:
    return next((step for step in (1, 2, 5, 10) if n_layers / step <= 16), 20)
