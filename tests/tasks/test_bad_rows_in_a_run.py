"""Bad rows of a question file on the command line: shown, written into the run, refused by --strict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interp.jobs.localizing
import interp.models.load
from interp.errors import BadFailureSet
from interp.jobs.localizing import localize
from interp.models.tiny import tiny
from interp.tasks.task import Task

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "q.jsonl"
    rows: list[dict[str, Any]] = [{"question": f"{i} + 1?", "gold": i + 1} for i in range(9)]
    rows.insert(4, {"question": "No gold?", "gold": None})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_bad_rows_are_warned_of_and_strict_refuses_them(
    call: Call, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Task] = []

    def stop(_model: object, task: Task, **_: object) -> None:
        asked.append(task)
        raise BadFailureSet("enough")

    monkeypatch.setattr(interp.models.load, "load", lambda *_: None)
    monkeypatch.setattr(interp.jobs.localizing, "localize", stop)
    arguments = ("localize", "m", "--task", file, "--out", tmp_path / "run")
    code, _, err = call(*arguments)
    assert code == 2
    assert err.splitlines()[:2] == [
        f"Warning: 1 bad row is left out of 10 rows of {file} (--strict refuses it).",
        f"Warning: {file}:5: gold: is null or empty; expected an answer",
    ]
    assert [len(task.questions) for task in asked] == [9]
    code, _, err = call(*arguments, "--strict")
    assert code == 2
    assert err.startswith(
        f"interp: {file} cannot be used: 1 error in 10 rows. {file}:5: gold: is null or empty"
    )
    assert len(asked) == 1


def test_bad_rows_stand_in_the_plan_of_the_run(file: Path, tmp_path: Path) -> None:
    task = interp.load_task(str(file))
    with pytest.raises(BadFailureSet):  # a model of random weights answers nothing right
        localize(tiny("llama"), task, out=tmp_path / "run")
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["warnings"][:2] == list(task.warnings)
    assert len(task.warnings) == 2


def test_check_says_what_is_left_out_and_how_names_are_read(call: Call, file: Path, tmp_path: Path) -> None:
    code, out, err = call("check", file)
    assert (code, err) == (2, f"{file} cannot be used.\n")
    assert "1 errors:\n" in out
    assert "1 bad rows are left out of a run, unless --strict" in out
    other = tmp_path / "other.jsonl"
    other.write_text('{"problem": "1 + 1?", "answer": 2}\n')
    code, out, err = call("check", other)
    assert (code, err) == (0, "")
    assert f"2 notes:\n{other}:1: problem: read as the field question\n" in out
