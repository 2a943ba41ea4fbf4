"""The controls of a localization, each with one line that says what it is."""

from __future__ import annotations

import math

from interp.figures import theme
from interp.localizers.chance import Constant, Nulls
from interp.localizers.localization import CrossFitted, Localization
from interp.localizers.sentences import format_p
from interp.report.content import Control
from interp.report.rows import ordinal


def control_rows(localization: Localization) -> tuple[Control, ...]:
    """Naive maximum, cross-fitted estimates, permutation p-values and nulls, in this order."""
    best, gains = localization.best_repair, localization.best_net_gain
    gain = f"{theme.signed(gains.net_gain)} {_signed_interval(gains.net_gain_interval)}"
    return (
        Control(
            "Naive maximum",
            f"block {best.layer}: {best.repair}",
            f"The largest repair of {localization.n_blocks} blocks, on the failures that chose it: too high.",
        ),
        _cross_fitted("Held out, chosen by repair", localization.held_out_repair),
        _cross_fitted("Held out, chosen by net gain", localization.held_out_net_gain),
        Control(
            "Highest net gain",
            f"block {gains.layer}: {gain}",
            f"Estimated change of accuracy over all {localization.n_questions} questions, naive as well.",
        ),
        *_chance(localization.nulls),
    )


def fact_rows(localization: Localization) -> tuple[tuple[str, str], ...]:
    """The key numbers under the headline."""
    best, gains = localization.best_repair, localization.best_net_gain
    return (
        ("Questions asked", str(localization.n_questions)),
        ("Deployed accuracy", theme.fraction(localization.accuracy_before)),
        ("Failures located", f"{localization.n_failures_asked} of {localization.n_failures}"),
        ("Repairs most", f"block {best.layer}: {theme.fraction(best.repair.value)}"),
        ("and keeps", theme.fraction(best.retention.value)),
        ("Gains most", f"block {gains.layer}: {theme.signed(gains.net_gain)}"),
        ("Accuracy with it silenced", theme.fraction(gains.accuracy_after)),
    )


def failure_rows(localization: Localization) -> tuple[tuple[str, str], ...]:
    """What is known of the failure set."""
    return (
        ("Failures are", localization.rule),
        ("Failures asked", f"{localization.n_failures_asked} of {localization.n_failures}"),
        ("Successes asked", f"{localization.n_successes_asked} of {localization.n_successes}"),
        ("Unstable control rows", str(localization.n_unstable)),
        ("Hash of the failure set", localization.failure_set_hash),
    )


def _cross_fitted(label: str, found: CrossFitted) -> Control:
    first, second = found.layers
    blocks = f"block {first}" if first == second else f"blocks {first} and {second}"
    return Control(
        label,
        f"{blocks}: {found.repair}",
        f"Chosen on one half, measured on the other, both ways: keeps {found.retention}, net gain "
        f"{theme.signed(found.net_gain)} {_signed_interval(found.net_gain_interval)}; "
        f"the choice alone had added {theme.signed(found.shrinkage)}.",
    )


def _chance(nulls: Nulls) -> tuple[Control, ...]:
    shuffles = f"{nulls.n_permutations:,} shuffles of the block labels within each question"
    answer, position, block = nulls.constant_answer, nulls.constant_position, nulls.random_block
    return (
        Control(
            "Largest repair against chance",
            format_p(nulls.max_repair.p),
            f"{shuffles}; luck alone gives a best block of {theme.fraction(nulls.max_repair.mean)}.",
        ),
        Control(
            "Largest net gain against chance",
            format_p(nulls.max_net_gain.p),
            f"{shuffles}; luck alone gives a best block of {theme.signed(nulls.max_net_gain.mean)}.",
        ),
        Control("Constant answer", _repair_of(answer), _constant(answer, "the same answer")),
        Control(
            "Constant position", _repair_of(position), _constant(position, "the same of the answers named")
        ),
        Control(
            "Random block",
            theme.fraction(block.repair),
            f"Mean repair of a block drawn at random (standard deviation {theme.fraction(block.repair_sd)}, "
            f"95% of blocks below {theme.fraction(block.repair_quantile)}); "
            f"it keeps {theme.fraction(block.retention)}.",
        ),
    )


def _repair_of(constant: Constant | None) -> str:
    return "–" if constant is None else theme.fraction(constant.repair)


def _constant(constant: Constant | None, what: str) -> str:
    if constant is None:
        return f"Always {what}: none can be named for these questions."
    says = f"the {ordinal(constant.says)}" if isinstance(constant.says, int) else f"{constant.says!r}"
    return (
        f"Repair of a model that always gives {what} ({says}): it keeps {theme.fraction(constant.retention)} "
        f"and has accuracy {theme.fraction(constant.accuracy)}, and it knows nothing."
    )


def _signed_interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return "" if math.isnan(low) or math.isnan(high) else f"[{theme.signed(low)}, {theme.signed(high)}]"
