"""The grader under random text: it never raises, never hangs, and its spans lie in the text."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.question import Kind, Outcome, Question, Verdict
from interp.tasks.grading import canonical, check_gold, grade

QUESTIONS = (
    Question("number", "", Kind.NUMBER, ("12",)),
    Question("fraction", "", Kind.NUMBER, ("1/3", "-0.5")),
    Question("letters", "", Kind.CHOICE, ("B",), ("red", "green", "the light blue", "B or C")),
    Question("digits", "", Kind.CHOICE, ("2",), ("12", "1/3"), ("1", "2")),
    Question("signs", "", Kind.CHOICE, ("é",), ("\U0001f600", "\ufdfa", "a"), ("é", "ß", "\u0661")),
    Question("text", "", Kind.TEXT, ("Paris", "C++", "\U0001f600 \ufdfa")),
)
PREFIXES = ("", "The answer is ", "\\boxed{", "<think>", "Answer: (")
CUES = (
    "The answer is ", "answer:", "\\boxed{", "\\fbox{", "}", "#### ", "<answer>", "</answer>", "<think>",
    "</think>", "<thinking>", "<|", "**Answer**: ", "$\\boxed", "\\text{", "\\frac{1}{", "\\dfrac", "\\sqrt[",
)  # fmt: skip
NUMBERS = (
    "12", "1e999999999", "-1e-999999999", "1e1000", "1.", ".5", "1,000", "1,00", "1 000 000", "1/3", "1/0",
    "0/0", "7:30", "2^3", "10^{99}", "1\u00d710^-9", "15-20", "\u22123", "½", "\u0663", "\u00b2", "nan",
    "inf", "50%", "$",
)  # fmt: skip
WORDS = (
    " ", "\n", "\r\n", "\x00", "\u2028", "\u202e", "\u0300", "\ufdfa", "\ud800", "\udc00", "\U0001f600",
    "İ", "ß", "a ", "B", "(B)", "B or C", "I ", "not ", "is ", "or ", "and ", "the ", "option ", "green",
    "red. ", "Paris", "e.g. ", "mr. ", "!)", "?", ".", "-", "–", "*", "_", "[", "(", "{", "\\", "'", '"', "|",
)  # fmt: skip

any_character = st.integers(0, 0x10FFFF).map(chr)
piece = st.sampled_from(CUES + NUMBERS + WORDS)
random_text = st.one_of(
    st.text(any_character, max_size=100),
    st.lists(st.one_of(piece, piece, any_character), max_size=40).map("".join),
)
questions = st.sampled_from(QUESTIONS)
finishes: st.SearchStrategy[Literal["stop", "length"]] = st.sampled_from(["stop", "length"])


def check(question: Question, verdict: Verdict, text: str) -> None:
    """What holds of every verdict."""
    assert (verdict.outcome is Outcome.UNREADABLE) == (verdict.answer is None) == (verdict.reason is not None)
    if verdict.span is not None:
        start, end = verdict.span
        assert 0 <= start <= end <= len(text)
    if verdict.answer is not None:
        assert verdict.span is not None
        assert canonical(question, verdict.answer) == verdict.answer
        accepted = {canonical(question, gold) for gold in question.gold}
        assert verdict.right == (verdict.answer in accepted)


@settings(max_examples=400, deadline=None)
@given(questions, random_text, finishes, st.sampled_from(PREFIXES))
def test_any_text_gets_a_sound_verdict(
    question: Question, text: str, finish: Literal["stop", "length"], prefix: str
) -> None:
    verdict = grade(question, text, finish, prefix=prefix)
    check(question, verdict, text)
    assert grade(question, text, finish, prefix=prefix) == verdict


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(Kind), st.lists(random_text, max_size=3), st.lists(random_text, max_size=4), random_text
)
def test_any_question_is_graded_or_refused(
    kind: Kind, golds: list[str], choices: list[str], text: str
) -> None:
    labels = (*golds, "A", "B", "C", "D")[: len(choices)]
    question = Question("q", "", kind, tuple(golds), tuple(choices), labels)
    flaw = check_gold(question)
    verdict = grade(question, text)
    assert verdict.span is None or 0 <= verdict.span[0] <= verdict.span[1] <= len(text)
    if flaw is None:
        check(question, verdict, text)
        assert all(canonical(question, gold) is not None for gold in golds)


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999",
        "9" * 100_000,
        "-" + "9" * 100_000 + "." + "9" * 100_000,
        "1/" + "9" * 100_000,
        "9" * 100_000 + "-" + "9" * 100_001,
        "1e" + "9" * 100_000,
        "10^{" + "9" * 100_000 + "}",
        "1" + ",000" * 50_000,
        "1.5" * 60_000,
        "(" * 200_000 + "B" + ")" * 200_000,
        "\\boxed{" * 30_000 + "12" + "}" * 30_000,
        "{" * 200_000,
        "\\boxed{" + "{" * 100_000 + "12" + "}" * 100_000 + "}",
        "<think>" * 30_000 + "12" + "</think>" * 30_000 + "12",
        "</think>" * 30_000,
        "<answer>" * 30_000 + "12",
        "The answer is " * 15_000 + "12.",
        "answer is 1 or 2. " * 10_000,
        "\\frac{1}{" * 20_000 + "2" + "}" * 20_000,
        "a" + "\u0300\u0316" * 100_000,
        "\ufdfa" * 20_000,
        "\ud800" * 200_000,
        "\U0001f600" * 200_000,
    ],
    ids=lambda text: f"{text[:12]!a}x{len(text)}",
)
@pytest.mark.parametrize("cue", ["", "\\boxed{"])
def test_huge_and_deeply_nested_texts_get_a_sound_verdict(text: str, cue: str) -> None:
    for question in QUESTIONS:
        for finish in ("stop", "length"):
            check(question, grade(question, cue + text, finish), cue + text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is " + "9" * 100_000, "9" * 100_000),
        ("\\boxed{" + "0" * 100_000 + "12}", "12"),
        ("The answer is 5. " * 12_000 + "The answer is 12.", "12"),
        ("word " * 40_000 + "\n#### 12", "12"),
        ("<think>" + "The answer is 5. " * 12_000 + "</think>12", "12"),
    ],
    ids=lambda text: f"{text[:12]!a}x{len(text)}",
)
def test_a_long_text_is_read_like_a_short_one(text: str, answer: str) -> None:
    assert grade(QUESTIONS[0], text).answer == answer


def seconds(question: Question, text: str) -> float:
    begin = time.process_time()
    grade(question, text)
    return time.process_time() - begin


def grows_with_its_length(question: Question, before: str, unit: str, after: str) -> bool:
    """Whether 200 kB take less than 40 times what 20 kB take (100 times: quadratic); short times are noise.

    One good try of three is enough, in processor time, so that a busy machine does not matter.
    """
    short, long = (before + unit * (n // len(unit)) + after for n in (20_000, 200_000))
    return any(seconds(question, long) < max(0.2, 40 * seconds(question, short)) for _ in range(3))


@settings(max_examples=60, deadline=None)
@given(
    questions,
    st.sampled_from((*PREFIXES, "#### ", "Answer: B")),
    st.lists(piece, min_size=1, max_size=3).map("".join),
    st.sampled_from(("", "x", "1", "}", "B")),
)
def test_no_repeated_text_takes_more_than_linear_time(
    question: Question, before: str, unit: str, after: str
) -> None:
    assert grows_with_its_length(question, before, unit, after)


def test_quadratic_time_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0

    def takes(power: int) -> Callable[[Question, str], None]:
        def graded(_question: Question, text: str) -> None:
            nonlocal clock
            clock += (len(text) / 20_000) ** power

        return graded

    monkeypatch.setattr(time, "process_time", lambda: clock)
    monkeypatch.setitem(seconds.__globals__, "grade", takes(2))
    assert not grows_with_its_length(QUESTIONS[0], "", "ab", "")
    monkeypatch.setitem(seconds.__globals__, "grade", takes(1))
    assert grows_with_its_length(QUESTIONS[0], "", "ab", "")


def test_a_label_with_space_around_it_is_its_own_gold() -> None:
    question = Question("q", "", Kind.CHOICE, ("B ",), ("red", "green"), ("A ", "B "))
    assert check_gold(question) is None
    assert grade(question, "green").right
