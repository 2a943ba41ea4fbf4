"""How much of what a probe reaches a selector keeps, and what it breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from interp.means import bootstrap_means, difference_intervals, fraction_intervals
from interp.pairs import mcnemar
from interp.readings.clusters import Clusters
from interp.stats import holm

NUMBERS = (
    *("accuracy", "low", "high", "difference", "difference_low", "difference_high"),
    *("recovered", "recovered_low", "recovered_high", "harm"),
)
SCHEMA = {
    "probe": pl.String,
    "selector": pl.String,
    "family": pl.String,
    **dict.fromkeys(NUMBERS, pl.Float64),
    **dict.fromkeys(("gained", "lost"), pl.Int64),
    **dict.fromkeys(("p", "p_holm"), pl.Float64),
}


def selector_table(
    picks: pl.DataFrame,
    *,
    probe: str,
    default: pl.DataFrame,
    oracle: pl.DataFrame,
    clusters: Clusters,
    seed: int = 0,
) -> pl.DataFrame:
    """One row a selector, best first; a question for which it picks nothing keeps its deployed answer.

    Columns: `probe`, `selector`, `family`; `accuracy` and its interval; `difference` to the deployed
    answers, paired, and its interval; `recovered` = (accuracy - deployed) / (oracle - deployed), with an
    interval, null where the oracle gains nothing; `harm`, the share of right deployed answers that become
    wrong; `gained` and `lost` questions; exact McNemar `p`, and `p_holm` over the probe's selectors. A
    random attempt has no `gained`, `lost` or `p`: it is an average, not a choice.

    Args:
        picks: What each selector picks; see `interp.readings.selectors.picked`.
        probe: Name of the probe.
        default: Deployed answers: `question`, `right`, in the questions' order.
        oracle: Whether any attempt is right, or the deployed answer: `question`, `right`.
        clusters: Which questions belong together.
        seed: Seed of the bootstrap.
    """
    before = default["right"].to_numpy().astype(float)
    most = oracle["right"].to_numpy().astype(float)
    wide = default.select("question").join(
        picks.pivot("selector", index="question", values="right"),
        on="question",
        how="left",
        maintain_order="left",
    )
    names = [name for name in wide.columns if name != "question"]
    values = wide.select(pl.col(names).cast(pl.Float64)).to_numpy()
    values = np.where(np.isnan(values), before[:, None], values)
    ends = fraction_intervals(values, clusters=clusters.labels)
    gains = difference_intervals(values - before[:, None], clusters=clusters.labels, seed=seed)
    shares = _recovered(values, before, most, clusters, seed=seed)
    families = dict(picks.select("selector", "family").unique().iter_rows())
    rows: list[dict[str, Any]] = [
        _numbers(values[:, i], before)
        | {"probe": probe, "selector": name, "family": families[name]}
        | dict(zip(("low", "high"), ends[i], strict=True))
        | dict(zip(("difference_low", "difference_high"), gains[i], strict=True))
        | dict(zip(("recovered", "recovered_low", "recovered_high"), shares[i], strict=True))
        for i, name in enumerate(names)
    ]
    tested = [row for row in rows if row["p"] is not None]
    for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = p
    return pl.DataFrame(rows, schema=SCHEMA).sort("accuracy", "selector", descending=[True, False])


def _numbers(after: np.ndarray, before: np.ndarray) -> dict[str, float | int | None]:
    lost = float(((1 - after) * before).sum())
    whole = bool(np.isin(after, (0.0, 1.0)).all())
    gained_n, lost_n = int((after * (1 - before)).sum()), int(lost)
    return {
        "accuracy": float(after.mean()),
        "difference": float((after - before).mean()),
        "harm": lost / before.sum() if before.sum() else None,
        "gained": gained_n if whole else None,
        "lost": lost_n if whole else None,
        "p": mcnemar(gained_n, lost_n) if whole else None,
        "p_holm": None,
    }


def _recovered(
    values: np.ndarray, before: np.ndarray, most: np.ndarray, clusters: Clusters, *, seed: int
) -> list[tuple[float | None, float | None, float | None]]:
    """Recovered fraction of each selector with a bootstrap interval of the ratio.

    Resamples in which the oracle gains nothing are left out of the interval.
    """
    room = most - before
    if room.mean() <= 0:
        return [(None, None, None)] * values.shape[1]
    columns = np.column_stack([values - before[:, None], room])
    means = bootstrap_means(columns, clusters=clusters.labels, seed=seed)
    ratios = means[means[:, -1] > 0]
    ratios = ratios[:, :-1] / ratios[:, -1:]
    ends = np.quantile(ratios, [0.025, 0.975], axis=0).T
    points = (values - before[:, None]).mean(axis=0) / room.mean()
    return [(float(x), float(low), float(high)) for x, (low, high) in zip(points, ends, strict=True)]
