"""The log of a run, `attempts.jsonl`: one row per attempt, appended by whole batches, never changed."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from interp.disk import GO_ON, sync_directory, write_all
from interp.errors import RunDamaged, RunError, RunUnwritable
from interp.question import Attempt, TokenScores

if TYPE_CHECKING:
    import polars

_REPAIR = "Remove the line and resume the run: what is missing is asked again."


class Log:
    """Rows in the order in which they were written, each key once.

    A last line that a crash tore, without a line break or no JSON, does not count; opening the log to
    write cuts it off. Lines are ASCII, so that no reader can find a line break inside a row.

    Attributes:
        path: The file; it need not be there yet.
        rows: Attempt by key (probe, question, draw).
    """

    def __init__(self, path: Path) -> None:
        """Reads a log.

        Raises:
            RunDamaged: A line before the last is no attempt, or two rows of one key differ.
        """
        self.path = path
        self.rows, self._n_bytes = _read(path)
        self._handle: int | None = None

    def open(self) -> Self:
        """Opens the log to be written; the caller sees to it that no one else does.

        Raises:
            RunUnwritable: Permission is missing, or the disk is full.
        """
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            if os.fstat(self._handle).st_size != self._n_bytes:
                os.ftruncate(self._handle, self._n_bytes)
            os.fsync(self._handle)
            sync_directory(self.path.parent)
        except OSError as error:
            self.close()
            raise RunUnwritable(f"{self.path} cannot be written ({error.strerror}). {GO_ON}") from error
        return self

    def close(self) -> None:
        """Ends writing; the rows can still be read."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None

    def append(self, rows: Sequence[Attempt]) -> None:
        """Adds rows: all of them are on the disk when it returns, or none.

        Raises:
            ValueError: A row's key is in the log already.
            RunError: The log is not open to be written.
            RunUnwritable: The disk is full, or the like; the log is as it was.
        """
        if self._handle is None:
            raise RunError(f"{self.path} is open for reading only. Resume the run to write to it.")
        known = set(self.rows)
        for row in rows:
            if row.key in known:
                raise ValueError(f"{row.key} is in the log already; a draw is written once")
            known.add(row.key)
        data = "".join(json.dumps(row.to_json()) + "\n" for row in rows).encode()
        self._append_bytes(self._handle, data)
        self._n_bytes += len(data)
        self.rows.update((row.key, row) for row in rows)

    def _append_bytes(self, handle: int, data: bytes) -> None:
        try:
            os.lseek(handle, self._n_bytes, os.SEEK_SET)
            write_all(handle, data)
            os.fsync(handle)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self._n_bytes)
            if isinstance(error, OSError):
                raise RunUnwritable(
                    f"{self.path} cannot be written ({error.strerror}). Nothing was lost but the batch "
                    f"in flight: the {len(self.rows)} rows before it stand. {GO_ON}"
                ) from error
            raise


def _read(path: Path) -> tuple[dict[tuple[str, str, int], Attempt], int]:
    """The rows of a log by key, and the length in bytes of what is whole."""
    data = path.read_bytes() if path.exists() else b""
    *lines, torn = data.split(b"\n")
    n_bytes = len(data) - len(torn)
    rows: dict[tuple[str, str, int], Attempt] = {}
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError:
            if number == len(lines) and not torn:
                return rows, n_bytes - len(line) - 1
            raise RunDamaged(f"{path}, line {number}: not a row of JSON. {_REPAIR}") from None
        try:
            row = Attempt.from_json(value)
        except (KeyError, TypeError, ValueError) as error:
            raise RunDamaged(f"{path}, line {number}: not an attempt ({error!r}). {_REPAIR}") from None
        if rows.setdefault(row.key, row) != row:
            raise RunDamaged(f"{path}, line {number}: a second, different row for {row.key}. {_REPAIR}")
    return rows, n_bytes


def read_table(path: Path) -> polars.DataFrame:
    """The log as a table, one row an attempt, each key once, in the order in which it was written.

    Columns are the fields of `Attempt`; their types are fixed, whatever the rows hold. `span` is a list of
    two characters' places, `scores` a struct of lists, null where nothing was scored.

    Raises:
        RunDamaged: A line before the last is no attempt, or two rows of one key differ.
    """
    import polars as pl
    from polars.exceptions import PolarsError

    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    key = ["probe", "question", "draw"]
    try:
        table = pl.read_ndjson(io.BytesIO(whole), schema=table_schema()) if whole else None
    except PolarsError:
        table = None  # a torn line, half of a surrogate pair, or damage: the slow reader knows which
    if table is not None and table.height == whole.count(b"\n"):
        flawed = pl.any_horizontal(pl.col(*key, "outcome").is_null()) | pl.struct(key).is_duplicated()
        if not table.select(flawed.any()).item():
            return table
    rows, _ = _read(path)
    return pl.DataFrame([_clean(row.to_json()) for row in rows.values()], schema=table_schema())


def table_schema() -> dict[str, Any]:
    """Column types of the log as a table."""
    import polars as pl

    floats, counts = pl.List(pl.Float64), pl.List(pl.Int64)
    words = ("question", "question_hash", "probe", "procedure", "prompt_hash", "text", "finish")
    types: dict[str, Any] = dict.fromkeys(
        (*words, "outcome", "reason", "answer", "grader", "route"), pl.String
    )
    types |= dict.fromkeys(("draw", "seed", "n_prompt_tokens", "n_layer_tokens"), pl.Int64)
    types["tie_margin"] = pl.Float64
    types |= {"interventions": pl.List(pl.String), "tokens": counts, "span": counts}
    scores = {f.name: counts if f.name == "start" else floats for f in fields(TokenScores)}
    types["scores"] = pl.Struct(scores)
    return {f.name: types[f.name] for f in fields(Attempt)}


def _clean(row: dict[str, Any]) -> dict[str, Any]:
    """The row without halves of surrogate pairs, which a table cannot hold."""
    return row | {
        name: row[name].encode("utf-8", "replace").decode()
        for name in ("text", "answer")
        if row[name] is not None
    }
