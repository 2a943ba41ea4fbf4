"""`audit` with probes over routes: what they ask, that they go on where they were, what is read of them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import killed_run
import polars as pl
import pytest
import torch
from planted import planted

from interp.audited import AuditRun
from interp.errors import BadInput, BadWord
from interp.jobs.auditing import AuditPlan, audit
from interp.models.scripted import Scripted
from interp.procedure import Decoding, Procedure
from interp.question import Kind, Question
from interp.route import Route
from interp.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

QUESTIONS = tuple(Question(f"q{i:02}", f"{i} + 1 = ?", Kind.NUMBER, (str(i + 1),)) for i in range(16))
TASK = Task("sums", QUESTIONS, decoding=Decoding(max_new_tokens=40))
N_LAYERS = 6
PROBES = (
    "random_routes:6",
    "cola:6",
    "greedy:2",
    "random_routes:6,like=cola",
    "cola:6,reward=random,rate=cola",
    "menu:2,from=random_routes",
)
NAMES = (
    "random_routes",
    "cola",
    "greedy",
    "random_routes:like=cola",
    "cola:reward=random,rate=cola",
    "menu:from=random_routes",
)
ORACLES = {"cola", "greedy", "menu:from=random_routes"}


def answer(text: str, procedure: Procedure, seed: int) -> str:
    """Right as deployed in one case of four, and on one route of six."""
    digest = hashlib.sha256(f"{text}|{procedure.route}".encode()).digest()
    return f"{int(text.split(maxsplit=1)[0]) + (0 if digest[0] % 6 else 1)}, I think"


def scripted() -> Scripted:
    return Scripted(answer, n_layers=N_LAYERS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    """A finished run; no test may change it."""
    return audit(scripted(), TASK, out=tmp_path_factory.mktemp("whole") / "run", plan=AuditPlan(PROBES))


def log_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "attempts.jsonl").read_text().splitlines()]


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, and the page, which names the directory."""
    names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    return {name: (path / name).read_bytes() for name in names if name not in (".lock", "index.html")}


def test_every_attempt_has_a_route_of_its_own_and_hits_hold(whole: AuditRun) -> None:
    assert tuple(whole.probes) == NAMES
    assert {name for name, probe in whole.probes.items() if probe.sees_verdicts} == ORACLES
    for name, rows in whole.attempts.items():
        assert rows["route"].null_count() == 0, name
        assert rows.select("question", "route").is_duplicated().sum() == 0, name
        assert rows["question"].n_unique() == len(QUESTIONS)
        assert whole.found[name]["confirmed"].drop_nulls().all()
        for line in rows["route"].unique():
            Route.parse(line).check(N_LAYERS)


def test_what_follows_another_probe_follows_its_log(whole: AuditRun) -> None:
    like, search = (whole.attempts[name] for name in ("random_routes:like=cola", "cola"))
    made = like.join(search, on=["question", "attempt"], how="left", suffix=" of cola")
    pairs = made.select("route", "route of cola").drop_nulls().rows()
    alike = [len(Route.parse(one).layers) == len(Route.parse(other).layers) for one, other in pairs]
    assert sum(alike) > 0.8 * len(alike), "those of which there is none left are drawn freely"
    assert "the same share as for cola" in whole.probes["cola:reward=random,rate=cola"].about


def test_a_search_is_set_against_what_knows_no_answer(whole: AuditRun) -> None:
    table = whole.contrast(0.2)
    blind = {name for name in NAMES if name not in ORACLES}
    assert set(table.select("search", "other").iter_rows()) == {(a, b) for a in ORACLES for b in blind}
    assert table.height == 2 * len(ORACLES) * len(blind)
    assert set(table["matched"]) == {"attempts", "layer-tokens"}
    for row in table.filter(matched="attempts").iter_rows(named=True):
        hits = [
            whole.attempts[row[side]]
            .filter(pl.col("attempt") < row["k"])
            .group_by("question")
            .agg(pl.col("right").any())
            for side in ("search", "other")
        ]
        assert row["reach"] == pytest.approx(hits[0]["right"].mean())
        assert row["reach_other"] == pytest.approx(hits[1]["right"].mean())
        assert row["k"] == min(whole.probes[row[side]].budget for side in ("search", "other"))
    written = pl.read_csv(whole.path / "contrast.csv")
    assert written.height == table.height
    assert set(written["margin"]) == {0.1}


def test_reach_for_layer_tokens_and_placement_have_a_row_a_probe(whole: AuditRun) -> None:
    anytime = whole.anytime()
    assert set(anytime["probe"]) == set(NAMES)
    assert dict(anytime.select("probe", "sees_verdicts").iter_rows()) == {n: n in ORACLES for n in NAMES}
    for rows in anytime.partition_by("probe"):
        assert rows["reach"].to_list() == sorted(rows["reach"].to_list())
    placement = whole.placement()
    assert placement.group_by("probe").len()["len"].to_list() == [N_LAYERS] * len(NAMES)
    assert placement.filter(probe="greedy")["repeated"].sum() == 0, "greedy only leaves layers out"
    assert "anytime_curve" in whole.figures.all()
    figure = whole.figures.placement_chart("cola", "cola:reward=random,rate=cola")
    assert [trace.type for trace in figure.data] == ["bar", "scatter"] * 2


