"""The controls of a real localization: a planted sweep in which block 1 flips and block 2 repairs."""

import math
from dataclasses import replace

import pytest

from interp.intervention import silence
from interp.localizers.localization import Share
from interp.localizers.locate import localize_repair
from interp.question import Attempt, FailureSet, Kind, Outcome, Question
from interp.report.controls import compared_rows, control_rows, fact_rows, failure_rows

PAIRS = [(x, y) for x in range(1, 9) for y in range(1, 9) if x != y]
QUESTIONS = [
    Question(
        f"smaller/{x}-{y}",
        f"Which number is smaller, {x} or {y}?",
        Kind.NUMBER,
        (str(min(x, y)),),
        candidates=(str(x), str(y)),
    )
    for x, y in PAIRS
]


def answer(x: int, y: int, block: int | None) -> int:
    """The first number, whatever is asked; with block 1 silenced the second; with block 2 mostly the gold."""
    if block == 1:
        return y
    return min(x, y) if block == 2 and (x + y) % 4 else x


def attempt(question: Question, x: int, y: int, block: int | None) -> Attempt:
    said = str(answer(x, y, block))
    outcome = Outcome.RIGHT if said in question.gold else Outcome.WRONG
    return Attempt(
        question=question.id,
        question_hash=question.hash,
        probe="silencing",
        draw=0 if block is None else block + 1,
        procedure="",
        interventions=() if block is None else (str(silence(block)),),
        seed=0,
        prompt_hash="",
        text=said,
        tokens=(1,),
        finish="stop",
        outcome=outcome,
        reason=None,
        answer=said,
        span=(0, 1),
        grader="1",
        n_prompt_tokens=1,
        n_layer_tokens=1,
    )


@pytest.fixture(scope="module")
def localization():
    asked = list(zip(QUESTIONS, PAIRS, strict=True))
    failures = tuple(sorted(q.id for q, (x, y) in asked if x > y))
    successes = tuple(sorted(q.id for q, (x, y) in asked if x < y))
    frozen = FailureSet("wrong", 0, failures, successes, len(failures), len(successes), len(asked))
    rows = [attempt(q, x, y, b) for q, (x, y) in asked for b in (None, 0, 1, 2, 3)]
    return localize_repair(rows, QUESTIONS, frozen, n_permutations=500)


def by_label(rows):
    return {row.label: row for row in rows}


def test_every_control_stands_with_value_and_explanation(localization):
    rows = control_rows(localization)
    assert [row.label for row in rows] == [
        "Naive maximum",
        "Held out, chosen by repair",
        "Held out, chosen by net gain",
        "Highest net gain",
        "Largest repair against chance",
        "Largest net gain against chance",
        "Constant answer",
        "Constant position",
        "Random block",
    ]
    assert all(row.value and row.explanation.endswith(".") for row in rows)


def test_the_values_are_those_of_the_sweep(localization):
    rows = by_label(control_rows(localization))
    n_repaired = sum((x + y) % 4 != 0 for x, y in PAIRS if x > y)
    assert rows["Naive maximum"].value == f"MLP 1: {Share(28, 28)}"
    assert rows["Held out, chosen by repair"].value == f"MLP 1: {Share(28, 28)}"
    assert "keeps 0.00" in rows["Held out, chosen by repair"].explanation
    assert rows["Held out, chosen by net gain"].value == f"MLP 2: {Share(n_repaired, 28)}"
    gain = n_repaired / len(PAIRS)
    assert rows["Highest net gain"].value.startswith(f"MLP 2: +{gain:.2f} [+")
    assert rows["Constant position"].value == "1.00"
    assert "the second" in rows["Constant position"].explanation
    assert rows["Random block"].value == f"{(1 + n_repaired / 28) / 4:.2f}"
    assert math.isclose(localization.nulls.max_repair.p, 1 / 501)
    assert rows["Largest repair against chance"].value == "p = 0.0020"


def test_facts_say_how_many_were_asked(localization):
    facts = dict(fact_rows(localization))
    assert facts["Questions asked"] == "56"
    assert facts["Deployed accuracy"] == "0.50"
    assert facts["Failures asked"] == facts["Successes asked"] == "28 of 28"


def test_the_marked_blocks_stand_beside_what_they_are_compared_with(localization):
    rows = compared_rows(localization)
    assert [(row.label, row.role, row.mark) for row in rows] == [
        ("MLP 1", "repairs most", "most"),
        ("MLP 2", "gains most", "gains"),
        ("MLP 1", "held out, chosen by repair", ""),
        ("MLP 2", "held out, chosen by net gain", ""),
        ("Always the second answer named", "a constant", ""),
        ("Random block", "mean of all", ""),
    ]
    most, gains, _, _, constant, _ = rows
    assert (most.repair.text, most.retention.text, most.net_gain.text) == ("1.00", "0.00", "0.00")
    assert f"{most.repair.text} {most.repair.interval}" == str(Share(28, 28))
    assert (constant.repair.text, constant.retention.text, constant.accuracy) == ("1.00", "0.00", "0.50")
    assert gains.accuracy == f"{localization.best_net_gain.accuracy_after:.2f}"
    assert gains.net_gain.interval.startswith("[+")


def test_blocks_that_the_halves_choose_are_both_named(localization):
    first, second = localization.held_out_net_gain.directions
    fit = replace(localization.held_out_net_gain, directions=(first, replace(second, layer=3)))
    other = replace(localization, held_out_net_gain=fit)
    assert compared_rows(other)[3].label == "MLP 2, MLP 3"
    value = by_label(control_rows(other))["Held out, chosen by net gain"].value
    assert value.startswith("MLP 2, MLP 3: ")


def test_a_block_that_is_best_in_both_is_one_row(localization):
    both = replace(localization, best_repair=localization.best_net_gain)
    assert [(row.role, row.mark) for row in compared_rows(both)[:2]] == [
        ("repairs and gains most", "gains"),
        ("held out, chosen by repair", ""),
    ]


def test_the_failure_set_is_named_by_its_hash(localization):
    rows = dict(failure_rows(localization))
    assert rows["Hash of the failure set"] == localization.failure_set_hash
    assert rows["Failures asked"] == "28 of 28"
    assert rows["Unstable control rows"] == "0"


def test_without_named_answers_there_is_no_constant_position(localization):
    bare = [Question(q.id, q.text, q.kind, q.gold) for q in QUESTIONS]
    asked = list(zip(bare, PAIRS, strict=True))
    failures = tuple(sorted(q.id for q, (x, y) in asked if x > y))
    successes = tuple(sorted(q.id for q, (x, y) in asked if x < y))
    frozen = FailureSet("wrong", 0, failures, successes, len(failures), len(successes), len(asked))
    rows = [attempt(q, x, y, b) for q, (x, y) in asked for b in (None, 0, 1)]
    found = by_label(control_rows(localize_repair(rows, bare, frozen, n_permutations=50)))
    assert found["Constant position"].value == "–"
    assert "none can be named" in found["Constant position"].explanation
