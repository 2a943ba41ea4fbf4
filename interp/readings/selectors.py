"""Answer-blind selectors: which attempt a rule picks that does not know the gold answer, and what it keeps.

Each is a rule on one question's attempts: their answers as read, and what the model thought of their tokens.
An attempt whose answer could not be read is not picked while another could.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from interp.probes.probe import Probed
from interp.readings.chosen import one_for_all
from interp.readings.clusters import Clusters
from interp.readings.scores import GROUP, with_scores
from interp.readings.states import most_voted

Rule = Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
"""Attempts and deployed answers to one picked row a question."""

CISC_TEMPERATURE = 0.1
"""Temperature of CISC's softmax over the attempts' mean token probabilities; the paper tunes it. Ours."""
BORDA_POWER = 0.5
OVERRIDE_SHARE = 0.5
SCHEMA = {"selector": pl.String, "family": pl.String, "question": pl.String, "right": pl.Float64}


@dataclass(frozen=True)
class Selector:
    """A rule that picks an attempt.

    Attributes:
        family: "vote" (answers are counted), "choose" (one attempt stands out), "trained" (fixed by the gold
            answers of other questions) or "control".
        pick: The rule.
        needs: The score that it reads; where no attempt has it the selector is left out.
        about: What it does, in one line.
    """

    family: str
    pick: Rule
    needs: str = ""
    about: str = ""


def picked(
    attempts: pl.DataFrame,
    deployed: pl.DataFrame,
    probe: Probed,
    *,
    clusters: Clusters,
    tuned: Collection[str] = (),
) -> pl.DataFrame:
    """What every selector picks: one row a selector and question.

    Columns: `selector`, `family`, `question`, and `right`: whether the pick is right, or for the random
    attempt the chance that it is.

    Args:
        attempts: The probe's rows, as `attempts_of` gives them.
        deployed: One row a question; see `deployed_answers`.
        probe: The probe.
        clusters: Which questions belong together.
        tuned: Questions on which the probe has chosen; see `interp.readings.probed.tuned_on`.
    """
    scored = with_scores(attempts)
    found = [_row("a random attempt", "control", attempts.group_by("question").agg(pl.col("right").mean()))]
    for name, selector in SELECTORS.items():
        if _applies(scored, selector):
            found.append(_row(name, selector.family, selector.pick(scored, deployed)))
    fixed = None if probe.exchangeable else one_for_all(scored, clusters, tuned)
    if fixed is not None:
        name = "one route for all" if fixed["route"].count() else "one attempt for all"
        found.append(_row(name, "trained", fixed))
    return pl.concat(found)


def _applies(scored: pl.DataFrame, selector: Selector) -> bool:
    """Whether the attempts have the score; groups of DeepConf differ from the whole only in long answers."""
    if not selector.needs:
        return True
    if selector.needs not in scored.columns:
        return False
    if selector.needs in ("confidence_lowest", "confidence_tail"):
        longest = scored["tokens"].list.len().max()
        return isinstance(longest, int) and longest > GROUP
    return not scored[selector.needs].null_count()


def _row(name: str, family: str, chosen: pl.DataFrame) -> pl.DataFrame:
    values = chosen.select(
        selector=pl.lit(name),
        family=pl.lit(family),
        question="question",
        right=pl.col("right").cast(pl.Float64),
    )
    return values.cast(SCHEMA)  # pyright: ignore[reportArgumentType]


def _highest(score: str, *, least: bool = False) -> Rule:
    """Picks the attempt with the highest score, or the lowest; the earlier of equal ones."""

    def pick(attempts: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
        key = pl.when(pl.col("answer").is_not_null()).then(-pl.col(score) if least else pl.col(score))
        ranked = attempts.with_columns(key=key)
        ranked = ranked.sort("place", "key", "draw", descending=[False, True, False], nulls_last=True)
        return ranked.unique("question", keep="first", maintain_order=True)

    return pick


def _vote(weight: pl.Expr | None = None) -> Rule:
    return lambda attempts, _: most_voted(attempts, weight)


def _confident(share: float) -> Rule:
    """DeepConf: the most confident share of a question's attempts vote, each by its confidence."""

    def pick(attempts: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
        confidence = pl.when(pl.col("answer").is_not_null()).then("confidence_mean").otherwise(-1.0)
        rank = confidence.rank("ordinal", descending=True).over("question")
        voters = rank <= (pl.len().over("question") * share).ceil()
        return most_voted(attempts, pl.when(voters).then("confidence_mean").otherwise(0.0))

    return pick


def _override(attempts: pl.DataFrame, deployed: pl.DataFrame) -> pl.DataFrame:
    """The deployed answer, unless more than half of all attempts agree on another."""
    share = (pl.len().over("question", "answer") / pl.len().over("question")).alias("share")
    strong = attempts.with_columns(share).filter(
        pl.col("answer").is_not_null() & (pl.col("share") > OVERRIDE_SHARE)
    )
    strong = strong.unique("question", keep="first", maintain_order=True).select("question", override="right")
    return deployed.join(strong, on="question", how="left", maintain_order="left").with_columns(
        right=pl.coalesce("override", "right")
    )


_PROBABILITY = pl.col("logprob_mean").exp()
_BORDA_RANK = pl.col("certainty_mean").rank("ordinal").over("question")

SELECTORS: Mapping[str, Selector] = MappingProxyType(
    {
        "majority": Selector("vote", _vote(), about="the commonest answer"),
        "weighted vote": Selector(
            "vote", _vote(_PROBABILITY), "logprob_mean", "votes weighted by mean token probability"
        ),
        "CISC": Selector(
            "vote",
            _vote((_PROBABILITY / CISC_TEMPERATURE).exp()),
            "logprob_mean",
            f"votes weighted by a softmax of mean token probability, temperature {CISC_TEMPERATURE}",
        ),
        "Borda": Selector(
            "vote",
            _vote(_BORDA_RANK.cast(pl.Float64) ** BORDA_POWER),
            "certainty_mean",
            f"votes weighted by rank in self-certainty, to the power {BORDA_POWER}",
        ),
        "DeepConf 10%": Selector(
            "vote", _confident(0.1), "confidence_mean", "the most confident tenth votes, by confidence"
        ),
        "DeepConf 90%": Selector(
            "vote",
            _confident(0.9),
            "confidence_mean",
            "all but the least confident tenth vote, by confidence",
        ),
        "override": Selector(
            "vote",
            _override,
            about="the deployed answer, unless more than half of all attempts agree on another",
        ),
        "summed log-probability": Selector("choose", _highest("logprob_sum"), "logprob_sum", "of all tokens"),
        "mean log-probability": Selector("choose", _highest("logprob_mean"), "logprob_mean", "of all tokens"),
        "answer log-probability": Selector(
            "choose", _highest("logprob_span"), "logprob_mean", "of the tokens that spell the answer"
        ),
        "plain log-probability": Selector(
            "choose", _highest("plain_sum"), "plain_sum", "summed, under the deployed procedure"
        ),
        "plain mean log-probability": Selector(
            "choose", _highest("plain_mean"), "plain_mean", "mean, under the deployed procedure"
        ),
        "entropy": Selector("choose", _highest("entropy_mean", least=True), "entropy_mean", "lowest mean"),
        "margin": Selector("choose", _highest("margin_mean"), "margin_mean", "highest mean"),
        "self-certainty": Selector("choose", _highest("certainty_mean"), "certainty_mean", "highest mean"),
        "confidence": Selector("choose", _highest("confidence_mean"), "confidence_mean", "highest mean"),
        "lowest group": Selector(
            "choose", _highest("confidence_lowest"), "confidence_lowest", "highest lowest-group confidence"
        ),
        "tail confidence": Selector(
            "choose", _highest("confidence_tail"), "confidence_tail", "highest confidence of the end"
        ),
    }
)
"""Every selector: name, and how it picks.

Reference:
    majority: X. Wang et al., arXiv 2203.11171 (2022). CISC: A. Taubenfeld et al., arXiv 2502.06233 (2025).
    Borda and self-certainty: Z. Kang et al., arXiv 2502.18581 (2025). DeepConf: Y. Fu et al., arXiv
    2508.15260 (2025). The override, and the answer's own log-probability as a choice, are ours.
"""
