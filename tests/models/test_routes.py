"""Laws of routes on every architecture: against unrolled deep copies, references of our own, and
`generate`."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import interp.models.routed
from interp.errors import BadWord, Unsupported
from interp.intervention import Intervention, Mean, Patch, Scale, silence
from interp.models.hooks import HooksModel
from interp.models.load import load
from interp.models.tiny import ARCHITECTURES, tiny
from interp.models.unroll import unroll
from interp.procedure import Decoding, Procedure, Prompt, Request, Template
from interp.reroute import skip
from interp.route import Damped, Half, Parallel, Part, Route, Slots
from interp.site import Point, Scope, Site

NAMES = sorted(ARCHITECTURES)
PROMPT = Prompt(template=Template.PLAIN)
TEXTS = ("Go", "Which is larger, 3 or 8?", "What is 3 plus 4? Say it in words, and think a while.")
N = 4
"""Layers of a tiny model."""

plain_routes = st.lists(st.integers(0, N - 1), min_size=1, max_size=7).map(lambda steps: Route(tuple(steps)))


def ask(route: Route | None, *edits: Intervention, n: int = 5) -> Procedure:
    return Procedure(PROMPT, Decoding(max_new_tokens=n), edits, route)


def unrolled(model: HooksModel, route: Route) -> torch.nn.Module:
    """A deep copy whose blocks stand in the order of the route, each with weights and a slot of its own."""
    module = copy.deepcopy(model.module)
    unroll(module, model, route)
    return module


def logits_of(module: torch.nn.Module, tokens: tuple[int, ...] | list[int]) -> torch.Tensor:
    ids = torch.tensor([list(tokens)])
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def greedy(module: torch.nn.Module, tokens: tuple[int, ...], n: int, ends: frozenset[int]) -> list[int]:
    """Decoded without a cache, alone."""
    new: list[int] = []
    while len(new) < n and not (new and new[-1] in ends):
        new.append(int(logits_of(module, [*tokens, *new])[0, -1].argmax()))
    return new


@pytest.mark.parametrize("name", NAMES)
def test_the_identity_is_bitwise_the_model(tiny_model, name):
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    identity = Route.identity(N)
    assert torch.equal(model.forward(tokens, route=identity).logits, model.forward(tokens).logits)
    sites = [Site(2, Point.MLP_OUT), Site(3, Point.RESID_POST)]
    edit = [Scale(Site(1, Point.MLP_OUT), 0.5)]
    one = model.forward(tokens, route=identity, interventions=edit, record=sites)
    other = model.forward(tokens, interventions=edit, record=sites)
    assert torch.equal(one.logits, other.logits)
    assert all(torch.equal(one.activations[site], other.activations[site]) for site in sites)
    (routed,) = model.generate([Request(TEXTS[1], ask(identity))])
    (plain,) = model.generate([Request(TEXTS[1], ask(None))])
    assert routed == plain


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6)
@given(route=plain_routes)
def test_one_pass_is_bitwise_an_unrolled_copy(tiny_model, name, route):
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens
    found = model.forward(tokens, route=route).logits
    assert torch.equal(found, logits_of(unrolled(model, route), tokens))
    if route != Route.identity(N):
        assert not torch.equal(found, model.forward(tokens).logits)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4)
@given(routes=st.lists(plain_routes, min_size=1, max_size=4))
def test_cached_batched_and_padded_is_uncached_and_alone(tiny_model, name, routes):
    """Routes of one batch, over prompts of three lengths, those that skip the first layers among them."""
    model = tiny_model(name)
    routes = [*routes, Route((1, 2, 3)), Route((0, 1, 1, 2, 3))]
    requests = [Request(text, ask(route)) for text in TEXTS for route in routes]
    copies = {route: unrolled(model, route) for route in routes}
    for request, found in zip(requests, model.generate(requests), strict=True):
        oracle = copies[request.procedure.route]
        assert list(found.tokens) == greedy(oracle, found.prompt.tokens, 5, model.end_tokens)


@pytest.mark.parametrize("name", NAMES)
def test_cached_logits_are_those_of_a_pass_over_the_text(tiny_model, name):
    """Where padding hides what a skipped layer would have told: every layer left out in turn."""
    model = tiny_model(name)
    for layer in range(N):
        route = skip(Route.identity(N), layer)
        for found in model.generate([Request(text, ask(route)) for text in TEXTS], scored=True):
            whole = [*found.prompt.tokens, *found.tokens[:-1]]
            logits = model.forward(whole, route=route).logits[0, len(found.prompt.tokens) - 1 :]
            chosen = logits.log_softmax(-1).gather(-1, torch.tensor(found.tokens)[:, None])[:, 0]
            assert found.scores.logprob == pytest.approx(chosen.tolist(), abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_halves_groups_and_damped_loops_are_what_they_say(tiny_model, name):
    """Against passes that start from a recorded stream: the formula by hand, layer by layer."""
    model = tiny_model(name)
    tokens = model.render(TEXTS[1], PROMPT).tokens

    def after(route: str, n: int = 0) -> torch.Tensor:
        parsed = Route.parse(route)
        site = Site(parsed.layers[-1], Point.RESID_POST, visit=parsed.layers.count(parsed.layers[-1]) - 1)
        return model.forward(tokens, route=parsed, record=[site]).activations[site]

    def contributions(route: str, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        sites = [Site(layer, Point.ATTN_OUT), Site(layer, Point.MLP_OUT)]
        seen = model.forward(tokens, route=Route.parse(route), record=sites).activations
        return seen[sites[0]], seen[sites[1]]

    start = after("0")
    attn, _ = contributions("0-1", 1)
    torch.testing.assert_close(after("0,1a"), start + attn, rtol=1e-5, atol=1e-5)
    _, mlp = contributions("0,1m", 1)
    torch.testing.assert_close(after("0,1m"), start + mlp, rtol=1e-5, atol=1e-5)
    pre = Site(3, Point.RESID_PRE)
    for line, expected in {
        "0,1|2,3": (after("0-1") + after("0,2")) / 2,
        "0,1|2|1,3": (2 * after("0-1") + after("0,2")) / 3,
        "0,(1)~2,3": None,
        "0,(1-2)~2,3": None,
    }.items():
        seen = model.forward(tokens, route=Route.parse(line), record=[pre]).activations[pre]
        if expected is not None:
            torch.testing.assert_close(seen, expected, rtol=1e-5, atol=1e-5)
            continue
        inside = line[3:].split(")")[0]
        first, second = (Site(int(inside[0]), Point.RESID_PRE, visit=visit) for visit in (0, 1))
        posts = [Site(int(inside[-1]), Point.RESID_POST, visit=visit) for visit in (0, 1)]
        at = model.forward(tokens, route=Route.parse(line), record=[first, second, *posts]).activations
        torch.testing.assert_close(at[first], start)
        torch.testing.assert_close(at[posts[0]], after(f"0,{inside}"), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(at[second], start + (at[posts[0]] - start) / 2, rtol=1e-5, atol=1e-5)
        step = at[second] + (at[posts[1]] - at[second]) / 2
        torch.testing.assert_close(seen, step, rtol=1e-5, atol=1e-5)


GROUPED = [
    Route.parse(line) for line in ("0,1|2,3", "0,(1-2)~3,3", "0,1a,2m,3", "0-1,1a|1m,3", "(0)~2,1|3|0", "0-3")
]


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_all_kinds_is_each_alone_and_cached_is_uncached(tiny_model, name):
    model = tiny_model(name)
    edits: list[tuple[Intervention, ...]] = [(), (silence(1),), (Scale(Site(3, Point.ATTN_OUT), 0.5),)]
    requests = [Request(text, ask(route, *edits[i % 3])) for text in TEXTS for i, route in enumerate(GROUPED)]
    for request, found in zip(requests, model.generate(requests), strict=True):
        (alone,) = model.generate([request])
        assert found == alone
        new: list[int] = []
        route, acting = request.procedure.route, request.procedure.interventions
        while len(new) < len(found.tokens):
            whole = [*found.prompt.tokens, *new]
            new.append(int(model.forward(whole, route=route, interventions=acting).logits[0, -1].argmax()))
        assert list(found.tokens) == new


@pytest.mark.parametrize("name", NAMES)
def test_edits_act_at_every_visit_or_at_the_one_that_is_named(tiny_model, name):
    model = tiny_model(name)
    route = Route((0, 1, 1, 2, 3))
    tokens = model.render(TEXTS[1], PROMPT).tokens
    for visit, expected in ((None, "0,1a,1a,2-3"), (0, "0,1a,1,2-3"), (1, "0-1,1a,2-3")):
        edit = Scale(Site(1, Point.MLP_OUT, visit=visit), 0.0)
        found = model.forward(tokens, route=route, interventions=[edit]).logits
        assert torch.equal(found, model.forward(tokens, route=Route.parse(expected)).logits)
        one, other = model.generate(
            [Request(TEXTS[1], ask(route, edit)), Request(TEXTS[1], ask(Route.parse(expected)))]
        )
        assert one.tokens == other.tokens


def test_visits_are_recorded_apart_in_prompt_and_answer(tiny_model):
    model = tiny_model("qwen3")
    route = Route((0, 1, 1, 3))
    sites = [Site(1, Point.MLP_OUT, visit=visit) for visit in (0, 1)] + [Site(3, Point.RESID_POST)]
    requests = [Request(text, ask(route)) for text in TEXTS]
    for found in model.generate(requests, record=sites):
        whole = [*found.prompt.tokens, *found.tokens[:-1]]
        seen = model.forward(whole, route=route, record=sites).activations
        for site in sites:
            both = torch.cat([found.activations[site].prompt, found.activations[site].new])
            torch.testing.assert_close(both, seen[site][0], rtol=1e-4, atol=1e-5)
    copied = unrolled(model, route)
    blocks = copied.get_submodule("model.layers")
    raw: list[torch.Tensor] = []
    handle = blocks[2].get_submodule("mlp").register_forward_hook(lambda _m, _a, out: raw.append(out))
    tokens = model.render(TEXTS[1], PROMPT).tokens
    logits_of(copied, tokens)
    handle.remove()
    second = model.forward(tokens, route=route, record=[sites[1]]).activations[sites[1]]
    assert torch.equal(raw[0], second)


def test_means_and_patches_reach_one_visit(tiny_model):
    model = tiny_model("llama")
    route = Route((0, 1, 1, 2, 3))
    tokens = model.render(TEXTS[1], PROMPT).tokens
    site = Site(1, Point.MLP_OUT)
    vector = torch.linspace(-1, 1, model.d_model)
    second = Site(1, Point.MLP_OUT, visit=1)
    seen = model.forward(
        tokens, route=route, interventions=[Mean(second, "ab")], references={"ab": {site: vector}},
        record=[Site(1, Point.MLP_OUT, visit=0), second],
    ).activations  # fmt: skip
    assert torch.equal(seen[second][0, 3], vector)
    assert not torch.equal(seen[Site(1, Point.MLP_OUT, visit=0)][0, 3], vector)
    found = seen[Site(1, Point.MLP_OUT, visit=0)][0]
    patched = model.forward(
        tokens, route=route, interventions=[Patch(second, "cd")], references={"cd": {site: found}},
        record=[second],
    ).activations[second]  # fmt: skip
    assert torch.equal(patched[0], found)


def reference(model: HooksModel, tokens: tuple[int, ...], n_prompt: int, route: Route) -> torch.Tensor:
    """Logits at the last token of a llama, token by token, from its projections alone.

    A visit sees what the same visit of its layer wrote; in new tokens, where the prompt has no such visit,
    what the layer's last visit wrote in the prompt.
    """
    inner: Any = model.module.get_submodule("model")
    config = model.config
    n_heads, n_kv = config.num_attention_heads, config.num_key_value_heads
    written: dict[tuple[int, int], list[tuple[torch.Tensor, torch.Tensor]]] = {}
    whole: dict[tuple[int, int], list[tuple[torch.Tensor, torch.Tensor]]] = {}
    x = torch.zeros(0)
    for position, token in enumerate(tokens):
        phase = Scope.PROMPT if position < n_prompt else Scope.DECODE
        layers = route.layers if route.scope in (phase, Scope.BOTH) else tuple(range(N))
        if position == n_prompt:
            whole = {slot: [*found] for slot, found in written.items()}
        x = inner.embed_tokens(torch.tensor([[token]]))
        cos, sin = inner.rotary_emb(x, torch.tensor([[position]]))
        counts: dict[int, int] = {}
        for layer in layers:
            nth = counts.get(layer, 0)
            counts[layer] = nth + 1
            if phase is Scope.DECODE and (layer, nth) not in written:
                others = [slot for slot in whole if slot[0] == layer]
                written[layer, nth] = [*whole[max(others)]] if others else []
            block = inner.layers[layer]
            h = block.input_layernorm(x)
            q, k, v = (
                getattr(block.self_attn, f"{kind}_proj")(h)[0, 0].view(heads, -1)
                for kind, heads in (("q", n_heads), ("k", n_kv), ("v", n_kv))
            )
            q, k = (_rotated(part, cos[0, 0], sin[0, 0]) for part in (q, k))
            slot = written.setdefault((layer, nth), [])
            slot.append((k, v))
            keys = torch.stack([key for key, _ in slot]).repeat_interleave(n_heads // n_kv, dim=1)
            values = torch.stack([value for _, value in slot]).repeat_interleave(n_heads // n_kv, dim=1)
            weights = (torch.einsum("hd,khd->hk", q, keys) / q.shape[-1] ** 0.5).softmax(-1)
            x = x + block.self_attn.o_proj(torch.einsum("hk,khd->hd", weights, values).reshape(1, 1, -1))
            x = x + block.mlp(block.post_attention_layernorm(x))
    return model.head(x)[0, 0]


def _rotated(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = heads.chunk(2, dim=-1)
    return heads * cos + torch.cat([-second, first], dim=-1) * sin


@settings(max_examples=12)
@given(steps=st.lists(st.integers(0, N - 1), min_size=1, max_size=6), scope=st.sampled_from(list(Scope)))
def test_scope_says_at_which_positions_a_route_holds(tiny_model, steps, scope):
    model = tiny_model("llama")
    route = Route(tuple(steps), scope)
    requests = [Request(text, ask(route, n=4)) for text in TEXTS]
    with torch.no_grad():
        for found in model.generate(requests, scored=True):
            new: list[int] = []
            for token, logprob in zip(found.tokens, found.scores.logprob, strict=True):
                whole = (*found.prompt.tokens, *new)
                logits = reference(model, whole, len(found.prompt.tokens), route)
                assert logprob == pytest.approx(float(logits.log_softmax(-1)[token]), abs=1e-4)
                new.append(token)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("line", ["0,2-3@prompt", "0-1,1-3@decode", "0,3@decode", "0-1,1-3@prompt"])
def test_scopes_on_every_architecture(tiny_model, name, line):
    """The first token is the prompt's, whatever follows; a batch is each alone; identity is the model."""
    model = tiny_model(name)
    route = Route.parse(line)
    found = list(model.generate([Request(text, ask(route)) for text in TEXTS]))
    for text, completion in zip(TEXTS, found, strict=True):
        assert list(model.generate([Request(text, ask(route))])) == [completion]
        at_prompt = route if route.scope is Scope.PROMPT else None
        first = model.forward(completion.prompt.tokens, route=at_prompt and Route(at_prompt.steps))
        assert completion.tokens[0] == int(first.logits[0, -1].argmax())
    whole = Route(tuple(range(N)), route.scope)
    (one,) = model.generate([Request(TEXTS[1], ask(whole))])
    (other,) = model.generate([Request(TEXTS[1], ask(None))])
    assert one.tokens == other.tokens


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith(("qwen3_5", "qwen3_next"))])
def test_what_fills_an_empty_slot_is_never_read(tiny_model, name, monkeypatch):
    """A layer that the prompt skips has nothing of it to read: what stands in its place changes no token.

    A recurrent layer starts from a state of zeros instead.
    """
    model = tiny_model(name)
    requests = [Request(text, ask(Route.parse("0,2-3@prompt"), n=4)) for text in TEXTS]
    expected = list(model.generate(requests, scored=True))
    made = interp.models.routed.picked

    def with_noise(parts, order, *, empty):
        layer = made(parts, order, empty=empty)
        for row, nothing in enumerate(empty):
            if nothing:
                layer.keys[row] = torch.randn_like(layer.keys[row])
                layer.values[row] = torch.randn_like(layer.values[row])
        return layer

    monkeypatch.setattr(interp.models.routed, "picked", with_noise)
    for one, other in zip(model.generate(requests, scored=True), expected, strict=True):
        assert one.tokens == other.tokens
        assert one.scores.logprob == pytest.approx(other.scores.logprob, abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3", "phi3"])
def test_published_slots_are_what_code_that_runs_a_module_again_does(name):
    """`generate` of transformers on a model whose list of blocks names the same block twice."""
    route = Route((0, 1, 1, 2, 2, 3), slots=Slots.PUBLISHED)
    model = tiny(name)
    above, _, leaf = model.layout.blocks.rpartition(".")
    again = copy.deepcopy(model.module)
    owner = again.get_submodule(above)
    blocks = list(getattr(owner, leaf))
    setattr(owner, leaf, torch.nn.ModuleList([blocks[layer] for layer in route.layers]))
    again.config.num_hidden_layers = len(route.layers)
    if getattr(again.config, "layer_types", None):
        again.config.layer_types = [model.config.layer_types[layer] for layer in route.layers]
    for found in model.generate([Request(text, ask(route, n=8)) for text in TEXTS]):
        ids = torch.tensor([found.prompt.tokens])
        theirs: Any = again.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False,
            pad_token_id=model.tokenizer.pad_token_id,
        )  # fmt: skip
        assert list(found.tokens) == theirs[0, ids.shape[1] :].tolist()[: len(found.tokens)]


