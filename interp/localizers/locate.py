"""Locates a failure set at the block whose silencing repairs it: ranking, cross-fitting, controls, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from interp.localizers.answers import AnswerKey, answer_keys
from interp.localizers.chance import Nulls, measure_nulls
from interp.localizers.localization import CrossFitted, Direction, Evidence, Localization, Share
from interp.localizers.outcomes import Outcomes, outcome_matrix
from interp.localizers.raced import raced_nulls, raced_sweep
from interp.localizers.repair import (
    answer_shifts,
    best_blocks,
    check_failure_set,
    measure_blocks,
    net_gain,
    repair_and_retention,
)
from interp.localizers.sentences import conclude
from interp.probes.race import RaceRule
from interp.question import Attempt, FailureSet, Question
from interp.stats import cross_fit, mover

if TYPE_CHECKING:
    from interp.localizers.outcomes import Flags

    Masks = tuple[Flags, Flags]


def localize_repair(
    attempts: Iterable[Attempt],
    questions: Sequence[Question],
    failures: FailureSet,
    *,
    seed: int = 0,
    n_permutations: int = 10_000,
    binary: bool = False,
) -> Localization:
    """Locates a failure set at the block whose silencing repairs it, with every control and the conclusion.

    `questions` are all questions of the task; `seed` is that of the permutations (the halves carry their
    own in the failure set); `binary` marks a task whose answers come from two options.

    Raises:
        BadInput: The sweep is not complete, or a question of the failure set is not among the questions.
        BadFailureSet: There are fewer than two failures, or no success.
    """
    outcomes = outcome_matrix(attempts, check_failure_set(failures, questions, least=2))
    keys = answer_keys(questions)
    nulls = measure_nulls(outcomes, keys, seed=seed, n_permutations=n_permutations)
    held_out = _held_out(outcomes, raced=False)
    two_options = binary or _all_two_options(questions, failures)
    return conclude(_evidence(outcomes, keys, held_out, nulls, two_options=two_options))


def localize_raced(
    attempts: Iterable[Attempt],
    questions: Sequence[Question],
    failures: FailureSet,
    rule: RaceRule,
    *,
    seed: int = 0,
    binary: bool = False,
) -> Localization:
    """The same of a raced sweep, in which blocks were dropped by `rule` on the first half.

    The best blocks are the best of those left. What is held out is chosen on the first half and measured on
    the second, one way; p-values and the random block are read on the second half; see `raced_nulls`.

    Raises:
        BadInput: The sweep is not complete, or a question of the failure set is not among the questions.
        BadFailureSet: There are fewer than two failures, or no success.
    """
    sweep = raced_sweep(attempts, check_failure_set(failures, questions, least=2), rule)
    keys = answer_keys(questions)
    held_out = _held_out(sweep.left, raced=True)
    chosen = held_out[0].layers[0], held_out[1].layers[0]
    nulls = raced_nulls(sweep, keys, chosen, seed=seed)
    two_options = binary or _all_two_options(questions, failures)
    evidence = _evidence(sweep.left, keys, held_out, nulls, two_options=two_options)
    n_blocks = evidence.n_blocks + len(sweep.dropped)
    return conclude(replace(evidence, n_blocks=n_blocks, raced=sweep.raced))


def _evidence(
    outcomes: Outcomes,
    keys: Mapping[str, AnswerKey],
    held_out: tuple[CrossFitted, CrossFitted],
    nulls: Nulls,
    *,
    two_options: bool,
) -> Evidence:
    failures, blocks = outcomes.failure_set, measure_blocks(outcomes)
    by_repair, by_gain = best_blocks(blocks)
    shifts = answer_shifts(outcomes, keys)
    return Evidence(
        rule=failures.rule,
        failure_set_hash=failures.hash,
        n_questions=failures.n_questions,
        n_failures=failures.n_failures,
        n_successes=failures.n_successes,
        n_failures_asked=len(failures.failures),
        n_successes_asked=len(failures.successes),
        n_unstable=outcomes.n_unstable,
        n_blocks=len(blocks),
        two_options=two_options,
        accuracy_before=failures.n_successes / failures.n_questions,
        best_repair=blocks[by_repair],
        best_net_gain=blocks[by_gain],
        repair_shift=shifts[by_repair],
        net_gain_shift=shifts[by_gain],
        held_out_repair=held_out[0],
        held_out_net_gain=held_out[1],
        nulls=nulls,
    )


def _all_two_options(questions: Sequence[Question], failures: FailureSet) -> bool:
    asked = {*failures.failures, *failures.successes}
    return all(_two_options(question) for question in questions if question.id in asked)


def _two_options(question: Question) -> bool:
    return len(question.candidates) == 2 or len(question.choices) == 2


def _held_out(outcomes: Outcomes, *, raced: bool) -> tuple[CrossFitted, CrossFitted]:
    """The choice by repair and the choice by net gain, measured where they were not made."""
    blocks = measure_blocks(outcomes)
    by_repair, by_gain = best_blocks(blocks)
    return (
        _cross_fitted(outcomes, blocks[by_repair].repair.value, by_net_gain=False, raced=raced),
        _cross_fitted(outcomes, blocks[by_gain].net_gain, by_net_gain=True, raced=raced),
    )


def _cross_fitted(outcomes: Outcomes, naive: float, *, by_net_gain: bool, raced: bool) -> CrossFitted:
    """The best block by repair or by net gain, chosen on one half of the questions, measured on the other.

    Blocks that repair equally many are told apart by net gain, and the other way round; then the lower
    layer is chosen. `naive` is what the best block shows where it is chosen and measured on all. In a raced
    sweep only the choice on the first half counts.
    """
    in_first = outcomes.failure_in_first, outcomes.success_in_first
    halves = (in_first, (~in_first[0], ~in_first[1]))
    signed = [outcomes.gains(f, s) for f, s in halves]
    gains = [weights @ matrix for matrix, weights in signed]
    repairs = [outcomes.failure_right[f] for f, _ in halves]
    if by_net_gain:
        means = repairs[0].mean(axis=0), repairs[1].mean(axis=0)
        weights = signed[0][1], signed[1][1]
        fit = cross_fit(signed[0][0], signed[1][0], weights=weights, ties=means)
    else:
        fit = cross_fit(repairs[0], repairs[1], ties=(gains[0], gains[1]))
    directions = (_direction(outcomes, fit.chosen[0], halves[0], halves[1]),)
    if not raced:
        directions += (_direction(outcomes, fit.chosen[1], halves[1], halves[0]),)
    repair = sum((d.held_out_repair for d in directions), Share(0, 0))
    retention = sum((d.held_out_retention for d in directions), Share(0, 0))
    failures = outcomes.failure_set
    gain, interval = net_gain(repair, retention, failures)
    low, high = mover((repair.value, retention.value), (repair.interval, retention.interval), (1, 1))
    return CrossFitted(
        directions,
        repair,
        retention,
        gain,
        interval,
        repair.value + retention.value - 1,
        (low - 1, high - 1),
        failures.n_successes / failures.n_questions + gain,
        naive - (gain if by_net_gain else repair.value),
    )


def _direction(outcomes: Outcomes, block: int, chosen_on: Masks, held_out: Masks) -> Direction:
    site = outcomes.sites[block]
    chosen, _ = repair_and_retention(outcomes, block, *chosen_on)
    repair, retention = repair_and_retention(outcomes, block, *held_out)
    return Direction(site.layer, str(site), chosen, repair, retention)
