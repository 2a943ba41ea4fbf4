"""The rows of one probe as an audit reads them: controls left out, attempts numbered from 0."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from interp.errors import BadInput
from interp.probes.probe import Probed
from interp.question import Outcome


def attempts_of(table: pl.DataFrame, probe: Probed, ids: Sequence[str]) -> pl.DataFrame:
    """The attempts of a probe: the log's columns, with `attempt` (from 0) and `right`.

    Sorted by question, in the order of `ids`, then by draw.

    Raises:
        BadInput: A question was not asked at all.
    """
    rows = table.filter(pl.col("probe") == probe.name, pl.col("draw") >= probe.n_controls)
    order = pl.DataFrame(
        {"question": list(ids), "place": range(len(ids))}, schema_overrides={"place": pl.Int64}
    )
    rows = (
        rows.join(order, on="question", how="inner")
        .sort("place", "draw")
        .with_columns(
            right=pl.col("outcome") == Outcome.RIGHT.value,
            attempt=pl.col("draw") - probe.n_controls,
        )
    )
    missing = order.join(rows, on="question", how="anti")["question"]
    if missing.len():
        raise BadInput(
            f"The probe {probe.name!r} is not complete: {missing.len()} of {len(ids)} questions have no "
            f"attempt, the first is {missing[0]!r}. Start the same command again to go on."
        )
    return rows


def tuned_on(table: pl.DataFrame, probe: Probed) -> frozenset[str]:
    """Questions on which a probe has chosen what it asks of all: those that alone have draws before attempts.

    A control that asks the deployed procedure again is asked of every question, and chooses nothing.
    """
    rows = table.filter(probe=probe.name)
    before = rows.filter(pl.col("draw") < probe.n_controls)
    some, every = frozenset(before["question"]), frozenset(rows["question"])
    return some if some < every else frozenset()


def tally(attempts: pl.DataFrame) -> pl.DataFrame:
    """One row a question, in order: `n` attempts and `n_right` of them."""
    return attempts.group_by("question", maintain_order=True).agg(n=pl.len(), n_right=pl.col("right").sum())
