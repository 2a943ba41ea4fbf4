"""The repair table, the grid behind it and the localization, against planted sweeps."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from silencing_log import attempt, comparisons, failure_set, other, planted_sweep, random_sweep, sums, sweep

from interp.errors import BadFailureSet, BadInput
from interp.localizers.localization import Share
from interp.localizers.locate import localize_repair
from interp.localizers.outcomes import outcome_matrix
from interp.localizers.repair import COLUMNS, repair_table
from interp.localizers.running import RunningRepair
from interp.question import FailureSet
from interp.stats import mover, wilson

QUESTIONS = comparisons(100)
ROWS = planted_sweep(QUESTIONS)
FAILURES = failure_set(ROWS)


@pytest.fixture(scope="module")
def table():
    return repair_table(ROWS, QUESTIONS, FAILURES)


def test_columns_and_types(table):
    assert table.columns == list(COLUMNS)
    names = (
        "layer site n_failures n_repaired repair repair_low repair_high n_successes n_kept retention "
        "retention_low retention_high net_gain accuracy_after repair_first_half repair_second_half "
        "net_gain_first_half net_gain_second_half answer_before answer_share_before answer_after "
        "answer_share_after position_before position_share_before position_after position_share_after "
        "n_unreadable_before n_unreadable_after"
    )
    assert " ".join(table.columns) == names
    assert table.schema["layer"] == pl.Int64
    assert table.schema["position_after"] == pl.Int64
    assert table.schema["repair"] == pl.Float64
    assert table.schema["answer_after"] == pl.String
    assert len(table) == 20


def test_numbers_counted_by_hand(table):
    # Of 100 questions 40 fail (first is right, second given); block 14 mends 30 of them and breaks 3 of 60.
    assert (len(FAILURES.failures), len(FAILURES.successes)) == (40, 60)
    row = table.row(by_predicate=pl.col("layer") == 14, named=True)
    assert row["site"] == "L14.mlp_out"
    assert (row["n_failures"], row["n_repaired"], row["repair"]) == (40, 30, 0.75)
    assert (row["repair_low"], row["repair_high"]) == wilson(30, 40)
    assert (row["n_successes"], row["n_kept"], row["retention"]) == (60, 57, 0.95)
    assert (row["retention_low"], row["retention_high"]) == wilson(57, 60)
    assert row["net_gain"] == pytest.approx(0.27)
    assert row["accuracy_after"] == pytest.approx(0.87)
    trap = table.row(0, named=True)
    assert (trap["layer"], trap["repair"], trap["retention"]) == (2, 1.0, 0.25)
    assert trap["accuracy_after"] == pytest.approx(0.55)
    assert (trap["position_before"], trap["position_share_before"]) == (1, 0.9)
    assert (trap["position_after"], trap["position_share_after"]) == (0, 0.95)


def test_ranking_is_by_repair_then_net_gain_then_layer():
    questions = sums(20)
    failing = {q.id for q in questions[:10]}

    def answer(question, block):
        if question.id in failing:
            return question.gold[0] if block in (1, 2, 3) else other(question)
        return other(question) if block == 1 else question.gold[0]

    rows = sweep(questions, 5, answer)
    assert repair_table(rows, questions, failure_set(rows))["layer"].to_list() == [2, 3, 1, 0, 4]


def test_halves_add_up(table):
    outcomes = outcome_matrix(ROWS, FAILURES)
    n_first = int(outcomes.failure_in_first.sum())
    for row in table.iter_rows(named=True):
        whole = row["repair_first_half"] * n_first + row["repair_second_half"] * (40 - n_first)
        assert whole == pytest.approx(row["n_repaired"])
        mean = (row["net_gain_first_half"] + row["net_gain_second_half"]) / 2
        assert mean == pytest.approx(row["net_gain"], abs=0.02)
    assert outcomes.failure_in_first.sum() == 20
    assert outcomes.success_in_first.sum() == 30


def test_rows_in_any_order_give_the_same_table(table):
    shuffled = [ROWS[i] for i in np.random.default_rng(0).permutation(len(ROWS))]
    assert repair_table(shuffled, QUESTIONS, FAILURES).equals(table)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_table_is_a_plain_count(seed, n_blocks):
    questions = comparisons(14)
    rows = random_sweep(questions, n_blocks, seed=seed, failing=0.5, changing=0.4)
    failures = failure_set(rows)
    if not failures.failures or not failures.successes:
        return
    table = repair_table(rows, questions, failures)
    for row in table.iter_rows(named=True):
        after = {r.question: r for r in rows if r.draw == row["layer"] + 1}
        assert row["n_repaired"] == sum(after[i].outcome == "right" for i in failures.failures)
        assert row["n_kept"] == sum(after[i].outcome == "right" for i in failures.successes)
        right = sum(r.outcome == "right" for r in after.values())
        assert row["accuracy_after"] == pytest.approx(right / 14)
    assert table["repair"].is_sorted(descending=True)


def test_a_sample_is_scaled_to_all_questions():
    sampled = replace(FAILURES, failures=FAILURES.failures[:10], successes=FAILURES.successes[:10])
    for row in repair_table(ROWS, QUESTIONS, sampled).iter_rows(named=True):
        expected = row["repair"] * 0.4 - (1 - row["retention"]) * 0.6
        assert row["net_gain"] == pytest.approx(expected)
        assert row["accuracy_after"] == pytest.approx(0.6 + expected)
        assert row["n_failures"] == 10


def test_other_probes_and_questions_are_passed_over(table):
    extra = [replace(ROWS[0], probe="deployed"), attempt(sums(1)[0], 1, ("L3.mlp_out*0",), "2")]
    assert repair_table([*ROWS, *extra], QUESTIONS, FAILURES).equals(table)


def test_mean_ablation_scopes_and_deployed_interventions_are_read():
    questions = sums(12)
    lines = ("L0.mlp_out=mean:ab12", "L1.mlp_out*0@prompt")
    rows = []
    for i, q in enumerate(questions):
        wrong = other(q) if i < 6 else q.gold[0]
        rows.append(attempt(q, 0, ("L5.attn_out*0.5",), wrong))
        rows.append(attempt(q, 1, ("L5.attn_out*0.5", lines[0]), wrong))
        rows.append(attempt(q, 2, ("L5.attn_out*0.5", lines[1]), q.gold[0]))
    table = repair_table(rows, questions, failure_set(rows))
    assert table.select("layer", "repair").rows() == [(1, 1.0), (0, 0.0)]


def test_unreadable_answers_count_in_every_denominator():
    questions = comparisons(20)

    def answer(question, block):
        if block == 1 and question in questions[:15]:
            return None
        return question.candidates[1]

    rows = sweep(questions, 2, answer)
    row = repair_table(rows, questions, failure_set(rows)).row(by_predicate=pl.col("layer") == 1, named=True)
    assert (row["n_unreadable_before"], row["n_unreadable_after"]) == (0, 15)
    assert row["position_share_after"] == 0.25
    assert row["answer_share_after"] == 0.05
    assert row["answer_after"] == min(q.candidates[1] for q in questions[15:])


def test_positions_are_null_without_candidates_and_candidates_are_canonical():
    rows = sweep(sums(10), 1, lambda q, _: other(q) if q.gold[0] < "15" else q.gold[0])
    row = repair_table(rows, sums(10), failure_set(rows)).row(0, named=True)
    names = ("position_before", "position_share_before", "position_after", "position_share_after")
    assert [row[name] for name in names] == [None] * 4
    spelled = [replace(q, candidates=tuple(f"0{c}.0" for c in q.candidates)) for q in QUESTIONS]
    assert repair_table(ROWS, spelled, FAILURES)["position_share_before"][0] == 0.9


def test_unstable_questions_are_counted_by_rule():
    questions = sums(10)
    rows = sweep(questions, 1, lambda q, _: None if q.gold[0] in ("2", "4") else q.gold[0])
    deployed = FailureSet("unreadable", 0, ("sum/1", "sum/2", "sum/3"), ("sum/4", "sum/5"), 3, 7, 10)
    assert outcome_matrix(rows, deployed).n_unstable == 1
    assert outcome_matrix(rows, replace(deployed, rule="wrong")).n_unstable == 3
    assert outcome_matrix(rows, replace(deployed, rule="not-right")).n_unstable == 1
    assert outcome_matrix(rows, replace(deployed, successes=("sum/1", "sum/5"))).n_unstable == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no silencing attempt"),
        (ROWS[1:], "with nothing silenced"),
        (ROWS[:-1], "1 of 2100 attempts are missing.*L19.mlp_out"),
        ([*ROWS, ROWS[1]], "L0.mlp_out is silenced twice"),
        ([*ROWS, replace(ROWS[0], draw=30)], "silences nothing"),
        ([*ROWS, replace(ROWS[1], draw=30, interventions=("L0.mlp_out*0", "L1.mlp_out*0"))], "must add one"),
    ],
)
def test_incomplete_or_odd_sweeps_are_refused(rows, message):
    with pytest.raises(BadInput, match=message):
        repair_table(rows, QUESTIONS, FAILURES)


def test_failure_sets_that_show_nothing_are_refused():
    with pytest.raises(BadFailureSet, match="at least 1 failure"):
        repair_table(ROWS, QUESTIONS, replace(FAILURES, failures=()))
    with pytest.raises(BadFailureSet, match="Without a success"):
        repair_table(ROWS, QUESTIONS, replace(FAILURES, successes=()))
    with pytest.raises(BadFailureSet, match="at least 2 failures"):
        localize_repair(ROWS, QUESTIONS, replace(FAILURES, failures=FAILURES.failures[:1]))
    with pytest.raises(BadInput, match="not among the 50 questions"):
        repair_table(ROWS, QUESTIONS[:50], FAILURES)


def running(rows) -> RunningRepair:
    counter = RunningRepair()
    counter.add(rows)
    return counter


def test_running_repair_follows_the_log():
    assert running([]).best is None
    assert str(running([row for row in ROWS if row.draw == 0])) == ""
    assert running(ROWS).best == (2, 40, 40)
    first = [row for row in ROWS if row.question == FAILURES.failures[0]]
    assert running(first[:3]).best == (0, 0, 1)
    assert running(first[:4]).best == (2, 1, 1)
    assert str(running(first[:4])) == "block 2 repairs 1 of 1 so far"


def test_localization_numbers_match_the_table(table):
    found = localize_repair(ROWS, QUESTIONS, FAILURES, n_permutations=199)
    assert (found.best_repair.layer, found.best_net_gain.layer) == (2, 14)
    assert found.best_net_gain.repair == Share(30, 40)
    low, high = mover((0.75, 0.95), (wilson(30, 40), wilson(57, 60)), (0.4, 0.6))
    assert found.best_net_gain.net_gain_interval == pytest.approx((low - 0.6, high - 0.6))
    assert found.held_out_net_gain.layers == (14, 14)
    assert found.held_out_net_gain.repair == Share(30, 40)
    assert found.held_out_net_gain.informedness == pytest.approx(0.70)
    assert found.held_out_net_gain.shrinkage == pytest.approx(0)
    assert found.held_out_repair.layers == (2, 2)
    row = table.row(by_predicate=pl.col("layer") == 14, named=True)
    first, second = found.held_out_net_gain.directions
    assert first.chosen_repair.value == second.held_out_repair.value == row["repair_first_half"]
    assert second.chosen_repair.value == first.held_out_repair.value == row["repair_second_half"]
    assert (found.p_max_repair, found.p_max_net_gain) == (1 / 200, 1 / 200)
    assert (found.n_unstable, found.n_blocks, found.accuracy_before) == (0, 20, 0.6)
    assert found.two_options


def test_localization_is_json_and_repeatable():
    a, b = (localize_repair(ROWS, QUESTIONS, FAILURES, n_permutations=99, seed=4) for _ in range(2))
    text = json.dumps(a.to_json(), allow_nan=False)
    assert text == json.dumps(b.to_json(), allow_nan=False)
    value = json.loads(text)
    assert value["finding"] == "repairs"
    assert value["sentences"] == list(a.sentences)
    assert value["best_repair"]["repair"]["value"] == 1.0
    assert value["failure_set_hash"] == FAILURES.hash


def test_a_half_without_successes_is_null_not_wrong():
    few = replace(FAILURES, successes=FAILURES.successes[:1], failures=FAILURES.failures[:2])
    table = repair_table(ROWS, QUESTIONS, few)
    assert table["net_gain_first_half"].null_count() == 20
    assert table["net_gain_second_half"].null_count() == 0
    found = localize_repair(ROWS, QUESTIONS, few, n_permutations=19)
    assert math.isnan(found.held_out_repair.directions[1].held_out_retention.value)
    assert found.held_out_repair.retention.n == 1
    json.dumps(found.to_json(), allow_nan=False)


def test_winners_curse():
    """Where no block is special the naive best is far above what it repairs on held-out failures."""
    shrinkage, held_out = [], []
    for seed in range(30):
        rows = random_sweep(QUESTIONS[:60], 20, seed=seed)
        found = localize_repair(rows, QUESTIONS[:60], failure_set(rows), n_permutations=1)
        shrinkage.append(found.held_out_repair.shrinkage)
        held_out.append(found.held_out_repair.repair.value)
    assert np.mean(shrinkage) > 0.12
    assert np.mean(held_out) == pytest.approx(0.2, abs=4 * np.std(held_out) / math.sqrt(30))


def test_equal_blocks_are_told_apart_by_the_other_measure_in_each_half():
    questions = sums(40)
    failing = {q.id for q in questions[:20]}
    base = failure_set(sweep(questions, 1, lambda q, _: other(q) if q.id in failing else q.gold[0]))
    few = {i for half in base.halves for ids in (base.failures, base.successes) for i in [*half & {*ids}][:5]}

    def answer(question, block):
        right = question.id not in failing
        turns = {1: question.id in few, 2: question.id in few and not right}.get(block, False)
        return question.gold[0] if right ^ turns else other(question)

    def layers(n_blocks, name):
        found = localize_repair(sweep(questions, n_blocks, answer), questions, base, n_permutations=9)
        return getattr(found, name).layers

    # Blocks 1 and 2 repair the same, block 1 breaks as many; blocks 0 and 1 gain nothing, 1 repairs some.
    assert layers(3, "held_out_repair") == (2, 2)
    assert layers(2, "held_out_net_gain") == (1, 1)
