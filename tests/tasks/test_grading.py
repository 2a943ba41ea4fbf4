import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadQuestions
from interp.question import Kind, Outcome, Question, Verdict
from interp.tasks.cases import grade_cases
from interp.tasks.grading import GRADER_VERSION, canonical, check_gold, grade

CASES = Path(__file__).parent.parent / "cases" / "grading.jsonl"
COLORS = ("red", "green", "blue", "black")


def number(*gold: str) -> Question:
    return Question("q", "", Kind.NUMBER, gold)


def choice(gold: str = "B", choices: tuple[str, ...] = COLORS, labels: tuple[str, ...] = ()) -> Question:
    return Question("q", "", Kind.CHOICE, (gold,), choices, labels)


def text(*gold: str) -> Question:
    return Question("q", "", Kind.TEXT, gold)


def said(verdict: Verdict) -> str:
    """The answer that was read, or the reason why there is none."""
    return str(verdict.answer if verdict.reason is None else verdict.reason)


def read_number(answer: str, finish: str = "stop") -> str:
    return said(grade(number("424242"), answer, "length" if finish == "length" else "stop"))


ROWS = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_every_case_gets_its_verdict(row: dict, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(row), "utf-8")
    result, counts = grade_cases(path)
    assert result["verdict"] == row["verdict"]
    assert result["reason"] == row.get("reason")
    assert result["agrees"]
    assert (counts["rows"], counts["expected"], counts["differ"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        # thinking
        ("<think>It is 5</think> 7", "7"),
        ("<think>The answer is 5.</think>\n\nAnswer: 7", "7"),
        ("I guess 5 </think> 7", "7"),
        ("<think>a <think> 5 </think> 6 </think> 7", "7"),
        ("Answer: 7 <think>or 8", "truncated"),
        ("The answer is 7. <think>The answer is 8.</think>", "7"),
        ("<think>5</think>", "empty"),
        ("<THINK>5</THINK>7", "7"),
        # cues
        ("The answer is: 18", "18"),
        ("answer is\n18", "18"),
        ("**18**", "18"),
        ("The answer is **18**.", "18"),
        ("**The answer is:** 18", "18"),
        ("**Answer**: 18", "18"),
        ("ANSWER: `18`", "18"),
        ('{"answer": 18, "other": 3}', "18"),
        (r"The final answer is:\n$$\n18\n$$".replace(r"\n", "\n"), "18"),
        ("The answer is \\[\n18\n\\]", "18"),
        (r"\text{Answer: } 18", "18"),
        ("<answer>18</answer> of 20", "18"),
        ("<answer>\n18\n</answer>", "18"),
        ("<answer>18", "18"),
        ("#### 18 apples and 5 pears", "18"),
        ("10 + 8\n#### 18\n\nQuestion: 7?", "18"),
        ("####\n18", "no_answer"),
        ("14 or so. #### unknown", "no_answer"),
        ("#### Step 2: add\nSo we get 18", "18"),
        (r"$\boxed{8}$.", "8"),
        (r"\boxed{\frac{1}{2}}", "0.5"),
        (r"\boxed{\dfrac{1}{3}}", "1/3"),
        (r"\boxed{-\frac13}", "-1/3"),
        (r"\boxed{\text{8 apples}}", "8"),
        (r"\boxed{{{8}}} and 9", "8"),
        (r"\boxed{x = 8}", "8"),
        (r"\boxed{5} or \boxed{7}", "ambiguous"),
        (r"\boxed{}", "no_answer"),
        (r"First \boxed{3}, then \boxed{4}", "4"),
        (r"The answer is 3, i.e. \boxed{4}", "4"),
        ("The answer is 9. Wait, the answer is 8.", "8"),
        ("18\nAnswer:", "no_answer"),
        ("The answer is unknown. There are 14 apples.", "no_answer"),
        ("14 apples. The answer is twelve.", "no_answer"),
        ("The answer is not 5", "no_answer"),
        ("The answer isn't 5", "no_answer"),
        ("Answer: the total:\n18", "18"),
        ("The answer is approx. 18", "18"),
        ("The answer is Rs. 500", "500"),
        ("The answer is 18? I think so, 5 is not.", "18"),
        ("Unanswered: 3. So 5", "5"),
        # no cue: the last number
        ("10 and 4 make 14", "14"),
        ("Between 15 and 20", "ambiguous"),
        ("5 or 7", "ambiguous"),
        ("3 + 4 = 7", "7"),
        ("7:30", "30"),
        ("2x3", "3"),
        ("no idea", "no_answer"),
        # numbers
        ("-3", "-3"),
        ("+3", "3"),
        ("−3", "-3"),
        ("-$3", "-3"),
        ("$-3", "-3"),
        ("x = - 3", "-3"),
        ("(-3)", "-3"),
        ("*-3*", "-3"),
        ("The answer is **-3**.", "-3"),
        ("_-3_", "-3"),
        (r"\boxed{-3}", "-3"),
        ("is:-3", "-3"),
        ("--3", "3"),
        ("(5)-3", "3"),
        ("It is –3 degrees", "-3"),
        (r"\boxed{x_1 = 8}", "8"),
        (r"\boxed{x_{12} = 8}", "8"),
        (r"\boxed{1010_2}", "ambiguous"),
        ("The answer is - 3", "ambiguous"),
        ("Answer:\n- 18 apples", "18"),
        ("COVID-19", "19"),
        ("10-3", "3"),
        ("10 -3", "-3"),
        ("£3", "3"),
        ("3 kg", "3"),
        ("3kg", "3"),
        ("50%", "50"),
        (r"50\%", "50"),
        ("1,000", "1000"),
        ("1 000 000", "1000000"),
        ("1 000", "1000"),
        ("1\u2009000", "1000"),
        ("1\u00a0000", "1000"),
        ("1\u202f000", "1000"),
        (r"10{,}000", "10000"),
        (r"10\,000", "10000"),
        ("12,345.67", "12345.67"),
        ("1,00", "ambiguous"),
        ("1,5", "ambiguous"),
        ("0,500", "ambiguous"),
        ("1,0000", "ambiguous"),
        ("1.000.000", "ambiguous"),
        ("1.234,56", "ambiguous"),
        ("1_000", "ambiguous"),
        ("1'000", "ambiguous"),
        ("1\u200b8", "ambiguous"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1.", "1"),
        ("1.5.", "1.5"),
        ("18...", "18"),
        ("29.00", "29"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("2.5e-3", "0.0025"),
        ("3 × 10^3", "3000"),
        (r"3 \times 10^{-2}", "0.03"),
        ("1e999999999", "no_answer"),
        ("1e-999999999999999999999999999", "no_answer"),
        ("1/3", "1/3"),
        ("2/6", "1/3"),
        ("5 / 7", "5/7"),
        ("1/2", "0.5"),
        ("-3/4", "-0.75"),
        ("6/3", "2"),
        ("1/0", "no_answer"),
        ("1 1/2", "ambiguous"),
        ("1/2/3", "ambiguous"),
        ("15-20", "ambiguous"),
        ("3 - 5", "ambiguous"),
        ("15–20", "ambiguous"),
        ("$15-$20", "ambiguous"),
        ("15 to 20", "ambiguous"),
        ("5 - 15 = -10", "-10"),
        ("±5", "ambiguous"),
        ("2^10", "ambiguous"),
        ("5²", "ambiguous"),
        ("1½", "ambiguous"),
        ("½", "no_answer"),
        ("٣", "no_answer"),
        ("１２", "no_answer"),
        ("5万", "ambiguous"),
        ("5 million", "ambiguous"),
        (r"\boxed{3\sqrt{2}}", "ambiguous"),
        (r"\sqrt{2}", "ambiguous"),
        (r"\frac{\pi}{2}", "ambiguous"),
        (r"\boxed{\frac{x}{2}}", "ambiguous"),
        (r"\boxed{2\pi}", "ambiguous"),
        (r"\boxed{90^\circ}", "90"),
        ("nan", "no_answer"),
        ("inf", "no_answer"),
        ("-inf", "no_answer"),
        ("twelve", "no_answer"),
        ("   \n", "empty"),
        ("\x00", "no_answer"),
        ("\u202e18\u202c", "18"),
        # a statement after a cue
        ("The answer is 5 or 7", "ambiguous"),
        ("The answer is 5 apples or 7 apples", "ambiguous"),
        ("The answer is either **5** or **7**.", "ambiguous"),
        ("The answer is 5, 7", "ambiguous"),
        ("The answer is 7, 7", "7"),
        ("The answer is 5, because 7 is more", "5"),
        ("The answer is 5 (or five)", "5"),
        ("The answer is 10 + 4 = 14", "14"),
        ("The answer is 14 = 10 + 4", "14"),
        ("The answer is $10 + $4 = $14", "14"),
        ("The answer is 10 plus 4 is 14", "14"),
        ("The answer is 48/2 = 24", "24"),
        ("The answer is 48/2 = 25", "ambiguous"),
        ("The answer is 10 - 3", "ambiguous"),
        ("The answer is 7:30", "ambiguous"),
        ("The answer is 2x3", "ambiguous"),
        ("The answer is 14 (10 + 4).", "14"),
        ("The answer is 72, in total, so that is what he earns in 3 days.", "72"),
        ("The answer is the sum of 3 and 4, which is 7", "ambiguous"),
    ],
)
def test_numbers(answer: str, read: str) -> None:
    assert read_number(answer) == read


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("The answer is 1", "truncated"),
        ("The answer is 1.", "truncated"),
        ("The answer is 1,", "truncated"),
        ("The answer is 1 ", "truncated"),
        ("I count 18", "truncated"),
        ("15-2", "truncated"),
        ("The answer is 18. So", "18"),
        ("The answer is **18**", "18"),
        ("The answer is 18\n", "18"),
        ("I count 18 eggs", "18"),
        ("The answer is 10 + 8 = 1", "truncated"),
        (r"\boxed{1", "truncated"),
        (r"\boxed{18}", "18"),
        (r"14, so \boxed{", "truncated"),
        ("The answer is", "truncated"),
        ("First we", "truncated"),
        ("The answer is unknown. It", "no_answer"),
        ("<think>18", "truncated"),
        ("<think>18</think>", "truncated"),
        ("", "empty"),
    ],
)
def test_what_may_go_on_is_truncated(answer: str, read: str) -> None:
    assert read_number(answer, "length") == read


