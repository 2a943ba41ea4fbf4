"""The benchmark: every contender gives the same answers, and what is counted is what ran."""

from __future__ import annotations

import dataclasses
import json
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import interp
from interp.bench.contender import PLAIN, Work
from interp.bench.floor import Rates, Visits, floor_seconds, measure_rates, visits_of
from interp.bench.lens import lens_loop
from interp.bench.nnsight import nnsight_loop
from interp.bench.ours import Ours
from interp.bench.plain import plain_loop
from interp.bench.side_by_side import spaced
from interp.bench.stages import peak_memory, shares_by_stage
from interp.cli import app
from interp.errors import BadInput, QuestionTooLong, Unsupported
from interp.jobs import benching
from interp.jobs.benching import BenchPlan, bench
from interp.procedure import Decoding, Prompt

PROMPT = Prompt("Answer.", (), "It is ")
TEXTS = ("Hi?", "Which number is smaller, 3 or 8?", "How many?")
WORK = Work("short", TEXTS, PROMPT, Decoding(6, stop=("e",)), (PLAIN, 0, 1, 2, 3))


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3_moe", "gemma3", "gpt_neox"])
@pytest.mark.parametrize("make", [plain_loop, nnsight_loop, lens_loop], ids=lambda make: make.__name__)
def test_every_contender_gives_the_answers_of_ours(tiny_model, make, name) -> None:
    model = tiny_model(name)
    try:
        loop = make(model, 2)
    except Unsupported:
        pytest.skip("TransformerLens has no adapter for it")
    assert loop.sweep(WORK) == Ours(model, 7).sweep(WORK)
    long = dataclasses.replace(WORK, decoding=Decoding(9), layers=(PLAIN, 2))
    assert loop.sweep(long) == Ours(model, 256).sweep(long)


def test_visits_count_every_token_that_a_block_and_the_head_ran(tiny_model) -> None:
    model = tiny_model("llama")
    work = dataclasses.replace(WORK, decoding=Decoding(4), layers=(PLAIN, 1))
    widths = [len(model.render(text, PROMPT).tokens) for text in TEXTS]
    with visits_of(model) as visits:
        plain_loop(model, 3).sweep(work)
    n_most = 2 * model.n_layers * 3 * (max(widths) + 3)  # no row stops earlier than asked, or some do
    assert 0 < sum(visits.blocks) <= n_most
    assert sum(visits.blocks[: model.n_layers]) == model.n_layers * 3 * max(widths)
    with visits_of(model) as ours:
        Ours(model, 256).sweep(work)
    assert 0 < sum(ours.blocks) < sum(visits.blocks)
    assert not any(block._forward_pre_hooks for block in model.blocks)


def test_the_floor_is_arithmetic_or_reading_whichever_is_longer(tiny_model) -> None:
    model = tiny_model("llama")
    block = sum(p.numel() for p in model.blocks[0].parameters())
    visits = Visits(blocks=[1, 1000], head=[])
    reads = 4 * block / 1e3  # one token: reading the weights takes longer
    expected = reads + max(reads, 2000 * block / 1e6)
    assert floor_seconds(model, visits, Rates(1e6, 1e3)) == pytest.approx(expected)
    rates = measure_rates(torch.device("cpu"), torch.float32)
    assert rates.flops > 1e8
    assert rates.bytes > 1e7


def test_shares_of_stages_add_up_and_are_those_of_the_sweep(tiny_model) -> None:
    model = tiny_model("llama")
    shares = shares_by_stage(lambda: Ours(model, 256).sweep(WORK))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(share >= 0 for share in shares.values())
    assert shares["decoding"] > 0
    assert shares["prompts and drafts"] > 0


