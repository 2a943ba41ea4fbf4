"""Question files in the shapes people have: options, golds, names; and what is refused as unclear."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from interp.errors import BadQuestions
from interp.question import Kind, Question
from interp.tasks.check import check_questions
from interp.tasks.files import load_file, load_questions
from interp.tasks.load import load_task

ANIMALS = ["cat", "dog", "hen", "owl"]
Write = Callable[..., Path]


@pytest.fixture
def jsonl(tmp_path: Path) -> Write:
    def to(*rows: dict[str, Any]) -> Path:
        path = tmp_path / "q.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
        return path

    return to


@pytest.fixture
def csv_file(tmp_path: Path) -> Write:
    def to(text: str) -> Path:
        path = tmp_path / "q.csv"
        path.write_bytes(text.encode())
        return path

    return to


def messages(path: Path) -> str:
    return "\n".join(str(problem).replace(str(path), path.name) for problem in check_questions(path).errors)


def notes(path: Path) -> list[tuple[int | None, str, str]]:
    return [(note.line, note.field, note.message) for note in check_questions(path).notes]


# options


@pytest.mark.parametrize(
    ("choices", "labels"),
    [
        (ANIMALS, "ABCD"),
        (["A. cat", "B. dog", "C. hen", "D. owl"], "ABCD"),
        (["A)cat", "B)dog", "C)hen", "D)owl"], "ABCD"),
        ({"text": ANIMALS, "label": ["A", "B", "C", "D"]}, "ABCD"),
        ({"label": ["1", "2", "3", "4"], "text": ANIMALS}, "1234"),
        ({"label": [1, 2, 3, 4], "text": ANIMALS}, "1234"),
        ([{"label": label, "text": text} for label, text in zip("ABCD", ANIMALS, strict=True)], "ABCD"),
        (dict(zip("ABCD", ANIMALS, strict=True)), "ABCD"),
        (dict(zip("1234", ANIMALS, strict=True)), "1234"),
        ("A. cat\nB. dog\nC. hen\nD. owl", "ABCD"),
        ("A) cat\r\nB) dog\r\nC) hen\r\nD) owl\r\n", "ABCD"),
        ("(A) cat\n(B) dog\n\n(C) hen\n(D) owl", "ABCD"),
        ("(a)cat\n(b)dog\n(c)hen\n(d)owl", "abcd"),
        ("1. cat\n2. dog\n3. hen\n4. owl", "1234"),
        ('["cat", "dog", "hen", "owl"]', "ABCD"),
        ('{"text": ["cat", "dog", "hen", "owl"], "label": ["1", "2", "3", "4"]}', "1234"),
    ],
)
def test_every_shape_of_options_is_the_same_question(choices: object, labels: str, jsonl: Write) -> None:
    (question,) = load_questions(jsonl({"question": "Which?", "choices": choices, "gold": labels[1]}))
    assert (question.kind, question.choices, question.labels) == (Kind.CHOICE, tuple(ANIMALS), tuple(labels))
    assert question.gold == (labels[1],)
    assert question.text == "Which?" + "".join(
        f"\n{label}. {text}" for label, text in zip(labels, ANIMALS, strict=True)
    )


def test_an_option_may_go_on_over_lines(jsonl: Write) -> None:
    (question,) = load_questions(
        jsonl({"question": "a", "choices": "A. one\nstill one\nB. two", "gold": "A"})
    )
    assert question.choices == ("one\nstill one", "two")


def test_numbers_with_points_are_options_not_labels(jsonl: Write) -> None:
    (question,) = load_questions(jsonl({"question": "a", "choices": ["1.5", "2.5"], "gold": "A"}))
    assert question.choices == ("1.5", "2.5")


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ("A. cat\nC. dog", "each option begins a line with its label, from A on"),
        ("A. cat B. dog", "each option begins a line with its label, from A on"),
        ("cat\ndog", "each option begins a line with its label"),
        ("Pick:\nA. cat\nB. dog", "each option begins a line with its label"),
        ("['cat', 'dog']", "expected a list such as"),
        (7, "got a number"),
        ({"text": ["cat", "dog"], "label": ["A"]}, "as many labels as texts, got 1 and 2"),
        ({"text": ["cat", "dog"], "label": ["A", "A"]}, "expected different labels"),
        ({"text": ["cat", "dog"], "label": ["A", "a"]}, "expected different labels"),
        ({"first": "cat", "second": "dog"}, "a letter or a number as each option's label, got 'first'"),
        ({"A": "cat", "B": None, "C": "hen"}, "expected text or a number, got null"),
        ([{"label": "A", "text": "cat"}, "dog"], 'expected {"label": "A", "text": "..."}'),
        ([{"label": "A"}], 'expected {"label": "A", "text": "..."}'),
        (["cat", " "], "empty text"),
    ],
)
def test_options_in_no_known_shape_are_refused(choices: object, says: str, jsonl: Write) -> None:
    assert says in messages(jsonl({"question": "Which?", "choices": choices, "gold": "A"}))


def test_labels_beside_labelled_options_must_agree(jsonl: Write) -> None:
    row = {"question": "Which?", "choices": {"A": "cat", "B": "dog"}, "gold": "B"}
    assert load_questions(jsonl(row | {"labels": ["A", "B"]}))[0].gold == ("B",)
    assert "labels: expected the labels of the choices (A, B), got 1, 2" in messages(
        jsonl(row | {"labels": ["1", "2"]})
    )


def test_options_in_cells_and_in_columns_of_a_csv_file(csv_file: Write) -> None:
    path = csv_file(
        '\ufeffquestion,choices,gold\r\n"Which\r\none?","A. cat\r\nB. dog",B\r\n"Who?","[""x"", 7]",7\r\n'
    )
    first, second = load_questions(path)
    assert (first.choices, first.gold) == (("cat", "dog"), ("B",))
    assert (second.choices, second.gold) == (("x", "7"), ("B",))
    path = csv_file("question,A,B,C,D,answer\nWhich?,cat,dog,hen,owl,C\nTwo?,x,A,,,A\nFree?,,,,,nobody\n")
    first, second, third = load_questions(path)
    assert (first.choices, first.labels, first.gold) == (tuple(ANIMALS), ("A", "B", "C", "D"), ("C",))
    assert (second.choices, second.gold) == (("x", "A"), ("A",))
    assert (third.kind, third.choices) == (Kind.TEXT, ())
    assert (2, "A, B, C, D", "read as the field choices") in notes(path)


@pytest.mark.parametrize(
    "names", ["option_a,option_b", "Choice A,Choice B", "option1,option2", "choice_0,choice_1"]
)
def test_columns_with_other_names_hold_options_too(names: str, csv_file: Write) -> None:
    (question,) = load_questions(csv_file(f"question,{names},gold\nWhich?,cat,dog,B\n"))
    assert (question.choices, question.labels, question.gold) == (("cat", "dog"), ("A", "B"), ("B",))


def test_columns_that_are_no_sequence_are_no_options(csv_file: Write) -> None:
    path = csv_file("question,A,C,gold\nWhich?,cat,dog,x\n")
    assert load_questions(path)[0].choices == ()
    assert {problem.field for problem in check_questions(path).warnings} == {"A", "C"}
    path = csv_file("question,A,B,C,gold\nWhich?,cat,,hen,A\n")
    assert "q.csv:2: B: is empty, and the option C after it is not" in messages(path)


def test_the_parquet_layout_of_arc(tmp_path: Path) -> None:
    path = tmp_path / "arc.parquet"
    pl.DataFrame(
        {
            "id": ["x", "y"],
            "question": ["Which?", "Who?"],
            "choices": [
                {"text": ANIMALS, "label": ["A", "B", "C", "D"]},
                {"text": ANIMALS[:3], "label": ["1", "2", "3"]},
            ],
            "answerKey": ["D", "3"],
        }
    ).write_parquet(path)
    assert [(q.id, q.gold, q.labels) for q in load_questions(path)] == [
        ("x", ("D",), ("A", "B", "C", "D")),
        ("y", ("3",), ("1", "2", "3")),
    ]
    pl.DataFrame(
        {"question": ["a", "b"], "choices": [{"A": "x", "B": "y", "C": None}, {"A": "x", "B": "y", "C": "z"}],
         "gold": ["B", "C"]}
    ).write_parquet(path)  # fmt: skip
    assert [q.choices for q in load_questions(path)] == [("x", "y"), ("x", "y", "z")]


# golds


@pytest.mark.parametrize(
    ("gold", "label"),
    [
        ("B", "B"), ("b", "B"), ("(B)", "B"), ("B.", "B"), ("B)", "B"), ("(b)", "B"), (" B ", "B"),
        ("dog", "B"), ("Dog", "B"), ("the dog", "B"),
        ("B. dog", "B"), ("(B) dog", "B"), ("B) dog", "B"), ("B)dog", "B"), ("B: Dog.", "B"),
    ],
)  # fmt: skip
def test_a_gold_names_its_option(gold: str, label: str, jsonl: Write) -> None:
    (question,) = load_questions(jsonl({"question": "Which?", "choices": ANIMALS, "gold": gold}))
    assert question.gold == (label,)


@pytest.mark.parametrize(
    ("choices", "gold", "says"),
    [
        (ANIMALS, "cow", "expected one of the labels A, B, C, D"),
        (ANIMALS, "E", "expected one of the labels A, B, C, D"),
        (ANIMALS, "B. cat", "'B. cat' names B, but the text of B is 'dog'"),
        (ANIMALS, "B or C", "expected one of the labels"),
        (ANIMALS, "BC", "expected one of the labels"),
        (["C", "B", "D", "A"], "A", "'A' may be A ('C') and D ('A'); write for instance 'A. C'"),
        (["cat", "dog", "cat"], "cat", "'cat' may be A ('cat') and C ('cat')"),
        ({"1": "cat", "2": "dog"}, "0", "expected one of the labels 1, 2"),
        ({"1": "cat", "2": "dog"}, "A", "expected one of the labels 1, 2"),
        (["4", "5", "6", "7"], "4", "4 may be the text or the index of an option; write its label"),
        (ANIMALS, 2, "2 may count the options from 0 or from 1"),
        (ANIMALS, "2", "add the field gold_index_base, 0 or 1, or write the label"),
        (ANIMALS, 9, "expected one of the labels A, B, C, D, or an option's text or index, got 9"),
        (ANIMALS, "2.0", "expected one of the labels"),
        (ANIMALS, "-1", "expected one of the labels"),
        (ANIMALS, "007", "expected one of the labels"),
    ],
)
def test_a_gold_that_names_no_one_option_is_refused(
    choices: object, gold: object, says: str, jsonl: Write
) -> None:
    assert says in messages(jsonl({"question": "Which?", "choices": choices, "gold": gold}))


def test_labels_that_the_row_gives_come_before_texts(jsonl: Write) -> None:
    row = {"question": "Which?", "choices": ["C", "B", "D", "A"], "gold": "A", "labels": ["A", "B", "C", "D"]}
    assert load_questions(jsonl(row))[0].gold == ("A",)
    one = {"question": "Which?", "choices": {"1": "3", "2": "1"}, "gold": 1}
    assert load_questions(jsonl(one))[0].gold == ("1",)


def indexed(*golds: object, options: int = 4) -> list[dict[str, Any]]:
    return [
        {"question": f"Which {i}?", "choices": ANIMALS[:options], "gold": gold}
        for i, gold in enumerate(golds)
    ]


def test_the_file_as_a_whole_says_where_an_index_begins(jsonl: Write) -> None:
    path = jsonl(*indexed(2, 0, "3"))
    assert [q.gold for q in load_questions(path)] == [("C",), ("A",), ("D",)]
    assert (1, "gold", "3 golds: read as indices from 0, since line 2 has a 0") in notes(path)
    path = jsonl(*indexed(2, 4, 1))
    assert [q.gold for q in load_questions(path)] == [("B",), ("D",), ("A",)]
    assert notes(path)[0][2].endswith("indices from 1, since line 2 has the number of its options")


def test_an_index_whose_base_the_file_hides_or_disputes_is_refused(jsonl: Write) -> None:
    assert messages(jsonl(*indexed(1, 2, 3))).count("no row of the file has a 0") == 3
    disputed = messages(jsonl(*indexed(1, 0, 4)))
    assert disputed.count("line 2 has a 0 and line 3 the number of its options") == 3


def test_the_field_gold_index_base_settles_an_index(jsonl: Write, csv_file: Write) -> None:
    rows = [row | {"gold_index_base": base} for row, base in zip(indexed(1, 1, 4), (0, "1", 1), strict=True)]
    assert [q.gold for q in load_questions(jsonl(*rows))] == [("B",), ("A",), ("D",)]
    path = csv_file('question,choices,gold,gold_index_base\nWhich?,"[""8"", ""1""]",1,0\n')
    assert load_questions(path)[0].gold == ("B",)
    (row,) = indexed(4)
    assert "expected an index from 0 to 3, got 4" in messages(jsonl(row | {"gold_index_base": 0}))
    assert "gold_index_base: expected 0 or 1, got '2'" in messages(jsonl(row | {"gold_index_base": 2}))


def test_numbers_among_options_are_texts_where_the_file_shows_it(jsonl: Write) -> None:
    texts = {"question": "6 + 11?", "choices": ["15", "16", "17"], "gold": 17}
    unclear = {"question": "1 + 1?", "choices": ["1", "2", "3"], "gold": 2}
    assert [q.gold for q in load_questions(jsonl(texts, unclear))] == [("C",), ("B",)]
    assert [q.gold for q in load_questions(jsonl(unclear, *indexed(0, 1)))] == [("C",), ("A",), ("B",)]
    assert "q.jsonl:3: gold: 2 may be the text or the index" in messages(jsonl(texts, *indexed(0), unclear))
    assert "q.jsonl:1: gold: 2 may be the text or the index" in messages(jsonl(unclear, *indexed(0)))


def test_several_golds(jsonl: Write) -> None:
    row = {"question": "Which?", "choices": ANIMALS, "gold": ["B", "hen", "(C)"]}
    assert load_questions(jsonl(row))[0].gold == ("B", "C")
    assert load_questions(jsonl({"question": "Sea?", "gold": ["Baltic", "Baltic Sea"]}))[0].gold == (
        "Baltic",
        "Baltic Sea",
    )


def test_text_in_brackets_is_a_list_only_where_lists_are_text(jsonl: Write, csv_file: Write) -> None:
    assert load_questions(jsonl({"question": "Interval?", "gold": "[2, 5]"}))[0].gold == ("[2, 5]",)
    assert load_questions(csv_file('question,gold\nWhich?,"[2, 5]"\n'))[0].gold == ("2", "5")


UNITS = [
    "18 apples",
    "$18",
    "18",
    "USD 18",
    "1,000 km",
    "5 km/h",
    "20 °C",
    "3.5kg",
    "50%",
    "2 cups of tea",
]


def test_numbers_with_units_are_numbers_where_all_golds_are(jsonl: Write) -> None:
    path = jsonl(*({"question": f"How many {i}?", "gold": gold} for i, gold in enumerate(UNITS)))
    questions = load_questions(path)
    assert {q.kind for q in questions} == {Kind.NUMBER}
    assert [q.gold[0] for q in questions] == UNITS
    assert any("numbers with a unit" in message for _, _, message in notes(path))
    task = load_file(path)
    assert task.grade(task.questions[0], "The answer is 18.").right
    assert not task.grade(task.questions[0], "The answer is 19 apples.").right


@pytest.mark.parametrize(
    "name", ["12 Monkeys", "7 Eleven", "5th", "8 am", "2001: A Space Odyssey", "4K", "1990s"]
)
def test_names_that_begin_with_a_number_stay_text(name: str, jsonl: Write) -> None:
    path = jsonl({"question": "a", "gold": name}, {"question": "b", "gold": "18"})
    assert [q.kind for q in load_questions(path)] == [Kind.TEXT, Kind.NUMBER]


def test_a_number_with_a_unit_among_texts_is_refused(jsonl: Write) -> None:
    path = jsonl({"question": "a", "gold": "18 apples"}, {"question": "b", "gold": "Paris"})
    assert (
        "q.jsonl:1: gold: '18 apples' may be a number with a unit or a text; add the field kind"
        in messages(path)
    )
    path = jsonl({"question": "a", "gold": "18 apples", "kind": "text"}, {"question": "b", "gold": "Paris"})
    assert [q.kind for q in load_questions(path)] == [Kind.TEXT, Kind.TEXT]


def test_the_answer_of_a_worked_gold_is_behind_its_hashes(jsonl: Write) -> None:
    path = jsonl({"question": "How many?", "answer": "She has 3 + 4 = <<3+4=7>>7 eggs.\n#### 1,007"})
    assert [(q.gold, q.kind) for q in load_questions(path)] == [(("1,007",), Kind.NUMBER)]
    assert any("behind ####" in message for _, _, message in notes(path))


@pytest.mark.parametrize(
    "value", ["NA", "007", "1e5", "3/4", "None", "nan", "true", "NULL", "1.0", "-0", "+1"]
)
def test_values_stay_as_written(value: str, jsonl: Write, csv_file: Write) -> None:
    assert load_questions(csv_file(f"question,gold\n{value}?,{value}\n"))[0].gold == (value,)
    assert load_questions(jsonl({"question": f"{value}?", "gold": value}))[0].gold == (value,)
    choices = [value, "other"]
    row = {"question": "Which?", "choices": choices, "gold": "A"}
    assert load_questions(jsonl(row))[0].choices == (value, "other")


# names


@pytest.mark.parametrize("question", ["problem", "prompt", "query", "input", "Question"])
@pytest.mark.parametrize("gold", ["answer", "target", "answerKey", "label", "Gold"])
def test_names_of_benchmarks_are_read_and_reported(question: str, gold: str, jsonl: Write) -> None:
    path = jsonl({question: "Which?", gold: "B", "options": ANIMALS, "question_id": 7, "category": "law"})
    (found,) = load_questions(path)
    assert (found.text.split("\n")[0], found.gold, found.id, found.subject) == ("Which?", ("B",), "7", "law")
    assert found.choices == tuple(ANIMALS)
    assert {(field, message) for _, field, message in notes(path)} == {
        (question, "read as the field question"),
        (gold, "read as the field gold"),
        ("options", "read as the field choices"),
        ("question_id", "read as the field id"),
        ("category", "read as the field subject"),
    }


def test_a_field_comes_before_its_aliases(jsonl: Write) -> None:
    path = jsonl({"question": "Which?", "prompt": "no", "gold": "x", "answer": "y", "label": 3})
    assert [(q.text, q.gold) for q in load_questions(path)] == [("Which?", ("x",))]
    assert {problem.field for problem in check_questions(path).warnings} == {"prompt", "answer", "label"}
    path = jsonl({"text": "Nice.", "label": "good", "input": "no"})
    assert [(q.text, q.gold) for q in load_questions(path)] == [("Nice.", ("good",))]


def test_two_aliases_that_differ_are_refused(jsonl: Write) -> None:
    path = jsonl({"question": "a", "answer": "x", "target": "y"})
    assert "q.jsonl:1: answer and target: may each be the gold, and they differ" in messages(path)
    assert load_questions(jsonl({"question": "a", "answer": "x", "target": "x", "label": None}))[0].gold == (
        "x",
    )


def test_errors_use_the_name_that_the_file_has(jsonl: Write) -> None:
    assert "q.jsonl:1: answerKey: is null or empty" in messages(jsonl({"problem": "a", "answerKey": None}))
    assert "q.jsonl:1: prompt: is empty" in messages(jsonl({"prompt": " ", "answer": "x"}))


def test_a_template_is_kept(jsonl: Write, csv_file: Write) -> None:
    assert load_questions(jsonl({"question": "a", "gold": "x", "template": "t1"}))[0].template == "t1"
    assert [q.template for q in load_questions(csv_file("question,gold,template\na,x,7\nb,y,\n"))] == [
        "7",
        "",
    ]
    question = Question("q", "a", Kind.TEXT, ("x",), template="t1")
    assert Question.from_json(question.to_json()) == question
    assert question.hash != Question("q", "a", Kind.TEXT, ("x",)).hash


def test_a_question_without_template_keeps_its_hash() -> None:
    full = Question("sea", "Which, 3 or 8?", Kind.CHOICE, ("A",), ("3", "8"), ("A", "B"), ("3", "8"), "sums")
    assert full.hash == "9a0073cd3ce5f2b9"
    assert Question("q", "2 + 2?", Kind.NUMBER, ("4",)).hash == "ceeff9ba5eba5d51"


# bad rows


def test_bad_rows_are_left_out_and_told_unless_strict(jsonl: Write) -> None:
    good = [{"question": f"{i} + 1?", "gold": i + 1} for i in range(20)]
    path = jsonl(*good[:5], {"question": "no gold"}, *good[5:], *({"question": f"b{i}"} for i in range(12)))
    task = load_file(path)
    assert len(task.questions) == 20
    head, *problems = task.warnings
    assert head == f"13 bad rows are left out of 33 rows of {path} (--strict refuses it)."
    assert problems[0] == f"{path}:6: gold: is missing; expected an answer"
    assert len(problems) == 11
    assert problems[-1] == "... and 3 more of this kind: missing gold"
    assert load_task(path, n=3).warnings == task.warnings
    assert load_task(path).hash == load_file(path).hash
    with pytest.raises(BadQuestions, match="13 errors in 33 rows"):
        load_file(path, strict=True)
    with pytest.raises(BadQuestions, match="13 errors in 33 rows"):
        load_task(path, strict=True)
    assert load_file(jsonl(*good), strict=True).warnings == ()


def test_a_file_with_more_than_half_bad_or_none_good_is_refused(jsonl: Write) -> None:
    good, bad = {"question": "a", "gold": 1}, {"question": "b"}
    assert len(load_file(jsonl(good, bad)).questions) == 1
    for rows in ([good, bad, {"question": "c"}], [bad]):
        with pytest.raises(BadQuestions, match="cannot be used"):
            load_file(jsonl(*rows))


def test_of_two_golds_for_one_question_neither_is_believed(jsonl: Write) -> None:
    rows = [
        {"question": q, "gold": g} for q, g in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 1), ("d", 5)]
    ]
    path = jsonl(*rows)
    assert [q.text for q in load_file(path).questions] == ["b", "c", "d"]
    assert [(p.line, p.rule) for p in check_questions(path).errors] == [
        (n, "contradiction") for n in (1, 3, 5)
    ]


def test_of_two_questions_with_one_id_the_first_is_kept(jsonl: Write) -> None:
    path = jsonl({"id": 1, "question": "a", "gold": 1}, {"id": "1", "question": "b", "gold": 2})
    assert [q.text for q in load_file(path).questions] == ["a"]


def test_lines_are_physical_after_quoted_line_breaks_and_bad_quotes(csv_file: Write) -> None:
    path = csv_file(
        'question,gold\r\n"two\r\nlines",x\r\n"say "hi"",y\r\n\r\n"three\r\n\r\nlines",z\r\n'
        'a,b,c\r\nlast\r\n"q",w\r\n'
    )
    assert [q.gold[0] for q in load_file(path).questions] == ["x", "z", "w"]
    assert [(p.line, p.rule) for p in check_questions(path).errors] == [
        (4, "csv"),
        (9, "fields"),
        (10, "fields"),
    ]


def test_a_quote_that_hides_where_rows_begin_ends_the_run(csv_file: Write) -> None:
    rows = "".join(f"q{i},a{i}\n" for i in range(20))
    never = csv_file(f'question,gold\n{rows}"open,x\n{rows}')
    with pytest.raises(BadQuestions, match=r"q.csv:22: file: .*a quote opens here and is never"):
        load_file(never)
    closed_late = csv_file(f'question,gold\n{rows}"open,x\n"r",y\n{rows}')
    with pytest.raises(BadQuestions, match=r"q.csv:22: file: is not valid CSV"):
        load_file(closed_late)


def test_a_long_cell_is_read(csv_file: Write) -> None:
    long = "word " * 60_000
    assert load_questions(csv_file(f"question,gold\n{long}?,x\n"))[0].text == f"{long}?"
