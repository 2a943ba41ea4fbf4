"""What k attempts reach, with the deployed score, wrong targets and guessing beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme
from interp.figures.labels import counted, shortened, spread

_PANEL = 280
"""Height of a panel in pixels."""
_BETWEEN = 84
"""Pixels between two rows of panels."""
_AXIS = (-0.02, 1.04)
_GAP = 17 * (_AXIS[1] - _AXIS[0]) / _PANEL
"""What a line of text takes of the y axis."""
_LABELS = 98
"""Pixels at the right of a panel for the labels at the ends of its curves."""
_WIDTH = 500
"""Pixels between the margins of a figure as wide as a page's column."""
_NAME_COLUMNS = {1: 70, 2: 34, 3: 24}
_TICKS = {1: 10, 2: 6, 3: 4}
"""How many ticks have room, by panels a row."""


@dataclass(frozen=True)
class _Panel:
    """Where a panel stands, and the first and last k of its axis."""

    number: int
    place: dict[str, Any]
    ends: tuple[float, float]

    def axis(self, letter: str) -> str:
        return f"{letter}{'' if self.number == 1 else self.number}"


def reach_curve(reach: pl.DataFrame, *, deployed: float, n_questions: int) -> go.Figure:
    """Reach over the budget, one panel a probe, against the deployed score.

    A solid line with its 95 percent band is the share of questions that k attempts reach; dashed, in the same
    colour, how often the same attempts hit a wrong target; dotted, what k guesses among the options reach.

    Args:
        reach: One row a probe and k: `probe`, `k`, `reach` with `reach_low` and `reach_high`, `majority`,
            `pass_hat` (all k right), `floor` (guessing) and `decoy` (wrong targets), all shares of questions,
            null where there is none. `excess_low`, the lower end of reach - decoy, is used where it is given.
            A column `run` ("before", "after") sets two runs in each panel. A column `sees_verdicts` marks the
            probes whose draws depend on the gold answers.
        deployed: The deployed score; of two runs the one after.
        n_questions: Number of questions.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(reach, "the table of reach")
    if "run" not in reach.columns:
        reach = reach.with_columns(run=pl.lit("after"))
    if "sees_verdicts" not in reach.columns:
        reach = reach.with_columns(sees_verdicts=pl.lit(value=False))
    floats = [name for name, kind in reach.schema.items() if kind.is_float()]
    reach = reach.with_columns(pl.col(floats).fill_nan(None)).sort("k", maintain_order=True)
    probes = reach["probe"].unique(maintain_order=True).to_list()
    across = {1: 1, 2: 2, 4: 2}.get(len(probes), 3)
    n_rows = math.ceil(len(probes) / across)
    inner = n_rows * _PANEL + (n_rows - 1) * _BETWEEN
    figure = make_subplots(
        rows=n_rows,
        cols=across,
        shared_yaxes=True,
        horizontal_spacing=_LABELS / _WIDTH,
        vertical_spacing=_BETWEEN / inner,
    )
    for i, probe in enumerate(probes):
        rows = reach.filter(pl.col("probe") == probe)
        panel = _panel(figure, rows, i, across)
        colour, band = theme.PROBES[i % len(theme.PROBES)]
        mark = " oracle" if rows["sees_verdicts"][0] else ""
        name = f"<b>{theme.label(shortened(probe, _NAME_COLUMNS[across] - len(mark)))}</b>{mark}"
        _write(figure, panel, name, x=0, y=1, colour=colour)
        _add_curves(figure, panel, rows, (colour, band), deployed)
    for i in range(len(probes), n_rows * across):
        place: dict[str, Any] = {"row": i // across + 1, "col": i % across + 1}
        figure.update_xaxes(visible=False, **place)
        figure.update_yaxes(visible=False, **place)
    figure.update_yaxes(range=_AXIS, dtick=0.25, tickformat=".2~f")
    figure.update_yaxes(title_text="Share of questions", col=1)
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + 26, "l": 60, "r": _LABELS, "b": 52})
    height = theme.TITLE_MARGIN + 26 + 52 + inner
    return theme.layout(figure, _title(reach, deployed), _note(reach, n_questions), height=height)


def _panel(figure: go.Figure, rows: pl.DataFrame, i: int, across: int) -> _Panel:
    """Gives a panel its logarithmic axis, which ends where the curves end."""
    most = max(int(rows["k"].max() or 1), 1)  # pyright: ignore[reportArgumentType]
    low, high = (-0.05 * math.log10(most), math.log10(most)) if most > 1 else (-0.1, 0.1)
    ticks = [2**j for j in range(most.bit_length())]
    if ticks[-1] != most:
        ticks = [k for k in ticks if k < most / 1.35] + [most]
    ticks = ticks[:: -math.ceil(len(ticks) / _TICKS[across])][::-1]
    place: dict[str, Any] = {"row": i // across + 1, "col": i % across + 1}
    figure.update_xaxes(
        type="log",
        range=[low, high],
        tickvals=ticks,
        ticktext=[str(k) for k in ticks],
        tickangle=0,
        showgrid=False,
        title_text="Attempts (k)",
        **place,
    )
    return _Panel(i + 1, place, (10**low, 10**high))


def _add_curves(
    figure: go.Figure, panel: _Panel, rows: pl.DataFrame, colours: tuple[str, str], deployed: float
) -> None:
    """Draws the curves of a panel, what lies behind first, and names each at its end."""
    before, after = (rows.filter(pl.col("run") == run) for run in ("before", "after"))
    colour, band = colours
    labels = [(deployed, "deployed", theme.REALIZED)]
    _add_line(figure, panel, panel.ends, [deployed] * 2, name="deployed", width=1.5)
    for rows_of, name, word, dash in ((after, "floor", "guessing", "dot"), (after, "decoy", "wrong", "dash")):
        drawn = rows_of.drop_nulls(name)
        if drawn.height:
            own = theme.SOFT_INK if name == "floor" else colour
            _add_line(figure, panel, drawn["k"], drawn[name], name=name, colour=own, dash=dash)
            labels.append((drawn[name][-1], word, own))
    for rows_of, run, own, fill in (
        (before, "before", theme.SOFT_INK, theme.EARLIER_BAND),
        (after, "after", colour, band),
    ):
        drawn = rows_of.drop_nulls("reach")
        if drawn.height:
            _add_reach(figure, panel, drawn, run, (own, fill))
            labels.append((drawn["reach"][-1], run if before.height else "reached", own))
    places = spread([value for value, _, _ in labels], _GAP)
    for (value, word, own), y in zip(labels, places, strict=True):
        _write(figure, panel, f"{word} {value:.2f}", x=1, y=_height(y), colour=own)


def _add_line(figure: go.Figure, panel: _Panel, x: Any, y: Any, *, name: str, **style: Any) -> None:
    """Draws a line that stands for comparison."""
    lone = len(x) == 1
    colour = style.get("colour", theme.REALIZED)
    figure.add_scatter(
        x=list(x),
        y=list(y),
        mode="markers" if lone else "lines",
        marker={"symbol": "line-ew", "size": 16, "line": {"color": colour, "width": 2}},
        line={"color": colour, "width": style.get("width", 2), "dash": style.get("dash", "solid")},
        hoverinfo="skip",
        cliponaxis=False,
        name=name,
        **panel.place,
    )


def _add_reach(
    figure: go.Figure, panel: _Panel, line: pl.DataFrame, run: str, colours: tuple[str, str]
) -> None:
    """Draws reach with the band of its interval."""
    known = line.drop_nulls(["reach_low", "reach_high"])
    figure.add_scatter(
        x=known["k"].to_list() + known["k"].to_list()[::-1],
        y=known["reach_high"].to_list() + known["reach_low"].to_list()[::-1],
        fill="toself",
        fillcolor=colours[1],
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name=f"interval {run}",
        **panel.place,
    )
    shown = line.select("reach_low", "reach_high", "decoy", "majority", "pass_hat").rows()
    figure.add_scatter(
        x=line["k"].to_list(),
        y=line["reach"].to_list(),
        mode="lines" if line.height > 2 else "lines+markers",
        line={"color": colours[0], "width": 3},
        marker={"color": colours[0], "size": 9},
        error_y={"visible": False}
        if line.height > 1 or known.is_empty()
        else {
            "symmetric": False,
            "array": (known["reach_high"] - known["reach"]).to_list(),
            "arrayminus": (known["reach"] - known["reach_low"]).to_list(),
            "color": colours[0],
        },
        customdata=[
            (theme.interval(low, high), *(theme.fraction(value) for value in rest))
            for low, high, *rest in shown
        ],
        hovertemplate="<b>k = %{x}</b><br>reached %{y:.2f} %{customdata[0]}<br>wrong targets %{customdata[1]}"
        "<br>majority right %{customdata[2]}<br>all k right %{customdata[3]}<extra></extra>",
        cliponaxis=False,
        name=f"reach {run}",
        **panel.place,
    )


def _write(figure: go.Figure, panel: _Panel, text: str, *, x: int, y: float, colour: str) -> None:
    """Writes over a panel (x = 0) or at the end of its curves (x = 1)."""
    figure.add_annotation(
        text=text,
        xref=f"{panel.axis('x')} domain",
        yref=f"{panel.axis('y')} domain",
        x=x,
        y=y,
        xshift=8 * x,
        yshift=5 * (1 - x),
        xanchor="left",
        yanchor="middle" if x else "bottom",
        font={"color": colour, "size": 12 if x else 13},
    )


def _height(share: float) -> float:
    """Where a share lies on the y axis, from 0 at its lower end to 1 at its upper one."""
    return (share - _AXIS[0]) / (_AXIS[1] - _AXIS[0])


def _title(reach: pl.DataFrame, deployed: float) -> str:
    """What the probe that reaches most reaches, and what that is worth."""
    ends = (
        reach.filter(pl.col("run") == "after")
        .drop_nulls("reach")
        .group_by("probe", maintain_order=True)
        .last()
    )
    if ends.is_empty():
        return "Reach is not known"
    best = ends.sort("reach", descending=True, maintain_order=True).row(0, named=True)
    says = counted(best["k"], "attempt") + (" reaches" if best["k"] == 1 else " reach")
    if ends.height > 1:
        says = f"{shortened(best['probe'], 14)}: {says}"
    earlier = reach.filter(pl.col("run") == "before", pl.col("probe") == best["probe"]).drop_nulls("reach")
    if earlier.height:
        return f"{says} {earlier['reach'][-1]:.2f} before, {best['reach']:.2f} after"
    says = f"{says} {best['reach']:.2f}"
    if best["decoy"] is None:
        return f"{says}, {deployed:.2f} is delivered"
    if _may_be_chance(best):
        return f"{says}, wrong answers {best['decoy']:.2f}: it may be chance"
    return f"{says}; wrong answers less: {best['decoy']:.2f}"


def _may_be_chance(end: dict[str, Any]) -> bool:
    """Whether gold is not shown to be reached more than wrong targets, by the interval of the table."""
    if end.get("excess_low") is not None:
        return end["excess_low"] <= 0
    low = end["reach"] if end["reach_low"] is None else end["reach_low"]
    return end["decoy"] >= low


def _note(reach: pl.DataFrame, n_questions: int) -> str:
    """Names what is drawn, and nothing else."""
    says = [counted(n_questions, "question"), "band: 95% interval"]
    after = reach.filter(pl.col("run") == "after")
    says += ["dashed: the same attempts against wrong targets"] * (after["decoy"].null_count() < after.height)
    says += ["oracle: draws depend on the gold answers"] * bool(after["sees_verdicts"].any())
    says += ["dotted: guessing"] * (after["floor"].null_count() < after.height)
    return "; ".join(says) + "."
