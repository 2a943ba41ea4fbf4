"""The conclusion in words. Every sentence carries its numbers, and every repair its control.

Fractions have two decimals, intervals are 95 percent, blocks and layers are counted from 0.
"""

from __future__ import annotations

from interp.localizers import conclusion as rules
from interp.localizers.chance import Constant
from interp.localizers.localization import Block, CrossFitted, Evidence, Finding, Localization

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def conclude(evidence: Evidence) -> Localization:
    """Applies the rules and says what follows: the headline, its reasons, the controls, the caveats."""
    finding = rules.find(evidence)
    says = {
        Finding.TOO_FEW: _too_few,
        Finding.REPAIRS: _repairs,
        Finding.NO_REPAIR: _no_repair,
        Finding.ANSWER_SHIFT: _answer_shift,
        Finding.BREAKS_AS_MUCH: _breaks_as_much,
        Finding.UNCONFIRMED: _unconfirmed,
    }[finding]
    sentences = (*says(evidence), *_controls(evidence), *_caveats(evidence))
    return Localization(**vars(evidence), finding=finding, sentences=sentences)


def format_p(p: float) -> str:
    """A p-value as it is printed: `p = 0.0312`, or `p < 0.0001`."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def _too_few(e: Evidence) -> list[str]:
    return [
        f"Too few questions to name a block: {_count(e.n_failures_asked, 'failure')} and "
        f"{_count(e.n_successes_asked, 'success')}; at least {rules.MIN_QUESTIONS} of each are needed.",
        f"As a hint only, of the block that repairs most: {_measured(e.best_repair)}.",
        _smallest_visible(e),
    ]


def _repairs(e: Evidence) -> list[str]:
    best, held_out = e.best_net_gain, e.held_out_net_gain
    shares = f"{held_out.repair} of the failures and keeps {held_out.retention} of the successes"
    if set(held_out.layers) == {best.layer}:
        said = [f"The block to silence is {_name(best)}: held out, it repairs {shares}."]
    else:
        said = [
            f"Silencing a block helps: held out, the choice by net gain repairs {shares}.",
            f"The halves choose {_halves(held_out)}; over all questions asked {_name(best)} gains most.",
            f"{_measured(best)}.",
        ]
    said.append(
        f"Held out, accuracy goes from {e.accuracy_before:.2f} to {held_out.accuracy_after:.2f}, "
        f"a gain of {_gain(held_out)}."
    )
    if e.best_repair.layer == best.layer:
        return [*said, f"{_name(best)} also repairs most, {best.repair} of all failures asked."]
    return [*said, f"The block that repairs most is not the block to silence: {_most(e)}", *_shift(e)]


def _no_repair(e: Evidence) -> list[str]:
    return [
        f"No block repairs more than chance: the best of {e.n_blocks}, {_name(e.best_repair)}, repairs "
        f"{e.best_repair.repair} of the failures ({format_p(e.nulls.max_repair.p)}).",
        _smallest_visible(e),
        _most(e),
    ]


def _answer_shift(e: Evidence) -> list[str]:
    to = "position" if rules.shifts_position(e.repair_shift) else "answer"
    return [f"{_headline(e)}: it shifts the answers to one {to}.", *_why(e)]


def _breaks_as_much(e: Evidence) -> list[str]:
    return [f"{_headline(e)}; held out, silencing breaks as much as it repairs.", *_why(e)]


def _unconfirmed(e: Evidence) -> list[str]:
    return [f"{_headline(e)}; no block is confirmed to help.", *_why(e)]


def _why(e: Evidence) -> list[str]:
    return [_most(e), *_shift(e), *_no_block(e)]


def _headline(e: Evidence) -> str:
    """The block that repairs most in a few words; its intervals follow in the next sentence."""
    best = e.best_repair
    joint = "and" if best.net_gain > 0 else "but"
    return (
        f"{_name(best)} repairs most, {best.repair.value:.2f} of the failures, {joint} keeps "
        f"{best.retention.value:.2f} of the successes"
    )


def _most(e: Evidence) -> str:
    """The block that repairs most, with its intervals."""
    return f"{_measured(e.best_repair)}."


def _no_block(e: Evidence) -> list[str]:
    """What the block of the highest net gain does, and why it is not named as the one to silence."""
    held_out, best = e.held_out_net_gain, e.best_net_gain
    if best.layer == e.best_repair.layer:
        said = [f"{_name(best)} gains most as well."]
    else:
        said = [
            f"{_name(best)} gains most: it repairs {best.repair}, keeps {best.retention}, "
            f"net gain {_gain(best)}."
        ]
    said.append(
        f"Held out, the choice by net gain ({_halves(held_out)}) repairs {held_out.repair}, keeps "
        f"{held_out.retention}, net gain {_gain(held_out)}."
    )
    if not rules.gain_beats_chance(e):
        said.append(f"The highest of {e.n_blocks} net gains is within what shuffled blocks give.")
    if not rules.beats_constants(e):
        said.append(
            f"A constant reaches an accuracy of {e.nulls.constant_accuracy:.2f} without the question."
        )
    if not rules.beats_flip(e):
        low, high = held_out.informedness_interval
        said.append(
            f"Held out, repair + retention - 1 is {held_out.informedness:+.2f} [{low:+.2f}, {high:+.2f}]; "
            "flipping two options at random gives 0."
        )
    return said


def _shift(e: Evidence) -> list[str]:
    """How the block that repairs most moves the answers, where it moves them away from the golds."""
    shift = e.repair_shift
    by_answer = rules.shifts_answer(shift) and not rules.shifts_position(shift)
    if by_answer:
        before, after = f'"{shift.answer_before}"', f'"{shift.answer_after}"'
        shares = shift.answer_share_before, shift.answer_share_after, shift.answer_share_gold
    else:
        before, after = _place(shift.position_before), _place(shift.position_after)
        positions = shift.position_share_before, shift.position_share_after, shift.position_share_gold
        shares = tuple(share or 0.0 for share in positions)
    if before != after and shares[1] - shares[2] >= rules.SHIFT_RISE:
        return [
            f"It moves the answers from {before}, commonest with {shares[0]:.2f}, to {after}, "
            f"{shares[1]:.2f} (gold {shares[2]:.2f})."
        ]
    if rules.shifts_answers(e):
        return [f"The share of {after} goes from {shares[0]:.2f} to {shares[1]:.2f} (gold {shares[2]:.2f})."]
    return []


def _controls(e: Evidence) -> list[str]:
    nulls, random, held_out = e.nulls, e.nulls.random_block, e.held_out_repair
    said = [
        f"Held out, the choice by repair ({_halves(held_out)}) repairs {held_out.repair}.",
        f"Against the best of {e.n_blocks} shuffled blocks: largest repair {format_p(nulls.max_repair.p)}, "
        f"largest net gain {format_p(nulls.max_net_gain.p)}; a random block repairs {random.repair:.2f}.",
    ]
    constants = [c for c in (nulls.constant_answer, nulls.constant_position) if c is not None]
    if constants:
        constant = max(constants, key=lambda c: c.repair)
        above = "" if not rules.repair_is_constant(e) else f": {_name(e.best_repair)} is not above that"
        said.append(f"{_constant(constant)}{above}.")
    return said


def _caveats(e: Evidence) -> list[str]:
    said: list[str] = []
    if e.two_options:
        said.append(
            "Every answer is one of two: flipping them repairs every failure, so repair means little "
            "without retention."
        )
    if e.n_unstable:
        said.append(
            f"{_count(e.n_unstable, 'question')} changed between the deployed run and the control row; "
            "what they show is not the block's doing."
        )
    blocks = {e.best_repair.layer: (e.best_repair, e.repair_shift)}
    blocks[e.best_net_gain.layer] = e.best_net_gain, e.net_gain_shift
    n = e.n_failures_asked + e.n_successes_asked
    for block, shift in blocks.values():
        before, after = shift.n_unreadable_before / n, shift.n_unreadable_after / n
        if after - before >= rules.UNREADABLE_RISE:
            said.append(
                f"With {_name(block)} silenced, unreadable answers go from {before:.2f} to {after:.2f}."
            )
    if n < e.n_failures + e.n_successes:
        said.append(
            f"{e.n_failures_asked} of {_count(e.n_failures, 'failure')} and {e.n_successes_asked} of "
            f"{_count(e.n_successes, 'success')} were asked; net gain and accuracy are estimated from them."
        )
    return said


def _smallest_visible(e: Evidence) -> str:
    quantile = e.nulls.max_repair.quantile
    sample = f"{_count(e.n_failures_asked, 'failure')} and {_count(e.n_blocks, 'block')}"
    if quantile >= 1:
        return f"With {sample}, not even a block that repairs everything would stand out."
    return f"With {sample}, a block has to repair more than {quantile:.2f} to stand out."


def _measured(block: Block) -> str:
    return f"{_name(block)} repairs {block.repair}, keeps {block.retention}, net gain {_gain(block)}"


def _gain(measured: Block | CrossFitted) -> str:
    low, high = measured.net_gain_interval
    return f"{measured.net_gain:+.2f} [{low:+.2f}, {high:+.2f}]"


def _halves(held_out: CrossFitted) -> str:
    """The block that both halves choose, or the two that they choose."""
    first, second = held_out.layers
    return f"MLP {first}" if first == second else f"MLP {first} and MLP {second}"


def _constant(constant: Constant) -> str:
    says = _place(constant.says) if isinstance(constant.says, int) else f'"{constant.says}"'
    return (
        f"Always {says} repairs {constant.repair:.2f}, keeps {constant.retention:.2f}, "
        f"accuracy {constant.accuracy:.2f}"
    )


def _place(position: int | None) -> str:
    if position is None:
        return "none of the answers named"
    place = _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"
    return f"the {place} answer named"


def _name(block: Block) -> str:
    return f"MLP {block.layer}"


def _count(n: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"
