"""The logit lens on gold and given answers over depth.

Reference: nostalgebraist, "interpreting GPT: the logit lens" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from interp.localizers.parting import Parting
from interp.site import Point, Site

if TYPE_CHECKING:
    from interp.models.model import Model

LENS_SCHEMA = {
    "question": pl.String,
    "layer": pl.Int64,
    "gold_logprob": pl.Float64,
    "given_logprob": pl.Float64,
    "gold_rank": pl.Int64,
    "given_rank": pl.Int64,
}
QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}


def lens_table(model: Model, partings: Sequence[Parting]) -> pl.DataFrame:
    """Log-probability (nats) and rank (1 = first) of gold and given token after each block.

    Returns:
        One row a parting and depth; `layer` counts the blocks applied: 0 is the embedding, the last row
        is what the model says.
    """
    import torch

    streams = [Site(0, Point.RESID_PRE), *(Site(i, Point.RESID_POST) for i in range(model.n_layers))]
    rows: list[dict[str, object]] = []
    for parting in partings:
        with torch.no_grad():
            seen = model.forward(parting.context, record=streams).activations
            stack = torch.stack([seen[site][0, -1] for site in streams])
            logprobs = model.head(stack).float().log_softmax(-1)
        for layer, row in enumerate(logprobs):
            gold, given = row[parting.gold], row[parting.given]
            ranks = {"gold_rank": int((row > gold).sum()) + 1, "given_rank": int((row > given).sum()) + 1}
            probs = {"gold_logprob": float(gold), "given_logprob": float(given)}
            rows.append({"question": parting.question, "layer": layer, **probs, **ranks})
    return pl.DataFrame(rows, schema=LENS_SCHEMA)


def lens_layers(lens: pl.DataFrame) -> pl.DataFrame:
    """Quartiles over the failures at each depth, and how often gold leads there.

    Returns:
        One row a depth: layer; gold_low, gold_median, gold_high, given_low, given_median, given_high
        (quartiles of log-probability); gold_first (share of failures whose gold beats the given answer).
    """
    quartiles = [
        pl.col(f"{who}_logprob").quantile(q, "linear").alias(f"{who}_{name}")
        for who in ("gold", "given")
        for name, q in QUARTILES.items()
    ]
    leads = (pl.col("gold_logprob") > pl.col("given_logprob")).mean().alias("gold_first")
    return lens.group_by("layer").agg(*quartiles, leads).sort("layer")
