"""`audit`: question by question, what a model answers and what a probe reaches within its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from interp.audited import RESCORED, VERB, AuditRun
from interp.errors import BadInput, Unsupported
from interp.execute import Watcher, execute
from interp.intervention import Intervention
from interp.jobs.asked import askable, asked_record, environment_of, whole_batch
from interp.jobs.probing import checked_probes, noted_probes, routes_of
from interp.probes.deployed import Deployed
from interp.probes.load import load_probe
from interp.probes.probe import Probe, Probed
from interp.probes.replay import Replay
from interp.probes.setting import Setting
from interp.procedure import Procedure
from interp.question import Attempt, Outcome
from interp.readings.clusters import By, clusters_of
from interp.readings.states import Rule
from interp.readings.words import headline, sentences
from interp.rescore import rescore
from interp.route import Route
from interp.run import Run
from interp.tasks.task import Task

if TYPE_CHECKING:
    from interp.models.model import Model


@dataclass(frozen=True)
class AuditPlan:
    """What `audit` is asked to do, beside model and task.

    Attributes:
        probes: The probes, one line each ("sampling:32", "silencing").
        rule: How the draws of a deployed procedure that samples make one answer: "first", or "majority".
        n_draws: Draws that the rule needs; 1 for "first".
        interventions: Edits that are part of the deployed procedure, and so of every probe's.
        route: In which order the layers of the deployed procedure run; probes over routes put theirs there.
        seed: Seed of the draws.
        clusters: Which questions an interval draws together: "auto", "template", "subject" or "none".
        batch_size: Rows a batch; None takes about 256.
    """

    probes: tuple[str, ...] = ("sampling:32",)
    rule: Rule = "first"
    n_draws: int = 1
    interventions: tuple[Intervention, ...] = ()
    route: Route | None = None
    seed: int = 0
    clusters: By = "auto"
    batch_size: int | None = None

    def __post_init__(self) -> None:
        """Refuses rules and numbers that mean nothing.

        Raises:
            BadInput: The rule is unknown, it and the number of draws do not fit, the seed is negative, or a
                batch would be empty.
        """
        if self.rule not in ("first", "majority"):
            raise BadInput(f"There is no rule {self.rule!r} for one answer. Use first, or majority:8.")
        if (self.rule == "majority") != (self.n_draws > 1) or self.n_draws < 1:
            raise BadInput(
                f"The rule {self.rule!r} does not go with {self.n_draws} draws: first takes 1, majority at "
                "least 2."
            )
        if self.seed < 0:
            raise BadInput(f"A seed is 0 or more, got {self.seed}.")
        if self.batch_size is not None and self.batch_size < 1:
            raise BadInput(f"A batch needs at least one row, got {self.batch_size}.")


def audit(
    model: Model,
    task: Task,
    *,
    out: str | Path,
    plan: AuditPlan | None = None,
    watcher: Watcher | None = None,
) -> AuditRun:
    """Audits, question by question, what a model delivers and what it could have delivered.

    Asks every question as deployed, then what each probe proposes, then makes the first hits again in batches
    of another shape, and reads the log. Started again on the same directory it goes on where it was; a larger
    budget or another probe adds rows and changes none.

    Args:
        model: A loaded model.
        task: Questions, and how they are asked; its decoding is the deployed one.
        out: The run directory.
        plan: Probes, the rule for one answer, seed.
        watcher: Is told how far the run is.

    Raises:
        BadInput: A probe's line cannot be read, or a majority is asked of greedy decoding.
        BadLogits: The model gave NaN or infinite logits.
        QuestionTooLong: A question does not fit into the context; nothing was asked.
        RunError: The directory cannot be used: other plan, locked, damaged, or not writable.
        UnknownName: There is no such probe.
        Unsupported: The backend cannot sample, or a site does not exist in the model.

    Reference:
        "Reachability Is Not Realization: Tracing the Sources of LLM Benchmark Gains",
        arXiv 2608.03219 (2026). Decoys, replays and the interval by clusters are ours.
    """
    plan = plan or AuditPlan()
    task, warnings = askable(model, task)
    procedure = replace(task.procedure, interventions=plan.interventions, route=plan.route)
    if plan.rule == "majority" and procedure.decoding.is_greedy:
        raise BadInput("Greedy draws are all the same. Give --temperature with a majority.")
    if task.binary:
        warnings.append(
            "Every answer of this task is one of two options: two tries can reach every question."
        )
    clusters_of(task.questions, plan.clusters)  # refuses what the questions lack
    setting = Setting(procedure, model.n_layers, tuple(q.id for q in task.questions), plan.seed)
    model.check_procedure([question.text for question in task.questions[:1]], procedure)
    asked = checked_probes(model, task, plan.probes, setting, earlier=Path(out))
    batch_size = plan.batch_size or whole_batch(model.n_layers)
    record = _record(model, task, procedure, plan, batch_size=batch_size, warnings=warnings)
    with Run.create_or_resume(
        out, plan=record, questions=task.questions, environment=environment_of(model)
    ) as run:
        loop = _Loop(model, task, run, batch_size, watcher)
        loop.run(Deployed(procedure, plan.n_draws))
        for note in noted_probes(run, asked):
            followed = partial(routes_of, run, most=note.n_followed)
            probe, _ = load_probe(note.line, replace(setting, log=followed))
            rows = loop.run(probe)
            loop.replay(probe, note, rows)
            if not note.exchangeable:
                loop.rescore(probe.name, procedure, rows)
        audited = AuditRun(run)
        write_readings(audited)
    return audited


def write_readings(audited: AuditRun) -> None:
    """Writes every reading of the log into the run, the page last."""
    from interp.report.audit_page import write_audit_page

    run = audited.run
    run.write_table("questions.csv", audited.question_table())
    run.write_table("reach.csv", audited.reach())
    run.write_table("selectors.csv", audited.selectors())
    if audited.search_pairs:
        run.write_table("contrast.csv", audited.contrast())
    for name, found in audited.found.items():
        run.write_table(f"{file_name(name)}.csv", found)
    words = {"headline": headline(audited.audit), "sentences": sentences(audited.audit)}
    run.write_json("audit.json", {**words, **audited.audit.to_json(), "warnings": list(audited.warnings)})
    write_audit_page(audited)


def file_name(probe: str) -> str:
    """The name of a probe as part of a file name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in probe)


