"""`localize` with a race end to end: what it finds, saves, writes and says; how it goes on after a stop."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import killed_run
import polars as pl
import pytest
import torch
from planted import planted

import interp.models.load
import interp.tasks.load
from interp.errors import RunMismatch
from interp.jobs.localizing import LocalizePlan, localize
from interp.localized import LocalizeRun
from interp.localizers.localization import Finding
from interp.models.hooks import HooksModel
from interp.probes.race import RaceRule
from interp.question import Attempt
from interp.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

N_LAYERS = 4
LAYER = killed_run.LAYER
Guilty = Callable[[int], tuple[HooksModel, Task]]


@pytest.fixture(scope="module")
def guilty() -> Guilty:
    """Model and task by guilty layer, made once."""
    return cache(planted)


@pytest.fixture(scope="module")
def raced(guilty: Guilty, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], LocalizeRun]:
    """A finished race by guilty layer, made once; no test may change it."""

    @cache
    def run(layer: int) -> LocalizeRun:
        out = tmp_path_factory.mktemp("raced") / str(layer)
        return localize(*guilty(layer), out=out, plan=killed_run.RACE_PLAN)

    return run


@pytest.fixture(scope="module")
def full(guilty: Guilty, tmp_path_factory: pytest.TempPathFactory) -> LocalizeRun:
    """The full sweep on the same questions."""
    out = tmp_path_factory.mktemp("full") / "run"
    return localize(*guilty(LAYER), out=out, plan=replace(killed_run.RACE_PLAN, race=False))


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, and the page, which names the directory."""
    names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    return {name: (path / name).read_bytes() for name in names if name not in (".lock", "index.html")}


@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_the_guilty_block_is_named(raced: Callable[[int], LocalizeRun], layer: int) -> None:
    run = raced(layer)
    found = run.localization
    assert found.finding is Finding.REPAIRS
    assert f"MLP {layer}" in found.headline
    for best in (found.best_repair, found.best_net_gain):
        assert (best.layer, best.repair.value, best.retention.value) == (layer, 1.0, 1.0)
    assert found.held_out_repair.layers == found.held_out_net_gain.layers == (layer,)
    assert found.p_max_repair < 0.05
    assert found.raced is not None
    assert found.raced.dropped
    swept = [row for row in run.run.attempts if row.probe == "silencing"]
    assert len(swept) == found.raced.n_rows < found.raced.n_rows_full


def test_its_rows_are_those_of_the_full_sweep(raced: Callable[[int], LocalizeRun], full: LocalizeRun) -> None:
    def words(row: Attempt) -> tuple[object, ...]:
        return (*row.key, row.procedure, row.interventions, row.seed, row.tokens, row.text, row.outcome)

    swept = {words(row) for row in raced(LAYER).run.attempts}
    assert swept < {words(row) for row in full.run.attempts}
    assert raced(LAYER).failure_set == full.failure_set
    best, own = full.localization, raced(LAYER).localization
    assert (own.best_repair, own.best_net_gain) == (best.best_repair, best.best_net_gain)


def test_the_plan_names_the_race_and_a_full_sweep_has_none(
    guilty: Guilty, raced: Callable[[int], LocalizeRun], full: LocalizeRun
) -> None:
    plans = [json.loads((run.path / "plan.json").read_text()) for run in (raced(LAYER), full)]
    assert plans[0]["race"] == RaceRule().to_json()
    assert "race" not in plans[1]
    assert (raced(LAYER).race, full.race) == (RaceRule(), None)
    assert "dropped_in_round" not in full.repair().columns
    for run, plan in ((raced(LAYER), False), (full, True)):
        with pytest.raises(RunMismatch, match="race"):
            localize(*guilty(LAYER), out=run.path, plan=replace(killed_run.RACE_PLAN, race=plan))


def test_page_tables_and_figures_say_that_it_was_raced(raced: Callable[[int], LocalizeRun]) -> None:
    run = raced(LAYER)
    found, page = run.localization, run.page.read_text()
    assert found.raced is not None
    assert "were dropped on the first half" in page
    assert f"{len(found.raced.dropped)} of {N_LAYERS} dropped" in page
    assert "dropped in round 1" in page
    assert "in full" in page
    assert "both ways" not in page
    assert " --race" in page
    table = pl.read_csv(run.path / "repair.csv")
    assert table["dropped_in_round"].null_count() == found.raced.n_left
    assert table.height == N_LAYERS
    assert run.blocks().height == found.raced.n_left
    for name, figure in run.figures.all().items():
        subtitle = figure.layout.title.subtitle.text
        assert ("Raced: " in subtitle) == (name != "lens_trace"), name
    value = json.loads((run.path / "localization.json").read_text())
    assert value["raced"]["n_left"] == found.raced.n_left
    assert len(value["held_out_repair"]["directions"]) == 1


def test_it_is_read_back_as_it_was(raced: Callable[[int], LocalizeRun]) -> None:
    run = raced(LAYER)
    again = LocalizeRun.read(run.path)
    assert again.localization == run.localization
    assert again.repair().equals(run.repair())


def test_killed_anywhere_it_goes_on_to_the_same_files(
    guilty: Guilty, raced: Callable[[int], LocalizeRun], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    torch.save(guilty(LAYER), tmp_path / "planted.pt")
    program = [sys.executable, killed_run.__file__, str(tmp_path / "planted.pt"), str(out), "race"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert [int(n) for n in done.stdout.split()] == [30, 75, 98, 129]
    localize(*guilty(LAYER), out=out, plan=killed_run.RACE_PLAN)
    resumed, whole = contents(out), contents(raced(LAYER).path)
    assert sorted(resumed) == sorted(whole)
    assert [name for name in sorted(whole) if resumed[name] != whole[name]] == []


def test_the_terminal_says_it(
    guilty: Guilty,
    call: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    model, task = guilty(LAYER)
    monkeypatch.setattr(interp.models.load, "load", lambda *_: model)
    monkeypatch.setattr(interp.tasks.load, "load_task", lambda *_, **__: task)
    code, out, err = call("localize", "mine", "--task", "planted", "--race", "--out", tmp_path)
    assert code == 0
    assert "of 4 blocks left by the race" in out
    assert "out in round 1, n = " in out
    assert "Raced: " in out
    assert "silencing: " in err
    assert LocalizeRun.read(tmp_path).race == RaceRule()
    assert not LocalizePlan().race
