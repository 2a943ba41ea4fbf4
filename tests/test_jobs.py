"""`localize` end to end on tiny models: what it finds, what it writes, and how it goes on after a stop."""

from __future__ import annotations

import csv
import html.parser
import importlib.metadata
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import killed_run
import plotly.graph_objects as go
import polars as pl
import pytest
import scripted_task
import torch
from planted import TEXTS, planted

from interp.errors import (
    BadFailureSet,
    BadInput,
    BadLogits,
    QuestionTooLong,
    RunError,
    RunLocked,
    RunMismatch,
)
from interp.intervention import Mean, Scope, parse_intervention
from interp.jobs.localizing import LocalizePlan, localize
from interp.localized import LocalizeRun
from interp.localizers.attribution import ATTRIBUTION_SCHEMA
from interp.localizers.lens import LENS_SCHEMA
from interp.localizers.localization import Finding
from interp.localizers.repair import COLUMNS
from interp.models.hooks import HooksModel
from interp.models.load import wrap
from interp.models.scripted import Scripted
from interp.models.tiny import tiny
from interp.procedure import Decoding, Procedure, Template
from interp.question import Kind, Question
from interp.run import Run
from interp.tasks.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")

N_LAYERS = 4
FIGURES = {"repair_against_retention", "block_ranking", "attribution_map", "lens_trace", "agreement"}
FILES = {
    "plan.json",
    "environment.json",
    "questions.jsonl",
    "attempts.jsonl",
    "failure_set.json",
    "repair.csv",
    "attribution.csv",
    "lens.csv",
    "agreement.csv",
    "localization.json",
    "index.html",
    "figures/plotly.min.js",
    *(f"figures/{name}.html" for name in FIGURES),
}


@pytest.fixture(scope="module")
def guilty() -> Callable[[int], tuple[HooksModel, Task]]:
    """Model and task by guilty layer, made once."""
    return cache(planted)


@pytest.fixture(scope="module")
def finished(
    guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], LocalizeRun]:
    """A finished run by guilty layer, made once; no test may change it."""

    @cache
    def run(layer: int) -> LocalizeRun:
        return localize(*guilty(layer), out=tmp_path_factory.mktemp("planted") / str(layer))

    return run


@dataclass(frozen=True)
class Watched:
    """An uninterrupted run in small batches, and what was seen while it wrote its log."""

    run: LocalizeRun
    batches: list[list[tuple[str, str, int]]]
    frozen: list[bytes | None]


@pytest.fixture(scope="module")
def whole(
    guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path_factory: pytest.TempPathFactory
) -> Watched:
    """The run that `killed_run` does not finish; of each batch the keys and the failure set before it."""
    batches: list[list[tuple[str, str, int]]] = []
    frozen: list[bytes | None] = []
    append = Run.append

    def watched_append(run: Run, rows: Sequence[Any]) -> None:
        path = run.path / "failure_set.json"
        batches.append([row.key for row in rows])
        frozen.append(path.read_bytes() if path.exists() else None)
        append(run, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "append", watched_append)
        out = tmp_path_factory.mktemp("whole") / "run"
        run = localize(*guilty(killed_run.LAYER), out=out, plan=killed_run.PLAN)
    return Watched(run, batches, frozen)


def log_of(path: Path) -> list[dict[str, Any]]:
    log = path / "attempts.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, and the page, which names the directory."""
    names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    return {name: (path / name).read_bytes() for name in names if name not in (".lock", "index.html")}


# What it finds


@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_the_guilty_block_is_located(finished: Callable[[int], LocalizeRun], layer: int) -> None:
    run = finished(layer)
    found = run.localization
    assert found.finding is Finding.REPAIRS
    assert f"MLP {layer}" in found.headline
    for best in (found.best_repair, found.best_net_gain):
        assert (best.layer, best.repair.value, best.retention.value) == (layer, 1.0, 1.0)
    assert found.held_out_repair.layers == found.held_out_net_gain.layers == (layer, layer)
    assert found.held_out_repair.repair.value == found.held_out_repair.retention.value == 1.0
    assert found.accuracy_before == sum(r["outcome"] == "right" for r in log_of(run.path)[:60]) / 60
    assert found.best_net_gain.accuracy_after == pytest.approx(1.0)
    assert found.p_max_repair < 0.01
    assert found.p_max_net_gain < 0.01
    first, *others = run.repair().iter_rows(named=True)
    assert (first["layer"], first["repair"], first["retention"]) == (layer, 1.0, 1.0)
    assert max(row["repair"] for row in others) < 1.0
    assert run.warnings == ()


