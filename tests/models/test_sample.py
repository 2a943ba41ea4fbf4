"""Sampling: the distribution against transformers' own filters, and draws that depend on seeds alone."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from interp.errors import BadInput, Unsupported
from interp.intervention import silence
from interp.models.sample import Chooser, probabilities
from interp.procedure import Decoding, Procedure, Prompt, Request

TEXTS = ("Hi?", "Which number is smaller, 3 or 8?", "A much longer question than the others.")
SAMPLED = Decoding(8, temperature=0.8, top_p=0.95)


def theirs(logits: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    warpers = [TemperatureLogitsWarper(decoding.temperature)]
    if decoding.top_k:
        warpers.append(TopKLogitsWarper(decoding.top_k))
    if decoding.top_p < 1:
        warpers.append(TopPLogitsWarper(decoding.top_p))
    if decoding.min_p > 0:
        warpers.append(MinPLogitsWarper(decoding.min_p))
    for warper in warpers:
        logits = warper(None, logits)
    return logits.softmax(-1)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    temperature=st.floats(0.05, 5.0),
    top_k=st.integers(0, 60),
    top_p=st.floats(0.05, 1.0),
    min_p=st.floats(0.0, 1.0),
)
def test_the_distribution_is_that_of_transformers_filters(seed, temperature, top_k, top_p, min_p):
    logits = torch.randn(3, 40, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3
    decoding = Decoding(4, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    found = probabilities(logits, decoding)
    torch.testing.assert_close(found, theirs(logits, decoding), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.float64))
    assert bool((found.gather(-1, logits.argmax(-1, keepdim=True)) > 0).all())


def test_draws_follow_the_distribution():
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, 0.5, -8.0]])
    decoding = Decoding(4, temperature=1.5, top_k=5)
    n = 4000
    chooser = Chooser([decoding] * n, range(n))
    drawn = collections.Counter(chooser.choose(logits.expand(n, -1), range(n)))
    expected = probabilities(logits, decoding)[0].numpy()
    assert drawn[5] == 0
    assert chisquare([drawn[i] for i in range(5)], expected[:5] * n).pvalue > 1e-3


def test_one_row_draws_anew_each_step_and_the_same_with_the_same_seed():
    logits = torch.zeros(1, 1000)
    decoding = Decoding(4, temperature=1.0)
    first, again, other = (Chooser([decoding], [seed]) for seed in (7, 7, 8))
    draws = [[chooser.choose(logits, [0])[0] for _ in range(30)] for chooser in (first, again, other)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) > 20


@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen3_next", "lens:llama"])
def test_what_is_drawn_depends_on_the_seed_and_not_on_the_batch(tiny_model, name):
    model = tiny_model(name)
    requests = [
        Request(text, Procedure(Prompt(), decoding, edits), seed)
        for text in TEXTS
        for seed in (0, 1, 2**62)
        for edits, decoding in (((), SAMPLED), ((silence(1),), SAMPLED), ((), Decoding(5)))
    ]
    together = list(model.generate(requests))
    assert together == [next(iter(model.generate([request]))) for request in requests]
    assert list(reversed(list(model.generate(requests[::-1])))) == together
    sampled = {
        c.tokens for c, r in zip(together, requests, strict=True) if not r.procedure.decoding.is_greedy
    }
    greedy = {c.tokens for c, r in zip(together, requests, strict=True) if r.procedure.decoding.is_greedy}
    assert len(sampled) == 18
    assert len(greedy) <= 3


def test_a_low_temperature_and_the_most_probable_token_alone_are_greedy(tiny_model):
    model = tiny_model("llama")
    greedy = [c.tokens for c in model.generate([Request(text, Procedure()) for text in TEXTS])]
    for decoding in (
        Decoding(temperature=1e-4),
        Decoding(temperature=2.0, top_k=1),
        Decoding(temperature=2.0, min_p=1.0),
    ):
        requests = [Request(text, Procedure(decoding=decoding), 3) for text in TEXTS]
        assert [c.tokens for c in model.generate(requests)] == greedy


def test_frequencies_of_first_tokens_are_the_models_probabilities(tiny_model):
    model = tiny_model("qwen3")
    decoding = Decoding(1, temperature=2.0, top_k=4)
    tokens = model.render(TEXTS[0], Prompt()).tokens
    expected = probabilities(model.forward(tokens).logits[:, -1], decoding)[0].numpy()
    kept = np.flatnonzero(expected)
    requests = [Request(TEXTS[0], Procedure(decoding=decoding), seed) for seed in range(1500)]
    drawn = collections.Counter(c.tokens[0] for c in model.generate(requests))
    assert set(drawn) <= set(kept.tolist())
    assert chisquare([drawn[i] for i in kept], expected[kept] * 1500).pvalue > 1e-3


def test_nnsight_refuses_to_sample_before_anything_runs(tiny_model):
    model = tiny_model("nnsight:llama")
    with pytest.raises(Unsupported, match="To sample, load hooks:tiny:llama"):
        model.check_procedure(["x"], Procedure(decoding=SAMPLED))
    with pytest.raises(Unsupported, match="decodes greedily"):
        list(model.generate([Request("x", Procedure(decoding=SAMPLED))]))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"temperature": -1.0}, "temperature is a finite number of 0 or more, got -1"),
        ({"temperature": float("nan")}, "temperature is a finite number"),
        ({"temperature": 1.0, "top_p": 0.0}, "top_p is above 0 and at most 1, got 0"),
        ({"temperature": 1.0, "top_k": -1}, "top_k is a whole number"),
        ({"temperature": 1.0, "min_p": 1.5}, "min_p is in 0 to 1"),
        ({"top_p": 0.9}, "give a temperature above 0"),
    ],
)
def test_settings_that_no_draw_can_follow_are_refused(settings, says):
    with pytest.raises(BadInput, match=says):
        Decoding(**settings)


def test_a_greedy_procedure_keeps_its_key():
    assert "temperature" not in str(Procedure().to_json())
    sampled = Procedure(decoding=SAMPLED)
    assert Procedure.from_json(sampled.to_json()) == sampled
    assert (
        len(
            {
                sampled.key,
                Procedure(decoding=Decoding(8)).key,
                Procedure(decoding=Decoding(8, temperature=0.8)).key,
            }
        )
        == 3
    )
