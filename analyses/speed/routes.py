"""Measures what routes cost, side by side in one run, and prints a table.

    python analyses/speed/routes.py            # about three minutes on two cores

Generation on a route against plain generation, for routes of several lengths; and 32 routes asked of the same
questions in one call against the same routes one after another, with the answers compared row by row.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import interp
from interp import Decoding, Procedure, Prompt, Request, Route
from interp.models.decode import Batch
from interp.reroute import loop, skip

N_REPEATS = 7
PROMPT = Prompt(system="You answer questions.", answer_prefix="The answer is ")
PAIRS = 4


def main() -> None:
    """Prints both tables."""
    model, task = interp.load("smollm2"), interp.load_task("comparison", n=16)
    texts = [question.text for question in task.questions]
    whole = Route.identity(model.n_layers)
    print("| route | layers / 30 | time / plain | over layers / 30 | range |")
    print("| --- | --- | --- | --- | --- |")
    for route in (whole, skip(whole, 10, 10), loop(whole, 10, 10, times=2), loop(whole, 5, 20, times=3)):
        plain, routed = asked(model, texts, 32, None), asked(model, texts, 32, route)
        plain(), routed()
        pairs = [(seconds(plain), seconds(routed)) for _ in range(N_REPEATS)]
        ratios = sorted(b / a for a, b in pairs)
        share, middle = route.cost / model.n_layers, statistics.median(ratios)
        span = f"{ratios[0] / share:.2f} to {ratios[-1] / share:.2f}"
        print(f"| `{route}` | {share:.2f} | {middle:.2f} | {middle / share:.2f} | {span} |")
    print("\n| 32 routes x 8 questions, 4 tokens | seconds | faster than one after another |")
    print("| --- | --- | --- |")
    routes = [random_route(whole, seed) for seed in range(32)]
    apart, ratios = [], []
    for _ in range(PAIRS):
        start = time.perf_counter()
        one_by_one = [list(asked_once(model, texts[:8], 4, [route])) for route in routes]
        middle = time.perf_counter()
        together = list(asked_once(model, texts[:8], 4, routes))
        end = time.perf_counter()
        apart.append((middle - start, end - middle))
        ratios.append((middle - start) / (end - middle))
        flat = [row for rows in zip(*one_by_one, strict=True) for row in rows]
        same = sum(a.tokens == b.tokens for a, b in zip(flat, together, strict=True))
    slow, fast = (statistics.median(times) for times in zip(*apart, strict=True))
    print(f"| one after another | {slow:.2f} | 1 |")
    span = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"| in one call | {fast:.2f} | {statistics.median(ratios):.2f} ({span}) |")
    print(f"\n{same} of {len(together)} rows have the same tokens.")


def random_route(whole: Route, seed: int) -> Route:
    """One or two edits: a skip or a repeat of up to four layers."""
    draw, route = random.Random(seed), whole
    for _ in range(draw.randint(1, 2)):
        size = draw.randint(1, 4)
        start = draw.randrange(len(route.steps) - size)
        route = skip(route, start, size) if draw.random() < 1 / 2 else loop(route, start, size, times=2)
    return route


def asked(model: Any, texts: list[str], n: int, route: Route | None) -> Callable[[], object]:
    """Decodes `n` tokens of every text on one route, whatever they are."""
    prompts = [model.render(text, PROMPT).tokens for text in texts]
    batch = Batch(prompts, [()] * len(texts), [], routes=[route] * len(texts))

    def decode() -> None:
        with torch.inference_mode():
            stepper = model.stepper(batch)
            logits = stepper.prefill()
            for _ in range(n - 1):
                logits = stepper.step(logits.argmax(-1))

    return decode


def asked_once(model: Any, texts: list[str], n: int, routes: list[Route]) -> list[Any]:
    """Asks each text on each route."""
    procedures = [Procedure(PROMPT, Decoding(n), route=route) for route in routes]
    return list(model.generate([Request(text, p) for text in texts for p in procedures]))


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
