"""What each probe reaches for a budget in layer-tokens: searches that see answers, and the rest."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme
from interp.figures.labels import counted, n_columns, shortened, spread

_PLOT = 380
"""Height of the plot in pixels."""
_COLUMN = 6.6
"""Pixels of a letter of a label."""
_NAME_COLUMNS = 30
_AXIS = (-0.02, 1.04)
_GAP = 17 * (_AXIS[1] - _AXIS[0]) / _PLOT
"""What a line of text takes of the y axis."""


def anytime_curve(reach: pl.DataFrame, *, deployed: float, n_questions: int) -> go.Figure:
    """Reach over the layer-tokens spent, one line a probe, against the deployed score.

    Solid and coloured are probes whose draws depend on gold answers (oracles), dashed and grey those that
    know none: random routes, and searches whose reward says nothing. A search has found something where it
    lies above the grey.

    Args:
        reach: One row a probe and budget: `probe`, `multiple` (the budget of a question, in layer-tokens of
            its deployed answer), `reach` (share of questions) and `sees_verdicts`.
        deployed: The deployed score.
        n_questions: Number of questions.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(reach, "the table of reach by layer-tokens")
    figure = go.Figure()
    most = reach["multiple"].max()
    figure.add_scatter(
        x=[1, most],
        y=[deployed, deployed],
        mode="lines",
        line={"color": theme.REALIZED, "width": 1.5},
        hoverinfo="skip",
        name="deployed",
    )
    labels = [(deployed, f"deployed {deployed:.2f}", theme.REALIZED)]
    oracles = reach.filter("sees_verdicts")["probe"].unique(maintain_order=True).to_list()
    blind = reach.filter(~pl.col("sees_verdicts"))["probe"].unique(maintain_order=True).to_list()
    for probe in (*blind, *oracles):
        line = reach.filter(pl.col("probe") == probe).sort("multiple")
        is_oracle = probe in oracles
        colour = theme.PROBES[oracles.index(probe) % len(theme.PROBES)][0] if is_oracle else theme.SOFT_INK
        figure.add_scatter(
            x=line["multiple"].to_list(),
            y=line["reach"].to_list(),
            mode="lines",
            line={
                "color": colour,
                "width": 2.5 if is_oracle else 1.5,
                "dash": "solid" if is_oracle else "dash",
                "shape": "hv",
            },
            hovertemplate=f"<b>{theme.label(probe)}</b><br>%{{x}} times the deployed answer: %{{y:.2f}}"
            "<extra></extra>",
            cliponaxis=False,
            name=theme.label(probe),
        )
        mark = " (oracle)" if is_oracle else ""
        end = float(line["reach"][-1])
        labels.append((end, f"{shortened(probe, _NAME_COLUMNS)}{mark} {end:.2f}", colour))
    for (_, text, colour), y in zip(labels, spread([end for end, _, _ in labels], _GAP), strict=True):
        figure.add_annotation(
            text=theme.label(text), xref="x domain", x=1, y=y, xshift=8, xanchor="left", yanchor="middle",
            font={"color": colour, "size": 12},
        )  # fmt: skip
    figure.update_xaxes(
        range=[1, most], title_text="Layer-tokens spent a question, in deployed answers", showgrid=False
    )
    figure.update_yaxes(range=_AXIS, dtick=0.25, tickformat=".2~f", title_text="Share of questions")
    widest = max(n_columns(text) for _, text, _ in labels)
    figure.update_layout(
        margin={"t": theme.TITLE_MARGIN, "l": 60, "b": 52, "r": round(24 + _COLUMN * widest)}
    )
    note = f"{counted(n_questions, 'question')}; solid: draws depend on gold answers; dashed: they know none."
    height = theme.TITLE_MARGIN + 52 + _PLOT
    return theme.layout(figure, _title(reach), note, height=height)


def _title(reach: pl.DataFrame) -> str:
    """Whether the best search lies above the best that knows nothing, at the whole budget."""
    ends = reach.sort("multiple", maintain_order=True).group_by("probe", maintain_order=True).last()
    best = {
        sees: rows.sort("reach", descending=True, maintain_order=True).row(0, named=True)
        for (sees,), rows in ends.partition_by("sees_verdicts", as_dict=True).items()
    }
    if len(best) < 2:
        (only,) = best.values()
        return f"{shortened(only['probe'], _NAME_COLUMNS)} reaches {only['reach']:.2f}"
    return (
        f"The best search reaches {best[True]['reach']:.2f}, the best of those that know no answer "
        f"{best[False]['reach']:.2f}"
    )
