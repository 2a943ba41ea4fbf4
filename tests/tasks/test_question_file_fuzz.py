"""Any question file gets a report: no row makes the reader fail, and what it calls usable can be graded."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadQuestions
from interp.question import Outcome, Reason
from interp.tasks.check import check_questions
from interp.tasks.files import load_file, load_questions, write_questions
from interp.tasks.grading import check_gold, grade
from interp.tasks.row_fields import ALIASES, FIELDS

OTHER_NAMES = ["A", "B", "C", "option_a", "option_b", "", *(a for group in ALIASES.values() for a in group)]
NAMES = st.sampled_from([*FIELDS, *OTHER_NAMES])
CELLS = st.one_of(
    st.sampled_from(
        ["A", "B", "b", "(B)", "B. y", "x", "y", "x x", "0", "1", "2", "3", "18 apples", "$18", "1e5", "NA",
         "#### 7", "1\n#### 7", "A. x\nB. y", "(A) x\n(B) y", '["x", "y"]', '{"A": "x", "B": "y"}', "[", "{",
         "[[]]", "choice", "number", "text", " ", ""]
    ),
    st.text(max_size=8),
)  # fmt: skip
NUMBERS = st.one_of(st.integers(-1, 5), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    st.one_of(CELLS, NUMBERS, st.none(), st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["A", "B", "C", "1", "2", "text", "label"]), inner, max_size=4),
    ),
    max_leaves=5,
)
OPTIONS = st.one_of(VALUES, st.just(["x", "y"]), st.just({"1": "x", "2": "y"}))
LIKELY = st.fixed_dictionaries(
    {"question": st.text(min_size=1, max_size=8), "gold": CELLS}, optional={"choices": OPTIONS, "kind": CELLS}
)
CHOICE = st.fixed_dictionaries(
    {
        "question": st.text(min_size=2, max_size=8),
        "gold": st.sampled_from(["A", "b", "(B)", "B. y", "x", "Y", "0", 1, "2", "3", ["A", "y"], "2. y"]),
        "choices": st.sampled_from(
            [["x", "y"], {"1": "x", "2": "y"}, "A. x\nB. y\nC. z", {"text": ["x", "1"], "label": ["A", "B"]}]
        ),
    },
    optional={"gold_index_base": st.sampled_from([0, "1", 2]), "text": CELLS},
)
ROWS = st.lists(st.one_of(st.dictionaries(NAMES, VALUES, max_size=6), LIKELY, CHOICE, CHOICE), max_size=8)
COLUMNS = st.lists(st.sampled_from(OTHER_NAMES), max_size=6, unique=True)


def sound(path: Path) -> None:
    report = check_questions(path)
    assert report.n_bad_rows <= report.n_rows
    assert len(report.questions) <= report.n_rows - report.n_bad_rows
    assert len({question.id for question in report.questions}) == len(report.questions)
    json.dumps(report.to_json())
    for question in report.questions:
        assert check_gold(question) is None
        assert grade(question, "The answer is 3.").reason is not Reason.ERROR
        if question.labels:
            assert grade(question, f"The answer is {question.gold[0]}.").outcome is Outcome.RIGHT
    if not report.usable_in_part:
        with pytest.raises(BadQuestions, match="cannot be used"):
            load_file(path)
        return
    task = load_file(path)
    assert task.questions == report.questions
    assert bool(task.warnings) == (not report.usable)
    again = path.with_name("again.jsonl")
    write_questions(again, task.questions)
    assert load_questions(again) == task.questions


@settings(max_examples=300, deadline=None)
@given(ROWS)
def test_any_objects(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sound(path)


@settings(max_examples=200, deadline=None)
@given(COLUMNS, st.data())
def test_any_cells(tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject) -> None:
    n = len(names) + 2
    cells = data.draw(st.lists(st.lists(CELLS, min_size=n - 1, max_size=n), max_size=8))
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    made = io.StringIO()
    csv.writer(made, lineterminator="\r\n").writerows([["question", "gold", *names], *cells])
    path.write_bytes(made.getvalue().encode("utf-8", "replace"))
    sound(path)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["jsonl", "csv", "parquet"]),
    st.one_of(
        st.binary(max_size=60), st.text('question,gold"\n\r\t;{}[]:1ab\ufeff ', max_size=60).map(str.encode)
    ),
)
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, suffix: str, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / f"bytes.{suffix}"
    path.write_bytes(b"question,gold\n" + data if suffix == "csv" else data)
    sound(path)
