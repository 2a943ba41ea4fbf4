"""Two audits of the same questions: what changed, where the gain came from, and how surely."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from interp.means import difference_intervals
from interp.pairs import detectable_difference, mcnemar
from interp.readings.clusters import Clusters
from interp.readings.states import State
from interp.stats import holm

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool

    Flags = Bool[np.ndarray, " question"]

DEPLOYED, REACHABLE = "deployed", "reachable"


@dataclass(frozen=True)
class Change:
    """One share, before and after, on the same questions.

    Attributes:
        name: "deployed", the name of a probe, or "reachable" (deployed or any probe).
        k: Attempts a question; 1 for deployed, 0 where probes are joined.
        before: Share of questions before.
        after: Share after.
        difference: After minus before.
        interval: Its 95 percent interval: paired bootstrap of whole clusters.
        gained: Questions right only after.
        lost: Questions right only before.
        p: Exact McNemar test.
        p_holm: The same, adjusted for every test of the comparison.
        detectable: Smallest difference that this sample would have shown in four of five cases, given how
            many questions changed; None where nothing changed or too little for any.
    """

    name: str
    k: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float]
    gained: int
    lost: int
    p: float
    p_holm: float
    detectable: float | None


@dataclass(frozen=True)
class Comparison:
    """Every number of a comparison.

    Attributes:
        before: Name of the run before.
        after: Name of the run after.
        n_questions: Questions that both have.
        clusters: How intervals draw questions, in words.
        allowed: Differences between the evaluations that were accepted.
        deployed: Change of the deployed score.
        ceilings: Change of what each probe reaches, then of what deployed answers and probes reach together.
        n_changed: Questions right or wrong as before whose answer is another.
        gained_within_reach: Gained questions that were reachable before.
        gained_newly: Gained questions that were not.
        lost_within_reach: Lost questions that are still reachable.
        lost_entirely: Lost questions that are not.
        preserved: Questions reachable before and after.
        expanded: Questions reachable only after.
        shrunk: Questions reachable only before.
        crossings: For each probe the smallest k from which the other run reaches more than at k = 1; None
            where the curves do not cross.
    """

    before: str
    after: str
    n_questions: int
    clusters: str
    allowed: tuple[str, ...]
    deployed: Change
    ceilings: tuple[Change, ...]
    n_changed: int
    gained_within_reach: int
    gained_newly: int
    lost_within_reach: int
    lost_entirely: int
    preserved: int
    expanded: int
    shrunk: int
    crossings: Mapping[str, int | None]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every tested change."""
        return (self.deployed, *self.ceilings)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value."""
        return asdict(self)


def change(name: str, k: int, before: Flags, after: Flags, *, clusters: Clusters, seed: int = 0) -> Change:
    """What changed in one share; `p_holm` is `p` until `with_holm` adjusts it."""
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    differences = after.astype(float) - before.astype(float)
    p = mcnemar(gained, lost)
    detectable = detectable_difference(len(before), (gained + lost) / len(before))
    return Change(
        name=name,
        k=k,
        before=float(before.mean()),
        after=float(after.mean()),
        difference=float(differences.mean()),
        interval=difference_intervals(differences[:, None], clusters=clusters.labels, seed=seed)[0],
        gained=gained,
        lost=lost,
        p=p,
        p_holm=p,
        detectable=None if math.isnan(detectable) else detectable,
    )


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with every p-value adjusted for all tests of all of them."""
    adjusted = iter(holm([tested.p for found in comparisons for tested in found.changes]))
    result: list[Comparison] = []
    for found in comparisons:
        deployed, *ceilings = [replace(tested, p_holm=next(adjusted)) for tested in found.changes]
        result.append(replace(found, deployed=deployed, ceilings=tuple(ceilings)))
    return result


def pair_table(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """One row a question of both audits, in the order of the first.

    Columns: `id`, `subject`, `text`, `gold`; `before` and `after`, the states; `answer_before`,
    `answer_after`, `outcome_before`, `outcome_after`; `reachable_before`, `reachable_after`; `change`:
    gained, lost, changed (as right or wrong as before by another answer), or same.

    Args:
        before: The question table of the one; see `interp.readings.states.question_table`.
        after: That of the other.
    """
    columns = ("state", "deployed_answer", "deployed_outcome", "realized", "reachable")
    table = before.select("id", "subject", "text", "gold", *columns).join(
        after.select("id", *columns), on="id", suffix="_after", maintain_order="left"
    )
    differs = pl.col("deployed_answer").ne_missing(pl.col("deployed_answer_after"))
    same = pl.col("realized") == pl.col("realized_after")
    label = (
        pl.when(same & differs)
        .then(pl.lit("changed"))
        .when(same)
        .then(pl.lit("same"))
        .when("realized")
        .then(pl.lit("lost"))
        .otherwise(pl.lit("gained"))
    )
    return table.select(
        "id", "subject", "text", "gold",
        before="state", after="state_after",
        answer_before="deployed_answer", answer_after="deployed_answer_after",
        outcome_before="deployed_outcome", outcome_after="deployed_outcome_after",
        reachable_before="reachable", reachable_after="reachable_after",
        change=label,
    )  # fmt: skip


def flow_table(pairs: pl.DataFrame) -> pl.DataFrame:
    """Questions by state before and after: `before`, `after`, `n`; all sixteen, in the order of states."""
    counts = {(a, b): n for a, b, n in pairs.group_by("before", "after").agg(pl.len()).iter_rows()}
    rows = [(a.value, b.value, counts.get((a.value, b.value), 0)) for a in State for b in State]
    schema = {"before": pl.String, "after": pl.String, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def crossing(before: pl.DataFrame, after: pl.DataFrame) -> int | None:
    """The smallest k from which the run that reaches less at k = 1 reaches more, and goes on to do so.

    Args:
        before: A probe's reach table in the one run.
        after: The same in the other.
    """
    both = before.join(after, on="k", suffix="_after").sort("k")
    difference = (both["reach_after"] - both["reach"]).to_list()
    ks = both["k"].to_list()
    first = next((d for d in difference if abs(d) > 1e-12), 0.0)
    if first == 0.0:
        return None
    found: int | None = None
    for k, d in zip(ks, difference, strict=True):
        crossed = d * first < 0 and abs(d) > 1e-12
        found = (found or k) if crossed else None
    return found


def compare_tables(
    pairs: pl.DataFrame, changes: Sequence[Change], *, names: tuple[str, str], clusters: Clusters
) -> Comparison:
    """The comparison of two audits, without allowed differences and crossings.

    Args:
        pairs: One row a question; see `pair_table`.
        changes: The deployed change, then those of the ceilings.
        names: What the runs are called.
        clusters: Which questions belong together.
    """
    is_gained, is_lost = pairs["change"] == "gained", pairs["change"] == "lost"
    reached, reached_after = pairs["reachable_before"], pairs["reachable_after"]
    return Comparison(
        before=names[0],
        after=names[1],
        n_questions=pairs.height,
        clusters=clusters.about,
        allowed=(),
        deployed=changes[0],
        ceilings=tuple(changes[1:]),
        n_changed=int((pairs["change"] == "changed").sum()),
        gained_within_reach=int((is_gained & reached).sum()),
        gained_newly=int((is_gained & ~reached).sum()),
        lost_within_reach=int((is_lost & reached_after).sum()),
        lost_entirely=int((is_lost & ~reached_after).sum()),
        preserved=int((reached & reached_after).sum()),
        expanded=int((~reached & reached_after).sum()),
        shrunk=int((reached & ~reached_after).sum()),
        crossings={},
    )
