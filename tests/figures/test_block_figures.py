"""The two pictures of the repair table: the ranking, and repair against retention."""

import math

import polars as pl
import pytest
import synthetic_tables as tables

from interp.figures import theme
from interp.figures.block_ranking import block_ranking
from interp.figures.repair_against_retention import repair_against_retention


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def texts(figure):
    return [a.text for a in figure.layout.annotations]


def ranked_layers(figure):
    return [int(text) for text in figure.layout.yaxis.ticktext]


def test_rows_stand_in_the_order_of_repair_with_their_values():
    repair = tables.repair_table()
    figure = block_ranking(repair.sort("layer"))
    assert ranked_layers(figure) == repair["layer"].to_list()
    for name in ("repair", "retention", "net_gain"):
        assert list(trace(figure, name).x) == repair[name].to_list()
        assert list(trace(figure, name).y) == list(range(30))
    assert ranked_layers(figure)[:2] == [2, 14]


def test_rank_runs_downwards_and_fractions_from_0_to_1():
    figure = block_ranking(tables.repair_table())
    top, bottom = figure.layout.yaxis.range[1], figure.layout.yaxis.range[0]
    assert (top < 0, bottom > 29) == (True, True)
    for axis in (figure.layout.xaxis, figure.layout.xaxis2):
        assert axis.range[0] <= 0
        assert 1 <= axis.range[1] < 1.1
    gains = figure.layout.xaxis3.range
    assert gains[0] == -gains[1] < tables.repair_table()["net_gain"].min()


def test_whiskers_are_the_intervals_of_their_row():
    repair = tables.repair_table()
    figure = block_ranking(repair)
    for name in ("repair", "retention"):
        drawn = {}
        for lines in (t for t in figure.data if t.name == f"{name}, whiskers"):
            for start in range(0, len(lines.x), 3):
                assert lines.y[start] == lines.y[start + 1]
                assert (lines.x[start + 2], lines.y[start + 2]) == (None, None)
                drawn[lines.y[start]] = (lines.x[start], lines.x[start + 1])
        expected = zip(repair[f"{name}_low"], repair[f"{name}_high"], strict=True)
        assert drawn == dict(enumerate(expected))


def test_the_two_blocks_are_marked_in_their_own_colours_with_labels():
    figure = block_ranking(tables.repair_table())
    marks = {a.text: (a.y, a.font.color) for a in figure.layout.annotations}
    assert marks["<b>repairs most</b>"] == (0, theme.REPAIRS_MOST)
    assert marks["<b>gains most</b>"] == (1, theme.GAINS_MOST)
    assert "+0.27" in texts(figure)
    assert list(trace(figure, "repair").marker.color[:3]) == [theme.REPAIRS_MOST, theme.GAINS_MOST, theme.DOT]
    assert figure.layout.title.text == "By repair MLP 2 comes first, by net gain MLP 14"


def test_one_block_may_be_both():
    repair = tables.repair_table().filter(pl.col("layer") != 2)
    figure = block_ranking(repair)
    assert "<b>repairs and gains most</b>" in texts(figure)
    assert theme.REPAIRS_MOST not in trace(figure, "repair").marker.color


def test_a_block_that_loses_least_is_not_said_to_gain():
    repair = tables.repair_table().with_columns(net_gain=pl.col("net_gain") - 1)
    assert "<b>gains most</b>" not in texts(block_ranking(repair))
    assert "<b>loses least</b>" in texts(block_ranking(repair))
    assert any("loses least" in text for text in texts(repair_against_retention(repair)))


def test_of_many_blocks_the_first_40_are_shown():
    assert len(ranked_layers(block_ranking(tables.repair_table(40)))) == 40
    figure = block_ranking(tables.repair_table(64))
    assert len(ranked_layers(figure)) == 40
    assert "The first 40 of 64 blocks" in figure.layout.title.subtitle.text


def test_the_block_that_gains_most_is_shown_even_from_below_the_cut():
    figure = block_ranking(tables.repair_table(), n_top=1)
    assert ranked_layers(figure) == [2, 14]
    repair = tables.repair_table().with_columns(
        net_gain=pl.when(pl.col("layer") == 26).then(0.9).otherwise(pl.col("net_gain"))
    )
    assert ranked_layers(block_ranking(repair, n_top=3)) == [2, 14, 26]


def test_dots_lie_at_retention_and_repair_with_their_number():
    repair = tables.repair_table()
    figure = repair_against_retention(repair)
    found = {
        custom[0]: (x, y) for t in figure.data for x, y, custom in zip(t.x, t.y, t.customdata, strict=True)
    }
    assert found == {r["layer"]: (r["retention"], r["repair"]) for r in repair.iter_rows(named=True)}
    written = {int(text) for t in figure.data for text in t.text if text}
    assert {2, 14, 12, 0, 9} <= written


def test_the_trap_is_written_at_its_dot():
    figure = repair_against_retention(tables.repair_table())
    assert "<b>MLP 2 repairs most</b><br>repairs 0.97 but keeps 0.37" in texts(figure)
    assert "<b>MLP 14 gains most</b><br>repairs 0.75 and keeps 0.95" in texts(figure)
    assert figure.layout.title.text == "MLP 2 repairs most, but MLP 14 gains most"


@pytest.mark.parametrize("totals", [(80, 120), (120, 80), (50, 50)])
def test_on_the_line_as_many_answers_are_repaired_as_broken(totals):
    failures, successes = totals
    line = trace(repair_against_retention(tables.repair_table(), totals=totals), "break-even")
    for retention, repair in zip(line.x, line.y, strict=True):
        assert 0 <= retention <= 1
        assert 0 <= repair <= 1
        assert math.isclose(repair * failures, (1 - retention) * successes, abs_tol=1e-9)
    assert line.y[1] > 0


def test_without_totals_there_is_no_line():
    assert all(t.name != "break-even" for t in repair_against_retention(tables.repair_table()).data)


def test_a_block_without_successes_is_drawn_without_a_retention():
    repair = tables.repair_table().with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("retention", "retention_low", "retention_high")
    )
    assert list(trace(block_ranking(repair), "retention").x) == [None] * 30
    assert not any(text.startswith("<b>MLP") for text in texts(repair_against_retention(repair)))


@pytest.mark.parametrize("crowd", [[0.0, 0.06, 0.6, 0.97], [0.3, 0.5, 0.75, 0.9], []])
def test_the_line_is_explained_where_no_dot_lies(crowd):
    repair = tables.repair_table().with_columns(pl.lit(0.8).alias("retention"))
    at_left = list(range(3, 3 + len(crowd)))
    for layer, height in zip(at_left, crowd, strict=True):
        here = pl.col("layer") == layer
        repair = repair.with_columns(
            repair=pl.when(here).then(height).otherwise("repair"),
            retention=pl.when(here).then(0.1).otherwise("retention"),
        )
    figure = repair_against_retention(repair, totals=tables.TOTALS)
    note = next(a for a in figure.layout.annotations if a.text.startswith("Below the dotted line"))
    assert not any(note.y - 0.02 < height < note.y + 0.13 for height in crowd)
    assert note.y + 0.15 < 1
