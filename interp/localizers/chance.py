"""What chance does: constant answers, constant positions, a random block, the luck of choosing the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from interp.localizers.answers import AnswerKey
from interp.localizers.outcomes import Outcomes
from interp.question import FailureSet
from interp.stats import MaxNull, max_null


@dataclass(frozen=True)
class Constant:
    """Always the same answer, or always the same of the answers that a question names.

    Attributes:
        says: The answer, or the position counted from 0.
        repair: Failures that it would repair.
        retention: Successes that it would keep.
        accuracy: Its accuracy over all questions.
    """

    says: str | int
    repair: float
    retention: float
    accuracy: float


@dataclass(frozen=True)
class RandomBlock:
    """A block drawn at random: means over blocks, with the spread of repair over blocks.

    Attributes:
        repair: Mean repair.
        repair_sd: Standard deviation of repair over blocks.
        repair_quantile: 0.95 quantile of repair over blocks.
        retention: Mean retention.
        net_gain: Mean net gain.
    """

    repair: float
    repair_sd: float
    repair_quantile: float
    retention: float
    net_gain: float


@dataclass(frozen=True)
class Nulls:
    """What a repair must be compared with.

    Attributes:
        constant_answer: The constant answer that repairs most.
        constant_position: The constant position that repairs most; None where no failure names answers.
        constant_accuracy: Highest accuracy over all questions of any constant answer or position.
        random_block: A block drawn at random.
        max_repair: The largest repair against shuffled block labels.
        max_net_gain: The largest net gain against shuffled block labels.
        n_permutations: Shuffles behind the last two.
        seed: Their seed.
    """

    constant_answer: Constant | None
    constant_position: Constant | None
    constant_accuracy: float
    random_block: RandomBlock
    max_repair: MaxNull
    max_net_gain: MaxNull
    n_permutations: int
    seed: int


def measure_nulls(
    outcomes: Outcomes, keys: Mapping[str, AnswerKey], *, seed: int = 0, n_permutations: int = 10_000
) -> Nulls:
    """Every control that a repair is compared with.

    The keys are those of all questions of the task, since a constant's accuracy is over all of them. The
    two permutation tests shuffle block labels within each question; see `stats.max_null`.
    """
    answers = constant_answers(keys, outcomes.failure_set)
    positions = constant_positions(keys, outcomes.failure_set)
    gains, weights = outcomes.gains()
    return Nulls(
        answers[0] if answers else None,
        positions[0] if positions else None,
        max((constant.accuracy for constant in (*answers, *positions)), default=0.0),
        random_block(outcomes),
        max_null(outcomes.failure_right, n_permutations, seed=seed),
        max_null(gains, n_permutations, seed=seed, weights=weights),
        n_permutations,
        seed,
    )


def constant_answers(keys: Mapping[str, AnswerKey], failures: FailureSet) -> list[Constant]:
    """Each gold answer as the answer to everything, the one that repairs most first.

    Ties go to the higher retention, then to the order of the spelling. An answer counts where the gold
    accepts it, in the grader's canonical spelling.
    """
    return _constants({i: key.golds for i, key in keys.items()}, failures)


def constant_positions(keys: Mapping[str, AnswerKey], failures: FailureSet) -> list[Constant]:
    """Each position among the answers that a question names, the one that repairs most first.

    A question that names no answers is never right. Empty where no failure names any.
    """
    golds = {i: key.gold_positions for i, key in keys.items()}
    named = any(golds[i] for i in failures.failures)
    return _constants(golds, failures) if named else []


def random_block(outcomes: Outcomes) -> RandomBlock:
    """What silencing a block drawn at random does, the blocks being equally likely."""
    repair = outcomes.failure_right.mean(axis=0)
    gains, weights = outcomes.gains()
    return RandomBlock(
        float(repair.mean()),
        float(repair.std(ddof=1)) if len(repair) > 1 else 0.0,
        float(np.quantile(repair, 0.95)),
        float(outcomes.success_right.mean()),
        float((weights @ gains).mean()),
    )


def _constants(golds: Mapping[str, frozenset[str] | frozenset[int]], failures: FailureSet) -> list[Constant]:
    """One constant for each gold value that occurs, sorted by what it repairs."""

    def share(says: str | int, ids: Sequence[str]) -> float:
        return sum(says in golds[i] for i in ids) / len(ids)

    constants = [
        Constant(
            says,
            share(says, failures.failures),
            share(says, failures.successes),
            share(says, tuple(golds)),
        )
        for says in sorted(frozenset[str | int]().union(*golds.values()))
    ]
    return sorted(constants, key=lambda c: (-c.repair, -c.retention))
