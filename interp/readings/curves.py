"""Reach curves: what k attempts of a probe reach, with their controls beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from interp.means import difference_intervals, fraction_intervals
from interp.probes.probe import Probed
from interp.question import Question
from interp.reach import chance_floor, majorities_at_k, pass_at_k, pass_hat_k
from interp.readings.clusters import Clusters
from interp.readings.decoys import decoy_counts
from interp.readings.probed import tally

if TYPE_CHECKING:
    from jaxtyping import Float

    Column = Float[np.ndarray, " question"]

MOST_K = 64
"""Budgets up to this one are all read; above it those that double, and the whole budget."""
SCHEMA = {
    "probe": pl.String,
    "sees_verdicts": pl.Boolean,
    "k": pl.Int64,
    **dict.fromkeys(
        ("reach", "reach_low", "reach_high", "pass_hat", "majority", "floor", "decoy"), pl.Float64
    ),
    **dict.fromkeys(("excess", "excess_low", "excess_high"), pl.Float64),
}


def budgets(n: int) -> list[int]:
    """The values of k that are read for n attempts."""
    doubled = [2**i for i in range(n.bit_length()) if 2**i <= n]
    return sorted({*range(1, min(n, MOST_K) + 1), *doubled, n})


def reach_table(
    attempts: pl.DataFrame,
    probe: Probed,
    questions: Sequence[Question],
    *,
    targets: pl.DataFrame,
    clusters: Clusters,
    seed: int = 0,
) -> pl.DataFrame:
    """One row a k: what k attempts reach, by the unbiased estimate, averaged over questions.

    Columns: `probe`; `sees_verdicts`, whether its draws depend on the gold answers; `k`; `reach` (pass@k)
    with its interval; `pass_hat` (all k right); `majority` (the commonest of k right; at
    powers of two up to `MOST_K` and at the whole budget, else null); `floor` (k guesses among each question's
    options; null unless all have some); `decoy` (the same attempts against wrong targets, averaged within a
    question first; null unless all have some); `excess` (reach - decoy) with its interval. A probe whose
    draws are ordered is read at its first k attempts instead, in order. Intervals are 95 percent and draw
    whole clusters: see `interp.means.fraction_intervals` and `difference_intervals`.

    Args:
        attempts: The probe's rows, as `attempts_of` gives them.
        probe: The probe.
        questions: The questions, in the same order.
        targets: Their wrong targets; see `decoy_targets`.
        clusters: Which questions belong together.
        seed: Seed of the bootstrap.
    """
    counts = tally(attempts)
    n, right = counts["n"].to_numpy(), counts["n_right"].to_numpy()
    if probe.ordered:
        ks = budgets(int(n.max()))
        columns = _in_order(attempts, questions, targets, ks)
    else:
        ks = budgets(int(n.min()))
        columns: dict[str, dict[int, Column]] = {
            "reach": _each(pass_at_k, n, right, ks),
            "pass_hat": _each(pass_hat_k, n, right, ks),
            "majority": _majorities(attempts, ks),
            "floor": _floors(questions, dict.fromkeys(ks, n)),
            "decoy": _decoys(attempts, targets, counts, ks),
        }
    decoys = columns["decoy"]
    excess = {k: columns["reach"][k] - decoys[k] for k in decoys}
    labels = clusters.labels
    reach = np.stack([columns["reach"][k] for k in ks], axis=1)
    reach_ends = dict(zip(ks, fraction_intervals(reach, clusters=labels), strict=True))
    excess_ends: dict[int, tuple[float, float]] = {}
    if excess:
        stacked = np.stack([*excess.values()], axis=1)
        excess_ends = dict(
            zip(excess, difference_intervals(stacked, clusters=labels, seed=seed), strict=True)
        )
    rows = [
        {"probe": probe.name, "sees_verdicts": probe.sees_verdicts, "k": k}
        | {name: float(values[k].mean()) if k in values else None for name, values in columns.items()}
        | {"excess": float(excess[k].mean()) if k in excess else None}
        | dict(zip(("reach_low", "reach_high"), reach_ends[k], strict=True))
        | dict(zip(("excess_low", "excess_high"), excess_ends.get(k, (None, None)), strict=True))
        for k in ks
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _in_order(
    attempts: pl.DataFrame, questions: Sequence[Question], targets: pl.DataFrame, ks: Sequence[int]
) -> dict[str, dict[int, Column]]:
    """Every column for the first k attempts in order; a question whose search has ended keeps what it had."""
    columns: dict[str, dict[int, Column]] = {
        name: {} for name in ("reach", "pass_hat", "majority", "floor", "decoy")
    }
    tried: dict[int, np.ndarray] = {}
    for k in ks:
        first = attempts.filter(pl.col("attempt") < k)
        counts = tally(first)
        n, hits = counts["n"].to_numpy(), counts["n_right"].to_numpy()
        tried[k] = n
        columns["reach"][k] = (hits > 0).astype(float)
        columns["pass_hat"][k] = (hits == n).astype(float)
        if (k & (k - 1) == 0 and k <= MOST_K) or k == ks[-1]:
            columns["majority"][k] = _majority(first)
        index = counts.with_row_index("row")
        found = decoy_counts(first, targets).join(index, on="question", how="inner", maintain_order="left")
        if found["row"].n_unique() == counts.height:
            rows = found["row"].to_numpy()
            hit = np.bincount(rows, weights=found["n_hits"].to_numpy() > 0, minlength=counts.height)
            columns["decoy"][k] = hit / np.bincount(rows, minlength=counts.height)
    columns["floor"] = _floors(questions, tried)
    return columns


def _each(
    estimate: Callable[[int, int, int], float], n: np.ndarray, right: np.ndarray, ks: Sequence[int]
) -> dict[int, Column]:
    """An estimate for each k and question; each pair of counts is computed once."""
    width = int(n.max(initial=0)) + 1
    codes, index = np.unique(n * width + right, return_inverse=True)
    pairs = [divmod(int(code), width) for code in codes]
    return {k: np.array([estimate(a, c, k) for a, c in pairs])[index] for k in ks}


def _majorities(attempts: pl.DataFrame, ks: Sequence[int]) -> dict[int, Column]:
    """The chance that the commonest of k attempts is right; what cannot be read has no vote."""
    order = attempts.select("question").unique(maintain_order=True).with_row_index("row")
    given = (
        attempts.with_columns(said=pl.when(~pl.col("right")).then("answer"))
        .group_by("question", "right", "said")
        .agg(count=pl.len())
        .join(order, on="question")
        .sort("row", "count", descending=[False, True])
    )
    n_right, n_blank = np.zeros((2, order.height), dtype=np.int64)
    blank = ~pl.col("right") & pl.col("said").is_null()
    for counts, rows in ((n_right, given.filter("right")), (n_blank, given.filter(blank))):
        counts[rows["row"].to_numpy()] = rows["count"].to_numpy()
    misses = given.filter(~pl.col("right") & pl.col("said").is_not_null())
    misses = misses.with_columns(column=pl.int_range(pl.len()).over("row"))
    width = int(misses["column"].max() or 0) + 1  # pyright: ignore[reportArgumentType]
    others = np.zeros((order.height, width), dtype=np.int64)
    others[misses["row"].to_numpy(), misses["column"].to_numpy()] = misses["count"].to_numpy()
    read = {k for k in ks if k & (k - 1) == 0 and k <= MOST_K} | {ks[-1]}
    return {k: majorities_at_k(n_right, others, k, blank=n_blank) for k in sorted(read)}


def _floors(questions: Sequence[Question], tried: Mapping[int, np.ndarray]) -> dict[int, Column]:
    """What guessing reaches, by k; a question that had fewer attempts has fewer guesses."""
    sizes = [len(question.choices) or len(question.candidates) for question in questions]
    if not all(sizes):
        return {}
    return {
        k: np.array([chance_floor(min(k, int(a)), m) for a, m in zip(n, sizes, strict=True)])
        for k, n in tried.items()
    }


def _majority(attempts: pl.DataFrame) -> Column:
    """Whether the commonest answer of each question is right; a tie counts by its share."""
    n = tally(attempts)["n"].to_numpy()
    found = np.zeros(len(n))
    order = attempts["question"].unique(maintain_order=True)
    for size in np.unique(n):  # questions with equally many attempts are read together
        some = order.filter(pl.Series(n == size))
        rows = attempts.filter(pl.col("question").is_in(some.implode()))
        found[n == size] = _majorities(rows, [int(size)])[int(size)]
    return found


def _decoys(
    attempts: pl.DataFrame, targets: pl.DataFrame, counts: pl.DataFrame, ks: Sequence[int]
) -> dict[int, Column]:
    """What k attempts reach of a wrong target, averaged over each question's targets."""
    index = counts.with_row_index("row")
    hits = decoy_counts(attempts, targets).join(index, on="question", how="inner", maintain_order="left")
    if hits["row"].n_unique() < counts.height:
        return {}
    rows, n, c = (hits[name].to_numpy() for name in ("row", "n", "n_hits"))
    n_targets = np.bincount(rows, minlength=counts.height)
    return {
        k: np.bincount(rows, weights=values, minlength=counts.height) / n_targets
        for k, values in _each(pass_at_k, n, c, ks).items()
    }
