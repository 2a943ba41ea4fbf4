"""One row a question: deployed rules, states, and what each probe found, against plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_audit import PROBE, SWEEP, Made, made, shuffled, table_of

from interp.question import Outcome
from interp.readings.decoys import decoy_targets
from interp.readings.probed import attempts_of
from interp.readings.states import State, deployed_answers, probe_questions, question_table

NOTHING = table_of([])


def tables(audit: Made, replayed=NOTHING):
    targets = decoy_targets(audit.questions)
    found = {
        probe.name: probe_questions(attempts_of(audit.table, probe, audit.ids), targets, replayed)
        for probe in (PROBE, SWEEP)
    }
    return question_table(audit.questions, deployed_answers(audit.table, "first", audit.ids), found), found


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_each_question_has_the_one_state_that_its_attempts_say(seed):
    audit = made(seed)
    table, _ = tables(audit)
    assert table["id"].to_list() == audit.ids
    for row in table.iter_rows(named=True):
        deployed = audit.of("deployed", row["id"])[0]
        reached = {
            name: any(r.outcome is Outcome.RIGHT for r in audit.of(name, row["id"]))
            for name in ("sampling", "silencing")
        }
        assert row["realized"] == (deployed.outcome is Outcome.RIGHT)
        assert {name: row[f"reached {name}"] for name in reached} == reached
        assert row["reachable"] == (row["realized"] or any(reached.values()))
        if row["realized"]:
            state = State.REALIZED
        elif row["reachable"]:
            state = State.REACHABLE
        else:
            state = State.UNREADABLE if deployed.outcome is Outcome.UNREADABLE else State.NEVER
        assert row["state"] == state
    assert tables(shuffled(audit))[0].equals(table)


def test_the_control_of_a_sweep_reaches_nothing():
    audit = made(0)
    rows = [
        replace(row, outcome=Outcome.RIGHT if row.draw == 0 else Outcome.WRONG)
        if row.probe == "silencing"
        else row
        for row in audit.rows
    ]
    _, found = tables(replace(audit, rows=tuple(rows)))
    assert found["silencing"]["n_right"].sum() == 0
    assert set(found["silencing"]["n"]) == {5}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_what_a_probe_found_is_counted(seed):
    audit = made(seed)
    for name, found in tables(audit)[1].items():
        for row in found.iter_rows(named=True):
            rows = audit.of(name, row["question"])
            right = [r.outcome is Outcome.RIGHT for r in rows]
            answers = Counter(r.answer for r in rows if r.answer is not None)
            assert row["n_right"] == sum(right)
            assert row["rate"] == pytest.approx(sum(right) / len(rows))
            assert row["first_hit"] == (right.index(True) if any(right) else None)
            assert row["n_unreadable"] == sum(r.answer is None for r in rows)
            assert (row["n_answers"], row["n_once"]) == (len(answers), [*answers.values()].count(1))
            assert row["n_tokens"] == sum(len(r.tokens) + r.n_prompt_tokens for r in rows)
            assert row["n_layer_tokens"] == sum(r.n_layer_tokens for r in rows)
            most = max(answers.values(), default=0)
            winner = next((r.answer for r in rows if r.answer and answers[r.answer] == most), None)
            assert row["majority"] == winner
            assert row["confirmed"] is None


def test_hits_are_confirmed_by_a_replay_that_is_right():
    audit = made(7)
    hits = [row for row in audit.rows if row.probe == "sampling" and row.outcome is Outcome.RIGHT]
    first, second = hits[0], next(row for row in hits if row.question != hits[0].question)
    replayed = table_of(
        [
            replace(first, probe="replay sampling", outcome=Outcome.WRONG),
            replace(first, probe="replay sampling", draw=4),
            replace(second, probe="replay sampling", outcome=Outcome.WRONG),
        ]
    )
    found = tables(audit, replayed)[1]["sampling"]
    confirmed = dict(found.select("question", "confirmed").iter_rows())
    assert confirmed.pop(first.question) is True
    assert confirmed.pop(second.question) is False
    assert set(confirmed.values()) == {None}


def test_a_majority_of_deployed_draws_is_one_answer():
    """Two of three read answers agree; an unreadable one has no vote; of a tie the first given wins."""
    base = made(0, n_questions=3)
    template = [row for row in base.rows if row.probe == "deployed"]
    said = {"q00": ["5", None, "0", "0"], "q01": ["7", "1", "1", "7"], "q02": [None, None, None, None]}
    rows = [
        replace(
            row,
            draw=draw,
            answer=answer,
            text=f"{answer} ({draw})",
            outcome=Outcome.UNREADABLE if answer is None else Outcome("right" if answer == gold else "wrong"),
        )
        for row, gold in zip(template, ("0", "1", "2"), strict=True)
        for draw, answer in enumerate(said[row.question])
    ]
    table = deployed_answers(table_of(rows), "majority", base.ids)
    assert table["answer"].to_list() == ["0", "7", None]
    assert table["text"].to_list()[:2] == ["0 (2)", "7 (0)"]
    assert table["right"].to_list() == [True, False, False]
    first = deployed_answers(table_of(rows), "first", base.ids)
    assert first["answer"].to_list() == ["5", "7", None]


def test_a_question_table_of_no_probe_has_two_states_and_unreadable():
    audit = made(3)
    table = question_table(audit.questions, deployed_answers(audit.table, "first", audit.ids), {})
    assert set(table["state"]) <= {State.REALIZED, State.NEVER, State.UNREADABLE}
    assert table["reachable"].to_list() == table["realized"].to_list()
    assert table.schema["gold"] == pl.String
