"""Where the time of our own sweep goes, by stage, and how much memory any sweep takes on top."""

from __future__ import annotations

import contextlib
import cProfile
import ctypes
import gc
import pstats
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import psutil
import torch

STAGES = {
    "fronts": ("_read_prefix",),
    "prompts and drafts": ("prefill",),
    "heads of drafts": ("ahead",),
    "decoding": ("step",),
    "choosing tokens": ("choose", "append_token", "check_finite"),
    "dropping rows": ("keep",),
}
"""Stages of a sweep, and the functions of `interp.models` whose time they take."""


def shares_by_stage(work: Callable[[], Any]) -> dict[str, float]:
    """Share of the time of a call that each stage takes; the rest is "other"."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats: Any = pstats.Stats(profile)
    spent: dict[str, float] = dict.fromkeys(STAGES, 0.0)
    for function, (_calls, _primitive, _own, cumulative, callers) in stats.stats.items():
        if (stage := _stage(function)) is None:
            continue
        spent[stage] += cumulative
        for caller, (*_counts, within) in callers.items():
            if (outer := _stage(caller)) is not None:
                spent[outer] -= within
    total = stats.total_tt
    shares = {stage: seconds / total for stage, seconds in spent.items()}
    return {**shares, "other": 1.0 - sum(shares.values())}


def _stage(function: tuple[str, int, str]) -> str | None:
    """The stage that a function belongs to."""
    file, _line, name = function
    ours = "interp" in file and "models" in file
    return next((stage for stage, names in STAGES.items() if ours and name in names), None)


class Peak:
    """The most memory that the block took on top of what was taken before, in bytes."""

    def __init__(self) -> None:
        """Nothing so far."""
        self.bytes = 0


@contextmanager
def peak_memory(device: torch.device) -> Generator[Peak]:
    """Watches memory while the block runs: of torch on a GPU, else of the process, 50 times a second."""
    peak = Peak()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield peak
        peak.bytes = torch.cuda.max_memory_allocated(device) - before
        return
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc only: gives back what earlier work has freed
        ctypes.CDLL(None).malloc_trim(0)
    process, done = psutil.Process(), threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        while not done.wait(0.02):
            peak.bytes = max(peak.bytes, process.memory_info().rss - before)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
