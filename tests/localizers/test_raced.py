"""Readings of a raced sweep: what is left is read in full, and what is held out decided nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from silencing_log import comparisons, failure_set, other, planted_sweep, sweep

from interp.errors import BadInput
from interp.figures import theme
from interp.localizers.answers import answer_keys
from interp.localizers.localization import Finding
from interp.localizers.locate import localize_raced, localize_repair
from interp.localizers.outcomes import outcome_matrix
from interp.localizers.raced import chosen_null, raced_nulls, raced_sweep
from interp.localizers.repair import COLUMNS, repair_table
from interp.localizers.running import RunningRepair
from interp.probes.race import RaceRule
from interp.probes.racing import Racing
from interp.probes.silencing import Silencing
from interp.procedure import Procedure
from interp.question import Attempt, FailureSet, Outcome, Question
from interp.report.controls import compared_rows, control_rows, fact_rows
from interp.report.rows import RACED_HEADINGS, repair_rows
from interp.site import Site

RULE = RaceRule()
QUESTIONS = comparisons(100)
FULL = planted_sweep(QUESTIONS)
FAILURES = failure_set(FULL)


def raced(rows: list[Attempt], questions: list[Question], failures: FailureSet) -> list[Attempt]:
    """The rows of a full sweep that a race asks, in the order in which it asks them."""
    n_blocks = max(row.draw for row in rows)
    by_key = {(row.question, row.draw): row for row in rows}
    ids = (*failures.failures, *failures.successes)
    probe = Racing(Silencing(Procedure(), n_blocks, ids), failures, RULE)
    history: list[Attempt] = []
    while draws := probe.propose(questions, history):
        history += [by_key[draw.question, draw.draw] for draw in draws]
    return history


ROWS = raced(FULL, QUESTIONS, FAILURES)


def flipped(rows: list[Attempt], failures: FailureSet, share: float, seed: int) -> list[Attempt]:
    """The same rows with some outcomes of the second half turned round, controls left alone."""
    rng = np.random.default_rng(seed)
    _, second = failures.halves
    turned = {Outcome.RIGHT: Outcome.WRONG, Outcome.WRONG: Outcome.RIGHT}
    return [
        replace(row, outcome=turned[row.outcome])
        if row.question in second and row.draw > 0 and rng.random() < share
        else row
        for row in rows
    ]


def test_the_race_names_the_blocks_of_the_full_sweep():
    full = localize_repair(FULL, QUESTIONS, FAILURES)
    found = localize_raced(ROWS, QUESTIONS, FAILURES, RULE)
    assert (found.best_repair, found.best_net_gain) == (full.best_repair, full.best_net_gain)
    assert (found.best_repair.layer, found.best_net_gain.layer) == (2, 14)
    assert found.repair_shift == full.repair_shift
    assert (found.finding, full.finding) == (Finding.REPAIRS, Finding.REPAIRS)
    assert found.n_blocks == full.n_blocks == 20
    assert len(ROWS) < 0.4 * len(FULL)


def test_it_says_what_was_left_out():
    found = localize_raced(ROWS, QUESTIONS, FAILURES, RULE)
    assert found.raced is not None
    assert (found.raced.n_rows, found.raced.n_rows_full) == (len(ROWS), len(FULL))
    assert found.raced.n_left + len(found.raced.dropped) == 20
    assert found.sentences[1].startswith(f"Raced: {len(found.raced.dropped)} of 20 blocks were dropped")
    assert f"{len(ROWS)} of {len(FULL)} rows" in found.sentences[1]
    assert "errs with a chance of about 0.04" in found.sentences[2]
    said = " ".join(found.sentences)
    assert "shuffled" not in said
    assert "halves choose" not in said
    assert "blocks drawn at random on the same held-out questions" in said
    value = found.to_json()["raced"]
    assert value["n_left"] == found.raced.n_left
    assert "raced" not in localize_repair(FULL, QUESTIONS, FAILURES).to_json()


def test_controls_and_facts_say_it_too():
    found = localize_raced(ROWS, QUESTIONS, FAILURES, RULE)
    controls = {control.label: control for control in control_rows(found)}
    assert found.raced is not None
    assert controls["Race"].value == f"{len(found.raced.dropped)} of 20 dropped"
    assert "left by the race" in controls["Naive maximum"].explanation
    assert "one way" in controls["Held out, chosen by repair"].explanation
    assert "Held-out repair against chance" in controls
    assert "Largest repair against chance" not in controls
    assert "standard deviation" not in controls["Random block"].explanation
    assert dict(fact_rows(found))["Left by the race"] == f"{found.raced.n_left} of 20 blocks"
    assert "both ways" not in str(controls)
    roles = [row.role for row in compared_rows(found)]
    assert "mean of all" not in roles
    full = localize_repair(FULL, QUESTIONS, FAILURES)
    assert "Race" not in [control.label for control in control_rows(full)]


def test_one_way_only_and_on_the_second_half_only():
    found = localize_raced(ROWS, QUESTIONS, FAILURES, RULE)
    full = localize_repair(FULL, QUESTIONS, FAILURES)
    for own, whole in (
        (found.held_out_repair, full.held_out_repair),
        (found.held_out_net_gain, full.held_out_net_gain),
    ):
        assert own.directions == whole.directions[:1]
        assert own.repair == own.directions[0].held_out_repair
        assert own.repair.n == found.raced.n_failures_held_out == 20
        assert own.retention.n == found.raced.n_successes_held_out == 30


@pytest.mark.parametrize("seed", range(5))
def test_what_the_second_half_says_moves_no_choice(seed):
    altered = flipped(ROWS, FAILURES, 0.3, seed)
    found = localize_raced(ROWS, QUESTIONS, FAILURES, RULE)
    other_way = localize_raced(altered, QUESTIONS, FAILURES, RULE)
    assert other_way.raced == found.raced
    assert other_way.held_out_repair.layers == found.held_out_repair.layers
    assert other_way.held_out_net_gain.layers == found.held_out_net_gain.layers
    assert other_way.held_out_repair.repair != found.held_out_repair.repair


def no_effect(seed: int, n_blocks: int = 12) -> tuple[list[Attempt], list[Question], FailureSet]:
    """Blocks without labels: each answers right with the same chance on failures and on successes."""
    rng = np.random.default_rng(seed)
    questions = comparisons(60)
    ease = {q.id: rng.random() for q in questions}
    right = {q.id: rng.random(n_blocks) < ease[q.id] for q in questions}

    def answer(question: Question, block: int | None) -> str:
        if block is None:
            return question.gold[0] if questions.index(question) % 2 else other(question)
        return question.gold[0] if right[question.id][block] else other(question)

    rows = sweep(questions, n_blocks, answer)
    failures = replace(failure_set(rows), seed=seed)
    return raced(rows, questions, failures), questions, failures


def test_p_values_are_valid_when_blocks_have_no_effect():
    p_repair, p_gain, gains = [], [], []
    for seed in range(120):
        rows, questions, failures = no_effect(seed)
        found = raced_sweep(rows, failures, RULE)
        held_out = localize_raced(rows, questions, failures, RULE)
        chosen = held_out.held_out_repair.layers[0], held_out.held_out_net_gain.layers[0]
        nulls = raced_nulls(found, answer_keys(questions), chosen, seed=seed, n_permutations=400)
        p_repair.append(nulls.max_repair.p)
        p_gain.append(nulls.max_net_gain.p)
        gains.append(held_out.held_out_repair.repair.value - nulls.random_block.repair)
    for p in (p_repair, p_gain):
        assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
        assert np.mean(np.array(p) <= 0.5) <= 0.5 + 3 * 0.5 / np.sqrt(120)
    # Chosen on the first half and measured on the second, a block without effect is a random block.
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(120)


def test_the_test_of_the_choice_counted_by_hand():
    found = raced_sweep(ROWS, FAILURES, RULE)
    ids = [i for i in FAILURES.failures if i in found.drawn][:3]
    site = Site(2, found.left.sites[0].point)
    drawn = {i: {Site(90, site.point): False, Site(91, site.point): False} for i in ids}
    null = chosen_null(
        replace(found, drawn=drawn), 2, dict.fromkeys(ids, 1 / 3), seed=0, n_permutations=20_000
    )
    # Right on all three, each of which it is with a chance of one in three: one in 27.
    assert null.observed == pytest.approx(1.0)
    assert null.p == pytest.approx(1 / 27, abs=0.005)
    assert null.mean == pytest.approx(1 / 3, abs=0.01)


def test_a_chosen_block_drawn_at_random_is_not_compared_with_itself():
    found = raced_sweep(ROWS, FAILURES, RULE)
    ids = [i for i in FAILURES.failures if i in found.drawn]
    drawn = {i: {Site(2, found.left.sites[0].point): True} for i in ids}
    null = chosen_null(replace(found, drawn=drawn), 2, dict.fromkeys(ids, 0.05), seed=0, n_permutations=50)
    assert null.p == 1.0


def test_the_table_puts_the_left_first_and_says_when_the_others_went():
    table = repair_table(ROWS, QUESTIONS, FAILURES, RULE)
    assert table.columns == [*COLUMNS, "dropped_in_round"]
    left = table.filter(pl.col("dropped_in_round").is_null())
    assert table["dropped_in_round"].to_list() == sorted(
        table["dropped_in_round"].to_list(), key=lambda number: -99 if number is None else -number
    )
    full = repair_table(FULL, QUESTIONS, FAILURES)
    assert left.drop("dropped_in_round").equals(full.filter(pl.col("layer").is_in(left["layer"].to_list())))
    assert (left["n_failures"] == 40).all()
    dropped = table.filter(pl.col("dropped_in_round").is_not_null())
    assert dropped.height == 20 - left.height > 10
    assert (dropped["n_failures"] < 40).all()
    for row in dropped.iter_rows(named=True):
        own = [r for r in ROWS if r.draw == row["layer"] + 1]
        failing = set(FAILURES.failures)
        assert row["n_failures"] + row["n_successes"] == len(own)
        assert row["n_repaired"] == sum(r.outcome == "right" for r in own if r.question in failing)


def test_a_dropped_block_is_never_marked():
    table = repair_table(ROWS, QUESTIONS, FAILURES, RULE)
    lucky = table.with_columns(
        repair=pl.when(pl.col("dropped_in_round").is_not_null()).then(1.0).otherwise("repair"),
        net_gain=pl.when(pl.col("dropped_in_round").is_not_null()).then(0.9).otherwise("net_gain"),
    )
    assert theme.standout_layers(lucky) == (2, 14)
    rows = repair_rows(lucky)
    assert {row.mark for row in rows[2:]} == {""}
    assert all(len(row.cells) == len(RACED_HEADINGS) for row in rows)
    assert rows[0].cells[0].note == "in full"
    assert rows[-1].cells[0].note == f"dropped in round {table['dropped_in_round'].min()}"


def test_a_race_that_is_not_complete_is_refused():
    for rows in (ROWS[:-1], ROWS[:200], ROWS[:5]):
        with pytest.raises(BadInput, match="not complete"):
            localize_raced(rows, QUESTIONS, FAILURES, RULE)
    with pytest.raises(BadInput, match="not complete"):
        outcome_matrix(ROWS, FAILURES)


def test_rows_in_any_order_read_the_same():
    shuffled = [ROWS[i] for i in np.random.default_rng(0).permutation(len(ROWS))]
    assert repair_table(shuffled, QUESTIONS, FAILURES, RULE).equals(
        repair_table(ROWS, QUESTIONS, FAILURES, RULE)
    )


def test_the_running_count_passes_dropped_blocks_over():
    running = RunningRepair()
    running.add(ROWS)
    assert running.best is not None
    assert running.best[0] == 2
    assert running.best[2] == 40
