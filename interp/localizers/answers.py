"""Which answers a model gives: the commonest one, and its place among those that a question names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from interp.question import Attempt, Outcome, Question
from interp.tasks.grading import canonical

Value = TypeVar("Value", str, int)


@dataclass(frozen=True)
class AnswerShift:
    """What a model answers most, before and after a block is silenced, over failures and successes.

    Shares count unreadable answers in the denominator. A position is the place, from 0, of the answer
    among those that a question names itself; None where no question names any.

    Attributes:
        answer_before: Commonest answer read with nothing silenced; None if none could be read.
        answer_share_before: Its share.
        answer_after: Commonest answer read with the block silenced.
        answer_share_after: Its share.
        answer_share_gold: Share of questions that accept `answer_after`: what a perfect model would show.
        position_before: Commonest position with nothing silenced.
        position_share_before: Its share of the questions that name answers.
        position_after: Commonest position with the block silenced.
        position_share_after: Its share.
        position_share_gold: Share of those questions whose gold stands at `position_after`.
        n_unreadable_before: Unreadable answers with nothing silenced.
        n_unreadable_after: Unreadable answers with the block silenced.
    """

    answer_before: str | None
    answer_share_before: float
    answer_after: str | None
    answer_share_after: float
    answer_share_gold: float
    position_before: int | None
    position_share_before: float | None
    position_after: int | None
    position_share_after: float | None
    position_share_gold: float | None
    n_unreadable_before: int
    n_unreadable_after: int


@dataclass(frozen=True)
class AnswerKey:
    """What a question accepts and names, in the grader's canonical spelling.

    Attributes:
        golds: Accepted answers.
        positions: Place, from 0, of each answer that the question names; empty if it names none.
    """

    golds: frozenset[str]
    positions: Mapping[str, int]

    @property
    def gold_positions(self) -> frozenset[int]:
        """Places of the named answers that are accepted."""
        return frozenset(place for answer, place in self.positions.items() if answer in self.golds)


def answer_keys(questions: Iterable[Question]) -> dict[str, AnswerKey]:
    """The key of each question, by its id; of two candidates spelled alike the first place counts."""
    keys: dict[str, AnswerKey] = {}
    for question in questions:
        golds = (canonical(question, gold) for gold in question.gold)
        positions: dict[str, int] = {}
        for place, candidate in enumerate(question.candidates):
            answer = canonical(question, candidate)
            if answer is not None:
                positions.setdefault(answer, place)
        keys[question.id] = AnswerKey(frozenset(gold for gold in golds if gold is not None), positions)
    return keys


def answer_shift(
    before: Sequence[Attempt], after: Sequence[Attempt], keys: Mapping[str, AnswerKey]
) -> AnswerShift:
    """Compares the answers of the control rows with those of the rows in which a block is silenced.

    Among equally common answers the first in the order of the spelling (the lower position) is named.
    """
    asked = [keys[row.question] for row in before]
    naming = [key for key in asked if key.positions]
    answer, share = _commonest((row.answer for row in before), len(asked))
    answer_after, share_after = _commonest((row.answer for row in after), len(asked))
    place, place_share = _commonest(_places(before, keys), len(naming))
    place_after, place_share_after = _commonest(_places(after, keys), len(naming))
    return AnswerShift(
        answer,
        share,
        answer_after,
        share_after,
        sum(answer_after in key.golds for key in asked) / len(asked),
        place,
        place_share if naming else None,
        place_after,
        place_share_after if naming else None,
        sum(place_after in key.gold_positions for key in naming) / len(naming) if naming else None,
        sum(row.outcome is Outcome.UNREADABLE for row in before),
        sum(row.outcome is Outcome.UNREADABLE for row in after),
    )


def _places(rows: Sequence[Attempt], keys: Mapping[str, AnswerKey]) -> Iterable[int | None]:
    return (None if row.answer is None else keys[row.question].positions.get(row.answer) for row in rows)


def _commonest(values: Iterable[Value | None], n: int) -> tuple[Value | None, float]:
    """The commonest value and its share of n; None is not counted, ties go to the smaller value."""
    counts = Counter(value for value in values if value is not None)
    if not counts:
        return None, 0.0
    best = min(counts, key=lambda value: (-counts[value], value))
    return best, counts[best] / n
