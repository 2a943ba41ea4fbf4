"""What repeated attempts at one question say: at least one right, all right, the commonest right, by chance.

Pure functions of counts, all exact up to rounding. Attempts are drawn without replacement from those that
were made, so nothing depends on their order.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that at least one of k attempts is right: 1 - C(n - c, k) / C(n, k), c right of n.

    Reference:
        M. Chen et al., "Evaluating large language models trained on code" (2021), arXiv 2107.03374. Their
        code returns 1.0 for n - c < k even when n < k; here n < k is refused.

    Raises:
        BadInput: n < k, k < 1, or c is not in 0..n.
    """
    if not 0 <= c <= n:
        raise BadInput(f"The right attempts lie between 0 and all of them, got {c} of {n}.")
    if not 1 <= k <= n:
        raise BadInput(f"pass@{k} needs k >= 1 and at least k attempts, got {n}; ask more often or lower k.")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that each of k attempts is right: C(c, k) / C(n, k), c right of n.

    Reference:
        S. Yao et al., "tau-bench: A benchmark for tool-agent-user interaction in real-world domains" (2024),
        arXiv 2406.12045, where it is called pass^k.

    Raises:
        BadInput: n < k, k < 1, or c is not in 0..n.
    """
    pass_at_k(n, c, k)  # refuses the same counts
    return math.comb(c, k) / math.comb(n, k)


def majority_at_k(counts: Mapping[Hashable, int], right: Hashable, k: int) -> float:
    """Chance that the commonest of k attempts is right; m answers that are equally common share it.

    Summed over how often the right answer is drawn, t of k, with the others drawn at most t times: the
    coefficient of x^(k - t) in the product over the others of C(count, 0) + ... + y C(count, t) x^t, the last
    term marked by y, since it is a tie.

    Args:
        counts: How often each answer was given in all attempts.
        right: The right answer; it need not be among them.
        k: Attempts drawn.

    Reference:
        X. Wang et al., "Self-consistency improves chain of thought reasoning in language models" (2022),
        arXiv 2203.11171, for the vote; maj@k as in A. Lewkowycz et al. (2022), arXiv 2206.14858. The closed
        form is ours.

    Raises:
        BadInput: A count is negative, k < 1, or there are fewer than k attempts.
    """
    if any(count < 0 for count in counts.values()):
        raise BadInput(f"Counts of answers cannot be negative, got {dict(counts)}.")
    n = sum(counts.values())
    if not 1 <= k <= n:
        raise BadInput(f"maj@{k} needs k >= 1 and at least k attempts, got {n}; ask more often or lower k.")
    others = [count for answer, count in counts.items() if answer != right]
    return float(majorities_at_k(np.array([counts.get(right, 0)]), np.array([others or [0]]), k)[0])


def majorities_at_k(
    n_right: Int[np.ndarray, " question"],
    others: Int[np.ndarray, "question answer"],
    k: int,
    *,
    blank: Int[np.ndarray, " question"] | None = None,
) -> Float[np.ndarray, " question"]:
    """`majority_at_k` of many questions at once.

    A tie with m others is worth 1 / (1 + m), the integral of y^m over [0, 1]: so the mark of a tie is y, and
    Gauss-Legendre quadrature, exact for the degree at hand, adds up the polynomials in x.

    Args:
        n_right: How often each question's right answer was given.
        others: How often each other answer was given; zeros fill up.
        k: Attempts drawn; every question has at least as many.
        blank: How often nothing could be read; such attempts are drawn, and have no vote.

    Raises:
        BadInput: A question has fewer than k attempts, or a count is negative.
    """
    ordered = -np.sort(-others, axis=1)
    silent = np.zeros_like(n_right) if blank is None else blank
    totals = n_right + ordered.sum(axis=1) + silent
    if k < 1 or (totals < k).any() or any((counts < 0).any() for counts in (n_right, others, silent)):
        raise BadInput(f"maj@{k} needs k >= 1 and at least k attempts; ask more often or lower k.")
    most = int(max(totals.max(initial=0), 1))
    binomial = np.array([[math.comb(n, j) for j in range(k + 1)] for n in range(most + 1)], dtype=float)
    ways = np.zeros(len(totals))
    for t in range(1, k + 1):
        can = np.flatnonzero(n_right >= t)
        if len(can):
            begun = binomial[silent[can], : k - t + 1]
            shared = _shared(binomial, ordered[can], begun, most=t, n_drawn=k - t)
            ways[can] += binomial[n_right[can], t] * shared
    return ways / binomial[totals, k]


def _shared(
    binomial: Float[np.ndarray, "n k"],
    others: Int[np.ndarray, "question answer"],
    begun: Float[np.ndarray, "question drawn"],
    *,
    most: int,
    n_drawn: int,
) -> Float[np.ndarray, " question"]:
    """Ways to draw the others, none more than `most` times, each divided by 1 + the number of ties.

    `begun` holds the ways to draw what has no vote, by how many are drawn.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_drawn // most // 2 + 1)
    total = np.zeros(len(others))
    for y, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        ways = begun.copy()
        for count in others.T:
            rows = np.flatnonzero(count)
            if not len(rows):
                break
            grown = ways[rows].copy()
            for j in range(1, min(most, n_drawn, int(count.max())) + 1):
                factor = binomial[count[rows], j] * (y if j == most else 1.0)
                grown[:, j:] += factor[:, None] * ways[rows, : n_drawn + 1 - j]
            ways[rows] = grown
        total += weight * ways[:, n_drawn]
    return total


def chance_floor(k: int, m: int) -> float:
    """Chance that k guesses among m options hit the right one: 1 - (1 - 1/m)^k.

    Raises:
        BadInput: There is no guess or no option.
    """
    if k < 1 or m < 1:
        raise BadInput(f"A chance floor needs at least one guess and one option, got k={k} and m={m}.")
    return 1 - (1 - 1 / m) ** k


def cover_at(rates: Sequence[float], tau: float) -> float:
    """Share of questions that are right in at least a share tau of their attempts (Cover@tau).

    Args:
        rates: Share of right attempts, one a question.
        tau: The least share that counts; as tau goes to 0 this counts what was ever right.

    Raises:
        BadInput: There is no question, or a share is outside [0, 1]; tau must be above 0.
    """
    if not rates or not all(0 <= rate <= 1 for rate in rates) or not 0 < tau <= 1:
        raise BadInput(f"Shares lie in [0, 1] and tau above 0, got {len(rates)} shares and tau={tau}.")
    return sum(rate >= tau for rate in rates) / len(rates)


def unseen_mass(counts: Mapping[Hashable, int]) -> float:
    """Estimated chance that one more attempt gives an answer not given so far: those given once / attempts.

    Reference:
        I. J. Good, "The population frequencies of species and the estimation of population parameters",
        Biometrika 40 (1953). doi:10.1093/biomet/40.3-4.237

    Raises:
        BadInput: There is no attempt, or a count is negative.
    """
    n = sum(counts.values())
    if n < 1 or any(count < 0 for count in counts.values()):
        raise BadInput(f"Unseen mass needs attempts, counted in whole numbers, got {dict(counts)}.")
    return sum(count == 1 for count in counts.values()) / n
