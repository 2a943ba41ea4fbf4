"""Statistics of counts and of the best of many: intervals, exact tests, permutation, cross-fitting, ranks.

Pure functions of numbers. Fractions lie in [0, 1]; a probability that nothing is known about is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput

if TYPE_CHECKING:
    from jaxtyping import Float, Num

    Outcomes = Num[np.ndarray, "question block"]
    Weights = Float[np.ndarray, " question"]
    Scores = Float[np.ndarray, " block"]
    Values = Sequence[float] | Float[np.ndarray, " n"]


def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a fraction, k of n.

    With z the normal quantile of (1 + level) / 2, the interval is
    (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2). No trial at all excludes nothing: (0, 1).

    Reference:
        E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
        (1927). doi:10.1080/01621459.1927.10502953

    Raises:
        BadInput: k is not in 0..n, or the level is not inside (0, 1).
    """
    if not 0 <= k <= n:
        raise BadInput(f"A count lies between 0 and the number of trials, got {k} of {n}.")
    if not 0 < level < 1:
        raise BadInput(f"A level lies inside (0, 1), got {level}; write 0.95 for 95 percent.")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = k + z * z / 2
    spread = z * math.sqrt(k * (n - k) / n + z * z / 4)
    low = 0.0 if k == 0 else (middle - spread) / (n + z * z)
    high = 1.0 if k == n else (middle + spread) / (n + z * z)
    return low, high


def mover(
    estimates: Sequence[float], intervals: Sequence[tuple[float, float]], coefficients: Sequence[float]
) -> tuple[float, float]:
    """Interval of a weighted sum of independent estimates, from the interval of each.

    With t = c x the weighted estimate and l <= t <= u its weighted limits, the interval runs from
    sum t - sqrt(sum (t - l)^2) to sum t + sqrt(sum (u - t)^2). On Wilson intervals with coefficients
    1 and -1 this is Newcombe's interval of a difference.

    Reference:
        G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Statistics in
        Medicine 27 (2008). doi:10.1002/sim.3095. R. G. Newcombe, Statistics in Medicine 17 (1998).

    Raises:
        BadInput: The three sequences differ in length.
    """
    if not len(estimates) == len(intervals) == len(coefficients):
        raise BadInput("A weighted sum needs one interval and one coefficient for each estimate.")
    total = below = above = 0.0
    for x, (low, high), c in zip(estimates, intervals, coefficients, strict=True):
        total += c * x
        below += (c * x - min(c * low, c * high)) ** 2
        above += (max(c * low, c * high) - c * x) ** 2
    return total - math.sqrt(below), total + math.sqrt(above)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given.

    The i-th smallest of m is multiplied by m - i + 1; each is at least as large as those before it, and
    at most 1.

    Reference:
        S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
        Statistics 6 (1979). https://www.jstor.org/stable/4615733

    Raises:
        BadInput: A p-value is outside [0, 1] or NaN.
    """
    if not all(0 <= value <= 1 for value in p):
        raise BadInput(f"p-values lie in [0, 1], got {list(p)}.")
    adjusted = [0.0] * len(p)
    running = 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = min(1.0, max(running, (len(p) - rank) * p[i]))
        adjusted[i] = running
    return adjusted


@dataclass(frozen=True)
class MaxNull:
    """The best column of a matrix, against the best column of matrices whose rows were shuffled.

    Attributes:
        observed: Score of the best column.
        p: (1 + number of shuffles whose best column scores as high) / (1 + number of shuffles).
        mean: Mean score of the best column of a shuffle: what choosing the best gives by luck.
        quantile: The 0.95 quantile of that score; a column has to score more to stand out.
    """

    observed: float
    p: float
    mean: float
    quantile: float


def max_null(
    matrix: Outcomes, n_permutations: int = 10_000, *, seed: int = 0, weights: Weights | None = None
) -> MaxNull:
    """Permutation test of the largest column score when block labels carry no meaning.

    The score of a column is its weighted sum over the rows (default weights: 1 / rows, the mean). Each
    shuffle permutes the entries of every row on its own, so each question keeps how easily it changes and
    only which block changes it is lost. Outcomes may be signed or fractional. The maximum is inside the
    test, so the p-value holds for the best of all blocks.

    Reference:
        P. H. Westfall and S. S. Young, "Resampling-based multiple testing" (1993), max-T. The added 1: B.
        Phipson and G. K. Smyth, "Permutation p-values should never be zero" (2010), arXiv 1603.05766.

    Raises:
        BadInput: The matrix is empty or not finite, or there is no permutation.
    """
    n_rows = len(matrix) if weights is None else 1
    matrix, weights = _checked(matrix, np.ones(len(matrix)) if weights is None else weights)
    if n_permutations < 1:
        raise BadInput(f"A permutation test needs at least one permutation, got {n_permutations}.")
    weighted = matrix * weights[:, None]
    constant = np.ptp(weighted, axis=1) == 0
    fixed = float(weighted[constant, 0].sum())
    moving = weighted[~constant]
    rng = np.random.default_rng(seed)
    scores = np.full((n_permutations, matrix.shape[1]), fixed)
    for row in moving:
        scores += rng.permuted(np.tile(row, (n_permutations, 1)), axis=1)
    null = scores.max(axis=1)
    observed = float((fixed + moving.sum(axis=0)).max())
    tolerance = 1e-12 * (1 + float(np.abs(weighted).max(axis=1).sum()))
    n_as_high = int((null >= observed - tolerance).sum())
    return MaxNull(
        observed / n_rows,
        (1 + n_as_high) / (1 + n_permutations),
        float(null.mean()) / n_rows,
        float(np.quantile(null, 0.95, method="higher")) / n_rows,
    )


@dataclass(frozen=True)
class CrossFit:
    """The best column chosen on one half and measured on the other, both ways.

    Attributes:
        chosen: Column chosen on the first half, and on the second.
        on_chosen: Its score on the half where it was chosen.
        held_out: Its score on the other half.
        pooled: Both held-out scores, each weighted by the rows that it was measured on.
    """

    chosen: tuple[int, int]
    on_chosen: tuple[float, float]
    held_out: tuple[float, float]
    pooled: float


def cross_fit(
    matrix_a: Outcomes,
    matrix_b: Outcomes,
    *,
    weights: tuple[Weights, Weights] | None = None,
    ties: tuple[Scores, Scores] | None = None,
) -> CrossFit:
    """Estimates the score of the best column without the luck of having chosen it.

    The score of a column is its weighted sum over the rows (default weights: 1 / rows, the mean). Among
    equal scores the higher `ties` value of the same half wins, then the first column.

    Reference:
        V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21 (2018), arXiv
        1608.00060, for the swap of two halves; the estimate describes the choice, not one fixed column.

    Raises:
        BadInput: A half is empty or not finite, or the halves differ in their columns.
    """
    halves = [_checked(m, weights and weights[i]) for i, m in enumerate((matrix_a, matrix_b))]
    if matrix_a.shape[1] != matrix_b.shape[1]:
        raise BadInput(f"The halves have {matrix_a.shape[1]} and {matrix_b.shape[1]} columns.")
    scores = [w @ m for m, w in halves]
    chosen: list[int] = []
    for i, score in enumerate(scores):
        tie = ties[i] if ties else np.zeros_like(score)
        best = np.isclose(score, score.max(), rtol=0, atol=1e-12)
        chosen.append(int(np.argmax(np.where(best, tie, -np.inf))))
    held_out = float(scores[1][chosen[0]]), float(scores[0][chosen[1]])
    return CrossFit(
        (chosen[0], chosen[1]),
        (float(scores[0][chosen[0]]), float(scores[1][chosen[1]])),
        held_out,
        float(np.average(held_out, weights=[len(matrix_b), len(matrix_a)])),
    )


def spearman(x: Values, y: Values) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, ties getting their mean rank.

    NaN when either side is constant or has fewer than two values: then there is no ranking.

    Reference:
        C. Spearman, "The proof and measurement of association between two things", American Journal of
        Psychology 15 (1904). doi:10.2307/1412159

    Raises:
        BadInput: The sides differ in length, or a value is not finite.
    """
    from scipy.stats import rankdata

    a, b = _pair(x, y)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.clip(np.corrcoef(rankdata(a), rankdata(b))[0, 1], -1, 1))


