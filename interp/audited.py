"""The result of `audit`: a run directory read as tables, figures and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from interp.errors import RunError
from interp.probes.probe import Probed
from interp.question import NEAR_TIE, Question
from interp.readings.audit import Audit, Reached, reached_by, summarize
from interp.readings.clusters import Clusters, clusters_of
from interp.readings.contrast import MARGIN, anytime_table, contrast_table, search_pairs
from interp.readings.curves import SCHEMA as REACH_SCHEMA
from interp.readings.curves import reach_table
from interp.readings.decoys import decoy_targets
from interp.readings.placement import placement_table
from interp.readings.probed import attempts_of, tuned_on
from interp.readings.recovered import SCHEMA as SELECTOR_SCHEMA
from interp.readings.recovered import selector_table
from interp.readings.selectors import picked
from interp.readings.states import DEPLOYED, deployed_answers, probe_questions, question_table
from interp.rescore import SPELLED
from interp.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    import plotly.graph_objects as go

VERB = "audit"
PROBES = "probes.json"
VERDICTS = "verdicts.parquet"
RESCORED = "rescored.parquet"
KEY = ("probe", "question", "draw")
VERDICT = ("outcome", "reason", "answer", "span", "grader")


@dataclass(frozen=True)
class AuditRun:
    """A run of `audit`; everything is read anew from its log, without a model.

    Attributes:
        run: The run directory.
    """

    run: Run

    @classmethod
    def read(cls, path: str | Path) -> AuditRun:
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
    def questions(self) -> tuple[Question, ...]:
        """The questions, in order."""
        return self.run.questions

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of the questions, in order."""
        return tuple(question.id for question in self.questions)

    @cached_property
    def probes(self) -> Mapping[str, Probed]:
        """The probes that were run, by name."""
        notes = self.run.read_json(PROBES) if (self.path / PROBES).exists() else []
        return MappingProxyType({note["name"]: Probed.from_json(note) for note in notes})

    @cached_property
    def table(self) -> pl.DataFrame:
        """The log, one row an attempt, with the verdicts of the grader that scored the run last.

        Raises:
            RunError: The run has grown since it was scored by another grader.
        """
        table = self.run.table()
        if not (self.path / VERDICTS).exists():
            return table
        verdicts = pl.read_parquet(self.path / VERDICTS)
        scored = table.drop(VERDICT).join(verdicts, on=KEY, how="left", maintain_order="left")
        n_new = scored["outcome"].null_count()
        if n_new:
            raise RunError(
                f"{self.path} was scored by {verdicts['grader'][0]!r} and has {n_new} attempts since. Score "
                f"it again: interp score {self.path}"
            )
        return scored.select(table.columns)

    @property
    def grader(self) -> str:
        """Version of the grader whose verdicts are read."""
        return str(self.table["grader"][0]) if self.table.height else str(self.run.plan["task"]["grader"])

    @cached_property
    def clusters(self) -> Clusters:
        """Which questions an interval draws together."""
        return clusters_of(self.questions, self.run.plan.get("clusters", "auto"))

    @cached_property
    def deployed(self) -> pl.DataFrame:
        """The one deployed answer of each question; see `interp.readings.states.deployed_answers`."""
        return deployed_answers(self.table, self.run.plan["deployed"]["rule"], self.ids)

    @cached_property
    def targets(self) -> pl.DataFrame:
        """Wrong targets of each question; see `interp.readings.decoys.decoy_targets`."""
        return decoy_targets(self.questions)

    @cached_property
    def attempts(self) -> Mapping[str, pl.DataFrame]:
        """The rows of each probe; see `interp.readings.probed.attempts_of`."""
        found = {name: attempts_of(self.table, probe, self.ids) for name, probe in self.probes.items()}
        if (self.path / RESCORED).exists():
            plain = pl.read_parquet(self.path / RESCORED)
            for name, rows in found.items():
                joined = rows.with_columns(SPELLED).join(
                    plain, on=("question", "spelled"), how="left", maintain_order="left"
                )
                found[name] = joined.drop("spelled")
        return MappingProxyType(found)

    @cached_property
    def found(self) -> Mapping[str, pl.DataFrame]:
        """What each probe found of each question; see `interp.readings.states.probe_questions`."""
        by_probe = {
            name: probe_questions(rows, self.targets, self._replays(name))
            for name, rows in self.attempts.items()
        }
        return MappingProxyType(by_probe)

    def question_table(self, budgets: Mapping[str, int] | None = None) -> pl.DataFrame:
        """One row a question; see `interp.readings.states.question_table`.

        Args:
            budgets: Attempts that count, by probe; a probe that is not named does not count. All attempts of
                all probes unless given.
        """
        if budgets is None or budgets == {name: probe.budget for name, probe in self.probes.items()}:
            return self._questions
        within = {
            name: probe_questions(
                self.attempts[name].filter(pl.col("attempt") < k), self.targets, self._replays(name)
            )
            for name, k in budgets.items()
        }
        return question_table(self.questions, self.deployed, within)

    def _replays(self, name: str) -> pl.DataFrame:
        return self.table.filter(pl.col("probe") == f"replay {name}")

    def reach(self) -> pl.DataFrame:
        """One row a probe and k; see `interp.readings.curves.reach_table`."""
        return self._reach

    def selectors(self) -> pl.DataFrame:
        """One row a probe and selector; see `interp.readings.recovered.selector_table`."""
        return self._selectors

    @cached_property
    def search_pairs(self) -> list[tuple[str, str, int]]:
        """Searches over routes, each with what it must beat; see `interp.readings.contrast.search_pairs`."""
        return search_pairs(self.probes, self.attempts)

    def contrast(self, margin: float = MARGIN) -> pl.DataFrame:
        """Searches against probes that know no answer; see `interp.readings.contrast.contrast_table`.

        Two rows a pair: the budget matched in attempts (different routes), and in layer-tokens.

        Args:
            margin: How much less reach counts as no worse; to be stated before the run.
        """
        tables = [
            contrast_table(
                self.attempts,
                self.search_pairs,
                margin=margin,
                targets=self.targets,
                clusters=self.clusters,
                deployed=deployed,
            )
            for deployed in (None, self.deployed)
        ]
        return pl.concat(tables)

    def anytime(self) -> pl.DataFrame:
        """What probes over routes reach by layer-tokens; see `interp.readings.contrast.anytime_table`.

        With a column `sees_verdicts`.
        """
        names = list(dict.fromkeys(name for one, two, _ in self.search_pairs for name in (one, two)))
        most = max((k for _, _, k in self.search_pairs), default=0)
        table = anytime_table(
            {name: self.attempts[name] for name in names}, self.deployed, range(1, most + 1)
        )
        sees = {name: self.probes[name].sees_verdicts for name in names}
        return table.with_columns(sees_verdicts=pl.col("probe").replace_strict(sees, return_dtype=pl.Boolean))

    def placement(self, *, right: bool = False) -> pl.DataFrame:
        """Where the routes of each probe skip and repeat; see `interp.readings.placement.placement_table`.

        Args:
            right: Whether only routes that were right count.
        """
        return placement_table(self.attempts, self.run.plan["model"]["n_layers"], right=right)

    @cached_property
    def audit(self) -> Audit:
        """Every number of the summary."""
        curves = self._reach.partition_by("probe", as_dict=True) if self._reach.height else {}
        reached: list[Reached] = [
            reached_by(
                probe, self.found[name], curves[(name,)], attempts=self.attempts[name], deployed=self.deployed
            )
            for name, probe in self.probes.items()
        ]
        rows = self.table.filter(pl.col("probe") == DEPLOYED)
        return summarize(self._questions, rows, reached, clusters=self.clusters)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the numbers."""
        n_near = int((self.table["tie_margin"] < NEAR_TIE).sum())
        found = self.run.warnings(n_near_ties=n_near, n_rows=self.table.height)
        made = self.run.plan["task"]["grader"]
        if self.grader != made:
            found.append(f"Read by grader {self.grader}; the run was made with {made}.")
        return tuple(found)

    @property
    def figures(self) -> Figures:
        """The run's figures, each made when it is asked for."""
        return Figures(self)

    @cached_property
    def _questions(self) -> pl.DataFrame:
        return question_table(self.questions, self.deployed, self.found)

    @cached_property
    def _reach(self) -> pl.DataFrame:
        tables = [
            reach_table(
                self.attempts[name], probe, self.questions, targets=self.targets, clusters=self.clusters
            )
            for name, probe in self.probes.items()
        ]
        return pl.concat(tables) if tables else pl.DataFrame(schema=REACH_SCHEMA)

    @cached_property
    def _selectors(self) -> pl.DataFrame:
        default = self.deployed.select("question", "right")
        tables: list[pl.DataFrame] = []
        for name, probe in self.probes.items():
            oracle = self.found[name].select("question", right=pl.col("reachable") | default["right"])
            tables.append(
                selector_table(
                    picked(
                        self.attempts[name],
                        self.deployed,
                        probe,
                        clusters=self.clusters,
                        tuned=tuned_on(self.table, probe),
                    ),
                    probe=name,
                    default=default,
                    oracle=oracle,
                    clusters=self.clusters,
                )
            )
        return pl.concat(tables) if tables else pl.DataFrame(schema=SELECTOR_SCHEMA)


