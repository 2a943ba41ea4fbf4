"""What the plain model thinks of answers that an edited one gave: for a choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from interp.procedure import Procedure
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
    """Log-probability of each different answer under a procedure: one forward pass an answer.

    Args:
        model: The model.
        questions: The questions.
        procedure: Prompt and edits under which answers are read; the deployed one.
        attempts: The answers, by whatever procedure they were made.
        known: What was computed before; it is kept, and not computed again.

    Returns:
        `question`, `spelled` (token ids, separated by spaces), `plain_sum` and `plain_mean` in nats.

    Raises:
        Unsupported: The model cannot run a forward pass.
    """
    import torch

    texts = {question.id: question.text for question in questions}
    found = pl.DataFrame(schema=SCHEMA) if known is None else known
    done = set(found.select("question", "spelled").iter_rows())
    rows: list[tuple[str, str, float, float]] = []
    for row in attempts:
        key = (row.question, " ".join(map(str, row.tokens)))
        if key in done or not row.tokens:
            continue
        done.add(key)
        prompt = model.render(texts[row.question], procedure.prompt).tokens
        with torch.no_grad():
            passed = model.forward([*prompt, *row.tokens[:-1]], interventions=procedure.interventions)
            logprobs = passed.logits[0, len(prompt) - 1 :].float().log_softmax(-1)
            chosen = logprobs.gather(-1, torch.tensor(row.tokens, device=logprobs.device)[:, None])
        total = float(chosen.double().sum())
        rows.append((*key, round(total, 6), round(total / len(row.tokens), 6)))
    return pl.concat([found, pl.DataFrame(rows, schema=SCHEMA, orient="row")])
