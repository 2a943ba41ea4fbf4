"""What a model thinks of its tokens: against the definitions, and the same through every backend."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.intervention import silence
from interp.models.score import N_TOP, token_scores, token_starts
from interp.procedure import Decoding, Procedure, Prompt, Request, Template
from interp.route import Route

PLAIN = Prompt(template=Template.PLAIN)
BACKENDS = ("llama", "lens:llama", "nnsight:llama")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.floats(0.1, 30))
def test_scores_are_what_their_names_say(seed, n_vocab, scale):
    torch.manual_seed(seed)
    logits = torch.randn(3, n_vocab, dtype=torch.float64) * scale
    tokens = [0, n_vocab - 1, n_vocab // 2]
    for row, token, found in zip(logits, tokens, token_scores(logits, tokens), strict=True):
        logprobs = row.log_softmax(-1)
        shares = logprobs.exp()
        top = logprobs.sort(descending=True).values
        expected = (
            logprobs[token],
            -(shares * logprobs).sum(),
            top[0].exp() - top[1].exp(),
            -top[:N_TOP].mean(),
            -math.log(n_vocab) - logprobs.mean(),
        )
        assert found == pytest.approx([float(value) for value in expected], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_scored_answer_is_the_same_answer_with_the_scores_of_a_forward_pass(tiny_model, name):
    model = tiny_model(name)
    decoding = Decoding(max_new_tokens=6)
    requests = [
        Request(text, Procedure(PLAIN, decoding, edits))
        for text, edits in (("What is 3?", ()), ("Which is larger, 3 or 8?", (silence(1),)), ("Hm", ()))
    ]
    plain, scored = list(model.generate(requests)), list(model.generate(requests, scored=True))
    assert [c.scores for c in plain] == [None] * 3
    for request, before, after in zip(requests, plain, scored, strict=True):
        assert (after.text, after.tokens) == (before.text, before.tokens)
        whole = [*after.prompt.tokens, *after.tokens[:-1]]
        logits = model.forward(whole, interventions=request.procedure.interventions).logits[0]
        logits = logits[len(after.prompt.tokens) - 1 :].detach()
        columns = zip(*token_scores(logits, after.tokens), strict=True)
        names = ("logprob", "entropy", "margin", "confidence", "certainty")
        for field, expected in zip(names, columns, strict=True):
            assert getattr(after.scores, field) == pytest.approx(expected, abs=2e-4), field


def test_sampled_answers_are_scored_before_temperature(tiny_model):
    model = tiny_model("llama")
    requests = [
        Request("Go on", Procedure(PLAIN, Decoding(max_new_tokens=4, temperature=t)), 5) for t in (0.5, 5.0)
    ]
    for answer in model.generate(requests, scored=True):
        logits = model.forward([*answer.prompt.tokens, *answer.tokens[:-1]]).logits[0]
        logits = logits[len(answer.prompt.tokens) - 1 :].detach()
        expected = [row[0] for row in token_scores(logits, answer.tokens)]
        assert answer.scores.logprob == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", BACKENDS)
def test_given_answers_are_read_as_a_forward_pass_reads_them(tiny_model, name):
    model = tiny_model(name)
    texts = ("What is 3?", "Which is larger, 3 or 8?", "What is 3?")
    answers = ((5, 9, 2, 7), (11,), (5, 9, 3))
    edits = ((), (silence(1),), ())
    requests = [Request(t, Procedure(PLAIN, interventions=e)) for t, e in zip(texts, edits, strict=True)]
    found = model.answer_logprobs(requests, answers)
    for request, answer, logprobs in zip(requests, answers, found, strict=True):
        prompt = model.render(request.text, PLAIN).tokens
        edited = request.procedure.interventions
        logits = model.forward([*prompt, *answer[:-1]], interventions=edited).logits[0, len(prompt) - 1 :]
        expected = logits.detach().log_softmax(-1).gather(-1, torch.tensor(answer)[:, None])[:, 0]
        assert logprobs == pytest.approx(expected.tolist(), abs=2e-4)


def test_answers_are_read_on_a_route(tiny_model):
    model = tiny_model("llama")
    route = Route((0, 2, 2, 3))
    (found,) = model.answer_logprobs([Request("Hm", Procedure(PLAIN, route=route))], [(5, 9)])
    prompt = model.render("Hm", PLAIN).tokens
    logits = model.forward([*prompt, 5], route=route).logits[0, len(prompt) - 1 :].detach()
    expected = logits.log_softmax(-1).gather(-1, torch.tensor([[5], [9]]))[:, 0]
    assert found == pytest.approx(expected.tolist(), abs=2e-4)


@pytest.mark.parametrize("text", ["The answer is 42.", "Zürich, São Tomé", "数字 12 or 🙂 7?", "a\n\n b  c"])
def test_tokens_begin_where_their_text_does(tiny_model, text):
    model = tiny_model("llama")
    tokens = model.encode_answer(model.render("x", PLAIN), text)
    starts = token_starts(tokens, model.decode)
    assert starts[0] == 0
    assert list(starts) == sorted(starts)
    for i in range(len(tokens)):
        exact = len(model.decode(tokens[:i]))
        assert abs(starts[i] - exact) <= 1, "within a character that several tokens spell"
    ascii_only = all(ord(character) < 128 for character in text)
    if ascii_only:
        assert list(starts) == [len(model.decode(tokens[:i])) for i in range(len(tokens))]


def test_long_answers_are_placed_from_a_few_tokens_each(tiny_model):
    calls = []

    def to_text(tokens):
        calls.append(len(tokens))
        return "ab" * len(tokens)

    assert token_starts(range(500), to_text) == tuple(range(0, 1000, 2))
    assert max(calls) < 12
