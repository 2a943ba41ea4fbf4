"""The rule of a race: which blocks go on to the next questions. Pure, and blind to the second half.

A race is run for both names that a sweep gives: the block that repairs most, and the block that gains most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interp.errors import BadInput
from interp.question import FailureSet, seeded_order

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Right = Bool[np.ndarray, "question block"]
    Scores = Float[np.ndarray, " block"]


@dataclass(frozen=True)
class RaceRule:
    """A confidence-bound race on paired differences.

    The first half of the questions is asked in rounds. After a round the sweep's final counts are foreseen
    from the questions asked so far, for repair and for net gain; a block is dropped if for both it is more
    than `z` standard errors behind the leader of that name. The standard error is that of the difference
    over the questions not asked yet, from the answers in which block and leader differ, with one such
    question added: so a lead on a handful of questions drops nobody.

    One comparison errs with a probability of about 1 - Phi(z), by the normal approximation; 0.036 as it
    stands. The whole race makes many comparisons, most of them far from close, and no bound on its error is
    claimed that would hold for any sweep: how often it drops the full sweep's best is measured by
    `analyses/racing`, and `z` is the smallest with which each of its sweeps kept each name in 95 of 100
    races. A flat sweep drops few blocks and saves little.

    Reference:
        O. Maron and A. W. Moore, "The racing algorithm: model selection for lazy learners", Artificial
        Intelligence Review 11 (1997), doi:10.1023/A:1006556606079; paired as in their blocked race. They
        bound each mean by Hoeffding's inequality, which drops nothing on two dozen questions; we use the
        normal approximation for a sample without replacement, and race for two names at once.

    Attributes:
        n_rounds: Parts in which the first half is asked.
        z: Standard errors behind the leader from which a block is dropped.
        n_random: Blocks drawn at random that are asked on each question of the second half, beside those
            left: without them nothing there would say what a block does that was not chosen.
    """

    n_rounds: int = 4
    z: float = 1.8
    n_random: int = 2

    def __post_init__(self) -> None:
        """Refuses a race that cannot be run.

        Raises:
            BadInput: There is no round, `z` is not above 0, or `n_random` is negative.
        """
        if self.n_rounds < 1 or not self.z > 0 or self.n_random < 0:
            raise BadInput(f"A race needs a round, z above 0 and n_random of 0 or more, got {self}.")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RaceRule:
        """Inverse of `to_json`."""
        return cls(**value)


@dataclass(frozen=True)
class Race:
    """How far a race has come.

    Attributes:
        n_blocks: Blocks at the start.
        dropped: Blocks dropped after each finished round, in layer order.
    """

    n_blocks: int
    dropped: tuple[tuple[int, ...], ...] = ()

    @property
    def n_finished(self) -> int:
        """Rounds that are over."""
        return len(self.dropped)

    @property
    def live(self) -> tuple[int, ...]:
        """Blocks that no round has dropped."""
        gone = {block for blocks in self.dropped for block in blocks}
        return tuple(block for block in range(self.n_blocks) if block not in gone)


def race(failures: FailureSet, n_blocks: int, rule: RaceRule, right: Mapping[tuple[str, int], bool]) -> Race:
    """Runs a race as far as the answers go.

    Args:
        failures: What is asked; its seed orders the questions.
        n_blocks: Blocks at the start, counted from 0.
        rule: The rule.
        right: By question and block, whether the answer was right with that block silenced. Only rounds of
            which all answers of the live blocks are there are judged.
    """
    found = Race(n_blocks)
    asked: list[str] = []
    for ids in rounds_of(failures, rule.n_rounds):
        if any((i, block) not in right for i in ids for block in found.live):
            break
        asked += ids
        grid = _grid(failures, asked, found.live, right)
        behind = standard_errors_behind(*grid, failures)
        gone = np.min(behind, axis=0) > rule.z
        dropped = tuple(block for block, out in zip(found.live, gone, strict=True) if out)
        found = Race(n_blocks, (*found.dropped, dropped))
    return found


def rounds_of(failures: FailureSet, n_rounds: int) -> tuple[tuple[str, ...], ...]:
    """The questions of each round: the first half in the order of its seeded hash, cut into even parts.

    Within a round failures and successes take turns in proportion.
    """
    first, _ = failures.halves
    orders = [
        seeded_order([i for i in ids if i in first], failures.seed)
        for ids in (failures.failures, failures.successes)
    ]
    cuts = [[-(-len(order) * k // n_rounds) for k in range(n_rounds + 1)] for order in orders]
    return tuple(
        _in_turn(*(order[cut[k] : cut[k + 1]] for order, cut in zip(orders, cuts, strict=True)))
        for k in range(n_rounds)
    )


def random_blocks(failures: FailureSet, question: str, n_blocks: int, n_random: int) -> tuple[int, ...]:
    """Different blocks drawn for one question, all equally likely: by a seeded hash of question and block."""
    names = {f"{question}\x00{block}": block for block in range(n_blocks)}
    return tuple(names[name] for name in seeded_order(tuple(names), failures.seed)[:n_random])


def standard_errors_behind(f: Right, s: Right, failures: FailureSet) -> tuple[Scores, Scores]:
    """How far each block is behind the leader by repair, and behind the leader by net gain.

    Zero for a leader, and for all while no failure or no success was asked. Of leaders that are level the
    first is taken.

    Args:
        f: Whether each failure asked so far is right with each block silenced.
        s: The same of the successes.
        failures: The failure set: how many will be asked in all, and how many there are.
    """
    if not len(f) or not len(s):
        return np.zeros(f.shape[1]), np.zeros(f.shape[1])
    sizes = len(failures.failures), len(failures.successes)
    shares = failures.n_failures / sizes[0], failures.n_successes / sizes[1]
    return _behind((f, s), sizes, (1.0, 0.0)), _behind((f, s), sizes, shares)


def _behind(grids: tuple[Right, Right], sizes: tuple[int, int], weights: tuple[float, float]) -> Scores:
    """Distance to the leader by a weighted count of right answers, in standard errors.

    With m of N questions asked, a count k is foreseen to end at k N / m. Of its difference to the leader
    only the N - m questions to come are uncertain: their sum and the error of the rate have the variance
    (N - m) (N / m) v, where v is the mean square of the difference on a question.
    """
    scale = [len(grid) / size for grid, size in zip(grids, sizes, strict=True)]
    parts = list(zip(grids, sizes, weights, scale, strict=True))
    foreseen = sum((w * grid.sum(axis=0) / x for grid, _, w, x in parts), np.zeros(grids[0].shape[1]))
    leader = int(np.argmax(foreseen >= foreseen.max() - 1e-9))
    variance = np.zeros(grids[0].shape[1])
    for grid, size, w, x in parts:
        differing = (grid != grid[:, [leader]]).sum(axis=0)
        variance += w**2 * (size - len(grid)) / x * (differing + 1) / (len(grid) + 1)
    lead = foreseen[leader] - foreseen
    lead[lead < 1e-9] = 0.0
    return lead / np.sqrt(np.maximum(variance, 1e-300))


def _grid(
    failures: FailureSet, asked: Sequence[str], live: Sequence[int], right: Mapping[tuple[str, int], bool]
) -> tuple[Right, Right]:
    known = frozenset(failures.failures)

    def answers(ids: Iterable[str]) -> Right:
        rows = [[right[i, block] for block in live] for i in ids]
        return np.array(rows, dtype=bool).reshape(-1, len(live))

    return answers(i for i in asked if i in known), answers(i for i in asked if i not in known)


def _in_turn(failures: Sequence[str], successes: Sequence[str]) -> tuple[str, ...]:
    places = [
        ((k + 0.5) / len(ids), which, i)
        for which, ids in enumerate((failures, successes))
        for k, i in enumerate(ids)
    ]
    return tuple(i for _, _, i in sorted(places))