@pytest.mark.parametrize("layer", range(N_LAYERS))
def test_attribution_names_the_same_block(finished: Callable[[int], LocalizeRun], layer: int) -> None:
    run = finished(layer)
    blocks = run.blocks()
    assert blocks["layer"].to_list() == list(range(N_LAYERS))
    direct = blocks["direct"].to_list()
    assert max(range(N_LAYERS), key=direct.__getitem__) == layer
    assert direct[layer] > 5 * max(abs(d) for i, d in enumerate(direct) if i != layer)
    assert blocks["patching"][layer] > 0
    assert run.agreement().filter(pl.col("method") == "direct")["overlap_1"].to_list() == [1.0]
    assert run.attribution()["given_token"].mode().to_list() == ["z"]
    lens = run.lens().group_by("layer").agg((pl.col("given_rank") == 1).mean()).sort("layer")
    assert lens["given_rank"][-1] == 1.0


def test_the_failures_are_those_that_the_deployed_procedure_got_wrong(
    finished: Callable[[int], LocalizeRun],
) -> None:
    run = finished(2)
    deployed = {row["question"]: row["outcome"] for row in log_of(run.path) if row["probe"] == "deployed"}
    frozen = run.failure_set
    assert len(deployed) == frozen.n_questions == len(TEXTS)
    assert set(frozen.failures) == {i for i, outcome in deployed.items() if outcome == "wrong"}
    assert set(frozen.successes) <= {i for i, outcome in deployed.items() if outcome == "right"}
    assert len(frozen.successes) == len(frozen.failures)


# What it writes


def test_every_file_is_there_and_reads(finished: Callable[[int], LocalizeRun]) -> None:
    path = finished(1).path
    assert {p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file()} == FILES | {".lock"}
    for name in FILES:
        if name.endswith(".json"):
            json.loads((path / name).read_text())
        elif name.endswith(".csv"):
            with (path / name).open(newline="") as file:
                rows = list(csv.reader(file))
            assert len(rows) > 1, name
            assert len({len(row) for row in rows}) == 1, name
        elif name.endswith(".html"):
            Page(path / name)
    found = json.loads((path / "localization.json").read_text())
    assert (found["finding"], found["best_repair"]["layer"], found["warnings"]) == ("repairs", 1, [])
    frozen = json.loads((path / "failure_set.json").read_text())
    assert found["failure_set_hash"] == frozen["hash"]


def test_the_plan_and_the_environment_name_what_decides_the_numbers(
    guilty: Callable[[int], tuple[HooksModel, Task]], finished: Callable[[int], LocalizeRun]
) -> None:
    model, task = guilty(1)
    plan = json.loads((finished(1).path / "plan.json").read_text())
    assert plan["model"] == {"name": model.name, "fingerprint": model.fingerprint, "n_layers": N_LAYERS}
    assert (plan["task"]["hash"], plan["task"]["grader"]) == (task.hash, task.grader)
    assert Procedure.from_json(plan["procedure"]) == task.procedure
    assert plan["procedure"]["key"] == task.procedure.key
    assert (plan["verb"], plan["failures"], plan["scope"], plan["ablation"]) == (
        "localize",
        "wrong",
        "both",
        "zero",
    )
    environment = json.loads((finished(1).path / "environment.json").read_text())
    assert environment["packages"]["torch"] == importlib.metadata.version("torch")
    assert set(environment["model"]) >= {"architecture", "attention", "dtype", "weights", "template"}


