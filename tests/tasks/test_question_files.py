"""Question files: what loads, how values keep their spelling, and every way a file can be wrong."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput, BadQuestions
from interp.question import Kind, Question
from interp.tasks.check import check_questions
from interp.tasks.files import load_file, load_questions, write_questions
from interp.tasks.grading import check_gold
from interp.tasks.load import load_task


@pytest.fixture
def write(tmp_path: Path):
    def to(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to


def rows(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def test_jsonl_with_every_field(write) -> None:
    path = write(
        "q.jsonl",
        rows(
            {"question": "2 + 2?", "gold": 4},
            {"question": "Sea?", "gold": ["Baltic", "Baltic Sea"], "id": "sea", "subject": "geography"},
            {"question": "Red?", "gold": "B", "choices": ["sky", "blood", "7"]},
            {"question": "Which, 3 or 8?", "gold": "3", "candidates": [3, "8"], "kind": "number"},
            {"question": "One?", "gold": 1, "choices": ["x", "y"], "labels": [1, 2]},
        ),
    )
    two, sea, red, which, one = load_questions(path)
    assert (two.kind, two.gold) == (Kind.NUMBER, ("4",))
    assert (sea.id, sea.kind, sea.gold, sea.subject) == (
        "sea",
        Kind.TEXT,
        ("Baltic", "Baltic Sea"),
        "geography",
    )
    assert (red.kind, red.gold, red.labels) == (Kind.CHOICE, ("B",), ("A", "B", "C"))
    assert red.candidates == ("A", "B", "C")
    assert red.text == "Red?\nA. sky\nB. blood\nC. 7"
    assert which.candidates == ("3", "8")
    assert (one.labels, one.gold, one.text) == (("1", "2"), ("1",), "One?\n1. x\n2. y")


def test_csv_values_stay_text(write) -> None:
    golds = ["007", "1e5", "3/4", "NA", "null", "True", " padded ", "-3", "1,000", "1,5"]
    body = "".join(f'"Line {i}?","{gold}"\r\n' for i, gold in enumerate(golds))
    questions = load_questions(write("q.csv", "\ufeffquestion,gold\r\n" + body))
    assert [q.gold[0] for q in questions] == golds
    kinds = {q.gold[0]: q.kind for q in questions}
    assert {g for g, k in kinds.items() if k is Kind.NUMBER} == {"007", "1e5", "3/4", "-3", "1,000"}


def test_json_numbers_keep_their_spelling(write) -> None:
    lines = [
        f'{{"question": "q{i}", "gold": {n}}}'
        for i, n in enumerate(["1e5", "0.10", "-7", "12345678901234567890"])
    ]
    path = write("q.jsonl", "\n".join(lines))
    assert [q.gold[0] for q in load_questions(path)] == ["1e5", "0.10", "-7", "12345678901234567890"]


def test_csv_with_choices_alternatives_and_line_breaks(write) -> None:
    path = write(
        "q.csv",
        "id,question,gold,choices\n"
        'x,"Two\nlines?",A,"[""3"", 8]"\n'
        "\n"
        'y,Capital?,"[""Kyiv"", ""Kiev""]",\n'
        "z,Odd?,[x,\n",
    )
    first, second, third = load_questions(path)
    assert (first.text, first.choices) == ("Two\nlines?\nA. 3\nB. 8", ("3", "8"))
    assert second.gold == ("Kyiv", "Kiev")
    assert third.gold == ("[x",)


def test_a_byte_order_mark_crlf_and_odd_characters_do_no_harm(write) -> None:
    odd = "zero\x00 bell\x07 \u2028 line \u202e rtl \U0001f600?"
    path = write("q.jsonl", "\ufeff" + rows({"question": odd, "gold": "π"}).replace("\n", "\r\n") + "\r\n")
    (question,) = load_questions(path)
    assert question.text == odd


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    pl.DataFrame(
        {
            "question": ["a?", "b?", "c?"],
            "gold": ["A", "C", "B"],
            "choices": [["x", "y"], ["x", "y", "z"], ["1", "2"]],
        }
    ).write_parquet(path)
    assert [(q.gold[0], len(q.choices)) for q in load_questions(path)] == [("A", 2), ("C", 3), ("B", 2)]
    pl.DataFrame({"question": ["a?", "b?"], "gold": [3, -4]}).write_parquet(path)
    assert [(q.gold, q.kind) for q in load_questions(path)] == [(("3",), Kind.NUMBER), (("-4",), Kind.NUMBER)]
    pl.DataFrame({"question": ["a?"], "gold": [Decimal("0.10")]}).write_parquet(path)
    assert load_questions(path)[0].gold == ("0.10",)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("q.jsonl", "", ["q.jsonl: file: is empty"]),
        ("q.jsonl", "\n \n", ["q.jsonl: file: is empty"]),
        ("q.csv", "question,gold\n", ["q.csv: file: has no rows; expected one question a row"]),
        (
            "q.jsonl",
            '{"question": "a"\n',
            ["q.jsonl:1: row: is not valid JSON", "expected one object a line"],
        ),
        ("q.jsonl", '\n\n{"question": "a", "gold": NaN}', ["q.jsonl:3: row:", "NaN is not JSON"]),
        ("q.jsonl", "[" * 100_000, ["q.jsonl:1: row: is not valid JSON"]),
        ("q.jsonl", '["a", "b"]', ["q.jsonl:1: row: expected an object", "got a list"]),
        ("q.jsonl", "7", ["got a number"]),
        ("q.jsonl", rows({"question": "a"}), ["q.jsonl:1: gold: is missing; expected an answer"]),
        ("q.jsonl", rows({"question": "a", "gold": None}), ["q.jsonl:1: gold: is null or empty"]),
        ("q.jsonl", rows({"question": "a", "gold": []}), ["q.jsonl:1: gold: is null or empty"]),
        ("q.jsonl", rows({"question": "a", "gold": " "}), ["q.jsonl:1: gold: is empty"]),
        (
            "q.jsonl",
            rows({"question": "a", "gold": ["x", None]}),
            ["1: gold: expected text or a number, got null in"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": True}),
            ["1: gold: expected text, a number", "got true or false"],
        ),
        ("q.jsonl", rows({"question": "a", "gold": {"x": 1}}), ["gold: expected text", "got an object"]),
        (
            "q.jsonl",
            rows({"question": "a", "text": "b", "gold": "x"}),
            ["q.jsonl:1: text: expected either question or text, not both"],
        ),
        ("q.jsonl", rows({"gold": "x"}), ["q.jsonl:1: question: is missing; expected text"]),
        ("q.jsonl", rows({"question": "", "gold": "x"}), ["q.jsonl:1: question: is empty"]),
        ("q.jsonl", rows({"question": 5, "gold": "x"}), ["q.jsonl:1: question: expected text, got a number"]),
        ("q.jsonl", '{"question": "\\ud800", "gold": "x"}', ["1: question:", "not valid Unicode"]),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "twelve", "kind": "number"}),
            ["1: gold: 'twelve' cannot be read"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": ["2", "x"], "kind": "number"}),
            ["1: gold: 'x' cannot be read as"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "x", "kind": "letter"}),
            ["kind: expected number, choice, text"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "A", "kind": "choice"}),
            ["choices: expected at least two"],
        ),
        ("q.jsonl", rows({"question": "a", "gold": "A", "choices": ["x"]}), ["at least two options, got 1"]),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "C", "choices": ["x", "y"]}),
            ["gold: expected one of the labels A, B"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "z", "choices": ["x", "y"]}),
            ["gold: expected one of the labels A, B, an option's text or \"B. text\", got 'z'"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "A", "choices": "x"}),
            ["choices: expected a list such as", "got text"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "A", "choices": ["x", "y"], "labels": ["A"]}),
            ["labels: expected 2, one an option, got 1"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "A", "choices": ["x", "y"], "labels": ["A", "A"]}),
            ["labels: expected different labels"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "x", "choices": ["x", "y"], "kind": "text"}),
            ["choices: belong to a question of kind choice"],
        ),
        (
            "q.jsonl",
            rows({"question": "a", "gold": "x", "id": "1"}, {"question": "b", "gold": "x", "id": 1}),
            ["q.jsonl:2: id: '1' already stands on line 1"],
        ),
        ("q.jsonl", rows({"question": "a", "gold": "x", "id": ["1"]}), ["id: expected text, got a list"]),
        (
            "q.jsonl",
            rows(
                {"question": "a", "gold": "x"}, {"question": "b", "gold": "z"}, {"question": "a", "gold": "y"}
            ),
            ["q.jsonl:3: question: is the question of line 1 with another gold ('y', there 'x')"],
        ),
        (
            "q.jsonl",
            rows(
                {"question": "a", "gold": 1, "kind": "text"}, {"question": "a", "gold": "1", "kind": "number"}
            ),
            ["q.jsonl:2: question: is the question of line 1 with another gold"],
        ),
        (
            "q.csv",
            "question;gold\na;b\n",
            ["q.csv:1: file:", "with semicolons in it; separate them with commas"],
        ),
        ("q.csv", "question,reply\na,b\n", ["q.csv:1: file: the header lacks gold; it has question, reply"]),
        ("q.csv", "question,gold,gold\na,b,c\n", ["the header names the column 'gold' twice"]),
        (
            "q.csv",
            'question,gold\n"a\nb",x\nc\n',
            ["q.csv:4: row: expected 2 fields (question, gold), got 1"],
        ),
        (
            "q.csv",
            "question,gold\na,b,c\n",
            ["q.csv:2: row: expected 2 fields", "quote a field that holds a comma"],
        ),
        ("q.csv", 'question,gold\r\n"a\r\nb",x\r\nc,\r\n', ["q.csv:4: gold: is null or empty"]),
        ("q.csv", 'question,gold\na,"b\n', ["q.csv:2: file: is not valid CSV (a quote opens here"]),
        ("q.csv", "question\tgold\na\tb\n", ["q.csv:1: file:", "with tabs in it"]),
        ("q.csv", 'question,gold\na,b\n"c"x,d\n', ["q.csv:3: row: is not valid CSV"]),
        ("q.jsonl", '{"question": "a", "gold": 1, "gold": 2}', ["1: row:", "the key 'gold' stands twice"]),
        (
            "q.jsonl",
            b'{"question": "a", "gold": "x"}\n{"question": "\xe9"}',
            ["q.jsonl:2: file: byte 0xe9 is not UTF-8"],
        ),
        ("q.csv", "question,gold\na,b\n".encode("utf-16"), ["is UTF-16; save it as UTF-8"]),
        ("q.parquet", b"not parquet at all", ["q.parquet: file: is not valid Parquet"]),
    ],
)
def test_what_is_wrong_is_named(write, name: str, content: str | bytes, parts: list[str]) -> None:
    path = write(name, content)
    with pytest.raises(BadQuestions) as caught:
        load_questions(path)
    assert all(part in str(caught.value) for part in parts), caught.value
    assert not check_questions(path).usable


def test_parquet_rows_are_named_by_number(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    pl.DataFrame({"question": ["a?", "b?"], "gold": [1.5, float("nan")]}).write_parquet(path)
    with pytest.raises(BadQuestions, match=r"q.parquet:row 2: gold: is null or empty"):
        load_questions(path)


def test_all_problems_come_together_at_most_ten_of_a_kind(write) -> None:
    bad = [{"question": f"q{i}", "gold": None} for i in range(13)]
    path = write(
        "q.jsonl", rows(*bad, {"question": "", "gold": "x", "kind": "letter"}, {"question": "ok", "gold": 1})
    )
    with pytest.raises(BadQuestions) as caught:
        load_questions(path)
    message = str(caught.value)
    assert "15 errors in 15 rows" in message
    assert message.count("gold: is null") == 10
    assert "q.jsonl:10: gold" in message
    assert "q.jsonl:11: gold" not in message
    assert "... and 3 more of this kind: missing gold" in message
    assert "q.jsonl:14: question" in message
    assert "q.jsonl:14: kind" in message


def test_the_report_counts(write) -> None:
    path = write(
        "q.jsonl",
        rows(
            {"question": "a", "gold": 1, "subject": "sums"},
            {"question": "b", "gold": "1", "subject": "sums", "source": "book"},
            {"question": "c", "gold": "red"},
            {"question": "a", "gold": 1},
        ),
    )
    report = check_questions(path)
    assert report.usable
    assert (report.n_rows, len(report.questions)) == (4, 3)
    assert report.kinds == {"number": 2, "text": 1}
    assert report.golds == {"1": 2, "red": 1}
    assert report.subjects == {"sums": 2, "": 1}
    assert [(p.line, p.rule) for p in report.warnings] == [
        (None, "mixed kinds"),
        (2, "unknown field"),
        (4, "repeated question"),
    ]
    assert json.loads(json.dumps(report.to_json()))["usable"] is True
    assert len(load_questions(path)) == 3


def test_ids_follow_the_text_not_the_place(write) -> None:
    one = load_questions(write("a.jsonl", rows({"question": "a", "gold": 1}, {"question": "b", "gold": 2})))
    two = load_questions(write("b.jsonl", rows({"question": "b", "gold": 2}, {"question": "a", "gold": 1})))
    assert {q.id for q in one} == {q.id for q in two}
    assert len({q.id for q in one}) == 2


@pytest.mark.parametrize("name", ["missing.jsonl", "folder/q.csv", "data.json"])
def test_a_file_that_is_not_there_or_of_no_known_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*(missing\.jsonl|q\.csv)|must end in \.jsonl"):
        load_task(str(tmp_path / name))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").mkdir()
    with pytest.raises(BadInput, match="Cannot read"):
        load_task(str(tmp_path / "q.jsonl"))


def test_a_file_as_a_task(write) -> None:
    path = write("q.jsonl", rows(*({"question": f"{i} + 1?", "gold": i + 1} for i in range(20))))
    task = load_task(str(path))
    assert [q.gold[0] for q in task.questions] == [str(i + 1) for i in range(20)]
    assert (task.name, task.binary) == (str(path), False)
    assert (task.prompt.answer_prefix, task.decoding.stop, task.decoding.max_new_tokens) == (
        "The answer is ",
        ("\n",),
        32,
    )
    assert task.grade(task.questions[0], "1.", "stop").right
    first = load_task(str(path), n=10, seed=0).questions
    assert load_task(str(path), n=4, seed=0).questions == first[:4]
    assert {q.id for q in first}.isdisjoint(q.id for q in load_task(str(path), n=10, seed=1).questions)
    assert {q.id for q in load_task(str(path), n=20, seed=1).questions} == {q.id for q in task.questions}
    with pytest.raises(BadInput, match="has only 20 different questions, not 21"):
        load_task(str(path), n=21)


def test_a_file_of_two_answers_is_marked(write) -> None:
    path = write(
        "q.csv", "question,gold\n" + "".join(f"q{i},{'yes' if i % 3 else 'no'}\n" for i in range(12))
    )
    assert load_file(path).binary


LINE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda s: s.strip() != ""
)
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8).filter(lambda s: s not in ("an", "the"))


@st.composite
def question_lists(draw: st.DrawFn) -> list[Question]:
    made: list[Question] = []
    for i, text in enumerate(draw(st.lists(LINE, min_size=1, max_size=6, unique=True))):
        kind = draw(st.sampled_from(Kind))
        choices = (
            tuple(draw(st.lists(WORD, min_size=2, max_size=5, unique=True))) if kind is Kind.CHOICE else ()
        )
        labels = tuple("ABCDE"[: len(choices)])
        golds = {
            Kind.NUMBER: st.integers().map(str),
            Kind.CHOICE: st.sampled_from(labels or ("A",)),
            Kind.TEXT: WORD,
        }[kind]
        gold = tuple(draw(st.lists(golds, min_size=1, max_size=2, unique=True)))
        subject = draw(st.just("") | LINE)
        candidates = tuple(draw(st.lists(WORD, max_size=2)))
        made.append(Question(f"{i}/{draw(WORD)}", text, kind, gold, choices, labels, candidates, subject))
    return made


@settings(max_examples=50, deadline=None)
@given(question_lists())
def test_written_questions_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, questions
) -> None:
    assert all(check_gold(q) is None for q in questions)
    path = tmp_path_factory.mktemp("roundtrip") / "q.jsonl"
    write_questions(path, questions)
    assert load_questions(path) == tuple(questions)


def test_the_questions_of_a_task_come_back_as_they_were(tmp_path: Path) -> None:
    for name in ("comparison", "two_option", "yes_no", "capitals", "gsm"):
        questions = load_task(name, n=8).questions
        write_questions(tmp_path / "q.jsonl", questions)
        assert load_questions(tmp_path / "q.jsonl") == questions


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Cannot write"):
        write_questions(tmp_path / "no" / "q.jsonl", [])


def test_one_gold_in_two_spellings_is_no_contradiction(write) -> None:
    content = rows({"question": "a", "gold": 1}, {"question": "a", "gold": "1.0"})
    report = check_questions(write("q.jsonl", content))
    assert report.usable
    assert [problem.rule for problem in report.warnings] == ["repeated question"]
    assert [question.gold for question in report.questions] == [("1",)]
