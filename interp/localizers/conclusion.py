"""What a sweep shows: the rules and their thresholds, in one place. `sentences.py` puts them into words.

The rules are read from the top; the first that holds is the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from interp.localizers.answers import AnswerShift
from interp.localizers.localization import Evidence, Finding
from interp.stats import holm

ALPHA = 0.05
"""Level of every test. The p-values of the largest repair and net gain are adjusted for being two (Holm)."""

MIN_QUESTIONS = 10
"""With fewer failures or successes no block is named: halves below five questions confirm nothing."""

SHIFT_SHARE = 0.8
"""From this share on, the commonest answer (or position) counts as nearly all answers."""

SHIFT_RISE = 0.1
"""Its share must exceed by this what a perfect model shows and, unless it is newly commonest, what it was."""

UNREADABLE_RISE = 0.1
"""A rise of the share of unreadable answers from which it is mentioned."""


@dataclass(frozen=True)
class Rule:
    """One line of the table: the finding, when it holds, and why the rule is there."""

    finding: Finding
    holds: Callable[[Evidence], bool]
    why: str


def find(evidence: Evidence) -> Finding:
    """The finding of the first rule that holds."""
    return next(rule.finding for rule in RULES if rule.holds(evidence))


def too_few(e: Evidence) -> bool:
    """Whether too few questions were asked to name a block."""
    return min(e.n_failures_asked, e.n_successes_asked) < MIN_QUESTIONS


def repairs(e: Evidence) -> bool:
    """Whether silencing one block helps all questions, with every control passed."""
    return gain_beats_chance(e) and gain_is_held_out(e) and beats_constants(e) and beats_flip(e)


def gain_beats_chance(e: Evidence) -> bool:
    """Whether the largest net gain is beyond the best of as many shuffled blocks."""
    return _adjusted(e)[1] < ALPHA


def gain_is_held_out(e: Evidence) -> bool:
    """Whether the held-out net gain has its whole interval above 0."""
    return e.held_out_net_gain.net_gain_interval[0] > 0


def beats_constants(e: Evidence) -> bool:
    """Whether held-out accuracy exceeds that of every constant answer and position."""
    return e.held_out_net_gain.accuracy_after > e.nulls.constant_accuracy


def beats_flip(e: Evidence) -> bool:
    """Whether, with two options, wrong answers turn more readily than right ones; true with more options."""
    return not e.two_options or e.held_out_net_gain.informedness_interval[0] > 0


def repair_is_chance(e: Evidence) -> bool:
    """Whether the largest repair is within the best of as many shuffled blocks."""
    return _adjusted(e)[0] >= ALPHA


def shifts_answers(e: Evidence) -> bool:
    """Whether the block that repairs most makes nearly all answers one answer, or one position."""
    return shifts_position(e.repair_shift) or shifts_answer(e.repair_shift)


def breaks_as_much(e: Evidence) -> bool:
    """Whether held-out silencing gains nothing or, with two options, is no better than a flip."""
    held_out = e.held_out_net_gain
    return held_out.net_gain <= 0 or (e.two_options and held_out.informedness <= 0)


def repair_is_constant(e: Evidence) -> bool:
    """Whether some constant answer or position repairs as much as the best block, within its interval."""
    constants = (e.nulls.constant_answer, e.nulls.constant_position)
    return any(c is not None and c.repair >= e.best_repair.repair.interval[0] for c in constants)


def shifts_position(shift: AnswerShift) -> bool:
    """Whether silencing makes the model name nearly always the same of the answers in the question."""
    if shift.position_share_after is None or shift.position_share_before is None:
        return False
    rise = shift.position_share_after - shift.position_share_before
    grown = shift.position_after != shift.position_before or rise >= SHIFT_RISE
    return grown and _concentrated(shift.position_share_after, shift.position_share_gold or 0.0)


def shifts_answer(shift: AnswerShift) -> bool:
    """Whether silencing makes the model give nearly always the same answer."""
    rise = shift.answer_share_after - shift.answer_share_before
    grown = shift.answer_after != shift.answer_before or rise >= SHIFT_RISE
    return grown and _concentrated(shift.answer_share_after, shift.answer_share_gold)


def _concentrated(share: float, gold: float) -> bool:
    return share >= SHIFT_SHARE and share - gold >= SHIFT_RISE


def _adjusted(e: Evidence) -> list[float]:
    return holm([e.nulls.max_repair.p, e.nulls.max_net_gain.p])


RULES = (
    Rule(Finding.TOO_FEW, too_few, "A fraction of a handful says nothing, whatever its p-value."),
    Rule(
        Finding.REPAIRS,
        repairs,
        "The best of many blocks must beat the best of shuffled ones, must hold on questions it was not "
        "chosen on, and must do what no constant and no flip of two options does.",
    ),
    Rule(
        Finding.NO_REPAIR,
        repair_is_chance,
        "Some block is always best. Without a repair beyond chance nothing is left to explain.",
    ),
    Rule(
        Finding.ANSWER_SHIFT,
        shifts_answers,
        "Giving everybody the same answer repairs all failures whose gold it is, and knows nothing.",
    ),
    Rule(
        Finding.BREAKS_AS_MUCH,
        breaks_as_much,
        "A block that many computations need changes right answers as it changes wrong ones.",
    ),
    Rule(
        Finding.UNCONFIRMED,
        lambda _: True,
        "A gain that the sample cannot tell from none, or that a constant has too, is not a finding yet.",
    ),
)