def test_the_failure_set_is_frozen_before_any_block_is_tried(whole: Watched) -> None:
    stages = [{probe for probe, _, _ in batch} for batch in whole.batches]
    assert stages == [{"deployed"}] * 4 + [{"silencing"}] * 8
    assert whole.frozen[:4] == [None] * 4
    final = (whole.run.path / "failure_set.json").read_bytes()
    assert whole.frozen[4:] == [final] * 8


def test_a_control_shares_its_batch_with_its_blocks(whole: Watched) -> None:
    asked = [i for batch in whole.batches[4:] for i in dict.fromkeys(i for _, i, _ in batch)]
    assert sorted(asked) == sorted((*whole.run.failure_set.failures, *whole.run.failure_set.successes))
    for batch in whole.batches[4:]:
        for question in {i for _, i, _ in batch}:
            assert [draw for _, i, draw in batch if i == question] == list(range(N_LAYERS + 1))


def test_the_batch_size_chosen_for_a_model_holds_whole_questions(
    finished: Callable[[int], LocalizeRun],
) -> None:
    batch_size = finished(1).run.plan["batch_size"]
    assert batch_size > 0
    assert batch_size % (N_LAYERS + 1) == 0


def test_a_run_in_other_batches_finds_the_same(
    whole: Watched, finished: Callable[[int], LocalizeRun]
) -> None:
    small, large = ({row.key: row.tokens for row in run.run.attempts} for run in (whole.run, finished(1)))
    assert len(small) == 60 + 24 * 5
    assert small.items() <= large.items()


def test_tables_are_frames_with_their_columns(finished: Callable[[int], LocalizeRun]) -> None:
    run = finished(3)
    assert run.repair().columns == list(COLUMNS)
    assert run.repair().height == N_LAYERS
    assert dict(run.attribution().schema) == ATTRIBUTION_SCHEMA
    assert run.attribution().height == len(run.failure_set.failures) * N_LAYERS * 2
    assert dict(run.lens().schema) == LENS_SCHEMA
    assert run.lens().height == len(run.failure_set.failures) * (N_LAYERS + 1)
    assert run.blocks().columns == ["layer", "repair", "net_gain", "direct", "patching"]
    assert run.agreement()["method"].to_list() == ["direct", "patching"]
    for table in (run.repair(), run.attribution(), run.lens(), run.blocks(), run.agreement()):
        assert isinstance(table, pl.DataFrame)
    written = pl.read_csv(run.path / "repair.csv", schema=run.repair().schema)
    assert written.equals(run.repair(), null_equal=True)


def test_figures_are_plotly_figures_named_as_their_pages(finished: Callable[[int], LocalizeRun]) -> None:
    run = finished(0)
    made = run.figures.all()
    assert set(made) == FIGURES
    assert all(isinstance(figure, go.Figure) and figure.data for figure in made.values())
    assert isinstance(run.figures.block_ranking(), go.Figure)


def test_a_run_is_read_back_as_it_was(finished: Callable[[int], LocalizeRun]) -> None:
    run = finished(0)
    back = LocalizeRun.read(str(run.path))
    assert back.localization == run.localization
    assert back.repair().equals(run.repair())
    assert (back.failure_set, back.warnings, back.page) == (run.failure_set, run.warnings, run.page)


def test_a_directory_that_is_no_run_of_localize_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is no run: it has no plan\.json"):
        LocalizeRun.read(tmp_path)
    scripted_task.open_run(tmp_path / "other", plan={"verb": "audit"}).close()
    with pytest.raises(RunError, match="holds a run of 'audit', not of 'localize'"):
        LocalizeRun.read(tmp_path / "other")
    scripted_task.open_run(tmp_path / "begun", plan={"verb": "localize"}).close()
    begun = LocalizeRun.read(tmp_path / "begun")
    with pytest.raises(RunError, match="no failure set yet; start the same command again"):
        begun.repair()
    with pytest.raises(RunError, match=r"attribution\.csv is not there.*Start the same command again"):
        begun.attribution()


# Scope, ablation, template


