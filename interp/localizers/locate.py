"""Locates a failure set at the block whose silencing repairs it: ranking, cross-fitting, controls, words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from interp.localizers.answers import answer_keys
from interp.localizers.chance import measure_nulls
from interp.localizers.localization import CrossFitted, Direction, Evidence, Localization
from interp.localizers.outcomes import Outcomes, outcome_matrix
from interp.localizers.repair import (
    answer_shifts,
    check_failure_set,
    measure_blocks,
    net_gain,
    ranking_key,
    repair_and_retention,
)
from interp.localizers.sentences import conclude
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
    blocks = measure_blocks(outcomes)
    by_repair = min(range(len(blocks)), key=lambda i: ranking_key(blocks[i]))
    by_gain = min(range(len(blocks)), key=lambda i: (-blocks[i].net_gain, *ranking_key(blocks[i])))
    shifts = answer_shifts(outcomes, keys)
    asked = {*failures.failures, *failures.successes}
    evidence = Evidence(
        rule=failures.rule,
        failure_set_hash=failures.hash,
        n_questions=failures.n_questions,
        n_failures=failures.n_failures,
        n_successes=failures.n_successes,
        n_failures_asked=len(failures.failures),
        n_successes_asked=len(failures.successes),
        n_unstable=outcomes.n_unstable,
        n_blocks=len(blocks),
        two_options=binary or all(_two_options(q) for q in questions if q.id in asked),
        accuracy_before=failures.n_successes / failures.n_questions,
        best_repair=blocks[by_repair],
        best_net_gain=blocks[by_gain],
        repair_shift=shifts[by_repair],
        net_gain_shift=shifts[by_gain],
        held_out_repair=_cross_fitted(outcomes, blocks[by_repair].repair.value, by_net_gain=False),
        held_out_net_gain=_cross_fitted(outcomes, blocks[by_gain].net_gain, by_net_gain=True),
        nulls=measure_nulls(outcomes, keys, seed=seed, n_permutations=n_permutations),
    )
    return conclude(evidence)


def _two_options(question: Question) -> bool:
    return len(question.candidates) == 2 or len(question.choices) == 2


def _cross_fitted(outcomes: Outcomes, naive: float, *, by_net_gain: bool) -> CrossFitted:
    """The best block by repair or by net gain, chosen on one half of the questions, measured on the other.

    Blocks that repair equally many are told apart by net gain, and the other way round; then the lower
    layer is chosen. `naive` is what the best block shows where it is chosen and measured on all.
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
    directions = (
        _direction(outcomes, fit.chosen[0], halves[0], halves[1]),
        _direction(outcomes, fit.chosen[1], halves[1], halves[0]),
    )
    repair = directions[0].held_out_repair + directions[1].held_out_repair
    retention = directions[0].held_out_retention + directions[1].held_out_retention
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
