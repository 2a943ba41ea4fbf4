"""Wrong targets: how often the attempts at a question hit an answer that is not its own."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from interp.question import Kind, Question, seeded_order
from interp.tasks.grading import canonical

N_PARTNERS = 8
"""Other questions whose golds are a question's wrong targets, where it names none itself."""


def decoy_targets(questions: Sequence[Question], *, seed: int = 0) -> pl.DataFrame:
    """Wrong targets of each question, in the spelling of verdicts: columns `question` and `target`.

    Of a choice, its other options. Of a question that names candidates, the other ones. Of any other, the
    golds of up to `N_PARTNERS` questions of the same kind, those of its subject first, that are not its own.
    A question for which there is none has no row.
    """
    golds = {question.id: _golds(question) for question in questions}
    groups: dict[tuple[Kind, str], list[str]] = {}
    kinds: dict[Kind, list[str]] = {}
    by_id = {question.id: question for question in questions}
    for i in seeded_order([*by_id], seed):
        groups.setdefault((by_id[i].kind, by_id[i].subject), []).append(i)
        kinds.setdefault(by_id[i].kind, []).append(i)
    places = {i: place for members in (*groups.values(),) for place, i in enumerate(members)}
    wide = {i: place for members in kinds.values() for place, i in enumerate(members)}
    rows: list[tuple[str, str]] = []
    for question in questions:
        named = question.labels if question.kind is Kind.CHOICE else question.candidates
        if named:
            found = [canonical(question, name) for name in named]
        else:
            near, far = groups[question.kind, question.subject], kinds[question.kind]
            found = _partners(near, places[question.id], golds) + _partners(far, wide[question.id], golds)
        wrong = [t for t in dict.fromkeys(found) if t is not None and t not in golds[question.id]]
        rows += [(question.id, target) for target in (wrong if named else wrong[:N_PARTNERS])]
    return pl.DataFrame(rows, schema={"question": pl.String, "target": pl.String}, orient="row")


def decoy_counts(attempts: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """How often the attempts at each question hit each wrong target: `question`, `target`, `n_hits`."""
    given = attempts.group_by("question", "answer").agg(n_hits=pl.len())
    return targets.join(
        given,
        left_on=["question", "target"],
        right_on=["question", "answer"],
        how="left",
        maintain_order="left",
    ).with_columns(pl.col("n_hits").fill_null(0))


def _golds(question: Question) -> tuple[str | None, ...]:
    return tuple(canonical(question, gold) for gold in question.gold)


def _partners(
    members: Sequence[str], place: int, golds: dict[str, tuple[str | None, ...]]
) -> list[str | None]:
    """First golds of the members that come after a place, the list taken as a ring."""
    n = min(len(members) - 1, 4 * N_PARTNERS)
    near = (golds[members[(place + step) % len(members)]] for step in range(1, n + 1))
    return [gold[0] for gold in near if gold]
