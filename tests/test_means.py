"""Intervals of means: against statsmodels and scipy, and by how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from interp.errors import BadInput
from interp.means import bootstrap_means, difference_intervals, fraction_intervals


@given(st.integers(1, 200), st.data())
def test_of_outcomes_it_is_agresti_and_coulls_interval(n, data):
    k = data.draw(st.integers(0, n))
    values = np.array([1.0] * k + [0.0] * (n - k))[:, None]
    low, high = proportion_confint(k, n, method="agresti_coull")
    assert fraction_intervals(values)[0] == pytest.approx((max(0, low), min(1, high)))
    alone = fraction_intervals(values, clusters=range(n))[0]
    assert alone == pytest.approx(fraction_intervals(values)[0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.data())
def test_an_interval_of_fractions_holds_their_mean_in_any_order(numbers, data):
    labels = data.draw(st.lists(st.sampled_from("abc"), min_size=len(numbers), max_size=len(numbers)))
    order = data.draw(st.permutations(range(len(numbers))))
    values = np.array(numbers)[:, None]
    low, high = fraction_intervals(values, clusters=labels)[0]
    assert 0 <= low < high <= 1
    if len(set(labels)) == len(labels):
        assert low - 1e-9 <= values.mean() <= high + 1e-9
    moved = fraction_intervals(values[order], clusters=[labels[i] for i in order])[0]
    assert moved == pytest.approx((low, high))


def test_questions_that_repeat_each_other_count_once():
    stream = np.random.default_rng(0)
    one = stream.random((30, 1))
    four = np.repeat(one, 4, axis=0)
    clusters = np.repeat(np.arange(30), 4)
    together = fraction_intervals(four, clusters=clusters)[0]
    assert together == pytest.approx(fraction_intervals(one)[0])
    low, high = fraction_intervals(four)[0]
    assert together[0] < low < high < together[1]


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.97])
def test_intervals_hold_in_about_95_of_100_cases(rate):
    """Questions of 25 clusters whose difficulty is shared; pass rates from 8 draws."""
    stream = np.random.default_rng(1)
    spread = 4.0
    hits = 0
    n_trials = 400
    for _ in range(n_trials):
        share = stream.beta(rate * spread, (1 - rate) * spread, 25)
        values = stream.binomial(8, np.repeat(share, 4))[:, None] / 8
        low, high = fraction_intervals(values, clusters=np.repeat(np.arange(25), 4))[0]
        hits += low <= rate <= high
    assert 0.91 <= hits / n_trials <= 0.995


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_the_bootstrap_agrees_with_scipy(seed):
    stream = np.random.default_rng(seed)
    values = stream.choice([-1.0, 0.0, 0.0, 1.0], size=60)
    low, high = difference_intervals(values[:, None], n_resamples=4000)[0]
    found = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=seed)
    assert (low, high) == pytest.approx(found.confidence_interval, abs=0.035)


def test_columns_share_their_resamples():
    values = np.random.default_rng(2).random((50, 2))
    means = bootstrap_means(np.column_stack([values, values.sum(axis=1)]), n_resamples=600)
    assert means.shape == (600, 3)
    assert means[:, 2] == pytest.approx(means[:, 0] + means[:, 1])


@pytest.mark.parametrize(("value", "n"), [(0.0, 20), (1.0, 5), (-1.0, 8)])
def test_equal_differences_do_not_collapse(value, n):
    """Agresti and Min: half a pair is added to each cell of the table."""
    low, high = difference_intervals(np.full((n, 1), value))[0]
    up, down = n * (value == 1) + 0.5, n * (value == -1) + 0.5
    total = n + 2
    middle = (up - down) / total
    half = 1.959963984540054 * ((up + down - (up - down) ** 2 / total) ** 0.5) / total
    assert (low, high) == pytest.approx((max(-1, middle - half), min(1, middle + half)))


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(BadInput, match="values in"):
        fraction_intervals(np.array([[1.2]]))
    with pytest.raises(BadInput, match="finite"):
        bootstrap_means(np.array([[np.nan]]))
    with pytest.raises(BadInput, match="cluster"):
        fraction_intervals(np.zeros((3, 1)), clusters=["a"])
