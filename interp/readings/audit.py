"""The summary of an audit: what is realized, what is reachable by which probe, each with its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from interp.means import fraction_intervals
from interp.probes.probe import Probed
from interp.question import Outcome
from interp.reach import cover_at
from interp.readings.clusters import Clusters
from interp.readings.states import State

TAUS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of right attempts at which Cover@tau is read."""


@dataclass(frozen=True)
class Spent:
    """What attempts cost, as they would cost alone.

    Attributes:
        n_attempts: Answers asked for.
        n_tokens: Tokens read and written.
        n_layer_tokens: Layers times tokens.
    """

    n_attempts: int
    n_tokens: int
    n_layer_tokens: int


@dataclass(frozen=True)
class Reached:
    """What one probe reaches at its whole budget, and the controls beside it.

    Attributes:
        probe: The probe.
        k: Attempts a question.
        reach: Share of questions with a right attempt, and its 95 percent interval.
        decoy: The same attempts against wrong targets; None where a question has none.
        excess: Reach minus decoy, and its interval.
        floor: What k guesses among the options would reach; None where a question has no options.
        first: Share of right attempts: pass@1.
        majority: Share of questions whose commonest answer is right.
        all_right: Share of questions whose every attempt is right.
        confirmed: Share of questions with a hit that held when it was made again in another batch; None
            where none was made again.
        n_unconfirmed: Questions reached by hits that did not hold.
        n_new: Questions that the deployed answer misses and the probe reaches.
        cover: Share of questions right in at least a share tau of the attempts, by tau.
        unseen: Estimated chance that one more attempt gives an answer not given so far.
        spent: What the attempts cost.
    """

    probe: Probed
    k: int
    reach: float
    reach_interval: tuple[float, float]
    decoy: float | None
    excess: float | None
    excess_interval: tuple[float, float] | None
    floor: float | None
    first: float
    majority: float
    all_right: float
    confirmed: float | None
    n_unconfirmed: int
    n_new: int
    cover: Mapping[float, float]
    unseen: float
    spent: Spent


@dataclass(frozen=True)
class Audit:
    """Every number of an audit.

    Attributes:
        n_questions: Questions asked.
        clusters: How intervals draw questions, in words.
        realized: Share of questions that the deployed procedure answers.
        realized_interval: Its 95 percent interval.
        n_unreadable: Deployed answers that could not be read.
        spent: What the deployed answers cost.
        states: Questions in each state.
        probes: What each probe reaches.
    """

    n_questions: int
    clusters: str
    realized: float
    realized_interval: tuple[float, float]
    n_unreadable: int
    spent: Spent
    states: Mapping[str, int]
    probes: tuple[Reached, ...]

    @property
    def reachable(self) -> float:
        """Share of questions that are realized or reached by any probe."""
        return (self.states[State.REALIZED] + self.states[State.REACHABLE]) / self.n_questions

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value; `headline` and `sentences` say it in words."""
        value = asdict(self)
        for reached in value["probes"]:
            reached["cover"] = {str(tau): share for tau, share in reached["cover"].items()}
        return value | {"reachable": self.reachable}


def summarize(
    table: pl.DataFrame, deployed: pl.DataFrame, reached: Sequence[Reached], *, clusters: Clusters
) -> Audit:
    """The summary of an audit.

    Args:
        table: One row a question; see `interp.readings.states.question_table`.
        deployed: The rows that the deployed procedure was asked for.
        reached: What each probe reaches.
        clusters: Which questions belong together.
    """
    realized = table["realized"].to_numpy().astype(float)
    counts = dict(table["state"].value_counts().iter_rows())
    return Audit(
        n_questions=table.height,
        clusters=clusters.about,
        realized=float(realized.mean()),
        realized_interval=fraction_intervals(realized[:, None], clusters=clusters.labels)[0],
        n_unreadable=int((table["deployed_outcome"] == Outcome.UNREADABLE.value).sum()),
        spent=spent_by(deployed),
        states={state.value: int(counts.get(state.value, 0)) for state in State},
        probes=tuple(reached),
    )


def reached_by(
    probe: Probed, found: pl.DataFrame, curve: pl.DataFrame, *, attempts: pl.DataFrame, deployed: pl.DataFrame
) -> Reached:
    """What one probe reaches at its whole budget.

    Args:
        probe: The probe.
        found: One row a question; see `interp.readings.states.probe_questions`.
        curve: Its reach table.
        attempts: Its rows.
        deployed: One row a question: the deployed answers.
    """
    whole = curve.row(curve.height - 1, named=True)
    held = found["confirmed"].fill_null(False) & found["reachable"]
    unknown = found["reachable"].any() and found["confirmed"].null_count() == found.height
    new = found["reachable"].to_numpy() & ~deployed["right"].to_numpy()
    low, high = whole["excess_low"], whole["excess_high"]
    return Reached(
        probe=probe,
        k=whole["k"],
        reach=whole["reach"],
        reach_interval=(whole["reach_low"], whole["reach_high"]),
        decoy=whole["decoy"],
        excess=whole["excess"],
        excess_interval=None if low is None else (low, high),
        floor=whole["floor"],
        first=float(curve["reach"][0]),
        majority=whole["majority"],
        all_right=whole["pass_hat"],
        confirmed=None if unknown else int(held.sum()) / found.height,
        n_unconfirmed=int((found["reachable"] & found["confirmed"].not_()).fill_null(False).sum()),
        n_new=int(new.sum()),
        cover={tau: cover_at(found["rate"].to_list(), tau) for tau in TAUS},
        unseen=_mean((found["n_once"] / (found["n"] - found["n_unreadable"])).to_list()),
        spent=spent_by(attempts),
    )


def spent_by(rows: pl.DataFrame) -> Spent:
    """What attempts cost."""
    tokens = int(rows["tokens"].list.len().sum()) + int(rows["n_prompt_tokens"].sum())
    return Spent(rows.height, tokens, int(rows["n_layer_tokens"].sum()))


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return sum(known) / len(known) if known else 0.0
