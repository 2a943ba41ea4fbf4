"""Sharing work between rows: the plan against its definition, the engine against a loop without sharing."""

from __future__ import annotations

import dataclasses
from itertools import takewhile

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.intervention import Mean, Scale, Scope, silence
from interp.models import prefix
from interp.models.batch import HookedBatch
from interp.models.decode import Batch
from interp.models.engine import Engine
from interp.models.prefix import common_prefix
from interp.models.sweep import plan_forks
from interp.models.tiny import ARCHITECTURES
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.site import Point, Site

N_LAYERS = 4
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, N_LAYERS)), min_size=1, max_size=12)


@given(rows=ROWS)
def test_every_row_runs_from_its_first_edit_and_its_base_stands_in_before(rows):
    prompts, firsts = zip(*rows, strict=True)
    plan = plan_forks(prompts, firsts)
    order = plan.rows()
    assert sorted(order) == list(range(len(rows)))
    assert [plan.places[row] for row in order] == list(range(len(rows)))
    assert plan.n_bases == len(set(prompts))
    assert list(plan.joins) == sorted(plan.joins)
    for layer in range(N_LAYERS):
        for row, (prompt, first) in enumerate(rows):
            runs = order[plan.stand_in(plan.places[row], layer)]
            assert prompts[runs] == prompt
            if first <= layer:
                assert runs == row  # an edit touches this layer or one before: no one can stand in
            else:
                assert firsts[runs] > layer  # untouched so far, so it is the same


@given(rows=ROWS)
def test_no_more_rows_run_than_must(rows):
    plan = plan_forks(*zip(*rows, strict=True))
    for layer in range(N_LAYERS):
        edited = sum(first <= layer for _, first in rows)
        untouched = {prompt for prompt, first in rows if first > layer}
        assert plan.n_alive(layer) == edited + len(untouched)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), min_size=1, max_size=5))
def test_common_prefix_is_the_longest_that_leaves_every_prompt_a_token(prompts):
    n = common_prefix(prompts)
    assert len({prompt[:n] for prompt in prompts}) == 1
    assert all(len(prompt) > n for prompt in prompts)
    longer_fits = min(map(len, prompts)) > n + 1
    assert not (longer_fits and len({prompt[: n + 1] for prompt in prompts}) == 1)


def edit_words() -> st.SearchStrategy[tuple[Scale | Mean, ...]]:
    sites = st.builds(Site, st.integers(0, N_LAYERS - 1), st.sampled_from([Point.ATTN_OUT, Point.MLP_OUT]))
    scopes = st.sampled_from(list(Scope))
    scale = st.builds(Scale, sites, st.sampled_from([0.0, 0.5, -1.0]), scopes)
    mean = st.builds(Mean, sites, st.just("ab"), scopes)
    words = st.lists(st.one_of(scale, mean), max_size=2, unique_by=lambda edit: edit.site)
    return words.map(tuple)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_shared_work_gives_the_tokens_of_a_loop_that_shares_nothing(tiny_model, name):
    model = tiny_model(name)
    width = model.d_model
    vectors = {
        Site(layer, point): torch.linspace(-1, 1, width).roll(layer)
        for layer in range(model.n_layers)
        for point in (Point.ATTN_OUT, Point.MLP_OUT)
    }
    system = "A system text that all prompts share."
    prompts = st.sampled_from([Prompt(system, (), "It is "), Prompt(system, (("How?", "So."),))])
    texts = st.sampled_from(["Hi?", "How many?", "Which number is smaller, 3 or 8?"])
    hows = st.sampled_from([Decoding(4), Decoding(8, stop=("e",)), Decoding(4, temperature=1.0)])
    procedures = st.builds(Procedure, prompts, hows, edit_words())

    @settings(max_examples=6, deadline=None, database=None)
    @given(
        requests=st.lists(
            st.builds(Request, texts, procedures, st.integers(0, 2**60)), min_size=2, max_size=9
        ),
        engine=st.builds(Engine, st.booleans(), st.booleans(), st.booleans()),
    )
    def check(requests, engine):
        shared = dataclasses.replace(model, engine=engine)
        together = list(shared.generate(requests, references={"ab": vectors}))
        alone = [c for r in requests for c in model.generate([r], references={"ab": vectors})]
        assert together == alone

    check()


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_a_draft_changes_no_token_and_no_score(tiny_model, name):
    """With a plain row for each prompt, and answers long enough to part from it anywhere."""
    model = tiny_model(name)
    plain = dataclasses.replace(model, engine=Engine(drafts=False))
    prompt = Prompt("A system text that all prompts share.", (), "It is ")
    scales = st.builds(silence, st.integers(0, N_LAYERS - 1))
    texts = st.sampled_from(["Hi?", "How many?", "Which number is smaller, 3 or 8?"])
    lengths = st.sampled_from([Decoding(12), Decoding(7, stop=("e",)), Decoding(5, temperature=1.0)])

    @settings(max_examples=4, deadline=None, database=None)
    @given(
        texts=st.lists(texts, min_size=1, max_size=3),
        scales=st.lists(scales, min_size=3, max_size=6),
        how=lengths,
    )
    def check(texts, scales, how):
        requests = [
            Request(text, Procedure(prompt, how, edits), seed)
            for seed, text in enumerate(texts)
            for edits in ((), *((scale,) for scale in scales))
        ]
        drafted, alone = (list(m.generate(requests, scored=True)) for m in (model, plain))
        assert [c.tokens for c in drafted] == [c.tokens for c in alone]
        assert [c.text for c in drafted] == [c.text for c in alone]
        for a, b in zip(drafted, alone, strict=True):
            assert a.scores.logprob == pytest.approx(b.scores.logprob, abs=1e-4)

    check()


