"""Which block repairs a failure set, and what that costs: one row a block.

Pure readings of the silencing attempts in a log. Before and after are compared within the sweep: the
reference is the control row, asked in the same batches, with nothing silenced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from interp.errors import BadFailureSet, BadInput
from interp.localizers.answers import AnswerKey, AnswerShift, answer_keys, answer_shift
from interp.localizers.localization import Block, Share
from interp.localizers.outcomes import Outcomes, outcome_matrix
from interp.question import Attempt, FailureSet, Question
from interp.stats import mover

if TYPE_CHECKING:
    import polars as pl

    from interp.localizers.outcomes import Flags


COLUMNS = (
    *("layer", "site"),
    *("n_failures", "n_repaired", "repair", "repair_low", "repair_high"),
    *("n_successes", "n_kept", "retention", "retention_low", "retention_high"),
    *("net_gain", "accuracy_after"),
    *("repair_first_half", "repair_second_half", "net_gain_first_half", "net_gain_second_half"),
    *("answer_before", "answer_share_before", "answer_after", "answer_share_after"),
    *("position_before", "position_share_before", "position_after", "position_share_after"),
    *("n_unreadable_before", "n_unreadable_after"),
)
"""Columns of the repair table, in order."""

_GOLD_SHARES = ("answer_share_gold", "position_share_gold")


def repair_table(
    attempts: Iterable[Attempt], questions: Sequence[Question], failures: FailureSet
) -> pl.DataFrame:
    """One row a block, the block that repairs most first (then by net gain, then by layer).

    Columns: `layer`, `site`; `n_failures`, `n_repaired`, `repair` and its Wilson interval `repair_low`,
    `repair_high`; `n_successes`, `n_kept`, `retention` and its interval; `net_gain`, the estimated change
    of accuracy over all questions, and `accuracy_after`; repair and net gain on each half of the questions
    (null where a half has none); commonest answer and commonest position with their shares before and
    after (see `AnswerShift`); `n_unreadable_before`, `n_unreadable_after`.

    Reference:
        "Reachability Is Not Realization: Tracing the Sources of LLM Benchmark Gains", arXiv 2608.03219
        (2026), for the repair fraction. Retention, net gain and the answer shift are ours.

    Raises:
        BadInput: The sweep is not complete, or a question of the failure set is not among the questions.
        BadFailureSet: The failure set has no failure or no success.
    """
    import polars as pl

    outcomes = outcome_matrix(attempts, check_failure_set(failures, questions, least=1))
    blocks = measure_blocks(outcomes)
    shifts = answer_shifts(outcomes, answer_keys(questions))
    rows = [_row(outcomes, i, block, shifts[i]) for i, block in enumerate(blocks)]
    order = sorted(range(len(rows)), key=lambda i: ranking_key(blocks[i]))
    return pl.DataFrame([rows[i] for i in order], schema=_schema(), orient="row")


def check_failure_set(failures: FailureSet, questions: Sequence[Question], *, least: int) -> FailureSet:
    """Hands a failure set back that can be read with these questions.

    Raises:
        BadInput: A question of it is not among the questions.
        BadFailureSet: It has fewer than `least` failures, or no success.
    """
    known = {question.id for question in questions}
    if unknown := [i for i in (*failures.failures, *failures.successes) if i not in known]:
        raise BadInput(f"{unknown[0]!r} of the failure set is not among the {len(known)} questions given.")
    if len(failures.failures) < least:
        raise BadFailureSet(
            f"A repair needs at least {least} failures, got {len(failures.failures)}; ask more questions, or "
            "harder ones."
        )
    if not failures.successes:
        raise BadFailureSet("Without a success no damage can be seen; ask more questions, or easier ones.")
    return failures


def ranking_key(block: Block) -> tuple[float, float, int]:
    """Sort key of the ranking: repair, then net gain, both descending, then layer."""
    return -block.repair.value, -block.net_gain, block.layer


def repair_and_retention(
    outcomes: Outcomes,
    block: int,
    failures: Flags | slice = slice(None),
    successes: Flags | slice = slice(None),
) -> tuple[Share, Share]:
    """Repair and retention of one block, over all questions asked or some of them."""
    f, s = outcomes.failure_right[failures, block], outcomes.success_right[successes, block]
    return Share(int(f.sum()), len(f)), Share(int(s.sum()), len(s))


def net_gain(repair: Share, retention: Share, failures: FailureSet) -> tuple[float, tuple[float, float]]:
    """Estimated change of accuracy over all questions, with its interval.

    (repair x failures - (1 - retention) x successes) / questions. How many fail in all is taken as known,
    and questions that are neither (wrong ones, where only unreadable ones are failures) as unchanged.
    """
    f, s = failures.n_failures / failures.n_questions, failures.n_successes / failures.n_questions
    low, high = mover((repair.value, retention.value), (repair.interval, retention.interval), (f, s))
    return repair.value * f - (1 - retention.value) * s, (low - s, high - s)


def measure_blocks(outcomes: Outcomes) -> list[Block]:
    """Each block on all failures and successes asked, in forward order."""
    failures = outcomes.failure_set
    blocks: list[Block] = []
    for i, site in enumerate(outcomes.sites):
        repair, retention = repair_and_retention(outcomes, i)
        gain, interval = net_gain(repair, retention, failures)
        after = failures.n_successes / failures.n_questions + gain
        blocks.append(Block(site.layer, str(site), repair, retention, gain, interval, after))
    return blocks


def answer_shifts(outcomes: Outcomes, keys: Mapping[str, AnswerKey]) -> list[AnswerShift]:
    """What each block does to the answers, in forward order."""
    return [answer_shift(outcomes.control, column, keys) for column in zip(*outcomes.silenced, strict=True)]


def _row(outcomes: Outcomes, i: int, block: Block, shift: AnswerShift) -> dict[str, Any]:
    row: dict[str, Any] = {"layer": block.layer, "site": block.site}
    names = (
        ("n_failures", "n_repaired", "repair", block.repair),
        ("n_successes", "n_kept", "retention", block.retention),
    )
    for n_all, n_hit, name, share in names:
        low, high = share.interval
        row |= {n_all: share.n, n_hit: share.k, name: share.value, f"{name}_low": low, f"{name}_high": high}
    row |= {"net_gain": block.net_gain, "accuracy_after": block.accuracy_after}
    for half, f, s in (
        ("first", outcomes.failure_in_first, outcomes.success_in_first),
        ("second", ~outcomes.failure_in_first, ~outcomes.success_in_first),
    ):
        repair, retention = repair_and_retention(outcomes, i, f, s)
        gain = net_gain(repair, retention, outcomes.failure_set)[0] if repair.n and retention.n else None
        row |= {f"repair_{half}_half": repair.value if repair.n else None, f"net_gain_{half}_half": gain}
    return row | {name: value for name, value in asdict(shift).items() if name not in _GOLD_SHARES}


def _schema() -> dict[str, Any]:
    """Columns of the table, in order, with their types."""
    import polars as pl

    counts = ("layer", "n_", "position_before", "position_after")
    texts = ("site", "answer_before", "answer_after")
    return {
        name: pl.String if name in texts else pl.Int64 if name.startswith(counts) else pl.Float64
        for name in COLUMNS
    }
