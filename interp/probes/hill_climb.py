"""Climbs by single edits, and starts again where it is stuck."""

from __future__ import annotations

import random

from interp.probes.edits import random_edit
from interp.probes.search import Search
from interp.route import Route


def hill_climb(
    n_layers: int, seed: int, *, steps: int = 200, size: int = 4, patience: int = 8, most_edits: int = 4
) -> Search:
    """Takes the first random edit that is no worse; after `patience` that were, it starts at the plain order.

    Args:
        n_layers: Number of layers of the model.
        seed: Seed of the question.
        steps: Most steps.
        size: Most steps of an edited block.
        patience: Edits in a row that may be worse.
        most_edits: Edits after which it starts again.

    Reference:
        Ours: first-improvement local search with restarts, the plainest search that follows verdicts.
    """
    draw = random.Random(seed)
    whole = Route.identity(n_layers)
    route, reward, n_edits, n_worse = whole, False, 0, 0
    for _ in range(steps):
        if n_worse >= patience or n_edits >= most_edits:
            route, reward, n_edits, n_worse = whole, False, 0, 0
        other = random_edit(route, n_layers, draw, most=size).of(route)
        right = yield other
        if right >= reward:
            route, reward, n_edits, n_worse = other, right, n_edits + 1, 0
        else:
            n_worse += 1
