"""The conclusion in words. Every sentence carries its numbers, and every repair its control.

Fractions have two decimals, intervals are 95 percent, blocks and layers are counted from 0.
"""

from __future__ import annotations

from interp.localizers import conclusion as rules
from interp.localizers.answers import AnswerShift
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
        f"As a hint only: {_repair_and_retention(e.best_repair)}; it repairs most.",
        _smallest_visible(e),
    ]


def _repairs(e: Evidence) -> list[str]:
    best, layers = e.best_net_gain, e.held_out_net_gain.layers
    said = [f"The block to silence is {_name(best)}: {_held_out(e)}."]
    if set(layers) != {best.layer}:
        said.append(
            f"The two halves choose blocks {layers[0]} and {layers[1]}, so the held-out numbers are those of "
            f"the choice; on all questions asked {_repair_and_retention(best)}, {_accuracy(e, best)}."
        )
    if e.best_repair.layer == best.layer:
        return [*said, f"It is also the block that repairs most, {best.repair} of all failures asked."]
    return [
        *said,
        "The block that repairs most is not the block to silence: "
        f"{_repair_and_retention(e.best_repair, 'but')}, {_accuracy(e, e.best_repair)}.",
        *_shift(e.repair_shift),
    ]


def _no_repair(e: Evidence) -> list[str]:
    return [
        f"No block repairs more than chance: the best of {e.n_blocks}, {_name(e.best_repair)}, repairs "
        f"{e.best_repair.repair} of the failures ({format_p(e.nulls.max_repair.p)}).",
        _smallest_visible(e),
    ]


def _answer_shift(e: Evidence) -> list[str]:
    to = "position" if rules.shifts_position(e.repair_shift) else "answer"
    return [
        f"{_repair_and_retention(e.best_repair, 'but')}: it repairs by shifting the answers to one {to}.",
        *_shift(e.repair_shift),
        *_no_block(e),
    ]


def _breaks_as_much(e: Evidence) -> list[str]:
    return [
        f"{_repair_and_retention(e.best_repair, 'but')}: no block mends more than it breaks.",
        *_no_block(e),
    ]


def _unconfirmed(e: Evidence) -> list[str]:
    return [
        f"{_repair_and_retention(e.best_repair)}: more than chance repairs, but that silencing a block helps "
        "is not confirmed.",
        *_no_block(e),
    ]


def _no_block(e: Evidence) -> list[str]:
    """Why the block of the highest net gain is not named as the one to silence."""
    held_out, best = e.held_out_net_gain, e.best_net_gain
    low, high = held_out.net_gain_interval
    also = "It also has" if best.layer == e.best_repair.layer else f"{_name(best)} has"
    said = [
        f"{also} the highest net gain, {best.net_gain:+.2f}; {_held_out(e)}, a change of "
        f"{held_out.net_gain:+.2f} [{low:+.2f}, {high:+.2f}]."
    ]
    if not rules.gain_beats_chance(e):
        p = format_p(e.nulls.max_net_gain.p)
        said.append(f"The highest of {e.n_blocks} net gains is within what shuffled blocks give ({p}).")
    if not rules.beats_constants(e):
        said.append(
            f"A constant reaches an accuracy of {e.nulls.constant_accuracy:.2f} without the question."
        )
    if not rules.beats_flip(e):
        low, high = held_out.informedness_interval
        said.append(
            f"Repair + retention - 1 is {held_out.informedness:+.2f} [{low:+.2f}, {high:+.2f}] there; "
            "flipping two options at random gives 0."
        )
    return said


def _shift(shift: AnswerShift) -> list[str]:
    """The sentence about what the answers become, where nearly all become one."""
    if rules.shifts_position(shift):
        before, after = _place(shift.position_before), _place(shift.position_after)
        shares = shift.position_share_before or 0.0, shift.position_share_after or 0.0
    elif rules.shifts_answer(shift):
        before, after = f'"{shift.answer_before}"', f'"{shift.answer_after}"'
        shares = shift.answer_share_before, shift.answer_share_after
    else:
        return []
    if before == after:
        return [f"The share of answers that are {after} goes from {shares[0]:.2f} to {shares[1]:.2f}."]
    return [f"The commonest answer was {before}, {shares[0]:.2f} of all; now it is {after}, {shares[1]:.2f}."]


def _controls(e: Evidence) -> list[str]:
    held_out, nulls = e.held_out_repair, e.nulls
    said = [
        f"Chosen and measured on the same failures, the block that repairs most repairs "
        f"{e.best_repair.repair.value:.2f}; chosen on one half and measured on the other, {held_out.repair} "
        f"(shrinkage {held_out.shrinkage:.2f}), keeping {held_out.retention}.",
        f"Against block labels shuffled within each question, the largest repair has "
        f"{format_p(nulls.max_repair.p)} and the largest net gain {format_p(nulls.max_net_gain.p)} "
        f"({nulls.n_permutations:,} shuffles, the best of {e.n_blocks} taken each time); "
        f"a block drawn at random repairs {nulls.random_block.repair:.2f}.",
    ]
    constants = [_constant(c) for c in (nulls.constant_answer, nulls.constant_position) if c is not None]
    if constants:
        said.append(f"Without the question, {' and '.join(constants)}.")
    if rules.repair_is_constant(e):
        said.append(f"The repair of {_name(e.best_repair)} is not above such a constant.")
    return said


def _caveats(e: Evidence) -> list[str]:
    said: list[str] = []
    if e.two_options:
        said.append(
            "Every answer is one of two: a block that only flips answers repairs every failure, so repair "
            "means little without retention."
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
            f"{_count(e.n_successes, 'success')} were asked; accuracy after silencing is estimated from them."
        )
    return said


def _smallest_visible(e: Evidence) -> str:
    quantile = e.nulls.max_repair.quantile
    sample = f"{_count(e.n_failures_asked, 'failure')} and {_count(e.n_blocks, 'block')}"
    if quantile >= 1:
        return f"With {sample}, not even a block that repairs everything would stand out."
    return f"With {sample}, a block has to repair more than {quantile:.2f} to stand out."


def _held_out(e: Evidence) -> str:
    held_out: CrossFitted = e.held_out_net_gain
    return (
        f"on held-out questions it repairs {held_out.repair} of the failures and keeps {held_out.retention} "
        f"of the successes, {_accuracy(e, held_out)}"
    )


def _repair_and_retention(block: Block, joint: str = "and") -> str:
    repair = f"{_name(block)} repairs {block.repair} of the failures"
    return f"{repair} {joint} keeps {block.retention} of the successes"


def _accuracy(e: Evidence, measured: Block | CrossFitted) -> str:
    return f"accuracy {e.accuracy_before:.2f} -> {measured.accuracy_after:.2f}"


def _constant(constant: Constant) -> str:
    says = _place(constant.says) if isinstance(constant.says, int) else f'"{constant.says}"'
    return (
        f"always {says} repairs {constant.repair:.2f} and keeps {constant.retention:.2f} "
        f"(accuracy {constant.accuracy:.2f})"
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
