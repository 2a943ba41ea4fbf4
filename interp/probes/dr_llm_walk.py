"""The walk of Dr.LLM's released search: it never branches, and stops at the first right answer."""

from __future__ import annotations

import random

from interp.probes.search import Search
from interp.route import Route


def dr_llm_walk(n_layers: int, seed: int, *, steps: int = 200, stop: bool = True) -> Search:
    """Changes what one random layer does (skip, run, repeat) again and again, and keeps every change.

    Args:
        n_layers: Number of layers of the model.
        seed: Seed of the question.
        steps: Most steps.
        stop: Whether it ends at the first right answer, as released.

    Reference:
        "Dr.LLM: dynamic layer routing in LLMs", arXiv 2510.12773 (2025). It is described there as a tree
        search.
    """
    draw = random.Random(seed)
    runs = [1] * n_layers
    for _ in range(steps):
        layer = draw.randrange(n_layers)
        now = draw.choice([n for n in (0, 1, 2) if n != runs[layer]])
        if now == 0 and sum(n > 0 for n in runs) == 1 and runs[layer]:
            continue  # nothing would be left to run
        runs[layer] = now
        right = yield Route(tuple(i for i, n in enumerate(runs) for _ in range(n)))
        if right and stop:
            return
