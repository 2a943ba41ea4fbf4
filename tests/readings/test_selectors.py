"""Answer-blind selectors, each against its definition in plain Python."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_audit import PROBE, SWEEP, Made, made, shuffled, table_of

from interp.pairs import mcnemar
from interp.question import Outcome, seeded_order
from interp.readings.clusters import clusters_of
from interp.readings.probed import attempts_of
from interp.readings.recovered import selector_table
from interp.readings.scores import COLUMNS, with_scores
from interp.readings.selectors import CISC_TEMPERATURE, SELECTORS, picked
from interp.readings.states import deployed_answers


def choices(audit: Made, probe=PROBE) -> dict[str, dict[str, float]]:
    deployed = deployed_answers(audit.table, "first", audit.ids)
    attempts = attempts_of(audit.table, probe, audit.ids)
    found = picked(attempts, deployed, probe, clusters=clusters_of(audit.questions))
    return {
        name: dict(rows.select("question", "right").iter_rows())
        for (name,), rows in found.group_by("selector")
    }


def mean(values) -> float:
    return sum(values) / len(values)


def most(rows, weight) -> bool:
    """Whether the answer with most weight is right, the first of equals; the first row if none is read."""
    totals: dict[str, float] = {}
    for row in rows:
        if row.answer is not None:
            totals[row.answer] = totals.get(row.answer, 0.0) + weight(row)
    if not totals:
        return rows[0].outcome is Outcome.RIGHT
    top = max(totals.values())
    winner = next(answer for answer, total in totals.items() if abs(total - top) < 1e-9)
    return next(row for row in rows if row.answer == winner).outcome is Outcome.RIGHT


def highest(rows, score) -> bool:
    read = [row for row in rows if row.answer is not None]
    return (max(read, key=score) if read else rows[0]).outcome is Outcome.RIGHT


def probability(row) -> float:
    return math.exp(mean(row.scores.logprob))


def rank(rows, score) -> dict[int, int]:
    return {row.draw: place for place, row in enumerate(sorted(rows, key=score), 1)}


def confident(rows, share) -> bool:
    def key(row):
        return mean(row.scores.confidence) if row.answer is not None else -1.0

    # the sort is stable, and polars ranks equals in order from the other end
    voters = sorted(rows, key=key, reverse=True)[: math.ceil(len(rows) * share)]
    return most(rows, lambda row: key(row) if row in voters else 0.0)


EXPECTED = {
    "majority": lambda rows: most(rows, lambda _: 1.0),
    "weighted vote": lambda rows: most(rows, probability),
    "CISC": lambda rows: most(rows, lambda row: math.exp(probability(row) / CISC_TEMPERATURE)),
    "summed log-probability": lambda rows: highest(rows, lambda row: sum(row.scores.logprob)),
    "mean log-probability": lambda rows: highest(rows, lambda row: mean(row.scores.logprob)),
    "answer log-probability": lambda rows: highest(rows, lambda row: row.scores.logprob[0]),
    "entropy": lambda rows: highest(rows, lambda row: -mean(row.scores.entropy)),
    "margin": lambda rows: highest(rows, lambda row: mean(row.scores.margin)),
    "self-certainty": lambda rows: highest(rows, lambda row: mean(row.scores.certainty)),
    "confidence": lambda rows: highest(rows, lambda row: mean(row.scores.confidence)),
}


def positive(audit: Made) -> Made:
    """The same with confidences above 0, as they are in truth."""
    rows = [
        replace(row, scores=replace(row.scores, confidence=tuple(-v for v in row.scores.confidence)))
        for row in audit.rows
    ]
    return replace(audit, rows=tuple(rows))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([PROBE, SWEEP]))
def test_each_selector_picks_what_its_definition_says(seed, probe):
    audit = positive(made(seed))
    found = choices(audit, probe)
    for name, expected in EXPECTED.items():
        for i in audit.ids:
            assert found[name][i] == expected(audit.of(probe.name, i)), (name, i)
    for i in audit.ids:
        rows = audit.of(probe.name, i)
        ranks = rank(rows, lambda row: mean(row.scores.certainty))
        assert found["Borda"][i] == most(rows, lambda row: ranks[row.draw] ** 0.5)  # noqa: B023
        assert found["DeepConf 90%"][i] == confident(rows, 0.9)
        assert found["DeepConf 10%"][i] == confident(rows, 0.1)
        assert found["a random attempt"][i] == pytest.approx(mean([r.outcome is Outcome.RIGHT for r in rows]))
    assert choices(shuffled(audit), probe) == found


def test_borda_gives_the_most_certain_attempt_most_votes():
    """Power 0.5 of the rank from below is the published (n - rank + 1)^p with the most certain at rank 1."""
    audit = positive(made(11))
    rows = audit.of("sampling", "q00")
    ranks = rank(rows, lambda row: mean(row.scores.certainty))
    best = max(rows, key=lambda row: mean(row.scores.certainty))
    assert ranks[best.draw] == len(rows)


def test_an_override_needs_more_than_half_of_all_attempts():
    audit = made(0, n_questions=2)
    rows = []
    for question, answers in (("q00", "11122"), ("q01", "1122x")):
        template = audit.of("sampling", question)
        for row, letter in zip(template, answers, strict=True):
            read = None if letter == "x" else letter
            rows.append(replace(row, answer=read, outcome=Outcome.WRONG))
    deployed = [replace(r, outcome=Outcome.RIGHT) for r in audit.rows if r.probe == "deployed"]
    found = choices(replace(audit, rows=(*rows, *deployed)))["override"]
    assert found == {"q00": False, "q01": True}


def test_one_attempt_for_all_is_chosen_on_the_other_half():
    audit = made(2, n_questions=14)
    found = choices(audit, SWEEP)["one attempt for all"]
    order = seeded_order(audit.ids, 0)
    halves = (order[:7], order[7:])
    for train, test in (halves, halves[::-1]):
        right = [
            mean([audit.of("silencing", i)[k].outcome is Outcome.RIGHT for i in train]) for k in range(5)
        ]
        best = right.index(max(right))
        for i in test:
            assert found[i] == (audit.of("silencing", i)[best].outcome is Outcome.RIGHT)
    assert "one attempt for all" not in choices(audit, PROBE), "draws of one procedure have no number"


def test_without_scores_only_what_answers_say_is_left():
    audit = made(1)
    bare = replace(audit, rows=tuple(replace(row, scores=None) for row in audit.rows))
    assert set(choices(bare)) == {"a random attempt", "majority", "override"}
    scored = set(choices(audit))
    assert scored - {"a random attempt"} == set(SELECTORS) - {
        "lowest group",
        "tail confidence",
        "plain log-probability",
        "plain mean log-probability",
    }


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_numbers_of_an_answer_are_sums_and_means_of_its_tokens(seed, group):
    audit = made(seed)
    rows = [replace(r, scores=None) if i % 5 == 0 else r for i, r in enumerate(audit.rows)]
    table = with_scores(table_of(rows), group=group)
    for row, found in zip(rows, table.iter_rows(named=True), strict=True):
        if row.scores is None:
            assert [found[name] for name in COLUMNS] == [None] * len(COLUMNS)
            continue
        confidence = row.scores.confidence
        width = min(group, len(confidence))
        groups = [mean(confidence[i : i + width]) for i in range(len(confidence) - width + 1)]
        assert found["logprob_sum"] == pytest.approx(sum(row.scores.logprob))
        assert found["confidence_lowest"] == pytest.approx(min(groups))
        assert found["confidence_tail"] == pytest.approx(mean(confidence[-group:]))
        for name in ("logprob", "entropy", "margin", "confidence", "certainty"):
            assert found[f"{name}_mean"] == pytest.approx(mean(getattr(row.scores, name)))
        if row.span is None:
            assert found["logprob_span"] is None
        else:
            starts = (*row.scores.start, len(row.text))
            inside = [starts[i] < row.span[1] and starts[i + 1] > row.span[0] for i in range(len(row.tokens))]
            expected = sum(p for p, is_in in zip(row.scores.logprob, inside, strict=True) if is_in)
            assert found["logprob_span"] == pytest.approx(expected)


def test_recovered_fraction_harm_and_the_tests():
    audit = made(5, n_questions=30)
    deployed = deployed_answers(audit.table, "first", audit.ids)
    attempts = attempts_of(audit.table, PROBE, audit.ids)
    reached = attempts.group_by("question", maintain_order=True).agg(pl.col("right").any())
    oracle = reached.with_columns(right=reached["right"] | deployed["right"])
    picks = picked(attempts, deployed, PROBE, clusters=clusters_of(audit.questions))
    table = selector_table(
        picks, probe="sampling", default=deployed, oracle=oracle, clusters=clusters_of(audit.questions)
    )
    assert table["accuracy"].to_list() == sorted(table["accuracy"], reverse=True)
    before = deployed["right"].to_numpy()
    for row in table.iter_rows(named=True):
        after = np.array([choices(audit)[row["selector"]][i] for i in audit.ids])
        room = oracle["right"].mean() - before.mean()
        assert row["recovered"] == pytest.approx((after.mean() - before.mean()) / room)
        assert row["recovered_low"] <= row["recovered"] <= row["recovered_high"]
        assert row["harm"] == pytest.approx((before * (1 - after)).sum() / before.sum())
        assert row["low"] - 1e-9 <= row["accuracy"] <= row["high"] + 1e-9
        if row["selector"] == "a random attempt":
            assert (row["gained"], row["lost"], row["p"], row["p_holm"]) == (None,) * 4
        else:
            counts = int((after * ~before).sum()), int((before * (1 - after)).sum())
            assert (row["gained"], row["lost"]) == counts
            assert row["p"] == pytest.approx(mcnemar(*counts))
            assert row["p_holm"] >= row["p"]
    nothing = selector_table(
        picks, probe="sampling", default=deployed, oracle=deployed, clusters=clusters_of(audit.questions)
    )
    assert nothing["recovered"].null_count() == nothing.height, (
        "an oracle that gains nothing leaves no fraction"
    )
