"""Readings of repeated attempts, against enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput
from interp.reach import (
    chance_floor,
    cover_at,
    majorities_at_k,
    majority_at_k,
    pass_at_k,
    pass_hat_k,
    unseen_mass,
)

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


@settings(max_examples=60, deadline=None)
@given(attempts, st.integers(0, 3), st.data())
def test_what_cannot_be_read_is_drawn_and_has_no_vote(drawn, n_blank, data):
    everyone = [*drawn, *[None] * n_blank]
    k = data.draw(st.integers(1, len(everyone)))
    counts = Counter(drawn)
    others = np.array([[counts[letter] for letter in "bcd"]])
    found = majorities_at_k(np.array([counts["a"]]), others, k, blank=np.array([n_blank]))[0]

    def read(subset) -> Fraction:
        seen = [answer for answer in subset if answer is not None]
        return vote(seen) if seen else Fraction(0)

    assert found == pytest.approx(over_subsets(everyone, k, read))


def test_many_questions_at_once_are_each_as_alone():
    stream = np.random.default_rng(0)
    counts = stream.multinomial(20, [0.3, 0.3, 0.2, 0.1, 0.1], size=40)
    for k in (1, 3, 8, 20):
        together = majorities_at_k(counts[:, 0], counts[:, 1:], k)
        alone = [majority_at_k(dict(enumerate(map(int, row))), 0, k) for row in counts]
        assert together == pytest.approx(alone)
    with pytest.raises(BadInput, match="maj@21"):
        majorities_at_k(counts[:, 0], counts[:, 1:], 21)
