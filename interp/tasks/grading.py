r"""Grades a text against a question's gold: right, wrong, or unreadable with a reason.

The answer is what follows the last cue (`\boxed{}`, `<answer>`, `####`, "answer is", "answer:"); see
`interp.tasks.cue`. How it is read depends on the kind: `read_number`, `read_choice`, `read_text`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from interp.question import Kind, Outcome, Question, Reason, Verdict
from interp.tasks.cue import Reading, Region, blank_thinking, find_region
from interp.tasks.numerals import canonical_number
from interp.tasks.read_choice import canonical_choice, choice_flaw, read_choice
from interp.tasks.read_number import read_number
from interp.tasks.read_text import normalize, read_text

GRADER_VERSION = "2"


def grade(
    question: Question, text: str, finish: Literal["stop", "length"] = "stop", *, prefix: str = ""
) -> Verdict:
    """Grades one answer.

    Args:
        question: The question with its gold.
        text: What the model wrote, up to a stop string.
        finish: "length" if it was cut at its length limit; an answer that may go on is `truncated` then.
        prefix: The text with which the answer was begun for the model. A cue in it counts ("The answer
            is "), a number or a letter in it does not.

    Returns:
        The verdict; its span counts in `text`. A question whose gold cannot be read gives
        `unreadable(error)`: see `check_gold`.
    """
    accepted = {canonical(question, gold) for gold in question.gold}
    if not accepted or None in accepted:
        return Verdict(Outcome.UNREADABLE, Reason.ERROR)
    if not text.strip():
        return Verdict(Outcome.UNREADABLE, Reason.EMPTY)
    visible = blank_thinking(prefix + text)
    if visible is None:
        return Verdict(Outcome.UNREADABLE, Reason.TRUNCATED)
    cut = finish == "length"
    if not visible[len(prefix) :].strip():
        return Verdict(Outcome.UNREADABLE, Reason.TRUNCATED if cut else Reason.EMPTY)
    region = _behind_prefix(find_region(visible), len(prefix))
    reading = _read(question, region, cut)
    if reading.reason is Reason.NO_ANSWER and cut and not region.text[region.end :].strip():
        reading = replace(reading, reason=Reason.TRUNCATED)
    return _verdict(reading, accepted, len(prefix))


def canonical(question: Question, answer: str) -> str | None:
    """An answer in the spelling of verdicts: two answers are equal if and only if their spellings are.

    A number is written out ("0.5", "1000") or reduced ("1/3"), a choice is its label, a text is
    normalized. None if the answer cannot be read under the question's kind.
    """
    match question.kind:
        case Kind.NUMBER:
            return canonical_number(answer)
        case Kind.CHOICE:
            return canonical_choice(question, answer)
        case Kind.TEXT:
            return normalize(answer) or None


def check_gold(question: Question) -> str | None:
    """Why a question cannot be graded, in one line; None if it can."""
    if not question.gold:
        return "no gold answer"
    if any(not gold.strip() for gold in question.gold):
        return "an empty gold answer"
    if question.kind is Kind.CHOICE:
        return choice_flaw(question)
    for gold in question.gold:
        if canonical(question, gold) is None:
            wanted = "one number" if question.kind is Kind.NUMBER else "a text with a letter or digit"
            return f"gold {gold!r} cannot be read as {wanted}"
    return None


def _behind_prefix(region: Region, n_prefix: int) -> Region:
    """An uncued region without the prefix: nothing in it is the model's answer."""
    if region.cued or region.start >= n_prefix:
        return region
    start = n_prefix + len(region.text[n_prefix:]) - len(region.text[n_prefix:].lstrip())
    return replace(region, start=start, ends=tuple(max(start, end) for end in region.ends))


def _read(question: Question, region: Region, cut: bool) -> Reading:
    match question.kind:
        case Kind.NUMBER:
            return read_number(region, cut=cut)
        case Kind.CHOICE:
            return read_choice(question, region, cut=cut)
        case Kind.TEXT:
            return read_text(region, {normalize(gold) for gold in question.gold}, cut=cut)


def _verdict(reading: Reading, accepted: set[str | None], n_prefix: int) -> Verdict:
    span = None
    if reading.span is not None:
        span = max(0, reading.span[0] - n_prefix), max(0, reading.span[1] - n_prefix)
    if reading.answer is None:
        return Verdict(Outcome.UNREADABLE, reading.reason or Reason.NO_ANSWER, span=span)
    outcome = Outcome.RIGHT if reading.answer in accepted else Outcome.WRONG
    return Verdict(outcome, None, reading.answer, span)