@pytest.mark.parametrize(
    ("gold", "answer", "outcome"),
    [
        ("033", "33", "right"),
        ("1.0", "1", "right"),
        ("1000", "1e3", "right"),
        ("1000", "1,000", "right"),
        ("123456", "123457", "wrong"),
        ("0.1", "0.10000000000000000001", "wrong"),
        ("100000000000000000001", "100000000000000000000", "wrong"),
        ("711", "11", "wrong"),
        ("1/3", "3", "wrong"),
        ("1/3", "0.333", "wrong"),
        ("0.5", "1/2", "right"),
        ("0.5", "50%", "wrong"),
        ("3", "-3", "wrong"),
        ("-3", "3", "wrong"),
        ("1" * 10_000, "0" + "1" * 10_000 + ".0", "right"),
        ("7", "7" * 10_000, "wrong"),
    ],
)
def test_numbers_are_compared_exactly(gold: str, answer: str, outcome: str) -> None:
    assert grade(number(gold), answer).outcome == outcome


def test_any_of_several_golds_is_right() -> None:
    assert grade(number("2", "3"), "3").right
    assert not grade(number("2", "3"), "4").right


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("$B$", "B"),
        ("**B**", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("B)", "B"),
        ("b", "B"),
        ("b)", "B"),
        ("a", "A"),
        ("A", "A"),
        ("E", "not_offered"),
        ("e", "not_offered"),
        ("B or C", "ambiguous"),
        ("B) green", "B"),
        ("B. green", "B"),
        ("B. blue", "ambiguous"),
        ("blue", "C"),
        ("The blue.", "C"),
        ("BLUE", "C"),
        ("blue or red", "no_answer"),
        ("I think B", "B"),
        ("B because the sky", "no_answer"),
        ("It might be B or not", "no_answer"),
        ("A red apple", "no_answer"),
        ("I like apples", "no_answer"),
        ("banana", "no_answer"),
        ("", "empty"),
        ("Answer: B", "B"),
        ("answer: b", "B"),
        ("The answer is b because", "B"),
        ("The answer is B. Note that A is a distractor.", "B"),
        ("Answer: B because A is wrong", "B"),
        ("Answer: B, as A is wrong", "B"),
        ("Answer: B) green", "B"),
        ("Answer: (b) green", "B"),
        ("Answer: B. blue", "ambiguous"),
        ("Answer: option B", "B"),
        ("Answer: Option b", "B"),
        ("The answer is the letter B", "B"),
        ("The answer is clearly B.", "B"),
        ("The correct answer is:\n\n**B**", "B"),
        (r"\boxed{B}", "B"),
        (r"\boxed{\text{B}}", "B"),
        (r"$\boxed{\textbf{(B) } green}$", "B"),
        (r"\boxed{\text{B or C}}", "ambiguous"),
        (r"\boxed{B} and \boxed{C}", "ambiguous"),
        (r"\boxed{\text{green}} or \boxed{\text{blue}}", "ambiguous"),
        ("<answer>B</answer>", "B"),
        ("<answer>(b)</answer>", "B"),
        ("#### B", "B"),
        ("<think>A</think>B", "B"),
        ("<think>The answer is A", "truncated"),
        ("Answer: A", "A"),
        ("Answer: a.", "A"),
        ("Answer: A because it is", "A"),
        ("Answer: A red", "A"),
        ("Answer: a red apple", "no_answer"),
        ("Answer: A red apple", "no_answer"),
        ("Answer: a fruit. B", "no_answer"),
        ("Answer: I do not know", "no_answer"),
        ("Answer: I'm sure", "no_answer"),
        ("Answer: B or C", "ambiguous"),
        ("Answer: b or c", "ambiguous"),
        ("Answer: B/C", "ambiguous"),
        ("Answer: B, C", "ambiguous"),
        ("Answer: B and C", "ambiguous"),
        ("Answer: B or E", "ambiguous"),
        ("Answer: either B or C", "ambiguous"),
        ("Answer: **B** or **C**", "ambiguous"),
        ("Answer: (B) or (C)", "ambiguous"),
        ("Answer: B or B", "B"),
        ("Answer: B and a red hat", "B"),
        ("Answer: not B", "no_answer"),
        ("Answer: neither (A) nor (B)", "no_answer"),
        ("The answer isn't B", "no_answer"),
        ("ANSWER: None of the above", "no_answer"),
        ("Answer: all of the above", "no_answer"),
        ("Answer: green (B)", "B"),
        ("Answer: B (blue)", "ambiguous"),
        ("Answer: A (blue)", "ambiguous"),
        ("Answer: A (red)", "A"),
        ("Answer: a blue", "C"),
        ("Answer: <B>", "B"),
        ("B\u200b", "B"),
        ("Answer: it must be option B", "B"),
        ("Answer: blue", "C"),
        ("Answer: blue. The sky is blue.", "C"),
        ("Answer: Zebra", "no_answer"),
        ("Answer: B-flat", "no_answer"),
        ("Answer: E", "not_offered"),
        ("Answer: (Z)", "not_offered"),
        ("Answer: 2", "not_offered"),
        ("Answer: 2 apples", "no_answer"),
        ("B\nAnswer:", "no_answer"),
        ("Answer: A\nWait, actually Answer: D", "D"),
    ],
)
def test_letters(answer: str, read: str) -> None:
    assert said(grade(choice(), answer)) == read


