"""Built-in tasks: right golds, balance, stable, distinct and disjoint samples, and clear refusals."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta

import pytest

from interp.errors import BadInput, UnknownName
from interp.question import Kind, Outcome, Question
from interp.tasks.grading import GRADER_VERSION, check_gold
from interp.tasks.load import TASKS, load_task
from interp.tasks.reasoning import REASONING

EVERY = sorted(TASKS)
EVERY_KNOB = [
    f"{name}:{knob}={value}"
    for name, family in TASKS.items()
    for knob, values in family.knobs.items()
    for value in values
]


def numbers(question: Question) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", question.text)]


def wrong_answer(question: Question, others: list[Question]) -> str:
    if question.kind is Kind.NUMBER:
        return "1" + question.gold[0].removeprefix("-")
    return next(q.gold[0] for q in others if not set(q.gold) & set(question.gold))


@pytest.mark.parametrize("spec", EVERY)
def test_the_grader_tells_gold_from_wrong(spec: str) -> None:
    task = load_task(spec)
    others = list(task.questions)
    for question in others:
        assert check_gold(question) is None
        for gold in question.gold:
            for text in (f"{gold}", f"{gold}.", f"The answer is {gold}."):
                assert task.grade(question, text, "stop").outcome is Outcome.RIGHT, (question, text)
        wrong = wrong_answer(question, others)
        verdict = task.grade(question, f"The answer is {wrong}.", "stop")
        assert verdict.outcome is Outcome.WRONG, (question, wrong)


@pytest.mark.parametrize("spec", EVERY)
def test_a_sample_has_its_size_and_nothing_twice(spec: str) -> None:
    task = load_task(spec)
    assert len(task.questions) == TASKS[spec].n
    assert len({q.text for q in task.questions}) == len({q.id for q in task.questions}) == TASKS[spec].n
    assert task.description == TASKS[spec].description != ""
    assert task.grader == GRADER_VERSION
    assert task.binary == (spec in ("yes_no", "two_option"))
    assert task.name == spec


@pytest.mark.parametrize("spec", EVERY)
def test_a_small_sample_begins_a_large_one(spec: str) -> None:
    large = load_task(spec, n=40, seed=3).questions
    assert load_task(spec, n=17, seed=3).questions == large[:17]
    assert load_task(spec, n=40, seed=5).questions != large


@pytest.mark.parametrize("spec", EVERY)
def test_an_even_and_an_odd_seed_share_no_question(spec: str) -> None:
    even = {q.text for q in load_task(spec, n=36, seed=0).questions}
    odd = {q.text for q in load_task(spec, n=36, seed=1).questions}
    assert not even & odd


@pytest.mark.parametrize("spec", EVERY_KNOB)
def test_every_value_of_every_knob_gives_questions(spec: str) -> None:
    questions = load_task(spec, n=5).questions
    assert len(questions) == 5
    assert all(check_gold(q) is None for q in questions)


def test_the_same_in_every_process() -> None:
    code = (
        "from interp.tasks.load import TASKS, load_task\n"
        "for name in sorted(TASKS): print(name, load_task(name, n=6, seed=7).hash)"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout == "".join(f"{name} {load_task(name, n=6, seed=7).hash}\n" for name in EVERY)


def test_the_default_task_asks_as_deployed() -> None:
    task = load_task("comparison:ask=smaller,digits=1", n=4)
    assert task.name == "comparison:ask=smaller,digits=1"
    assert (task.prompt.system, task.prompt.answer_prefix) == ("You answer questions.", "The answer is ")
    assert (task.decoding.max_new_tokens, task.decoding.stop) == (8, ("\n",))
    for question in task.questions:
        x, y = question.candidates
        assert question.text == f"Which number is smaller, {x} or {y}?"
        assert question.id == f"smaller/{x}-{y}"
        assert question.subject == "smaller 1 digit"
        assert question.gold == (str(min(int(x), int(y))),)


def test_comparison_is_balanced_over_ask_digits_and_place() -> None:
    questions = load_task("comparison").questions
    cells = Counter((q.subject, q.candidates.index(q.gold[0])) for q in questions)
    assert len(cells) == 8
    assert set(cells.values()) == {18}
    smaller_first = sum(int(q.candidates[0]) < int(q.candidates[1]) for q in questions)
    assert smaller_first == len(questions) / 2


def test_all_pairs_of_digits_are_there() -> None:
    questions = load_task("comparison:ask=larger,digits=1", n=72).questions
    assert {q.candidates for q in questions} == set(itertools.permutations("123456789", 2))


def test_mirrored_pairs_are_on_the_same_side_of_the_split() -> None:
    spec = "comparison:ask=smaller,digits=1"
    even = {frozenset(q.candidates) for q in load_task(spec, n=36, seed=0).questions}
    odd = {frozenset(q.candidates) for q in load_task(spec, n=36, seed=1).questions}
    assert len(even) == len(odd) == 18
    assert not even & odd


@pytest.mark.parametrize(("name", "pick"), [("smallest", min), ("largest", max)])
def test_three(name: str, pick) -> None:
    questions = load_task(f"three:ask={name}", n=60).questions
    for question in questions:
        assert question.candidates == tuple(map(str, numbers(question)))
        assert len(set(question.candidates)) == 3
        assert question.gold == (str(pick(numbers(question))),)
    assert set(Counter(q.candidates.index(q.gold[0]) for q in questions).values()) == {20}


@pytest.mark.parametrize(
    "spec", ["addition", "arithmetic", "arithmetic:digits=2", "products", "chain_sum", "basic_arithmetic"]
)
def test_sums_agree_with_python(spec: str) -> None:
    for question in load_task(spec, n=81).questions:
        body = re.sub(r"[^\d+\-*/(). ]", "", question.text.replace("times", "*")).strip(" .?")
        assert eval(body) == int(question.gold[0]), question
        if spec not in REASONING:
            assert int(question.gold[0]) >= 0


def test_one_and_two_steps() -> None:
    for steps in (1, 2):
        for question in load_task(f"arithmetic:steps={steps},op=mixed", n=40).questions:
            assert len(numbers(question)) == steps + 1


@pytest.mark.parametrize(("spec", "function"), [("gcd", math.gcd), ("lcm", math.lcm)])
def test_divisors_and_multiples_agree_with_python(spec: str, function) -> None:
    for question in load_task(spec, n=40).questions:
        assert function(*numbers(question)) == int(question.gold[0])


def test_bits_agree_with_python() -> None:
    for question in load_task("count_bits", n=40).questions:
        assert numbers(question)[-1].bit_count() == int(question.gold[0])


def test_letters_are_counted_in_the_word() -> None:
    questions = load_task("counting").questions
    for question in questions:
        letter, word = re.findall(r'"(\w+)"', question.text)
        assert int(question.gold[0]) == sum(c == letter for c in word)
    assert Counter(q.gold[0] for q in questions) == {"1": 25, "2": 25, "3": 25}


def test_sequences_go_on_by_their_rule() -> None:
    for question in load_task("sequence").questions:
        *shown, last = [*numbers(question), int(question.gold[0])]
        differences = {b - a for a, b in itertools.pairwise([*shown, last])}
        ratios = {b / a for a, b in itertools.pairwise([*shown, last])}
        assert len(differences) == 1 or len(ratios) == 1


def test_weekdays_agree_with_the_calendar() -> None:
    for question in load_task("weekday").questions:
        found = re.fullmatch(r"What day of the week is (\d+) days? (after|before) (\w+)\?", question.text)
        assert found is not None
        start = next(d for d in (date(2024, 1, 1 + i) for i in range(7)) if f"{d:%A}" == found[3])
        offset = timedelta(days=int(found[1]) * (1 if found[2] == "after" else -1))
        assert question.gold == (f"{start + offset:%A}",)


def test_capitals_are_many_and_told_apart() -> None:
    questions = load_task("capitals:region=all", n=130).questions
    golds = [{g.casefold() for g in q.gold} for q in questions]
    assert all(not a & b for a, b in itertools.combinations(golds, 2))
    europe = {q.id: q.gold for q in load_task("capitals:region=europe", n=37).questions}
    assert europe["capital/ukraine"] == ("Kyiv", "Kiev")
    assert europe["capital/united-kingdom"] == ("London",)


def test_two_option_tasks_are_balanced() -> None:
    for spec in ("yes_no", "two_option"):
        questions = load_task(spec).questions
        golds = Counter(q.gold[0] for q in questions)
        assert len(golds) == 2
        assert set(golds.values()) == {36}
        for question in questions:
            x, y = numbers(question)
            assert (x > y) == (question.gold[0] in ("Yes", "A"))


def test_the_candidates_of_a_question_hold_its_gold() -> None:
    for name in EVERY:
        for question in load_task(name, n=10).questions:
            assert not question.candidates or question.gold[0] in question.candidates


def test_word_problems_get_room_to_reason() -> None:
    task = load_task("gsm", n=3)
    assert task.prompt.answer_prefix == ""
    assert task.decoding.stop == ()
    assert task.decoding.max_new_tokens >= 128


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("comparison:", "comparison"),
        ("comparison:digits=1,ask=smaller", "comparison:ask=smaller,digits=1"),
        ("comparison: ask = larger ", "comparison:ask=larger"),
        ("comparison:ask=both", "comparison"),
        ("arithmetic:op=add,steps=2", "arithmetic:steps=2,op=add"),
    ],
)
def test_names_are_canonical(spec: str, name: str) -> None:
    task = load_task(spec, n=8)
    assert task.name == name
    assert load_task(name, n=8) == task


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("comparison:ask=small", ["'ask=small'", "ask=both|smaller|larger", "digits=both|1|2|3"]),
        ("comparison:colour=red", ["'colour=red'", "ask=both|smaller|larger"]),
        ("comparison:smaller", ["'smaller'", "ask=both|smaller|larger"]),
        ("comparison:ask=smaller,ask=larger", ["'ask=larger'", "given twice"]),
        ("counting:words=3", ["'words=3'", "none"]),
    ],
)
def test_an_unknown_knob_names_the_known_ones(spec: str, parts: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        load_task(spec)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_an_unknown_task_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"no task 'comparisn'. Did you mean 'comparison'\?.*yes_no"):
        load_task("comparisn:ask=smaller")


@pytest.mark.parametrize(
    ("spec", "n", "message"),
    [
        ("comparison", 0, "at least one question"),
        ("comparison:ask=smaller,digits=1", 73, "has only 72 different questions"),
        (
            "multiplication:digits=1",
            1000,
            r"'multiplication:digits=1' has only \d+ different questions, not 1000",
        ),
    ],
)
def test_a_size_that_cannot_be(spec: str, n: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load_task(spec, n=n)
