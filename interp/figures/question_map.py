"""Every question a cell, coloured by what the audit found of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.labels import counted, shortened, spread

_CELLS_WIDTH = 490
"""Pixels for the cells in a figure as wide as a page's column; there they are square."""
_CELLS_HEIGHT = 320
_SIDES = (4.0, 24.0)
_LEAST_SIDE_WITH_GAPS = 7
_LABEL_HEIGHT = 19
_LABELS = 172
"""Pixels at the right of the cells for the count of each state."""
_HEADING = 26
_BETWEEN = 52
_ORDER = tuple(theme.STATES)


@dataclass(frozen=True)
class _Grid:
    """How n cells are laid out: their side in pixels, and how many stand in a row."""

    n: int
    side: float
    across: int

    @property
    def n_rows(self) -> int:
        return math.ceil(self.n / self.across)

    @property
    def height(self) -> float:
        """Pixels, with room for a label a state."""
        return max(self.n_rows * self.side, _LABEL_HEIGHT * len(_ORDER))


def question_map(questions: pl.DataFrame, *, probe: str) -> go.Figure:
    """One cell a question, ordered by state and then by how often the probe's attempts are right.

    A state's colour is pale where few attempts are right.

    Args:
        questions: One row a question: `id`, `text`, `gold`, `state` (see `theme.STATES`), `rate` (share of
            the probe's attempts that are right, or null), `deployed_answer`; `subject` if there is one.
        probe: Name of the probe whose attempts give the rate.

    Raises:
        BadInput: The table has no row, or a state that there is not.
    """
    theme.require_rows(questions, "the table of questions")
    ranked = _with_ranks(questions).sort("rank", -pl.col("rate"), nulls_last=True, maintain_order=True)
    grid = _grid(ranked.height)
    figure = go.Figure()
    figure.add_trace(_cells(ranked, grid, "questions"))
    _add_labels(figure, ranked, grid)
    _set_axes(figure, grid)
    counts = [int((ranked["rank"] == rank).sum()) for rank in (0, 1)]
    title = (
        f"{counts[0]} of {counted(ranked.height, 'question')} {'is' if counts[0] == 1 else 'are'} realized, "
        f"{counts[1]} more only reachable"
    )
    note = f"One cell a question; the paler, the fewer attempts of {shortened(probe, 30)} are right."
    figure.update_layout(margin={"t": theme.TITLE_MARGIN, "b": 14, "l": 16, "r": _LABELS})
    return theme.layout(figure, title, note, height=round(theme.TITLE_MARGIN + 14 + grid.height))


def question_map_pair(before: pl.DataFrame, after: pl.DataFrame) -> go.Figure:
    """The questions of two runs, each at the same place in both maps: ordered by state before, then after.

    Lines part the states before in both maps, so that what changed stands out in the lower one.

    Args:
        before: As for `question_map`.
        after: The same questions in another run, in any order.

    Raises:
        BadInput: A table has no row or a state that there is not, or the two are not of the same questions.
    """
    theme.require_rows(before, "the table of questions before")
    theme.require_rows(after, "the table of questions after")
    tables = _in_one_order(_with_ranks(before), _with_ranks(after))
    grid = _grid(tables[0].height)
    inner = 2 * grid.height + _BETWEEN
    figure = make_subplots(rows=2, cols=1, vertical_spacing=_BETWEEN / inner)
    ends = tables[0]["rank"].rle().struct.field("len").cum_sum().to_list()[:-1]
    for row, (name, table) in enumerate(zip(("before", "after"), tables, strict=True), start=1):
        figure.add_trace(_cells(table, grid, f"questions {name}"), row=row, col=1)
        _add_labels(figure, table, grid, row)
        _add_heading(figure, name.capitalize(), row)
        for end in ends:
            figure.add_shape(
                type="path", path=_border(end, grid), line={"color": theme.INK, "width": 1.5}, row=row, col=1
            )
    _set_axes(figure, grid)
    moved = (tables[0]["rank"] != tables[1]["rank"]).sum()
    title = f"{moved} of {counted(grid.n, 'question')} {'changes' if moved == 1 else 'change'} state"
    note = "One cell a question, at the same place in both maps; lines part the states before."
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + _HEADING, "b": 14, "l": 16, "r": _LABELS})
    return theme.layout(figure, title, note, height=round(theme.TITLE_MARGIN + _HEADING + 14 + inner))


def _with_ranks(questions: pl.DataFrame) -> pl.DataFrame:
    """The questions with the place of their state in the order of states."""
    strange = sorted(map(str, set(questions["state"]) - set(_ORDER)))
    if strange:
        raise BadInput(f"There is no state {strange[0]!r}. Use one of: {', '.join(_ORDER)}.")
    rank = pl.col("state").cast(pl.String).replace_strict(_ORDER, range(len(_ORDER)), return_dtype=pl.Int64)
    return questions.with_columns(rank=rank, rate=pl.col("rate").cast(pl.Float64).fill_nan(None))


