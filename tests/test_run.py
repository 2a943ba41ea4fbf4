"""The run directory: made once, compared, locked, and never torn."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import scripted_task
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from scripted_task import ENVIRONMENT, PLAN, QUESTIONS, open_run, some_rows

import interp.disk
import interp.log
from interp.errors import BadQuestions, RunDamaged, RunError, RunLocked, RunMismatch, RunUnwritable
from interp.log import table_schema
from interp.question import FailureSet, TokenScores
from interp.run import Run

FAILURES = FailureSet("wrong", 1, ("q01", "q02"), ("q03", "q04"), 2, 5, 7)


def child(*arguments: object) -> subprocess.Popen[str]:
    program = [sys.executable, scripted_task.__file__, *map(str, arguments)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, text=True)


def test_a_new_run_holds_what_it_was_given(tmp_path: Path) -> None:
    with open_run(tmp_path / "a" / "run") as run:
        run.append(some_rows(3))
    read = Run.read(tmp_path / "a" / "run")
    assert read.plan == PLAN
    assert read.questions == QUESTIONS
    assert read.environment == ENVIRONMENT
    assert read.environment_changes == {}
    assert read.seed == 5
    assert read.attempts == some_rows(3)


def test_what_was_read_cannot_be_written(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    read = Run.read(tmp_path)
    with pytest.raises(RunError, match="reading only"):
        read.append(some_rows(1))
    with pytest.raises(RunError, match="reading only"):
        read.write_text("index.html", "")


def test_rows_survive_any_text(tmp_path: Path) -> None:
    texts = ["", "\n", "\r\n\u2028\x85\x0b", "\ud800", "\x00", '"\\', "é日本"]
    rows = [replace(row, text=text) for row, text in zip(some_rows(len(texts)), texts, strict=True)]
    with open_run(tmp_path) as run:
        run.append(rows)
    assert Run.read(tmp_path).attempts == rows
    assert (tmp_path / "attempts.jsonl").read_text().splitlines() == [
        json.dumps(row.to_json()) for row in rows
    ]


def test_a_row_is_written_once(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(2))
        with pytest.raises(ValueError, match="already"):
            run.append(some_rows(3)[1:])
        with pytest.raises(ValueError, match="already"):
            run.append([*some_rows(3)[2:], *some_rows(3)[2:]])
        assert run.attempts == some_rows(2)
    assert Run.read(tmp_path).attempts == some_rows(2)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"model": {"name": "other", "layers": 3}}, 'model.name was "scripted", now "other"'),
        ({"task": None}, 'task was "sums", now null'),
        ({"extra": {"scope": ("a", "b")}}, 'extra.scope was absent, now ["a", "b"]'),
        ({"model": "scripted"}, 'model was absent, now "scripted"'),
    ],
)
def test_another_plan_is_refused_by_name(tmp_path: Path, plan: dict[str, object], message: str) -> None:
    open_run(tmp_path).close()
    with pytest.raises(RunMismatch) as caught:
        open_run(tmp_path, plan=PLAN | plan)
    assert message in str(caught.value)
    open_run(tmp_path).close()


def test_every_difference_is_listed_and_long_values_show_where_they_part(tmp_path: Path) -> None:
    long = "You answer questions. " * 20
    open_run(tmp_path, plan=PLAN | {"system": long + "Briefly."}).close()
    with pytest.raises(RunMismatch) as caught:
        open_run(tmp_path, plan={"model": {"name": "scripted"}, "seed": 6, "system": long + "At length."})
    message = str(caught.value)
    for part in ("model.layers was 3, now absent", "seed was 5, now 6", "task was", "Briefly.", "At length."):
        assert part in message
    assert len(message) < 600


def test_a_plan_is_compared_as_it_reads_back(tmp_path: Path) -> None:
    plan = {"ids": ("a", "b"), "by_layer": {1: 2}}
    open_run(tmp_path, plan=plan).close()
    with open_run(tmp_path, plan=plan) as run:
        assert run.plan == {"ids": ["a", "b"], "by_layer": {"1": 2}}


def test_questions_are_compared_by_id_and_content(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    before = (tmp_path / "questions.jsonl").read_bytes()
    edited = (*QUESTIONS[:3], replace(QUESTIONS[3], text="3 + 2 = ?"), *QUESTIONS[4:])
    with pytest.raises(RunMismatch, match=r"'q03' was edited .*text was .3 \+ 1 = \?., now .3 \+ 2"):
        open_run(tmp_path, questions=edited)
    with pytest.raises(RunMismatch, match="'q00' is missing; question 'q99' is new"):
        open_run(tmp_path, questions=(*QUESTIONS[1:], replace(QUESTIONS[0], id="q99")))
    with pytest.raises(RunMismatch, match="another order"):
        open_run(tmp_path, questions=QUESTIONS[::-1])
    with pytest.raises(RunMismatch, match="'q04' is missing; 8 more are missing"):
        open_run(tmp_path, questions=())
    assert (tmp_path / "questions.jsonl").read_bytes() == before


def test_one_id_stands_for_one_question(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match="'q00'"):
        open_run(tmp_path / "run", questions=(*QUESTIONS, QUESTIONS[0]))
    assert not (tmp_path / "run").exists()


def test_another_environment_is_recorded_not_refused(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    for _ in range(2):
        with open_run(tmp_path, environment={"versions": {"torch": "2.14.0"}, "device": "cpu"}) as run:
            assert run.environment == ENVIRONMENT
            assert run.environment_changes == {
                "versions.torch": ("2.13.0", "2.14.0"),
                "device": (None, "cpu"),
            }
    stored = json.loads((tmp_path / "environment.json").read_text())
    assert stored["versions"] == {"torch": "2.13.0"}
    assert len(stored["resumed_with"]) == 1
    assert Run.read(tmp_path).environment_changes["versions.torch"] == ("2.13.0", "2.14.0")


def test_a_directory_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text("mine")
    with pytest.raises(RunError, match="is no run"):
        open_run(tmp_path)
    with pytest.raises(RunError, match="is no run"):
        Run.read(tmp_path)
    with pytest.raises(RunError, match="is a file"):
        open_run(tmp_path / "questions.jsonl")
    with pytest.raises(RunError, match="cannot be a run directory"):
        open_run(tmp_path / ("x" * 300))
    assert [path.name for path in tmp_path.iterdir()] == ["questions.jsonl"]
    assert (tmp_path / "questions.jsonl").read_text() == "mine"


@pytest.mark.parametrize("n_files", [0, 1, 2])
def test_a_run_killed_while_it_was_made_is_made_again(tmp_path: Path, n_files: int) -> None:
    (tmp_path / ".lock").write_text("99999")
    for name in ["questions.jsonl", "environment.json"][:n_files]:
        (tmp_path / name).write_text("old")
    (tmp_path / ".plan.json.tmp").write_text("{")
    with open_run(tmp_path) as run:
        assert run.questions == QUESTIONS
    assert {path.name for path in tmp_path.iterdir()} == {
        ".lock",
        "plan.json",
        "questions.jsonl",
        "environment.json",
        "attempts.jsonl",
    }


def test_a_second_opening_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        with pytest.raises(RunLocked, match=f"pid {os.getpid()}"):
            open_run(tmp_path)
        run.append(some_rows(1))
        assert Run.read(tmp_path).attempts == some_rows(1)
    open_run(tmp_path).close()


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    process = child(tmp_path, "hold", 0)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(RunLocked, match=f"pid {process.pid}"):
            open_run(tmp_path)
    finally:
        process.kill()
        process.communicate()
    open_run(tmp_path).close()


def test_a_refused_opening_leaves_the_run_unlocked_and_untouched(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(2))
    with (tmp_path / "attempts.jsonl").open("ab") as log:
        log.write(b'{"torn')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != ".lock"}
    with pytest.raises(RunMismatch):
        open_run(tmp_path, plan=PLAN | {"seed": 9})
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != ".lock"}
    open_run(tmp_path).close()


def test_a_last_line_torn_at_any_byte_is_cut_off(tmp_path: Path) -> None:
    rows = some_rows(3, text="é\n")
    with open_run(tmp_path) as run:
        run.append(rows)
    log = tmp_path / "attempts.jsonl"
    whole = log.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole)):
        log.write_bytes(whole[:end])
        assert Run.read(tmp_path).attempts == rows[:2]
        assert log.read_bytes() == whole[:end]
        with open_run(tmp_path) as run:
            assert log.read_bytes() == whole[:start]
            run.append(rows[2:])
        assert log.read_bytes() == whole


@pytest.mark.parametrize("tail", [b"\x00\x00\x00\n", b'{"question": "q0\n', b"\xff\xfe\n", b"\n"])
def test_a_last_line_that_does_not_parse_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(2))
    log = tmp_path / "attempts.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + tail)
    with open_run(tmp_path) as run:
        assert run.attempts == some_rows(2)
    assert log.read_bytes() == whole


@pytest.mark.parametrize("line", [b"\x00\x00", b"[]", b'{"question": "q00"}', b""])
def test_a_damaged_line_before_the_last_is_named(tmp_path: Path, line: bytes) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(3))
    log = tmp_path / "attempts.jsonl"
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([lines[0], line, *lines[2:]]))
    for reading in (
        lambda: Run.read(tmp_path).attempts,
        Run.read(tmp_path).table,
        lambda: open_run(tmp_path),
    ):
        with pytest.raises(RunDamaged, match="line 2"):
            reading()
    log.write_bytes(b"\n".join([lines[0], line, lines[2][:20]]))
    with pytest.raises(RunDamaged, match="line 2"):
        open_run(tmp_path)
    log.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    with open_run(tmp_path) as run:
        assert run.attempts == [some_rows(3)[0], some_rows(3)[2]]


def test_a_row_that_stands_twice_counts_once_unless_it_differs(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(2))
    log = tmp_path / "attempts.jsonl"
    first = log.read_bytes().split(b"\n")[0]
    with log.open("ab") as end:
        end.write(first + b"\n")
    assert Run.read(tmp_path).attempts == some_rows(2)
    assert Run.read(tmp_path).table()["draw"].to_list() == [0, 1]
    with log.open("ab") as end:
        end.write(first.replace(b"apples", b"pears") + b"\n")
    for reading in (lambda: Run.read(tmp_path).attempts, Run.read(tmp_path).table):
        with pytest.raises(RunDamaged, match=r"line 4.*second, different row"):
            reading()


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from interp.errors import RunUnwritable
from scripted_task import open_run, some_rows
run = open_run(Path(sys.argv[1]))
run.append(some_rows(2))
log = run.path / "attempts.jsonl"
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 700, hard))
for write in (lambda: run.append(some_rows(9)[2:]), lambda: run.write_text("index.html", "x" * 9000)):
    try:
        write()
    except RunUnwritable as error:
        print(error)
    assert len(run.attempts) == 2 and log.read_bytes().count(b"\\n") == 2
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
run.append(some_rows(9)[2:])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "run")],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(scripted_task.__file__).parent)},
    )
    log, page = done.stdout.splitlines()
    assert "Nothing was lost but the batch in flight: the 2 rows before it stand" in log
    assert "start the same command again" in log
    assert "index.html cannot be written" in page
    assert Run.read(tmp_path / "run").attempts == some_rows(9)
    assert not (tmp_path / "run" / "index.html").exists()
    assert not list((tmp_path / "run").glob("*.tmp"))


def test_files_are_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_run(tmp_path) as run:
        run.write_text("figures/a.html", "old")

        def full(handle: int, data: bytes) -> None:
            os.write(handle, data[:2])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(interp.disk, "write_all", full)
        with pytest.raises(RunUnwritable, match="No space left on device"):
            run.write_text("figures/a.html", "new and longer")
        assert [path.read_text() for path in (tmp_path / "figures").iterdir()] == ["old"]


def test_an_interrupt_inside_a_write_drops_that_batch_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int, data: bytes) -> None:
        os.write(handle, data[:-3])
        raise KeyboardInterrupt

    with open_run(tmp_path) as run:
        run.append(some_rows(2))
        with monkeypatch.context() as patch:
            patch.setattr(interp.log, "write_all", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run.append(some_rows(4)[2:])
        assert Run.read(tmp_path).attempts == run.attempts == some_rows(2)
        run.append(some_rows(4)[2:])
    assert Run.read(tmp_path).attempts == some_rows(4)


def test_a_short_write_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with open_run(tmp_path) as run:
        monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:7]))
        run.append(some_rows(3))
        run.write_text("note.txt", "twenty characters ok")
        monkeypatch.undo()
    assert Run.read(tmp_path).attempts == some_rows(3)
    assert (tmp_path / "note.txt").read_text() == "twenty characters ok"


def test_a_folder_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(RunUnwritable, match=r"run cannot be written .Permission denied"):
        open_run(tmp_path / "run")


def test_the_failure_set_is_frozen(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        assert run.failure_set is None
        run.freeze(FAILURES)
        stored = (tmp_path / "failure_set.json").read_bytes()
        run.freeze(FAILURES)
        with pytest.raises(RunMismatch, match=r'failures was \["q01", "q02"\], now \["q01", "q05"\]'):
            run.freeze(replace(FAILURES, failures=("q01", "q05")))
        assert (tmp_path / "failure_set.json").read_bytes() == stored
    assert Run.read(tmp_path).failure_set == FAILURES
    value = json.loads(stored)
    assert value["hash"] == FAILURES.hash
    assert value["halves"] == [sorted(half) for half in FAILURES.halves]


def test_an_edited_failure_set_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.freeze(FAILURES)
        value = run.read_json("failure_set.json")
        run.write_json("failure_set.json", value | {"failures": ["q01"]})
        with pytest.raises(RunDamaged, match="was edited"):
            run.freeze(FAILURES)
        run.write_json("failure_set.json", ["q01"])
        with pytest.raises(RunDamaged, match="no failure set"):
            _ = run.failure_set


def test_json_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        with pytest.raises(RunError, match=r"verdict.json is not there"):
            run.read_json("verdict.json")
        run.write_text("verdict.json", "{")
        with pytest.raises(RunDamaged, match=r"verdict.json cannot be read back"):
            run.read_json("verdict.json")
        with pytest.raises(ValueError, match="not JSON compliant"):
            run.write_json("verdict.json", {"p": float("nan")})
    for name, pattern in (("plan.json", "plan.json"), ("questions.jsonl", "questions.jsonl")):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(b"{")
        with pytest.raises(RunDamaged, match=pattern):
            open_run(tmp_path)
        (tmp_path / name).write_bytes(whole)
    open_run(tmp_path).close()


def test_tables_read_back_and_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    table = pl.DataFrame({"block": [0, 1, 2], "repair": [0.1 + 0.2, 1e-17, None], "name": ["a,b", "é", None]})
    with open_run(tmp_path) as run:
        path = run.write_table("repair.csv", table)
        first = path.read_bytes()
        run.write_table("repair.csv", table)
        assert path.read_bytes() == first
        assert pl.read_csv(path).equals(table)
        assert pl.read_parquet(run.write_parquet("repair.parquet", table)).equals(table)
    assert first.splitlines()[1] == b'0,0.30000000000000004,"a,b"'


class LogMachine(RuleBasedStateMachine):
    """Whatever happens to a log, it holds the rows of the appends that returned, and no others."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.run = open_run(Path(self.folder.name))
        self.rows = some_rows(0)
        self.n_made = 0

    def teardown(self) -> None:
        self.run.close()
        self.folder.cleanup()

    def next_rows(self, n: int) -> list:
        self.n_made += n
        return some_rows(self.n_made)[self.n_made - n :]

    @rule(n=st.integers(0, 4))
    def append(self, n: int) -> None:
        rows = self.next_rows(n)
        self.run.append(rows)
        self.rows += rows

    @rule(n=st.integers(1, 4), n_bytes=st.integers(0, 900))
    def disk_is_full(self, n: int, n_bytes: int) -> None:
        def full(handle: int, data: bytes) -> None:
            os.write(handle, data[:n_bytes])
            raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interp.log, "write_all", full)
            with pytest.raises(RunUnwritable):
                self.run.append(self.next_rows(n))

    @rule(n=st.integers(1, 3), n_bytes=st.integers(0, 1500))
    def killed_inside_a_write(self, n: int, n_bytes: int) -> None:
        rows = self.next_rows(n)
        lines = [json.dumps(row.to_json()) + "\n" for row in rows]
        data = "".join(lines)[:n_bytes]
        self.run.close()
        with (self.run.path / "attempts.jsonl").open("a") as log:
            log.write(data)
        self.rows += rows[: data.count("\n")]
        self.run = open_run(self.run.path)

    @rule()
    def reopen(self) -> None:
        self.run.close()
        self.run = open_run(self.run.path)

    @invariant()
    def the_log_is_whole(self) -> None:
        assert self.run.attempts == self.rows
        assert Run.read(self.run.path).attempts == self.rows


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)


