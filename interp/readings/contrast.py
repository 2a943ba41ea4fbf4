"""One probe against another on the same questions and the same budget: is the other as good as the search?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from interp.errors import BadInput
from interp.means import difference_intervals
from interp.pairs import mcnemar
from interp.probes.probe import Probed
from interp.readings.clusters import Clusters
from interp.readings.decoys import decoy_counts

MARGIN = 0.10
"""How much less reach counts as no worse, unless a plan says otherwise; stated before any run."""

SCHEMA = {
    "search": pl.String,
    "other": pl.String,
    "matched": pl.String,
    "k": pl.Int64,
    "n": pl.Int64,
    **dict.fromkeys(("reach", "reach_other", "difference", "low", "high", "margin"), pl.Float64),
    "non_inferior": pl.Boolean,
    **dict.fromkeys(("only_search", "only_other"), pl.Int64),
    "p": pl.Float64,
    **dict.fromkeys(("excess", "excess_other", "layer_tokens", "layer_tokens_other"), pl.Float64),
}


def search_pairs(
    probes: Mapping[str, Probed], attempts: Mapping[str, pl.DataFrame]
) -> list[tuple[str, str, int]]:
    """Each probe over routes that sees verdicts with each that does not, and the smaller of their budgets.

    Args:
        probes: The probes of a run.
        attempts: Their rows; see `interp.readings.probed.attempts_of`.
    """
    routed = [name for name, rows in attempts.items() if rows["route"].drop_nulls().len()]
    return [
        (one, two, min(probes[one].budget, probes[two].budget))
        for one in routed
        for two in routed
        if probes[one].sees_verdicts and not probes[two].sees_verdicts
    ]


def contrast_table(
    attempts: Mapping[str, pl.DataFrame],
    pairs: Sequence[tuple[str, str, int]],
    *,
    margin: float,
    targets: pl.DataFrame,
    clusters: Clusters,
    deployed: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row a pair of probes, read within the same budget.

    Columns: `search`, `other`; `matched` ("attempts" or "layer-tokens") and the budget `k`; `n` questions;
        `reach` of both; `difference` (other - search), paired, with its 95 percent interval; `non_inferior`:
        whether the interval lies above -`margin`, so that the other is shown to reach at most `margin` less
        (one-sided, at 2.5 percent); `only_search` and `only_other`, questions that one alone reaches, and
        exact McNemar `p`; `excess` of both, reach less what the same attempts reach of wrong targets (null
        where a question has none); `layer_tokens` of both, a question. A search that stops early has fewer
        attempts: its layer-tokens say so.

    Args:
        attempts: Rows by probe; see `interp.readings.probed.attempts_of`.
        pairs: (search, other, k): the budget is k attempts.
        margin: How much less counts as no worse; stated before the run.
        targets: Wrong targets; see `decoy_targets`.
        clusters: Which questions belong together.
        deployed: If given, one row a question, its deployed answer: the budget is k times the layer-tokens
            that this one cost, and the attempts that fit into it count, of those that were made.

    Raises:
        BadInput: A probe was not run, the budget is below 1, or the margin is no share.
    """
    rows: list[dict[str, object]] = []
    for search, other, k in pairs:
        for name in (search, other):
            if name not in attempts:
                raise BadInput(f"There is no probe {name!r} in this run; it has {', '.join(attempts)}.")
        if k < 1 or not 0 < margin < 1:
            raise BadInput(
                f"A contrast needs a budget of 1 or more and a margin in 0 to 1, got {k} and {margin}."
            )
        counted = [
            attempts[name].with_columns(counts=pl.col("attempt") < k)
            if deployed is None
            else _priced(attempts[name], deployed).with_columns(counts=pl.col("spent") <= k)
            for name in (search, other)
        ]
        one, two = (_hits(table) for table in counted)
        inside = [table.filter("counts") for table in counted]
        low, high = difference_intervals((two - one)[:, None], clusters=clusters.labels)[0]
        only = int((one > two).sum()), int((two > one).sum())
        rows.append(
            {
                "search": search,
                "other": other,
                "matched": "attempts" if deployed is None else "layer-tokens",
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
                "excess": _excess(inside[0], targets, one),
                "excess_other": _excess(inside[1], targets, two),
                "layer_tokens": inside[0]["n_layer_tokens"].sum() / len(one),
                "layer_tokens_other": inside[1]["n_layer_tokens"].sum() / len(two),
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
    found: list[dict[str, object]] = []
    for name, rows in attempts.items():
        hits = _priced(rows, deployed).filter("right").group_by("question").agg(pl.col("spent").min())
        n = rows["question"].n_unique()
        for multiple in multiples:
            n_reached = int((hits["spent"] <= multiple).sum())
            found.append({"probe": name, "multiple": multiple, "reach": n_reached / n})
    return pl.DataFrame(found, schema={"probe": pl.String, "multiple": pl.Int64, "reach": pl.Float64})


def _priced(rows: pl.DataFrame, deployed: pl.DataFrame) -> pl.DataFrame:
    """With `spent`: what the attempts up to each cost, in layer-tokens of the question's deployed answer."""
    cost = deployed.select("question", unit="n_layer_tokens")
    return rows.join(cost, on="question", maintain_order="left").with_columns(
        spent=pl.col("n_layer_tokens").cum_sum().over("question") / pl.col("unit")
    )


def _hits(rows: pl.DataFrame) -> np.ndarray:
    """Whether an attempt that counts is right, of each question, in the questions' order."""
    hit = (pl.col("right") & pl.col("counts")).any().alias("hit")
    return rows.group_by("question", maintain_order=True).agg(hit)["hit"].to_numpy().astype(float)


def _excess(rows: pl.DataFrame, targets: pl.DataFrame, hits: np.ndarray) -> float | None:
    """Reach less the reach of wrong targets, averaged over each question's targets first."""
    found = decoy_counts(rows, targets).group_by("question").agg(decoy=(pl.col("n_hits") > 0).mean())
    if found.height < len(hits):
        return None
    decoys = found["decoy"].mean()
    return float(hits.mean() - decoys)  # pyright: ignore[reportArgumentType, reportOperatorIssue]
