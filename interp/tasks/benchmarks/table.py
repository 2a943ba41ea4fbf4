"""Finds the files of a benchmark, on this machine or on the hub, and reads their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interp.errors import BadInput, BadQuestions
from interp.tasks.check import summary
from interp.tasks.rows import read_rows


@dataclass(frozen=True)
class Dataset:
    """A dataset on the hub, or a local folder with the same files in it.

    Attributes:
        name: The benchmark's name, for messages.
        repo: The dataset's id on the hub.
        revision: The commit that is read; the newest where it is None. A folder is read as it is.
        folder: A local folder laid out as the dataset; None asks the hub's local cache.
        download: Whether a file that is not on this machine may be fetched from the hub.
    """

    name: str
    repo: str
    revision: str | None = None
    folder: Path | None = None
    download: bool = False

    def find(self, path: str) -> Path:
        """Where a file of the dataset is on this machine.

        Raises:
            BadInput: It is not there, or the hub did not give it; says what to do.
        """
        if self.folder is not None:
            local = self.folder / path
            if not local.is_file():
                raise BadInput(
                    f"{self.name}: there is no file {local}. The folder must be laid out as the dataset "
                    f"{self.repo} is on the hub, with {path} in it."
                )
            return local
        return self._from_hub(path)

    def _from_hub(self, path: str) -> Path:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        where = f"{path} of the dataset {self.repo}" + (f" at {self.revision}" if self.revision else "")
        otherwise = f"or name a folder that holds it (--task {self.name}:dir=FOLDER)."
        try:
            found = hf_hub_download(
                self.repo,
                path,
                repo_type="dataset",
                revision=self.revision,
                local_files_only=not self.download,
            )
        except LocalEntryNotFoundError:
            why = "is not on this machine. Pass --download to fetch it from the hub"
            if self.download:
                why = "is not on this machine, and the hub could not be reached. Try again"
            raise BadInput(f"{self.name}: {where} {why}, {otherwise}") from None
        except HfHubHTTPError as error:
            status = error.response.status_code
            raise BadInput(f"{self.name}: the hub refused {where} ({status}). Sign in, {otherwise}") from None
        return Path(found)


def read_columns(
    path: Path, columns: Sequence[str], *, distinct: str | None = None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a .parquet or .jsonl file with their lines (of a Parquet file: rows), counted from 1.

    Args:
        path: The file.
        columns: Columns that are read; a Parquet file that lacks one is refused at once.
        distinct: A column of which a Parquet file gives each value once, in the first row that has it.

    Raises:
        BadQuestions: The file is empty, damaged, or lacks a column.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path, columns, distinct)
        return
    rows, problems = read_rows(path)
    if problems:
        raise BadQuestions(f"{path} cannot be used.\n{summary(problems)}")
    for row in rows:
        yield row.line, row.values


def _parquet(
    path: Path, columns: Sequence[str], distinct: str | None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import polars
    from polars.exceptions import PolarsError

    try:
        known = polars.read_parquet_schema(path)
        missing = [column for column in columns if column not in known]
        if missing:
            raise BadQuestions(
                f"{path} lacks the column {', '.join(map(repr, missing))}; it has {', '.join(known)}. "
                "Expected the layout of the dataset on the hub."
            )
        frame = polars.read_parquet(path, columns=list(columns)).with_row_index("__row__", offset=1)
    except (PolarsError, OSError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadQuestions(f"{path} is not a valid Parquet file ({why}).") from None
    if distinct is not None:
        frame = frame.unique(distinct, keep="first", maintain_order=True)
    for values in frame.iter_rows(named=True):
        yield values.pop("__row__"), values
