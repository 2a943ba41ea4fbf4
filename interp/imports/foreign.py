"""Turns values of other people's logs into ours: questions, scores, answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from interp.errors import BadInput
from interp.question import Kind, Outcome, Question, Reason
from interp.tasks.grading import canonical, grade
from interp.tasks.read_text import normalize
from interp.tasks.row_fields import RowError
from interp.tasks.row_question import question_from_row

_SUBJECTS = ("subject", "category", "topic")


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


def subject_of(fields: Mapping[str, Any]) -> str:
    """The subject, category or topic that a document names; "" if it names none."""
    return next((fields[name] for name in _SUBJECTS if isinstance(fields.get(name), str)), "")


def name_of(value: object, *, place: str) -> str:
    """The id of a question: a number or a text.

    Raises:
        BadInput: It is anything else, or blank.
    """
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise BadInput(f"{place}: the id is {value!r}; expected a number or a text. Write the log again.")
    return str(value)


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


def mapping(value: Any) -> Mapping[str, Any]:
    """A JSON object; empty if the value is anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a JSON list; none if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def is_number(value: object) -> bool:
    """Whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def storable(value: Any) -> Any:
    """A JSON value in which NaN and infinities, which a plan cannot hold, are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {key: storable(item) for key, item in value.items()}
    return value


def valid_unicode(value: Any) -> Any:
    """A JSON value in which each half of a surrogate pair, which no file can hold, is replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [valid_unicode(item) for item in value]
    if isinstance(value, dict):
        return {valid_unicode(key): valid_unicode(item) for key, item in value.items()}
    return value


def read_answer(question: Question, repeat: Repeat) -> tuple[str | None, tuple[int, int] | None]:
    """The answer in canonical spelling, and where it stands in the text.

    What they extracted may be a whole sentence. Our grader then reads it, and is believed if it comes to
    their verdict; else the normalized sentence is the answer.
    """
    if repeat.outcome is Outcome.UNREADABLE:
        return None, None
    theirs = (repeat.answer or "").strip() or repeat.text.strip()
    place = _last_place(theirs, repeat.text)
    if place is None and len(repeat.text.lower()) == len(repeat.text):
        place = _last_place(theirs.lower(), repeat.text.lower())
    answer = canonical(question, theirs)
    if answer is None:
        ours = grade(question, theirs)
        if ours.answer is not None and ours.right == (repeat.outcome is Outcome.RIGHT):
            return ours.answer, _within(place, ours.span)
    return answer or normalize(theirs) or None, place


def _within(place: tuple[int, int] | None, span: tuple[int, int] | None) -> tuple[int, int] | None:
    """A span that counts from a place on, counted from the start."""
    return (place[0] + span[0], place[0] + span[1]) if place and span else place


def _last_place(answer: str, text: str) -> tuple[int, int] | None:
    """Where an answer stands last in a text as a word of its own."""
    end = len(text)
    while answer and (start := text.rfind(answer, 0, end)) >= 0:
        stop = start + len(answer)
        before = start > 0 and text[start - 1].isalnum() and answer[0].isalnum()
        after = stop < len(text) and text[stop].isalnum() and answer[-1].isalnum()
        if not before and not after:
            return start, stop
        end = start + len(answer) - 1
    return None
