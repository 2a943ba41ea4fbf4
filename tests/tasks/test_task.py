"""The record itself: what it refuses, its hash, and how a completion is read after an answer prefix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interp.errors import BadQuestions
from interp.procedure import Prompt
from interp.question import Kind, Outcome, Question, Reason
from interp.tasks.load import load_task
from interp.tasks.task import Task, is_binary

SMALLER = Question("a", "Which number is smaller, 3 or 8?", Kind.NUMBER, ("3",), candidates=("3", "8"))


def test_a_task_needs_questions_with_ids_of_their_own() -> None:
    with pytest.raises(BadQuestions, match="no questions"):
        Task("empty", ())
    with pytest.raises(BadQuestions, match="the id 'a' more than once"):
        Task("twice", (SMALLER, replace(SMALLER, text="other")))


def test_the_hash_follows_the_questions_alone() -> None:
    task = Task("t", (SMALLER, replace(SMALLER, id="b")))
    assert task.hash == replace(task, name="u", description="other").hash
    for changed in (
        (SMALLER,),
        task.questions[::-1],
        (replace(SMALLER, gold=("8",)), task.questions[1]),
        (replace(SMALLER, text="?"), task.questions[1]),
    ):
        assert replace(task, questions=changed).hash != task.hash


def test_the_cue_may_stand_in_the_prefix() -> None:
    task = Task("t", (SMALLER,))
    text = " 3, since 8 is more than it."
    verdict = task.grade(SMALLER, text)
    assert verdict.outcome is Outcome.RIGHT
    assert verdict.span is not None
    assert text[slice(*verdict.span)].strip() == "3"


def test_without_a_prefix_the_completion_stands_alone() -> None:
    task = Task("t", (SMALLER,)).with_prompt(Prompt(system="Think."))
    assert task.grade(SMALLER, "3, since 8 is more than it.").answer == "8"
    assert task.grade(SMALLER, "The answer is 3. Note that 8 is larger.").outcome is Outcome.RIGHT


def test_a_number_in_the_prefix_is_not_an_answer_of_the_model() -> None:
    task = Task("t", (SMALLER,)).with_prompt(Prompt(answer_prefix="Of these 3 "))
    verdict = task.grade(SMALLER, "I know nothing.")
    assert verdict.outcome is Outcome.UNREADABLE
    assert verdict.reason is Reason.NO_ANSWER


def test_an_empty_completion_is_empty() -> None:
    assert Task("t", (SMALLER,)).grade(SMALLER, " \n").reason is Reason.EMPTY


def test_a_number_at_a_cut_end_is_truncated() -> None:
    assert Task("t", (SMALLER,)).grade(SMALLER, "3", "length").reason is Reason.TRUNCATED


def test_another_prompt_keeps_the_rest() -> None:
    task = load_task("comparison", n=4)
    assert task.with_prompt(task.prompt) == task
    free = task.with_prompt(Prompt(system="Think aloud."))
    assert free.decoding.stop == ()
    assert (free.questions, free.name, free.decoding.max_new_tokens) == (task.questions, task.name, 8)
    assert free.procedure.key != task.procedure.key


def test_binary_means_two_fixed_options() -> None:
    yes = [Question(str(i), f"q{i}", Kind.TEXT, ("Yes" if i % 2 else "No",)) for i in range(10)]
    choice = Question("c", "?", Kind.CHOICE, ("A",), choices=("x", "y"), labels=("A", "B"))
    assert is_binary(yes)
    assert not is_binary(yes[:9])
    assert not is_binary([*yes, Question("x", "q", Kind.TEXT, ("Maybe",))])
    assert is_binary([choice])
    assert not is_binary([choice, replace(choice, id="d", choices=("x", "y", "z"), labels=("A", "B", "C"))])
