"""`compare`: what changed between two audits of the same questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interp.audited import AuditRun
from interp.compared import ComparedRuns
from interp.disk import write_atomic
from interp.errors import BadInput
from interp.readings.changed_words import changed_headline, changed_sentences
from interp.readings.comparison import Comparison, with_holm
from interp.run import as_bytes

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Compared:
    """One audit against one or more others.

    Attributes:
        path: The folder that pages and tables were written to.
        pairs: The runs, pair by pair.
        comparisons: Their numbers, p-values adjusted over all pairs.
    """

    path: Path
    pairs: tuple[ComparedRuns, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def pages(self) -> list[Path]:
        """The page of each pair."""
        return [folder / "index.html" for folder in self.folders]

    @property
    def folders(self) -> list[Path]:
        """The folder of each pair: the one given, or one below it for each of several."""
        if len(self.pairs) == 1:
            return [self.path]
        return [self.path / f"{number}-{pair.after.path.name}" for number, pair in enumerate(self.pairs, 1)]


def compare(
    before: str | Path | AuditRun,
    after: Sequence[str | Path | AuditRun],
    *,
    out: str | Path,
    allow: Collection[str] = (),
) -> Compared:
    """Compares an audit with others of the same questions; no model is asked.

    Args:
        before: The run of `audit` before: a base model, or the plain one.
        after: The runs after: trained, or with a block silenced.
        out: The folder to write tables and pages to.
        allow: Names of differences between the evaluations to accept; see `interp.readings.matching.NAMES`.

    Raises:
        RunMismatch: The evaluations differ in more than model and edits; names each difference.
        UnknownName: There is no such difference to allow.
        BadInput: There is nothing to compare with, the runs share no question, or `out` is a run.
        RunError: A run cannot be read, or the folder not be written.
    """
    if not after:
        raise BadInput("There is nothing to compare with. Name at least one run after the first.")
    out = Path(out)
    if (out / "plan.json").exists():
        raise BadInput(f"{out} is a run. Write the comparison to another folder.")
    first = before if isinstance(before, AuditRun) else AuditRun.read(before)
    others = [run if isinstance(run, AuditRun) else AuditRun.read(run) for run in after]
    pairs = [ComparedRuns.match(first, other, allow=allow) for other in others]
    compared = Compared(out, tuple(pairs), tuple(with_holm([pair.comparison for pair in pairs])))
    for folder, pair, found in zip(compared.folders, pairs, compared.comparisons, strict=True):
        _write(folder, pair, found)
    return compared


def _write(folder: Path, pair: ComparedRuns, found: Comparison) -> None:
    from interp.report.comparison_page import write_comparison_page

    words = {"headline": changed_headline(found), "sentences": changed_sentences(found)}
    write_atomic(folder / "comparison.json", as_bytes({**words, **found.to_json()}))
    tables: dict[str, pl.DataFrame] = {"questions": pair.pairs, "flow": pair.flow, "reach": pair.reach()}
    for name, table in tables.items():
        write_atomic(folder / f"{name}.csv", table.write_csv().encode())
    write_comparison_page(folder, pair, found)
