"""A seeded sample of questions that does not depend on their order."""

from __future__ import annotations

from collections.abc import Sequence

from interp.question import Question, seeded_order


def seeded_sample(questions: Sequence[Question], seed: int) -> tuple[Question, ...]:
    """All questions in a seeded order, so that the first n are a sample and a prefix of any larger one.

    An odd seed begins with the half that an even one ends with: samples of an even and an odd seed share
    nothing as long as each takes at most half.
    """
    by_id = {question.id: question for question in questions}
    ranked = seeded_order([*by_id], -1)
    middle = (len(ranked) + 1) // 2
    halves = (ranked[:middle], ranked[middle:])
    order = [i for half in (seed % 2, 1 - seed % 2) for i in seeded_order(halves[half], seed)]
    return tuple(by_id[i] for i in order)