@dataclass(frozen=True)
class Figures:
    """Figures of an `AuditRun`.

    Attributes:
        of: The run that they show.
    """

    of: AuditRun

    def reach_curve(self) -> go.Figure:
        """What k attempts of each probe reach, with their controls."""
        from interp.figures.reach_curve import reach_curve

        audit = self.of.audit
        return reach_curve(self.of.reach(), deployed=audit.realized, n_questions=audit.n_questions)

    def question_map(self, probe: str | None = None) -> go.Figure:
        """Every question a cell: its state, and how often the probe (the first, unless named) is right."""
        from interp.figures.question_map import question_map

        name = probe or next(iter(self.of.probes))
        shown = self.of.question_table().rename({f"rate {name}": "rate"})
        return question_map(shown, probe=self.of.probes[name].title)

    def selector_chart(self, probe: str | None = None) -> go.Figure:
        """What each answer-blind selector keeps of what the probe (the first, unless named) reaches."""
        from interp.figures.selector_chart import selector_chart

        name = probe or next(iter(self.of.probes))
        rows = self.of.selectors().filter(pl.col("probe") == name)
        reached = self.of.found[name]["reachable"] | self.of.deployed["right"]
        return selector_chart(
            rows,
            default=self.of.audit.realized,
            oracle=float(reached.mean() or 0.0),  # pyright: ignore[reportArgumentType]
            sees_verdicts=self.of.probes[name].sees_verdicts,
        )

    def anytime_curve(self) -> go.Figure:
        """What searches over routes reach by layer-tokens, beside those that know no answer."""
        from interp.figures.anytime_curve import anytime_curve

        audit = self.of.audit
        return anytime_curve(self.of.anytime(), deployed=audit.realized, n_questions=audit.n_questions)

    def placement_chart(self, search: str, null: str) -> go.Figure:
        """Where a search puts its edits of the route, against where another probe puts them.

        Args:
            search: A probe over routes.
            null: What it is compared with ("cola:reward=constant").
        """
        from interp.figures.placement_chart import placement_chart

        return placement_chart(self.of.placement(), search=search, null=null)

    def all(self) -> dict[str, go.Figure]:
        """Every figure that needs no choice, by name."""
        makers: list[Callable[[], go.Figure]] = []
        if self.of.probes:
            makers = [self.reach_curve, self.selector_chart, self.question_map]
        if self.of.search_pairs:
            makers.append(self.anytime_curve)
        return {maker.__name__: maker() for maker in makers}
