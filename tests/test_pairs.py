"""Paired comparisons, against scipy, simulation and the sample-size formula turned round."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, norm

from interp.errors import BadInput
from interp.pairs import detectable_difference, mcnemar, paired_bootstrap


def test_the_interval_is_scipys_within_resampling_error():
    rng = np.random.default_rng(3)
    before, after = rng.random(80), rng.random(80) + 0.2
    found = paired_bootstrap(list(after - before), n_resamples=20_000)
    expected = bootstrap(
        (after - before,), np.mean, method="percentile", n_resamples=20_000, rng=rng
    ).confidence_interval
    assert found == pytest.approx((expected.low, expected.high), abs=0.01)


def test_it_covers_the_truth_and_clusters_widen_it():
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(200):
        values = rng.normal(0.1, 1.0, size=60)
        low, high = paired_bootstrap(list(values), n_resamples=500, seed=trial)
        covered += low <= 0.1 <= high
    assert 0.88 <= covered / 200 <= 0.99
    shared = np.repeat(rng.normal(size=12), 10)
    alone = paired_bootstrap(list(shared))
    together = paired_bootstrap(list(shared), clusters=[i // 10 for i in range(120)])
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_the_same_seed_gives_the_same_and_constant_data_no_width():
    values = [0.0, 1.0, -1.0, 1.0, 0.0]
    assert paired_bootstrap(values, seed=1) == paired_bootstrap(values, seed=1)
    assert paired_bootstrap([1.0] * 9) == (1.0, 1.0)
    assert paired_bootstrap([0.0] * 9) == (0.0, 0.0)


@settings(deadline=None)
@given(st.integers(20, 5000), st.floats(0.05, 1.0), st.floats(0.5, 0.99))
def test_the_detectable_difference_needs_just_as_many_pairs(n, changed, power):
    def needed(d: float) -> float:
        wanted = norm.ppf(0.975) * changed**0.5 + norm.ppf(power) * (changed - d * d) ** 0.5
        return wanted**2 / d**2

    d = detectable_difference(n, changed, power=power)
    if math.isnan(d):
        assert needed(changed) > n * (1 - 1e-9)
        return
    assert needed(d) == pytest.approx(n, rel=1e-6)
    assert 0 < d <= changed
    assert detectable_difference(4 * n, changed, power=power) <= d


def test_simulated_pairs_show_it_with_the_power_asked_for():
    rng = np.random.default_rng(2)
    n, changed = 400, 0.3
    d = detectable_difference(n, changed)
    draws = rng.multinomial(n, [(changed + d) / 2, (changed - d) / 2, 1 - changed], size=1500)
    shown = np.mean([mcnemar(int(b), int(c)) < 0.05 for b, c, _ in draws])
    assert 0.72 <= shown <= 0.84  # the exact test is a little weaker than the formula


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: paired_bootstrap([]), "got 0 of them"),
        (lambda: paired_bootstrap([math.nan]), "finite differences"),
        (lambda: paired_bootstrap([1.0, 2.0], clusters=["a"]), "got 2 and 1"),
        (lambda: detectable_difference(0, 0.5), "n=0"),
        (lambda: detectable_difference(9, 1.5), "changed=1.5"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()


def test_no_change_shows_nothing():
    assert math.isnan(detectable_difference(100, 0.0))
