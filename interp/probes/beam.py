"""Repeated blocks first, then the best of them edited again, a few at a time."""

from __future__ import annotations

import random

from interp.probes.edits import Edit, random_edit
from interp.probes.search import Search
from interp.route import Route


def beam(
    n_layers: int, seed: int, *, width: int = 8, first: int = 16, size: int = 4, rounds: int = 4
) -> Search:
    """Asks repeated blocks (i, j) in random order, keeps the best, and repeats a further block of each.

    Args:
        n_layers: Number of layers of the model.
        seed: Seed of the question.
        width: Routes kept a round; 8 as in the scan known as RYS.
        first: Blocks asked in the first round; RYS asks all of them.
        size: Most layers of a block.
        rounds: Rounds after the first.

    Reference:
        After the scan known as RYS (exhaustive blocks, then a beam of width 8). Its score is a benchmark's;
        here it is the verdict of the question, ties broken by length.
    """
    draw = random.Random(seed)
    whole = Route.identity(n_layers)
    blocks = [Edit(i, n, 2) for n in range(1, size + 1) for i in range(n_layers - n + 1)]
    asked: dict[Route, bool] = {}
    for edit in draw.sample(blocks, min(first, len(blocks))):
        route = edit.of(whole)
        asked[route] = yield route
    for _ in range(rounds):
        best = sorted(asked, key=lambda route: (not asked[route], len(route.steps), str(route)))[:width]
        for route in best:
            other = random_edit(route, n_layers, draw, most=size).of(route)
            asked[other] = yield other
