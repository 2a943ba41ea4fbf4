"""What the page of a run shows, from a log: the questions chosen as examples, and how sentences are set."""

import json
from dataclasses import replace

import pytest
from test_controls import PAIRS, QUESTIONS, answer, attempt

from interp.localizers.outcomes import outcome_matrix
from interp.question import FailureSet
from interp.report import localization_page
from interp.report.localization_page import N_EXAMPLES, examples_of, typeset

NBSP = "\N{NO-BREAK SPACE}"
SUBJECTS = [
    replace(q, subject="even" if sum(p) % 2 == 0 else "odd") for q, p in zip(QUESTIONS, PAIRS, strict=True)
]


@pytest.fixture(scope="module")
def outcomes():
    asked = list(zip(SUBJECTS, PAIRS, strict=True))
    failures = tuple(sorted(q.id for q, (x, y) in asked if x > y))
    successes = tuple(sorted(q.id for q, (x, y) in asked if x < y))
    frozen = FailureSet("wrong", 0, failures, successes, len(failures), len(successes), len(asked))
    return outcome_matrix([attempt(q, x, y, b) for q, (x, y) in asked for b in (None, 0, 1, 2)], frozen)


@pytest.fixture(scope="module")
def columns(outcomes):
    found = {}
    for example in examples_of(outcomes, [1, 2], SUBJECTS):
        found.setdefault(example.heading, []).append(example)
    return found


def test_headings_say_how_many_there_were(columns):
    n_repaired = sum(answer(x, y, 2) == y for x, y in PAIRS if x > y)
    assert list(columns) == [
        f"28 repaired by silencing MLP 1, {N_EXAMPLES} of them",
        f"28 broken by silencing MLP 1, {N_EXAMPLES} of them",
        f"{n_repaired} repaired by silencing MLP 2, {N_EXAMPLES} of them",
    ]


def test_every_example_is_what_its_heading_says(columns):
    for heading, examples in columns.items():
        column = 0 if "MLP 1" in heading else 1
        before, after = ("wrong", "right") if "repaired" in heading else ("right", "wrong")
        assert len(examples) == N_EXAMPLES
        for example in examples:
            assert example.deployed_outcome == before
            assert example.answers[column].outcome == after
            assert [a.block for a in example.answers] == ["MLP 1 silenced", "MLP 2 silenced"]


def test_no_question_is_shown_twice_and_every_subject_is_shown(columns):
    shown = [example.id for examples in columns.values() for example in examples]
    assert len(shown) == len(set(shown))
    subject = {q.id: q.subject for q in SUBJECTS}
    for examples in columns.values():
        assert {subject[example.id] for example in examples} == {"even", "odd"}


def test_questions_on_which_the_blocks_differ_come_first(outcomes):
    broken = [e for e in examples_of(outcomes, [1, 2], SUBJECTS) if "broken by silencing MLP 1" in e.heading]
    assert all({a.outcome for a in e.answers} == {"right", "wrong"} for e in broken)


def test_few_changed_questions_are_all_shown(outcomes, monkeypatch):
    monkeypatch.setattr(localization_page, "N_EXAMPLES", 40)
    headings = {e.heading for e in examples_of(outcomes, [1], SUBJECTS)}
    assert headings == {"28 repaired by silencing MLP 1", "28 broken by silencing MLP 1"}


def test_numbers_are_set_with_true_minus_signs_and_intervals_do_not_break():
    assert typeset("MLP 16: net gain -0.07 [-0.16, +0.03], p = 0.0055.") == (
        f"MLP{NBSP}16: net gain −0.07 [−0.16,{NBSP}+0.03], p{NBSP}={NBSP}0.0055."
    )
    quoted = 'Always "-5" and "a -> b", on held-out questions.'
    assert typeset(quoted) == quoted
    assert json.loads(json.dumps(typeset("[0.61, 0.85]"))) == f"[0.61,{NBSP}0.85]"
