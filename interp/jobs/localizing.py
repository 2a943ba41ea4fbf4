"""`localize`: which MLP block silences right answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from interp.errors import BadFailureSet, BadInput
from interp.execute import Watcher, execute
from interp.intervention import Scope
from interp.jobs.asked import askable, asked_record, environment_of, whole_batch
from interp.localized import ATTRIBUTION, LENS, VERB, LocalizeRun
from interp.localizers.attribution import Ablation, attribution_table
from interp.localizers.failures import choose_failures, read_failure_file
from interp.localizers.lens import lens_table
from interp.localizers.parting import find_partings
from interp.models.reference import mean_reference, read_reference, reference_key, reference_table
from interp.probes.deployed import Deployed
from interp.probes.silencing import Silencing
from interp.question import Attempt
from interp.report.localization_page import page_content
from interp.report.page import write_page
from interp.run import Run
from interp.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from interp.models.model import Model
    from interp.site import Site

RULES = ("wrong", "unreadable", "not-right")
ABLATIONS = ("zero", "mean")
REFERENCE = "reference.parquet"


@dataclass(frozen=True)
class LocalizePlan:
    """What `localize` is asked to do, beside model and task.

    Attributes:
        failures: Which answers are failures: "wrong", "unreadable" or "not-right"; or the path of a file
            with question ids.
        scope: Positions at which a block is silenced.
        ablation: "zero" silences a block; "mean" puts its mean contribution over all questions there.
        seed: Seed of the choice of questions, of the halves and of the permutations.
        max_failures: Most failures to sweep over; None takes all.
        max_successes: Most successes; None takes as many as failures.
        batch_size: Rows a batch; None takes about 256, in whole questions.
    """

    failures: str = "wrong"
    scope: Scope = Scope.BOTH
    ablation: Literal["zero", "mean"] = "zero"
    seed: int = 0
    max_failures: int | None = 48
    max_successes: int | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        """Refuses unknown words, negative seeds, empty batches, and caps that leave nothing to measure.

        Raises:
            BadInput: Scope or ablation is unknown, the seed is negative, a batch would be empty, or a cap is
                too small.
        """
        if self.scope not in set(Scope):
            raise BadInput(f"There is no scope {str(self.scope)!r}. Use one of: {', '.join(Scope)}.")
        object.__setattr__(self, "scope", Scope(self.scope))
        if self.ablation not in ABLATIONS:
            raise BadInput(f"There is no ablation {self.ablation!r}. Use one of: {', '.join(ABLATIONS)}.")
        if self.seed < 0:
            raise BadInput(f"A seed is 0 or more, got {self.seed}.")
        if self.batch_size is not None and self.batch_size < 1:
            raise BadInput(f"A batch needs at least one row, got {self.batch_size}.")
        if self.max_failures is not None and self.max_failures < 2:
            raise BadInput(f"Two halves need at least 2 failures, got max_failures={self.max_failures}.")
        if self.max_successes is not None and self.max_successes < 1:
            raise BadInput(
                f"At least 1 success must be kept in view, got max_successes={self.max_successes}."
            )

    @property
    def rule(self) -> Any:
        """The rule of the failure set: its name, or the ids that a file lists.

        Raises:
            BadFailureSet: It is no rule and no file, or the file cannot be read or holds no id.
        """
        if self.failures in RULES:
            return self.failures
        if not Path(self.failures).exists():
            raise BadFailureSet(
                f"{self.failures!r} is no failure rule ({', '.join(RULES)}), and there is no such file of "
                "question ids."
            )
        return read_failure_file(self.failures)


def localize(
    model: Model,
    task: Task,
    *,
    out: str | Path,
    plan: LocalizePlan | None = None,
    watcher: Watcher | None = None,
) -> LocalizeRun:
    """Finds the MLP block whose silencing repairs what a model gets wrong.

    Asks every question under the deployed procedure, freezes failures and matched successes, silences each
    MLP block in turn on both, reads off repair and its controls, and attributes the same failures. Started
    again on the same directory it goes on where it was.

    Args:
        model: A loaded model.
        task: Questions, and how they are asked.
        out: The run directory.
        plan: Failure rule, scope, ablation, caps.
        watcher: Is told how far the run is.

    Raises:
        BadFailureSet: The deployed procedure leaves fewer than two failures, or no success.
        BadLogits: The model gave NaN or infinite logits.
        QuestionTooLong: A question does not fit into the context; nothing was asked.
        RunError: The directory cannot be used: other plan, locked, damaged, or not writable.

    Reference:
        "Reachability Is Not Realization: Tracing the Sources of LLM Benchmark Gains",
        arXiv 2608.03219 (2026). The matched successes, halves, nulls and attribution are ours.
    """
    plan = plan or LocalizePlan()
    task, warnings = askable(model, task)
    if task.binary:
        warnings.append(
            "Every answer of this task is one of two options: a block that flips them repairs every failure."
        )
    batch_size = plan.batch_size or whole_batch(model.n_layers)
    record = _record(model, task, plan, batch_size=batch_size, warnings=warnings)
    with Run.create_or_resume(
        out, plan=record, questions=task.questions, environment=environment_of(model)
    ) as run:
        deployed = execute(model, task, Deployed(task.procedure), run, batch_size=batch_size, watcher=watcher)
        failures = choose_failures(
            deployed,
            task.questions,
            rule=plan.rule,
            seed=plan.seed,
            max_failures=plan.max_failures,
            max_successes=plan.max_successes,
        )
        run.freeze(failures)
        key, references = _reference(model, task, plan, run)
        probe = Silencing(
            task.procedure,
            model.n_layers,
            (*failures.failures, *failures.successes),
            ablation=plan.ablation,
            scope=plan.scope,
            reference=key,
        )
        execute(model, task, probe, run, references=references, batch_size=batch_size, watcher=watcher)
        ablation = Ablation(plan.scope, references[key] if key else {})
        failed = [attempt for attempt in deployed if attempt.question in set(failures.failures)]
        _attribute(model, task, run, failed, ablation=ablation, watcher=watcher)
        localized = LocalizeRun(run)
        _write_readings(localized)
    return localized


def _record(
    model: Model, task: Task, plan: LocalizePlan, *, batch_size: int, warnings: list[str]
) -> dict[str, Any]:
    """The plan as it is written down: all that must be the same when a run is resumed."""
    return {
        "verb": VERB,
        **asked_record(model, task, task.procedure),
        "failures": plan.rule,
        "scope": str(plan.scope),
        "ablation": plan.ablation,
        "seed": plan.seed,
        "max_failures": plan.max_failures,
        "max_successes": plan.max_successes,
        "batch_size": batch_size,
        "warnings": warnings,
    }


def _reference(
    model: Model, task: Task, plan: LocalizePlan, run: Run
) -> tuple[str | None, dict[str, dict[Site, Tensor]]]:
    """The reference set of a mean ablation, every question of the task; kept in the run once it is made."""
    if plan.ablation != "mean":
        return None, {}
    texts = [question.text for question in task.questions]
    key = reference_key(model, texts, task.prompt)
    path = run.path / REFERENCE
    if not path.exists():
        run.write_parquet(REFERENCE, reference_table(mean_reference(model, texts, task.prompt)))
    return key, {key: read_reference(path)}


def _attribute(
    model: Model,
    task: Task,
    run: Run,
    failed: list[Attempt],
    *,
    ablation: Ablation,
    watcher: Watcher | None,
) -> None:
    """Writes attribution and lens of the failures, unless an earlier start has written them."""
    if (run.path / ATTRIBUTION).exists() and (run.path / LENS).exists():
        return
    questions = {question.id: question for question in task.questions}
    partings = find_partings(model, task.prompt, failed, questions)
    if watcher is not None:
        watcher.stage("attribution", len(partings), 0)
    run.write_table(ATTRIBUTION, attribution_table(model, partings, ablation))
    run.write_table(LENS, lens_table(model, partings))
    if watcher is not None:
        watcher.stage("attribution", len(partings), len(partings))


def _write_readings(localized: LocalizeRun) -> None:
    """Writes every reading of the log into the run, the page last."""
    run = localized.run
    run.write_table("repair.csv", localized.repair())
    if localized.attribution().height:
        run.write_table("agreement.csv", localized.agreement())
    found: Mapping[str, Any] = localized.localization.to_json()
    run.write_json("localization.json", {**found, "warnings": list(localized.warnings)})
    write_page(run.path, page_content(localized))
