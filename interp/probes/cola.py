"""CoLa: Monte Carlo tree search over layer paths."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from interp.probes.edits import Edit, fits
from interp.probes.search import Search
from interp.route import Route


@dataclass(eq=False)
class _Node:
    route: Route
    total: float = 0.0
    n: int = 0
    below: dict[Edit, _Node] = field(default_factory=dict["Edit", "_Node"])


def cola(  # noqa: PLR0913
    n_layers: int,
    seed: int,
    *,
    simulations: int = 200,
    c: float = math.sqrt(2),
    penalty: float = 5.0,
    explore: float = 0.1,
    size: int = 4,
    times: int = 4,
    depth: int = 8,
) -> Search:
    """Searches from the plain order; an edit leaves a block of the current path out, or repeats it.

    A simulation goes down from the root: to a random child that was not tried with probability `explore`, or
    where none was tried; else to the child with the largest Q/v + c sqrt(ln V / v) - penalty len/N, V being
    the simulations so far. It stops at the first child that was not tried, asks its path, and adds the reward
    to all above it.

    Args:
        n_layers: Number of layers N.
        seed: Seed of the question.
        simulations: Simulations; 200 as published.
        c: Weight of exploration; not published, sqrt 2 is UCT's.
        penalty: Weight of the path's length; 5.0 as published.
        explore: Chance of a child that was not tried; 0.1 as published.
        size: Most layers of a block, k; 4 as published.
        times: Most runs that a repeat adds, r; 4 as published.
        depth: Most edits of a path; not published. A simulation that gets there asks its path again.

    Reference:
        "Skip a layer or loop it? Test-time depth adaptation of pretrained LLMs" (CoLa), arXiv 2507.07996
        (2025).
    """
    draw = random.Random(seed)
    root = _Node(Route.identity(n_layers))
    for simulation in range(1, simulations + 1):
        path = [root]
        while len(path) <= depth:
            node = path[-1]
            fresh = not node.below or draw.random() < explore
            edit = _untried(node, n_layers, draw, size=size, times=times) if fresh else None
            if edit is not None:
                child = node.below[edit] = _Node(edit.of(node.route))
                path.append(child)
                break
            if not node.below:
                break
            path.append(
                max(node.below.values(), key=lambda child: _score(child, simulation, c, penalty, n_layers))
            )
        right = yield path[-1].route
        for node in path:
            node.total += right
            node.n += 1


def _score(child: _Node, simulation: int, c: float, penalty: float, n_layers: int) -> float:
    explored = c * math.sqrt(math.log(simulation) / child.n)
    return child.total / child.n + explored - penalty * len(child.route.steps) / n_layers


def _untried(node: _Node, n_layers: int, draw: random.Random, *, size: int, times: int) -> Edit | None:
    """A random edit of a node's path that was not tried; None if all were."""
    n_steps = len(node.route.steps)
    for _ in range(64):
        again = draw.randint(1, times) + 1 if draw.random() < 1 / 2 else 0
        edit = Edit(draw.randrange(n_steps), draw.randint(1, size), again)
        if edit not in node.below and fits(edit, node.route, n_layers):
            return edit
    kinds = (0, *range(2, times + 2))
    every = [Edit(s, n, t) for s in range(n_steps) for n in range(1, size + 1) for t in kinds]
    left = [edit for edit in every if edit not in node.below and fits(edit, node.route, n_layers)]
    return draw.choice(left) if left else None