def test_peak_memory_sees_what_is_taken_while_it_watches() -> None:
    with peak_memory(torch.device("cpu")) as peak:
        held = torch.ones(128 * 2**20 // 4)
        time.sleep(0.1)
    assert held.numel()
    assert 100 * 2**20 < peak.bytes < 400 * 2**20


@given(st.integers(1, 40), st.integers(0, 45), st.integers(1, 5))
def test_passes_are_spaced_over_all_blocks(n: int, n_passes: int, repeats: int) -> None:
    layers = range(-1, n - 1)
    for repeat in range(repeats):
        found = spaced(layers, n_passes, repeat, repeats)
        assert len(found) == len(set(found)) == (min(n, n_passes) if n_passes else n)
        assert set(found) <= set(layers)


def test_a_benchmark_checks_every_answer_and_says_what_it_measured(tiny_model, tmp_path) -> None:
    model, task = tiny_model("llama"), interp.load_task("comparison", n=6)
    plan = BenchPlan(("short", "long"), ("transformers",), n_questions=6, n_long=10, repeats=2, n_passes=2)
    told: list[str] = []
    found = bench(model, task, plan=plan, told=told.append)
    assert [(timed.shape, timed.name) for timed in found.timed] == [
        *(("short", "interp"), ("short", "transformers"), ("long", "interp"), ("long", "transformers"))
    ]
    for timed in found.timed:
        n_passes = model.n_layers + 1 if timed.name == "interp" else 2
        assert timed.n_same == timed.n_rows == 2 * 6 * n_passes
        assert len(timed.seconds) == len(timed.ratios) == 2
    assert all(0 < bound.n_layer_tokens < bound.n_layer_tokens_loop for bound in found.bounds)
    assert {what for what, _, _ in found.growth} == {"questions", "blocks", "tokens"}
    assert json.loads(json.dumps(found.to_json()))["environment"]["model"]["dtype"] == "float32"
    assert "long, 2 of 2: transformers" in told


def test_an_answer_that_differs_is_counted(tiny_model, monkeypatch) -> None:
    model, task = tiny_model("llama"), interp.load_task("comparison", n=2)
    monkeypatch.setattr("interp.bench.plain.module_at", lambda *_: torch.nn.Identity())  # silences nothing
    plan = BenchPlan(("long",), ("transformers",), n_questions=2, n_long=10, repeats=1, n_passes=0)
    loop = bench(model, task, plan=plan).timed[1]
    assert 2 <= loop.n_same < loop.n_rows == 2 * (model.n_layers + 1)


def test_few_shot_prompts_show_questions_that_are_not_timed(tiny_model, monkeypatch) -> None:
    monkeypatch.setattr(benching, "N_SHOTS", 1)
    task = interp.load_task("comparison", n=3)
    work = benching._work(task, BenchPlan(n_questions=2), "few-shot", 4)
    assert work.prompt.examples == ((task.questions[2].text, task.questions[2].gold[0]),)
    assert work.texts == tuple(question.text for question in task.questions[:2])


def test_bad_plans_and_tasks_are_refused_before_anything_is_timed(tiny_model) -> None:
    task = interp.load_task("comparison", n=12)
    with pytest.raises(BadInput, match="no shape 'shrot'"):
        BenchPlan(("shrot",))
    with pytest.raises(BadInput, match="no loop 'vllm'"):
        BenchPlan(against=("vllm",))
    with pytest.raises(BadInput, match="Nothing to bench"):
        BenchPlan(())
    with pytest.raises(BadInput, match="1 or more"):
        BenchPlan(repeats=0)
    with pytest.raises(BadInput, match="needs 48 questions, the task has 12"):
        bench(tiny_model("llama"), task)
    with pytest.raises(Unsupported, match="Load hooks:"):
        bench(tiny_model("lens:llama"), task, plan=BenchPlan(("short",), n_questions=4))
    with pytest.raises(QuestionTooLong):
        bench(tiny_model("llama"), task, plan=BenchPlan(n_questions=4))


def test_the_command_prints_tables_that_can_be_pasted(tmp_path) -> None:
    out = tmp_path / "found.json"
    line = f"bench tiny:llama --shapes short --against transformers --questions 4 --repeats 1 --out {out}"
    told = CliRunner().invoke(app, line.split())
    assert told.exit_code == 0, told.output
    assert "| short | transformers" in " ".join(told.output.split())
    assert "12 of 12" in told.output
    assert "GFLOP/s" in told.output
    assert json.loads(out.read_text())["timed"][0]["name"] == "interp"
