"""What an answer's token scores come to: sums, means, and the groups of DeepConf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from jaxtyping import Float, Int

GROUP = 2048
"""Tokens in a group of DeepConf, as published."""

COLUMNS = (
    "logprob_sum",
    "logprob_mean",
    "logprob_span",
    "entropy_mean",
    "margin_mean",
    "certainty_mean",
    "confidence_mean",
    "confidence_lowest",
    "confidence_tail",
)
"""Numbers of an answer, in nats; see `with_scores`."""


def with_scores(attempts: pl.DataFrame, *, group: int = GROUP) -> pl.DataFrame:
    """Attempts with one column a number of `COLUMNS`; null where an attempt has no scores.

    `logprob_span` sums over the tokens that spell the answer that was read; `confidence_lowest` is the
    lowest mean over `group` consecutive tokens, `confidence_tail` the mean over the last of them.

    Args:
        attempts: Rows of the log.
        group: Tokens in a group.

    Reference:
        Y. Fu et al., "Deep think with confidence", arXiv 2508.15260 (2025), for the groups.
    """
    scored = attempts.with_row_index("row").filter(
        pl.col("scores").is_not_null() & (pl.col("scores").struct.field("logprob").list.len() > 0)
    )
    if scored.is_empty():
        return attempts.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in COLUMNS)
    fields = scored.select("row", pl.col("scores").struct.unnest())
    lengths = fields["logprob"].list.len().to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    flat = {
        n: fields[n].explode().to_numpy() for n in ("logprob", "entropy", "margin", "confidence", "certainty")
    }
    found = {
        "row": fields["row"],
        "logprob_sum": np.add.reduceat(flat["logprob"], begins),
        "logprob_span": _span_sums(scored, fields, flat["logprob"], begins),
        "confidence_lowest": _lowest(flat["confidence"], begins, ends, group),
        "confidence_tail": _means(flat["confidence"], np.maximum(begins, ends - group), ends),
    }
    for name, values in flat.items():
        found[f"{name}_mean"] = np.add.reduceat(values, begins) / lengths
    columns = pl.DataFrame(found).select("row", *COLUMNS).fill_nan(None)
    return (
        attempts.with_row_index("row").join(columns, on="row", how="left", maintain_order="left").drop("row")
    )


def _span_sums(
    scored: pl.DataFrame,
    fields: pl.DataFrame,
    logprob: Float[np.ndarray, " token"],
    begins: Int[np.ndarray, " answer"],
) -> Float[np.ndarray, " answer"]:
    """Sum over the tokens whose text overlaps the span; NaN without a span."""
    spans = scored.select(
        begin=pl.col("span").list.get(0, null_on_oob=True).cast(pl.Float64),
        end=pl.col("span").list.get(1, null_on_oob=True).cast(pl.Float64),
        length=pl.col("text").str.len_chars(),
    )
    start = fields["start"].explode().to_numpy()
    lengths = fields["start"].list.len().to_numpy()
    stop = np.append(start[1:], 0)
    stop[np.append(begins[1:], len(start)) - 1] = np.maximum(spans["length"].to_numpy(), 1)
    begin, end = (np.repeat(spans[name].to_numpy(), lengths) for name in ("begin", "end"))
    inside = (start < end) & (stop > begin)
    sums = np.add.reduceat(np.where(inside, logprob, 0.0), begins)
    sums[np.add.reduceat(inside.astype(int), begins) == 0] = np.nan
    return sums


def _lowest(
    values: Float[np.ndarray, " token"],
    begins: Int[np.ndarray, " answer"],
    ends: Int[np.ndarray, " answer"],
    group: int,
) -> Float[np.ndarray, " answer"]:
    lowest = _means(values, begins, np.minimum(ends, begins + group))
    for i in np.flatnonzero(ends - begins > group):
        sums = np.cumsum(np.insert(values[begins[i] : ends[i]], 0, 0.0))
        lowest[i] = ((sums[group:] - sums[:-group]) / group).min()
    return lowest


def _means(
    values: Float[np.ndarray, " token"], begins: Int[np.ndarray, " answer"], ends: Int[np.ndarray, " answer"]
) -> Float[np.ndarray, " answer"]:
    sums = np.cumsum(np.insert(values, 0, 0.0))
    return (sums[ends] - sums[begins]) / (ends - begins)
