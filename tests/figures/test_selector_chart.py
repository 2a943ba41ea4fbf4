import polars as pl
import pytest
import synthetic_audit as tables

from interp.figures import theme
from interp.figures.selector_chart import selector_chart


def draw(table=None, default=tables.DEFAULT, oracle=tables.ORACLE):
    return selector_chart(tables.selector_table() if table is None else table, default=default, oracle=oracle)


def dots(figure):
    """Place of each dot, by selector: accuracy and row."""
    return {
        note[0]: (x, y)
        for t in figure.data
        if t.mode == "markers"
        for x, y, note in zip(t.x, t.y, t.customdata, strict=True)
    }


def numbers(figure, heading):
    """The texts of a column of numbers, downwards."""
    x = next(a.x for a in figure.layout.annotations if a.text == f"<b>{heading}</b>")
    column = [a for a in figure.layout.annotations if a.xref == "paper" and a.x == x and a.y >= 0]
    return [a.text for a in sorted(column, key=lambda a: a.y)]


def test_selectors_stand_in_the_order_of_accuracy():
    ranked = tables.selector_table().sort("accuracy", descending=True)
    figure = draw()
    places = dots(figure)
    assert [places[name] for name in ranked["selector"]] == [(a, y) for y, a in enumerate(ranked["accuracy"])]
    assert list(figure.layout.yaxis.ticktext)[1:4] == ["majority", "weighted vote", "mean log-probability"]
    assert figure.layout.yaxis.ticktext[0] == "best route of a training…"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_whiskers_are_the_intervals_of_their_row():
    ranked = tables.selector_table().sort("accuracy", descending=True)
    drawn = {}
    for t in draw().data:
        if t.mode == "lines":
            for start in range(0, len(t.x), 3):
                assert t.y[start] == t.y[start + 1]
                drawn[t.y[start]] = (t.x[start], t.x[start + 1])
    assert drawn == dict(enumerate(ranked.select("low", "high").iter_rows()))


def test_families_differ_in_colour_and_in_shape():
    marks = [t.marker for t in draw().data if t.mode == "markers"]
    assert len(marks) == 4
    assert len({m.color for m in marks}) == len({m.symbol for m in marks}) == 4
    shown = [t.name for t in draw().data if t.showlegend is not False]
    assert shown == ["votes", "one stands out", "fixed by other golds", "control"]


def test_numbers_stand_beside_their_row():
    ranked = tables.selector_table().sort("accuracy", descending=True)
    figure = draw()
    assert numbers(figure, "gain kept") == [theme.signed(v) for v in ranked["recovered"]]
    assert numbers(figure, "harm") == [theme.fraction(v) for v in ranked["harm"]]
    none = tables.selector_table().with_columns(recovered=pl.lit(None, pl.Float64), harm=pl.lit(float("nan")))
    assert set(numbers(draw(none), "gain kept")) == set(numbers(draw(none), "harm")) == {"–"}


@pytest.mark.parametrize(
    ("default", "oracle"), [(0.61, 0.91), (0.0, 1.0), (0.6, 0.6), (1.0, 1.0), (0.0, 0.0)]
)
def test_rules_are_named_apart_from_each_other_and_lie_on_the_axis(default, oracle):
    figure = draw(default=default, oracle=oracle)
    rules = [s.x0 for s in figure.layout.shapes if s.type == "line"]
    assert rules == [default, oracle]
    low, high = figure.layout.xaxis.range
    assert low <= default <= oracle <= high
    named = {
        a.text: a.xanchor for a in figure.layout.annotations if a.text.startswith(("deployed", "reached"))
    }
    assert named == {f"deployed {default:.2f}": "right", f"reached {oracle:.2f}": "left"}


def test_worse_than_deployed_is_shaded():
    (area,) = (s for s in draw().layout.shapes if s.type == "rect")
    assert (area.x0, area.x1) == (draw().layout.xaxis.range[0], tables.DEFAULT)


def test_the_title_names_the_best_that_sees_no_gold():
    assert draw().layout.title.text == "Best of 5 selectors: majority keeps 0.43 of the gain"
    table = tables.selector_table()
    worse = table.with_columns(accuracy=pl.col("accuracy") - 0.2)
    assert draw(worse).layout.title.text == "No answer-blind selector keeps any of the gain"
    assert draw(oracle=0.61).layout.title.text == "The attempts reach no more than is delivered"
    trained = table.filter(pl.col("family") == "trained")
    assert draw(trained).layout.title.text == "No answer-blind selector could be read"
    unknown = table.with_columns(recovered=pl.lit(None, pl.Float64))
    assert draw(unknown).layout.title.text == "Best of 5 selectors: majority is right in 0.74"


@pytest.mark.parametrize(
    ("low", "difference_low", "clear"),
    [(0.6, None, False), (0.62, None, True), (0.6, 0.01, True), (0.7, 0.0, False)],
)
def test_a_gain_that_may_be_chance_is_not_claimed(low, difference_low, clear):
    table = tables.selector_table().with_columns(
        low=pl.lit(low), difference_low=pl.lit(difference_low, pl.Float64)
    )
    says = {
        True: "Best of 5 selectors: majority keeps 0.43 of the gain",
        False: "No selector clearly keeps any of the gain; the best keeps 0.43",
    }
    assert draw(table).layout.title.text == says[clear]


def test_a_selector_without_a_number_stands_last_and_draws_no_dot():
    table = tables.selector_table().with_columns(
        pl.when(pl.col("selector") == "majority").then(None).otherwise(name).alias(name)
        for name in ("accuracy", "low", "high")
    )
    figure = draw(table)
    assert figure.layout.yaxis.ticktext[-1] == "majority"
    assert dots(figure)["majority"] == (None, 6)
    assert figure.layout.title.text == "Best of 4 selectors: weighted vote keeps 0.37 of the gain"


def test_the_pointer_shows_what_was_gained_and_lost():
    notes = {note[0]: tuple(note[1:]) for t in draw().data if t.mode == "markers" for note in t.customdata}
    assert notes["majority"] == ("[0.65, 0.82]", 12, 1)
    assert notes["random attempt"] == ("[0.43, 0.60]", "–", "–")


def test_hostile_names_and_families_are_shown_as_they_are():
    table = tables.selector_table().with_columns(
        selector=pl.lit(tables.HOSTILE), family=pl.lit(tables.HOSTILE)
    )
    figure = draw(table)
    assert figure.layout.yaxis.ticktext[0].startswith("&lt;script&gt;alert(1)&lt;/script&gt;")
    assert "<script" not in figure.to_json().replace("\\u003c", "<")
    assert sum(t.mode == "markers" for t in figure.data) == 1
