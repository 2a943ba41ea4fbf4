"""How every figure looks: one plotly template, one palette, one way to write numbers and labels.

Blue is the block to silence, orange the block that repairs most, teal the gold answer and purple the
given one, in every figure about blocks. In those about questions each state and each probe has its own.
The dark page is the light figure with each colour swapped by `DARK`.
"""

from __future__ import annotations

import html
import math

import plotly.graph_objects as go
import polars as pl

from interp.errors import BadInput

INK = "#1b2330"
SOFT_INK = "#5a6473"
PAPER = "#ffffff"
GRID = "#e7eaef"
AXIS = "#c3cad4"
DOT = "#8f9aaa"
WHISKER = "#cbd2db"

REPAIRS_MOST = "#c8500a"
REPAIRS_MOST_BAND = "#fdf0e7"
GAINS_MOST = "#0b68a8"
GAINS_MOST_BAND = "#e9f3fb"
GOLD = "#00796b"
GOLD_BAND = "rgba(0,121,107,0.15)"
GIVEN = "#8e3b8a"
GIVEN_BAND = "rgba(142,59,138,0.15)"
LOSS_AREA = "#f7f4f1"
REALIZED = "#00594d"
REALIZED_PALE = "#3c877b"
REALIZED_LINK = "rgba(0,89,77,0.5)"
REACHABLE = "#c27c0e"
REACHABLE_PALE = "#dca443"
REACHABLE_LINK = "rgba(194,124,14,0.5)"
NEVER = "#b4bdca"
NEVER_LINK = "rgba(180,189,202,0.6)"
UNREADABLE = "#e8d6f6"
UNREADABLE_LINK = "rgba(232,214,246,0.8)"
PROBE_1 = "#0a5f9e"
PROBE_1_BAND = "rgba(10,95,158,0.14)"
PROBE_2 = "#a8620a"
PROBE_2_BAND = "rgba(168,98,10,0.14)"
PROBE_3 = "#4b2273"
PROBE_3_BAND = "rgba(75,34,115,0.14)"
EARLIER_BAND = "rgba(143,154,170,0.18)"
HALO = "0 0 3px #ffffff, 0 0 3px #ffffff, 0 0 3px #ffffff"
"""Text shadow that keeps a label readable where a line passes behind it."""

_DIVERGING_LOW = "#b884b6"
_DIVERGING_MIDDLE = "#f7f7f7"
_DIVERGING_HIGH = "#5fb3a6"

DARK = {
    INK: "#e8ebf0",
    SOFT_INK: "#a4adba",
    PAPER: "#15181e",
    GRID: "#2a303a",
    AXIS: "#4a5361",
    DOT: "#818c9c",
    WHISKER: "#454e5b",
    REPAIRS_MOST: "#ff9a57",
    REPAIRS_MOST_BAND: "#33231a",
    GAINS_MOST: "#62b8f5",
    GAINS_MOST_BAND: "#172a3a",
    GOLD: "#3cc9b4",
    GOLD_BAND: "rgba(60,201,180,0.18)",
    GIVEN: "#d88bd3",
    GIVEN_BAND: "rgba(216,139,211,0.18)",
    LOSS_AREA: "#1d1c1d",
    REALIZED: "#9be8da",
    REALIZED_PALE: "#5dbdad",
    REALIZED_LINK: "rgba(155,232,218,0.45)",
    REACHABLE: "#c28d26",
    REACHABLE_PALE: "#8f6a24",
    REACHABLE_LINK: "rgba(194,141,38,0.5)",
    NEVER: "#4d5765",
    NEVER_LINK: "rgba(77,87,101,0.6)",
    UNREADABLE: "#453659",
    UNREADABLE_LINK: "rgba(69,54,89,0.85)",
    PROBE_1: "#7cc7ff",
    PROBE_1_BAND: "rgba(124,199,255,0.18)",
    PROBE_2: "#ffcf99",
    PROBE_2_BAND: "rgba(255,207,153,0.18)",
    PROBE_3: "#9a78dd",
    PROBE_3_BAND: "rgba(154,120,221,0.22)",
    EARLIER_BAND: "rgba(129,140,156,0.22)",
    HALO: "0 0 3px #15181e, 0 0 3px #15181e, 0 0 3px #15181e",
    _DIVERGING_LOW: "#a361a0",
    _DIVERGING_MIDDLE: "#20252d",
    _DIVERGING_HIGH: "#3f9f90",
}
"""Each colour of a light figure, and what stands in its place on a dark page."""

STATES = {
    "realized": (REALIZED, REALIZED_PALE, REALIZED_LINK),
    "reachable only": (REACHABLE, REACHABLE_PALE, REACHABLE_LINK),
    "never": (NEVER, NEVER, NEVER_LINK),
    "unreadable": (UNREADABLE, UNREADABLE, UNREADABLE_LINK),
}
"""States of a question, best first: the colour, the same where few attempts are right, and that of a flow.

Each state keeps a stretch of lightness of its own, so that they stay apart in grey print.
"""

