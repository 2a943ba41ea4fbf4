"""The result of `compare`: two audits of the same questions, read as one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from interp.audited import AuditRun
from interp.readings.clusters import Clusters
from interp.readings.comparison import (
    DEPLOYED,
    REACHABLE,
    Comparison,
    change,
    compare_tables,
    crossing,
    flow_table,
    pair_table,
)
from interp.readings.matching import Evaluated, Mismatch, match

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

    from interp.readings.comparison import Flags


@dataclass(frozen=True)
class ComparedRuns:
    """Two audits that measured the same thing, question by question.

    Attributes:
        before: The one.
        after: The other.
        allowed: What differs between the two evaluations and was accepted.
    """

    before: AuditRun
    after: AuditRun
    allowed: tuple[Mismatch, ...] = ()

    @classmethod
    def match(cls, before: AuditRun, after: AuditRun, *, allow: Collection[str] = ()) -> ComparedRuns:
        """Two audits, once they are known to match.

        Raises:
            RunMismatch: They measured different things; names each difference.
            UnknownName: There is no such difference to allow.
            BadInput: They share no question.
        """
        return cls(before, after, match(_evaluated(before), _evaluated(after), allow=allow))

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row a question of both; see `interp.readings.comparison.pair_table`."""
        return pair_table(*(run.question_table(self.budgets) for run in (self.before, self.after)))

    @cached_property
    def flow(self) -> pl.DataFrame:
        """Questions by state before and after; see `interp.readings.comparison.flow_table`."""
        return flow_table(self.pairs)

    @cached_property
    def probes(self) -> tuple[str, ...]:
        """Names of the probes that both have."""
        return tuple(name for name in self.before.probes if name in self.after.probes)

    @cached_property
    def budgets(self) -> dict[str, int]:
        """Attempts that count, by probe: as many as both have made."""
        return {
            name: min(run.probes[name].budget for run in (self.before, self.after)) for name in self.probes
        }

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters of the questions that both have."""
        label = dict(zip(self.before.ids, self.before.clusters.labels, strict=True))
        return Clusters(tuple(label[i] for i in self.pairs["id"]), self.before.clusters.about)

    @cached_property
    def comparison(self) -> Comparison:
        """Every number of the comparison; p-values adjusted within it need `with_holm`."""
        pairs = self.pairs
        right = [(pairs[f"outcome_{end}"] == "right").to_numpy() for end in ("before", "after")]
        changes = [change(DEPLOYED, 1, right[0], right[1], clusters=self.clusters)]
        for name, k in self.budgets.items():
            reached = [self._reached(run, name, k) for run in (self.before, self.after)]
            changes.append(change(name, k, reached[0], reached[1], clusters=self.clusters))
        if self.probes:
            joined = [pairs[f"reachable_{end}"].to_numpy() for end in ("before", "after")]
            changes.append(change(REACHABLE, 0, joined[0], joined[1], clusters=self.clusters))
        names = (str(self.before.path), str(self.after.path))
        found = compare_tables(pairs, changes, names=names, clusters=self.clusters)
        crossings = {
            name: crossing(*(_curve(run, name) for run in (self.before, self.after))) for name in self.probes
        }
        return replace(found, allowed=tuple(map(str, self.allowed)), crossings=crossings)

    def reach(self) -> pl.DataFrame:
        """The reach tables of both runs, with a column `run`: "before" or "after"."""
        return pl.concat(
            [
                run.reach().filter(pl.col("probe").is_in(self.probes)).with_columns(run=pl.lit(name))
                for name, run in (("before", self.before), ("after", self.after))
            ]
        )

    def arrows(self) -> pl.DataFrame:
        """One row a probe for the arrow plot: deployed score against ceiling, before and after."""
        found = self.comparison
        ceilings = found.ceilings[:1] if len(self.probes) == 1 else found.ceilings
        rows = [
            {
                "name": _label(self.before, self.after),
                "probe": ceiling.name,
                "k": ceiling.k,
                "deployed_before": found.deployed.before,
                "deployed_after": found.deployed.after,
                "ceiling_before": ceiling.before,
                "ceiling_after": ceiling.after,
            }
            for ceiling in ceilings
        ]
        return pl.DataFrame(rows)

    @property
    def figures(self) -> ComparedFigures:
        """The comparison's figures, each made when it is asked for."""
        return ComparedFigures(self)

    def _reached(self, run: AuditRun, name: str, k: int) -> Flags:
        """Whether one of the first k attempts of a probe is right."""
        first = run.attempts[name].filter(pl.col("attempt") < k)
        reached = first.group_by("question").agg(pl.col("right").any())
        return self.pairs.join(reached, left_on="id", right_on="question", maintain_order="left")[
            "right"
        ].to_numpy()


@dataclass(frozen=True)
class ComparedFigures:
    """Figures of `ComparedRuns`.

    Attributes:
        of: The runs that they show.
    """

    of: ComparedRuns

    def arrow_plot(self) -> go.Figure:
        """Deployed score against reachable ceiling, one arrow a probe."""
        from interp.figures.arrow_plot import arrow_plot

        return arrow_plot(self.of.arrows())

    def state_flow(self) -> go.Figure:
        """Questions between states."""
        from interp.figures.state_flow import state_flow

        return state_flow(self.of.flow)

    def reach_curve(self) -> go.Figure:
        """What k attempts reach, before and after."""
        from interp.figures.reach_curve import reach_curve

        found = self.of.comparison
        return reach_curve(self.of.reach(), deployed=found.deployed.after, n_questions=found.n_questions)

    def question_map(self) -> go.Figure:
        """Every question a cell, before and after, in one order."""
        from interp.figures.question_map import question_map_pair

        ids = self.of.pairs["id"].to_list()
        name = self.of.probes[0]
        shown = [
            run.question_table(self.of.budgets)
            .filter(pl.col("id").is_in(ids))
            .rename({f"rate {name}": "rate"})
            for run in (self.of.before, self.of.after)
        ]
        return question_map_pair(*shown)

    def all(self) -> dict[str, go.Figure]:
        """Every figure by name."""
        makers: list[Callable[[], go.Figure]] = [self.state_flow]
        if self.of.probes:
            makers = [self.arrow_plot, self.reach_curve, self.state_flow, self.question_map]
        return {maker.__name__: maker() for maker in makers}


def _evaluated(run: AuditRun) -> Evaluated:
    prompts = run.deployed.select("question", "prompt_hash")
    return Evaluated(str(run.path), run.run.plan, run.questions, run.probes, prompts, run.grader)


def _curve(run: AuditRun, name: str) -> pl.DataFrame:
    return run.reach().filter(pl.col("probe") == name)


def _label(before: AuditRun, after: AuditRun) -> str:
    return f"{before.path.name} to {after.path.name}"
