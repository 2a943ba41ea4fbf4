"""What repeated attempts at one question say: at least one right, all right, the commonest right, by chance.

Pure functions of counts, all exact. Attempts are drawn without replacement from those that were made, so
nothing depends on their order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from interp.errors import BadInput


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
    coefficient of x^(k - t) in the product over the others of C(count, 0) + ... + C(count, t) x^t, the last
    term marked, since it is a tie.

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
    n_right = counts.get(right, 0)
    total = sum(
        math.comb(n_right, t) * _shared(others, most=t, n_drawn=k - t) for t in range(1, min(n_right, k) + 1)
    )
    return total / math.comb(n, k)


def _shared(others: Sequence[int], *, most: int, n_drawn: int) -> float:
    """Ways to draw the others, none more than `most` times, each divided by 1 + the number of ties."""
    ways: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    for count in others:
        grown: Counter[tuple[int, int]] = Counter()
        for (drawn, n_ties), times in ways.items():
            for j in range(min(count, most, n_drawn - drawn) + 1):
                grown[drawn + j, n_ties + (j == most)] += times * math.comb(count, j)
        ways = grown
    return sum(times / (1 + n_ties) for (drawn, n_ties), times in ways.items() if drawn == n_drawn)


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
