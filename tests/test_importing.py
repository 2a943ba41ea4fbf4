"""Logs of other packages as runs: read, scored and compared like any audit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from interp.audited import AuditRun
from interp.errors import BadInput, UnknownName
from interp.jobs.comparing import compare
from interp.jobs.importing import import_log
from interp.jobs.scoring import score

LOGS = Path(__file__).parent / "imports" / "logs"
EACH = next((LOGS / "lm-eval").glob("samples_sums_each_*.jsonl"))
FIRST = next((LOGS / "lm-eval").glob("samples_sums_first_*.jsonl"))
SUMS = LOGS / "inspect-ai" / "sums.eval"


def contents(path: Path) -> dict[str, bytes]:
    names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    return {name: (path / name).read_bytes() for name in names if name != ".lock"}


@pytest.mark.parametrize(("source", "file"), [("lm-eval", EACH), ("inspect", SUMS)])
def test_a_log_becomes_an_audit_and_importing_it_again_changes_nothing(
    source: str, file: Path, tmp_path: Path
) -> None:
    run = import_log(source, [file], out=tmp_path / "run")
    found = run.found["sampling"]
    assert run.audit.n_questions == found.height
    n = run.probes["sampling"].n_draws
    assert set(found["n"]) == {n}
    assert run.reach()["k"].to_list() == list(range(1, n + 1))
    for row, deployed in zip(found.iter_rows(named=True), run.deployed["right"], strict=True):
        assert row["reachable"] >= deployed, "the deployed answer is the first draw, so reach contains it"
    assert run.audit.probes[0].confirmed is None, "a log cannot be made again"
    assert set(run.selectors()["selector"]) == {"a random attempt", "majority", "override"}
    before = contents(tmp_path / "run")
    import_log(source, [file], out=tmp_path / "run")
    assert contents(tmp_path / "run") == before
    command = f"interp import {source} {file} --out {tmp_path / 'run'}"
    assert command in (tmp_path / "run" / "index.html").read_text()


def test_imported_answers_can_be_scored_by_this_package(tmp_path: Path) -> None:
    import_log("inspect", [SUMS], out=tmp_path / "run")
    run, changed = score(tmp_path / "run")
    assert run.grader != AuditRun.read(tmp_path / "run").run.plan["task"]["grader"]
    assert 0 <= changed < run.table.height


def test_two_imported_logs_are_compared_and_another_task_is_not(tmp_path: Path) -> None:
    one, same = (import_log("lm-eval", [EACH], out=tmp_path / name) for name in ("one", "same"))
    found = compare(one, [same], out=tmp_path / "compared").comparisons[0]
    assert (found.deployed.gained, found.deployed.lost) == (0, 0)
    other = import_log("inspect", [SUMS], out=tmp_path / "other")
    with pytest.raises(Exception, match=r"are not matched.*questions: "):
        compare(one, [other], out=tmp_path / "out")


def test_what_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(UnknownName, match="no source of logs 'helm'"):
        import_log("helm", [EACH], out=out)
    with pytest.raises(BadInput, match="no file to import"):
        import_log("lm-eval", [], out=out)
    with pytest.raises(BadInput, match="one file, got 2"):
        import_log("inspect", [SUMS, SUMS], out=out)
    with pytest.raises(BadInput, match="strict-match"):
        import_log("lm-eval", [FIRST], out=out)
    assert not out.exists()


def test_the_command_tells_what_it_found_and_what_an_option_is_for(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    code, said, _ = call("import", "lm-eval", FIRST, "--filter", "strict-match", "--out", out)
    assert code == 0
    assert json.loads((out / "audit.json").read_text())["headline"] in " ".join(said.split())
    code, _, err = call("import", "inspect", SUMS, "--metric", "acc", "--out", tmp_path / "other")
    assert (code, err) == (2, "interp: --metric is no option of inspect; it has --scorer, --threshold.\n")
