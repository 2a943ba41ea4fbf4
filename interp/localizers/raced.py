"""A raced sweep, read from its log: blocks that are left in full, dropped ones as far as they came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput
from interp.localizers.answers import AnswerKey
from interp.localizers.chance import Nulls, RandomBlock, best_constants
from interp.localizers.localization import DroppedBlock, Raced
from interp.localizers.outcomes import Grid, Outcomes, read_grid
from interp.probes.race import RaceRule, race, random_blocks
from interp.question import Attempt, FailureSet, Outcome
from interp.site import Site
from interp.stats import MaxNull

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class RacedSweep:
    """What a raced sweep shows.

    Attributes:
        left: The blocks that no round dropped, on every failure and success.
        dropped: Each dropped block on the questions that it was asked, in the order of `raced.dropped`.
        drawn: By question of the second half, the sites drawn at random there and whether they were right.
        raced: What the race left out.
    """

    left: Outcomes
    dropped: tuple[Outcomes, ...]
    drawn: Mapping[str, Mapping[Site, bool]]
    raced: Raced


def raced_sweep(attempts: Iterable[Attempt], failures: FailureSet, rule: RaceRule) -> RacedSweep:
    """Runs the race again over its log, and reads what was asked.

    Raises:
        BadInput: The sweep is not complete, or its rows cannot be read; see `read_grid`.
    """
    grid = read_grid(attempts, failures)
    n_blocks = len(grid.sites)
    column = {site: block for block, site in enumerate(grid.sites)}
    right = {(i, column[s]): row.outcome is Outcome.RIGHT for (i, s), row in grid.cells.items()}
    found = race(failures, n_blocks, rule, right)
    left = grid.outcomes(failures, [grid.sites[block] for block in found.live])
    dropped = tuple(
        DroppedBlock(grid.sites[block].layer, str(grid.sites[block]), number)
        for number, blocks in enumerate(found.dropped, 1)
        for block in blocks
    )
    raced = Raced(
        rule.n_rounds,
        rule.z,
        rule.n_random,
        dropped,
        len(found.live),
        len(grid.control) + len(grid.cells),
        (n_blocks + 1) * (len(failures.failures) + len(failures.successes)),
        int((~left.failure_in_first).sum()),
        int((~left.success_in_first).sum()),
    )
    parts = tuple(_part(grid, failures, grid.sites[b]) for blocks in found.dropped for b in blocks)
    return RacedSweep(left, parts, _drawn(grid, failures, rule), raced)


def raced_nulls(
    sweep: RacedSweep,
    keys: Mapping[str, AnswerKey],
    chosen: tuple[int, int],
    *,
    seed: int = 0,
    n_permutations: int = 10_000,
) -> Nulls:
    """Every control of a raced sweep: its p-values and its random block are read on the second half alone.

    Args:
        sweep: The sweep.
        keys: The answer keys of all questions of the task.
        chosen: Layers chosen on the first half, by repair and by net gain.
        seed: Seed of the permutations.
        n_permutations: How many.
    """
    failures, (weigh_f, weigh_s) = sweep.left.failure_set, _weights(sweep)
    of_failures = [i for i in failures.failures if i in sweep.drawn]
    of_successes = [i for i in failures.successes if i in sweep.drawn]
    repair, retention = _mean_right(sweep, of_failures), _mean_right(sweep, of_successes)
    gain = weigh_f * len(of_failures) * repair
    if of_successes:
        gain -= weigh_s * len(of_successes) * (1 - retention)
    weights = dict.fromkeys(of_failures, weigh_f) | dict.fromkeys(of_successes, weigh_s)
    shares = {i: 1 / len(of_failures) for i in of_failures}
    return Nulls(
        *best_constants(keys, failures),
        RandomBlock(repair, None, None, retention, gain),
        chosen_null(sweep, chosen[0], shares, seed=seed, n_permutations=n_permutations),
        chosen_null(
            sweep,
            chosen[1],
            weights,
            seed=seed,
            n_permutations=n_permutations,
            less=weigh_s * len(of_successes),
        ),
        n_permutations,
        seed,
    )


def chosen_null(
    sweep: RacedSweep,
    layer: int,
    weights: Mapping[str, float],
    *,
    seed: int,
    n_permutations: int,
    less: float = 0.0,
) -> MaxNull:
    """Permutation test of one block, chosen without these questions, against blocks drawn at random on them.

    On each question the labels of the block and of those drawn beside it are permuted: if labels carry no
    meaning, the block is right there with the share of them that are right. The score is the weighted count
    of right answers, less a constant. The block is one, so no maximum is in the test.

    Reference:
        The added 1: B. Phipson and G. K. Smyth, "Permutation p-values should never be zero" (2010), arXiv
        1603.05766.
    """
    column = [site.layer for site in sweep.left.sites].index(layer)
    ids = (*sweep.left.failure_set.failures, *sweep.left.failure_set.successes)
    place = {i: k for k, i in enumerate(ids)}
    scale: Float[np.ndarray, " question"] = np.array(list(weights.values()))
    right: Bool[np.ndarray, " question"] = np.array(
        [sweep.left.silenced[place[i]][column].outcome is Outcome.RIGHT for i in weights], dtype=bool
    )
    others = [[hit for site, hit in sweep.drawn[i].items() if site.layer != layer] for i in weights]
    share = np.array(
        [(hit + sum(beside)) / (1 + len(beside)) for hit, beside in zip(right, others, strict=True)]
    )
    rng = np.random.default_rng(seed)
    scores = (rng.random((n_permutations, len(scale))) < share) @ scale
    observed = float(scale @ right)
    n_as_high = int((scores >= observed - 1e-12).sum())
    return MaxNull(
        observed - less,
        (1 + n_as_high) / (1 + n_permutations),
        float(scores.mean()) - less,
        float(np.quantile(scores, 0.95, method="higher")) - less,
    )


def _part(grid: Grid, failures: FailureSet, site: Site) -> Outcomes:
    """One block on the questions that it was asked."""

    def asked(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(i for i in ids if (i, site) in grid.cells)

    part = replace(failures, failures=asked(failures.failures), successes=asked(failures.successes))
    return replace(grid.outcomes(part, [site]), halves_of=failures)


def _drawn(grid: Grid, failures: FailureSet, rule: RaceRule) -> dict[str, dict[Site, bool]]:
    """The blocks drawn at random on each question of the second half."""
    _, second = failures.halves
    found: dict[str, dict[Site, bool]] = {}
    for i in (i for i in (*failures.failures, *failures.successes) if i in second):
        drawn = random_blocks(failures, i, len(grid.sites), rule.n_random)
        sites = [grid.sites[block] for block in drawn]
        if missing := [site for site in sites if (i, site) not in grid.cells]:
            raise BadInput(
                f"The sweep is not complete: {i!r} with {missing[0]} silenced is missing. "
                "Finish the run first."
            )
        found[i] = {site: grid.cells[i, site].outcome is Outcome.RIGHT for site in sites}
    return found


def _mean_right(sweep: RacedSweep, ids: list[str]) -> float:
    """Share of right answers of the blocks drawn at random, each question counting the same."""
    shares = [float(np.mean(list(sweep.drawn[i].values()))) for i in ids if sweep.drawn[i]]
    return float(np.mean(shares)) if shares else float("nan")


def _weights(sweep: RacedSweep) -> tuple[float, float]:
    """What a failure and a success of the second half count for the accuracy over all questions."""
    failures, raced = sweep.left.failure_set, sweep.raced
    return (
        failures.n_failures / (max(raced.n_failures_held_out, 1) * failures.n_questions),
        failures.n_successes / (max(raced.n_successes_held_out, 1) * failures.n_questions),
    )
