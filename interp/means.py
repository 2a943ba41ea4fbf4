"""Means over questions, and how far they can be trusted when some questions belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput

if TYPE_CHECKING:
    from jaxtyping import Float

_CHUNK = 256
"""Resamples that are held at a time."""


def fraction_intervals(
    values: Float[np.ndarray, "question column"],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> list[tuple[float, float]]:
    """Interval of each column's mean, its values in [0, 1]: outcomes, or shares of right attempts.

    z^2 / 2 clusters of average size that are all 1, and as many that are all 0, are added; then the normal
    interval is taken from the spread of whole clusters, and cut at 0 and 1. For outcomes of questions that
    are each alone this is Agresti and Coull's interval; it does not collapse where every value is 1.

    Args:
        values: One row a question.
        clusters: Which questions belong together; each alone unless given.
        level: Confidence.

    Reference:
        A. Agresti and B. A. Coull, "Approximate is better than exact for interval estimation of binomial
        proportions", The American Statistician 52 (1998). doi:10.1080/00031305.1998.10480550. Fractions and
        clusters are ours.

    Raises:
        BadInput: There is no question, a value lies outside [0, 1], or there are not as many clusters.
    """
    if not values.size or not ((values >= 0) & (values <= 1)).all():
        raise BadInput(f"An interval of fractions needs values in [0, 1], got {values.size} of them.")
    sums, sizes = cluster_sums(values, clusters)
    z = NormalDist().inv_cdf((1 + level) / 2)
    added, size = z * z / 2, sizes.mean()
    total = sizes.sum() + 2 * added * size
    middle = (sums.sum(axis=0) + added * size) / total
    spread = ((sums - sizes[:, None] * middle) ** 2).sum(axis=0)
    spread += added * size**2 * (middle**2 + (1 - middle) ** 2)
    half = z * np.sqrt(spread) / total
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def difference_intervals(
    values: Float[np.ndarray, "question column"],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    n_resamples: int = 2000,
) -> list[tuple[float, float]]:
    """95 percent interval of each column's mean, its values paired differences in [-1, 1].

    The percentile bootstrap of whole clusters, every column on the same resamples; it would collapse where
    all differences are equal, and gives way there to Agresti and Min's interval.

    Args:
        values: After minus before, one row a question.
        clusters: Which questions belong together; each alone unless given.
        seed: Seed of the resamples.
        n_resamples: Their number.

    Reference:
        A. Agresti and Y. Min, "Simple improved confidence intervals for comparing matched proportions",
        Statistics in Medicine 24 (2005). doi:10.1002/sim.1781. The bootstrap as in `bootstrap_means`.

    Raises:
        BadInput: As `bootstrap_means`.
    """
    means = bootstrap_means(values, clusters=clusters, n_resamples=n_resamples, seed=seed)
    ends = np.quantile(means, [0.025, 0.975], axis=0).T
    n_clusters = len(values) if clusters is None else len(set(clusters))
    z = NormalDist().inv_cdf(0.975)
    found: list[tuple[float, float]] = []
    for column, (low, high) in zip(values.T, ends, strict=True):
        if column.min() < column.max():
            found.append((float(low), float(high)))
            continue
        total, d = n_clusters + 2, float(column[0])
        middle = d * n_clusters / total
        spread = (
            n_clusters * (d - middle) ** 2 + 0.5 * (1 - middle) ** 2 + 0.5 * (1 + middle) ** 2 + middle**2
        )
        half = z * spread**0.5 / total
        found.append((max(-1.0, middle - half), min(1.0, middle + half)))
    return found


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
    sums, sizes = cluster_sums(values, clusters)
    stream, uniform = np.random.default_rng(seed), np.full(len(sizes), 1 / len(sizes))
    means: list[np.ndarray] = []
    for start in range(0, n_resamples, _CHUNK):
        n = min(_CHUNK, n_resamples - start)
        drawn = stream.multinomial(len(sizes), uniform, size=n).astype(float)
        means.append((drawn @ sums) / (drawn @ sizes)[:, None])
    return np.concatenate(means)


def cluster_sums(
    values: Float[np.ndarray, "question column"], clusters: Sequence[Hashable] | None
) -> tuple[Float[np.ndarray, "cluster column"], Float[np.ndarray, " cluster"]]:
    """Sum of each column in each cluster, and the clusters' sizes.

    Raises:
        BadInput: There are not as many clusters as questions.
    """
    if clusters is None:
        return values, np.ones(len(values))
    if len(clusters) != len(values):
        raise BadInput(f"Each difference has a cluster, got {len(values)} and {len(clusters)}.")
    _, index = np.unique([str(c) for c in clusters], return_inverse=True)
    sums = np.stack([np.bincount(index, weights=column) for column in values.T], axis=1)
    return sums, np.bincount(index).astype(float)
