"""How questions move between states from one run to another."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import polars as pl

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.labels import counted, spread

_ORDER = tuple(theme.STATES)
_PLOT = 320
_PAD = 20
"""Pixels between two states of a side."""
_THICK = 16
_LEAST_HEIGHT = 15
"""Pixels of a flow whose count is written on it."""


def state_flow(flow: pl.DataFrame) -> go.Figure:
    """A flow from the states before to the states after, coloured by where it ends.

    Args:
        flow: `before`, `after` (see `theme.STATES`), `n`: questions by their two states, each pair once.

    Raises:
        BadInput: No question is counted, or a state is named that there is not.
    """
    counted_flow = flow.filter(pl.col("n") > 0)
    theme.require_rows(counted_flow, "the table of flows")
    links = _links(counted_flow)
    sums = [_sums(links, side) for side in (0, 1)]
    scale = _scale(sums)
    nodes = [(side, state) for side in (0, 1) for state in sums[side]]
    middles = [middle for side in (0, 1) for middle in _middles(list(sums[side].values()), scale)]
    figure = go.Figure(_sankey(nodes, middles, links))
    for side in (0, 1):
        own = [middle for (at, _), middle in zip(nodes, middles, strict=True) if at == side]
        _add_names(figure, sums[side], own, side)
    _add_counts(figure, links, dict(zip(nodes, middles, strict=True)), sums, scale)
    figure.update_layout(margin={"t": theme.TITLE_MARGIN + 26, "l": 132, "r": 132, "b": 20})
    height = theme.TITLE_MARGIN + 26 + 20 + _PLOT
    return theme.layout(figure, _title(links), _note(links), height=height)


def _links(flow: pl.DataFrame) -> list[tuple[str, str, int]]:
    """The flows in the order of states."""
    links = [
        (str(before), str(after), int(n))
        for before, after, n in flow.select("before", "after", "n").iter_rows()
    ]
    for state in (state for link in links for state in link[:2]):
        if state not in _ORDER:
            raise BadInput(f"There is no state {state!r}. Use one of: {', '.join(_ORDER)}.")
    return sorted(links, key=lambda link: (_ORDER.index(link[0]), _ORDER.index(link[1])))


def _sums(links: Sequence[tuple[str, str, int]], side: int) -> dict[str, int]:
    """Questions in each state of a side, in the order of states; states without any are left out."""
    sums = {state: sum(link[2] for link in links if link[side] == state) for state in _ORDER}
    return {state: n for state, n in sums.items() if n}


def _scale(sums: Sequence[dict[str, int]]) -> float:
    """Height of one question, as a share of the plot: the side with more states sets it for both."""
    most = max(map(len, sums))
    return (1 - (most - 1) * _PAD / _PLOT) / sum(sums[0].values())


def _middles(counts: list[int], scale: float) -> list[float]:
    """The middle of each state downwards from 0 to 1; a side with fewer states stands in the middle."""
    room = _PAD / _PLOT
    top = (1 - sum(counts) * scale - (len(counts) - 1) * room) / 2
    middles: list[float] = []
    for n in counts:
        middles.append(top + n * scale / 2)
        top += n * scale + room
    return middles


def _sankey(
    nodes: list[tuple[int, str]], middles: list[float], links: list[tuple[str, str, int]]
) -> go.Sankey:
    index = {node: i for i, node in enumerate(nodes)}
    return go.Sankey(
        arrangement="fixed",
        node={
            "label": [""] * len(nodes),
            "customdata": [f"{state} {('before', 'after')[side]}" for side, state in nodes],
            "x": [0.0001 if side == 0 else 0.9999 for side, _ in nodes],
            "y": [min(max(middle, 0.0001), 0.9999) for middle in middles],
            "color": [theme.STATES[state][0] for _, state in nodes],
            "pad": _PAD,
            "thickness": _THICK,
            "line": {"width": 0},
            "hovertemplate": "%{customdata}: %{value:.0f}<extra></extra>",
        },
        link={
            "source": [index[0, before] for before, _, _ in links],
            "target": [index[1, after] for _, after, _ in links],
            "value": [n for _, _, n in links],
            "color": [theme.STATES[after][2] for _, after, _ in links],
            "customdata": [f"{before} → {after}" for before, after, _ in links],
            "hovertemplate": "%{customdata}: %{value:.0f}<extra></extra>",
        },
        name="flow",
    )


def _add_names(figure: go.Figure, sums: dict[str, int], middles: list[float], side: int) -> None:
    """Writes each state with its count outside the flows, and over them which run a side is."""
    gap = 34 / _PLOT
    texts = [f"{state}<br><b>{n}</b>" for state, n in sums.items()]
    places = spread(middles, gap, low=gap / 2, high=1 - gap / 2)
    for text, place in zip(texts, places, strict=True):
        _write(figure, text, 1 - place, side, theme.INK)
    _write(figure, "<b>Before</b>" if side == 0 else "<b>After</b>", 1, side, theme.SOFT_INK, over=True)


def _write(figure: go.Figure, text: str, y: float, side: int, colour: str, *, over: bool = False) -> None:
    outwards = (_THICK / 2 + (0 if over else 6)) * (-1, 1)[side]
    figure.add_annotation(
        text=text,
        xref="paper",
        yref="paper",
        x=side,
        y=y,
        xshift=outwards,
        yshift=6 if over else 0,
        xanchor=("left", "right")[side] if over else ("right", "left")[side],
        yanchor="bottom" if over else "middle",
        align=("right", "left")[side],
        font={"color": colour, "size": 13},
    )


def _add_counts(
    figure: go.Figure,
    links: list[tuple[str, str, int]],
    middles: dict[tuple[int, str], float],
    sums: list[dict[str, int]],
    scale: float,
) -> None:
    """Writes on each flow where it starts, if it is thick enough, how many questions it holds."""
    tops = {state: middles[0, state] - n * scale / 2 for state, n in sums[0].items()}
    for before, _, n in links:
        middle = tops[before] + n * scale / 2
        tops[before] += n * scale
        if n * scale * _PLOT >= _LEAST_HEIGHT:
            figure.add_annotation(
                text=str(n),
                xref="paper",
                yref="paper",
                x=0,
                y=1 - middle,
                xshift=_THICK + 6,
                xanchor="left",
                yanchor="middle",
                font={"color": theme.INK, "size": 12},
            )


def _title(links: list[tuple[str, str, int]]) -> str:
    gained = sum(n for before, after, n in links if after == "realized" != before)
    lost = sum(n for before, after, n in links if before == "realized" != after)
    return f"{counted(gained, 'question')} gained, {lost} lost"


def _note(links: list[tuple[str, str, int]]) -> str:
    gained = {before: n for before, after, n in links if after == "realized" != before}
    lost = {after: n for before, after, n in links if before == "realized" != after}
    says: list[str] = []
    if gained:
        within = gained.get("reachable only", 0)
        newly = sum(gained.values()) - within
        says.append(
            f"{within + newly} gained: {within} {_was(within)} within reach before, {newly} newly reached"
        )
    if lost:
        still = lost.get("reachable only", 0)
        entirely = sum(lost.values()) - still
        says.append(f"{still + entirely} lost: {still} still within reach, {entirely} not")
    return "; ".join(says) + "." if says else "No deployed answer became right or wrong."


def _was(n: int) -> str:
    return "was" if n == 1 else "were"
