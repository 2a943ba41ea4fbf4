"""What k attempts reach, with wrong targets, guessing and the deployed score beside it."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.figures import theme

_HEIGHT = 430
_GAP = 0.062
_STYLES = {
    "before": (theme.DOT, theme.EARLIER_BAND, "before"),
    "after": (theme.GAINS_MOST, theme.REACH_BAND, "reached"),
}


def reach_curve(reach: pl.DataFrame, *, deployed: float, n_questions: int) -> go.Figure:
    """Reach over the budget, one panel a probe.

    A solid line with its 95 percent band is the share of questions reached by k attempts, a dashed one how
    often the same attempts hit a wrong target, a dotted one what k guesses among the options would reach.

    Args:
        reach: One row a probe and k, as `interp.readings.curves.reach_table` gives them; a column `run`
            ("before", "after") sets two runs in each panel.
        deployed: The deployed score.
        n_questions: Number of questions.

    Raises:
        BadInput: The table has no row.
    """
    theme.require_rows(reach, "the table of reach")
    if "run" not in reach.columns:
        reach = reach.with_columns(run=pl.lit("after"))
    probes = reach["probe"].unique(maintain_order=True).to_list()
    figure = make_subplots(rows=1, cols=len(probes), shared_yaxes=True, horizontal_spacing=0.04)
    for column, probe in enumerate(probes, 1):
        rows = reach.filter(pl.col("probe") == probe)
        _add_panel(figure, rows, deployed, column)
        figure.add_annotation(
            text=f"<b>{theme.label(probe)}</b>",
            xref=f"x{'' if column == 1 else column} domain",
            yref="paper",
            x=0,
            y=1,
            yshift=6,
            xanchor="left",
            yanchor="bottom",
            font={"color": theme.SOFT_INK},
        )
    figure.update_yaxes(range=[-0.02, 1.04], dtick=0.25, tickformat=".2~f")
    figure.update_yaxes(title_text="share of questions", col=1)
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + 24, "r": 24})
    note = f"{n_questions} questions; band: 95% interval; dashed: the same attempts against wrong targets."
    return theme.layout(figure, _title(reach, deployed), note, height=_HEIGHT)


def _title(reach: pl.DataFrame, deployed: float) -> str:
    last = reach.filter(pl.col("run") == "after").sort("reach", "k").row(-1, named=True)
    k = last["k"]
    attempts = f"{k} attempt{'' if k == 1 else 's'} reach"
    earlier = reach.filter(pl.col("run") == "before", pl.col("probe") == last["probe"])
    if earlier.height:
        return f"{attempts} {earlier.sort('k')['reach'][-1]:.2f} before and {last['reach']:.2f} after"
    says = f"{attempts} {last['reach']:.2f}, {deployed:.2f} is delivered"
    if last["decoy"] is None:
        return says
    if last["excess_low"] is not None and last["excess_low"] <= 0:
        return f"{says}; wrong answers are reached as surely: {last['decoy']:.2f}"
    return f"{says}; wrong answers are reached at {last['decoy']:.2f}"


def _add_panel(figure: go.Figure, rows: pl.DataFrame, deployed: float, column: int) -> None:
    labels: list[tuple[float, str, str]] = [(deployed, f"deployed {deployed:.2f}", theme.REALIZED)]
    ks = [int(k) for k in rows["k"].unique().sort()]
    for run, (colour, band, word) in _STYLES.items():
        line = rows.filter(pl.col("run") == run).sort("k")
        if line.is_empty():
            continue
        _add_line(figure, line, colour, band, column=column, run=run)
        end = line.row(-1, named=True)
        labels.append((end["reach"], f"{word} {end['reach']:.2f}", colour))
        if end["decoy"] is not None and run == "after":
            labels.append((end["decoy"], f"wrong {end['decoy']:.2f}", theme.GIVEN))
        if end["floor"] is not None and run == "after":
            labels.append((end["floor"], f"guessing {end['floor']:.2f}", theme.SOFT_INK))
    place: dict[str, Any] = {"row": 1, "col": column}
    figure.add_scatter(
        x=[1, ks[-1]],
        y=[deployed, deployed],
        mode="lines",
        line={"color": theme.REALIZED, "width": 1.5},
        hoverinfo="skip",
        name="deployed",
        **place,
    )
    ends = theme.spread([y for y, _, _ in labels], _GAP)
    axis = f"x{'' if column == 1 else column}"
    wide = max(1.6, ks[-1] ** 0.32)
    for (_, text, colour), y in zip(labels, ends, strict=True):
        figure.add_annotation(
            text=text,
            xref=axis,
            yref=f"y{'' if column == 1 else column}",
            x=_log(ks[-1]),
            y=y,
            xanchor="left",
            xshift=7,
            font={"color": colour, "size": 12},
        )
    ticks = [k for k in (2**i for i in range(12)) if k <= ks[-1]]
    if ks[-1] not in ticks:
        ticks = [k for k in ticks if k < ks[-1] / 1.3] + [ks[-1]]
    figure.update_xaxes(
        type="log",
        range=[_log(0.93), _log(ks[-1]) + _log(wide * 1.55)],
        tickvals=ticks,
        ticktext=[str(k) for k in ticks],
        title_text="attempts a question (k)",
        **place,
    )


def _add_line(
    figure: go.Figure, line: pl.DataFrame, colour: str, band: str, *, column: int, run: str
) -> None:
    ks = line["k"].to_list()
    place: dict[str, Any] = {"row": 1, "col": column}
    figure.add_scatter(
        x=ks + ks[::-1],
        y=line["reach_high"].to_list() + line["reach_low"].to_list()[::-1],
        fill="toself",
        fillcolor=band,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name=f"interval {run}",
        **place,
    )
    if run == "after":
        _add_controls(figure, line, place)
    shown = line.select("reach_low", "reach_high", "decoy", "majority").rows()
    figure.add_scatter(
        x=ks,
        y=line["reach"].to_list(),
        mode="lines+markers" if len(ks) < 3 else "lines",
        line={"color": colour, "width": 2.5},
        customdata=[
            (theme.interval(low, high), theme.fraction(decoy), theme.fraction(majority))
            for low, high, decoy, majority in shown
        ],
        hovertemplate="<b>k = %{x}</b><br>reached %{y:.2f} %{customdata[0]}<br>wrong targets %{customdata[1]}"
        "<br>majority %{customdata[2]}<extra></extra>",
        name=f"reach {run}",
        **place,
    )


def _add_controls(figure: go.Figure, line: pl.DataFrame, place: dict[str, Any]) -> None:
    for name, colour, dash in (("decoy", theme.GIVEN, "dash"), ("floor", theme.SOFT_INK, "dot")):
        if line[name].null_count() == 0:
            figure.add_scatter(
                x=line["k"].to_list(),
                y=line[name].to_list(),
                mode="lines",
                line={"color": colour, "width": 1.75, "dash": dash},
                hoverinfo="skip",
                name=name,
                **place,
            )


def _log(value: float) -> float:
    import math

    return math.log10(value)
