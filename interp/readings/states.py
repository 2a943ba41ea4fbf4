"""One row a question: what the deployed procedure answered, what each probe reached, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

import polars as pl

from interp.probes.probe import Probed
from interp.question import Outcome, Question
from interp.readings.decoys import decoy_counts
from interp.readings.probed import attempts_of

DEPLOYED = "deployed"
"""Name of the probe that asks as deployed."""

Rule = Literal["first", "majority"]


class State(StrEnum):
    """What an audit finds of a question; each question has exactly one.

    A question is realized if the deployed answer is right; reachable only if it is not, but an attempt of a
    probe is; never if the deployed answer was read and no attempt is right; unreadable if it could not be
    read and no attempt is right.
    """

    REALIZED = "realized"
    REACHABLE = "reachable only"
    NEVER = "never"
    UNREADABLE = "unreadable"


def deployed_answers(table: pl.DataFrame, rule: Rule, ids: Sequence[str]) -> pl.DataFrame:
    """The one answer of each question that the deployed procedure gives, as a row of the log with `right`.

    "first" takes draw 0. "majority" takes the answer that most draws gave, by its first draw; what cannot be
    read has no vote, and of answers equally common the one given first wins.

    Raises:
        BadInput: A question was not asked.
    """
    n_draws = table.filter(pl.col("probe") == DEPLOYED)["draw"].n_unique()
    rows = attempts_of(table, Probed(DEPLOYED, DEPLOYED, "", n_draws), ids)
    if rule == "first":
        return rows.filter(pl.col("draw") == 0)
    return most_voted(rows)


def most_voted(attempts: pl.DataFrame, weight: pl.Expr | None = None) -> pl.DataFrame:
    """The first attempt of each question that gave the answer with most votes, in the questions' order.

    Args:
        attempts: Attempts, sorted by question and draw.
        weight: Votes of an attempt, 0 or more; one each unless given. An attempt without an answer has none.
    """
    read = pl.col("answer").is_not_null()
    voted = attempts.with_columns(
        vote=pl.when(read).then(pl.lit(1.0) if weight is None else weight).otherwise(-1.0)
    )
    total = pl.when(read).then(pl.col("vote").sum().over("question", "answer")).otherwise(-1.0)
    return (
        voted.with_columns(total=total.round(9))
        .sort("place", "total", "draw", descending=[False, True, False])
        .unique("question", keep="first", maintain_order=True)
        .drop("vote", "total")
    )


def probe_questions(attempts: pl.DataFrame, targets: pl.DataFrame, replayed: pl.DataFrame) -> pl.DataFrame:
    """One row a question: what one probe found.

    Columns: `question`; `n`, `n_right`, `n_unreadable` attempts; `rate` (share right); `reachable`;
    `first_hit` (attempt, from 0; null without one); `confirmed` (a hit that held when it was made again;
    null where none was made again); `majority` and `majority_right`; `decoy_rate` (share of attempts that
    hit a wrong target, averaged over targets); `n_answers`, `n_once` (different answers, and those given
    once); `n_tokens`, `n_layer_tokens`.

    Args:
        attempts: The probe's rows, as `attempts_of` gives them.
        targets: Wrong targets; see `decoy_targets`.
        replayed: The rows of its replay.
    """
    found = attempts.group_by("question", maintain_order=True).agg(
        n=pl.len(),
        n_right=pl.col("right").sum(),
        n_unreadable=(pl.col("outcome") == Outcome.UNREADABLE.value).sum(),
        rate=pl.col("right").mean(),
        reachable=pl.col("right").any(),
        first_hit=pl.col("attempt").filter("right").min(),
        n_answers=pl.col("answer").drop_nulls().n_unique(),
        n_once=(pl.col("answer").drop_nulls().unique_counts() == 1).sum(),
        n_tokens=pl.col("tokens").list.len().sum() + pl.col("n_prompt_tokens").sum(),
        n_layer_tokens=pl.col("n_layer_tokens").sum(),
    )
    voted = most_voted(attempts).select("question", majority="answer", majority_right="right")
    held = replayed.group_by("question").agg(confirmed=(pl.col("outcome") == Outcome.RIGHT.value).any())
    decoys = decoy_counts(attempts, targets).group_by("question").agg(pl.col("n_hits").mean())
    return (
        found.join(voted, on="question", how="left", maintain_order="left")
        .join(held, on="question", how="left", maintain_order="left")
        .join(decoys, on="question", how="left", maintain_order="left")
        .with_columns(decoy_rate=pl.col("n_hits") / pl.col("n"))
        .drop("n_hits")
    )


def question_table(
    questions: Sequence[Question], deployed: pl.DataFrame, probed: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """One row a question, in order.

    Columns: `id`, `subject`, `text`, `gold` (alternatives joined by " | "); `deployed_answer`,
    `deployed_outcome`, `deployed_reason`, `realized`; for each probe `reached NAME` and `rate NAME`;
    `reachable` (realized, or reached by any); `state`.

    Args:
        questions: The questions.
        deployed: One row a question; see `deployed_answers`.
        probed: One table a probe; see `probe_questions`.
    """
    table = pl.DataFrame(
        {
            "id": [q.id for q in questions],
            "subject": [q.subject for q in questions],
            "text": [q.text for q in questions],
            "gold": [" | ".join(q.gold) for q in questions],
        },
        schema=dict.fromkeys(("id", "subject", "text", "gold"), pl.String),
    ).join(
        deployed.select(
            id="question",
            deployed_answer="answer",
            deployed_outcome="outcome",
            deployed_reason="reason",
            realized="right",
        ),
        on="id",
        how="left",
        maintain_order="left",
    )
    for name, found in probed.items():
        shown = found.select(
            "question", pl.col("reachable").alias(f"reached {name}"), pl.col("rate").alias(f"rate {name}")
        )
        table = table.join(shown, left_on="id", right_on="question", how="left", maintain_order="left")
    reached = [pl.col(f"reached {name}") for name in probed]
    table = table.with_columns(reachable=pl.any_horizontal("realized", *reached))
    unreadable = pl.col("deployed_outcome") == Outcome.UNREADABLE.value
    return table.with_columns(
        state=pl.when("realized")
        .then(pl.lit(State.REALIZED.value))
        .when("reachable")
        .then(pl.lit(State.REACHABLE.value))
        .when(unreadable)
        .then(pl.lit(State.UNREADABLE.value))
        .otherwise(pl.lit(State.NEVER.value))
    )
