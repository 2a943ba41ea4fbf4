"""Two evaluations of the same questions: what changed, how surely, and what could have been seen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput

if TYPE_CHECKING:
    from jaxtyping import Float

_CHUNK = 256
"""Resamples that are held at a time."""


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


def bootstrap_means(
    values: Float[np.ndarray, "question column"],
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Float[np.ndarray, "resample column"]:
    """Means of the columns in resamples of the questions, whole clusters drawn together.

    Every column sees the same resamples, so what is made of several columns is paired.

    Args:
        values: One row a question.
        clusters: Which questions belong together; each alone unless given.
        n_resamples: Number of resamples.
        seed: Their seed.

    Reference:
        As `paired_bootstrap`.

    Raises:
        BadInput: There is no question, a value is not finite, or there are not as many clusters.
    """
    if not values.size or not np.isfinite(values).all():
        raise BadInput(f"A bootstrap needs finite differences, got {values.size} of them.")
    if clusters is not None and len(clusters) != len(values):
        raise BadInput(f"Each difference has a cluster, got {len(values)} and {len(clusters)}.")
    _, index = np.unique([str(c) for c in clusters or range(len(values))], return_inverse=True)
    sizes = np.bincount(index)
    sums = np.stack([np.bincount(index, weights=column) for column in values.T], axis=1)
    stream, uniform = np.random.default_rng(seed), np.full(len(sizes), 1 / len(sizes))
    means: list[np.ndarray] = []
    for start in range(0, n_resamples, _CHUNK):
        n = min(_CHUNK, n_resamples - start)
        drawn = stream.multinomial(len(sizes), uniform, size=n).astype(float)
        means.append((drawn @ sums) / (drawn @ sizes)[:, None])
    return np.concatenate(means)


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
