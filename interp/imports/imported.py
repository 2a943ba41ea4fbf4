"""The noun of this folder: an `Imported`, what an evaluation made elsewhere says in this package's words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from interp.errors import BadInput
from interp.procedure import content_key
from interp.question import Attempt, Kind, Outcome, Question, Reason
from interp.tasks.grading import canonical, grade
from interp.tasks.read_text import normalize
from interp.tasks.row_question import RowError, question_from_row
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
class Repeat:
    """One answer to a question, and how it was judged.

    Attributes:
        text: The response as it came.
        outcome: Right, wrong or unreadable.
        reason: Why it is unreadable, else None.
        answer: What their extraction took from the text; None if it did not say.
        grader: Who judged.
        finish: "length" if the log says that the response was cut, else "stop".
        n_prompt_tokens: Length of the prompt in tokens; 0 if the log does not say.
    """

    text: str
    outcome: Outcome
    reason: Reason | None
    answer: str | None
    grader: str
    finish: Literal["stop", "length"] = "stop"
    n_prompt_tokens: int = 0


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
        decoding: Settings of generation under the names of `interp.procedure.Decoding`; unknown ones left out.
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
    settings = {"decoding": dict(origin.decoding), **origin.procedure}
    procedure = {"key": content_key(settings), **settings}
    questions = tuple(each.question for each in asked)
    n_draws = max(len(each.repeats) for each in asked)
    sampling = tuple(
        _attempt(each, draw, SAMPLING, procedure["key"])
        for draw in range(n_draws)
        for each in asked
        if draw < len(each.repeats)
    )
    deployed = tuple(_attempt(each, 0, DEPLOYED, procedure["key"]) for each in asked)
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
        "procedure": procedure,
        "deployed": {"rule": "first", "n_draws": 1},
        "probes": {SAMPLING: {"n_draws": n_draws}},
        "seed": 0,
        "warnings": list(warnings),
    }
    return Imported(questions, deployed + sampling, plan, dict(origin.environment), warnings)


def question_of(values: Mapping[str, Any]) -> Question:
    """A question from the fields id, question or text, gold, choices and subject, as in a question file.

    A gold that no kind can read (code, an empty text) makes a text question that keeps what it can of the
    gold: the log brings its own verdicts.
    """
    try:
        return question_from_row({key: value for key, value in values.items() if value})
    except RowError:
        gold = tuple(answer for answer in values["gold"] if answer.strip())
        text = str(values.get("text") or values.get("question") or "")
        return Question(values["id"], text, Kind.TEXT, gold, subject=values.get("subject", ""))


def judge(value: object, threshold: float | None, *, place: str, name: str) -> bool:
    """Whether a score says right.

    Args:
        value: 0 or 1, as a number or a truth value; any finite number if there is a threshold.
        threshold: Scores of at least this are right; None takes only 0 and 1.
        place: Where the score stands.
        name: What the score is called.

    Raises:
        BadInput: It is no number, or neither 0 nor 1 and there is no threshold.
    """
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise BadInput(f"{place}: {name} is {value!r}, which is no number. Choose a score of 0 or 1.")
    if threshold is not None:
        return value >= threshold
    if value in (0, 1):
        return bool(value)
    raise BadInput(
        f"{place}: {name} is {value}, neither 0 nor 1, and a question is answered or not. Choose another "
        "score, or give a threshold: scores of at least that much are then right."
    )


def valid_unicode(value: Any) -> Any:
    """A JSON value in which each half of a surrogate pair, which no file can hold, is replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [valid_unicode(item) for item in value]
    if isinstance(value, dict):
        return {valid_unicode(key): valid_unicode(item) for key, item in value.items()}
    return value


def _attempt(asked: Asked, draw: int, probe: str, procedure: str) -> Attempt:
    repeat = asked.repeats[draw]
    answer, span = _read(asked.question, repeat)
    return Attempt(
        question=asked.question.id,
        question_hash=asked.question.hash,
        probe=probe,
        draw=draw,
        procedure=procedure,
        interventions=(),
        seed=0,
        prompt_hash=content_key(asked.prompt),
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


def _read(question: Question, repeat: Repeat) -> tuple[str | None, tuple[int, int] | None]:
    """The answer in canonical spelling, and where it stands in the text.

    What they extracted may be a whole sentence. Our grader then reads it, and is believed if it comes to
    their verdict; else the normalized sentence is the answer.
    """
    if repeat.outcome is Outcome.UNREADABLE:
        return None, None
    theirs = (repeat.answer or "").strip() or repeat.text.strip()
    answer = canonical(question, theirs)
    if answer is None:
        ours = grade(question, theirs)
        answer = ours.answer if ours.right == (repeat.outcome is Outcome.RIGHT) else None
    return answer or normalize(theirs) or None, _last_place(theirs, repeat.text)


def _last_place(answer: str, text: str) -> tuple[int, int] | None:
    """Where an answer stands last in a text as a word of its own."""
    end = len(text)
    while answer and (start := text.rfind(answer, 0, end)) >= 0:
        stop = start + len(answer)
        before = start > 0 and text[start - 1].isalnum() and answer[0].isalnum()
        after = stop < len(text) and text[stop].isalnum() and answer[-1].isalnum()
        if not before and not after:
            return start, stop
        end = stop - 1
    return None


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