@pytest.mark.parametrize(
    ("question", "answer", "read"),
    [
        (choice("C", ("red", "blue", "None of the above")), "Answer: none of the above", "C"),
        (choice("A", ("red", "red", "blue")), "red", "ambiguous"),
        (choice("A", ("red", "red", "blue")), "Answer: red", "ambiguous"),
        (choice("A", ("red", "red", "blue")), "A", "A"),
        (choice("A", ("a cat", "a dog")), "Answer: a cat", "A"),
        (choice("B", ("3", "5", "7")), "Answer: 5", "B"),
        (choice("B", ("B", "A")), "Answer: A", "ambiguous"),
        (choice("A", ("C", "C#")), "Answer: C#", "B"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "2", "2"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "Answer: (2) green", "2"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "Answer: 7", "not_offered"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "Answer: 2 apples", "no_answer"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "Answer: 2 or 3", "ambiguous"),
        (choice("2", COLORS, ("1", "2", "3", "4")), "Answer: 2.5", "no_answer"),
        (choice("b", COLORS, ("a", "b", "c", "d")), "Answer: B", "b"),
        (choice("Yes", (), ("Yes", "No")), "yes.", "Yes"),
        (choice("Yes", (), ("Yes", "No")), "Answer: No, because", "No"),
        (choice("Yes", (), ("Yes", "No")), "Answer: yes or no", "ambiguous"),
        (choice("Yes", (), ("Yes", "No")), "Answer: perhaps", "no_answer"),
    ],
)
def test_letters_of_other_questions(question: Question, answer: str, read: str) -> None:
    assert said(grade(question, answer)) == read


