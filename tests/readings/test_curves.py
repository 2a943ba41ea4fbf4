"""Reach curves against enumeration of every subset of the attempts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_audit import PROBE, SWEEP, Made, made, over_subsets, shuffled, voted

from interp.errors import BadInput
from interp.means import difference_intervals, fraction_intervals
from interp.question import Kind, Question
from interp.readings.clusters import clusters_of
from interp.readings.curves import budgets, reach_table
from interp.readings.decoys import N_PARTNERS, decoy_targets
from interp.readings.probed import attempts_of


def curve(audit: Made, probe=PROBE) -> pl.DataFrame:
    return reach_table(
        attempts_of(audit.table, probe, audit.ids),
        probe,
        audit.questions,
        targets=decoy_targets(audit.questions),
        clusters=clusters_of(audit.questions),
    )


def mean(audit: Made, probe, k: int, value) -> float:
    return float(np.mean([over_subsets(audit.of(probe.name, i), k, value) for i in audit.ids]))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([PROBE, SWEEP]))
def test_every_column_is_a_mean_over_all_subsets(seed, candidates, probe):
    audit = made(seed, candidates=candidates)
    table = curve(audit, probe)
    assert table["k"].to_list() == [1, 2, 3, 4, 5]
    right = lambda rows: any(row.outcome == "right" for row in rows)  # noqa: E731
    targets: dict[str, list[str]] = {}
    for i, target in decoy_targets(audit.questions).iter_rows():
        targets.setdefault(i, []).append(target)
    for row in table.iter_rows(named=True):
        k = row["k"]
        assert row["reach"] == pytest.approx(mean(audit, probe, k, right))
        everyone = mean(audit, probe, k, lambda rows: all(r.outcome == "right" for r in rows))
        assert row["pass_hat"] == pytest.approx(everyone)
        if k in (1, 2, 4, 5):
            assert row["majority"] == pytest.approx(mean(audit, probe, k, voted))
        else:
            assert row["majority"] is None
        decoys = [
            np.mean(
                [
                    over_subsets(
                        audit.of(probe.name, i), k, lambda rows, t=t: any(r.answer == t for r in rows)
                    )
                    for t in targets[i]
                ]
            )
            for i in audit.ids
        ]
        assert row["decoy"] == pytest.approx(float(np.mean(decoys)))
        assert row["excess"] == pytest.approx(row["reach"] - row["decoy"])
        assert (row["floor"] is None) == (not candidates)
        if candidates:
            assert row["floor"] == pytest.approx(1 - (2 / 3) ** k)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_reach_grows_and_stands_between_its_ends_whatever_the_order_of_rows(seed):
    audit = made(seed)
    table = curve(audit)
    assert table["reach"].to_list() == sorted(table["reach"])
    assert table["pass_hat"].to_list() == sorted(table["pass_hat"], reverse=True)
    for low, value, high in table.select("reach_low", "reach", "reach_high").iter_rows():
        assert 0 <= low <= value + 1e-9
        assert value - 1e-9 <= high <= 1
    assert curve(shuffled(audit)).equals(table)


def test_two_halves_together_are_the_whole():
    audit = made(3, n_questions=12)
    whole = curve(audit)
    halves = []
    for part in (audit.questions[:5], audit.questions[5:]):
        ids = {question.id for question in part}
        halves.append((len(part), curve(Made(part, tuple(r for r in audit.rows if r.question in ids)))))
    for name in ("reach", "pass_hat"):
        merged = sum(n * table[name] for n, table in halves) / 12
        assert merged.to_list() == pytest.approx(whole[name].to_list())


def test_intervals_are_those_of_whole_clusters():
    audit = made(5)
    attempts = attempts_of(audit.table, PROBE, audit.ids)
    by_subject = clusters_of(audit.questions, "subject")
    targets = decoy_targets(audit.questions)
    table = reach_table(attempts, PROBE, audit.questions, targets=targets, clusters=by_subject)
    reach = np.array([[any(r.outcome == "right" for r in audit.of("sampling", i))] for i in audit.ids], float)
    low, high = fraction_intervals(reach, clusters=by_subject.labels)[0]
    assert (table["reach_low"][-1], table["reach_high"][-1]) == (pytest.approx(low), pytest.approx(high))
    assert (low, high) != pytest.approx(fraction_intervals(reach)[0])


def test_a_probe_that_is_not_complete_is_refused_by_name():
    audit = made(1)
    part = Made(audit.questions, tuple(r for r in audit.rows if (r.probe, r.question) != ("sampling", "q03")))
    with pytest.raises(BadInput, match=r"1 of 12 questions have no attempt, the first is 'q03'"):
        attempts_of(part.table, PROBE, part.ids)


def test_unequal_numbers_of_attempts_are_read_up_to_the_smallest():
    audit = made(2)
    rows = tuple(r for r in audit.rows if (r.probe, r.question, r.draw) != ("sampling", "q01", 4))
    assert curve(Made(audit.questions, rows))["k"].max() == 4


def test_large_budgets_are_read_at_doublings_and_at_the_end():
    assert budgets(5) == [1, 2, 3, 4, 5]
    assert budgets(300)[-4:] == [64, 128, 256, 300]
    assert len(budgets(300)) == 67


def test_wrong_targets_of_choices_candidates_and_open_questions():
    choice = Question("c", "?", Kind.CHOICE, ("B",), choices=("x", "y", "z"), labels=("A", "B", "C"))
    named = Question("n", "Which is smaller, 3.0 or 8?", Kind.NUMBER, ("3",), candidates=("3.0", "8"))
    many = [Question(f"o{i}", f"{i}?", Kind.NUMBER, (str(i), f"{i}.5"), subject="s") for i in range(20)]
    lonely = Question("t", "Who?", Kind.TEXT, ("Ann",))
    targets = decoy_targets([choice, named, *many, lonely])
    by_id = {i: rows["target"].to_list() for (i,), rows in targets.group_by("question", maintain_order=True)}
    assert by_id["c"] == ["A", "C"]
    assert by_id["n"] == ["8"]
    assert "t" not in by_id, "no other question of its kind, so no wrong target"
    for i in range(20):
        found = by_id[f"o{i}"]
        assert len(set(found)) == N_PARTNERS
        assert not {str(i), f"{i}.5"} & set(found)


def test_difference_intervals_of_excess_share_the_resamples():
    audit = made(4, candidates=True)
    table = curve(audit)
    values = np.array(
        [
            [
                float(any(r.outcome == "right" for r in audit.of("sampling", i)))
                - np.mean([any(r.answer == t for r in audit.of("sampling", i)) for t in wrong])
            ]
            for i, wrong in (
                (i, decoy_targets(audit.questions).filter(question=i)["target"].to_list()) for i in audit.ids
            )
        ]
    )
    low, high = difference_intervals(values)[0]
    assert (table["excess_low"][-1], table["excess_high"][-1]) == (pytest.approx(low), pytest.approx(high))
