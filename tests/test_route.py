"""Routes: read back from their line, errors that name the piece."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.errors import BadWord
from interp.procedure import Procedure
from interp.reroute import halve, keep, loop, move, parallel, repeat, reverse, shuffle, skip, swap
from interp.route import Damped, Half, Parallel, Part, Route, Slots
from interp.site import Scope

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


simple = st.one_of(st.integers(0, 40), st.builds(Half, st.integers(0, 40), st.sampled_from(Part)))
groups = st.lists(simple, min_size=2, max_size=4).map(tuple)
steps = st.one_of(
    simple,
    st.builds(Parallel, groups),
    st.builds(Damped, groups, st.integers(2, 5)),
)
any_routes = st.builds(
    Route, st.lists(steps, min_size=1, max_size=12).map(tuple), st.sampled_from(Scope), st.sampled_from(Slots)
)


@given(any_routes)
def test_every_kind_of_step_is_read_back(route):
    assert Route.parse(str(route)) == route


@pytest.mark.parametrize(
    ("line", "visits", "cost"),
    [
        ("0,7a,7m", (0, Half(7, Part.ATTN), Half(7, Part.MLP)), 2.0),
        ("0,8|9|10,11", (0, 8, 9, 10, 11), 5.0),
        ("(1-2)~3", (1, 2, 1, 2, 1, 2), 6.0),
        ("(1,3a)~2,0", (1, Half(3, Part.ATTN), 1, Half(3, Part.ATTN), 0), 4.0),
        ("0-3@prompt", (0, 1, 2, 3), 4.0),
        ("0-1,1@decode@published", (0, 1, 1), 3.0),
    ],
)
def test_what_is_visited_and_what_it_costs(line, visits, cost):
    route = Route.parse(line)
    assert str(route) == line
    assert route.visits == visits
    assert route.cost == cost
    assert route.layers == tuple(v.layer if isinstance(v, Half) else v for v in visits)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0-3|5", "puts a range beside a layer"),
        ("3|", "'', piece 0"),
        ("(3)~1", "at least twice, got 1"),
        ("()~3", "'', piece 0"),
        ("(0|1)~3", r"'0\|1', piece 0"),
        ("0@both@prompt", "ends in '@both@prompt'. After an @ stands one of prompt, decode"),
        ("0@later", "ends in '@later'"),
        ("7b", "a half is '7a' or '7m'"),
    ],
)
def test_lines_of_groups_that_mean_nothing(line, says):
    with pytest.raises(BadWord, match=says):
        Route.parse(line)


def levenshtein(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(
        levenshtein(a[1:], b) + 1, levenshtein(a, b[1:]) + 1, levenshtein(a[1:], b[1:]) + (a[0] != b[0])
    )


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_distance_is_the_fewest_changes(numbers):
    assert Route(tuple(numbers)).distance(4) == levenshtein(tuple(numbers), (0, 1, 2, 3))


def test_jumps_count_edits():
    whole = Route.identity(12)
    assert whole.n_jumps == 0
    assert skip(whole, 3, 2).n_jumps == 1
    assert repeat(whole, 3, 2).n_jumps == 1
    assert skip(repeat(whole, 6, 3), 1).n_jumps == 2
    assert skip(whole, 0).n_jumps == 1


def test_a_route_of_a_model_has_a_longest_length():
    Route((0,) * 16).check(4)
    with pytest.raises(BadWord, match="runs 17 layers, and a route of a model with 4 layers runs at most 16"):
        Route((0,) * 17).check(4)


@given(st.integers(4, 12), st.data())
def test_editors_do_what_lists_do(n, data):
    route, numbers = Route.identity(n), list(range(n))
    start = data.draw(st.integers(0, n - 2))
    size = data.draw(st.integers(1, n - 1 - start))
    end = start + size
    block = numbers[start:end]
    assert list(skip(route, start, size).layers) == numbers[:start] + numbers[end:]
    assert list(repeat(route, start, size).layers) == numbers[:end] + block + numbers[end:]
    assert list(loop(route, start, size, times=3).layers) == numbers[:start] + block * 3 + numbers[end:]
    assert list(reverse(route, start, size).layers) == numbers[:start] + block[::-1] + numbers[end:]
    to = data.draw(st.integers(0, n - size))
    rest = numbers[:start] + numbers[end:]
    assert list(move(route, start, size, to=to).layers) == rest[:to] + block + rest[to:]
    swapped = list(numbers)
    swapped[start], swapped[n - 1] = swapped[n - 1], swapped[start]
    assert list(swap(route, start, n - 1).layers) == swapped
    mixed = shuffle(route, 7, start, size)
    assert mixed == shuffle(route, 7, start, size)
    assert sorted(mixed.layers[start:end]) == block
    assert [*mixed.layers[:start], *mixed.layers[end:]] == rest
    assert list(keep(route, block).layers) == block
    assert str(loop(route, start, size, times=2, damped=True)).count("~2") == 1
    assert halve(route, start, Part.MLP).steps[start] == Half(start, Part.MLP)
    if size > 1:
        assert parallel(route, start, size).steps[start] == Parallel(tuple(block))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda r: skip(r, 4), r"has places 0 to 3, so there is no step 4"),
        (lambda r: skip(r, 2, 3), "there are no 3 steps from place 2"),
        (lambda r: skip(r, 0, 4), "at least one layer"),
        (lambda r: keep(r, [9]), "at least one layer"),
        (lambda r: loop(r, 0, times=0), "at least once, got 0"),
        (lambda r: move(r, 0, to=4), "has places 0 to 3, so steps cannot go to 4"),
        (lambda r: halve(halve(r, 1, Part.MLP), 1, Part.ATTN), "Only a whole layer has halves"),
        (lambda r: parallel(r, 1, 1), "at least two"),
        (lambda r: loop(parallel(r, 0, 2), 0, times=2, damped=True), "holds layers and halves, and no group"),
    ],
)
def test_editors_refuse_what_is_not_there(edit, says):
    with pytest.raises(BadWord, match=says):
        edit(Route.identity(4))


def test_a_procedure_with_a_route_has_a_key_of_its_own_and_old_keys_stay():
    plain = Procedure()
    routed = Procedure(route=Route((0, 2)))
    assert "route" not in plain.to_json()
    assert routed.key != plain.key
    assert Procedure.from_json(routed.to_json()) == routed
