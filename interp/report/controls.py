"""The controls of a localization, each with one line that says what it is."""

from __future__ import annotations

import math

from interp.figures import theme
from interp.localizers.chance import Constant, Nulls
from interp.localizers.localization import Block, CrossFitted, Localization, Share
from interp.localizers.sentences import format_p
from interp.report.content import Compared, Control, Measure
from interp.report.rows import ordinal


def control_rows(localization: Localization) -> tuple[Control, ...]:
    """Naive maximum, cross-fitted estimates, permutation p-values and nulls, in this order."""
    best, gains = localization.best_repair, localization.best_net_gain
    gain = f"{theme.signed(gains.net_gain)} {_signed_interval(gains.net_gain_interval)}"
    return (
        Control(
            "Naive maximum",
            f"MLP {best.layer}: {best.repair}",
            f"The largest repair of {localization.n_blocks} blocks, on the failures that chose it: too high.",
        ),
        _cross_fitted("Held out, chosen by repair", localization.held_out_repair),
        _cross_fitted("Held out, chosen by net gain", localization.held_out_net_gain),
        Control(
            "Highest net gain",
            f"MLP {gains.layer}: {gain}",
            f"Estimated change of accuracy over all {localization.n_questions} questions, naive as well.",
        ),
        *_chance(localization.nulls),
    )


def fact_rows(localization: Localization) -> tuple[tuple[str, str], ...]:
    """The key numbers under the headline."""
    return (
        ("Questions asked", str(localization.n_questions)),
        ("Deployed accuracy", theme.fraction(localization.accuracy_before)),
        ("Failures asked", f"{localization.n_failures_asked} of {localization.n_failures}"),
        ("Successes asked", f"{localization.n_successes_asked} of {localization.n_successes}"),
    )


def compared_rows(localization: Localization) -> tuple[Compared, ...]:
    """The marked blocks, the cross-fitted choices, the constant that repairs most, and a random block."""
    best, gains = localization.best_repair, localization.best_net_gain
    same = best.layer == gains.layer
    rows = [_compared(best, f"MLP {best.layer}", "repairs and gains most" if same else "repairs most")]
    if not same:
        rows.append(_compared(gains, f"MLP {gains.layer}", "gains most"))
    chosen = {"repair": localization.held_out_repair, "net gain": localization.held_out_net_gain}
    rows += [_compared(found, _halves(found), f"held out, chosen by {by}") for by, found in chosen.items()]
    nulls, before = localization.nulls, localization.accuracy_before
    constants = [c for c in (nulls.constant_answer, nulls.constant_position) if c is not None]
    if constants:
        constant = max(constants, key=lambda c: c.repair)
        says = _says(constant) + (" answer named" if isinstance(constant.says, int) else "")
        gain = constant.accuracy - before
        rows.append(_null(f"Always {says}", "a constant", constant.repair, constant.retention, gain, before))
    block = nulls.random_block
    rows.append(_null("Random block", "mean of all", block.repair, block.retention, block.net_gain, before))
    return tuple(rows)


def failure_rows(localization: Localization) -> tuple[tuple[str, str], ...]:
    """What is known of the failure set."""
    return (
        ("Failures are", localization.rule),
        ("Failures asked", f"{localization.n_failures_asked} of {localization.n_failures}"),
        ("Successes asked", f"{localization.n_successes_asked} of {localization.n_successes}"),
        ("Unstable control rows", str(localization.n_unstable)),
        ("Hash of the failure set", localization.failure_set_hash),
    )


def _compared(found: Block | CrossFitted, label: str, role: str) -> Compared:
    mark = {"repairs most": "most", "gains most": "gains", "repairs and gains most": "gains"}.get(role, "")
    return Compared(
        label,
        role,
        mark,
        _measure(found.repair),
        _measure(found.retention),
        Measure(theme.signed(found.net_gain), _signed_interval(found.net_gain_interval)),
        theme.fraction(found.accuracy_after),
    )


def _null(label: str, role: str, repair: float, retention: float, net_gain: float, before: float) -> Compared:
    shares = Measure(theme.fraction(repair)), Measure(theme.fraction(retention))
    after = theme.fraction(before + net_gain)
    return Compared(label, role, "", *shares, Measure(theme.signed(net_gain)), after)


def _measure(share: Share) -> Measure:
    return Measure(theme.fraction(share.value), theme.interval(*share.interval))


def _halves(found: CrossFitted) -> str:
    """The block that both halves choose, or the two that they choose."""
    first, second = found.layers
    return f"MLP {first}" if first == second else f"MLP {first}, MLP {second}"


def _says(constant: Constant) -> str:
    return f"the {ordinal(constant.says)}" if isinstance(constant.says, int) else f'"{constant.says}"'


def _cross_fitted(label: str, found: CrossFitted) -> Control:
    return Control(
        label,
        f"{_halves(found)}: {found.repair}",
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
    return (
        f"Repair of a model that always gives {what} ({_says(constant)}): it keeps "
        f"{theme.fraction(constant.retention)} and has accuracy {theme.fraction(constant.accuracy)}, and it "
        "knows nothing."
    )


def _signed_interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return "" if math.isnan(low) or math.isnan(high) else f"[{theme.signed(low)}, {theme.signed(high)}]"