PROBES = ((PROBE_1, PROBE_1_BAND), (PROBE_2, PROBE_2_BAND), (PROBE_3, PROBE_3_BAND))
"""Colours of probes, line and band, in the order in which a table names them."""

DIVERGING = [
    [0.0, GIVEN],
    [0.25, _DIVERGING_LOW],
    [0.5, _DIVERGING_MIDDLE],
    [0.75, _DIVERGING_HIGH],
    [1.0, GOLD],
]
"""From the given answer (purple) to the gold one (teal), centred on zero."""

FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

_AXIS_STYLE = {
    "gridcolor": GRID,
    "gridwidth": 1,
    "linecolor": AXIS,
    "showline": False,
    "zeroline": False,
    "ticks": "",
    "automargin": True,
    "tickfont": {"size": 12, "color": SOFT_INK},
    "title": {"font": {"size": 12.5, "color": SOFT_INK}, "standoff": 8},
}

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": INK},
        "title": {
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "pad": {"l": 16},
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 18, "color": INK, "weight": 600},
            "subtitle": {"font": {"size": 13, "color": SOFT_INK}},
        },
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "xaxis": _AXIS_STYLE,
        "yaxis": _AXIS_STYLE,
        "annotationdefaults": {"font": {"size": 12, "color": INK}, "showarrow": False},
        "hoverlabel": {
            "bgcolor": PAPER,
            "bordercolor": AXIS,
            "font": {"color": INK, "size": 12.5},
            "align": "left",
        },
        "showlegend": False,
        "margin": {"l": 56, "r": 20, "t": 84, "b": 52},
        "bargap": 0.35,
    }
)
"""The template of every figure."""

TITLE_MARGIN = 84
"""Pixels above the plot that hold title and subtitle; a page that sets them in HTML takes them back."""


def label(text: object) -> str:
    """Text as plotly must get it to show it as it is: plotly reads a subset of HTML in every label."""
    return html.escape(str(text), quote=False).replace("\r", " ").replace("\n", " ")


def fraction(value: float | None) -> str:
    """A fraction with two decimals ("0.48"); a dash where there is none."""
    return "–" if _missing(value) else f"{value:.2f}"


def signed(value: float | None) -> str:
    """A difference with its sign and two decimals ("+0.27"), a true minus; a dash where there is none."""
    if value is None or _missing(value):
        return "–"
    text = f"{abs(value):.2f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


def interval(low: float | None, high: float | None) -> str:
    """An interval ("[0.36, 0.61]"); nothing where there is none."""
    return "" if _missing(low) or _missing(high) else f"[{fraction(low)}, {fraction(high)}]"


def require_rows(table: pl.DataFrame, what: str) -> None:
    """Refuses an empty table.

    Raises:
        BadInput: The table has no row.
    """
    if table.is_empty():
        raise BadInput(f"There is nothing to draw: {what} has no row.")


def standout_layers(blocks: pl.DataFrame) -> tuple[int, int]:
    """The layers that a figure marks: of the highest `repair`, and of the highest `net_gain`.

    A tie goes to the other of the two columns, then to the lower layer.

    Raises:
        BadInput: The table has no row.
    """
    require_rows(blocks, "the table of blocks")
    most = blocks.sort("repair", "net_gain", "layer", descending=[True, True, False], nulls_last=True)
    gains = blocks.sort("net_gain", "repair", "layer", descending=[True, True, False], nulls_last=True)
    return int(most["layer"][0]), int(gains["layer"][0])


def headline(blocks: pl.DataFrame) -> str:
    """What the two marked blocks do, in one line that claims no more than the table shows.

    Raises:
        BadInput: The table has no row.
    """
    most, gains = standout_layers(blocks)
    if not positive(blocks, "repair"):
        return "No block repairs a failure"
    if not positive(blocks, "net_gain"):
        return f"MLP {most} repairs most, but no block gains"
    if most == gains:
        return f"MLP {most} repairs most and gains most"
    return f"MLP {most} repairs most, but MLP {gains} gains most"


def positive(blocks: pl.DataFrame, column: str) -> bool:
    """Whether any block has a value above zero in a column."""
    return blocks.filter(pl.col(column).fill_nan(None) > 0).height > 0


def accents(layers: list[int], blocks: pl.DataFrame, *, plain: str = DOT) -> list[str]:
    """A colour for each layer: blue for the highest net gain, orange for the highest repair, else `plain`."""
    repairs_most, gains_most = standout_layers(blocks)
    colours = {repairs_most: REPAIRS_MOST, gains_most: GAINS_MOST}
    return [colours.get(layer, plain) for layer in layers]


def layout(figure: go.Figure, title: str, subtitle: str = "", *, height: int) -> go.Figure:
    """Gives a figure the template, its title in plain text, its subtitle and its height in pixels."""
    figure.update_layout(
        template=TEMPLATE,
        title={"text": label(title), "subtitle": {"text": label(subtitle)}, "pad": {"l": 16, "t": 18}},
        height=height,
    )
    return figure


def _missing(value: float | None) -> bool:
    return value is None or math.isnan(value)
