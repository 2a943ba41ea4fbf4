"""What chance does, against hand counts."""

from dataclasses import replace

import numpy as np
import pytest
from silencing_log import comparisons, failure_set, other, planted_sweep, random_sweep, sums, sweep

from interp.localizers.answers import answer_keys, answer_shift
from interp.localizers.chance import (
    Constant,
    constant_answers,
    constant_positions,
    measure_nulls,
    random_block,
)
from interp.localizers.outcomes import outcome_matrix
from interp.question import FailureSet, Kind, Question

YES_NO = [Question(f"q{i}", "?", Kind.TEXT, ("Yes",) if i < 6 else ("No", "none")) for i in range(10)]


def test_constant_answer_by_hand():
    # Golds: yes for q0..q5, no for q6..q9. Failures q0 q1 q2 q6, successes q3 q7 q8.
    failures = FailureSet("wrong", 0, ("q0", "q1", "q2", "q6"), ("q3", "q7", "q8"), 4, 3, 10)
    constants = constant_answers(answer_keys(YES_NO), failures)
    assert constants[0] == Constant("yes", 3 / 4, 1 / 3, 6 / 10)
    assert [c.says for c in constants[1:]] == ["no", "none"]
    assert constants[1] == Constant("no", 1 / 4, 2 / 3, 4 / 10)


def test_constant_position_by_hand():
    questions = comparisons(4)  # gold first in questions 0 and 2
    failures = FailureSet("wrong", 0, (questions[0].id, questions[1].id), (questions[2].id,), 2, 1, 4)
    assert constant_positions(answer_keys(questions), failures) == [
        Constant(0, 1 / 2, 1.0, 1 / 2),
        Constant(1, 1 / 2, 0.0, 1 / 2),
    ]
    mixed = [*questions, *sums(4)]
    assert constant_positions(answer_keys(mixed), failures)[0].accuracy == 2 / 8
    unnamed = FailureSet("wrong", 0, ("sum/1", "sum/2"), (questions[2].id,), 2, 1, 8)
    assert constant_positions(answer_keys(mixed), unnamed) == []


def test_three_candidates_and_canonical_spelling():
    question = Question("t", "?", Kind.NUMBER, ("7",), candidates=("9", "07", "7.0"))
    key = answer_keys([question])["t"]
    assert key.positions == {"9": 0, "7": 1}
    assert key.gold_positions == {1}


def test_random_block_by_hand():
    questions = sums(8)

    def answer(question, block):
        fails = questions.index(question) < 4
        if block == 1:
            return question.gold[0] if fails else other(question)
        return other(question) if fails else question.gold[0]

    rows = sweep(questions, 4, answer)
    null = random_block(outcome_matrix(rows, failure_set(rows)))
    assert null.repair == 0.25
    assert null.repair_sd == pytest.approx(0.5)
    assert null.repair_quantile == pytest.approx(0.85)
    assert null.retention == 0.75
    assert null.net_gain == pytest.approx(0.0)


def test_random_block_agrees_with_drawing_blocks():
    questions = comparisons(40)
    rows = random_sweep(questions, 12, seed=3)
    outcomes = outcome_matrix(rows, failure_set(rows))
    draws = np.random.default_rng(0).integers(0, 12, 4000)
    repairs = outcomes.failure_right.mean(axis=0)[draws]
    assert random_block(outcomes).repair == pytest.approx(repairs.mean(), abs=4 * repairs.std() / 63)


def test_net_gain_null_uses_signed_weighted_outcomes():
    questions = comparisons(100)
    rows = planted_sweep(questions)
    failures = failure_set(rows)
    outcomes = outcome_matrix(rows, failures)
    nulls = measure_nulls(outcomes, answer_keys(questions), n_permutations=99, seed=1)
    assert nulls.max_net_gain.observed == pytest.approx(0.27)
    assert nulls.max_repair.observed == 1.0
    matrix, weights = outcomes.gains()
    assert weights.sum() == pytest.approx(1)
    assert set(np.unique(matrix)) == {-1.0, 0.0, 1.0}
    assert (weights @ matrix)[2] == pytest.approx(-0.05)
    assert nulls == measure_nulls(outcomes, answer_keys(questions), n_permutations=99, seed=1)
    assert nulls.constant_accuracy == 0.5
    assert nulls.constant_position == Constant(0, 1.0, pytest.approx(10 / 60), 0.5)


def test_permutation_p_is_small_for_a_planted_block_only():
    questions = sums(60)
    rows = random_sweep(questions, 20, seed=2, changing=0.1)
    failures = failure_set(rows)
    keys = answer_keys(questions)
    assert measure_nulls(outcome_matrix(rows, failures), keys, n_permutations=199).max_repair.p > 0.05
    fixed = [
        replace(row, outcome=rows[0].outcome.RIGHT, answer=None) if row.draw == 8 else row for row in rows
    ]
    nulls = measure_nulls(outcome_matrix(fixed, failures), keys, n_permutations=199)
    assert nulls.max_repair.p == 1 / 200
    assert nulls.max_net_gain.p == 1 / 200


def test_answer_shift_by_hand():
    questions = [*comparisons(2), *sums(2)]
    keys = answer_keys(questions)
    answers = {None: ["3", "4", "2", None], 0: ["40", "41", "2", "2"]}
    place = {q.id: i for i, q in enumerate(questions)}
    rows = sweep(questions, 1, lambda q, block: answers[block][place[q.id]])
    shift = answer_shift([r for r in rows if r.draw == 0], [r for r in rows if r.draw == 1], keys)
    # comparisons(2): "3 or 40" (gold 3) and "41 or 4" (gold 4); sums(2): golds 2 and 4.
    assert (shift.answer_before, shift.answer_share_before) == ("2", 0.25)
    assert (shift.answer_after, shift.answer_share_after, shift.answer_share_gold) == ("2", 0.5, 0.25)
    assert (shift.position_before, shift.position_share_before) == (0, 0.5)
    assert (shift.position_after, shift.position_share_after, shift.position_share_gold) == (0, 0.5, 0.5)
    assert (shift.n_unreadable_before, shift.n_unreadable_after) == (1, 0)
