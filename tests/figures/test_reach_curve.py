import itertools

import polars as pl
import pytest
import synthetic_audit as tables
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.figures import theme
from interp.figures.reach_curve import reach_curve

PANEL_PIXELS, LINE_PIXELS = 280, 16


def draw(table, **changes):
    return reach_curve(table, **({"deployed": 0.61, "n_questions": 72} | changes))


def trace(figure, name, axis="x"):
    return next(t for t in figure.data if t.name == name and (t.xaxis or "x") == axis)


def names(figure):
    return [t.name for t in figure.data]


def end_labels(figure, panel=1):
    """Text, height on the panel in pixels, and colour of the labels at the ends of the curves."""
    axis = f"x{'' if panel == 1 else panel} domain"
    found = [a for a in figure.layout.annotations if a.xref == axis and a.x == 1]
    return [(a.text, a.y * PANEL_PIXELS, a.font.color) for a in found]


def headings(figure):
    return [a.text for a in figure.layout.annotations if a.x == 0]


def test_curves_band_and_controls_are_those_of_the_table():
    table = tables.reach_table()
    figure = draw(table.sample(fraction=1.0, shuffle=True, seed=1))
    reach = trace(figure, "reach after")
    assert list(reach.x) == table["k"].to_list()
    assert list(reach.y) == table["reach"].to_list()
    band = trace(figure, "interval after")
    n = table.height
    assert list(band.y[:n]) == table["reach_high"].to_list()
    assert list(band.y[n:]) == table["reach_low"].to_list()[::-1]
    for name, dash, colour in (("decoy", "dash", reach.line.color), ("floor", "dot", theme.SOFT_INK)):
        line = trace(figure, name)
        assert list(line.y) == table[name].to_list()
        assert (line.line.dash, line.line.color) == (dash, colour)
    rule = trace(figure, "deployed")
    assert set(rule.y) == {0.61}
    assert rule.x[1] == pytest.approx(32)


def test_the_axis_doubles_and_its_ticks_are_whole_numbers():
    axis = draw(tables.reach_table()).layout.xaxis
    assert axis.type == "log"
    assert list(axis.ticktext) == ["1", "2", "4", "8", "16", "32"]
    assert 10 ** axis.range[1] == pytest.approx(32)
    assert list(draw(tables.reach_table(most=30)).layout.xaxis.ticktext) == ["1", "2", "4", "8", "16", "30"]
    assert list(draw(tables.reach_table(most=1)).layout.xaxis.ticktext) == ["1"]


def test_each_curve_is_named_at_its_end_in_its_colour():
    figure = draw(tables.reach_table())
    colour = theme.PROBES[0][0]
    assert {(text, own) for text, _, own in end_labels(figure)} == {
        ("reached 0.93", colour),
        ("wrong 0.92", colour),
        ("guessing 1.00", theme.SOFT_INK),
        ("deployed 0.61", theme.REALIZED),
    }
    heights = {text: y for text, y, _ in end_labels(figure)}
    assert heights["deployed 0.61"] == pytest.approx((0.61 + 0.02) / 1.06 * PANEL_PIXELS)
    assert heights["guessing 1.00"] > heights["reached 0.93"] > heights["wrong 0.92"]


