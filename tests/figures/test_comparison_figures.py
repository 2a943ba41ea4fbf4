"""The arrow plot and the flow between states."""

import itertools
import math

import polars as pl
import pytest
import synthetic_audit as tables
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.arrow_plot import arrow_plot
from interp.figures.state_flow import state_flow

PLOT_PIXELS = 410
FLOW_PIXELS = 320


def arrows(figure):
    """From and to of each arrow, with its colour."""
    return [
        ((a.ax, a.ay), (a.x, a.y), a.arrowcolor)
        for a in figure.layout.annotations
        if a.showarrow and a.arrowhead == 2
    ]


def arrow_names(figure):
    """Text, height in pixels, colour."""
    low, high = figure.layout.yaxis.range
    return [
        (a.text, (a.y - low) / (high - low) * PLOT_PIXELS, a.font.color)
        for a in figure.layout.annotations
        if a.text and not a.text.startswith("cannot")
    ]


def test_each_arrow_runs_from_before_to_after():
    pairs = tables.pairs_table(6)
    found = {(start, end) for start, end, _ in arrows(arrow_plot(pairs))}
    assert found == {
        ((r["deployed_before"], r["ceiling_before"]), (r["deployed_after"], r["ceiling_after"]))
        for r in pairs.iter_rows(named=True)
    }


def test_orange_is_a_ceiling_that_falls():
    pairs = tables.pairs_table(8)
    falls = {
        r["deployed_after"]: r["ceiling_after"] < r["ceiling_before"] for r in pairs.iter_rows(named=True)
    }
    colours = {end[0]: colour for _, end, colour in arrows(arrow_plot(pairs))}
    assert set(falls.values()) == {True, False}
    assert colours == {x: theme.REPAIRS_MOST if fell else theme.GAINS_MOST for x, fell in falls.items()}


def test_what_cannot_be_is_shaded_up_to_the_diagonal():
    figure = arrow_plot(tables.pairs_table(6))
    area = next(t for t in figure.data if t.name == "cannot be")
    low, high = figure.layout.xaxis.range
    assert figure.layout.xaxis.range == figure.layout.yaxis.range
    assert list(zip(area.x, area.y, strict=True)) == [(low, low), (high, high), (high, low)]
    assert any(a.text.startswith("cannot be") for a in figure.layout.annotations)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_up_to_a_dozen_names_keep_apart_within_the_plot(n, seed, at_one_place, two_lines):
    pairs = tables.pairs_table(n, seed=seed)
    if at_one_place:
        pairs = pairs.with_columns(ceiling_after=pl.lit(1.0), ceiling_before=pl.lit(0.9))
    if two_lines:
        pairs = pairs.with_columns(probe=pl.Series([f"probe {i}" for i in range(n)]))
    names = arrow_names(arrow_plot(pairs))
    assert len(names) == n
    tall = 28 if n > 1 and two_lines else 15
    heights = sorted(y for _, y, _ in names)
    assert all(b - a >= tall for a, b in itertools.pairwise(heights))
    assert heights[0] >= tall / 2
    assert heights[-1] <= PLOT_PIXELS - tall / 2


def test_a_name_has_the_colour_of_its_arrow_and_a_line_to_its_head():
    pairs = tables.pairs_table(5)
    figure = arrow_plot(pairs)
    colours = {end: colour for _, end, colour in arrows(figure)}
    for row in pairs.iter_rows(named=True):
        head = (row["deployed_after"], row["ceiling_after"])
        _text, height, colour = next(n for n in arrow_names(figure) if n[0] == row["name"])
        assert colour == colours[head]
        lines = [a for a in figure.layout.annotations if a.arrowhead == 0 and (a.x, a.y) == head]
        low, high = figure.layout.yaxis.range
        assert [(a.ay - low) / (high - low) * PLOT_PIXELS for a in lines] == pytest.approx([height])


def test_what_all_arrows_share_is_said_once():
    pairs = tables.pairs_table(3)
    figure = arrow_plot(pairs)
    assert figure.layout.title.subtitle.text.startswith("Ceiling: sampling, 32 attempts. ")
    assert {text for text, _, _ in arrow_names(figure)} == set(pairs["name"])
    one = pairs.with_columns(
        name=pl.lit("a to b"), probe=pl.Series(["x", "y", "all probes"]), k=pl.Series([8, 1, None])
    )
    figure = arrow_plot(one)
    assert figure.layout.title.subtitle.text.startswith("a to b. ")
    assert {text for text, _, _ in arrow_names(figure)} == {"x, 8 attempts", "y, 1 attempt", "all probes"}
    mixed = pairs.with_columns(k=pl.Series([8, 16, 32]))
    assert f"<b>{pairs['name'][0]}</b><br>sampling, 8 attempts" in [
        t for t, _, _ in arrow_names(arrow_plot(mixed))
    ]