def test_rows_follow_their_draft_for_as_long_as_they_agree(tiny_model, monkeypatch):
    """Counts the steps: a row takes one for each token after the one at which it parts, and no other."""
    model = tiny_model("llama")
    steps: list[int] = []
    step = HookedBatch.step

    def counted(batch, tokens):
        steps.append(len(tokens))
        return step(batch, tokens)

    monkeypatch.setattr(HookedBatch, "step", counted)
    prompt, how = Prompt("A system text that all prompts share.", (), "It is "), Decoding(16)
    scales = [
        Scale(Site(layer, Point.MLP_OUT), factor) for layer in range(4) for factor in (-3.0, 0.0, 0.8, 1.0)
    ]
    procedures = [Procedure(prompt, how), *(Procedure(prompt, how, (scale,)) for scale in scales)]
    plain, *edited = (c.tokens for c in model.generate([Request("How many?", p) for p in procedures]))
    agreed = [
        len(list(takewhile(lambda pair: pair[0] == pair[1], zip(plain, tokens, strict=False))))
        for tokens in edited
    ]
    assert min(agreed) < 2 < max(agreed) == 16  # some part at once, and some never
    expected = sum(max(0, len(t) - 1 - n) for t, n in zip(edited, agreed, strict=True))
    assert sum(steps) == len(plain) - 1 + expected


def first_logits(model, layout, n_prompts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of a shared batch, under another layout, and of each prompt alone."""
    beginning = tuple(range(40, 60))
    prompts = [(*beginning, *range(70, 75 + 3 * i)) for i in range(n_prompts)]
    rows = [(silence(layer),) for layer in range(N_LAYERS)]
    asked = [(prompt, row) for prompt in prompts for row in rows]
    other = dataclasses.replace(model, layout=layout)
    with torch.inference_mode():
        together = HookedBatch(other, Batch([p for p, _ in asked], [row for _, row in asked], [])).prefill()
        alone = [model.forward(p, interventions=row).logits[0, -1] for p, row in asked]
    return together, torch.stack(alone)


@pytest.mark.parametrize("name", ["gpt_neo", "mpt", "bloom"])
def test_what_a_layout_says_cannot_be_shared_goes_wrong_if_it_is(tiny_model, name):
    """Padding behind a prefix shifts positions by index; rows that join lose a bias of one entry a head."""
    model = tiny_model(name)
    together, alone = first_logits(model, model.layout, 2)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    careless = dataclasses.replace(model.layout, gaps=True, forks=True)
    try:
        together, alone = first_logits(model, careless, 2)
    except RuntimeError as error:
        assert "size" in str(error) or "shape" in str(error)  # noqa: PT017
    else:
        assert (together - alone).abs().max() > 1e-2


def test_a_sweep_runs_shared_layers_and_beginnings_once(tiny_model, monkeypatch):
    """Counts the layer-tokens that MLPs really see."""
    model = tiny_model("llama")
    seen: list[int] = []
    handles = [
        block.get_submodule("mlp").register_forward_pre_hook(
            lambda _m, args: seen.append(args[0][..., 0].numel())
        )
        for block in model.blocks
    ]
    prompt = Prompt("A system text that all prompts share, and a long one at that.", (), "It is ")
    sweep = [(), *((silence(layer),) for layer in range(N_LAYERS))]
    requests = [
        Request(text, Procedure(prompt, Decoding(1), edits)) for text in ("One?", "Two?") for edits in sweep
    ]
    try:
        completions = list(model.generate(requests))
        shared = sum(seen)
        seen.clear()
        monkeypatch.setattr(prefix, "MIN_PREFIX", 10**6)
        list(model.generate(requests))
        forked = sum(seen)
    finally:
        for handle in handles:
            handle.remove()
    n_prompt = len(completions[0].prompt.tokens)
    rows_by_layer = [2 + layer for layer in range(N_LAYERS)]  # base and the rows joined so far, of one prompt
    assert forked == 2 * n_prompt * sum(rows_by_layer)
    n_prefix = common_prefix([completions[0].prompt.tokens, completions[5].prompt.tokens])
    assert shared == forked - n_prefix * sum(rows_by_layer)
    assert forked < 0.8 * sum(c.n_layer_tokens for c in completions)
