"""A run is a directory: its plan, its questions, its environment, and one row per attempt.

It can be killed at any moment. The log only grows, by whole batches; every other file is there whole
or not at all; and `plan.json`, which makes a directory a run, is written last.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from interp.difference import ABSENT, changes, differences, question_differences
from interp.disk import take_lock, temporary, write_atomic
from interp.errors import BadQuestions, RunDamaged, RunError, RunMismatch
from interp.log import Log, read_table
from interp.question import NEAR_TIE, Attempt, FailureSet, Question

if TYPE_CHECKING:
    import polars

PLAN, QUESTIONS, ENVIRONMENT = "plan.json", "questions.jsonl", "environment.json"
ATTEMPTS, FAILURES, LOCK = "attempts.jsonl", "failure_set.json", ".lock"


class Run:
    """A run directory, opened by `create_or_resume` to be written or by `read` to be read.

    Attributes:
        path: The directory.
        plan: What was asked for: everything that must be the same when the run is resumed.
        questions: The questions, in order.
        environment: What else decides the numbers, as it was when the run was created.
    """

    def __init__(self, path: Path) -> None:
        """Reads a run directory; use `create_or_resume` or `read`."""
        self.path = path
        self.plan = self._read_object(PLAN)
        self.questions = _read_questions(path / QUESTIONS)
        self.environment = self._read_object(ENVIRONMENT)
        self._resumed_with: list[dict[str, list[Any]]] = self.environment.pop("resumed_with", [])
        self._lock: int | None = None

    @cached_property
    def _log(self) -> Log:
        return Log(self.path / ATTEMPTS)

    @classmethod
    def create_or_resume(
        cls,
        path: str | os.PathLike[str],
        *,
        plan: Mapping[str, Any],
        questions: Sequence[Question],
        environment: Mapping[str, Any],
    ) -> Self:
        """Makes a run directory, or opens the one that is there to go on with it.

        The directory stays locked to this process until `close`. A torn last line of the log is cut off.

        Args:
            path: The directory; it and its parents are made if need be.
            plan: JSON value that decides the results; `plan["seed"]`, if there, is the run's seed.
            questions: Every question of the task, in order.
            environment: JSON value of versions, hashes and the like. A difference to the stored one does
                not refuse the run; it is recorded in `environment.json` under `resumed_with`.

        Raises:
            BadQuestions: Two questions have the same id.
            RunError: The path is a file, or a directory with files that is no run.
            RunLocked: Another process is writing to the run.
            RunMismatch: The run was made by another plan or other questions; lists each difference.
            RunDamaged: A file of the run cannot be read back.
            RunUnwritable: The disk is full, or permission is missing.
        """
        path = Path(path)
        plan, environment = _as_json(plan), _as_json(environment)
        _refuse_same_ids(questions)
        _refuse_foreign(path)
        lock = take_lock(path / LOCK)
        try:
            if not (path / PLAN).exists():
                rows = "".join(json.dumps(question.to_json()) + "\n" for question in questions)
                write_atomic(path / QUESTIONS, rows.encode())
                write_atomic(path / ENVIRONMENT, as_bytes(environment))
                write_atomic(path / PLAN, as_bytes(plan))
            run = cls(path)
            run._compare(plan, questions)
            run._note_environment(environment)
            run._log.open()
        except BaseException:
            os.close(lock)
            raise
        run._lock = lock
        return run

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, verb: str | None = None) -> Self:
        """Opens a run for reading only, even while another process writes to it.

        Args:
            path: The run directory.
            verb: What the run must be one of; any unless given.

        Raises:
            RunError: There is no run at the path, or it is one of another verb.
            RunDamaged: A file of the run cannot be read back.
        """
        path = Path(path)
        if not (path / PLAN).is_file():
            raise RunError(f"{path} is no run: it has no {PLAN}. Name a directory that a run was written to.")
        run = cls(path)
        if verb is not None and run.plan.get("verb") != verb:
            raise RunError(f"{path} holds a run of {run.plan.get('verb')!r}, not of {verb!r}.")
        return run

    @classmethod
    def reopen(cls, path: str | os.PathLike[str]) -> Self:
        """Opens a run to write readings into it; its log cannot be appended to.

        The directory stays locked to this process until `close`.

        Raises:
            RunError: There is no run at the path.
            RunDamaged: A file of the run cannot be read back.
            RunLocked: Another process is writing to the run.
            RunUnwritable: Permission is missing.
        """
        run = cls.read(path)
        run._lock = take_lock(run.path / LOCK)
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Releases the directory; the run can still be read."""
        if "_log" in self.__dict__:
            self._log.close()
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    @property
    def seed(self) -> int:
        """The run's seed: `plan["seed"]`, or 0."""
        return int(self.plan.get("seed", 0))

    @property
    def attempts(self) -> list[Attempt]:
        """Every row of the log, in the order in which it was written."""
        return list(self._log.rows.values())

    def table(self) -> polars.DataFrame:
        """The log as a table, read anew from the disk; see `interp.log.read_table`.

        Raises:
            RunDamaged: The log cannot be read back.
        """
        return read_table(self.path / ATTEMPTS)

    @property
    def environment_changes(self) -> dict[str, tuple[Any, Any]]:
        """Dotted name to the values at creation and at a later resumption; empty if nothing ever changed.

        A value that one side lacks is None.
        """
        items = (item for entry in self._resumed_with for item in entry.items())
        return {name: (old, new) for name, (old, new) in items}

    def warnings(self, *, n_near_ties: int, n_rows: int) -> list[str]:
        """What a reader of any run must know before believing its numbers.

        Args:
            n_near_ties: Rows in which rounding alone may have chosen a token.
            n_rows: Rows in all.
        """
        found = list(self.plan.get("warnings", []))
        for name, (old, new) in self.environment_changes.items():
            found.append(f"Resumed in another environment: {name} was {old}, later {new}.")
        if n_near_ties:
            found.append(
                f"In {n_near_ties} of {n_rows} answers a token was chosen by a near tie (a lead below "
                f"{NEAR_TIE:g} units in the last place), so rounding decides: another batch size or machine "
                "may answer otherwise. Load the model in float32 to have none."
            )
        return found

    @property
    def failure_set(self) -> FailureSet | None:
        """The frozen failure set, or None while there is none.

        Raises:
            RunDamaged: It cannot be read, or was edited: its content does not give its hash.
        """
        if not (self.path / FAILURES).exists():
            return None
        value = self.read_json(FAILURES)
        try:
            frozen, written = FailureSet.from_json(value), value["hash"]
        except (AttributeError, KeyError, TypeError) as error:
            raise RunDamaged(f"{self.path / FAILURES} is no failure set ({error!r}).") from None
        if frozen.hash != written:
            raise RunDamaged(
                f"{self.path / FAILURES} was edited: its hash is {frozen.hash}, it says {written}. "
                "Undo the edit, or pass the ids to a new run as a file."
            )
        return frozen

    def append(self, rows: Sequence[Attempt]) -> None:
        """Adds rows to the log: all of them are on the disk when it returns, or none.

        Raises:
            ValueError: A row's key is in the log already.
            RunError: The run is open for reading only.
            RunUnwritable: The disk is full, or the like; the log is as it was.
        """
        self._log.append(rows)

    def freeze(self, failures: FailureSet) -> None:
        """Writes the failure set once; later calls must bring the same.

        Raises:
            RunMismatch: Another failure set is frozen already.
            RunDamaged: The frozen one cannot be read back.
            RunUnwritable: The disk is full, or permission is missing.
        """
        frozen = self.failure_set
        if frozen is None:
            self.write_json(FAILURES, failures.to_json())
        elif frozen.hash != failures.hash:
            found = differences(_as_json(frozen.to_json()), _as_json(failures.to_json()))
            raise RunMismatch(
                f"{self.path} has another failure set, frozen before any block was tried: "
                f"{'; '.join(found)}. Write to another directory."
            )

    def read_json(self, name: str) -> Any:
        """Reads a JSON file of the run.

        Raises:
            RunError: There is no such file.
            RunDamaged: It is no JSON, or cannot be read.
        """
        path = self.path / name
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            raise RunError(
                f"{path} is not there: the run has not come that far, or it was removed."
            ) from None
        except (ValueError, OSError) as error:
            raise RunDamaged(f"{path} cannot be read back ({error}).") from None

    def _read_object(self, name: str) -> dict[str, Any]:
        value = self.read_json(name)
        if not isinstance(value, dict):
            raise RunDamaged(f"{self.path / name} holds no JSON object.")
        return value

    def write_json(self, name: str, value: Any) -> Path:
        """Writes a JSON value, whole or not at all, and gives its path.

        Raises:
            ValueError: The value holds NaN or infinity, which JSON lacks; write None.
            RunError: The run is open for reading only.
            RunUnwritable: The disk is full, or permission is missing; what stood there before stands.
        """
        return self._write(name, as_bytes(value))

    def write_text(self, name: str, text: str) -> Path:
        """Writes a text in UTF-8, whole or not at all, and gives its path; raises as `write_json`."""
        return self._write(name, text.encode())

    def write_table(self, name: str, table: polars.DataFrame) -> Path:
        """Writes a table as CSV and gives its path; raises as `write_json`.

        Floats stand in the shortest form that reads back the same, null as nothing.
        """
        return self._write(name, table.write_csv().encode())

    def write_parquet(self, name: str, table: polars.DataFrame) -> Path:
        """Writes a table as Parquet and gives its path; raises as `write_json`."""
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        return self._write(name, buffer.getvalue())

    def _write(self, name: str, data: bytes) -> Path:
        if self._lock is None:
            raise RunError(f"{self.path} is open for reading only. Resume the run to write to it.")
        write_atomic(self.path / name, data)
        return self.path / name

    def _compare(self, plan: Mapping[str, Any], questions: Sequence[Question]) -> None:
        found = [*differences(self.plan, plan), *question_differences(self.questions, questions)]
        if found:
            raise RunMismatch(
                f"{self.path} was made by another plan or other questions: {'; '.join(found)}. "
                "Write to another directory, or ask for what it was made with."
            )

    def _note_environment(self, environment: Mapping[str, Any]) -> None:
        pairs = changes(self.environment, environment)
        entry = {name: [None if v is ABSENT else v for v in pair] for name, pair in pairs.items()}
        if entry and entry not in self._resumed_with:
            self._resumed_with.append(entry)
            write_atomic(
                self.path / ENVIRONMENT, as_bytes(self.environment | {"resumed_with": self._resumed_with})
            )


