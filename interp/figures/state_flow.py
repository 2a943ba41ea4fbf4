"""How questions move between states from one run to another."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from interp.figures import theme

_ORDER = tuple(theme.STATES)


def state_flow(flow: pl.DataFrame) -> go.Figure:
    """A flow from the states before to the states after, coloured by where it ends.

    Args:
        flow: `before`, `after`, `n`: questions by their two states.

    Raises:
        BadInput: No question is counted.
    """
    counted = flow.filter(pl.col("n") > 0)
    theme.require_rows(counted, "the table of flows")
    sums = [dict(counted.group_by(end).agg(pl.col("n").sum()).iter_rows()) for end in ("before", "after")]
    nodes = [(side, state) for side in (0, 1) for state in _ORDER if sums[side].get(state)]
    index = {node: i for i, node in enumerate(nodes)}
    places = [*_middles(sums[0]), *_middles(sums[1])]
    links = sorted(counted.iter_rows(), key=lambda row: (_ORDER.index(row[0]), _ORDER.index(row[1])))
    figure = go.Figure(
        go.Sankey(
            arrangement="fixed",
            node={
                "label": [f"{state} {sums[side][state]}" for side, state in nodes],
                "x": [0.001 if side == 0 else 0.999 for side, _ in nodes],
                "y": places,
                "color": [theme.STATES[state][0] for _, state in nodes],
                "pad": 18,
                "thickness": 16,
                "line": {"width": 0},
                "hovertemplate": "%{label}<extra></extra>",
            },
            link={
                "source": [index[0, before] for before, _, _ in links],
                "target": [index[1, after] for _, after, _ in links],
                "value": [n for _, _, n in links],
                "color": [theme.STATES[after][2] for _, after, _ in links],
                "hovertemplate": "%{value} from %{source.label} to %{target.label}<extra></extra>",
            },
            textfont={"size": 13, "color": theme.INK},
            name="flow",
        )
    )
    figure.update_layout(margin={"l": 24, "r": 24, "b": 30})
    return theme.layout(figure, _title(links), _note(links), height=420)


def _middles(sums: dict[str, int]) -> list[float]:
    """The middle of each state's node, downwards, with room between them."""
    present = [state for state in _ORDER if sums.get(state)]
    total, room = sum(sums.values()), 0.05 * (len(present) - 1)
    middles: list[float] = []
    top = 0.0
    for state in present:
        height = (1 - room) * sums[state] / total
        middles.append(min(0.999, max(0.001, top + height / 2)))
        top += height + 0.05
    return middles


def _title(links: list[tuple[str, str, int]]) -> str:
    gained = sum(n for before, after, n in links if after == "realized" != before)
    lost = sum(n for before, after, n in links if before == "realized" != after)
    return f"{gained} questions gained, {lost} lost"


def _note(links: list[tuple[str, str, int]]) -> str:
    within = sum(n for before, after, n in links if (before, after) == ("reachable only", "realized"))
    newly = sum(n for before, after, n in links if before in ("never", "unreadable") and after == "realized")
    split = f"Of the gained, {within} were within reach before and {newly} are newly reached."
    return f"{split} Before left, after right."