def one_pair(deployed, ceiling):
    (a, b), (c, d) = deployed, ceiling
    return tables.pairs_table(1).with_columns(
        deployed_before=pl.lit(a), deployed_after=pl.lit(b), ceiling_before=pl.lit(c), ceiling_after=pl.lit(d)
    )


@pytest.mark.parametrize(
    ("deployed", "ceiling", "says"),
    [
        ((0.4, 0.547), (0.9, 0.767), "The deployed score rises by 0.15, the reachable ceiling falls by 0.13"),
        ((0.4, 0.3), (0.9, 0.902), "The deployed score falls by 0.10, the reachable ceiling stays"),
        ((0.0, 0.0), (1.0, 1.0), "The deployed score stays, the reachable ceiling stays"),
    ],
)
def test_the_title_of_one_pair_says_both_changes(deployed, ceiling, says):
    assert arrow_plot(one_pair(deployed, ceiling)).layout.title.text == says


def test_the_title_of_many_pairs_counts_those_that_rise():
    pairs = tables.pairs_table(6)
    ups = sum((pairs[f"{part}_after"] - pairs[f"{part}_before"] > 0.005).sum() for part in ("deployed",))
    ceilings = (pairs["ceiling_after"] - pairs["ceiling_before"] > 0.005).sum()
    title = arrow_plot(pairs).layout.title.text
    assert title == f"The deployed score rises in {ups} of 6 pairs, the ceiling in {ceilings}"


def test_a_pair_that_did_not_move_is_a_dot():
    figure = arrow_plot(one_pair((0.5, 0.5), (1.0, 1.0)))
    assert arrows(figure) == []
    dot = figure.data[-1]
    assert list(dot.marker.opacity) == [1, 1]
    low, high = figure.layout.xaxis.range
    assert low < 0.5
    assert high > 1.0


def test_hostile_names_are_shown_as_they_are():
    pairs = tables.pairs_table(2).with_columns(
        name=pl.Series([tables.HOSTILE, "%{x} plain"]), probe=pl.Series(["a", tables.HOSTILE])
    )
    figure = arrow_plot(pairs)
    assert any(
        text.startswith("<b>&lt;script&gt;alert(1)&lt;/script&gt;") for text, _, _ in arrow_names(figure)
    )
    assert "<script" not in figure.to_json().replace("\\u003c", "<")
    assert all("plain" not in (t.hovertemplate or "") for t in figure.data)


def flow_labels(figure, *, shift):
    """Text and pixels from the top of the labels on one side ("left", "right") or on the flows ("on")."""
    sides = {"left": ("right", 0), "right": ("left", 1), "on": ("left", 0)}
    anchor, x = sides[shift]
    found = [
        a for a in figure.layout.annotations if (a.xanchor, a.x) == (anchor, x) and a.yanchor == "middle"
    ]
    return [(a.text, (1 - a.y) * FLOW_PIXELS) for a in found]


def sankey(figure):
    (drawn,) = figure.data
    return drawn


def random_flow(counts):
    pairs = itertools.product(tables.STATES, repeat=2)
    return pl.DataFrame([{"before": b, "after": a, "n": n} for (b, a), n in zip(pairs, counts, strict=True)])


flows = st.lists(st.sampled_from([0, 1, 3, 40, 9000]), min_size=16, max_size=16).filter(any).map(random_flow)


def test_flows_are_those_of_the_table_in_the_order_of_states_and_coloured_by_their_end():
    flow = tables.flow_table()
    drawn = sankey(state_flow(flow.sample(fraction=1.0, shuffle=True, seed=4)))
    states = [text.rsplit(" ", 1) for text in drawn.node.customdata]
    assert states == [[state, side] for side in ("before", "after") for state in tables.STATES]
    found = [
        (states[s][0], states[t][0], n)
        for s, t, n in zip(drawn.link.source, drawn.link.target, drawn.link.value, strict=True)
    ]
    assert found == list(flow.filter(pl.col("n") > 0).iter_rows())
    assert list(drawn.link.color) == [theme.STATES[after][2] for _, after, _ in found]
    assert list(drawn.node.color) == [theme.STATES[state][0] for state, _ in states]


