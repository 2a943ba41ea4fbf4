"""The result of `localize`: a run directory read as tables, figures and a conclusion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from interp.errors import RunError
from interp.localizers.attribution import (
    ATTRIBUTION_SCHEMA,
    agreement_table,
    attribution_blocks,
    block_estimates,
)
from interp.localizers.lens import LENS_SCHEMA, lens_layers
from interp.localizers.localization import Localization
from interp.localizers.locate import localize_repair
from interp.localizers.repair import repair_table
from interp.question import FailureSet
from interp.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

ATTRIBUTION, LENS = "attribution.csv", "lens.csv"
VERB = "localize"


@dataclass(frozen=True)
class LocalizeRun:
    """A finished run of `localize`; everything but attribution and lens is read anew from its log.

    Attributes:
        run: The run directory.
    """

    run: Run

    @classmethod
    def read(cls, path: str | Path) -> LocalizeRun:
        """Opens a run directory for reading.

        Raises:
            RunError: There is no run at the path, or it is one of another kind.
            RunDamaged: A file of the run cannot be read back.
        """
        return cls(Run.read(path, verb=VERB))

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.run.path

    @property
    def page(self) -> Path:
        """The page to open in a browser."""
        return self.path / "index.html"

    @property
    def failure_set(self) -> FailureSet:
        """The frozen failure set.

        Raises:
            RunError: The run has not come that far.
        """
        frozen = self.run.failure_set
        if frozen is None:
            raise RunError(f"{self.path} has no failure set yet; start the same command again to go on.")
        return frozen

    @cached_property
    def localization(self) -> Localization:
        """Every number about the best block, with its controls, and the conclusion in words."""
        plan = self.run.plan
        return localize_repair(
            self.run.attempts,
            self.run.questions,
            self.failure_set,
            seed=self.run.seed,
            binary=bool(plan["task"]["binary"]),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the numbers."""
        rows = self.run.attempts
        found = self.run.warnings(n_near_ties=sum(row.near_tie for row in rows), n_rows=len(rows))
        n_parted = self.attribution()["question"].n_unique()
        n_failures = len(self.failure_set.failures)
        if n_parted < n_failures:
            found.append(
                f"Attribution covers {n_parted} of {n_failures} failures: in the others the gold answer does "
                "not part from the given one at a token."
            )
        return tuple(found)

    def repair(self) -> pl.DataFrame:
        """One row a block, the block that repairs most first; see `interp.localizers.repair.repair_table`."""
        return repair_table(self.run.attempts, self.run.questions, self.failure_set)

    def attribution(self) -> pl.DataFrame:
        """One row a failure, layer and point; see `interp.localizers.attribution.attribution_table`."""
        return self._read(ATTRIBUTION, ATTRIBUTION_SCHEMA)

    def lens(self) -> pl.DataFrame:
        """One row a failure and depth; see `interp.localizers.lens.lens_table`."""
        return self._read(LENS, LENS_SCHEMA)

    def blocks(self) -> pl.DataFrame:
        """Measured repair beside the estimates of attribution, one row an MLP block in layer order."""
        return block_estimates(self.repair(), self.attribution())

    def agreement(self) -> pl.DataFrame:
        """Rank agreement of each attribution with the measured repair."""
        return agreement_table(self.blocks())

    @property
    def figures(self) -> Figures:
        """The run's figures, each made when it is asked for."""
        return Figures(self)

    def _read(self, name: str, schema: dict[str, Any]) -> pl.DataFrame:
        path = self.path / name
        if not path.is_file():
            raise RunError(
                f"{path} is not there: the run has not come that far. Start the same command again."
            )
        return pl.read_csv(path, schema=schema, glob=False).with_columns(pl.col(pl.String).fill_null(""))


@dataclass(frozen=True)
class Figures:
    """Figures of a `LocalizeRun`.

    Attributes:
        of: The run that they show.
    """

    of: LocalizeRun

    def repair_against_retention(self) -> go.Figure:
        """Every block by what it repairs and what it keeps."""
        from interp.figures.repair_against_retention import repair_against_retention

        found = self.of.localization
        return repair_against_retention(self.of.repair(), totals=(found.n_failures, found.n_successes))

    def block_ranking(self) -> go.Figure:
        """Blocks ranked by repair, with intervals, retention and net gain beside it."""
        from interp.figures.block_ranking import block_ranking

        return block_ranking(self.of.repair())

    def attribution_map(self) -> go.Figure:
        """Attribution of every MLP and attention block over depth, under the measured repair."""
        from interp.figures.attribution_map import attribution_map

        return attribution_map(attribution_blocks(self.of.attribution()), repair=self.of.repair())

    def lens_trace(self) -> go.Figure:
        """Gold and given answer in the logit lens over depth."""
        from interp.figures.lens_trace import lens_trace

        return lens_trace(lens_layers(self.of.lens()))

    def agreement(self) -> go.Figure:
        """Measured repair against each attribution."""
        from interp.figures.agreement import agreement

        return agreement(self.of.blocks(), self.of.agreement())

    def all(self) -> dict[str, go.Figure]:
        """Every figure by name; those of attribution only where it covers a failure."""
        makers: list[Callable[[], go.Figure]] = [self.repair_against_retention, self.block_ranking]
        if self.of.attribution().height:
            makers += [self.attribution_map, self.lens_trace, self.agreement]
        return {maker.__name__: maker() for maker in makers}
