"""Times contenders in turn on the same work, and counts what ours runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interp.bench.benched import Bounds, Timed
from interp.bench.contender import PLAIN, Contender, Work
from interp.bench.floor import Rates, floor_seconds, visits_of
from interp.bench.ours import Ours
from interp.bench.plain import plain_loop
from interp.bench.stages import peak_memory, shares_by_stage

if TYPE_CHECKING:
    from interp.models.backend import Backend

    Tell = Callable[[str], None]


def best_batch(model: Backend, work: Work) -> int:
    """Questions a batch at which one pass of the plain loop is fastest."""
    n = len(work.texts)
    one = replace(work, layers=(PLAIN,))
    plain_loop(model, n).sweep(replace(one, texts=one.texts[:4]))  # the first is slower
    sizes = sorted({max(1, n // 3), max(1, n // 2), n})
    return min(sizes, key=lambda size: _seconds(lambda: plain_loop(model, size).sweep(one))[0])


def side_by_side(
    work: Work,
    ours: Ours,
    loops: Sequence[tuple[Contender, int]],
    *,
    repeats: int,
    n_passes: int,
    told: Tell,
) -> list[Timed]:
    """Times all contenders in turn.

    Args:
        work: The whole sweep.
        ours: This package's.
        loops: The others, each with its batch size; of their passes only some are timed.
        repeats: How often each is timed.
        n_passes: Passes that a loop makes each time; 0 is all.
        told: Is told what is being timed.
    """
    model = ours.model
    rows: dict[str, list[Any]] = {name: [] for name in (ours.name, *(loop.name for loop, _ in loops))}
    for repeat in range(repeats):
        told(f"{work.name}, {repeat + 1} of {repeats}: {ours.name}")
        seconds, peak, right = _measured(model, ours, work)
        rows[ours.name].append((seconds, 1.0, peak, len(right), len(right)))
        part = replace(work, layers=spaced(work.layers, n_passes, repeat, repeats))
        for loop, _ in loops:
            told(f"{work.name}, {repeat + 1} of {repeats}: {loop.name}")
            taken, peak, texts = _measured(model, loop, part)
            taken *= len(work.layers) / len(part.layers)
            n_same = sum(text == right[key] for key, text in texts.items())
            rows[loop.name].append((taken, taken / seconds, peak, len(texts), n_same))
    sizes = {ours.name: ours.batch_size, **{loop.name: size for loop, size in loops}}
    return [_timed(work.name, name, sizes[name], found) for name, found in rows.items()]


def _timed(shape: str, name: str, batch_size: int, found: Sequence[Any]) -> Timed:
    seconds, ratios, peaks, n_rows, n_same = zip(*found, strict=True)
    return Timed(shape, name, batch_size, seconds, ratios, max(peaks), sum(n_rows), sum(n_same))


def spaced(layers: Sequence[int], n: int, repeat: int, repeats: int) -> tuple[int, ...]:
    """Some of the layers, evenly spaced, others in each repeat; all of them if n is 0 or enough for all."""
    if n == 0 or n >= len(layers):
        return tuple(layers)
    step = len(layers) / n
    return tuple(layers[int(i * step + repeat * step / repeats)] for i in range(n))


def _measured(
    model: Backend, contender: Contender, work: Work
) -> tuple[float, int, Mapping[tuple[int, int], str]]:
    with peak_memory(model.device) as peak:
        seconds, texts = _seconds(lambda: contender.sweep(work))
    return seconds, peak.bytes, texts


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = call()
    return time.perf_counter() - begin, found


def bounds_of(model: Backend, work: Work, ours: Ours, batch_size: int, rates: Rates) -> Bounds:
    """Counts what our sweep and a plain loop run, and profiles ours."""
    with visits_of(model) as visits:
        stages = shares_by_stage(lambda: ours.sweep(work))
    part = replace(work, layers=spaced(work.layers, 1, 0, 1))
    with visits_of(model) as loop:
        plain_loop(model, batch_size).sweep(part)
    scaled = sum(loop.blocks) * len(work.layers) // len(part.layers)
    return Bounds(work.name, floor_seconds(model, visits, rates), sum(visits.blocks), scaled, stages)


def growth_of(ours: Ours, work: Work) -> tuple[tuple[str, int, float], ...]:
    """Seconds of our sweep over a quarter, half and all of a quarter of the questions, and so on."""
    n, n_blocks = max(2, len(work.texts) // 4), len(work.layers) - 1
    small = replace(work, texts=work.texts[:n], decoding=replace(work.decoding, stop=()))
    grown: list[tuple[str, int, Work]] = []
    for share in (0.5, 1.0, 2.0):
        k = max(1, int(n * share))
        grown.append(("questions", k, replace(small, texts=work.texts[:k])))
    for third in (1, 2, 3):
        k = max(1, n_blocks * third // 3)
        grown.append(("blocks", k, replace(small, layers=work.layers[: k + 1])))
    for k in (8, 16, 32):
        grown.append(("tokens", k, replace(small, decoding=replace(small.decoding, max_new_tokens=k))))
    return tuple((what, k, _seconds(lambda w=w: ours.sweep(w))[0]) for what, k, w in grown)
