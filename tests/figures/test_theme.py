import json
import math
import re

import polars as pl
import pytest
import synthetic_audit as questions
import synthetic_tables as tables

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.agreement import agreement
from interp.figures.arrow_plot import arrow_plot
from interp.figures.attribution_map import attribution_map
from interp.figures.block_ranking import block_ranking
from interp.figures.lens_trace import lens_trace
from interp.figures.question_map import question_map, question_map_pair
from interp.figures.reach_curve import reach_curve
from interp.figures.repair_against_retention import repair_against_retention
from interp.figures.selector_chart import selector_chart
from interp.figures.state_flow import state_flow

FIGURES = {
    "repair_against_retention": lambda **k: repair_against_retention(
        tables.repair_table(), totals=tables.TOTALS, **k
    ),
    "block_ranking": lambda **k: block_ranking(tables.repair_table(), **k),
    "attribution_map": lambda **k: attribution_map(
        tables.attribution_blocks(), repair=tables.repair_table(), **k
    ),
    "lens_trace": lambda **k: lens_trace(tables.lens_layers(), **k),
    "agreement": lambda **k: agreement(tables.blocks_table(), tables.agreement_table(), **k),
}
QUESTIONS = {
    "reach_curve": (lambda t: reach_curve(t, deployed=0.6, n_questions=72), questions.reach_table()),
    "question_map": (lambda t: question_map(t, probe="sampling"), questions.question_table(40)),
    "question_map_pair": (lambda t: question_map_pair(t, t), questions.question_table(40)),
    "arrow_plot": (arrow_plot, questions.pairs_table()),
    "state_flow": (state_flow, questions.flow_table()),
    "selector_chart": (
        lambda t: selector_chart(t, default=questions.DEFAULT, oracle=questions.ORACLE),
        questions.selector_table(),
    ),
}
"""Figures of audits and comparisons, each with a table."""
ALL = FIGURES | {
    name: lambda draw=draw, table=table: draw(table) for name, (draw, table) in QUESTIONS.items()
}
EMPTY = {
    "repair_against_retention": lambda: repair_against_retention(tables.repair_table().clear()),
    "block_ranking": lambda: block_ranking(tables.repair_table().clear()),
    "attribution_map": lambda: attribution_map(tables.attribution_blocks().clear()),
    "lens_trace": lambda: lens_trace(tables.lens_layers().clear()),
    "agreement": lambda: agreement(tables.blocks_table(), tables.agreement_table().clear()),
}
EMPTY |= {name: lambda draw=draw, t=table: draw(t.clear()) for name, (draw, table) in QUESTIONS.items()}
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}|rgba?\(.*\)")


def strings(value: object):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def contrast(one: str, other: str) -> float:
    """WCAG contrast ratio of two hex colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.274, "+0.27"), (-0.5, "−0.50"), (0.0, "0.00"), (-0.004, "0.00"), (None, "–"), (math.nan, "–")],
)
def test_a_difference_carries_its_sign(value, text):
    assert theme.signed(value) == text


def test_fractions_and_intervals_have_two_decimals():
    assert theme.fraction(0.956) == "0.96"
    assert theme.fraction(None) == theme.fraction(math.nan) == "–"
    assert theme.interval(0.1, 0.25) == "[0.10, 0.25]"
    assert theme.interval(None, 0.25) == ""


def test_a_label_shows_markup_instead_of_obeying_it():
    assert theme.label("<b>&</b>\n<script>") == "&lt;b&gt;&amp;&lt;/b&gt; &lt;script&gt;"


def test_ties_go_to_the_other_column_and_then_to_the_lower_layer():
    blocks = pl.DataFrame(
        {"layer": [0, 1, 2, 3], "repair": [0.5, 0.9, 0.9, 0.9], "net_gain": [0.3, 0.1, 0.2, 0.2]}
    )
    assert theme.standout_layers(blocks) == (2, 0)
    assert theme.standout_layers(blocks.with_columns(net_gain=pl.lit(0.1))) == (1, 1)


@pytest.mark.parametrize(
    ("repair", "net_gain", "says"),
    [
        ([0.9, 0.5], [0.0, 0.2], "MLP 0 repairs most, but MLP 1 gains most"),
        ([0.9, 0.5], [0.3, 0.2], "MLP 0 repairs most and gains most"),
        ([0.9, 0.5], [-0.3, 0.0], "MLP 0 repairs most, but no block gains"),
        ([0.0, 0.0], [-0.3, 0.0], "No block repairs a failure"),
        ([0.9, 0.5], [math.nan, math.nan], "MLP 0 repairs most, but no block gains"),
    ],
)
def test_the_headline_claims_no_more_than_the_table(repair, net_gain, says):
    blocks = pl.DataFrame({"layer": [0, 1], "repair": repair, "net_gain": net_gain})
    assert theme.headline(blocks) == says


@pytest.mark.parametrize("name", ALL)
def test_every_colour_has_its_dark_counterpart(name):
    drawn = json.loads(ALL[name]().to_json())
    found = {s for s in strings(drawn) if COLOUR.fullmatch(s)}
    assert found
    assert found <= set(theme.DARK)
    assert "style=" not in "".join(strings(drawn)), "a colour inside a text would stay light on a dark page"


@pytest.mark.parametrize(
    "colour",
    [
        "INK",
        "SOFT_INK",
        "REPAIRS_MOST",
        "GAINS_MOST",
        "GOLD",
        "GIVEN",
        "REALIZED",
        "PROBE_1",
        "PROBE_2",
        "PROBE_3",
    ],
)
def test_colours_of_text_are_readable_on_both_papers(colour):
    light = getattr(theme, colour)
    assert contrast(light, theme.PAPER) >= 4.5
    assert contrast(theme.DARK[light], theme.DARK[theme.PAPER]) >= 4.5


@pytest.mark.parametrize("name", FIGURES)
def test_a_hostile_title_is_shown_as_it_is(name):
    title = FIGURES[name](title="</script><a href='x'>{{ 1 }} %{y}").layout.title.text
    assert title == "&lt;/script&gt;&lt;a href='x'&gt;{{ 1 }} %{y}"


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_table_is_refused(name):
    with pytest.raises(BadInput, match="nothing to draw"):
        EMPTY[name]()
