"""Progress of a run: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from interp.execute import Watcher
from interp.localizers.outcomes import SILENCING, silenced_site
from interp.question import Attempt, Outcome

EVERY_SECONDS = 10.0
"""Time between two plain lines."""


@contextmanager
def watch(stream: TextIO | None = None) -> Generator[Watcher]:
    """A watcher that shows progress on standard error (or another stream) for as long as the block runs."""
    shown: TextIO = sys.stderr if stream is None else stream
    if not shown.isatty():
        yield PlainWatcher(shown)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=Console(file=shown)) as progress:
        yield BarWatcher(progress)


class RunningRepair:
    """Repair of each block so far, counted as rows come in."""

    def __init__(self) -> None:
        """Starts with nothing tried."""
        self._failures: set[str] = set()
        self._tried: dict[int, int] = {}
        self._repaired: dict[int, int] = {}

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Counts rows; a question whose control row is not right is a failure."""
        for row in attempts:
            if row.probe != SILENCING:
                continue
            if row.draw == 0 and row.outcome is not Outcome.RIGHT:
                self._failures.add(row.question)
            elif row.draw > 0 and row.question in self._failures:
                layer = silenced_site(row).layer
                self._tried[layer] = self._tried.get(layer, 0) + 1
                self._repaired[layer] = self._repaired.get(layer, 0) + (row.outcome is Outcome.RIGHT)

    def __str__(self) -> str:
        if not self._tried:
            return ""
        layer = max(self._tried, key=lambda i: (self._repaired[i] / self._tried[i], -i))
        return f"block {layer} repairs {self._repaired[layer]} of {self._tried[layer]} so far"


class PlainWatcher:
    """Writes a line at the start of a stage, every ten seconds, and at its end."""

    def __init__(self, stream: TextIO) -> None:
        """Writes to a stream."""
        self._stream = stream
        self._repair = RunningRepair()
        self._name, self._total, self._done = "", 0, 0
        self._started = self._written = 0.0

    def stage(self, name: str, total: int, done: int) -> None:
        """Begins a stage."""
        self._name, self._total, self._done = name, total, done
        self._started = self._written = time.monotonic()
        self._line(f"{name}: {total} rows" if name != "attribution" else f"{name}: {total} failures")

    def rows(self, attempts: Sequence[Attempt]) -> None:
        """Counts a batch, and writes a line if it is time."""
        self._repair.add(attempts)
        self._done += len(attempts)
        now = time.monotonic()
        if self._done < self._total and now - self._written < EVERY_SECONDS:
            return
        self._written = now
        left = (now - self._started) / max(1, self._done) * (self._total - self._done)
        best = f"; {self._repair}" if str(self._repair) else ""
        eta = f", about {left:.0f} s left" if self._done < self._total else ""
        self._line(f"{self._name}: {self._done} of {self._total}{eta}{best}")

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class BarWatcher:
    """Moves a bar a stage."""

    def __init__(self, progress: Progress) -> None:
        """Draws on a progress display."""
        self._progress = progress
        self._repair = RunningRepair()
        self._bar = None

    def stage(self, name: str, total: int, done: int) -> None:
        """Begins a stage with a new bar."""
        self._bar = self._progress.add_task(name, total=total, completed=done, best="")

    def rows(self, attempts: Sequence[Attempt]) -> None:
        """Moves the bar on."""
        self._repair.add(attempts)
        if self._bar is not None:
            self._progress.update(self._bar, advance=len(attempts), best=str(self._repair))
