"""Where the routes of a probe leave layers out, and where they run layers again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from interp.route import Route

SCHEMA = {"probe": pl.String, "layer": pl.Int64, "skipped": pl.Float64, "repeated": pl.Float64}


def placement_table(
    attempts: Mapping[str, pl.DataFrame], n_layers: int, *, right: bool = False
) -> pl.DataFrame:
    """One row a probe and layer: the share of its routes that skip it, and that run it more than once.

    Averaged within a question first. What a search finds about layers is only what it does more often than
    the same search whose reward says nothing.

    Args:
        attempts: Rows by probe; see `interp.readings.probed.attempts_of`. Those without a route are left out.
        n_layers: Number of layers of the model.
        right: Whether only routes that were right count.
    """
    rows: list[dict[str, object]] = []
    for name, table in attempts.items():
        routed = table.filter(pl.col("route").is_not_null(), pl.col("right") | pl.lit(value=not right))
        counts = {line: Counter(Route.parse(line).layers) for line in routed["route"].unique()}
        lines = [counts[line] for line in routed["route"]]
        for layer in range(n_layers):
            shares = (
                routed.select("question")
                .with_columns(
                    skipped=pl.Series([found[layer] == 0 for found in lines], dtype=pl.Boolean),
                    repeated=pl.Series([found[layer] > 1 for found in lines], dtype=pl.Boolean),
                )
                .group_by("question")
                .agg(pl.col("skipped").mean(), pl.col("repeated").mean())
            )
            means = {kind: shares[kind].mean() for kind in ("skipped", "repeated")}
            rows.append({"probe": name, "layer": layer, **means})
    return pl.DataFrame(rows, schema=SCHEMA)