def test_a_block_that_is_silenced_after_the_only_token_repairs_nothing(
    guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path: Path
) -> None:
    run = localize(*guilty(1), out=tmp_path, plan=LocalizePlan(scope=Scope.DECODE, max_failures=10))
    assert run.repair()["repair"].to_list() == [0.0] * N_LAYERS
    assert run.repair()["retention"].to_list() == [1.0] * N_LAYERS
    assert run.localization.finding is Finding.NO_REPAIR
    assert set(run.attribution()["patching"]) == {0.0}
    lines = {line for row in log_of(run.path) for line in row["interventions"]}
    assert lines == {f"L{layer}.mlp_out*0@decode" for layer in range(N_LAYERS)}


def test_silencing_on_the_prompt_is_all_there_is_for_one_token(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    plan = replace(killed_run.PLAN, scope=Scope.PROMPT)
    run = localize(*guilty(killed_run.LAYER), out=tmp_path, plan=plan)
    assert run.repair().equals(whole.run.repair())
    assert all(line.endswith("*0@prompt") for row in log_of(run.path) for line in row["interventions"])


def test_a_directory_whose_name_is_a_pattern_reads_its_own_files(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    plan = replace(killed_run.PLAN, ablation="mean")
    for name in ("run[1]", "run1", "run?"):
        run = localize(*guilty(killed_run.LAYER), out=tmp_path / name, plan=plan)
        assert run.attribution().height == whole.run.attribution().height


def test_the_mean_is_put_in_place_of_a_contribution(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    model, task = guilty(killed_run.LAYER)
    run = localize(model, task, out=tmp_path, plan=replace(killed_run.PLAN, ablation="mean"))
    swept = [row for row in run.run.attempts if row.probe == "silencing" and row.draw > 0]
    edits = [parse_intervention(row.interventions[0]) for row in swept]
    assert all(isinstance(edit, Mean) for edit in edits)
    assert len({edit.reference for edit in edits if isinstance(edit, Mean)}) == 1
    zero = {row.key: row.tokens for row in whole.run.run.attempts}
    assert {row.key for row in swept} <= set(zero)
    assert any(row.tokens != zero[row.key] for row in swept)
    assert run.attribution()["direct"].equals(whole.run.attribution()["direct"])
    mlp = pl.col("point") == "mlp_out"
    means, zeros = (r.attribution().filter(mlp)["patching"].to_list() for r in (run, whole.run))
    assert all(abs(m - z) > 1e-6 for m, z in zip(means, zeros, strict=True))
    assert not run.repair().equals(whole.run.repair())


def test_failures_may_be_named_in_a_file(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    ids = whole.run.failure_set.failures[:3]
    (tmp_path / "ids.txt").write_text("\n".join(ids))
    plan = LocalizePlan(str(tmp_path / "ids.txt"), max_successes=2)
    run = localize(*guilty(killed_run.LAYER), out=tmp_path / "run", plan=plan)
    assert (run.failure_set.rule, run.failure_set.failures) == ("file", ids)
    assert len(run.failure_set.successes) == 2
    assert run.localization.finding is Finding.TOO_FEW


def test_without_a_chat_template_questions_are_asked_as_plain_text_and_it_is_said(tmp_path: Path) -> None:
    model, task = planted(2, chat_template=False)
    assert task.prompt.template is Template.CHAT
    run = localize(model, task, out=tmp_path)
    said = "The tokenizer has no chat template, so questions are asked as plain text."
    assert run.warnings == (said,)
    assert said in Page(run.page).text
    assert json.loads((tmp_path / "plan.json").read_text())["procedure"]["prompt"]["template"] == "plain"
    assert run.localization.best_repair.layer == 2
    assert run.localization.best_repair.repair.value == 1.0


def test_two_options_are_marked(guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path: Path) -> None:
    model, task = guilty(0)
    run = localize(model, replace(task, binary=True), out=tmp_path, plan=LocalizePlan(max_failures=4))
    assert any("one of two options" in warning for warning in run.warnings)
    assert run.localization.two_options


# Stopped and started again


def test_killed_anywhere_it_goes_on_to_the_same_files(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    torch.save(guilty(killed_run.LAYER), tmp_path / "planted.pt")
    program = [sys.executable, killed_run.__file__, str(tmp_path / "planted.pt"), str(out), "localize"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert [int(n) for n in done.stdout.split()] == [0, 30, 75, 120, 180, 180]
    assert not (out / "repair.csv").exists()
    localize(*guilty(killed_run.LAYER), out=out, plan=killed_run.PLAN)
    keys = [(row["probe"], row["question"], row["draw"]) for row in log_of(out)]
    assert len(keys) == len(set(keys)) == 180
    resumed, uninterrupted = contents(out), contents(whole.run.path)
    assert {"repair.csv", "attribution.csv", "localization.json", "attempts.jsonl"} <= set(resumed)
    assert [name for name in sorted(FILES - {"index.html"}) if resumed[name] != uninterrupted[name]] == []


def test_a_finished_run_asks_the_model_nothing(
    guilty: Callable[[int], tuple[HooksModel, Task]],
    whole: Watched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(whole.run.path, tmp_path / "run")

    def asked(*_: object, **__: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(HooksModel, "generate", asked)
    monkeypatch.setattr(HooksModel, "forward", asked)
    again = localize(*guilty(killed_run.LAYER), out=tmp_path / "run", plan=killed_run.PLAN)
    assert again.localization == whole.run.localization
    assert contents(tmp_path / "run") == contents(whole.run.path)


def test_readings_that_were_removed_are_made_again_from_the_log(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    shutil.copytree(whole.run.path, tmp_path / "run")
    for name in ("repair.csv", "attribution.csv", "localization.json", "index.html"):
        (tmp_path / "run" / name).unlink()
    localize(*guilty(killed_run.LAYER), out=tmp_path / "run", plan=killed_run.PLAN)
    assert contents(tmp_path / "run") == contents(whole.run.path)


def another_model(model: HooksModel, task: Task) -> tuple[HooksModel, Task, LocalizePlan]:
    return planted(0)[0], task, killed_run.PLAN


def another_task(model: HooksModel, task: Task) -> tuple[HooksModel, Task, LocalizePlan]:
    return model, replace(task, name="other", questions=task.questions[:-1]), killed_run.PLAN


def another_prompt(model: HooksModel, task: Task) -> tuple[HooksModel, Task, LocalizePlan]:
    return model, replace(task, prompt=replace(task.prompt, system="Be brief.")), killed_run.PLAN


def another_plan(model: HooksModel, task: Task) -> tuple[HooksModel, Task, LocalizePlan]:
    return model, task, replace(killed_run.PLAN, scope=Scope.PROMPT, seed=3)


def another_question(model: HooksModel, task: Task) -> tuple[HooksModel, Task, LocalizePlan]:
    first, *rest = task.questions
    return model, replace(task, questions=(replace(first, text="Edited?"), *rest)), killed_run.PLAN


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (another_model, [r"model\.fingerprint was ", r"model\.name was .*planted:1.*planted:0"]),
        (another_task, [r'task\.name was "planted", now "other"', r"question 'q59' is missing"]),
        (another_prompt, [r"procedure\.key was ", r'procedure\.prompt\.system was absent, now "Be brief\."']),
        (another_plan, [r'scope was "both", now "prompt"', r"seed was 0, now 3"]),
        (another_question, [r"question 'q00' was edited \(text was .*now \"Edited\?\"", r"task\.hash was "]),
    ],
)
def test_a_directory_of_another_run_is_refused_by_what_differs(
    guilty: Callable[[int], tuple[HooksModel, Task]],
    whole: Watched,
    change: Callable[[HooksModel, Task], tuple[HooksModel, Task, LocalizePlan]],
    says: list[str],
) -> None:
    model, task, plan = change(*guilty(killed_run.LAYER))
    before = contents(whole.run.path)
    for line in says:
        with pytest.raises(RunMismatch, match=line):
            localize(model, task, out=whole.run.path, plan=plan)
    assert contents(whole.run.path) == before


def test_a_question_edited_in_the_directory_is_named(
    guilty: Callable[[int], tuple[HooksModel, Task]], whole: Watched, tmp_path: Path
) -> None:
    shutil.copytree(whole.run.path, tmp_path / "run")
    file = tmp_path / "run" / "questions.jsonl"
    file.write_text(file.read_text().replace("comes after bm?", "comes after bn?"))
    with pytest.raises(RunMismatch, match=r"question 'q05' was edited \(text was "):
        localize(*guilty(killed_run.LAYER), out=tmp_path / "run", plan=killed_run.PLAN)


def test_a_second_process_is_refused(
    guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path: Path
) -> None:
    program = [sys.executable, scripted_task.__file__, str(tmp_path), "hold", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunLocked, match=str(tmp_path)):
            localize(*guilty(1), out=tmp_path)
        holder.kill()


# Bad input


NOT_RIGHT = LocalizePlan("not-right")


def _yes(text: str, procedure: Procedure, seed: int) -> str:
    """The first half of the questions is answered right."""
    return "yes" if int(text.rsplit(maxsplit=1)[-1]) < 5 else "no"


def scripted(n: int, *, first: int = 0, gold: str = "yes") -> Task:
    """Questions, numbered, all with the same gold."""
    questions = tuple(Question(f"q{i}", f"Is it {i}", Kind.TEXT, (gold,)) for i in range(first, first + n))
    return Task("scripted", questions, decoding=Decoding(8))


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (scripted(5), "There is no failure by the rule 'not-right' among 5 questions"),
        (scripted(6), "There is one failure .'q5'. by the rule 'not-right' among 6 questions"),
        (scripted(5, first=5), "None of 5 questions is answered right"),
    ],
)
def test_too_few_failures_or_successes_are_refused(task: Task, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadFailureSet, match=says):
        localize(Scripted(_yes), task, out=tmp_path, plan=NOT_RIGHT)
    assert len(log_of(tmp_path)) == len(task.questions)
    assert not (tmp_path / "failure_set.json").exists()


def test_an_answer_that_is_the_gold_one_cut_short_has_no_attribution(tmp_path: Path) -> None:
    questions = tuple(
        Question(f"q{i}", f"Is it {i}", Kind.TEXT, ("no" if i > 4 else "yes",)) for i in range(8)
    )
    task = Task("cut", questions, decoding=Decoding(8))

    def script(text: str, procedure: Procedure, seed: int) -> str:
        return "no, yes or no" if int(text.rsplit(maxsplit=1)[-1]) > 4 else "yes"

    model = Scripted(script)
    cut = replace(
        task, questions=tuple(replace(q, gold=(q.gold[0] + ", yes or maybe",)) for q in questions[5:])
    )
    task = replace(task, questions=(*questions[:5], *cut.questions))
    run = localize(model, task, out=tmp_path, plan=NOT_RIGHT)
    assert run.attribution().height == 0
    assert set(run.figures.all()) == {"repair_against_retention", "block_ranking"}
    assert any("Attribution covers 0 of 3 failures" in warning for warning in run.warnings)
    assert not (tmp_path / "agreement.csv").exists()
    assert "Attribution covers 0 of 3 failures" in Page(run.page).text


def test_a_question_longer_than_the_context_is_refused_before_any_is_asked(
    guilty: Callable[[int], tuple[HooksModel, Task]], tmp_path: Path
) -> None:
    model, task = guilty(1)
    long = replace(task.questions[50], text="Why? " * 200)
    task = replace(task, questions=(*task.questions[:50], long))
    with pytest.raises(QuestionTooLong, match=r"'Why\? Why\?.*needs \d+ tokens .*reads at most 512"):
        localize(model, task, out=tmp_path)
    assert log_of(tmp_path) == []


def test_weights_that_give_nan_are_refused_and_the_log_keeps_what_was_asked(tmp_path: Path) -> None:
    fresh = tiny("llama")
    embedding: Any = fresh.module.get_submodule("model.embed_tokens")
    with torch.no_grad():
        embedding.weight[fresh.tokenizer.convert_tokens_to_ids("Z")] = float("nan")
    model = wrap(fresh.module, fresh.tokenizer, name="tiny:broken")
    questions = tuple(
        Question(f"q{i}", f"What is {'Z' if i == 7 else i}?", Kind.TEXT, ("x",)) for i in range(10)
    )
    task = Task("broken", questions, decoding=Decoding(2))
    with pytest.raises(BadLogits, match="NaN or infinite logits"):
        localize(model, task, out=tmp_path, plan=LocalizePlan(batch_size=5))
    assert [row["question"] for row in log_of(tmp_path)] == [f"q{i}" for i in range(5)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"scope": "sideways"}, "no scope 'sideways'. Use one of: prompt, decode, both"),
        ({"ablation": "half"}, "no ablation 'half'. Use one of: zero, mean"),
        ({"seed": -1}, "0 or more, got -1"),
        ({"batch_size": 0}, "at least one row, got 0"),
        ({"max_failures": 1}, "at least 2 failures, got max_failures=1"),
        ({"max_successes": 0}, "At least 1 success must be kept in view, got max_successes=0"),
    ],
)
def test_a_plan_that_means_nothing_cannot_be_made(words: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        LocalizePlan(**words)


def test_a_scope_may_be_given_by_its_name() -> None:
    named: Any = "both"
    assert LocalizePlan(scope=named).scope is Scope.BOTH


def test_an_unknown_failure_rule_lists_the_known_ones_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(BadFailureSet, match=r"'wrog' is no failure rule \(wrong, unreadable, not-right\)"):
        localize(Scripted(_yes), scripted(10), out=tmp_path / "run", plan=LocalizePlan("wrog"))
    assert not (tmp_path / "run").exists()


# Hostile text


ATTACK = (
    """<script>alert(1)</script><img src=x onerror=alert(2)> "quoted" 'single' {{ 7 * 7 }} {% x %} & </p>"""
)


class Page(html.parser.HTMLParser):
    """Text and elements of a page, read as a browser does."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:  # neither script nor style
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


class Talkative(HooksModel):
    """Adds an attack to each of its answers."""

    def generate(self, requests: Sequence[Any], **options: Any) -> Iterator[Any]:
        for completion in super().generate(requests, **options):
            yield replace(completion, text=f"{completion.text}. {ATTACK}")


def test_hostile_text_is_escaped_on_every_page(
    finished: Callable[[int], LocalizeRun], tmp_path: Path
) -> None:
    texts = [f"{text} {ATTACK}" for text in TEXTS[:30]]
    model, task = planted(1, texts=texts)
    talkative = Talkative(**fields_of(model) | {"name": f"tiny {ATTACK}"})
    questions = tuple(
        replace(q, id=f"{q.id} {ATTACK}", choices=tuple(f"{c} {ATTACK}" for c in q.choices), subject=ATTACK)
        for q in task.questions
    )
    task = replace(task, name=f"task {ATTACK}", description=ATTACK, questions=questions)
    task = FirstLetter(**fields_of(task))
    run = localize(talkative, task, out=tmp_path)
    assert run.localization.best_repair.layer == 1
    calm = finished(1).path
    index = Page(run.page)
    assert set(index.tags) == set(Page(calm / "index.html").tags)
    for what in (f"tiny {ATTACK}", f"task {ATTACK}", texts[0][-len(ATTACK) :], f"z. {ATTACK}"):
        assert what in index.text
    for path in tmp_path.rglob("*.html"):
        page, same = Page(path), Page(calm / path.relative_to(tmp_path))
        assert page.handlers == []
        assert page.tags.count("script") == same.tags.count("script"), path.name
        assert "img" not in page.tags
        assert f"task {ATTACK}" in page.text, path.name
        assert "<script>alert" not in path.read_text()


class FirstLetter(Task):
    """Reads the first letter of an answer and no more."""

    def grade(self, question: Question, completion_text: str, finish: Any = "stop") -> Any:
        return super().grade(question, completion_text[:1], finish)


def fields_of(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
