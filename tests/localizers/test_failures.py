"""The choice of failures and successes: by rule, in seeded order, matched, or refused with a reason."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.errors import BadFailureSet, BadInput, UnknownName
from interp.localizers.failures import choose_failures, read_failure_file
from interp.question import Attempt, Kind, Outcome, Question, Reason, seeded_order

R, W, U = Outcome.RIGHT, Outcome.WRONG, Outcome.UNREADABLE


def rows(*outcomes: Outcome) -> list[Attempt]:
    """One row a question, q0, q1, ..."""
    return [
        Attempt(
            f"q{i}",
            "",
            "deployed",
            0,
            "",
            (),
            0,
            "",
            "",
            (),
            "stop",
            outcome,
            Reason.EMPTY if outcome is U else None,
            None,
            None,
            "",
            1,
            1,
        )
        for i, outcome in enumerate(outcomes)
    ]


def questions(*subjects: str) -> list[Question]:
    return [Question(f"q{i}", "?", Kind.TEXT, ("a",), subject=subject) for i, subject in enumerate(subjects)]


@pytest.mark.parametrize(
    ("rule", "failures"),
    [("wrong", {"q1", "q3"}), ("unreadable", {"q2", "q5"}), ("not-right", {"q1", "q2", "q3", "q5"})],
)
def test_a_rule_says_what_a_failure_is(rule: str, failures: set[str]) -> None:
    attempts = rows(R, W, U, W, R, U, R)
    chosen = choose_failures(attempts, rule=rule, questions=questions(*"aaaaaaa"))
    assert set(chosen.failures) == failures
    assert set(chosen.successes) <= {"q0", "q4", "q6"}
    assert len(chosen.successes) == min(len(failures), 3)
    assert (chosen.rule, chosen.n_failures, chosen.n_successes, chosen.n_questions) == (
        rule,
        len(failures),
        3,
        7,
    )
    assert chosen.failures == tuple(sorted(chosen.failures))


def test_successes_are_matched_by_subject_and_filled_up_from_the_others() -> None:
    attempts = rows(W, W, W, W, *[R] * 12)
    subjects = questions(*"aaab", *"a", *"bbb", *"cccccccc")
    for seed in range(20):
        chosen = choose_failures(attempts, subjects, seed=seed)
        counts = Counter(subjects[int(i[1:])].subject for i in chosen.successes)
        assert counts["a"] == 1
        assert counts["b"] >= 1
        assert counts.total() == 4


def test_caps_take_the_first_in_seeded_order() -> None:
    attempts = rows(*[W, R] * 10)
    subjects = questions(*"a" * 20)
    wrong = [row.question for row in attempts if row.outcome is W]
    chosen = choose_failures(attempts, subjects, seed=3, max_failures=4, max_successes=2)
    assert set(chosen.failures) == set(seeded_order(wrong, 3)[:4])
    assert (len(chosen.successes), chosen.n_failures, chosen.n_successes) == (2, 10, 10)
    assert choose_failures(attempts, subjects, seed=4, max_failures=4).failures != chosen.failures
    assert len(choose_failures(attempts, subjects, max_failures=4).successes) == 4
    for caps in ({"max_failures": 1}, {"max_successes": 0}):
        with pytest.raises(BadInput, match=r"at least|At least"):
            choose_failures(attempts, subjects, **caps)


def test_ids_may_be_given() -> None:
    attempts = rows(W, U, W, R, R)
    chosen = choose_failures(attempts, questions(*"aaaaa"), rule=["q2", "q1", "q2"])
    assert (chosen.rule, chosen.failures, chosen.n_failures) == ("file", ("q1", "q2"), 2)


@pytest.mark.parametrize(
    ("outcomes", "rule", "message"),
    [
        (
            (R, R, U),
            "wrong",
            "There is no failure by the rule 'wrong' among 3 questions .2 right, 0 wrong, 1 unr",
        ),
        ((R, W, R), "wrong", "one failure .'q1'. by the rule 'wrong'"),
        ((W, W, U), "not-right", "None of 3 questions is answered right"),
        ((R, W, W), ["q1", "q7", "q8"], "not asked: 'q7', 'q8'"),
        ((R, W, W), ["q1", "q0"], "answered right, so there is nothing to repair: 'q0'"),
        ((R, W, W), ["q1"], "one failure .'q1'. in the ids given"),
        ((R, W, W), [], "no failure in the ids given"),
        ((R, W, W), [f"x{i}" for i in range(9)], "'x4' and 4 more"),
    ],
)
def test_a_set_that_cannot_be_used_is_refused(
    outcomes: tuple[Outcome, ...], rule: str | list[str], message: str
) -> None:
    with pytest.raises(BadFailureSet, match=message):
        choose_failures(rows(*outcomes), questions(*"a" * len(outcomes)), rule=rule)


def test_an_unknown_rule_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'wrong'.*not-right, unreadable, wrong"):
        choose_failures(rows(R, W, W), questions(*"aaa"), rule="wrongs")


def test_one_row_a_question_is_read() -> None:
    with pytest.raises(ValueError, match="one row a question"):
        choose_failures([*rows(R, W, W), *rows(R)], questions(*"aaa"))


@given(
    outcomes=st.lists(st.tuples(st.sampled_from([R, W, U]), st.sampled_from("abc")), max_size=30),
    seed=st.integers(0, 5),
    cap=st.none() | st.integers(2, 12),
    order=st.randoms(use_true_random=False),
)
def test_the_choice_is_sound_and_does_not_depend_on_order(outcomes, seed, cap, order) -> None:
    attempts, subjects = rows(*(o for o, _ in outcomes)), questions(*(s for _, s in outcomes))
    counts = Counter(o for o, _ in outcomes)
    arguments = {"rule": "not-right", "seed": seed, "max_failures": cap}
    if counts[W] + counts[U] < 2 or not counts[R]:
        with pytest.raises(BadFailureSet):
            choose_failures(attempts, subjects, **arguments)
        return
    chosen = choose_failures(attempts, subjects, **arguments)
    outcome = {row.question: row.outcome for row in attempts}
    assert all(outcome[i] is not R for i in chosen.failures)
    assert all(outcome[i] is R for i in chosen.successes)
    n_failures = min(cap or 99, counts[W] + counts[U])
    assert len(set(chosen.failures)) == len(chosen.failures) == n_failures
    assert len(set(chosen.successes)) == len(chosen.successes) == min(n_failures, counts[R])
    subject = {question.id: question.subject for question in subjects}
    wanted, got = (Counter(subject[i] for i in ids) for ids in (chosen.failures, chosen.successes))
    there = Counter(subject[i] for i in outcome if outcome[i] is R)
    assert all(got[s] >= min(wanted[s], there[s]) for s in "abc")
    order.shuffle(attempts)
    order.shuffle(subjects)
    assert choose_failures(attempts, subjects, **arguments) == chosen


@pytest.mark.parametrize(
    "text",
    [
        "q1\nq2\n",
        "\ufeffq1\r\n\r\n  q2  \r\nq1\r\n",
        '["q1", "q2"]',
        '[\n{"id": "q1"},\n{"id": "q2"}]\n',
        '{"id": "q1", "text": "?"}\n{"id": "q2"}\n',
        json.dumps({"rule": "wrong", "failures": ["q1", "q2"], "successes": ["q3"]}, indent=2),
    ],
)
def test_ids_are_read_from_each_form_of_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ids"
    path.write_bytes(text.encode())
    assert read_failure_file(path) == ["q1", "q2"]


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    for number, text in enumerate(("17\n4", "[17, 4]", '{"id": 17}\n{"id": 4}')):
        path = tmp_path / str(number)
        path.write_text(text)
        assert read_failure_file(path) == ["17", "4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no id"),
        ("[]", "holds no id"),
        (" \n\n", "holds no id"),
        ('["q1"', "does not parse"),
        ('["q1", null]', "item 2: no question id"),
        ("[true]", "item 1: no question id"),
        ('{"id": "q1"}\n{"name": "q2"}', "line 2: no question id"),
        ('{"id": "q1"}\n{"id": ', "line 2: not a JSON object"),
        ('{"failures": 3}', "holds no list"),
        ('{"text": "?"}', "item 1: no question id"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "ids.txt"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadFailureSet, match=message) as caught:
        read_failure_file(path)
    assert str(path) in str(caught.value)
    with pytest.raises(BadFailureSet, match="cannot be read"):
        read_failure_file(tmp_path / "none")


def test_more_successes_than_failures_may_be_asked():
    asked = rows(W, W, W, *[R] * 9)
    plain = questions(*["a"] * 12)
    assert len(choose_failures(asked, plain).successes) == 3
    assert len(choose_failures(asked, plain, max_successes=2).successes) == 2
    assert len(choose_failures(asked, plain, max_successes=7).successes) == 7
    assert len(choose_failures(asked, plain, max_successes=50).successes) == 9
