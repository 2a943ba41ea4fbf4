"""Search against random, reach for layer-tokens, and where edits are put."""

import math
from itertools import pairwise

import polars as pl
import pytest
import synthetic_audit as tables

from interp.errors import BadInput
from interp.figures import theme
from interp.figures.anytime_curve import anytime_curve
from interp.figures.placement_chart import placement_chart
from interp.figures.search_chart import search_chart


def settings_table(cases=("addition", "three", "sequence"), searches=("cola", "re_polar")):
    """Cola is ahead by more than chance everywhere, re_polar nowhere; a vote keeps a gain in one case."""
    rows = []
    for i, case in enumerate(cases):
        other = 0.1 + 0.7 * i / max(1, len(cases) - 1)
        for j, search in enumerate(searches):
            gap = 0.12 if j == 0 else 0.0
            rows.append(
                {
                    "case": case,
                    "search": search,
                    "reach": other + gap,
                    "reach_other": other,
                    "low": -gap - 0.08,
                    "high": -gap + 0.08,
                    "margin": 0.1,
                    "deployed": 0.3 + 0.05 * i,
                    "blind": 0.3 + 0.05 * i + (0.2 if i == 0 else -0.1),
                    "blind_low": 0.1 if i == 0 else -0.2,
                    "blind_other": 0.25,
                    "blind_other_low": -0.3,
                }
            )
    return pl.DataFrame(rows)


def points(figure, name, axis):
    """Place and fill of each point of a probe in a panel."""
    (found,) = [t for t in figure.data if t.mode == "markers" and t.name == name and t.xaxis == axis]
    return list(zip(found.x, found.y, found.marker.color, strict=True))


def test_a_point_stands_at_both_reaches_and_is_filled_if_ahead_by_more_than_chance():
    table = settings_table()
    figure = search_chart(table)
    for search, filled in (("cola", True), ("re_polar", False)):
        rows = table.filter(search=search)
        found = points(figure, f"{search} (oracle)", "x")
        assert [(x, y) for x, y, _ in found] == rows.select("reach_other", "reach").rows()
        assert {colour != theme.PAPER for _, _, colour in found} == {filled}


def test_below_the_blind_pick_stands_over_the_deployed_score():
    table = settings_table()
    figure = search_chart(table)
    rows = table.filter(search="cola")
    found = points(figure, "cola (oracle)", "x2")
    assert [(x, y) for x, y, _ in found] == rows.select("deployed", "blind").rows()
    assert [colour != theme.PAPER for _, _, colour in found] == [True, False, False]
    found = points(figure, "random routes", "x2")
    assert [(x, y) for x, y, _ in found] == rows.select("deployed", "blind_other").rows()
    assert all(colour == theme.PAPER for _, _, colour in found)


def test_each_search_is_once_in_the_legend_with_a_mark_of_its_own():
    figure = search_chart(settings_table(searches=("cola", "re_polar", "dr_llm_walk", "greedy")))
    shown = [t for t in figure.data if t.mode == "markers" and t.showlegend]
    assert [t.name for t in shown] == [
        *(f"{name} (oracle)" for name in ("cola", "re_polar", "dr_llm_walk", "greedy")),
        "random routes",
    ]
    assert len({(t.marker.symbol, t.marker.line.color) for t in shown}) == 5


def test_the_band_is_the_margin_above_the_diagonal():
    (band,) = [t for t in search_chart(settings_table()).data if t.name == "margin"]
    assert [y - x for x, y in zip(band.x, band.y, strict=True)] == pytest.approx([0, 0, 0.1, 0.1])


def test_the_title_counts_what_the_intervals_say():
    table = settings_table()
    assert search_chart(table).layout.title.text == (
        "Random is no worse in 3 of 6 settings, search is ahead in 3"
    )
    one = table.head(1).with_columns(low=pl.lit(-0.3), high=pl.lit(0.1))
    assert search_chart(one).layout.title.text == "Random is no worse in 0 of 1 setting, search is ahead in 0"


def test_few_cases_are_named_apart_and_many_are_not():
    figure = search_chart(settings_table())
    names = [a for a in figure.layout.annotations if a.showarrow]
    assert sorted(a.text for a in names) == sorted(["addition", "three", "sequence"] * 2)
    for axis in ("x", "x2"):
        places = sorted(a.ax for a in names if a.xref == axis)
        assert all(b - a > 0.15 for a, b in pairwise(places))
    many = search_chart(settings_table(cases=tuple(f"case {i}" for i in range(12))))
    assert not [a for a in many.layout.annotations if a.showarrow]


def test_a_setting_whose_pick_is_not_known_is_drawn_open():
    table = settings_table().with_columns(blind_low=pl.lit(None, dtype=pl.Float64))
    assert {c for _, _, c in points(search_chart(table), "cola (oracle)", "x2")} == {theme.PAPER}


