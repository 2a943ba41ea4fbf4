"""What workers finished before its turn: kept a file a worker, until the log has all that comes before."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from interp.disk import sync_directory
from interp.errors import RunDamaged, RunUnwritable
from interp.log import Log
from interp.question import Attempt

Key = tuple[str, str, int]
"""Probe, question, draw."""


def merge(
    batches: Sequence[Sequence[Key]], log: Collection[Key], found: Mapping[Key, Attempt]
) -> list[list[Attempt]]:
    """What can be added to the log now, batch by batch, up to the first batch that lacks a row.

    It looks at nothing but what it is given, so the log has the order in which one process would have
    written it, whoever finished what, and when.

    Args:
        batches: The keys of each batch, in the order in which one process would ask them.
        log: Keys that are in the log.
        found: Rows that are not, by key; those of other batches do no harm.

    Returns:
        For each batch that is whole, in order, its rows that are not in the log.
    """
    ready: list[list[Attempt]] = []
    for batch in batches:
        missing = [key for key in batch if key not in log]
        if any(key not in found for key in missing):
            break
        ready.append([found[key] for key in missing])
    return ready


def joined(files: Mapping[str, Iterable[Attempt]]) -> dict[Key, Attempt]:
    """The rows of several files, by key.

    Args:
        files: The rows of each file, by its name.

    Raises:
        RunDamaged: Two files have different rows of one key; names them.
    """
    rows: dict[Key, Attempt] = {}
    source: dict[Key, str] = {}
    for name, found in files.items():
        for row in found:
            if rows.setdefault(row.key, row) != row:
                raise RunDamaged(
                    f"{source[row.key]} and {name} have different rows for {row.key}. Remove the file that "
                    "does not belong to this run and resume it: what is missing is asked again."
                )
            source.setdefault(row.key, name)
    return rows


class Parts:
    """Rows by worker, each worker's in `<worker>.jsonl`, written by the process that holds the run.

    Attributes:
        folder: Where the files are; it is there only while one of them is.
        rows: Attempt by key (probe, question, draw), of all of them.
    """

    def __init__(self, folder: Path, log: Log) -> None:
        """Reads what an earlier process left.

        Args:
            folder: Where the files are, if there are any.
            log: The log of the run, of which the parts may hold rows, too.

        Raises:
            RunDamaged: A file cannot be read back, or two files, or a file and the log, have different rows
                of one key.
        """
        self.folder = folder
        self._logs = {path.stem: Log(path) for path in sorted(folder.glob("*.jsonl"))}
        files = {str(part.path): list(part.rows.values()) for part in self._logs.values()}
        self.rows = joined(files)
        joined({str(log.path): log.rows.values(), **files})
        self._open: set[str] = set()

    def append(self, worker: str, rows: Sequence[Attempt]) -> None:
        """Adds rows to a worker's file: all of them are on the disk when it returns, or none.

        Raises:
            RunUnwritable: The disk is full, or the like; the file is as it was.
        """
        if worker not in self._open:
            try:
                self.folder.mkdir(exist_ok=True)
                sync_directory(self.folder.parent)
            except OSError as error:
                raise RunUnwritable(f"{self.folder} cannot be made ({error.strerror}).") from error
            part = self._logs.setdefault(worker, Log(self.folder / f"{worker}.jsonl"))
            part.open()
            self._open.add(worker)
        self._logs[worker].append(rows)
        self.rows.update((row.key, row) for row in rows)

    def drop(self, log: Collection[Key]) -> None:
        """Removes every file all of whose rows are in the log, and the folder with the last of them."""
        for worker, part in [*self._logs.items()]:
            if all(key in log for key in part.rows):
                part.close()
                part.path.unlink(missing_ok=True)
                del self._logs[worker]
                self._open.discard(worker)
                for key in part.rows:
                    self.rows.pop(key, None)
        if not self._logs:
            with contextlib.suppress(OSError):  # it is not there, or holds what is not ours
                self.folder.rmdir()

    def close(self) -> None:
        """Ends writing; the rows can still be read."""
        for part in self._logs.values():
            part.close()
        self._open.clear()