def test_a_label_that_begins_another_may_go_on() -> None:
    labels = tuple(map(str, range(1, 13)))
    question = choice("1", tuple(f"option text {label}" for label in labels), labels)
    assert said(grade(question, "Answer: 1", "length")) == "truncated"
    assert said(grade(question, "Answer: 2", "length")) == "2"
    assert said(grade(question, "Answer: 1")) == "1"


@pytest.mark.parametrize(
    ("gold", "answer", "outcome"),
    [
        ("Paris", "paris.", "right"),
        ("Paris", "  **Paris**\n", "right"),
        ("Paris", "\u201cParis\u201d", "right"),
        ("Paris", "Ｐａｒｉｓ", "right"),
        ("Paris", "Paris is in France", "wrong"),
        ("Paris", "It is Paris", "wrong"),
        ("Paris", "The answer is Paris. It is in France.", "right"),
        ("Paris", "The answer is Paris, in France.", "wrong"),
        ("Paris", r"\boxed{\text{Paris}}", "right"),
        ("Paris", "<answer> Paris </answer> or Rome", "right"),
        ("Paris", "#### Paris\nRome", "right"),
        ("Paris", "Paris or Rome", "wrong"),
        ("Paris", "Rome. The answer is not Paris.", "wrong"),
        ("Paris", "Paris\nAnswer:", "unreadable"),
        ("Paris", "...", "unreadable"),
        ("Paris", "- Paris", "right"),
        ("St. Louis", "The answer is St. Louis. It is big.", "right"),
        ("Washington, D.C.", "The answer is Washington, D.C. It is big.", "right"),
        ("the United States", "United  States", "right"),
        ("STRASSE", "straße", "right"),
        ("-3", "3", "unlike"),
        ("C#", "C", "unlike"),
        ("C++", "C", "unlike"),
        (".NET", "net", "unlike"),
        ("vitamin A", "Vitamin A.", "right"),
        ("vitamin A", "vitamin", "unlike"),
        ("A", "a", "right"),
    ],
)
def test_texts(gold: str, answer: str, outcome: str) -> None:
    assert grade(text(gold), answer).outcome == outcome.replace("unlike", "wrong")