def test_published_slots_that_break_an_architecture_are_an_error():
    with pytest.raises(Unsupported, match="breaks on this architecture, as the code does that it stands for"):
        list(tiny("gemma3").generate([Request(TEXTS[1], ask(Route((0, 1, 1, 2, 3), slots=Slots.PUBLISHED)))]))


def test_published_slots_are_another_answer():
    """The artefact is there: on most prompts the text is not the one that the route stands for."""
    model = tiny("llama")
    steps = (0, 1, 2, 1, 2, 3)
    texts = [f"Which is larger, {i} or {9 - i}?" for i in range(8)]
    right = model.generate([Request(text, ask(Route(steps), n=12)) for text in texts])
    wrong = model.generate([Request(text, ask(Route(steps, slots=Slots.PUBLISHED), n=12)) for text in texts])
    assert sum(a.tokens != b.tokens for a, b in zip(right, wrong, strict=True)) >= len(texts) // 2


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_as_it_was_after_a_route_and_after_an_exception(name):
    model = tiny(name)
    tokens = model.render(TEXTS[0], PROMPT).tokens
    plain = model.forward(tokens).logits
    config, state = model.config.to_dict(), {k: v.clone() for k, v in model.module.state_dict().items()}
    blocks = model.module.get_submodule(model.layout.blocks)
    numbers = [(id(m), getattr(m, "layer_idx", None)) for m in model.module.modules()]
    route = Route((1, 0, 0, 3))
    list(model.generate([Request(TEXTS[0], ask(route))]))

    def explode(*_):
        raise RuntimeError("inside")

    handle = model.blocks[0].register_forward_hook(explode)
    with pytest.raises(RuntimeError, match="inside"):
        list(model.generate([Request(TEXTS[0], ask(route))]))
    with pytest.raises(RuntimeError, match="inside"):
        model.forward(tokens, route=route)
    handle.remove()
    assert model.module.get_submodule(model.layout.blocks) is blocks
    assert model.config.to_dict() == config
    assert numbers == [(id(m), getattr(m, "layer_idx", None)) for m in model.module.modules()]
    assert all(torch.equal(state[key], value) for key, value in model.module.state_dict().items())
    assert torch.equal(model.forward(tokens).logits, plain)