def anytime_table(shares):
    """A table of reach that grows by a share at each multiple; a probe is its share, and whether it sees."""
    rows = [
        {"probe": name, "multiple": m, "reach": 1 - (1 - share) ** (m - 1), "sees_verdicts": sees}
        for name, (share, sees) in shares.items()
        for m in range(1, 13)
    ]
    return pl.DataFrame(rows)


PROBES = {"random_routes": (0.08, False), "cola": (0.1, True), "cola:reward=constant": (0.09, False)}


def test_lines_are_those_of_the_table_and_oracles_are_solid():
    table = anytime_table(PROBES)
    figure = anytime_curve(table.sample(fraction=1.0, shuffle=True, seed=1), deployed=0.4, n_questions=48)
    lines = {t.name: t for t in figure.data}
    for name, (_, sees) in PROBES.items():
        rows = table.filter(probe=name)
        assert list(lines[name].x) == rows["multiple"].to_list()
        assert list(lines[name].y) == rows["reach"].to_list()
        assert lines[name].line.dash == ("solid" if sees else "dash")
        assert (lines[name].line.color == theme.SOFT_INK) == (not sees)
    assert set(lines["deployed"].y) == {0.4}


def test_each_line_is_named_at_its_end_without_crowding():
    figure = anytime_curve(anytime_table(PROBES), deployed=0.4, n_questions=48)
    labels = [(a.text, a.y) for a in figure.layout.annotations]
    end = 1 - 0.9**11
    assert f"cola (oracle) {end:.2f}" in [text for text, _ in labels]
    assert "deployed 0.40" in [text for text, _ in labels]
    heights = sorted(y for _, y in labels)
    assert all((b - a) * 380 / 1.06 >= 16 for a, b in pairwise(heights))


@pytest.mark.parametrize(
    ("probes", "title"),
    [
        (PROBES, "The best search reaches 0.69, the best of those that know no answer 0.65"),
        ({"cola": (0.1, True)}, "cola reaches 0.69"),
    ],
)
def test_the_title_sets_the_best_search_against_the_best_that_knows_nothing(probes, title):
    assert anytime_curve(anytime_table(probes), deployed=0.4, n_questions=1).layout.title.text == title


def placement_table(n_layers=6):
    return pl.DataFrame(
        [
            {"probe": name, "layer": i, "skipped": (i + j) / 20, "repeated": j / 7}
            for j, name in enumerate(("cola", "cola:reward=constant"))
            for i in range(n_layers)
        ]
    )


def test_the_search_is_in_bars_and_its_null_a_line():
    table = placement_table()
    figure = placement_chart(table.reverse(), search="cola", null="cola:reward=constant")
    assert [(t.type, t.name) for t in figure.data] == [
        ("bar", "cola"),
        ("scatter", "cola:reward=constant"),
    ] * 2
    for trace, kind in zip(figure.data, ("skipped", "skipped", "repeated", "repeated"), strict=True):
        rows = table.filter(probe=trace.name)
        assert list(trace.x) == rows["layer"].to_list()
        assert list(trace.y) == rows[kind].to_list()
    assert [t.showlegend for t in figure.data] == [True, True, False, False]


def test_what_has_no_row_is_refused():
    with pytest.raises(BadInput, match="table of settings has no row"):
        search_chart(settings_table().clear())
    with pytest.raises(BadInput, match="layer-tokens has no row"):
        anytime_curve(anytime_table(PROBES).clear(), deployed=0.1, n_questions=1)
    with pytest.raises(BadInput, match="placement of 'walk' has no row"):
        placement_chart(placement_table(), search="cola", null="walk")


def test_hostile_names_are_shown_as_they_are():
    shown = theme.label(tables.HOSTILE)
    assert "<" not in shown
    chart = search_chart(settings_table(cases=(tables.HOSTILE,), searches=(tables.HOSTILE,)))
    curve = anytime_curve(anytime_table({tables.HOSTILE: (0.1, True)}), deployed=0.2, n_questions=3)
    placed = placement_table().with_columns(probe=pl.lit(tables.HOSTILE))
    bars = placement_chart(placed, search=tables.HOSTILE, null=tables.HOSTILE)
    for figure in (chart, curve, bars):
        assert "<script" not in figure.to_json().replace("\\u003c", "<")


def test_every_colour_has_its_dark_one():
    figures = (
        search_chart(settings_table(searches=("a", "b", "c", "d"))),
        anytime_curve(anytime_table(PROBES), deployed=0.4, n_questions=48),
        placement_chart(placement_table(), search="cola", null="cola:reward=constant"),
    )
    for figure in figures:
        for trace in figure.data:
            named = [trace.marker.color, getattr(getattr(trace, "line", None), "color", None)]
            colours = {c for value in named if value for c in ((value,) if isinstance(value, str) else value)}
            assert colours <= set(theme.DARK), trace.name
        assert not math.isnan(figure.layout.height)