def test_the_page_tells_oracles_and_what_they_are_set_against(whole: AuditRun) -> None:
    page = (whole.path / "index.html").read_text()
    assert "Search against routes that know no answer" in page
    assert "cola (oracle)" in page
    assert "contrast.csv" in page
    words = json.loads((whole.path / "audit.json").read_text())["sentences"]
    assert any(line.startswith("cola is an oracle probe") for line in words)
    assert not any(line.startswith("random_routes is an oracle probe") for line in words)


def test_without_a_search_nothing_is_set_against_anything(tmp_path: Path) -> None:
    run = audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(("random_routes:3", "sampling:2")))
    assert run.search_pairs == []
    assert (run.contrast().height, run.anytime().height) == (0, 0)
    assert not (tmp_path / "contrast.csv").exists()
    assert "anytime_curve" not in run.figures.all()
    assert "Search against" not in (tmp_path / "index.html").read_text()


def test_a_larger_budget_of_a_search_adds_routes_and_changes_none(whole: AuditRun, tmp_path: Path) -> None:
    small = ("random_routes:3", "cola:2", "greedy:1")
    audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(small))
    before = (tmp_path / "attempts.jsonl").read_bytes()
    grown = audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(PROBES))
    assert (grown.path / "attempts.jsonl").read_bytes().startswith(before)
    by_key = [
        {(row["probe"], row["question"], row["draw"]): row for row in log_of(run.path)}
        for run in (grown, whole)
    ]
    assert by_key[0] == by_key[1]
    for name in ("questions.csv", "reach.csv", "selectors.csv", "contrast.csv", "audit.json"):
        assert (grown.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_asked_again_nothing_is_asked(whole: AuditRun, tmp_path: Path) -> None:
    audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(PROBES))
    model = scripted()
    audit(model, TASK, out=tmp_path, plan=AuditPlan(PROBES))
    assert model.n_answers == 0
    assert contents(tmp_path) == contents(whole.path)


def test_searches_killed_anywhere_go_on_to_the_same_files(tmp_path: Path) -> None:
    guilty = planted(killed_run.LAYER)
    out = tmp_path / "run"
    torch.save(guilty, tmp_path / "planted.pt")
    program = [sys.executable, killed_run.__file__, str(tmp_path / "planted.pt"), str(out), "routes"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    places = [int(n) for n in done.stdout.split()]
    assert places == sorted(places)
    assert len(set(places)) == len(killed_run.ROUTES_PLACES)
    assert not (out / "audit.json").exists()
    resumed = audit(*guilty, out=out, plan=killed_run.ROUTES_PLAN)
    unbroken = audit(*guilty, out=tmp_path / "whole", plan=killed_run.ROUTES_PLAN)
    assert contents(resumed.path) == contents(unbroken.path)


def test_a_deployed_route_is_in_every_attempt_but_those_on_routes_of_their_own(tmp_path: Path) -> None:
    plan = AuditPlan(("sampling:2", "random_routes:2"), route=Route.parse("0-3,3-5"))
    audit(scripted(), TASK, out=tmp_path, plan=plan)
    routes = {
        probe: {r["route"] for r in log_of(tmp_path) if r["probe"] == probe}
        for probe in ("deployed", "sampling", "random_routes")
    }
    assert routes["deployed"] == routes["sampling"] == {"0-3,3-5"}
    assert len(routes["random_routes"]) > 2


@pytest.mark.parametrize(
    ("plan", "error", "says"),
    [
        (
            AuditPlan(("random_routes:3,like=cola",)),
            BadInput,
            "needs the routes of 'cola'.*Name that probe first",
        ),
        (AuditPlan(("random_routes:3,like=cola", "cola:3")), BadInput, "Name that probe first"),
        (AuditPlan(("cola:2", "random_routes:3,like=cola")), BadInput, "as many routes of 'cola'.*has 2"),
        (AuditPlan(("cola:0",)), BadInput, "0"),
        (AuditPlan(route=Route((0, 6))), BadWord, "6"),
        (AuditPlan(route=Route((0,) * 25)), BadWord, "25"),
    ],
)
def test_routes_that_cannot_be_asked_are_refused_before_anything_is_written(
    plan: AuditPlan, error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        audit(scripted(), TASK, out=tmp_path / "run", plan=plan)
    assert not (tmp_path / "run").exists()


def test_a_probe_that_another_follows_may_grow_after_it(tmp_path: Path) -> None:
    """What followed the smaller log stays as it was, and only adds rows."""
    first = ("cola:2", "random_routes:2,like=cola", "cola:2,reward=random,rate=cola")
    audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(first))
    before = {tuple(row[k] for k in ("probe", "question", "draw")): row for row in log_of(tmp_path)}
    grown = tuple(line.replace(":2", ":6") for line in first)
    run = audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(grown))
    after = {tuple(row[k] for k in ("probe", "question", "draw")): row for row in log_of(tmp_path)}
    assert before == {key: after[key] for key in before}
    assert all(probe.budget == 6 for probe in run.probes.values())


def test_what_followed_a_smaller_log_stays_as_it_was(tmp_path: Path) -> None:
    followers = ("random_routes:2,like=cola", "cola:4,reward=random,rate=cola", "menu:3,from=cola")
    audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(("cola:2", *followers)))
    before = log_of(tmp_path)
    grown = audit(scripted(), TASK, out=tmp_path, plan=AuditPlan(("cola:6",)))
    after = log_of(tmp_path)
    assert after[: len(before)] == before
    assert {row["probe"] for row in after[len(before) :]} <= {"cola", "replay cola"}
    assert grown.probes["menu:from=cola"].n_followed == 2
    assert grown.probes["cola"].budget == 6