@settings(max_examples=50, deadline=None)
@given(flows)
def test_states_lie_in_order_inside_the_plot_and_their_names_apart(flow):
    figure = state_flow(flow)
    drawn = sankey(figure)
    for side, x in (("left", 0.0001), ("right", 0.9999)):
        places = [y for at, y in zip(drawn.node.x, drawn.node.y, strict=True) if at == x]
        assert places == sorted(places)
        assert all(0 < y < 1 for y in places)
        labels = flow_labels(figure, shift=side)
        assert len(labels) == len(places)
        assert all(b - a >= 33 for (_, a), (_, b) in itertools.pairwise(labels))
        assert all(16 <= y <= FLOW_PIXELS - 16 for _, y in labels)
    numbers = [y for _, y in flow_labels(figure, shift="on")]
    assert all(b - a >= 14 for a, b in itertools.pairwise(numbers))


def test_each_side_names_its_states_with_their_counts():
    figure = state_flow(tables.flow_table())
    before = [text for text, _ in flow_labels(figure, shift="left")]
    after = [text for text, _ in flow_labels(figure, shift="right")]
    assert before == [
        "realized<br><b>43</b>",
        "reachable only<br><b>35</b>",
        "never<br><b>17</b>",
        "unreadable<br><b>5</b>",
    ]
    assert after == [
        "realized<br><b>52</b>",
        "reachable only<br><b>27</b>",
        "never<br><b>17</b>",
        "unreadable<br><b>4</b>",
    ]
    assert [text for text, _ in flow_labels(figure, shift="on")] == ["40", "9", "21", "12"]


def test_a_count_stands_at_the_middle_of_its_flow():
    flow = pl.DataFrame({"before": ["never"] * 3, "after": list(tables.STATES[:3]), "n": [10, 20, 30]})
    height = FLOW_PIXELS - 2 * 20
    middles = [20 + height / 60 * place for place in (5, 20, 45)]
    found = flow_labels(state_flow(flow), shift="on")
    assert [text for text, _ in found] == ["10", "20", "30"]
    assert [y for _, y in found] == pytest.approx(middles)


def test_the_gain_is_split_in_words():
    figure = state_flow(tables.flow_table())
    assert figure.layout.title.text == "12 questions gained, 3 lost"
    assert figure.layout.title.subtitle.text == (
        "12 gained: 9 were within reach before, 3 newly reached; 3 lost: 2 still within reach, 1 not."
    )


@pytest.mark.parametrize(
    ("before", "after", "title", "note"),
    [
        (
            "never",
            "realized",
            "1 question gained, 0 lost",
            "1 gained: 0 were within reach before, 1 newly reached.",
        ),
        (
            "reachable only",
            "realized",
            "1 question gained, 0 lost",
            "1 gained: 1 was within reach before, 0 newly reached.",
        ),
        ("realized", "unreadable", "0 questions gained, 1 lost", "1 lost: 0 still within reach, 1 not."),
        ("realized", "realized", "0 questions gained, 0 lost", "No deployed answer became right or wrong."),
    ],
)
def test_one_question_is_a_flow_too(before, after, title, note):
    figure = state_flow(pl.DataFrame({"before": [before], "after": [after], "n": [1]}))
    assert (figure.layout.title.text, figure.layout.title.subtitle.text) == (title, note)
    assert list(sankey(figure).node.y) == [0.5, 0.5]


def test_a_flow_without_questions_or_with_a_strange_state_is_refused():
    with pytest.raises(BadInput, match="nothing to draw"):
        state_flow(tables.flow_table().with_columns(n=0))
    with pytest.raises(BadInput, match="no state '<b>lost</b>'"):
        state_flow(pl.DataFrame({"before": ["<b>lost</b>"], "after": ["never"], "n": [1]}))


def test_one_question_has_the_same_height_on_both_sides():
    flow = pl.DataFrame(
        {"before": ["never"] * 3, "after": ["realized", "reachable only", "never"], "n": [10, 10, 10]}
    )
    drawn = sankey(state_flow(flow))
    gaps = [b - a for a, b in itertools.pairwise(list(drawn.node.y)[1:])]
    room = 20 / FLOW_PIXELS
    assert gaps == pytest.approx([(1 - 2 * room) / 3 + room] * 2)
    assert math.isclose(drawn.node.y[0], 0.5)
