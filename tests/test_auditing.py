"""`audit`, `score` and `compare` as functions: what they ask, what they keep, and what they refuse."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import killed_run
import polars as pl
import pytest
import torch
from planted import planted

from interp.audited import AuditRun
from interp.errors import BadInput, RunError, RunLocked, RunMismatch, UnknownName, Unsupported
from interp.intervention import silence
from interp.jobs.auditing import AuditPlan, audit
from interp.jobs.comparing import compare
from interp.jobs.scoring import score
from interp.models.hooks import HooksModel
from interp.models.scripted import Scripted
from interp.procedure import Decoding, Procedure
from interp.question import Kind, Outcome, Question, Verdict
from interp.run import Run
from interp.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

QUESTIONS = tuple(Question(f"q{i:02}", f"{i} + 1 = ?", Kind.NUMBER, (str(i + 1),)) for i in range(12))
TASK = Task("sums", QUESTIONS, decoding=Decoding(max_new_tokens=40))
PLAN = AuditPlan(("sampling:4", "silencing"), batch_size=10)


def answer(text: str, procedure: Procedure, seed: int) -> str:
    """Right in one case of three; the seed counts only where draws are sampled."""
    drawn = 0 if procedure.decoding.is_greedy else seed
    digest = hashlib.sha256(f"{text}|{procedure.key}|{drawn}".encode()).digest()
    if digest[0] < 16:
        return ""
    return f"{int(text.split(maxsplit=1)[0]) + 1 + digest[1] % 3}, I think"


def scripted() -> Scripted:
    return Scripted(answer, n_layers=3)


@pytest.fixture(scope="module")
def guilty() -> tuple[HooksModel, Task]:
    """A real tiny model, and questions that it answers with its guilty block silenced."""
    return planted(killed_run.LAYER)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    """A finished run; no test may change it."""
    return audit(scripted(), TASK, out=tmp_path_factory.mktemp("whole") / "run", plan=PLAN)


def log_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "attempts.jsonl").read_text().splitlines()]


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, and the page, which names the directory."""
    names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    return {name: (path / name).read_bytes() for name in names if name not in (".lock", "index.html")}


# What it asks


def test_each_probe_asks_what_it_should_and_hits_are_made_again(whole: AuditRun) -> None:
    rows = log_of(whole.path)
    counts = {
        probe: sum(row["probe"] == probe for row in rows) for probe in ("deployed", "sampling", "silencing")
    }
    assert counts == {"deployed": 12, "sampling": 48, "silencing": 48}
    for name in ("sampling", "silencing"):
        again = {(r["question"], r["draw"]): r for r in rows if r["probe"] == f"replay {name}"}
        made = {(r["question"], r["draw"]): r for r in rows if r["probe"] == name}
        found = whole.found[name]
        first = {
            (question, hit + whole.probes[name].n_controls)
            for question, hit in found.select("question", "first_hit").iter_rows()
            if hit is not None
        }
        assert set(again) == first, "the first hit of each question, and no more, since each held"
        for key, row in again.items():
            same = ("seed", "procedure", "text", "outcome")
            assert {k: row[k] for k in same} == {k: made[key][k] for k in same}
        assert found["confirmed"].to_list() == [True if r else None for r in found["reachable"]]


def test_the_summary_is_that_of_the_tables(whole: AuditRun) -> None:
    found = json.loads((whole.path / "audit.json").read_text())
    table = whole.question_table()
    assert found["realized"] == pytest.approx(table["realized"].mean())
    assert found["states"] == {s: n for s in found["states"] for n in [int((table["state"] == s).sum())]}
    assert sum(found["states"].values()) == found["n_questions"] == 12
    by_name = {probe["probe"]["name"]: probe for probe in found["probes"]}
    for name, k in (("sampling", 4), ("silencing", 3)):
        assert by_name[name]["k"] == k
        assert by_name[name]["reach"] == pytest.approx(whole.found[name]["reachable"].mean())
        assert by_name[name]["confirmed"] == by_name[name]["reach"]
        assert by_name[name]["spent"]["n_attempts"] == 12 * k
    assert pl.read_csv(whole.path / "questions.csv").height == 12
    assert found["headline"] == found["sentences"][0]