shares = st.sampled_from([0.0, 0.02, 0.1, 0.5, 0.98, 1.0])
probes = st.dictionaries(
    st.text(min_size=1, max_size=40),
    st.tuples(shares, st.none() | shares, st.none() | shares),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(probes, shares, st.booleans())
def test_labels_at_the_ends_never_overlap(given_probes, deployed, two_runs):
    table = tables.reach_table(given_probes, most=4)
    if two_runs:
        table = pl.concat([table.with_columns(run=pl.lit(run)) for run in ("before", "after")])
    figure = draw(table, deployed=deployed)
    for panel in range(1, len(given_probes) + 1):
        heights = sorted(y for _, y, _ in end_labels(figure, panel))
        assert len(heights) >= 2 + two_runs
        assert all(b - a >= LINE_PIXELS for a, b in itertools.pairwise(heights))
        assert heights[0] >= -1
        assert heights[-1] <= PANEL_PIXELS + 1


def test_probes_stand_side_by_side_on_one_axis_in_their_own_colours():
    figure = draw(tables.reach_table({"sampling": (0.3, 0.2, 0.25), "silencing": (0.2, None, None)}))
    assert headings(figure) == ["<b>sampling</b>", "<b>silencing</b>"]
    assert figure.layout.yaxis2.matches == "y"
    assert [trace(figure, "reach after", axis).line.color for axis in ("x", "x2")] == [
        colour for colour, _ in theme.PROBES[:2]
    ]
    assert figure.layout.xaxis2.domain[0] > figure.layout.xaxis.domain[1]
    assert [text for text, _, _ in end_labels(figure, 2)] == ["deployed 0.61", "reached 0.93"]


def test_a_fifth_probe_begins_a_second_row_and_the_empty_place_is_blank():
    figure = draw(tables.reach_table({f"probe {i}": (0.1, None, None) for i in range(5)}))
    assert figure.layout.yaxis4.domain[1] < figure.layout.yaxis.domain[0]
    assert figure.layout.xaxis6.visible is False
    assert figure.layout.xaxis5.visible is None


def test_of_two_runs_before_is_grey_and_after_in_colour():
    table = pl.concat(
        [
            tables.reach_table({"sampling": (share, 0.1, None)}, most=8, run=run)
            for share, run in ((0.1, "before"), (0.2, "after"))
        ]
    )
    figure = draw(table)
    assert trace(figure, "reach before").line.color == theme.SOFT_INK
    assert trace(figure, "reach after").line.color == theme.PROBES[0][0]
    assert [text for text, _, _ in end_labels(figure)] == [
        "deployed 0.61",
        "wrong 0.52",
        "before 0.53",
        "after 0.77",
    ]
    assert figure.layout.title.text == "8 attempts reach 0.53 before, 0.77 after"


@pytest.mark.parametrize(
    ("decoy", "low", "excess_low", "says"),
    [
        (0.88, 0.85, None, "8 attempts reach 0.91, wrong answers 0.88: it may be chance"),
        (0.88, 0.90, None, "8 attempts reach 0.91; wrong answers less: 0.88"),
        (0.88, 0.90, -0.01, "8 attempts reach 0.91, wrong answers 0.88: it may be chance"),
        (0.88, 0.85, 0.01, "8 attempts reach 0.91; wrong answers less: 0.88"),
        (0.92, None, None, "8 attempts reach 0.91, wrong answers 0.92: it may be chance"),
        (None, 0.85, None, "8 attempts reach 0.91, 0.61 is delivered"),
        (float("nan"), 0.85, None, "8 attempts reach 0.91, 0.61 is delivered"),
    ],
)
def test_the_title_claims_no_more_than_the_table(decoy, low, excess_low, says):
    last = {"probe": "sampling", "k": 8, "reach": 0.91, "reach_low": low, "reach_high": 0.95, "decoy": decoy}
    rest = {"majority": None, "pass_hat": 0.1, "floor": None, "excess_low": excess_low}
    floats = dict.fromkeys(("reach_low", "majority", "floor", "decoy", "excess_low"), pl.Float64)
    assert draw(pl.DataFrame([last | rest], schema_overrides=floats)).layout.title.text == says


def test_the_title_is_about_the_probe_that_reaches_most():
    table = tables.reach_table({"weak": (0.01, None, None), "strong": (0.5, None, None)}, most=4)
    assert draw(table).layout.title.text == "strong: 4 attempts reach 0.87, 0.61 is delivered"
    one = draw(tables.reach_table(most=1)).layout.title.text
    assert one == "1 attempt reaches 0.28; wrong answers less: 0.18"


def test_the_subtitle_names_only_what_is_drawn():
    both = draw(tables.reach_table()).layout.title.subtitle.text
    assert both == (
        "72 questions; band: 95% interval; dashed: the same attempts against wrong targets; dotted: guessing."
    )
    alone = draw(tables.reach_table({"sampling": (0.3, None, None)}), n_questions=1)
    assert alone.layout.title.subtitle.text == "1 question; band: 95% interval."
    assert not {"decoy", "floor"} & set(names(alone))


def test_one_budget_is_a_dot_with_its_interval():
    table = tables.reach_table(most=1)
    dot = trace(draw(table), "reach after")
    assert "markers" in dot.mode
    assert dot.error_y.array[0] == pytest.approx(table["reach_high"][0] - table["reach"][0])
    assert dot.error_y.arrayminus[0] == pytest.approx(table["reach"][0] - table["reach_low"][0])


def test_the_pointer_shows_every_reading_and_a_dash_for_none():
    note = trace(draw(tables.reach_table({"sampling": (0.3, None, None)}, most=4)), "reach after")
    assert [row[1] for row in note.customdata] == ["–"] * 4
    assert [row[2] for row in note.customdata] == ["0.30", "0.30", "–", "0.30"]
    assert note.customdata[0][3] == "0.30"


def test_a_hostile_probe_is_shown_as_it_is():
    figure = draw(tables.reach_table({tables.HOSTILE: (0.3, 0.2, 0.25), "other": (0.1, 0.1, 0.1)}))
    assert headings(figure)[0] == "<b>&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;bold…</b>"
    assert "<script" not in figure.to_json().replace("\\u003c", "<")
