"""A log with any value in any place is read or refused in one line; nothing else escapes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput
from interp.imports.imported import Imported
from interp.imports.inspect_file import open_log
from interp.imports.inspect_log import read_inspect
from interp.imports.lm_eval import read_lm_eval
from interp.question import Attempt, Question

LOGS = Path(__file__).parent / "logs"


def rows_of(task: str) -> list[Any]:
    lines = next((LOGS / "lm-eval").glob(f"samples_{task}_*")).read_text().splitlines()
    return [json.loads(line) for line in lines[:3]]


ROWS = {task: rows_of(task) for task in ("sums_each", "capitals")}
RESULTS = json.loads(next((LOGS / "lm-eval").glob("results_*")).read_text())
_OPENED = open_log(LOGS / "inspect-ai" / "sums.eval")
INSPECT = {**_OPENED.header, "samples": [dict(sample.value) for sample in _OPENED.samples[:4]]}

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just({"a": [1]}),
    st.just(["x", None]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value within a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, item in items for place in places(item, (*path, key))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    value = copy.deepcopy(value)
    node = value
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = new
    return value


def check(reader: Callable[[], Imported], path: Path) -> None:
    """What was read can be stored: all of it goes through JSON and back. What was refused names the file."""
    refused = ""
    try:
        read = reader()
    except BadInput as error:
        refused = str(error)
    if refused:
        assert str(path) in refused
        assert "\n" not in refused
        return
    json.dumps(read.plan, allow_nan=False)
    json.dumps(read.environment, allow_nan=False)
    for row in read.attempts:
        assert Attempt.from_json(json.loads(json.dumps(row.to_json()))) == row
        row.text.encode()
    for question in read.questions:
        assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question


@pytest.mark.parametrize("task", list(ROWS))
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_lm_eval(tmp_path_factory: pytest.TempPathFactory, task: str, data: st.DataObject):
    place = data.draw(st.sampled_from(places(ROWS[task])))
    rows = replaced(ROWS[task], place, data.draw(VALUES))
    path = tmp_path_factory.mktemp("logs") / f"samples_{task}_2026-01-02T03-04-05.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    check(lambda: read_lm_eval([path]), path)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_lm_evals_results(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    place = data.draw(st.sampled_from(places(RESULTS)))
    folder = tmp_path_factory.mktemp("logs")
    path = folder / "samples_capitals_2026-01-02T03-04-05.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS["capitals"])))
    changed = replaced(RESULTS, place, data.draw(VALUES))
    (folder / "results_2026-01-02T03-04-05.json").write_text(json.dumps(changed))
    check(lambda: read_lm_eval([path]), path)


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_inspect(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    place = data.draw(st.sampled_from(places(INSPECT)))
    path = tmp_path_factory.mktemp("logs") / "log.json"
    path.write_text(json.dumps(replaced(INSPECT, place, data.draw(VALUES))))
    check(lambda: read_inspect(path), path)