def test_alternatives_of_a_text() -> None:
    question = text("United States", "USA")
    assert grade(question, "the USA").right
    assert grade(question, "United States!").right
    assert not grade(question, "US").right


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("Par", "truncated"),
        ("Paris. It", "truncated"),
        ("The answer is Par", "truncated"),
        ("The answer is Paris. It", "paris"),
        (r"\boxed{Paris}", "paris"),
    ],
)
def test_a_text_cut_short_is_truncated(answer: str, read: str) -> None:
    assert said(grade(text("Paris"), answer, "length")) == read


def test_a_cue_in_the_prefix_counts_and_a_number_in_it_does_not() -> None:
    cued = grade(number("3"), "3, since 8 is larger.", prefix="The answer is ")
    assert cued == Verdict(Outcome.RIGHT, None, "3", (0, 1))
    assert said(grade(number("3"), "no idea", prefix="Of 3 and 8: ")) == "no_answer"
    assert said(grade(choice(), "b because", prefix="The answer is ")) == "B"
    assert said(grade(number("3"), "  ", prefix="The answer is ")) == "empty"
    assert said(grade(number("7"), "5 </think> 7", prefix="<think>")) == "7"
    assert said(grade(number("7"), "5 so 7", prefix="<think>")) == "truncated"


@pytest.mark.parametrize(
    ("question", "answer", "read"),
    [
        (number("29"), "So the total is $29.00.", "29.00"),
        (number("-3"), "It is −3 degrees", "−3"),
        (number("5"), "<think>4</think> 5", "5"),
        (number("0.5"), r"thus \boxed{ \frac{1}{2} }", r"\frac{1}{2}"),
        (number("9"), "It is 15-20", "20"),
        (choice(), "**Answer:** B, since A", "B"),
        (choice(), r"\boxed{\text{B}}", "B"),
        (choice(), "Answer: the blue.", "the blue"),
        (text("Paris"), "The answer is **Paris**. Yes", "Paris"),
    ],
)
def test_spans_point_at_what_was_read(question: Question, answer: str, read: str) -> None:
    span = grade(question, answer).span
    assert span is not None
    assert answer[slice(*span)] == read


