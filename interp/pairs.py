"""Two evaluations of the same questions: what changed, how surely, and what could have been seen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np

from interp.errors import BadInput
from interp.means import bootstrap_means


def mcnemar(b: int, c: int) -> float:
    """Exact two-sided McNemar test of paired outcomes: p = min(1, 2 P(X <= min(b, c))), X ~ Bin(b + c, 1/2).

    b and c count the pairs that changed, one way and the other; without a change p is 1.

    Reference:
        Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
        percentages", Psychometrika 12 (1947). doi:10.1007/BF02295996. Exact form: binomial sign test.

    Raises:
        BadInput: A count is negative.
    """
    if min(b, c) < 0:
        raise BadInput(f"Counts of changed pairs cannot be negative, got {b} and {c}.")
    n = b + c
    term = tail = 1
    for i in range(min(b, c)):
        term = term * (n - i) // (i + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def paired_bootstrap(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean of paired differences, whole clusters drawn together.

    Args:
        differences: After minus before, one a question.
        clusters: Which questions belong together (templates, subjects); each alone unless given.
        level: Share of resamples inside.
        n_resamples: Number of resamples.
        seed: Their seed.

    Reference:
        B. Efron and R. Tibshirani, "An introduction to the bootstrap" (1993); whole clusters as in A. C.
        Davison and D. V. Hinkley, "Bootstrap methods and their application" (1997), section 3.8.

    Raises:
        BadInput: There is no difference, one is not finite, or there are not as many clusters.
    """
    columns = np.asarray(differences, dtype=float)[:, None]
    means = bootstrap_means(columns, clusters=clusters, n_resamples=n_resamples, seed=seed)
    low, high = np.quantile(means[:, 0], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def detectable_difference(n: int, changed: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """Smallest difference of two paired shares that n pairs would have shown.

    The d that solves n = (z_level sqrt(changed) + z_power sqrt(changed - d^2))^2 / d^2, at most `changed`,
    which is the largest difference that there can be. NaN where even that would not have been shown.

    Args:
        n: Number of pairs.
        changed: Share of pairs that changed, one way or the other.
        level: One minus the error of the two-sided McNemar test.
        power: Chance of a significant result.

    Reference:
        R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design",
        Biometrics 43 (1987). doi:10.2307/2531961

    Raises:
        BadInput: There is no pair, or a share is outside its range.
    """
    if n < 1 or not 0 <= changed <= 1 or not (0 < level < 1 and 0 < power < 1):
        raise BadInput(
            f"A detectable difference needs pairs and shares inside (0, 1), got n={n}, changed={changed}, "
            f"level={level}, power={power}."
        )
    z_level, z_power = (NormalDist().inv_cdf(p) for p in ((1 + level) / 2, power))

    def needed(d: float) -> float:
        return (z_level * math.sqrt(changed) + z_power * math.sqrt(changed - d * d)) ** 2 / (d * d)

    if changed == 0 or needed(changed) > n:
        return math.nan
    low, high = 0.0, changed
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) > n else (low, middle)
    return high
