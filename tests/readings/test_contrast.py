"""One probe against another: against counting by hand, and against what must hold for equal probes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.errors import BadInput
from interp.probes.probe import Probed
from interp.readings.clusters import Clusters
from interp.readings.contrast import anytime_table, contrast_table, search_pairs
from interp.readings.placement import placement_table

IDS = [f"q{i}" for i in range(8)]
ALONE = Clusters(tuple(IDS), "each question alone")
TARGETS = pl.DataFrame({"question": IDS, "target": ["9"] * 8})


def made(right: list[list[bool]], *, cost: int = 10, answers: list[list[str]] | None = None) -> pl.DataFrame:
    """Attempts whose verdicts are given, one list a question."""
    rows = [
        {
            "question": q,
            "attempt": k,
            "right": hit,
            "answer": answers[i][k] if answers else ("1" if hit else "2"),
            "n_layer_tokens": cost,
            "route": f"0-{k + 1}",
        }
        for i, (q, hits) in enumerate(zip(IDS, right, strict=True))
        for k, hit in enumerate(hits)
    ]
    return pl.DataFrame(rows)


hits = st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=8, max_size=8)


@given(hits, hits, st.integers(1, 6))
def test_a_contrast_is_what_counting_says(one, two, k):
    attempts = {"a": made(one), "b": made(two, cost=7)}
    row = contrast_table(attempts, [("a", "b", k)], margin=0.1, targets=TARGETS, clusters=ALONE).row(
        0, named=True
    )
    first = [any(row[:k]) for row in one]
    second = [any(row[:k]) for row in two]
    assert row["reach"] == pytest.approx(np.mean(first))
    assert row["reach_other"] == pytest.approx(np.mean(second))
    assert row["difference"] == pytest.approx(np.mean(second) - np.mean(first))
    assert row["only_search"] == sum(a and not b for a, b in zip(first, second, strict=True))
    assert row["only_other"] == sum(b and not a for a, b in zip(first, second, strict=True))
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["non_inferior"] == (row["low"] > -0.1)
    assert row["layer_tokens"] == pytest.approx(10 * sum(min(k, len(r)) for r in one) / 8)
    assert row["layer_tokens_other"] == pytest.approx(7 * sum(min(k, len(r)) for r in two) / 8)
    assert row["excess"] == pytest.approx(np.mean(first))  # no attempt says 9


@given(hits)
def test_equal_probes_differ_by_nothing(one):
    attempts = {"a": made(one), "b": made(one)}
    row = contrast_table(attempts, [("a", "b", 5)], margin=0.1, targets=TARGETS, clusters=ALONE).row(
        0, named=True
    )
    assert (row["difference"], row["only_search"], row["only_other"], row["p"]) == (0.0, 0, 0, 1.0)
    assert row["low"] <= 0 <= row["high"]


def test_wrong_targets_are_taken_off():
    answers = [["9", "1"]] * 4 + [["2", "9"]] * 2 + [["2", "2"]] * 2
    rows = made([[False, True]] * 4 + [[False, False]] * 4, answers=answers)
    row = contrast_table({"a": rows}, [("a", "a", 2)], margin=0.2, targets=TARGETS, clusters=ALONE)
    assert row["excess"][0] == pytest.approx(4 / 8 - 6 / 8)


def test_how_often_a_worse_probe_is_called_no_worse():
    """At a difference of exactly the margin it is about the error that is stated: 2.5 percent."""
    draw, wrong, n = np.random.default_rng(0), 0, 400
    for _ in range(n):
        u = draw.random(80)
        one, two = u < 0.7, (u < 0.4) | ((u > 0.7) & (u < 0.8))  # 0.7 and 0.5: a difference of -0.2
        ids = [f"q{i}" for i in range(80)]
        tables = {
            name: pl.DataFrame(
                {"question": ids, "attempt": 0, "right": x, "answer": "1", "n_layer_tokens": 1}
            )
            for name, x in (("a", one), ("b", two))
        }
        targets = pl.DataFrame({"question": ids, "target": ["9"] * 80})
        clusters = Clusters(tuple(ids), "each question alone")
        found = contrast_table(tables, [("a", "b", 1)], margin=0.2, targets=targets, clusters=clusters)
        wrong += bool(found["non_inferior"][0])
    assert wrong / n < 0.06


@pytest.mark.parametrize(
    ("pair", "margin", "says"),
    [
        (("a", "c", 1), 0.1, "no probe 'c' in this run; it has a"),
        (("a", "a", 0), 0.1, "got 0 and 0.1"),
        (("a", "a", 1), 1.0, "got 1 and 1.0"),
    ],
)
def test_contrasts_that_mean_nothing(pair, margin, says):
    with pytest.raises(BadInput, match=says):
        contrast_table({"a": made([[True]] * 8)}, [pair], margin=margin, targets=TARGETS, clusters=ALONE)


@given(hits, hits, st.integers(1, 6), st.integers(1, 12), st.integers(1, 12))
def test_a_budget_of_layer_tokens_counts_what_fits(one, two, k, cost, other_cost):
    deployed = pl.DataFrame({"question": IDS, "n_layer_tokens": [5] * 8})
    attempts = {"a": made(one, cost=cost), "b": made(two, cost=other_cost)}
    row = contrast_table(
        attempts, [("a", "b", k)], margin=0.1, targets=TARGETS, clusters=ALONE, deployed=deployed
    ).row(0, named=True)
    fit = k * 5 // cost, k * 5 // other_cost
    assert row["matched"] == "layer-tokens"
    assert row["reach"] == pytest.approx(np.mean([any(row[: fit[0]]) for row in one]))
    assert row["reach_other"] == pytest.approx(np.mean([any(row[: fit[1]]) for row in two]))
    assert row["layer_tokens"] <= 5 * k
    assert row["layer_tokens_other"] == pytest.approx(sum(min(fit[1], len(r)) for r in two) * other_cost / 8)
    both = anytime_table(attempts, deployed, [k])["reach"].to_list()
    assert both == pytest.approx([row["reach"], row["reach_other"]])


def test_searches_are_set_against_probes_that_see_no_verdicts():
    table = made([[True]] * 8)
    attempts = dict.fromkeys(("cola", "random", "walk"), table)
    attempts["sampling"] = table.with_columns(route=pl.lit(None, dtype=pl.String))
    probes = {
        name: Probed(name, name, "", n, sees_verdicts=name in ("cola", "walk"), ordered=True)
        for name, n in (("cola", 8), ("random", 4), ("walk", 2), ("sampling", 9))
    }
    assert search_pairs(probes, attempts) == [("cola", "random", 4), ("walk", "random", 2)]


@given(hits)
def test_reach_for_layer_tokens_counts_what_fits(right):
    deployed = pl.DataFrame({"question": IDS, "n_layer_tokens": [5] * 8})
    table = anytime_table({"a": made(right, cost=10)}, deployed, [1, 2, 4, 6, 100])
    for row in table.iter_rows(named=True):
        n = row["multiple"] * 5 // 10
        assert row["reach"] == pytest.approx(np.mean([any(r[:n]) for r in right]))
    assert table["reach"].to_list() == sorted(table["reach"].to_list())


def test_placement_counts_layers_left_out_and_run_again():
    rows = pl.DataFrame(
        {
            "question": ["q0", "q0", "q1", "q1"],
            "right": [True, False, True, True],
            "route": ["0,2", "0-2,2", "0,0-2", None],
        }
    )
    table = placement_table({"a": rows}, 3)
    assert table["skipped"].to_list() == pytest.approx([0.0, 0.25, 0.0])
    assert table["repeated"].to_list() == pytest.approx([0.5, 0.0, 0.25])
    table = placement_table({"a": rows}, 3, right=True)
    assert table["skipped"].to_list() == pytest.approx([0.0, 0.5, 0.0])
    assert table["repeated"].to_list() == pytest.approx([0.5, 0.0, 0.0])
