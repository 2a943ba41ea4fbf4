"""One probe against another on the same questions and the same budget: is the other as good as the search?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from interp.errors import BadInput
from interp.means import difference_intervals
from interp.pairs import mcnemar
from interp.readings.clusters import Clusters
from interp.readings.decoys import decoy_counts

SCHEMA = {
    "search": pl.String,
    "other": pl.String,
    "k": pl.Int64,
    "n": pl.Int64,
    **dict.fromkeys(("reach", "reach_other", "difference", "low", "high", "margin"), pl.Float64),
    "non_inferior": pl.Boolean,
    **dict.fromkeys(("only_search", "only_other"), pl.Int64),
    "p": pl.Float64,
    **dict.fromkeys(("excess", "excess_other", "layer_tokens", "layer_tokens_other"), pl.Float64),
}


def contrast_table(
    attempts: Mapping[str, pl.DataFrame],
    pairs: Sequence[tuple[str, str]],
    *,
    k: int,
    margin: float,
    targets: pl.DataFrame,
    clusters: Clusters,
) -> pl.DataFrame:
    """One row a pair of probes, read at the first k attempts of each.

    Columns: `search`, `other`; `k` attempts, different routes each; `n` questions; `reach` of both;
        `difference` (other - search), paired, with its 95 percent interval; `non_inferior`: whether the
        interval lies above -`margin`, so that the other is shown to reach at most `margin` less (one-sided,
        at 2.5 percent); `only_search` and `only_other`, questions that one alone reaches, and exact McNemar
        `p`; `excess` of both, reach less what the same attempts reach of wrong targets (null where a question
        has none); `layer_tokens` of both, a question. A search that stops early has fewer attempts: its
        layer-tokens say so.

    Args:
        attempts: Rows by probe; see `interp.readings.probed.attempts_of`.
        pairs: (search, other).
        k: Budget in attempts.
        margin: How much less counts as no worse; stated before the run.
        targets: Wrong targets; see `decoy_targets`.
        clusters: Which questions belong together.

    Raises:
        BadInput: A probe was not run, the budget is below 1, or the margin is no share.
    """
    if k < 1 or not 0 < margin < 1:
        raise BadInput(
            f"A contrast needs a budget of 1 or more and a margin in 0 to 1, got {k} and {margin}."
        )
    for name in dict.fromkeys(name for pair in pairs for name in pair):
        if name not in attempts:
            raise BadInput(f"There is no probe {name!r} in this run; it has {', '.join(attempts)}.")
    first = {name: rows.filter(pl.col("attempt") < k) for name, rows in attempts.items()}
    hits = {name: _hits(rows) for name, rows in first.items()}
    rows: list[dict[str, object]] = []
    for search, other in pairs:
        one, two = hits[search], hits[other]
        low, high = difference_intervals((two - one)[:, None], clusters=clusters.labels)[0]
        only = int((one > two).sum()), int((two > one).sum())
        rows.append(
            {
                "search": search,
                "other": other,
                "k": k,
                "n": len(one),
                "reach": float(one.mean()),
                "reach_other": float(two.mean()),
                "difference": float((two - one).mean()),
                "low": low,
                "high": high,
                "margin": margin,
                "non_inferior": low > -margin,
                "only_search": only[0],
                "only_other": only[1],
                "p": mcnemar(*only),
                "excess": _excess(first[search], targets, one),
                "excess_other": _excess(first[other], targets, two),
                "layer_tokens": first[search]["n_layer_tokens"].sum() / len(one),
                "layer_tokens_other": first[other]["n_layer_tokens"].sum() / len(two),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def anytime_table(
    attempts: Mapping[str, pl.DataFrame], deployed: pl.DataFrame, multiples: Sequence[int]
) -> pl.DataFrame:
    """What each probe reaches for a budget in layer-tokens: `probe`, `multiple`, `reach`.

    The budget of a question is a multiple of what its deployed answer cost; the attempts that fit into it, in
    order, count. So short routes and answers buy more attempts.

    Args:
        attempts: Rows by probe; see `interp.readings.probed.attempts_of`.
        deployed: One row a question: the deployed answers.
        multiples: The budgets.
    """
    cost = deployed.select("question", unit="n_layer_tokens")
    found: list[pl.DataFrame] = []
    for name, rows in attempts.items():
        spent = rows.join(cost, on="question", maintain_order="left").with_columns(
            spent=pl.col("n_layer_tokens").cum_sum().over("question") / pl.col("unit")
        )
        for multiple in multiples:
            inside = pl.col("right") & (pl.col("spent") <= multiple)
            reach = spent.group_by("question").agg(inside.any().alias("hit"))["hit"].mean()
            found.append(pl.DataFrame({"probe": [name], "multiple": [multiple], "reach": [reach]}))
    return pl.concat(found)


def _hits(rows: pl.DataFrame) -> np.ndarray:
    """Whether each question has a right attempt, in the questions' order."""
    return (
        rows.group_by("question", maintain_order=True)
        .agg(pl.col("right").any())["right"]
        .to_numpy()
        .astype(float)
    )


def _excess(rows: pl.DataFrame, targets: pl.DataFrame, hits: np.ndarray) -> float | None:
    """Reach less the reach of wrong targets, averaged over each question's targets first."""
    found = decoy_counts(rows, targets).group_by("question").agg(decoy=(pl.col("n_hits") > 0).mean())
    if found.height < len(hits):
        return None
    decoys = found["decoy"].mean()
    return float(hits.mean() - decoys)  # pyright: ignore[reportArgumentType, reportOperatorIssue]