def test_the_log_as_a_table_holds_what_the_rows_hold(tmp_path: Path) -> None:
    scores = TokenScores((-0.5, -1.25), (0.1, 0.2), (0.3, 0.4), (2.0, 3.0), (4.0, 5.0), (0, 3))
    plain = [replace(row, span=None, reason=None) for row in some_rows(3)]
    marked = {"scores": scores, "route": "0-1", "tie_margin": 0.5}
    rows = [replace(row, **marked) if row.draw else row for row in plain]
    with open_run(tmp_path) as run:
        assert run.table().schema == pl.Schema(table_schema()), "a log without a row has the same columns"
        run.append(rows)
    table = Run.read(tmp_path).table()
    assert table.schema == pl.Schema(table_schema())
    missing = dict.fromkeys(marked)
    written = [missing | row.to_json() for row in rows]
    assert table.to_dicts() == json.loads(json.dumps(written))
    with (tmp_path / "attempts.jsonl").open("ab") as end:
        end.write(b'{"question": "torn')
    assert Run.read(tmp_path).table().equals(table)
    assert Run.read(tmp_path).attempts == rows


def test_a_half_of_a_surrogate_pair_does_not_stop_the_table(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.append(some_rows(2, text="a \ud83d"))
    assert [text[:2] + text[3:] for text in Run.read(tmp_path).table()["text"]] == ["a  0", "a  1"]
