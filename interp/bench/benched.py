"""What a comparison of sweeps measured; plain records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Timed:
    """One contender at one shape.

    Attributes:
        shape: Which sweep.
        name: The contender.
        batch_size: Its rows a batch.
        seconds: Time of the whole sweep, once a repeat; scaled where it is a loop.
        ratios: That time over ours, once a repeat; 1 for ours.
        peak_bytes: Most memory taken on top of what was taken before.
        n_rows: Answers that were timed, all repeats together.
        n_same: Answers among them with the text of ours.
    """

    shape: str
    name: str
    batch_size: int
    seconds: tuple[float, ...]
    ratios: tuple[float, ...]
    peak_bytes: int
    n_rows: int
    n_same: int

    def spread(self, name: str) -> tuple[float, float, float]:
        """Median, least and largest of `seconds` or `ratios`."""
        values: tuple[float, ...] = getattr(self, name)
        return statistics.median(values), min(values), max(values)


@dataclass(frozen=True)
class Bounds:
    """What bounds our own sweep at one shape.

    Attributes:
        shape: Which sweep.
        floor: Least time of what it ran, at the machine's measured rates, in seconds.
        n_layer_tokens: Visits of a block by a token in our sweep.
        n_layer_tokens_loop: The same in a plain loop, scaled up to all blocks.
        stages: Share of the time by stage.
    """

    shape: str
    floor: float
    n_layer_tokens: int
    n_layer_tokens_loop: int
    stages: Mapping[str, float]


@dataclass(frozen=True)
class Benched:
    """What `bench` measured.

    Attributes:
        timed: One for each shape and contender.
        bounds: One for each shape.
        growth: Seconds of our own short sweep as questions, blocks or tokens grow: (what, how many, seconds).
        rates: Floating-point operations and bytes a second, measured.
        environment: Versions and machine.
    """

    timed: tuple[Timed, ...]
    bounds: tuple[Bounds, ...]
    growth: tuple[tuple[str, int, float], ...]
    rates: Mapping[str, float]
    environment: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value."""
        return asdict(self)