@dataclass(frozen=True)
class _Loop:
    """Asks what probes propose, each in the same way."""

    model: Model
    task: Task
    log: Run
    batch_size: int
    watcher: Watcher | None

    def run(self, probe: Probe, *, batch_size: int | None = None) -> list[Attempt]:
        return execute(
            self.model,
            self.task,
            probe,
            self.log,
            batch_size=batch_size or self.batch_size,
            scored=True,
            watcher=self.watcher,
        )

    def replay(self, probe: Probe, note: Probed, rows: Sequence[Attempt]) -> None:
        """Makes the hits of a probe again, in smaller batches and another order."""
        asked = _asked(probe, self.task, rows)
        hits = [row for row in rows if row.outcome is Outcome.RIGHT and row.draw >= note.n_controls]
        hits.sort(key=lambda row: row.draw)
        draws: dict[str, list[int]] = {}
        procedures: dict[str, list[Procedure]] = {}
        for row in hits:
            draws.setdefault(row.question, []).append(row.draw)
            procedures.setdefault(row.question, []).append(asked[row.key])
        replay = Replay(
            probe.name,
            {i: tuple(found) for i, found in draws.items()},
            {i: tuple(found) for i, found in procedures.items()},
        )
        self.run(replay, batch_size=self.batch_size // 3 + 1)

    def rescore(self, name: str, procedure: Procedure, rows: Sequence[Attempt]) -> None:
        """Reads the answers of edited models with the deployed one, where the model can be run forward."""
        path = self.log.path / RESCORED
        known = pl.read_parquet(path) if path.exists() else None
        if self.watcher is not None:
            self.watcher.stage(f"rescoring {name}", len(rows), 0)
        try:
            found = rescore(self.model, self.task.questions, procedure, rows, known=known)
        except Unsupported:
            return
        if known is None or found.height > known.height:
            self.log.write_parquet(RESCORED, found)
        if self.watcher is not None:
            self.watcher.stage(f"rescoring {name}", len(rows), len(rows))


def _asked(probe: Probe, task: Task, rows: Sequence[Attempt]) -> dict[tuple[str, str, int], Procedure]:
    """How each draw of a probe was asked, from its own proposals replayed over its rows."""
    log = {row.key: row for row in rows}
    found: dict[tuple[str, str, int], Procedure] = {}
    history: list[Attempt] = []
    while draws := probe.propose(task.questions, tuple(history)):
        for draw in draws:
            key = (probe.name, draw.question, draw.draw)
            history.append(log[key])
            found[key] = draw.procedure
    return found


def _record(
    model: Model,
    task: Task,
    procedure: Procedure,
    plan: AuditPlan,
    *,
    batch_size: int,
    warnings: list[str],
) -> dict[str, Any]:
    """The plan as it is written down: all that must be the same when a run is resumed.

    Probes are not in it, since a run may be given more of them.
    """
    return {
        "verb": VERB,
        **asked_record(model, task, procedure),
        "deployed": {"rule": plan.rule, "n_draws": plan.n_draws},
        "seed": plan.seed,
        "clusters": plan.clusters,
        "batch_size": batch_size,
        "warnings": warnings,
    }