def test_what_routes_share_is_run_once(tiny_model):
    """Common leading layers of one prompt run once; other rows wait for those that go back."""
    model = tiny_model("llama")
    runs = [0] * N
    handles = [
        block.register_forward_hook(lambda _m, _a, _o, layer=layer: runs.__setitem__(layer, runs[layer] + 1))
        for layer, block in enumerate(model.blocks)
    ]
    rows: list[int] = []
    handles.append(
        model.blocks[0].register_forward_pre_hook(lambda _m, args, kwargs: rows.append(len(
            args[0] if args else kwargs["hidden_states"])), with_kwargs=True)
    )  # fmt: skip
    routes = [Route((0, 1, 2, 3)), Route((0, 1, 2)), Route((0, 1, 3)), Route((0, 1, 0, 1, 2, 3))]
    list(model.generate([Request(TEXTS[1], ask(route, n=1)) for route in routes]))
    for handle in handles:
        handle.remove()
    assert runs == [2, 2, 1, 1]
    assert rows == [1, 1]


def test_cost_counts_layers_of_the_route(tiny_model):
    model = tiny_model("llama")
    for line, prompt, new in (("0-3,3", 5, 5), ("0,1a", 1.5, 1.5), ("0@prompt", 1, 4), ("0,0@decode", 4, 2)):
        (found,) = model.generate([Request(TEXTS[1], ask(Route.parse(line), n=3))])
        n_prompt, n_new = len(found.prompt.tokens), len(found.tokens) - 1
        assert found.n_layer_tokens == -(-(prompt * n_prompt + new * n_new) // 1)


def test_gradients_flow_through_a_route(tiny_model):
    model = tiny_model("llama")
    site = Site(1, Point.MLP_OUT, visit=1)
    tokens = model.render(TEXTS[0], PROMPT).tokens
    route = Route.parse("0-1,1|2,1,(3)~2")
    seen = model.forward(tokens, route=route, record=[site], with_grad=True)
    (gradient,) = torch.autograd.grad(seen.logits[0, -1, 7], [seen.activations[site]])
    slope = float((gradient * seen.activations[site].detach()).sum())
    up, down = (
        float(model.forward(tokens, route=route, interventions=[Scale(site, f)]).logits[0, -1, 7])
        for f in (1.001, 0.999)
    )
    assert slope == pytest.approx((up - down) / 0.002, rel=0.05, abs=0.02)


@pytest.mark.parametrize(
    ("route", "error", "says"),
    [
        ("0-4", BadWord, r"names layer 4 at place 4, but the model has layers 0 to 3"),
        (
            ",".join(["0-3"] * 5),
            BadWord,
            r"runs 20 layers, and a route of a model with 4 layers runs at most 16",
        ),
    ],
)
def test_routes_that_cannot_be_run_are_refused_before_anything_runs(tiny_model, route, error, says):
    model = tiny_model("llama")
    parsed = Route.parse(route)
    with pytest.raises(error, match=says):
        model.check_procedure(["x"], ask(parsed))
    with pytest.raises(error, match=says):
        list(model.generate([Request("x", ask(parsed))]))
    with pytest.raises(error, match=says):
        model.forward([1, 2], route=parsed)


@pytest.mark.parametrize("name", ["lens:llama", "nnsight:llama"])
def test_other_backends_refuse_routes(tiny_model, name):
    with pytest.raises(Unsupported, match="runs each layer once, in order"):
        tiny_model(name).forward([1, 2], route=Route((0,)))
    with pytest.raises(Unsupported, match="runs each layer once, in order"):
        list(load(name.replace(":", ":tiny:")).generate([Request("x", ask(Route((0,))))]))


def test_visits_that_do_not_exist_are_refused(tiny_model):
    model = tiny_model("llama")
    route = Route((0, 1, 1, 3))
    third = Scale(Site(1, Point.MLP_OUT, visit=2), 0.0)
    with pytest.raises(Unsupported, match=r"Layer 1 runs 2 times, so there is no L1\.mlp_out#2"):
        model.forward([1, 2], route=route, interventions=[third])
    with pytest.raises(Unsupported, match=r"Layer 1 runs 1 times, so there is no L1\.mlp_out#2"):
        model.forward([1, 2], interventions=[third])
    with pytest.raises(Unsupported, match=r"name the visit: L1\.mlp_out#0"):
        model.forward([1, 2], route=route, record=[Site(1, Point.MLP_OUT)])
    with pytest.raises(Unsupported, match=r"does not run layer 2, so there is no L2\.mlp_out"):
        model.forward([1, 2], route=route, record=[Site(2, Point.MLP_OUT)])
    assert model.forward([1, 2], route=route, interventions=[silence(2)]).logits.isfinite().all()


def test_layers_that_depend_on_their_number_cannot_be_routed():
    model = tiny("gpt2")
    model.config.scale_attn_by_inverse_layer_idx = True
    with pytest.raises(Unsupported, match="depend on their number"):
        model.forward([1, 2], route=Route((0, 2)))


def test_words_of_a_route_in_a_batch_are_what_they_print(tiny_model):
    model = tiny_model("llama")
    route = Route((0, Half(1, Part.MLP), Parallel((1, Half(2, Part.ATTN))), Damped((2, 3), 2)))
    assert str(route) == "0,1m,1|2a,(2-3)~2"
    one, other = model.generate([Request("x", ask(route)), Request("x", ask(Route.parse(str(route))))])
    assert one == other
