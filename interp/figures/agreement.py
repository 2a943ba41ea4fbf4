"""Does attribution point at the blocks that repair? A scatter a method, with its rank agreement."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.errors import BadInput
from interp.figures import theme

_NAMES = {
    "direct": "Direct attribution, sign turned",
    "patching": "Attribution patching",
    "lens": "Logit lens",
}
_OVERLAPS = (1, 3, 5)


def agreement(blocks: pl.DataFrame, agreement: pl.DataFrame, *, title: str | None = None) -> go.Figure:
    """Measured repair (up) against each attribution of the same MLP blocks (right).

    Args:
        blocks: One row a layer: `layer`, `repair`, `net_gain`, and one column a method: the mean change of
            gold minus given, in logits, that it expects of silencing the block.
        agreement: One row a method: `method`, `spearman`, and those of `overlap_1`, `overlap_3` and
            `overlap_5` that the number of blocks allows.
        title: Replaces the title that is written from the table.

    Raises:
        BadInput: A table has no row, or a method has no column in `blocks`.
    """
    theme.require_rows(blocks, "the table of blocks")
    theme.require_rows(agreement, "the table of agreement")
    methods = agreement.rows(named=True)
    missing = [m["method"] for m in methods if m["method"] not in blocks.columns]
    if missing:
        raise BadInput(f"The table of blocks has no column {', '.join(missing)}; it needs one a method.")
    figure = make_subplots(rows=1, cols=len(methods), shared_yaxes=True, horizontal_spacing=0.06)
    for column, method in enumerate(methods, start=1):
        _add_method(figure, blocks, method["method"], column)
        _add_heading(figure, method, column)
    figure.update_yaxes(range=[-0.05, 1.1], dtick=0.25)
    figure.update_yaxes(title_text="Measured repair", col=1)
    figure.update_xaxes(
        title_text="Logits toward gold if silenced", nticks=5, zeroline=True, zerolinecolor=theme.AXIS
    )
    note = "One dot an MLP block; top k: the share of the k highest that both have in common."
    theme.layout(figure, title or _headline(methods), note, height=380)
    return figure.update_layout(margin={"t": theme.TITLE_MARGIN + 58})


def _headline(methods: list[dict[str, float]]) -> str:
    """Names the method that agrees best, with its Spearman correlation."""
    known = [m for m in methods if theme.fraction(m["spearman"]) != "–"]
    if not known:
        return "Attribution and measured repair cannot be compared"
    best = max(known, key=lambda m: m["spearman"])
    name = theme.label(_NAMES.get(str(best["method"]), str(best["method"]))).split(",")[0]
    return f"{name} agrees most with repair: Spearman {theme.signed(best['spearman'])}"


def _add_method(figure: go.Figure, blocks: pl.DataFrame, method: str, column: int) -> None:
    """Draws one dot a block; the two marked blocks in their colours, with their numbers."""
    standout = theme.standout_layers(blocks)
    rows = blocks.sort(pl.col("layer").is_in(standout), "layer")
    layers = rows["layer"].to_list()
    figure.add_scatter(
        x=rows[method].to_list(),
        y=rows["repair"].to_list(),
        mode="markers+text",
        marker={
            "size": [13 if layer in standout else 9 for layer in layers],
            "color": theme.accents(layers, blocks),
            "opacity": 1,
            "line": {"color": theme.PAPER, "width": 1},
        },
        text=[f"<b>{layer}</b>" if layer in standout else "" for layer in layers],
        textposition="top center",
        textfont={"color": theme.accents(layers, blocks), "size": 12},
        customdata=[[layer] for layer in layers],
        hovertemplate="<b>MLP %{customdata[0]}</b><br>%{x:+.2f} logits expected<br>"
        "repairs %{y:.2f}<extra></extra>",
        name=theme.label(method),
        cliponaxis=False,
        row=1,
        col=column,
    )


def _add_heading(figure: go.Figure, method: dict[str, float], column: int) -> None:
    """Writes method, Spearman correlation and overlaps above a panel."""
    suffix = "" if column == 1 else str(column)
    known = [k for k in _OVERLAPS if f"overlap_{k}" in method]
    tops, shares = (
        ", ".join(map(str, known)),
        ", ".join(theme.fraction(method[f"overlap_{k}"]) for k in known),
    )
    name = theme.label(_NAMES.get(str(method["method"]), str(method["method"])))
    figure.add_annotation(
        xref=f"x{suffix} domain",
        yref=f"y{suffix} domain",
        x=0,
        y=1,
        yshift=4,
        xanchor="left",
        yanchor="bottom",
        align="left",
        text=f"<b>{name}</b><br>Spearman {theme.signed(method['spearman'])}<br>top {tops}: {shares}",
        font={"color": theme.SOFT_INK, "size": 12},
    )
