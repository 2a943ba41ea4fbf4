"""What the page of a `localize` run says: the run's tables and figures as `PageContent`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from interp.localized import LocalizeRun
from interp.localizers.outcomes import Outcomes, outcome_matrix
from interp.question import Attempt, Outcome, Question
from interp.report.command import command_of
from interp.report.content import BlockAnswer, Example, PageContent
from interp.report.controls import compared_rows, control_rows, fact_rows, failure_rows

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
    outcomes = outcome_matrix(localized.run.attempts, localized.failure_set)
    layers = list(dict.fromkeys([found.best_repair.layer, found.best_net_gain.layer]))
    return PageContent(
        title=f"{model} on {task}",
        model=model,
        task=task,
        description=plan["task"]["description"],
        command=command_of(plan, str(localized.path)),
        headline=typeset(found.headline),
        sentences=tuple(typeset(sentence) for sentence in found.sentences),
        facts=fact_rows(found),
        compared=compared_rows(found),
        controls=control_rows(found),
        repair=localized.repair(),
        figures=localized.figures.all(),
        examples=tuple(examples_of(outcomes, layers, localized.run.questions)),
        failure_set=failure_rows(found),
        warnings=localized.warnings,
        plan=plan,
        environment=localized.run.environment,
        files=FILES,
    )


def typeset(sentence: str) -> str:
    """A sentence of the terminal as a page sets it: true minus signs, and no break inside an interval."""
    text = re.sub(r"(?<=[ \[])-(?=\d\.\d\d)", "−", sentence).replace(" - 1 is", " − 1 is")
    return re.sub(r"(\[[-+−]?\d\.\d\d,) |(\bp [=<]) |(MLP) (?=\d)", _bound, text)


def _bound(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\N{NO-BREAK SPACE}")


def examples_of(
    outcomes: Outcomes, layers: Sequence[int], questions: Iterable[Question]
) -> Iterable[Example]:
    """Questions that silencing each of the layers repaired, and questions that it broke.

    A few each: those not shown yet come first, then those on which the layers differ, taken from the
    subjects in turn.
    """
    by_id = {question.id: question for question in questions}
    shown: set[int] = set()
    for layer in layers:
        for verb, before, after in (("repaired", False, True), ("broken", True, False)):
            changed = list(_changed(outcomes, layer, before=before, after=after))
            chosen = _telling(changed, outcomes, layers, by_id, shown)
            shown.update(chosen)
            heading = f"{len(changed)} {verb} by silencing MLP {layer}"
            if len(chosen) < len(changed):
                heading += f", {len(chosen)} of them"
            for place in chosen:
                yield _example(heading, outcomes, place, layers, by_id)


def _changed(outcomes: Outcomes, layer: int, *, before: bool, after: bool) -> Iterable[int]:
    column = [site.layer for site in outcomes.sites].index(layer)
    for place, (control, blocks) in enumerate(zip(outcomes.control, outcomes.silenced, strict=True)):
        was, is_now = (row.outcome is Outcome.RIGHT for row in (control, blocks[column]))
        if (was, is_now) == (before, after):
            yield place


def _telling(
    places: list[int],
    outcomes: Outcomes,
    layers: Sequence[int],
    questions: Mapping[str, Question],
    shown: set[int],
) -> list[int]:
    columns = [[site.layer for site in outcomes.sites].index(layer) for layer in layers]

    def dull(place: int) -> tuple[bool, bool]:
        verdicts = {outcomes.silenced[place][column].outcome for column in columns}
        return place in shown, len(verdicts) == 1

    subjects: dict[str | None, list[int]] = {}
    for place in sorted(places, key=dull):
        subjects.setdefault(questions[outcomes.control[place].question].subject, []).append(place)
    in_turn = [(rank, *dull(place), place) for group in subjects.values() for rank, place in enumerate(group)]
    return [place for *_, place in sorted(in_turn)[:N_EXAMPLES]]


def _example(
    heading: str, outcomes: Outcomes, place: int, layers: Sequence[int], questions: Mapping[str, Question]
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
            BlockAnswer(f"MLP {layer} silenced", by_layer[layer].text, str(by_layer[layer].outcome))
            for layer in layers
        ),
    )