def top_k_overlap(x: Values, y: Values, k: int) -> float:
    """Share of the k largest of x that are among the k largest of y; k / n by chance.

    Values tied at the cut share the places that are left: the overlap is the one expected when the ties
    of each side are broken at random, on its own. So two lists that agree, but tie at the cut, score below 1.

    Raises:
        BadInput: k is not in 1..n, the sides differ in length, or a value is not finite.
    """
    a, b = _pair(x, y)
    if not 1 <= k <= len(a):
        raise BadInput(f"The top {k} of {len(a)} values does not exist; k lies in 1..{len(a)}.")
    inside = 1.0
    for values in (a, b):
        cut = np.sort(values)[-k]
        n_above, n_tied = int((values > cut).sum()), int((values == cut).sum())
        inside = inside * np.where(values > cut, 1.0, np.where(values == cut, (k - n_above) / n_tied, 0.0))
    return float(np.sum(inside) / k)


def _checked(matrix: Outcomes, weights: Weights | None) -> tuple[Outcomes, Weights]:
    """A matrix in float64 with its weights, refused when nothing can be scored."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise BadInput(f"A matrix of outcomes needs questions and blocks, got the shape {values.shape}.")
    scale = (
        np.full(len(values), 1 / len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    )
    if scale.shape != (len(values),):
        raise BadInput(f"{len(values)} questions need as many weights, got the shape {scale.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(scale).all()):
        raise BadInput("Outcomes and weights must be finite numbers; a missing outcome cannot be scored.")
    return values, scale


def _pair(x: object, y: object) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Two sides of a comparison as float64, refused when they cannot be compared."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise BadInput(f"Two lists of the same length are compared, got the shapes {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise BadInput("Values to be ranked must be finite numbers.")
    return a, b
