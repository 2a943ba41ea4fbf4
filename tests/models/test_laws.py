"""Laws that reads, edits and generation obey on every architecture and backend, against independent oracles.

Where a law is not tested stands in `support.NOT_TESTED`, with the reason.
"""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support import LLAMAS, NAMES, NOT_TESTED, REFUSED, running, table

from interp.errors import BadInput, BadLogits, LoadRefused, QuestionTooLong, Unsupported
from interp.intervention import Mean, Scale, Scope, silence
from interp.models.backend import Backend
from interp.models.layout import LAYOUTS, blocks_of
from interp.models.lens import LensModel
from interp.models.load import load
from interp.models.tiny import ARCHITECTURES, tiny
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.site import Point, Site

PARALLEL = tuple(
    name
    for name in NAMES
    if name.rpartition(":")[2] in ("cohere2", "falcon", "falcon_grouped", "gpt_neox", "gptj")
)
TEXTS = (
    "Hi?",
    "Which number is smaller, 3 or 8?",
    "A much longer question than the others, with more words in it.",
)
PROMPT = Prompt(system="Be brief.", answer_prefix="It is ")


def ask(*edits: Scale | Mean, n: int = 6, stop: tuple[str, ...] = ()) -> Procedure:
    return Procedure(PROMPT, Decoding(n, stop), edits)


def plain_logits(module: torch.nn.Module, tokens: tuple[int, ...]) -> torch.Tensor:
    ids = torch.tensor([tokens])
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids)).logits


def untouched_logits(model: Backend, tokens: tuple[int, ...]) -> torch.Tensor:
    """What the backend's own model gives when nothing of ours is on it."""
    if not isinstance(model, LensModel):
        return plain_logits(model.module, tokens)
    with torch.no_grad():
        return model.bridge.forward(torch.tensor([tokens]), return_type="logits")


def assert_same(model: Backend, found: torch.Tensor, expected: torch.Tensor) -> None:
    """Bitwise; but TransformerLens attends in another way than the transformers model that is the oracle."""
    if isinstance(model, LensModel):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    else:
        assert torch.equal(found, expected)


def zeroed(model, layer: int, path: str) -> torch.nn.Module:
    """A deep copy in which every weight of a block's contribution is zero."""
    module = copy.deepcopy(model.module)
    block = module.get_submodule(model.layout.blocks)[layer]
    target = block.get_submodule(path)
    last = target if any(True for _ in target.parameters()) else block.get_submodule(model.layout.mlp)
    for parameter in last.parameters():
        torch.nn.init.zeros_(parameter)
    if model.config.model_type.startswith("gemma") and last is target:
        torch.nn.init.constant_(target.weight, -1.0)  # Gemma's norms multiply by 1 + weight
    return module


def greedy_alone(module: torch.nn.Module, tokens: tuple[int, ...], n: int, end: frozenset[int]) -> list[int]:
    """Greedy decoding by full passes, one sequence, no cache, no padding."""
    new: list[int] = []
    while len(new) < n and (not new or new[-1] not in end):
        new.append(int(plain_logits(module, (*tokens, *new))[0, -1].argmax()))
    return new


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
@pytest.mark.parametrize("backend", ["lens", "nnsight"])
def test_a_backend_loads_an_architecture_or_refuses_it_with_the_reason(backend, name):
    says = REFUSED.get((backend, name))
    if says is None:
        load(f"{backend}:tiny:{name}")  # the load checks hold
        return
    with pytest.raises((Unsupported, LoadRefused), match=rf"{says}.*tiny:{name}"):
        load(f"{backend}:tiny:{name}")


def test_the_table_in_the_readme_is_what_is_tested():
    assert table() in (Path(__file__).parent.parent.parent / "README.md").read_text()


def test_every_exception_has_a_reason():
    assert all(len(reason.split()) >= 4 for reason in (*NOT_TESTED.values(), *REFUSED.values()))


def test_every_row_of_the_layout_has_a_tiny_model():
    assert {model_type for model_type, _ in ARCHITECTURES.values()} == set(LAYOUTS)


