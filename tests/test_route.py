"""Routes: read back from their line, errors that name the piece."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.errors import BadWord
from interp.route import Route

layers = st.lists(st.integers(0, 40), min_size=1, max_size=60)


@given(layers)
def test_a_route_is_read_back_from_its_line(numbers):
    route = Route(tuple(numbers))
    assert Route.parse(str(route)) == route
    assert "\n" not in str(route)


@given(layers)
def test_the_line_is_the_shortest(numbers):
    line = str(Route(tuple(numbers)))
    n_breaks = sum(b != a + 1 for a, b in pairwise(numbers))
    assert line.count(",") == n_breaks


@given(st.integers(1, 100))
def test_the_identity_is_one_range(n):
    assert Route.identity(n).layers == tuple(range(n))
    assert str(Route.identity(n)) == ("0" if n == 1 else f"0-{n - 1}")
    Route.identity(n).check(n)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [("0-3", (0, 1, 2, 3)), ("0-1,1-2", (0, 1, 1, 2)), (" 3, 2 ,1", (3, 2, 1)), ("5", (5,)), ("2-2", (2,))],
)
def test_how_routes_are_written(line, numbers):
    assert Route.parse(line).layers == numbers


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "'', piece 0 of the route '', is neither"),
        ("0-3,,5", "'', piece 1 of the route"),
        ("0-3,x", "'x', piece 1 .* Write for instance '0-11,8-29'"),
        ("0--3", "'0--3', piece 0"),
        ("-1", "'-1', piece 0"),
        ("0-3,7-4", r"'7-4', piece 1 .* goes down\. .* '7,6,\.\.\.'"),
        ("1.5", "'1.5', piece 0"),
        ("0-1,\u0663", "'\u0663', piece 1"),
        ("0,0-99999999999", "'0-99999999999', piece 1 .* names layer 99999999999, and no model has 10000"),
        ("10000", "names layer 10000, and no"),
    ],
)
def test_a_line_that_is_no_route_is_refused_by_piece(line, says):
    with pytest.raises(BadWord, match=says):
        Route.parse(line)


def test_routes_that_mean_nothing_cannot_be_made():
    with pytest.raises(BadWord, match="at least one layer"):
        Route(())
    with pytest.raises(BadWord, match="got -1 at place 1"):
        Route((0, -1))
    for bad in (1.5, 1.0, float("nan"), float("inf"), True, "x", "1", None):
        with pytest.raises(BadWord, match=f"got {bad!r} at place 1"):
            Route((0, bad))  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadWord, match=r"route '0-4' names layer 4 at place 4, .* layers 0 to 3"):
        Route.identity(5).check(4)


def test_a_list_is_taken_and_the_word_is_hashable():
    assert Route([0, 2]) == Route((0, 2))  # pyright: ignore[reportArgumentType]
    assert type(Route((np.int64(3),)).layers[0]) is int
    assert len({Route((0, 2)), Route((0, 2)), Route((2, 0))}) == 2