@pytest.mark.parametrize(
    ("question", "flaw"),
    [
        (number("12"), None),
        (number("-1/3"), None),
        (number("$1,000"), None),
        (number("3 kg"), None),
        (number("USD 3"), None),
        (number("twelve"), "cannot be read as one number"),
        (number("1,5"), "cannot be read as one number"),
        (number("5 or 7"), "cannot be read as one number"),
        (number("B12"), "cannot be read as one number"),
        (number("5²"), "cannot be read as one number"),
        (number("1/0"), "cannot be read as one number"),
        (number("nan"), "cannot be read as one number"),
        (number("5", "five"), "'five' cannot be read"),
        (number(), "no gold answer"),
        (number(" "), "empty"),
        (text("Paris"), None),
        (text("?!"), "letter or digit"),
        (choice(), None),
        (choice("E"), "not among the labels A, B, C, D"),
        (choice("green"), "not among the labels"),
        (choice("A", ("red",)), "two options"),
        (choice("A", COLORS, ("A", "B")), "4 choices but 2 labels"),
        (choice("A", COLORS, ("A", "B", "b", "C")), "same label"),
        (choice("A", tuple(map(str, range(30)))), "more than 26"),
        (choice("Yes", (), ("Yes", "No")), None),
    ],
)
def test_check_gold_finds_questions_that_cannot_be_graded(question: Question, flaw: str | None) -> None:
    found = check_gold(question)
    assert found is None if flaw is None else flaw in (found or "")


