"""Editors of routes: each takes a route and gives another; places count the steps of the route from 0.

On the identity the place of a step is its layer, so `skip(Route.identity(30), 12)` leaves layer 12 out.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

from interp.errors import BadWord
from interp.route import Damped, Half, Parallel, Part, Route, Step


def skip(route: Route, start: int, n: int = 1) -> Route:
    """Leaves `n` steps out, from place `start`.

    Raises:
        BadWord: There are no such steps, or none would be left.
    """
    before, _, after = _split(route, start, n)
    return _with(route, (*before, *after))


def repeat(route: Route, start: int, n: int = 1) -> Route:
    """Runs `n` steps, from place `start`, once more right after they have run.

    Raises:
        BadWord: There are no such steps.
    """
    return loop(route, start, n, times=2)


def loop(route: Route, start: int, n: int = 1, *, times: int, damped: bool = False) -> Route:
    """Runs `n` steps, from place `start`, `times` times in all.

    Args:
        route: The route.
        start: Place of the first step.
        n: Number of steps.
        times: How often they run; at least 1, and 2 if damped.
        damped: Whether each run moves the stream only 1/times of the way; the steps are then layers or
            halves.

    Raises:
        BadWord: There are no such steps, or they cannot be looped so.
    """
    before, block, after = _split(route, start, n)
    if damped:
        return _with(route, (*before, Damped(_simple(block), times), *after))
    if times < 1:
        raise BadWord(f"A loop runs at least once, got {times}. To leave the steps out, skip them.")
    return _with(route, (*before, *(block * times), *after))


def swap(route: Route, first: int, second: int) -> Route:
    """Exchanges the steps at two places.

    Raises:
        BadWord: There is no such step.
    """
    steps = list(route.steps)
    for place in (first, second):
        _split(route, place, 1)
    steps[first], steps[second] = steps[second], steps[first]
    return _with(route, tuple(steps))


def move(route: Route, start: int, n: int = 1, *, to: int) -> Route:
    """Takes `n` steps, from place `start`, out and puts them back so that they begin at place `to`.

    Raises:
        BadWord: There are no such steps, or no such place in what is left.
    """
    before, block, after = _split(route, start, n)
    rest = (*before, *after)
    if not 0 <= to <= len(rest):
        raise BadWord(f"Without them the route has places 0 to {len(rest)}, so steps cannot go to {to}.")
    return _with(route, (*rest[:to], *block, *rest[to:]))


def reverse(route: Route, start: int = 0, n: int | None = None) -> Route:
    """Turns `n` steps, from place `start`, around; all that follow unless `n` is given.

    Raises:
        BadWord: There are no such steps.
    """
    before, block, after = _split(route, start, len(route.steps) - start if n is None else n)
    return _with(route, (*before, *block[::-1], *after))


def shuffle(route: Route, seed: int, start: int = 0, n: int | None = None) -> Route:
    """Puts `n` steps, from place `start`, into a random order; all that follow unless `n` is given.

    Raises:
        BadWord: There are no such steps.
    """
    before, block, after = _split(route, start, len(route.steps) - start if n is None else n)
    mixed = list(block)
    random.Random(seed).shuffle(mixed)
    return _with(route, (*before, *mixed, *after))


def keep(route: Route, layers: Collection[int]) -> Route:
    """Keeps only the steps all of whose layers are among these.

    Raises:
        BadWord: None would be left.
    """
    return _with(route, tuple(s for s in route.steps if set(Route((s,)).layers) <= set(layers)))


def halve(route: Route, place: int, part: Part) -> Route:
    """Runs only the attention or the MLP of the layer at a place.

    Raises:
        BadWord: There is no such step, or it is no whole layer.
    """
    before, (step,), after = _split(route, place, 1)
    if not isinstance(step, int):
        raise BadWord(f"Only a whole layer has halves, and place {place} of the route {route} is {step}.")
    return _with(route, (*before, Half(step, part), *after))


def parallel(route: Route, start: int, n: int) -> Route:
    """Runs `n` steps, from place `start`, side by side and averages what they give.

    Raises:
        BadWord: There are no such steps, they are fewer than two, or one is a group itself.
    """
    before, block, after = _split(route, start, n)
    return _with(route, (*before, Parallel(_simple(block)), *after))


def _split(route: Route, start: int, n: int) -> tuple[tuple[Step, ...], tuple[Step, ...], tuple[Step, ...]]:
    """The steps before, in and after a block."""
    if start < 0 or n < 1 or start + n > len(route.steps):
        last = len(route.steps) - 1
        what = f"there is no step {start}" if n == 1 else f"there are no {n} steps from place {start}"
        raise BadWord(f"The route {route} has places 0 to {last}, so {what}.")
    return route.steps[:start], route.steps[start : start + n], route.steps[start + n :]


def _simple(steps: tuple[Step, ...]) -> tuple[int | Half, ...]:
    simple = tuple(step for step in steps if isinstance(step, int | Half))
    if len(simple) < len(steps):
        raise BadWord("A group of layers holds layers and halves, and no group.")
    return simple


def _with(route: Route, steps: tuple[Step, ...]) -> Route:
    return replace(route, steps=steps)
