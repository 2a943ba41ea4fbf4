"""Progress of a run: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from interp.execute import Watcher
from interp.question import Attempt

EVERY_SECONDS = 10.0
"""Time between two plain lines."""


class Running(Protocol):
    """A count of rows as they come in, which reads as a few words; nothing while there is nothing to say."""

    def add(self, attempts: Sequence[Attempt], /) -> None:
        """Counts a batch."""
        ...


@contextmanager
def watch(running: Running, stream: TextIO | None = None) -> Generator[Watcher]:
    """A watcher that shows progress on standard error (or another stream) for as long as the block runs.

    Args:
        running: What is shown of the rows so far.
        stream: Where; standard error unless given.
    """
    shown: TextIO = sys.stderr if stream is None else stream
    if not shown.isatty():
        yield PlainWatcher(shown, running)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=Console(file=shown)) as progress:
        yield BarWatcher(progress, running)


class PlainWatcher:
    """Writes a line at the start of a stage, every ten seconds, and at its end."""

    def __init__(self, stream: TextIO, running: Running) -> None:
        """Writes to a stream."""
        self._stream = stream
        self._running = running
        self._name = ""
        self._written = (0.0, 0)

    def stage(self, name: str, total: int, done: int) -> None:
        """Writes how far a stage is, if it is time."""
        now = time.monotonic()
        if name != self._name:
            self._name, self._written = name, (now, done)
            self._line(f"{name}: {total} to do" if not done else f"{name}: {total} to do, {done} done before")
            return
        then, done_then = self._written
        if done < total and now - then < EVERY_SECONDS:
            return
        self._written = (now, done)
        left = (now - then) / max(1, done - done_then) * (total - done)
        eta = f", about {left:.0f} s left" if done < total else ""
        best = f"; {self._running}" if str(self._running) else ""
        self._line(f"{name}: {done} of {total}{eta}{best}")

    def rows(self, attempts: Sequence[Attempt]) -> None:
        """Counts a batch."""
        self._running.add(attempts)

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class BarWatcher:
    """Moves a bar a stage."""

    def __init__(self, progress: Progress, running: Running) -> None:
        """Draws on a progress display."""
        self._progress = progress
        self._running = running
        self._bars: dict[str, TaskID] = {}

    def stage(self, name: str, total: int, done: int) -> None:
        """Moves a stage's bar, which its first call draws."""
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(name, total=total, best="")
        self._progress.update(self._bars[name], total=total, completed=done, best=str(self._running))

    def rows(self, attempts: Sequence[Attempt]) -> None:
        """Counts a batch."""
        self._running.add(attempts)