def test_an_unreadable_gold_is_an_error_and_never_a_wrong_answer() -> None:
    assert said(grade(number("twelve"), "12")) == "error"
    assert said(grade(number(), "12")) == "error"


def test_candidates_have_the_spelling_of_answers() -> None:
    assert canonical(number("3"), "3.0") == grade(number("3"), "The answer is 3").answer == "3"
    assert canonical(choice(), "green") == canonical(choice(), "b") == "B"
    assert canonical(text("Paris"), "The Paris!") == "paris"
    assert canonical(number("3"), "many") is None
    assert canonical(choice(), "white") is None


def test_the_grader_has_a_version() -> None:
    assert GRADER_VERSION == "2"


FRACTIONS = st.fractions(max_denominator=10**6).filter(lambda f: abs(f) < 10**12)


@settings(deadline=None)
@given(FRACTIONS, FRACTIONS)
def test_equal_numbers_and_only_they_have_equal_spellings(a: Fraction, b: Fraction) -> None:
    first = canonical(number("1"), f"{a.numerator}/{a.denominator}")
    second = canonical(number("1"), f"{3 * b.numerator}/{3 * b.denominator}")
    assert first is not None
    assert second is not None
    assert Fraction(first) == a
    assert (first == second) == (a == b)


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(-30, 30))
def test_decimals_and_exponents_keep_their_value(value: object, exponent: int) -> None:
    spelled = canonical(number("1"), f"{value}e{exponent}" if "E" not in str(value) else str(value))
    assert spelled is not None
    expected = Fraction(str(value)) * (Fraction(10) ** exponent if "E" not in str(value) else 1)
    assert Fraction(spelled) == expected


WORDS = st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=20)


@settings(deadline=None)
@given(
    st.one_of(
        FRACTIONS.map(lambda f: number(str(f))),
        st.sampled_from("ABCD").map(choice),
        WORDS.map(text).filter(lambda question: check_gold(question) is None),
    ),
    st.sampled_from(["", " ", "\n", "\t\n "]),
    st.sampled_from(["", "."]),
)
def test_the_canonical_gold_is_right_whatever_space_and_period_surround_it(
    question: Question, space: str, period: str
) -> None:
    gold = canonical(question, question.gold[0])
    assert gold is not None
    if question.kind is Kind.TEXT and grade(question, gold).span != (0, len(gold)):
        return  # a text that contains a cue or thinking of its own
    answer = f"{space}{gold}{period}{space}"
    verdict = grade(question, answer)
    assert verdict.right
    assert verdict.answer == gold
    assert verdict.span is not None
    assert answer[slice(*verdict.span)] == gold
    if question.kind is not Kind.TEXT:
        assert grade(question, f"The answer is {gold}{period}{space}").right


MARKS = ["answer is ", "Answer:", "\\boxed{", "}", "#### ", "<think>", "</think>", "<answer>", "</answer>"]
SIGNS = [*"12,.-−/²½٣\x00\u202e\ud800 \nAbI()$x%=^", "12", "e9", "1e99999", "a ", "or ", "**", "not ", "{1}"]
PIECES = st.sampled_from([*MARKS, *SIGNS, "\\frac", "\\sqrt"])
QUESTIONS = [number("12"), choice(), text("Paris"), choice("2", COLORS, ("1", "2", "3", "4"))]


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)),
    st.sampled_from(QUESTIONS),
    st.sampled_from(["stop", "length"]),
)
def test_any_text_gives_a_verdict_with_a_span_inside_it(answer: str, question: Question, finish: str) -> None:
    verdict = grade(question, answer, "length" if finish == "length" else "stop")
    assert (verdict.answer is None) == (verdict.outcome is Outcome.UNREADABLE) == (verdict.reason is not None)
    if verdict.span is not None:
        assert 0 <= verdict.span[0] <= verdict.span[1] <= len(answer)
    if verdict.answer is not None:
        assert verdict.span is not None
        assert canonical(question, verdict.answer) == verdict.answer