def _read_questions(path: Path) -> tuple[Question, ...]:
    try:
        return tuple(Question.from_json(json.loads(line)) for line in path.read_bytes().splitlines())
    except (AttributeError, KeyError, TypeError, ValueError, OSError) as error:
        raise RunDamaged(f"{path} cannot be read back ({error!r}).") from None


def _refuse_same_ids(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise BadQuestions(f"Two questions have the id {question.id!r}. Give each its own.")
        seen.add(question.id)


def _refuse_foreign(path: Path) -> None:
    """Refuses a path at which something else than a run, whole or just begun, stands."""
    try:
        there = path.exists()
    except OSError as error:
        raise RunError(f"{str(path)[:80]!r} cannot be a run directory ({error.strerror}).") from None
    if there and not path.is_dir():
        raise RunError(f"{path} is a file. A run is a directory: name a new or empty one.")
    names = {entry.name for entry in path.iterdir()} if there else set[str]()
    begun = {LOCK, QUESTIONS, ENVIRONMENT, *map(temporary, (QUESTIONS, ENVIRONMENT, PLAN))}
    if names and PLAN not in names and not (LOCK in names and names <= begun):
        raise RunError(f"{path} holds files but is no run: it has no {PLAN}. Name a new or empty directory.")


def as_bytes(value: Any) -> bytes:
    """A JSON value as a file for people holds it; NaN and infinity are refused with `ValueError`."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as it reads back from JSON: tuples are lists, keys are strings."""
    return json.loads(json.dumps(value))
