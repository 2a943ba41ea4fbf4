"""A choice that can be shipped: one route, or one block to silence, fixed on some questions for the rest."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from interp.question import seeded_order
from interp.readings.clusters import Clusters


def one_for_all(
    attempts: pl.DataFrame, clusters: Clusters, tuned: Collection[str] = ()
) -> pl.DataFrame | None:
    """What is right most often on some questions, measured on the others; None if nothing was asked of all.

    Attempts on one route are the same choice, whatever their number; without routes those of one number are.
    Choices that not all questions were asked are left out, and of equally good ones the first is taken. One
    half of the clusters chooses for the other, both ways. Where the probe itself has chosen on some of the
    questions, those choose, and only the rest is measured.

    Args:
        attempts: The probe's rows, as `attempts_of` gives them.
        clusters: Which questions belong together; a cluster is not parted.
        tuned: Questions on which the probe has chosen; see `interp.readings.probed.tuned_on`.

    Returns:
        One row a measured question, in the questions' order: its attempt that was chosen, and `choice`.
    """
    ids = attempts["question"].unique(maintain_order=True)
    rows = attempts.with_columns(choice=pl.coalesce("route", pl.col("attempt").cast(pl.String)))
    rows = rows.unique(["question", "choice"], keep="first", maintain_order=True)
    rows = rows.filter(pl.col("question").n_unique().over("choice") == ids.len())
    if rows.is_empty():
        return None
    groups = [tuned, ids.filter(~ids.is_in(list(tuned)))] if tuned else _halves(ids, clusters)
    parts = [rows.filter(pl.col("question").is_in(list(group))) for group in groups]
    ways = [parts] if tuned else [parts, parts[::-1]]
    chosen = pl.concat([_fixed(train, test) for train, test in ways])
    order = pl.DataFrame({"question": ids})
    return order.join(chosen, on="question", how="inner", maintain_order="left")


def _halves(ids: pl.Series, clusters: Clusters) -> list[list[str]]:
    """Two halves of the clusters, drawn by their labels."""
    order = seeded_order(list(dict.fromkeys(clusters.labels)), 0)
    first = set(order[: len(order) // 2])
    found: list[list[str]] = [[], []]
    for question, label in zip(ids, clusters.labels, strict=True):
        found[label not in first].append(question)
    return found


def _fixed(train: pl.DataFrame, test: pl.DataFrame) -> pl.DataFrame:
    """The rows of one part on the choice that is best on the other; where there is no other, on the own."""
    means = (train if train.height else test).group_by("choice", maintain_order=True)
    best = means.agg(pl.col("right").mean()).sort("right", descending=True, maintain_order=True)
    return test.filter(pl.col("choice") == best["choice"][0])