def test_hits_that_hang_on_their_batch_are_not_confirmed(tmp_path: Path) -> None:
    """Every third question is right only in batches of ten."""

    class Shaky(Scripted):
        def generate(self, requests: Any, **options: Any) -> Any:
            for request, completion in zip(requests, super().generate(requests, **options), strict=True):
                number = int(request.text.split(maxsplit=1)[0])
                shaky = number % 3 == 0 and len(requests) == 10
                yield replace(completion, text=str(number + 1) if shaky or number % 3 == 1 else "0")

    run = audit(Shaky(answer, n_layers=3), TASK, out=tmp_path, plan=replace(PLAN, probes=("sampling:5",)))
    confirmed = dict(run.found["sampling"].select("question", "confirmed").iter_rows())
    for i, question in enumerate(QUESTIONS):
        assert confirmed[question.id] is (None, True, None)[i % 3] or (
            i % 3 == 0 and not confirmed[question.id]
        )
    reached = run.audit.probes[0]
    assert reached.reach == pytest.approx(8 / 12)
    assert reached.confirmed == pytest.approx(4 / 12)
    assert reached.n_unconfirmed == 4
    tries = [
        row for row in log_of(tmp_path) if row["probe"] == "replay sampling" and row["question"] == "q00"
    ]
    hits = [
        r
        for r in log_of(tmp_path)
        if (r["probe"], r["question"], r["outcome"]) == ("sampling", "q00", "right")
    ]
    assert len(tries) == len(hits), "every hit is tried before a question counts as unconfirmed"


def test_a_sampled_deployment_is_one_answer_by_its_rule(tmp_path: Path) -> None:
    task = replace(TASK, decoding=Decoding(max_new_tokens=40, temperature=0.7))
    plan = AuditPlan(("sampling:2",), rule="majority", n_draws=5)
    run = audit(scripted(), task, out=tmp_path, plan=plan)
    assert sum(row["probe"] == "deployed" for row in log_of(tmp_path)) == 60
    assert run.audit.spent.n_attempts == 60
    assert run.deployed.height == 12
    assert run.run.plan["procedure"]["decoding"]["temperature"] == 0.7
    assert run.probes["sampling"].about == "draws at temperature 0.7", (
        "as deployed, unless the line says more"
    )


def test_edits_of_the_deployment_are_in_every_attempt(tmp_path: Path) -> None:
    run = audit(scripted(), TASK, out=tmp_path, plan=replace(PLAN, interventions=(silence(2),)))
    for row in log_of(tmp_path):
        assert row["interventions"][0] == "L2.mlp_out*0"
    assert run.run.plan["procedure"]["interventions"] == ["L2.mlp_out*0"]


def test_answers_of_silenced_models_are_read_by_the_plain_one(
    guilty: tuple[HooksModel, Task], tmp_path: Path
) -> None:
    model, task = guilty
    task = replace(task, questions=task.questions[:6], decoding=Decoding(max_new_tokens=3))
    run = audit(model, task, out=tmp_path, plan=AuditPlan(("silencing",)))
    for row in run.attempts["silencing"].iter_rows(named=True):
        text = next(q.text for q in task.questions if q.id == row["question"])
        prompt = model.render(text, task.prompt).tokens
        logits = model.forward([*prompt, *row["tokens"]]).logits[0, len(prompt) - 1 : -1].detach()
        expected = logits.log_softmax(-1)[range(len(row["tokens"])), row["tokens"]].sum()
        assert row["plain_sum"] == pytest.approx(float(expected), abs=1e-3)
        assert row["plain_mean"] == pytest.approx(row["plain_sum"] / len(row["tokens"]), abs=1e-5)
    assert {"plain log-probability", "plain mean log-probability"} <= set(run.selectors()["selector"])
    written = (tmp_path / "rescored.parquet").read_bytes()
    audit(model, task, out=tmp_path, plan=AuditPlan(("silencing",)))
    assert (tmp_path / "rescored.parquet").read_bytes() == written


# Going on


def test_a_larger_budget_adds_draws_and_changes_none(whole: AuditRun, tmp_path: Path) -> None:
    grown = audit(scripted(), TASK, out=tmp_path / "grown", plan=replace(PLAN, probes=("sampling:2",)))
    before = (grown.path / "attempts.jsonl").read_bytes()
    grown = audit(scripted(), TASK, out=tmp_path / "grown", plan=PLAN)
    assert (grown.path / "attempts.jsonl").read_bytes().startswith(before)
    by_key = [
        {(row["probe"], row["question"], row["draw"]): row for row in log_of(run.path)}
        for run in (grown, whole)
    ]
    assert by_key[0] == by_key[1]
    for name in ("questions.csv", "reach.csv", "selectors.csv", "audit.json"):
        assert (grown.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_smaller_budget_or_no_probe_reads_all_that_is_there(whole: AuditRun, tmp_path: Path) -> None:
    out = tmp_path / "run"
    audit(scripted(), TASK, out=out, plan=PLAN)
    model = scripted()
    again = audit(model, TASK, out=out, plan=replace(PLAN, probes=("sampling:1",)))
    assert model.n_answers == 0
    assert contents(out) == contents(whole.path)
    assert again.probes["sampling"].budget == 4


def test_two_settings_of_a_probe_stand_side_by_side(tmp_path: Path) -> None:
    run = audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(("sampling:2", "sampling:3,temperature=1.5")))
    assert [*run.probes] == ["sampling", "sampling:temperature=1.5"]
    assert (tmp_path / "sampling_temperature_1.5.csv").exists()
    assert run.reach().group_by("probe").len().sort("probe")["len"].to_list() == [2, 3]


