"""A synthetic log of a sweep: what each block does to each question is planted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from interp.question import Attempt, FailureSet, Kind, Outcome, Question, Reason

Answer = Callable[[Question, int | None], str | None]
"""The answer to a question with a block silenced (None: with nothing silenced); None if unreadable."""


def comparisons(n: int) -> list[Question]:
    """ "Which number is smaller?": gold first in every other question."""
    pairs = [(3 + i, 40 + i) if i % 2 == 0 else (40 + i, 3 + i) for i in range(n)]
    return [
        Question(
            f"smaller/{x}-{y}",
            f"Which number is smaller, {x} or {y}?",
            Kind.NUMBER,
            (str(min(x, y)),),
            candidates=(str(x), str(y)),
        )
        for x, y in pairs
    ]


def sums(n: int) -> list[Question]:
    """Questions that name no answers, each with its own gold."""
    return [Question(f"sum/{i}", f"What is {i} + {i}?", Kind.NUMBER, (str(2 * i),)) for i in range(1, n + 1)]


def attempt(question: Question, draw: int, interventions: Sequence[str], answer: str | None) -> Attempt:
    """One row of the silencing probe."""
    right = answer in question.gold
    outcome = Outcome.UNREADABLE if answer is None else Outcome.RIGHT if right else Outcome.WRONG
    return Attempt(
        question=question.id,
        question_hash=question.hash,
        probe="silencing",
        draw=draw,
        procedure="p",
        interventions=tuple(interventions),
        seed=0,
        prompt_hash="h",
        text=answer or "",
        tokens=(),
        finish="stop",
        outcome=outcome,
        reason=Reason.EMPTY if answer is None else None,
        answer=answer,
        span=None,
        grader="1",
        n_prompt_tokens=10,
        n_layer_tokens=100,
    )


def sweep(questions: Sequence[Question], n_blocks: int, answer: Answer) -> list[Attempt]:
    """Control and every block for every question."""
    rows: list[Attempt] = []
    for question in questions:
        rows.append(attempt(question, 0, (), answer(question, None)))
        for block in range(n_blocks):
            rows.append(attempt(question, block + 1, (f"L{block}.mlp_out*0",), answer(question, block)))
    return rows


def failure_set(rows: Sequence[Attempt], *, rule: str = "wrong", seed: int = 0) -> FailureSet:
    """All failures and all successes of the control rows."""
    control = [row for row in rows if row.draw == 0]
    failing = {"wrong": {Outcome.WRONG}, "unreadable": {Outcome.UNREADABLE}}.get(
        rule, {Outcome.WRONG, Outcome.UNREADABLE}
    )
    failures = tuple(sorted(row.question for row in control if row.outcome in failing))
    successes = tuple(sorted(row.question for row in control if row.outcome is Outcome.RIGHT))
    return FailureSet(rule, seed, failures, successes, len(failures), len(successes), len(control))


def other(question: Question) -> str:
    """A wrong answer: the other number named, or a number that is not the gold."""
    named = [c for c in question.candidates if c not in question.gold]
    return named[0] if named else str(int(question.gold[0]) + 1)


def random_sweep(
    questions: Sequence[Question], n_blocks: int, *, seed: int, failing: float = 0.4, changing: float = 0.2
) -> list[Attempt]:
    """No block is special: each changes any answer from wrong to right or back with the same chance."""
    rng = np.random.default_rng(seed)
    control = {q.id: rng.random() >= failing for q in questions}
    changed = {q.id: rng.random(n_blocks) < changing for q in questions}

    def answer(question: Question, block: int | None) -> str:
        right = control[question.id] ^ (block is not None and bool(changed[question.id][block]))
        return question.gold[0] if right else other(question)

    return sweep(questions, n_blocks, answer)


def planted_sweep(questions: Sequence[Question], n_blocks: int = 20) -> list[Attempt]:
    """Block 14 mends most failures and little else; block 2 makes every answer the first one named.

    With nothing silenced the second number is nearly always given, so failures are the questions whose
    first number is right. All other blocks change nothing.
    """
    place = {q.id: i for i, q in enumerate(questions)}

    def answer(question: Question, block: int | None) -> str:
        i = place[question.id]
        first, second = question.candidates
        before = first if i % 10 == 0 else second
        if block == 2:
            return second if i % 20 == 1 else first
        if block == 14 and before != question.gold[0]:
            return question.gold[0] if i % 8 != 2 else before
        if block == 14 and i % 40 == 1:
            return other(question)
        return before

    return sweep(questions, n_blocks, answer)
