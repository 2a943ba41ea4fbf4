"""Statistics against scipy, statsmodels, enumeration and stored values."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_oracle
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from interp.errors import BadInput
from interp.pairs import mcnemar
from interp.reach import pass_at_k
from interp.stats import cross_fit, holm, max_null, mover, spearman, top_k_overlap, wilson

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
FRACTIONS = st.lists(st.floats(0, 1), max_size=12)
VALUES = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=12)


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_scipys_and_statsmodels(count, level):
    k, n = count
    scipy = binomtest(k, n).proportion_ci(level, method="wilson")
    assert wilson(k, n, level) == pytest.approx((scipy.low, scipy.high), abs=1e-12)
    assert wilson(k, n, level) == pytest.approx(proportion_confint(k, n, 1 - level, "wilson"), abs=1e-12)


@given(COUNTS)
def test_wilson_holds_the_fraction_and_mirrors(count):
    k, n = count
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_wilson_stored_values():
    # Newcombe (1998), Statistics in Medicine 17, 857-872, table I, method 3 (score, no correction).
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95), (1, 2, 0)])
def test_wilson_refuses(k, n, level):
    with pytest.raises(BadInput):
        wilson(k, n, level)


@given(COUNTS, COUNTS)
def test_mover_of_a_difference_is_newcombes(a, b):
    shares = (a[0] / a[1], b[0] / b[1])
    ours = mover(shares, (wilson(*a), wilson(*b)), (1, -1))
    theirs = confint_proportions_2indep(*a, *b, method="newcomb")
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_mover_by_hand():
    # Terms 1.0 in [0.4, 1.6] and -1.5 in [-2.1, -0.6]: -0.5 - hypot(0.6, 0.6), -0.5 + hypot(0.6, 0.9).
    interval = mover((0.5, 0.5), ((0.2, 0.8), (0.2, 0.7)), (2, -3))
    assert interval == pytest.approx((-0.5 - math.hypot(0.6, 0.6), -0.5 + math.hypot(0.6, 0.9)))
    with pytest.raises(BadInput, match="one interval"):
        mover((0.5,), ((0, 1), (0, 1)), (1,))


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_statsmodels_and_the_sign_test(b, c):
    assert mcnemar(b, c) == pytest.approx(mcnemar_oracle([[5, b], [c, 5]], exact=True).pvalue, abs=1e-12)
    if b + c:
        assert mcnemar(b, c) == pytest.approx(binomtest(b, b + c).pvalue, abs=1e-12)
    assert mcnemar(b, c) == mcnemar(c, b)


def test_mcnemar_stored_values():
    # 2 (1 + 12 + 66) / 2**12 by hand.
    assert mcnemar(10, 2) == pytest.approx(158 / 4096)
    assert mcnemar(10, 2) == pytest.approx(0.03857, abs=5e-6)
    assert mcnemar(0, 0) == 1
    assert mcnemar(0, 5000) == 0.0 or mcnemar(0, 5000) < 1e-300
    with pytest.raises(BadInput, match="negative"):
        mcnemar(-1, 2)


@settings(max_examples=15, deadline=None)  # the oracle takes a tenth of a second
@given(FRACTIONS)
def test_holm_is_statsmodels(p):
    if p:
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
    assert all(a >= b for a, b in zip(holm(p), p, strict=True))


def test_holm_stored_values():
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    with pytest.raises(BadInput, match="p-values"):
        holm([0.5, math.nan])


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_subsets_with_a_hit(case):
    n, c, k = case
    subsets = list(itertools.combinations(range(n), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(min(s) < c for s in subsets) / len(subsets))


@pytest.mark.parametrize(("n", "c", "k"), [(4, 0, 5), (4, 5, 2), (4, -1, 2), (4, 2, 0), (0, 0, 1)])
def test_pass_at_k_refuses(n, c, k):
    with pytest.raises(BadInput):
        pass_at_k(n, c, k)


def _every_maximum(matrix, weights):
    """Largest column score of every way to permute each row."""
    rows = [set(itertools.permutations(row)) for row in (matrix * weights[:, None]).tolist()]
    repeats = [math.factorial(matrix.shape[1]) // len(row) for row in rows]
    assert all(repeat >= 1 for repeat in repeats)
    return np.array([np.sum(choice, axis=0).max() for choice in itertools.product(*rows)])


@pytest.mark.parametrize("signed", [False, True])
def test_max_null_agrees_with_enumeration(signed):
    matrix = np.array([[1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], dtype=float)
    weights = np.array([0.3, 0.1, 0.1, 0.2, 0.2])
    if signed:
        matrix[1:3] -= 1
    maxima = _every_maximum(matrix, weights)
    observed = (weights @ matrix).max()
    exact = float((maxima >= observed - 1e-12).mean())
    n = 20_000
    test = max_null(matrix, n, seed=1, weights=weights)
    assert test.observed == pytest.approx(observed)
    assert test.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / n) + 1 / n)
    assert test.mean == pytest.approx(maxima.mean(), abs=4 * maxima.std() / math.sqrt(n))
    assert 0 < exact < 0.5


def test_max_null_is_repeatable_and_never_zero():
    matrix = np.zeros((30, 8), dtype=bool)
    matrix[:, 3] = True
    first, again, other = (max_null(matrix, 199, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first.p == 1 / 200
    assert first.mean != other.mean
    assert first.quantile < first.observed == 1.0


def test_max_null_without_difference_is_one():
    assert max_null(np.ones((4, 5)), 50).p == 1
    assert max_null(np.zeros((4, 5)), 50).observed == 0
    assert max_null(np.array([[1.0], [0.0]]), 50).p == 1


def test_max_null_is_calibrated():
    """Under the null, p <= 0.1 comes in about a tenth of the cases: a binomial bound on 200."""
    rng = np.random.default_rng(0)
    small = sum(max_null(rng.random((15, 6)) < 0.3, 99, seed=i).p <= 0.1 for i in range(200))
    assert small <= binomtest(small, 200).n * 0.1 + 4 * math.sqrt(200 * 0.1 * 0.9)
    assert small > 0


@pytest.mark.parametrize(
    ("matrix", "n", "weights"),
    [
        (np.zeros((0, 3)), 10, None),
        (np.zeros((3, 0)), 10, None),
        (np.zeros(3), 10, None),
        (np.array([[1.0, math.nan]]), 10, None),
        (np.ones((2, 2)), 0, None),
        (np.ones((2, 2)), 10, np.ones(3)),
        (np.ones((2, 2)), 10, np.array([1, math.inf])),
    ],
)
def test_max_null_refuses(matrix, n, weights):
    with pytest.raises(BadInput):
        max_null(matrix, n, weights=weights)


def test_cross_fit_by_hand():
    a = np.array([[1, 0, 1], [1, 0, 0]])
    b = np.array([[0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]])
    fit = cross_fit(a, b)
    assert fit.chosen == (0, 1)
    assert fit.on_chosen == (1.0, 0.75)
    assert fit.held_out == (0.25, 0.0)
    assert fit.pooled == pytest.approx((4 * 0.25 + 2 * 0.0) / 6)


def test_cross_fit_ties_and_weights():
    a, b = np.array([[1, 1, 0]]), np.array([[1, 0, 1]])
    assert cross_fit(a, b).chosen == (0, 0)
    assert cross_fit(a, b, ties=(np.array([0, 1, 9]), np.array([0, 9, 1]))).chosen == (1, 2)
    signed = np.array([[1.0, 0.0], [-1.0, 0.0]])
    fit = cross_fit(signed, signed, weights=(np.array([0.2, 0.8]), np.array([0.8, 0.2])))
    assert fit.chosen == (1, 0)
    assert fit.on_chosen == pytest.approx((0.0, 0.6))
    assert fit.held_out == pytest.approx((0.0, -0.6))


def test_cross_fit_has_no_winners_curse():
    """Where all columns are alike, the naive maximum is far above the truth and the held-out one is not."""
    rng = np.random.default_rng(3)
    naive, held_out = [], []
    for _ in range(200):
        matrix = rng.random((40, 30)) < 0.3
        naive.append(matrix.mean(axis=0).max())
        held_out.append(cross_fit(matrix[:20], matrix[20:]).pooled)
    error = np.std(held_out) / math.sqrt(200)
    assert np.mean(held_out) == pytest.approx(0.3, abs=4 * error)
    assert np.mean(naive) > 0.4


def test_cross_fit_refuses():
    with pytest.raises(BadInput, match="2 and 3 columns"):
        cross_fit(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(BadInput, match="questions and blocks"):
        cross_fit(np.ones((0, 2)), np.ones((1, 2)))


@given(VALUES, st.randoms(use_true_random=False))
def test_spearman_is_scipys(x, random):
    y = [random.choice(x) + random.randint(0, 2) for _ in x]
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(spearman(x, y))
    else:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_spearman_edges():
    assert spearman([1, 2, 3], [10, 20, 99]) == 1
    assert spearman([1, 2, 3], [3, 2, 1]) == -1
    assert math.isnan(spearman([1, 1], [1, 2]))
    assert math.isnan(spearman([], []))
    with pytest.raises(BadInput, match="same length"):
        spearman([1, 2], [1])
    with pytest.raises(BadInput, match="finite"):
        spearman([1, math.nan], [1, 2])


def _random_tops(values, k):
    """Every top-k set that breaking ties at random can give, each equally likely."""
    orders = itertools.permutations(range(len(values)))
    return [frozenset(sorted(order, key=lambda i: -values[i])[:k]) for order in orders]


@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=4), st.lists(st.integers(0, 2), min_size=4, max_size=4)
)
def test_top_k_overlap_is_the_mean_over_tie_breaks(x, y):
    for k in (1, 2, 4):
        pairs = itertools.product(_random_tops(x, k), _random_tops(y, k))
        assert top_k_overlap(x, y, k) == pytest.approx(np.mean([len(a & b) / k for a, b in pairs]))


def test_top_k_overlap_without_ties():
    assert top_k_overlap([5, 4, 3, 2, 1], [5, 1, 4, 2, 3], 2) == 0.5
    assert top_k_overlap([5, 4, 3], [5, 4, 3], 2) == 1
    assert top_k_overlap([1, 2], [2, 1], 1) == 0
    with pytest.raises(BadInput, match=r"1\.\.2"):
        top_k_overlap([1, 2], [1, 2], 3)
