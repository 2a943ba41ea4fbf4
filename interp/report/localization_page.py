"""What the page of a `localize` run says: the run's tables and figures as `PageContent`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from itertools import islice

from interp.localized import LocalizeRun
from interp.localizers.outcomes import Outcomes, outcome_matrix
from interp.question import Attempt, Outcome, Question
from interp.report.content import BlockAnswer, Example, PageContent
from interp.report.controls import control_rows, fact_rows, failure_rows

N_EXAMPLES = 4
"""Questions shown under each heading."""

FILES = (
    ("repair.csv", "one row a block: repair, retention, net gain, shifts, with intervals"),
    ("attribution.csv", "one row a failure, layer and point: direct attribution and attribution patching"),
    ("lens.csv", "one row a failure and depth: log-probability and rank of gold and given"),
    ("agreement.csv", "rank agreement of each attribution with the measured repair"),
    ("localization.json", "every number of the verdict"),
    ("attempts.jsonl", "the log: one row a try"),
    ("questions.jsonl", "the questions as they were asked"),
    ("failure_set.json", "the failure set, frozen before any block was tried"),
    ("plan.json", "what was asked for"),
    ("environment.json", "versions, dtype, hashes"),
)


def page_content(localized: LocalizeRun) -> PageContent:
    """Everything that the page of a run shows."""
    plan, found = localized.run.plan, localized.localization
    model, task = plan["model"]["name"], plan["task"]["name"]
    return PageContent(
        title=f"{model} on {task}",
        model=model,
        task=task,
        description=plan["task"]["description"],
        command=shlex.join(["interp", "localize", model, "--task", task, "--out", str(localized.path)]),
        headline=found.headline,
        sentences=found.sentences,
        facts=fact_rows(found),
        controls=control_rows(found),
        repair=localized.repair(),
        figures=localized.figures.all(),
        examples=tuple(_examples(localized)),
        failure_set=failure_rows(found),
        warnings=localized.warnings,
        plan=plan,
        environment=localized.run.environment,
        files=FILES,
    )


def _examples(localized: LocalizeRun) -> Iterable[Example]:
    """Questions that each of the two marked blocks repaired, and questions that it broke."""
    found = localized.localization
    outcomes = outcome_matrix(localized.run.attempts, localized.failure_set)
    questions = {question.id: question for question in localized.run.questions}
    layers = list(dict.fromkeys([found.best_repair.layer, found.best_net_gain.layer]))
    for layer in layers:
        for verb, before, after in (("Repaired", False, True), ("Broken", True, False)):
            chosen = _changed(outcomes, layer, before=before, after=after)
            for place in islice(chosen, N_EXAMPLES):
                yield _example(f"{verb} by silencing block {layer}", outcomes, place, layers, questions)


def _changed(outcomes: Outcomes, layer: int, *, before: bool, after: bool) -> Iterable[int]:
    column = [site.layer for site in outcomes.sites].index(layer)
    for place, (control, blocks) in enumerate(zip(outcomes.control, outcomes.silenced, strict=True)):
        was, is_now = (row.outcome is Outcome.RIGHT for row in (control, blocks[column]))
        if (was, is_now) == (before, after):
            yield place


def _example(
    heading: str, outcomes: Outcomes, place: int, layers: list[int], questions: Mapping[str, Question]
) -> Example:
    control: Attempt = outcomes.control[place]
    question = questions[control.question]
    by_layer = {site.layer: row for site, row in zip(outcomes.sites, outcomes.silenced[place], strict=True)}
    return Example(
        heading=heading,
        id=question.id,
        question=question.text,
        gold=" or ".join(question.gold),
        deployed=control.text,
        deployed_outcome=str(control.outcome),
        answers=tuple(
            BlockAnswer(f"block {layer} silenced", by_layer[layer].text, str(by_layer[layer].outcome))
            for layer in layers
        ),
    )