LONG = """
import sys
from interp.question import Kind, Question
from interp.tasks.grading import grade
questions = [
    Question("n", "", Kind.NUMBER, ("12",)),
    Question("c", "", Kind.CHOICE, ("B",), ("red", "green")),
    Question("t", "", Kind.TEXT, ("Paris",)),
]
pieces = (
    "1|1,|1 |1,000|1/|1.|.|-|\\\\frac{|{|}|\\\\boxed{|answer:|answer |####|#|<think>|</think>|"
    "<answer>|\\n| |*|(|B |B or |the |a |it is |\\u0300|\\u0300\\u0316|\\ufdfa|e|1e9|=1|1 or |\\\\sqrt|not "
    "|'|- |!)|either "
).split("|")
for piece in pieces:
    for before in ("", "The answer is ", "\\\\boxed{"):
        long = before + piece * (20_000 // len(piece)) + "x"
        for question in questions:
            grade(question, long)
"""


def test_long_and_repetitive_texts_never_hang() -> None:
    subprocess.run(
        [sys.executable, "-c", LONG], check=True, timeout=60, env={**os.environ, "PYTHONPATH": os.getcwd()}
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"kind": "number"', "line 2: not valid JSON"),
        ("[1]", "line 2: a case is an object"),
        ('{"kind": "number", "gold": "3"}', "line 2: the field 'text' is missing"),
        ('{"kind": "number", "text": "3"}', "line 2: the field 'gold' must hold"),
        ('{"kind": "number", "gold": [], "text": "3"}', "line 2: the field 'gold' is an empty list"),
        ('{"kind": "number", "gold": true, "text": "3"}', "line 2: the field 'gold' must hold"),
        ('{"kind": "letter", "gold": "3", "text": "3"}', "line 2: the field 'kind' must be one of number"),
        ('{"gold": "3", "text": "3"}', "line 2: the field 'kind' must be"),
        ('{"kind": "number", "gold": 3, "text": "3", "finish": "eos"}', "line 2: the field 'finish' must be"),
        (
            '{"kind": "number", "gold": 3, "text": "3", "verdict": "good"}',
            "line 2: the field 'verdict' must be",
        ),
        ('{"kind": "number", "gold": 3, "text": "3", "reason": "bad"}', "line 2: the field 'reason' must be"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"kind": "number", "gold": 3, "text": "\u2028 3"}\n' + row + "\n", "utf-8")
    with pytest.raises(BadQuestions, match=message.replace("[", r"\[")) as caught:
        grade_cases(path)
    assert str(path) in str(caught.value)


def test_files_without_cases_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match="cannot be read"):
        grade_cases(tmp_path / "absent.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(BadQuestions, match="holds no case"):
        grade_cases(tmp_path / "empty.jsonl")


def test_cases_are_counted_and_compared(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "kind": "number", "gold": 3, "text": "3", "verdict": "right"},
        {"id": "b", "kind": "number", "gold": 3, "text": "4", "verdict": "right"},
        {"id": "c", "kind": "number", "gold": 3, "text": "", "verdict": "unreadable", "reason": "no_answer"},
        {"kind": "text", "gold": ["x", 5], "text": "5"},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(map(json.dumps, rows)).encode())
    *results, counts = grade_cases(path)
    assert [(r["id"], r["verdict"], r["answer"], r["agrees"]) for r in results] == [
        ("a", "right", "3", True),
        ("b", "wrong", "4", False),
        ("c", "unreadable", None, False),
        ("4", "right", "5", True),
    ]
    assert results[2]["reason"] == "empty"
    assert results[2]["expected"] == {"verdict": "unreadable", "reason": "no_answer"}
    assert counts == {"rows": 4, "right": 2, "wrong": 1, "unreadable": 1, "expected": 3, "differ": 2}
    assert json.loads(json.dumps(results)) == results