@pytest.mark.parametrize("name", NAMES)
def test_forward_is_bitwise_the_untouched_model(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    expected = untouched_logits(model, tokens)
    points = [p for p in Point if not (model.layout.parallel and p is Point.RESID_MID)]
    everything = [Site(layer, point) for layer in range(model.n_layers) for point in points]
    assert torch.equal(model.forward(tokens).logits, expected)
    assert torch.equal(model.forward(tokens, record=everything).logits, expected)
    ones = [Scale(Site(layer, Point.MLP_OUT), 1.0) for layer in range(model.n_layers)]
    assert torch.equal(model.forward(tokens, interventions=ones).logits, expected)


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_the_stream(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    points = (Point.RESID_PRE, Point.ATTN_OUT, Point.MLP_OUT, Point.RESID_POST)
    sites = [Site(layer, point) for layer in range(model.n_layers) for point in points]
    edit = Scale(Site(1, Point.MLP_OUT), 0.5)
    for edits in ((), (edit,)):
        seen = model.forward(tokens, record=sites, interventions=edits).activations
        for layer in range(model.n_layers):
            pre, attn, mlp, post = (seen[Site(layer, point)] for point in points)
            torch.testing.assert_close(pre + attn + mlp, post, rtol=1e-5, atol=1e-5)
        for layer in range(1, model.n_layers):
            assert torch.equal(seen[Site(layer, Point.RESID_PRE)], seen[Site(layer - 1, Point.RESID_POST)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layer", [0, 2])
def test_silencing_equals_zeroed_weights(tiny_model, name, layer):
    model = tiny_model(name)
    oracle = zeroed(model, layer, model.layout.mlp_out)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    found = model.forward(tokens, interventions=[silence(layer)]).logits
    assert_same(model, found, plain_logits(oracle, tokens))
    (completion,) = model.generate([Request(TEXTS[1], ask(silence(layer)))])
    assert list(completion.tokens) == greedy_alone(oracle, tokens, 6, model.end_tokens)


@pytest.mark.parametrize("name", NAMES)
def test_silencing_matters_and_halving_differs_from_it(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    site = Site(1, Point.MLP_OUT)
    logits = [model.forward(tokens, interventions=[Scale(site, f)]).logits for f in (0.0, 0.5, 1.0)]
    for one, other in itertools.combinations(logits, 2):
        assert (one - other).abs().max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_greedy_decoding_equals_transformers_generate_batched_and_left_padded(tiny_model, name):
    model = tiny_model(name)
    completions = list(model.generate([Request(text, ask(n=12)) for text in TEXTS]))
    tokenizer = model.tokenizer
    texts = [completion.prompt.text for completion in completions]
    inputs = tokenizer(
        texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False,
        return_token_type_ids=False,
    )  # fmt: skip
    out = model.module.generate(
        **inputs, max_new_tokens=12, do_sample=False, pad_token_id=tokenizer.pad_token_id
    )
    for row, completion in enumerate(completions):
        theirs = out[row, inputs.input_ids.shape[1] :].tolist()
        assert list(completion.tokens) == theirs[: len(completion.tokens)]
        assert all(token == tokenizer.pad_token_id for token in theirs[len(completion.tokens) :])


@pytest.mark.parametrize("name", NAMES)
def test_a_mixed_batch_equals_each_request_alone(tiny_model, name):
    model = tiny_model(name)
    mean = {"ab": {Site(3, Point.MLP_OUT): torch.linspace(-1, 1, model.d_model)}}
    procedures = [
        ask(n=3),
        ask(silence(0)),
        ask(silence(2, Scope.PROMPT)),
        ask(silence(1, Scope.DECODE), n=9),
        ask(Mean(Site(3, Point.MLP_OUT), "ab")),
        ask(Scale(Site(1, Point.ATTN_OUT), -0.5), silence(3)),
    ]
    requests = [Request(text, procedure) for text in TEXTS for procedure in procedures]
    together = list(model.generate(requests, references=mean))
    for request, completion in zip(requests, together, strict=True):
        (alone,) = model.generate([request], references=mean)
        assert completion == alone


@pytest.mark.parametrize("name", LLAMAS)
@pytest.mark.parametrize("scope", list(Scope))
def test_scope_decides_which_positions_are_edited(tiny_model, name, scope):
    """Against full passes that edit by position: the prompt's, or those decoded so far."""
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    (completion,) = model.generate([Request(TEXTS[1], ask(silence(1, scope), n=8))])
    mlp = model.blocks[1].get_submodule("mlp")
    new: list[int] = []

    def edit(_module, _args, output):
        keep = torch.ones(output.shape[1])
        if scope is not Scope.DECODE:
            keep[: len(tokens)] = 0
        if scope is not Scope.PROMPT:
            keep[len(tokens) :] = 0
        return output * keep[None, :, None]

    with torch.no_grad():
        handle = mlp.register_forward_hook(edit)
        while len(new) < len(completion.tokens):
            new.append(int(plain_logits(model.module, (*tokens, *new))[0, -1].argmax()))
        handle.remove()
    assert list(completion.tokens) == new


@pytest.mark.parametrize("name", LLAMAS)
def test_the_order_of_writing_edits_does_not_matter(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[0], PROMPT).tokens
    edits = [silence(1), Scale(Site(2, Point.MLP_OUT), 0.3), Scale(Site(2, Point.MLP_OUT), 0.7)]
    logits = [model.forward(tokens, interventions=order).logits for order in itertools.permutations(edits)]
    assert all(torch.equal(logits[0], other) for other in logits)
    keys = {Procedure(interventions=order).key for order in itertools.permutations(edits)}
    assert len(keys) == 1


@pytest.mark.parametrize("name", LLAMAS)
def test_edits_whose_order_would_matter_are_refused(tiny_model, name):
    model = tiny_model(name)
    site = Site(1, Point.MLP_OUT)
    mean = {"ab": {site: torch.zeros(model.d_model)}}
    with pytest.raises(BadInput, match="depends on their order"):
        model.forward([1, 2], interventions=[Mean(site, "ab"), Scale(site, 0.5)], references=mean)
    apart = [Mean(site, "ab", Scope.PROMPT), Scale(site, 0.5, Scope.DECODE)]
    assert model.forward([1, 2], interventions=apart, references=mean).logits.isfinite().all()


@pytest.mark.parametrize(
    ("tokens", "says"), [((), "at least one"), ((1, 259), "0 to 258"), ((-1,), "got -1")]
)
def test_tokens_that_the_vocabulary_lacks_are_refused(tiny_model, tokens, says):
    with pytest.raises(BadInput, match=says):
        tiny_model("llama").forward(tokens)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_as_it_was_after_success_and_after_an_exception(name):
    model = tiny(name) if ":" not in name else load(name.replace(":", ":tiny:"))
    hooks = hooks_on(running(model))
    before = {key: value.clone() for key, value in model.module.state_dict().items()}
    tokens = model.render(TEXTS[0], PROMPT).tokens
    plain = model.forward(tokens).logits
    list(model.generate([Request(TEXTS[0], ask(silence(1)))]))
    with pytest.raises(BadInput):
        model.forward(tokens, interventions=[Mean(Site(0, Point.MLP_OUT), "missing")])

    def explode(*_):
        raise RuntimeError("inside")

    handle = blocks_of(running(model), model.layout)[2].register_forward_hook(explode)
    with pytest.raises(Exception, match="inside"):
        list(model.generate([Request(TEXTS[0], ask(silence(1)))]))
    handle.remove()
    after = model.module.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert hooks_on(running(model)) == hooks
    assert torch.equal(model.forward(tokens).logits, plain)


def hooks_on(module: torch.nn.Module) -> list[tuple[int, int]]:
    """How many hooks are on each module."""
    return [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in module.modules()]


@pytest.mark.parametrize("name", LLAMAS)
def test_a_users_own_hook_survives(tiny_model, name):
    model = tiny_model(name)
    calls: list[int] = []
    module = running(model)
    handle = blocks_of(module, model.layout)[1].register_forward_hook(lambda *_: calls.append(1))
    model.forward([1, 2, 3], interventions=[silence(1)])
    n_calls = len(calls)
    module(input_ids=torch.tensor([[1, 2]]))
    handle.remove()
    assert n_calls == 1
    assert len(calls) == 2


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_contribution_and_match_a_finite_difference(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[0], PROMPT).tokens
    site = Site(1, Point.MLP_OUT)
    seen = model.forward(tokens, record=[site], with_grad=True)
    value = seen.logits[0, -1, 7] - seen.logits[0, -1, 9]
    (gradient,) = torch.autograd.grad(value, [seen.activations[site]])
    slope = float((gradient * seen.activations[site].detach()).sum())
    step = 1e-3  # small, since between the steps a router may choose other experts
    values = []
    for factor in (1 + step, 1 - step):
        logits = model.forward(tokens, interventions=[Scale(site, factor)]).logits[0, -1]
        values.append(float(logits[7] - logits[9]))
    assert slope == pytest.approx((values[0] - values[1]) / (2 * step), rel=0.05, abs=0.02)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in PARALLEL])
def test_resid_mid_is_between_attention_and_mlp(tiny_model, name):
    model = tiny_model(name)
    sites = [Site(1, point) for point in Point]
    seen = model.forward([5, 6, 7], record=sites).activations
    pre, attn, mid = (seen[Site(1, p)] for p in (Point.RESID_PRE, Point.ATTN_OUT, Point.RESID_MID))
    torch.testing.assert_close(pre + attn, mid, rtol=1e-6, atol=1e-6)


def test_parallel_blocks_are_those_listed(tiny_model):
    assert tuple(name for name in NAMES if tiny_model(name).layout.parallel) == PARALLEL


@pytest.mark.parametrize("name", PARALLEL)
def test_a_parallel_block_has_no_resid_mid(tiny_model, name):
    with pytest.raises(Unsupported, match="side by side"):
        tiny_model(name).forward([1], record=[Site(0, Point.RESID_MID)])


@pytest.mark.parametrize(("name", "scale"), [("granite", 0.7), ("llama", 1.0)])
def test_a_contribution_is_what_is_added_after_a_blocks_own_multiplier(tiny_model, name, scale):
    """The projection's raw output times the multiplier, bitwise; a mean takes the place of the product."""
    model = tiny_model(name)
    raw: list[torch.Tensor] = []
    handle = (
        model.blocks[1]
        .get_submodule("mlp.down_proj")
        .register_forward_hook(lambda _m, _a, output: raw.append(output))
    )
    site, after = Site(1, Point.MLP_OUT), Site(1, Point.RESID_POST)
    seen = model.forward([5, 6, 7], record=[site]).activations[site]
    handle.remove()
    assert torch.equal(seen, raw[0] * scale)
    mean = torch.linspace(-1, 1, model.d_model)
    edits, references = [Mean(site, "ab")], {"ab": {site: mean}}
    mid = Site(1, Point.RESID_MID)
    found = model.forward([5, 6, 7], interventions=edits, references=references, record=[mid, after])
    torch.testing.assert_close(found.activations[after], found.activations[mid] + mean)


@pytest.mark.parametrize("name", LLAMAS)
def test_a_missing_layer_is_named(tiny_model, name):
    model = tiny_model(name)
    with pytest.raises(Unsupported, match=r"layers 0 to 3.*L4\.mlp_out"):
        model.check_procedure(["x"], ask(silence(4)))
    with pytest.raises(Unsupported, match=r"L4\.mlp_out"):
        list(model.generate([Request("x", ask(silence(4)))]))


@pytest.mark.parametrize(
    "name", [n for n in NAMES if not n.endswith("bloom")]
)  # its position bias has no end
def test_the_context_is_the_configs(tiny_model, name):
    assert tiny_model(name).n_context == 512


@pytest.mark.parametrize("name", LLAMAS)
def test_a_question_longer_than_the_context_is_refused_before_anything_runs(tiny_model, name):
    model = tiny_model(name)
    with pytest.raises(QuestionTooLong, match=r"needs \d+ tokens .* at most 512"):
        model.check_procedure(["short", "x" * 600], ask())
    with pytest.raises(QuestionTooLong):
        list(model.generate([Request("x" * 600, ask())]))


def test_nan_logits_are_an_error_not_an_answer():
    model = tiny("llama")
    with torch.no_grad():
        model.blocks[2].get_submodule("mlp.down_proj").weight[0, 0] = float("nan")
    with pytest.raises(BadLogits, match="NaN"):
        list(model.generate([Request("x", ask())]))


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5),
    cuts=st.sets(st.integers(1, 4)),
    layers=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=5, max_size=5),
)
def test_results_do_not_depend_on_batch_size(tiny_model, texts, cuts, layers):
    model = tiny_model("qwen3")
    requests = [
        Request(text, ask(*([] if layer is None else [silence(layer)])))
        for text, layer in zip(texts, layers, strict=False)
    ]
    whole = list(model.generate(requests))
    edges = sorted({0, len(requests)} | {cut for cut in cuts if cut < len(requests)})
    parts = [c for a, b in itertools.pairwise(edges) for c in model.generate(requests[a:b])]
    assert whole == parts


@pytest.mark.parametrize("name", LLAMAS)
def test_stop_strings_cut_the_answer_and_end_it(tiny_model, name):
    model = tiny_model(name)
    (free,) = model.generate([Request(TEXTS[1], ask(n=12))])
    stop = free.text[4]
    (cut,) = model.generate([Request(TEXTS[1], ask(n=12, stop=(stop,)))])
    assert cut.text == free.text[: free.text.index(stop)]
    assert cut.finish == "stop"
    assert free.finish == "length"
    assert cut.tokens == free.tokens[: len(cut.tokens)]


@pytest.mark.parametrize("name", LLAMAS)
def test_cost_is_counted_as_the_request_would_cost_alone(tiny_model, name):
    model = tiny_model(name)
    first, second = model.generate([Request(TEXTS[0], ask(n=3)), Request(TEXTS[2], ask(n=7))])
    for completion in (first, second):
        assert completion.n_layer_tokens == 4 * (len(completion.prompt.tokens) + len(completion.tokens) - 1)