def _in_one_order(before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables ordered by state before, state after, and rate before."""
    ids = before["id"]
    if ids.n_unique() != ids.len() or sorted(ids) != sorted(after["id"]):
        raise BadInput(
            f"Two maps need the same questions, each once; before has {ids.len()}, after {after.height}, and "
            f"{len(set(ids) & set(after['id']))} are in both. Keep those that are in both."
        )
    joined = before.join(after.select("id", then="rank"), on="id", maintain_order="left")
    order = joined.sort("rank", "then", -pl.col("rate"), nulls_last=True, maintain_order=True).select("id")
    return order.join(before, on="id", maintain_order="left"), order.join(
        after, on="id", maintain_order="left"
    )


def _grid(n: int) -> _Grid:
    smallest, largest = _SIDES
    side = min(largest, max(smallest, math.sqrt(_CELLS_WIDTH * _CELLS_HEIGHT / n)))
    return _Grid(n, side, max(1, min(n, int(_CELLS_WIDTH / side))))


def _cells(questions: pl.DataFrame, grid: _Grid, name: str) -> go.Heatmap:
    """The cells, filled row by row. A question without a rate is pale, and stands last in its state."""
    values: list[float | None] = [
        rank + 0.02 + 0.96 * min(max(rate or 0.0, 0.0), 1.0)
        for rank, rate in questions.select("rank", "rate").iter_rows()
    ]
    notes = [_note(row) for row in questions.iter_rows(named=True)]
    missing = grid.n_rows * grid.across - grid.n
    values += [None] * missing
    notes += [("",) * 6] * missing
    starts = range(0, len(values), grid.across)
    gap = 1 if grid.side >= _LEAST_SIDE_WITH_GAPS else 0
    return go.Heatmap(
        z=[values[i : i + grid.across] for i in starts],
        customdata=[notes[i : i + grid.across] for i in starts],
        zmin=0,
        zmax=len(_ORDER),
        colorscale=_colours(),
        showscale=False,
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        hovertemplate="<b>%{customdata[0]}</b> %{customdata[1]}<br>%{customdata[2]}<br>"
        "gold %{customdata[3]}; deployed answer %{customdata[4]}<br>"
        "share of right attempts %{customdata[5]}<extra></extra>",
        name=name,
    )


def _note(row: dict[str, Any]) -> tuple[str, ...]:
    """What is shown of a question under the pointer."""
    subject = f" ({shortened(row['subject'], 30)})" if row.get("subject") else ""
    shown = [
        shortened(row["id"], 40) + subject,
        str(row["state"]),
        shortened(row["text"] or "", 80),
        shortened(row["gold"], 40),
        "–" if row["deployed_answer"] is None else shortened(row["deployed_answer"], 40),
    ]
    return *map(theme.label, shown), theme.fraction(row["rate"])


def _colours() -> list[list[Any]]:
    """A scale in which each state has its own stretch, from pale to full."""
    n = len(_ORDER)
    scale: list[list[Any]] = []
    for i, (full, pale, _) in enumerate(theme.STATES.values()):
        scale += [[i / n, pale], [(i + 1) / n, full]]
    return scale


def _add_labels(figure: go.Figure, questions: pl.DataFrame, grid: _Grid, row: int = 1) -> None:
    """Writes the count of each state at the right, beside its cells where they stand together."""
    runs = [(_ORDER[rank], n) for rank, n in questions["rank"].value_counts().sort("rank").iter_rows()]
    middles: list[float] = []
    start = 0
    for _, n in runs:
        middles.append((start + n / 2) / grid.across * grid.side / grid.height)
        start += n
    gap = _LABEL_HEIGHT / grid.height
    places = spread(middles, gap, low=gap / 2, high=1 - gap / 2)
    for (state, n), place in zip(runs, places, strict=True):
        beside: dict[str, Any] = {
            "xref": "paper",
            "x": min(1.0, grid.across * grid.side / _CELLS_WIDTH),
            "yref": f"y{'' if row == 1 else row} domain",
            "y": 1 - place,
            "xanchor": "left",
            "yanchor": "middle",
        }
        colours = {"bgcolor": theme.STATES[state][0], "bordercolor": theme.SOFT_INK}
        figure.add_annotation(text=" ", width=11, height=11, borderpad=0, xshift=12, **colours, **beside)
        figure.add_annotation(text=f"{state} <b>{n}</b>", font={"size": 13}, xshift=30, **beside)


def _border(end: int, grid: _Grid) -> str:
    """The line between the first cells and the others, as a path."""
    row, column = divmod(end, grid.across)
    left, right, top, x = -0.5, grid.across - 0.5, row - 0.5, column - 0.5
    corners = [(x, top + 1), (x, top)] if column else []
    if column and row < grid.n_rows - 1:
        corners.insert(0, (left, top + 1))
    if row > 0:
        corners += [(right, top)] if column else [(left, top), (right, top)]
    return "M " + " L ".join(f"{a},{b}" for a, b in corners)


def _add_heading(figure: go.Figure, text: str, row: int) -> None:
    figure.add_annotation(
        text=f"<b>{text}</b>",
        xref="paper",
        x=0,
        yref=f"y{'' if row == 1 else row} domain",
        y=1,
        yshift=4,
        xanchor="left",
        yanchor="bottom",
        font={"size": 13, "color": theme.SOFT_INK},
    )


def _set_axes(figure: go.Figure, grid: _Grid) -> None:
    """Hides the axes; cells that do not fill the width stand at the left."""
    figure.update_xaxes(visible=False, range=[-0.5, _CELLS_WIDTH / grid.side - 0.5])
    figure.update_yaxes(visible=False, range=[grid.height / grid.side - 0.5, -0.5])