def test_killed_anywhere_it_goes_on_to_the_same_files(
    guilty: tuple[HooksModel, Task], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    torch.save(guilty, tmp_path / "planted.pt")
    program = [sys.executable, killed_run.__file__, str(tmp_path / "planted.pt"), str(out), "audit"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    places = [int(n) for n in done.stdout.split()]
    assert places == sorted(places)
    assert places[:3] == [15, 60, 105]
    assert not (out / "audit.json").exists()
    resumed = audit(*guilty, out=out, plan=killed_run.AUDIT_PLAN)
    unbroken = audit(*guilty, out=tmp_path / "whole", plan=killed_run.AUDIT_PLAN)
    assert contents(resumed.path) == contents(unbroken.path)


# What it refuses


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"rule": "best"}, "no rule 'best'"),
        ({"rule": "majority"}, "majority at least 2"),
        ({"n_draws": 3}, "first takes 1"),
        ({"seed": -1}, "0 or more"),
        ({"batch_size": 0}, "at least one row"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(words: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        AuditPlan(**words)


@pytest.mark.parametrize(
    ("plan", "error", "says"),
    [
        (AuditPlan(("samplin:4",)), UnknownName, "no probe 'samplin'.*Did you mean 'sampling'"),
        (AuditPlan(("sampling",)), BadInput, "no number of draws, for instance sampling:32"),
        (AuditPlan(("sampling:0",)), BadInput, "at least one draw"),
        (AuditPlan(rule="majority", n_draws=4), BadInput, "all the same"),
        (AuditPlan(clusters="template"), BadInput, "No question has a template"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_written(
    plan: AuditPlan, error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        audit(scripted(), TASK, out=tmp_path / "run", plan=plan)
    assert not (tmp_path / "run").exists()


def test_another_deployment_does_not_go_into_the_same_run(whole: AuditRun) -> None:
    before = contents(whole.path)
    with pytest.raises(RunMismatch, match=r"procedure\.interventions was absent"):
        audit(scripted(), TASK, out=whole.path, plan=replace(PLAN, interventions=(silence(0),)))
    assert contents(whole.path) == before


def test_a_backend_that_cannot_sample_says_so(tiny_model: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="load hooks:"):
        audit(tiny_model("nnsight:llama"), TASK, out=tmp_path / "run", plan=AuditPlan(("sampling:2",)))
    assert not (tmp_path / "run").exists()


# Scoring


def lenient(question: Question, text: str, finish: str) -> bool:
    """Takes any answer that ends in a certain way."""
    return text.endswith("think") and len(text) % 2 == 0


def failing(question: Question, text: str, finish: str) -> Verdict:
    raise ZeroDivisionError


def odd(question: Question, text: str, finish: str) -> Any:
    return "yes"


@pytest.fixture
def own(whole: AuditRun, tmp_path: Path) -> Path:
    """A run of its own for a test that changes it."""
    audit(scripted(), TASK, out=tmp_path / "own", plan=PLAN)
    return tmp_path / "own"


def test_the_same_grader_changes_nothing(own: Path) -> None:
    before = contents(own)
    run, changed = score(own)
    assert (changed, run.grader) == (0, TASK.grader)
    assert contents(own) == before


def test_another_grader_reads_the_texts_again_and_leaves_the_log(own: Path, whole: AuditRun) -> None:
    log = (own / "attempts.jsonl").read_bytes()
    run, changed = score(own, grader=lenient, name="lenient-1")
    rows = log_of(own)
    expected = [lenient(QUESTIONS[0], row["text"], "stop") for row in rows]
    assert (run.table["outcome"] == "right").to_list() == expected
    outcomes = ["right" if right else "wrong" for right in expected]
    assert changed == sum(new != row["outcome"] for new, row in zip(outcomes, rows, strict=True)) > 0
    assert (own / "attempts.jsonl").read_bytes() == log
    assert run.grader == "lenient-1"
    assert any("Read by grader lenient-1" in warning for warning in run.warnings)
    found = json.loads((own / "audit.json").read_text())
    assert found["realized"] == pytest.approx(sum(expected[:12]) / 12)
    once = contents(own)
    score(own, grader=lenient, name="lenient-1")
    assert contents(own) == once, "scoring again changes nothing"
    score(own)
    assert contents(own) == contents(whole.path), "the house's grader brings the run back"


def test_a_run_that_grew_since_must_be_scored_again(own: Path) -> None:
    score(own, grader=lenient)
    with pytest.raises(RunError, match=r"has \d+ attempts since. Score it again: interp score"):
        audit(scripted(), TASK, out=own, plan=replace(PLAN, probes=("sampling:6",)))
    run, _ = score(own, grader=f"{__name__}:lenient")
    assert run.probes["sampling"].budget == 6


def test_a_grader_that_fails_on_an_answer_makes_it_unreadable(own: Path) -> None:
    run, _ = score(own, grader=failing)
    assert set(run.table["outcome"]) == {Outcome.UNREADABLE}
    assert set(run.table["reason"]) == {"error"}
    with pytest.raises(BadInput, match=r"said 'yes' of question 'q00'"):
        score(own, grader=odd)


@pytest.mark.parametrize("line", ["nowhere.at_all:f", "json:nothing", "json", ":f", "math:pi"])
def test_a_grader_that_cannot_be_found_is_refused(own: Path, line: str) -> None:
    with pytest.raises(BadInput, match="module:function"):
        score(own, grader=line)


def test_a_run_that_is_being_written_cannot_be_scored(own: Path) -> None:
    with Run.reopen(own), pytest.raises(RunLocked):
        score(own)
    with Run.reopen(own) as run, pytest.raises(RunError, match="reading only"):
        run.append([replace(run.attempts[0], draw=99)])


# Comparing


@pytest.fixture(scope="module")
def silenced(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    plan = replace(PLAN, interventions=(silence(1),))
    return audit(scripted(), TASK, out=tmp_path_factory.mktemp("silenced") / "run", plan=plan)


def test_a_comparison_writes_what_changed(whole: AuditRun, silenced: AuditRun, tmp_path: Path) -> None:
    compared = compare(whole.path, [silenced.path], out=tmp_path)
    found = json.loads((tmp_path / "comparison.json").read_text())
    tables = [run.question_table() for run in (whole, silenced)]
    assert found["deployed"]["before"] == pytest.approx(tables[0]["realized"].mean())
    assert found["deployed"]["after"] == pytest.approx(tables[1]["realized"].mean())
    assert [c["name"] for c in found["ceilings"]] == ["sampling", "silencing", "reachable"]
    assert pl.read_csv(tmp_path / "flow.csv")["n"].sum() == 12
    assert compared.pages == [tmp_path / "index.html"]
    assert (tmp_path / "index.html").exists()


def test_several_comparisons_share_one_adjustment(
    whole: AuditRun, silenced: AuditRun, tmp_path: Path
) -> None:
    one = compare(whole.path, [silenced.path], out=tmp_path / "one").comparisons[0]
    two = compare(whole.path, [silenced.path, whole.path], out=tmp_path / "two")
    assert [page.relative_to(tmp_path / "two").as_posix() for page in two.pages] == [
        "1-run/index.html",
        "2-run/index.html",
    ]
    for alone, together in zip(one.changes, two.comparisons[0].changes, strict=True):
        assert together.p == alone.p
        assert together.p_holm >= alone.p_holm
    same = two.comparisons[1]
    assert (same.deployed.gained, same.deployed.lost, same.deployed.p) == (0, 0, 1.0)


def test_budgets_that_were_allowed_to_differ_are_read_at_the_smaller(
    whole: AuditRun, silenced: AuditRun, tmp_path: Path
) -> None:
    plan = replace(PLAN, probes=("sampling:2",))
    small = audit(scripted(), TASK, out=tmp_path / "small", plan=plan)
    with pytest.raises(
        RunMismatch, match=r"probes: silencing only in .*budget: sampling has 4 attempts, then 2"
    ):
        compare(whole.path, [small.path], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    compared = compare(whole.path, [small.path], out=tmp_path / "out", allow=("budget", "probes"))
    found = compared.comparisons[0]
    assert [(c.name, c.k, c.gained, c.lost) for c in found.ceilings] == [
        ("sampling", 2, 0, 0),
        ("reachable", 0, 0, 0),
    ]
    assert found.shrunk == found.expanded == 0, "the first two draws are the same draws"
    assert len(found.allowed) == 2


def test_a_comparison_does_not_go_into_a_run_and_needs_two(whole: AuditRun, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a run"):
        compare(whole.path, [whole.path], out=whole.path)
    with pytest.raises(BadInput, match="nothing to compare"):
        compare(whole.path, [], out=tmp_path)
    with pytest.raises(RunError, match="is no run"):
        compare(whole.path, [tmp_path], out=tmp_path / "out")


def test_reading_comparing_and_scoring_load_no_torch(
    whole: AuditRun, silenced: AuditRun, tmp_path: Path
) -> None:
    program = f"""
import sys
from interp.audited import AuditRun
from interp.jobs.comparing import compare
from interp.jobs.scoring import score
compare({str(whole.path)!r}, [{str(silenced.path)!r}], out={str(tmp_path)!r})
AuditRun.read({str(whole.path)!r}).figures.all()
print([name for name in ("torch", "transformers") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[]"
