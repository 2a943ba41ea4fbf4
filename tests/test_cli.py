"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from planted import planted

import interp.jobs.localizing
import interp.models.load
import interp.progress
import interp.tasks.cases
import interp.tasks.load
from interp import cli
from interp.errors import BadInput
from interp.tasks.load import TASKS

pytestmark = pytest.mark.usefixtures("one_thread")

CASES = Path(__file__).parent / "cases" / "grading.jsonl"
LOCALIZE = ("localize", "tiny:llama", "--task", "comparison", "--n", "40", "--failures", "not-right")

Call = Callable[..., tuple[int, str, str]]


def program(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interp", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **options)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(out: str) -> list[list[str]]:
    """Cells of every row of every table."""
    rows = [line for line in out.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]


# As a program: exit codes, one line, no traceback


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("localize", "tiny:llama", "--task", "comparisn"),
            "no task 'comparisn'. Did you mean 'comparison'?",
        ),
        (("localize", "tiny:llama", "--task", "empty.jsonl"), "empty.jsonl"),
        (
            ("localize", "tiny:llama", "--task", "capitals", "--scope", "sideways"),
            "--scope is one of prompt, decode, both, not 'sideways'.",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = program(*arguments, "--out", "run", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("interp: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not (tmp_path / "run").exists()


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    done = program("--help")
    assert done.returncode == 0
    for name in ("localize", "grade", "check", "tasks"):
        assert name in done.stdout
    listed = (
        "import sys, interp.cli; print([m for m in ('torch', 'transformers', 'polars') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", listed], text=True) == "[]\n"


def test_a_command_line_that_does_not_parse_is_exit_code_2() -> None:
    done = program("localize", "tiny:llama")
    assert done.returncode == 2
    assert "--task" in done.stderr
    assert "Traceback" not in done.stderr


# grade


def test_every_case_of_the_grader_gets_its_verdict(call: Call) -> None:
    code, out, err = call("grade", CASES)
    *rows, counts = map(json.loads, out.splitlines())
    assert (code, err) == (0, "")
    assert len(rows) == counts["rows"] == counts["expected"] == len(CASES.read_text().splitlines())
    assert counts["right"] + counts["wrong"] + counts["unreadable"] == counts["rows"]
    assert counts["differ"] == 0
    assert all(row["agrees"] for row in rows)


def test_a_verdict_that_differs_is_exit_code_1(call: Call, tmp_path: Path) -> None:
    good = {"id": "a", "kind": "number", "gold": "3", "text": "It is 3.", "verdict": "right"}
    bad = {"id": "b", "kind": "number", "gold": "3", "text": "It is 4.", "verdict": "right"}
    code, out, _ = call("grade", write(tmp_path / "cases.jsonl", good, bad))
    first, second, counts = map(json.loads, out.splitlines())
    assert code == 1
    assert (first["agrees"], second["agrees"]) == (True, False)
    assert (second["verdict"], second["answer"], second["expected"]["verdict"]) == ("wrong", "4", "right")
    assert (counts["rows"], counts["right"], counts["wrong"], counts["differ"]) == (2, 1, 1, 1)


def test_a_case_that_cannot_be_read_is_named(call: Call, tmp_path: Path) -> None:
    file = write(tmp_path / "cases.jsonl", {"kind": "number", "gold": "3", "text": "3"}, {"kind": "sum"})
    code, out, err = call("grade", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"interp: {file}, line 2: ")
    code, _, err = call("grade", tmp_path / "nowhere.jsonl")
    assert code == 2
    assert "nowhere.jsonl cannot be read: No such file or directory" in err


# check


def test_a_good_file_is_counted(call: Call, tmp_path: Path) -> None:
    rows = [
        {"id": f"q{i}", "question": f"What is {i} + 1?", "gold": i + 1, "subject": "sums"} for i in range(3)
    ]
    file = write(tmp_path / "good.jsonl", *rows, {"question": "Capital of Peru?", "gold": ["Lima"]})
    code, out, err = call("check", file)
    assert (code, err) == (0, "")
    assert out.startswith(f"{file}: 4 rows, 4 usable questions\n")
    assert "kinds: number 3, text 1" in out
    assert "subjects: sums 3, (none) 1" in out
    assert out.endswith("It can be used.\n")


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ([{"question": "a?", "gold": 1}, {"question": "b?", "gold": None}], 2, "gold"),
        ([{"question": "a?", "gold": 1}, {"question": "b?"}], 2, "gold"),
        ([{"question": "a?", "gold": ""}], 1, "gold"),
        (
            [{"id": "x", "question": "a?", "gold": 1}, {"id": "x", "question": "b?", "gold": 1}],
            2,
            "ids must be unique",
        ),
        ([{"question": "a?", "gold": 1}, {"question": "a?", "gold": 2}], 2, "another gold"),
        ([{"question": "a?", "gold": "many", "kind": "number"}], 1, "number"),
    ],
)
def test_a_bad_file_is_exit_code_2_with_file_and_line(
    rows: list[dict[str, Any]], line: int, says: str, call: Call, tmp_path: Path
) -> None:
    file = write(tmp_path / "bad.jsonl", *rows)
    code, out, err = call("check", file)
    assert code == 2
    named = [text for text in out.splitlines() if f"{file}:{line}: " in text]
    assert named
    assert says in named[0]
    assert err == f"{file} cannot be used.\n"


