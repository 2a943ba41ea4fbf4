"""One edit of a route, drawn at random or listed: a block of steps left out, or run again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from interp.reroute import loop, skip
from interp.route import LONGEST, Route


@dataclass(frozen=True, order=True)
class Edit:
    """A block of steps that is left out or run again.

    Attributes:
        start: Place of its first step.
        n: Number of steps.
        times: How often it runs in all; 0 leaves it out.
    """

    start: int
    n: int
    times: int

    def of(self, route: Route) -> Route:
        """The route with the edit."""
        if self.times == 0:
            return skip(route, self.start, self.n)
        return loop(route, self.start, self.n, times=self.times)


def fits(edit: Edit, route: Route, n_layers: int) -> bool:
    """Whether a route has the steps of an edit, and may be as long as it makes it."""
    n_steps = len(route.steps)
    length = n_steps + (edit.times - 1) * edit.n
    return edit.start + edit.n <= n_steps and 0 < length <= LONGEST * n_layers


def random_edit(
    route: Route, n_layers: int, draw: random.Random, *, most: int = 4, times: int = 2, first: int = 0
) -> Edit:
    """An edit that fits: skip or repeat with equal chance, then its size, its times and its place.

    Args:
        route: The route.
        n_layers: Number of layers of the model.
        draw: Where chance comes from.
        most: Most steps of the block.
        times: Most often that a repeated block runs in all; at least 2.
        first: First place that may be edited.
    """
    while True:
        size = draw.randint(1, most)
        again = draw.randint(2, times) if draw.random() < 1 / 2 else 0
        start = draw.randrange(first, max(first + 1, len(route.steps) - size + 1))
        edit = Edit(start, size, again)
        if fits(edit, route, n_layers):
            return edit
        if len(route.steps) <= first + 1:
            return Edit(min(first, len(route.steps) - 1), 1, 2)
