"""Readings of repeated attempts, against enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput
from interp.reach import chance_floor, cover_at, majority_at_k, pass_at_k, pass_hat_k, unseen_mass

attempts = st.lists(st.sampled_from("abcd"), min_size=1, max_size=9)


def over_subsets(drawn, k, value) -> float:
    """The mean of a value over all ways to draw k of the attempts."""
    subsets = list(itertools.combinations(drawn, k))
    return float(sum((Fraction(value(subset)) for subset in subsets), Fraction(0)) / len(subsets))


def vote(subset) -> Fraction:
    counts = Counter(subset)
    most = max(counts.values())
    winners = [answer for answer, count in counts.items() if count == most]
    return Fraction(int("a" in winners), len(winners))


@settings(max_examples=80, deadline=None)
@given(attempts, st.data())
def test_each_reading_is_the_mean_over_all_subsets(drawn, data):
    k = data.draw(st.integers(1, len(drawn)))
    n, c = len(drawn), drawn.count("a")
    assert pass_at_k(n, c, k) == pytest.approx(over_subsets(drawn, k, lambda s: "a" in s))
    assert pass_hat_k(n, c, k) == pytest.approx(over_subsets(drawn, k, lambda s: set(s) == {"a"}))
    assert majority_at_k(Counter(drawn), "a", k) == pytest.approx(over_subsets(drawn, k, vote))


@given(attempts)
def test_what_is_read_of_all_attempts_and_of_one(drawn):
    n, c = len(drawn), drawn.count("a")
    for reading in (lambda: pass_at_k(n, c, 1), lambda: pass_hat_k(n, c, 1)):
        assert reading() == pytest.approx(c / n)
    assert majority_at_k(Counter(drawn), "a", 1) == pytest.approx(c / n)
    assert majority_at_k(Counter(drawn), "a", n) == pytest.approx(float(vote(drawn)))


@given(st.integers(1, 40), st.data())
def test_more_attempts_reach_more_and_agree_less(n, data):
    c = data.draw(st.integers(0, n))
    at = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    hat = [pass_hat_k(n, c, k) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert all(low <= high + 1e-12 for low, high in zip(hat, at, strict=True))


def test_majority_of_many_attempts_is_quick_and_exact():
    counts = {"3": 20, "7": 30, **{f"x{i}": 1 for i in range(14)}}
    shares = [majority_at_k(counts, answer, 32) for answer in counts]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1] > shares[0] > 0
    assert majority_at_k(counts, "not given", 32) == 0.0


def test_chance_floor_and_cover_and_unseen_mass():
    assert chance_floor(10, 4) == pytest.approx(0.9437, abs=1e-4)  # four options, ten tries: 94 percent
    assert chance_floor(1, 2) == 0.5
    assert chance_floor(5, 1) == 1.0
    assert cover_at([0.0, 0.25, 0.5, 1.0], 0.5) == 0.5
    assert cover_at([0.0, 0.25, 0.5, 1.0], 1e-9) == 0.75
    assert unseen_mass({"a": 1, "b": 3, "c": 1}) == pytest.approx(2 / 5)
    assert unseen_mass({"a": 7}) == 0.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pass_hat_k(3, 1, 4), "at least k attempts, got 3"),
        (lambda: pass_hat_k(3, 4, 1), "got 4 of 3"),
        (lambda: majority_at_k({"a": 2}, "a", 3), "maj@3 needs"),
        (lambda: majority_at_k({"a": 2}, "a", 0), "maj@0 needs"),
        (lambda: majority_at_k({"a": -1, "b": 4}, "a", 1), "cannot be negative"),
        (lambda: chance_floor(0, 2), "at least one guess"),
        (lambda: cover_at([], 0.5), "0 shares"),
        (lambda: cover_at([0.5], 0.0), "tau=0"),
        (lambda: unseen_mass({}), "needs attempts"),
    ],
)
def test_counts_that_mean_nothing_are_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