def test_a_file_that_is_empty_or_not_there_is_exit_code_2(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert call("check", tmp_path / "empty.jsonl")[0] == 2
    code, out, err = call("check", tmp_path / "nowhere.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("interp: ")
    assert "nowhere.jsonl" in err


# tasks


def test_every_task_is_listed_and_two_options_are_marked(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    code, out, err = call("tasks")
    assert (code, err) == (0, "")
    lines = {line.split()[1]: line for line in out.splitlines() if len(line.split()) > 2}
    for name, family in TASKS.items():
        assert ("[two options]" in lines[name]) is family.binary, name


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_the_signs_of_a_table_gets_escapes(encoding: str) -> None:
    command = [sys.executable, "-m", "interp", "tasks"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"comparison" in done.stdout


# localize


class Interrupter:
    """A watcher that stops the run once a stage is so far."""

    def __init__(self, at: tuple[str, int]) -> None:
        self.at = at

    def stage(self, name: str, total: int, done: int) -> None:  # noqa: ARG002
        if (name, done) == self.at:
            raise KeyboardInterrupt

    def rows(self, attempts: object) -> None:
        pass


def test_stopped_by_ctrl_c_it_says_how_to_go_on_and_goes_on(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out_dir = tmp_path / "my run"
    arguments = (*LOCALIZE, "--batch-size", "60", "--out", str(out_dir))

    @contextmanager
    def interrupted(running: object) -> Iterator[Interrupter]:
        yield Interrupter(("silencing", 120))

    with monkeypatch.context() as patch:
        patch.setattr(interp.progress, "watch", interrupted)
        code, out, err = call(*arguments)
    assert (code, out) == (130, "")
    said = err.splitlines()[-1]
    assert said.startswith("interp: stopped. Nothing is lost; to go on: interp localize tiny:llama ")
    assert shlex.split(said.partition("to go on: ")[2]) == ["interp", *arguments]
    log = out_dir / "attempts.jsonl"
    before = log.read_bytes()
    assert before.count(b"\n") == 40 + 120

    code, out, err = call(*arguments)
    assert code == 0
    assert log.read_bytes().startswith(before)
    with (out_dir / "repair.csv").open(newline="") as file:
        ranking = [row["layer"] for row in csv.DictReader(file)]
    assert [cells[0].split()[0] for cells in table(out)[:4]] == ranking
    found = json.loads((out_dir / "localization.json").read_text())
    assert f"{found['n_failures_asked']} failures, {found['n_successes_asked']} successes" in out
    words = " ".join(out.split())
    for sentence in found["sentences"]:
        assert sentence in words
    assert out.endswith(f"\nPage: {out_dir / 'index.html'}\n")
    n_failures, n_swept = found["n_failures_asked"], found["n_failures_asked"] + found["n_successes_asked"]
    assert f"silencing: {5 * n_swept} of {5 * n_swept}; block " in err
    assert f"\nattribution: {n_failures} of {n_failures}" in err


def test_the_guilty_block_and_the_missing_template_are_said(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, task = planted(2, chat_template=False)
    monkeypatch.setattr(interp.models.load, "load", lambda *_: model)
    monkeypatch.setattr(interp.tasks.load, "load_task", lambda *_, **__: task)
    code, out, _ = call("localize", "mine", "--task", "planted", "--max-failures", "12", "--out", tmp_path)
    assert code == 0
    first, *others = table(out)[:4]
    assert first[0].split() == ["2", "repairs", "and", "gains", "most"]
    assert first[1] == "1.00"
    assert "1.00" not in {cells[1] for cells in others}
    assert "Note: The tokenizer has no chat template, so questions are asked as plain text." in out
    assert "The block to silence is MLP 2" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--task", "comparison", "--n", "0"), "at least one question, got n=0"),
        (("--task", "comparison:ask=middle"), "is not a knob with a known value"),
        (("--task", "capitals", "--ablation", "half"), "--ablation is one of zero, mean, not 'half'"),
        (("--task", "capitals", "--template", "html"), "--template is one of chat, plain, not 'html'"),
        (("--task", "capitals", "--max-failures", "1"), "at least 2 failures"),
        (("--task", "capitals", "--batch-size", "-1"), "at least one row, got -1"),
        (("--task", "capitals", "--dtype", "int3"), "no dtype 'int3'"),
        (("--task", "nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_an_option_that_means_nothing_is_exit_code_2(
    arguments: tuple[str, ...], says: str, call: Call, tmp_path: Path
) -> None:
    code, out, err = call("localize", "nope", *arguments, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("interp: ")
    assert says in err
    assert not (tmp_path / "run").exists()


def test_unknown_models_are_refused_with_the_known_ones(call: Call, tmp_path: Path) -> None:
    for name, known in (("smolm2", "smollm2, tiny:llama"), ("tiny:lama", "Did you mean 'llama'?")):
        code, _, err = call("localize", name, "--task", "capitals", "--out", tmp_path / "run")
        assert code == 2
        assert known in err.splitlines()[-1]


def test_the_prompt_of_the_command_line_reaches_the_run(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: dict[str, Any] = {}

    def localized(model: object, task: object, **options: object) -> object:
        seen.update(task=task, **options)
        raise BadInput("far enough")

    monkeypatch.setattr(interp.models.load, "load", lambda *_: None)
    monkeypatch.setattr(interp.jobs.localizing, "localize", localized)
    shots = write(tmp_path / "shots.jsonl", {"question": "Capital of Atlantis?", "gold": ["Posy", "P"]})
    options = ("--system", "", "--answer-prefix", "It is ", "--template", "plain", "--examples", str(shots))
    more = ("--max-new-tokens", "3", "--scope", "prompt", "--max-failures", "0", "--seed", "4", "--n", "5")
    code, _, err = call("localize", "m", "--task", "capitals", *options, *more, "--out", tmp_path / "run")
    assert (code, err.splitlines()[-1]) == (2, "interp: far enough")
    prompt = seen["task"].prompt
    assert (prompt.system, prompt.answer_prefix, str(prompt.template)) == (None, "It is ", "plain")
    assert prompt.examples == (("Capital of Atlantis?", "Posy"),)
    assert seen["task"].decoding.max_new_tokens == 3
    assert len(seen["task"].questions) == 5
    plan = seen["plan"]
    assert (str(plan.scope), plan.max_failures, plan.seed, plan.batch_size) == ("prompt", None, 4, None)
    asked = {"question": seen["task"].questions[0].text, "gold": "x"}
    again = ("--examples", str(write(tmp_path / "asked.jsonl", asked)), "--seed", "4", "--n", "5")
    code, _, err = call("localize", "m", "--task", "capitals", *again, "--out", tmp_path / "run")
    assert code == 2
    assert "is also a question of the task" in err


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(file: Path) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(interp.tasks.cases, "grade_cases", broken)
    monkeypatch.setattr(sys, "argv", ["interp", "grade", "x.jsonl"])
    with pytest.raises(ValueError, match="a bug") as caught:
        cli.main()
    assert caught.traceback[-1].name == "broken"


# doctor and export


def test_doctor_prints_a_page_and_its_exit_code_says_whether_a_check_failed(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = call("doctor", "tiny:llama", "--no-backends")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["model", "tiny:llama,", "fingerprint", lines[0].split()[-1]]
    assert "\nok   additivity " in out
    assert lines[-1] == "18 checks passed, 0 failed."
    from interp.models import doctor

    monkeypatch.setattr(doctor, "limit_of", lambda _model: -1.0)
    code, out, _ = call("doctor", "tiny:llama", "--no-backends")
    assert code == 1
    assert "\nFAIL additivity " in out
    assert "-> The row of the architecture" in out


def test_doctor_speaks_json(call: Call) -> None:
    code, out, err = call("doctor", "tiny:gpt2", "--no-backends", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {"name", "passed", "value", "advice"} == set(rows[0])
    assert err.strip() == "18 checks passed, 0 failed."


def test_doctor_reports_a_model_that_cannot_be_loaded(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"x")
    code, out, _ = call("doctor", tmp_path)
    assert code == 1
    assert out.startswith("FAIL loads ")
    code, _, err = call("doctor", "lens:tiny:llama")
    assert code == 2
    assert "name 'tiny:llama'" in err
    assert call("doctor", "tiny:nope")[0] == 2


def test_export_writes_a_checkpoint_and_says_how_to_load_it(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, _ = call(
        "export", "tiny:llama", out, "--silence", "1", "--edit", "L2.mlp_out*0.5", "--route", "0-3,2"
    )
    assert code == 0
    assert said.splitlines()[0] == f"Written and compared: {out}"
    assert f'from_pretrained("{out}"' in said
    card = (out / "README.md").read_text()
    assert "`L1.mlp_out*0`, `L2.mlp_out*0.5`" in card
    assert "`0-3,2`" in card
    model = interp.models.load.load(out)
    assert model.n_layers == 5


def test_export_names_the_run_it_comes_from(call: Call, tmp_path: Path) -> None:
    model, task = planted(1)
    run = interp.jobs.localizing.localize(model, task, out=tmp_path / "run")
    code, _, _ = call("export", "tiny:llama", tmp_path / "out", "--silence", "1", "--run", run.path)
    assert code == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert run.localization.headline in card
    assert f"(`{model.name}`, {model.fingerprint})" in card  # another model than the one exported


def test_export_looks_at_the_folder_before_it_loads_a_model(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interp.models.load, "load", lambda *_: pytest.fail("loaded"))
    (tmp_path / "mine").write_text("")
    code, _, err = call("export", "tiny:llama", tmp_path, "--silence", "1")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "is not an empty folder" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "nothing to export"),
        (("--silence", "9"), "layers 0 to 3"),
        (("--edit", "L1.mlp_out*0@prompt"), "cannot be written into weights"),
        (("--edit", "L1.nope*0"), "is not a site"),
        (("--route", "0-9"), "names layer 4"),
        (("--route", "3-0"), "goes down"),
        (("--silence", "1", "--run", "nowhere"), "nowhere"),
    ],
)
def test_export_refuses_in_one_line(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    code, _, err = call("export", "tiny:llama", tmp_path / "out", *arguments)
    assert code == 2
    assert says in err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
