"""The noun of this folder: an `Imported`, what an evaluation made elsewhere says in this package's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from interp.imports.foreign import Repeat, read_answer, storable
from interp.procedure import content_key
from interp.question import Attempt, Outcome, Question, Reason
from interp.tasks.task import is_binary

DEPLOYED, SAMPLING = "deployed", "sampling"


@dataclass(frozen=True)
class Imported:
    """An evaluation made elsewhere, ready to be written as a run.

    Attributes:
        questions: Every question that was asked, in the log's order.
        attempts: Repeat i of a question is draw i of the probe "sampling"; repeat 0 stands once more as
            draw 0 of the probe "deployed". Verdicts are those of the log unless a warning says otherwise.
        plan: The run's plan, with verb "audit".
        environment: Versions, and the files that were read.
        warnings: What a reader of the numbers must know, one sentence each; also in the plan.
    """

    questions: tuple[Question, ...]
    attempts: tuple[Attempt, ...]
    plan: dict[str, Any]
    environment: dict[str, Any]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A question with all answers to it.

    Attributes:
        question: The question.
        prompt: What the model was shown, as far as the log says: text, or messages.
        repeats: The answers, first to last; at least one.
    """

    question: Question
    prompt: Any
    repeats: tuple[Repeat, ...]


@dataclass(frozen=True)
class Origin:
    """What a log says of the evaluation as a whole.

    Attributes:
        source: "lm-eval" or "inspect".
        model: Name of the model.
        identity: All that the log says of the model; its hash is the fingerprint.
        task: Name of the task.
        decoding: Settings of generation, as far as known, under the names of `interp.procedure.Decoding`.
        procedure: What else the log says of how questions were asked.
        environment: Versions, and the files that were read.
        warnings: What was noticed on reading.
    """

    source: Literal["lm-eval", "inspect"]
    model: str
    identity: Mapping[str, Any]
    task: str
    decoding: Mapping[str, Any]
    procedure: Mapping[str, Any]
    environment: Mapping[str, Any]
    warnings: Sequence[str] = field(default=())


def assemble(asked: Sequence[Asked], origin: Origin) -> Imported:
    """Puts questions, attempts and plan together.

    Numbers of repeats that differ between questions are kept, with a warning.
    """
    settings = storable({"decoding": dict(origin.decoding), **origin.procedure})
    key = content_key(settings)
    questions = tuple(each.question for each in asked)
    n_draws = max(len(each.repeats) for each in asked)
    rows = [_attempts(each, key) for each in asked]
    sampling = tuple(each[draw] for draw in range(n_draws) for each in rows if draw < len(each))
    deployed = tuple(replace(each[0], probe=DEPLOYED) for each in rows)
    warnings = (*origin.warnings, *_warnings(asked, origin.decoding))
    graders = sorted({row.grader for row in sampling})
    plan: dict[str, Any] = {
        "verb": "audit",
        "source": origin.source,
        "model": {"name": origin.model, "fingerprint": content_key(dict(origin.identity))},
        "task": {
            "name": origin.task,
            "description": f"{len(questions)} questions, imported from {origin.source}: {origin.task}.",
            "binary": is_binary(questions),
            "n_questions": len(questions),
            "hash": content_key([question.to_json() for question in questions]),
            "grader": "; ".join(graders),
        },
        "procedure": {"key": key, **settings},
        "deployed": {"rule": "first", "n_draws": 1},
        "probes": {SAMPLING: {"n_draws": n_draws}},
        "seed": 0,
        "warnings": list(warnings),
    }
    return Imported(questions, deployed + sampling, plan, storable(dict(origin.environment)), warnings)


def _attempts(asked: Asked, procedure: str) -> list[Attempt]:
    """The draws of a question, in order."""
    question_hash, prompt_hash = asked.question.hash, content_key(asked.prompt)
    rows: list[Attempt] = []
    for draw, repeat in enumerate(asked.repeats):
        answer, span = read_answer(asked.question, repeat)
        row = Attempt(
            question=asked.question.id,
            question_hash=question_hash,
            probe=SAMPLING,
            draw=draw,
            procedure=procedure,
            interventions=(),
            seed=0,
            prompt_hash=prompt_hash,
            text=repeat.text,
            tokens=(),
            finish=repeat.finish,
            outcome=repeat.outcome,
            reason=repeat.reason,
            answer=answer,
            span=span,
            grader=repeat.grader,
            n_prompt_tokens=repeat.n_prompt_tokens,
            n_layer_tokens=0,
        )
        rows.append(row)
    return rows


def _warnings(asked: Sequence[Asked], decoding: Mapping[str, Any]) -> list[str]:
    warnings: list[str] = []
    counts = Counter(len(each.repeats) for each in asked)
    if len(counts) > 1:
        listed = ", ".join(f"{n} on {counts[n]}" for n in sorted(counts))
        warnings.append(f"Questions have different numbers of repeats ({listed}); all are kept.")
    if set(counts) == {1}:
        warnings.append("There is one answer a question: what is reachable is what is realized.")
    elif decoding.get("temperature") == 0:
        warnings.append("The decoding is greedy, so repeats are no independent draws.")
    if n_bare := sum(not each.question.gold for each in asked):
        warnings.append(f"{n_bare} of {len(asked)} questions have no gold answer in the log.")
    failed = Counter(
        repeat.reason for each in asked for repeat in each.repeats if repeat.outcome is Outcome.UNREADABLE
    )
    if n_errors := failed[Reason.ERROR]:
        n_rows = sum(len(each.repeats) for each in asked)
        warnings.append(f"{n_errors} of {n_rows} answers ended in an error or were not scored.")
    return warnings
