"""Files that are there whole or not at all, and the lock of a directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from interp.errors import RunLocked, RunUnwritable

GO_ON = "Make room or give permission, and start the same command again: it goes on from there."


def write_atomic(path: Path, data: bytes) -> None:
    """Puts a file in place: written beside it, synced, renamed. Its folder is made if need be.

    Raises:
        RunUnwritable: The disk is full, or permission is missing; what stood there before stands.
    """
    part = path.with_name(temporary(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise RunUnwritable(
            f"{path} cannot be written ({error.strerror}). What was written before stands. {GO_ON}"
        ) from error


def temporary(name: str) -> str:
    """The name under which a file stands until it is whole."""
    return f".{name}.tmp"


def write_all(handle: int, data: bytes) -> None:
    """One write; where the kernel takes less than all of it, the rest follows.

    Raises:
        OSError: The disk is full, or the like; a part may have been written.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def sync_directory(path: Path) -> None:
    """Makes names in a directory last through a loss of power.

    Raises:
        OSError: The directory cannot be synced.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def take_lock(path: Path) -> int:
    """Locks a file, which it makes if need be, and writes the holder's pid into it.

    Returns:
        A descriptor. The lock falls when it is closed, or when the process ends in whatever way.

    Raises:
        RunLocked: Another process holds it.
        RunUnwritable: The file cannot be made or locked.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunUnwritable(f"{path.parent} cannot be written ({error.strerror}). {GO_ON}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
    except BlockingIOError:
        holder = os.read(lock, 32).decode(errors="replace") or "unknown"
        os.close(lock)
        raise RunLocked(
            f"Another process (pid {holder}) is writing to {path.parent}. "
            "Wait for it to end, or write to another directory."
        ) from None
    except OSError as error:
        os.close(lock)
        raise RunUnwritable(f"{path.parent} cannot be locked ({error.strerror}). {GO_ON}") from error
    return lock
