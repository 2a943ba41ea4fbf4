"""The noun `Localization`: where a failure set is located, how sure that is, and what it costs elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any

from interp.localizers.answers import AnswerShift
from interp.localizers.chance import Nulls
from interp.stats import wilson


class Finding(StrEnum):
    """What a sweep shows, in one word."""

    TOO_FEW = "too_few"
    REPAIRS = "repairs"
    NO_REPAIR = "no_repair"
    ANSWER_SHIFT = "answer_shift"
    BREAKS_AS_MUCH = "breaks_as_much"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True)
class Share:
    """A fraction k of n, with its 95 percent Wilson interval; NaN and (0, 1) when n is 0."""

    k: int
    n: int

    @property
    def value(self) -> float:
        """The fraction itself, k / n."""
        return self.k / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval at level 0.95."""
        return wilson(self.k, self.n)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.2f} [{low:.2f}, {high:.2f}]"

    def __add__(self, other: Share) -> Share:
        return Share(self.k + other.k, self.n + other.n)


@dataclass(frozen=True)
class Block:
    """One block, measured on all failures and successes that were asked.

    Attributes:
        layer: Layer of the block, counted from 0.
        site: Its site, "L7.mlp_out".
        repair: Failures now right.
        retention: Successes still right.
        net_gain: Estimated change of accuracy over all questions.
        net_gain_interval: Its 95 percent interval (MOVER on the two Wilson intervals).
        accuracy_after: Estimated accuracy over all questions with the block silenced.
    """

    layer: int
    site: str
    repair: Share
    retention: Share
    net_gain: float
    net_gain_interval: tuple[float, float]
    accuracy_after: float


@dataclass(frozen=True)
class Direction:
    """A block chosen on one half of the questions and measured on the other.

    Attributes:
        layer: Layer of the chosen block.
        site: Its site.
        chosen_repair: Its repair on the half where it was chosen.
        held_out_repair: Its repair on the other half.
        held_out_retention: Its retention on the other half.
    """

    layer: int
    site: str
    chosen_repair: Share
    held_out_repair: Share
    held_out_retention: Share


@dataclass(frozen=True)
class CrossFitted:
    """The best block, chosen on one half and measured on the other, both ways, pooled.

    Attributes:
        directions: Chosen on the first half, and on the second.
        repair: Held-out failures repaired, both directions together.
        retention: Held-out successes kept.
        net_gain: Held-out change of accuracy over all questions.
        net_gain_interval: Its 95 percent interval (MOVER on the two Wilson intervals).
        informedness: repair + retention - 1: above 0 if silencing turns a wrong answer more readily than
            a right one. Flipping between two options at random gives 0. Reference: W. J. Youden (1950),
            doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3.
        informedness_interval: Its 95 percent interval.
        accuracy_after: Held-out estimate of the accuracy over all questions.
        shrinkage: Naive best minus held-out, of what was chosen by (repair or net gain).
    """

    directions: tuple[Direction, Direction]
    repair: Share
    retention: Share
    net_gain: float
    net_gain_interval: tuple[float, float]
    informedness: float
    informedness_interval: tuple[float, float]
    accuracy_after: float
    shrinkage: float

    @property
    def layers(self) -> tuple[int, int]:
        """The two layers chosen."""
        return self.directions[0].layer, self.directions[1].layer


@dataclass(frozen=True)
class Evidence:
    """All numbers from which the conclusion follows.

    Attributes:
        rule: How failures were chosen.
        failure_set_hash: Content hash of the failure set.
        n_questions: Questions asked under the deployed procedure.
        n_failures: Failures among them, before any cap.
        n_successes: Successes among them.
        n_failures_asked: Failures of the failure set.
        n_successes_asked: Successes of the failure set.
        n_unstable: Questions whose control row says otherwise than the deployed run.
        n_blocks: Blocks silenced in turn.
        two_options: Whether every answer is one of two, so that a flip repairs everything.
        accuracy_before: Accuracy of the deployed procedure over all questions.
        best_repair: The block that repairs most (naive maximum).
        best_net_gain: The block of the highest net gain (naive maximum).
        repair_shift: What the model answers once `best_repair` is silenced.
        net_gain_shift: The same for `best_net_gain`.
        held_out_repair: The block chosen by repair, cross-fitted.
        held_out_net_gain: The block chosen by net gain, cross-fitted.
        nulls: The controls.
    """

    rule: str
    failure_set_hash: str
    n_questions: int
    n_failures: int
    n_successes: int
    n_failures_asked: int
    n_successes_asked: int
    n_unstable: int
    n_blocks: int
    two_options: bool
    accuracy_before: float
    best_repair: Block
    best_net_gain: Block
    repair_shift: AnswerShift
    net_gain_shift: AnswerShift
    held_out_repair: CrossFitted
    held_out_net_gain: CrossFitted
    nulls: Nulls

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value; shares are written with value and interval, NaN as None."""
        return _plain(self)


@dataclass(frozen=True)
class Localization(Evidence):
    """The evidence and what follows from it.

    Attributes:
        finding: The kind of the conclusion.
        sentences: The conclusion in words; the first sentence is the headline.
    """

    finding: Finding
    sentences: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The conclusion in one sentence."""
        return self.sentences[0]

    @property
    def p_max_repair(self) -> float:
        """Permutation p-value of the largest repair."""
        return self.nulls.max_repair.p

    @property
    def p_max_net_gain(self) -> float:
        """Permutation p-value of the largest net gain."""
        return self.nulls.max_net_gain.p


def _plain(value: Any) -> Any:
    if isinstance(value, Share):
        low, high = value.interval
        return {"k": value.k, "n": value.n, "value": _plain(value.value), "low": low, "high": high}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if isinstance(value, StrEnum) else value
