"""What the plain model thinks of answers that an edited one gave: for a choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from interp.procedure import Procedure, Request
from interp.question import Attempt, Question

if TYPE_CHECKING:
    from interp.models.model import Model

SCHEMA = {"question": pl.String, "spelled": pl.String, "plain_sum": pl.Float64, "plain_mean": pl.Float64}
SPELLED = pl.col("tokens").cast(pl.List(pl.String)).list.join(" ").alias("spelled")
"""The tokens of an attempt as one text, by which its scores are found."""


def rescore(
    model: Model,
    questions: Sequence[Question],
    procedure: Procedure,
    attempts: Sequence[Attempt],
    *,
    known: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Log-probability of each different answer under a procedure.

    Args:
        model: The model.
        questions: The questions.
        procedure: Prompt and edits under which answers are read; the deployed one.
        attempts: The answers, by whatever procedure they were made.
        known: What was computed before; it is kept, and not computed again.

    Returns:
        `question`, `spelled` (token ids, separated by spaces), `plain_sum` and `plain_mean` in nats.

    Raises:
        Unsupported: The model cannot read answers.
    """
    texts = {question.id: question.text for question in questions}
    found = pl.DataFrame(schema=SCHEMA) if known is None else known
    done = set(found.select("question", "spelled").iter_rows())
    fresh: dict[tuple[str, str], tuple[int, ...]] = {}
    for row in attempts:
        key = (row.question, " ".join(map(str, row.tokens)))
        if row.tokens and key not in done:
            fresh[key] = row.tokens
    answers = sorted(fresh.items(), key=lambda item: item[0][0])  # answers to one question share its prompt
    requests = [Request(texts[question], procedure) for (question, _), _ in answers]
    logprobs = model.answer_logprobs(requests, [tokens for _, tokens in answers])
    rows = [
        (*key, round(sum(values), 6), round(sum(values) / len(values), 6))
        for (key, _), values in zip(answers, logprobs, strict=True)
    ]
    return pl.concat([found, pl.DataFrame(rows, schema=SCHEMA, orient="row")])
