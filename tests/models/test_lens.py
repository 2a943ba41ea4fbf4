"""The TransformerLens backend against the reference backend: number by number, and what it leaves behind."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from support import NAMES

from interp.errors import BadInput
from interp.intervention import EDITABLE, Intervention, Mean, Patch, Resample, Scale, Scope, silence
from interp.models.checkpoint import Checkpoint
from interp.models.decode import Batch
from interp.models.lens import LensModel
from interp.models.load import load
from interp.models.recording import Recording
from interp.models.tiny import tiny
from interp.procedure import Decoding, Procedure, Request
from interp.site import Point, Site

FAMILIES = ("gemma2", "gpt2", "gpt_neox", "llama", "qwen3")
EVERY = tuple(name.removeprefix("lens:") for name in NAMES if name.startswith("lens:"))
PROMPTS = ((5, 6, 7, 8, 9), (40, 41, 42), (90, 91, 92, 93, 94, 95, 96))
MLP, ATTN = Site(1, Point.MLP_OUT), Site(2, Point.ATTN_OUT)
HOOK = "blocks.1.hook_mlp_out"


def points_of(model: Checkpoint) -> list[Point]:
    return [point for point in Point if not (model.layout.parallel and point is Point.RESID_MID)]


def sites_of(model: Checkpoint) -> list[Site]:
    return [Site(layer, point) for layer in range(model.n_layers) for point in points_of(model)]


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal to 1e-4 of the largest value."""
    scale = float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 * max(scale, 1e-6))


def edits_of(scope: Scope) -> dict[str, tuple[Intervention, ...]]:
    return {
        "nothing": (),
        "silence": (silence(1, scope),),
        "scale": (Scale(MLP, 0.5, scope), Scale(ATTN, -2.0, scope)),
        "mean": (Mean(MLP, "mean", scope),),
        "resample": (Resample(ATTN, "other", scope), silence(3, scope)),
        "patch": (Patch(MLP, "same", scope),),
    }


def references_of(model: Checkpoint) -> dict[str, dict]:
    """A mean, a recorded pass of another length, and one of the length of the first prompt."""

    def recorded(prompt: tuple[int, ...]) -> dict:
        stepper = model.stepper(Batch([prompt], [()], [], recording=Recording((MLP, ATTN))))
        tokens = stepper.prefill().argmax(-1)
        for _ in range(3):
            tokens = stepper.step(tokens).argmax(-1)
        return stepper.recorded()[0]

    with torch.inference_mode():
        mean = {MLP: torch.linspace(-1, 1, model.d_model)}
        return {"mean": mean, "other": recorded(PROMPTS[1]), "same": recorded((70, 71, 72, 73, 74))}


@pytest.mark.parametrize("name", EVERY)
def test_logits_and_every_point_are_those_of_the_reference_backend(tiny_model, name):
    model, plain = tiny_model(f"lens:{name}"), tiny_model(name)
    assert isinstance(model, LensModel)
    sites = sites_of(plain)
    edits = [Scale(MLP, 0.5), Scale(ATTN, -1.0)]
    for acting in ((), edits):
        found, expected = (m.forward(PROMPTS[2], interventions=acting, record=sites) for m in (model, plain))
        assert_close(found.logits, expected.logits)
        assert set(found.activations) == set(expected.activations) == set(sites)
        for site in sites:
            assert_close(found.activations[site], expected.activations[site])


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("name", FAMILIES)
def test_edited_logits_of_every_step_are_those_of_the_reference_backend(tiny_model, name, scope):
    """Each edit in a row of its own, beside prompts of other lengths; rows leave on the way."""
    model, plain = tiny_model(f"lens:{name}"), tiny_model(name)
    edits = edits_of(scope)
    prompts = [PROMPTS[0]] * len(edits) + [PROMPTS[1], PROMPTS[2]]
    rows = [*edits.values(), (silence(0, scope),), (Mean(MLP, "mean", scope),)]
    batch = Batch(prompts, rows, [], references=references_of(plain), recording=Recording((MLP, ATTN)))
    kept = torch.tensor([0, 2, 4, 5, 7])
    with torch.inference_mode():
        steppers = [m.stepper(batch) for m in (model, plain)]
        found, expected = (stepper.prefill() for stepper in steppers)
        seen = [expected]
        assert_close(found, expected)
        for step in range(5):
            tokens = expected.argmax(-1)
            if step == 2:
                tokens = tokens[kept]
                for stepper in steppers:
                    stepper.keep(kept)
            found, expected = (stepper.step(tokens) for stepper in steppers)
            seen.append(expected)
            assert_close(found, expected)
        ours, theirs = (stepper.recorded() for stepper in steppers)
    for mine, other in zip(ours, theirs, strict=True):
        for site in (MLP, ATTN):
            assert_close(mine[site].prompt, other[site].prompt)
            assert_close(mine[site].new, other[site].new)
    if scope is not Scope.DECODE:  # no edit is a no-op, so agreement says something
        assert all((seen[0][row] - seen[0][0]).abs().max() > 1e-3 for row in range(1, len(edits)))
    else:
        assert all(torch.allclose(seen[0][row], seen[0][0], atol=1e-5) for row in range(1, len(edits)))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_mixed_batch_is_answered_as_by_the_reference_backend(tiny_model, name):
    model, plain = tiny_model(f"lens:{name}"), tiny_model(name)
    texts = ("Hi?", "Which number is smaller, 3 or 8?", "A longer question, with more words in it.")
    edits = (
        (),
        (silence(1),),
        (silence(2, Scope.PROMPT), Scale(ATTN, 0.5)),
        (silence(0, Scope.DECODE),),
        (Mean(MLP, "mean"),),
        (Resample(MLP, "other"),),
    )
    requests = [
        Request(text, Procedure(decoding=Decoding(n), interventions=row))
        for n, text in zip((3, 7, 5), texts, strict=True)
        for row in edits
    ]
    references = references_of(plain)
    found, expected = (list(m.generate(requests, references=references)) for m in (model, plain))
    assert found == expected
    assert len({completion.tokens for completion in expected[6:12]}) > 1


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_those_of_the_reference_backend(tiny_model, name):
    model, plain = tiny_model(f"lens:{name}"), tiny_model(name)
    sites = [Site(layer, point) for layer in range(plain.n_layers) for point in EDITABLE]
    sites = [Site(0, Point.RESID_PRE), *sites]
    for edits in ((), (Scale(MLP, 0.5),)):
        gradients = []
        for m in (model, plain):
            seen = m.forward(PROMPTS[0], interventions=edits, record=sites, with_grad=True)
            value = seen.logits[0, -1, 7] - seen.logits[0, -1, 9]
            gradients.append(torch.autograd.grad(value, [seen.activations[site] for site in sites]))
        for site, found, expected in zip(sites, *gradients, strict=True):
            assert expected.abs().max() > 0, site
            assert_close(found, expected)


def handles_on(bridge) -> dict[str, tuple[int, int]]:
    """How many hooks, by kind, are on each hook point."""
    return {name: (len(p.fwd_hooks), len(p.bwd_hooks)) for name, p in bridge.hook_dict.items()}


def test_a_users_hook_on_the_bridge_acts_in_our_calls_and_survives_them():
    model, plain = load("lens:tiny:llama"), tiny("llama")
    calls: list[int] = []

    def halve(value, **_):
        calls.append(1)
        return value * 0.5

    free = model.forward(PROMPTS[0]).logits
    model.bridge.add_hook(HOOK, halve)
    handles = handles_on(model.bridge)
    assert handles[HOOK] == (1, 0)
    half = plain.forward(PROMPTS[0], interventions=[Scale(MLP, 0.5)]).logits
    quarter = plain.forward(PROMPTS[0], interventions=[Scale(MLP, 0.25)]).logits
    assert_close(model.forward(PROMPTS[0]).logits, half)
    assert_close(model.forward(PROMPTS[0], interventions=[Scale(MLP, 0.5)], record=[MLP]).logits, quarter)
    n_calls = len(calls)
    list(model.generate([Request("Hi?", Procedure(decoding=Decoding(3), interventions=(silence(1),)))]))
    assert (n_calls, len(calls)) == (2, 5)
    assert handles_on(model.bridge) == handles
    model.bridge.reset_hooks()
    assert torch.equal(model.forward(PROMPTS[0]).logits, free)


@pytest.mark.parametrize("where", ["forward", "prefill", "step"])
def test_model_and_bridge_are_as_they_were_after_an_exception(where):
    model = load("lens:tiny:llama")
    free = model.forward(PROMPTS[0]).logits
    weights = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
    n_passes = {"forward": 1, "prefill": 1, "step": 2}[where]
    calls: list[int] = []

    def explode(value, **_):
        calls.append(1)
        if len(calls) == n_passes:
            raise RuntimeError("inside")
        return value

    model.bridge.add_hook("blocks.2.hook_resid_post", explode)
    handles, level = handles_on(model.bridge), model.bridge.context_level

    def run() -> None:
        if where == "forward":
            model.forward(PROMPTS[0], interventions=[silence(1)], record=sites_of(model))
            return
        request = Request("Hi?", Procedure(decoding=Decoding(4), interventions=(silence(1),)))
        list(model.generate([request], record=sites_of(model)))

    with pytest.raises(RuntimeError, match="inside"):
        run()
    assert len(calls) == n_passes
    assert handles_on(model.bridge) == handles
    assert model.bridge.context_level == level
    model.bridge.reset_hooks()
    assert torch.equal(model.forward(PROMPTS[0]).logits, free)
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.module.state_dict().items())
    with pytest.raises(BadInput):
        model.forward(PROMPTS[0], interventions=[Mean(MLP, "missing")])
    assert not any(map(any, handles_on(model.bridge).values()))


def state_of(model: Checkpoint) -> Iterator[tuple[str, object]]:
    """All that a library could change: attributes of every module and its class, settings, tokenizer."""
    for path, module in model.module.named_modules():
        for holder in (vars(module), dict(vars(type(module)))):
            for key, value in holder.items():
                if key in ("_parameters", "_buffers", "_modules"):
                    yield f"{path}.{key}", {name: id(held) for name, held in value.items()}
                elif callable(value) or key.startswith("__"):
                    yield f"{path}.{key}", id(value)
                else:
                    yield f"{path}.{key}", repr(value)
    for name in ("config", "generation_config"):
        yield name, repr(sorted(vars(getattr(model.module, name)).items(), key=lambda item: item[0]))
    tokenizer = model.tokenizer
    yield "tokenizer", repr(sorted(vars(tokenizer).items(), key=lambda item: item[0]))
    yield "token ids", tokenizer("Hi <|im_end|> there").input_ids
    yield "random state", torch.get_rng_state().tolist()
    yield "logging", (logging.root.manager.disable, logging.getLogger("transformers").level)
    yield "torch", (torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())


@pytest.mark.parametrize("name", FAMILIES)
def test_making_and_using_a_bridge_changes_nothing_of_the_model(name):
    model = tiny(name)
    logits = model.forward(PROMPTS[0]).logits
    model.lens()  # what a first use imports is not what is tested
    before = list(state_of(model))
    bridge = model.lens()
    bridge(torch.tensor([PROMPTS[0]]), return_type="logits")
    bridge.run_with_cache(torch.tensor([PROMPTS[0]]))
    bridge.add_hook(HOOK, lambda value, **_: value * 0)
    after = list(state_of(model))
    changed = [key for (key, was), (_, is_now) in zip(before, after, strict=True) if was != is_now]
    assert changed == []
    assert torch.equal(model.forward(PROMPTS[0]).logits, logits)
    assert bridge.tokenizer("Hi there").input_ids == model.tokenizer("Hi there").input_ids


def test_the_first_bridge_of_a_process_keeps_a_users_logging():
    """The library sets the level of transformers' logger when it is imported, so a process of its own."""
    code = (
        "import logging; from interp.models.tiny import tiny; model = tiny('llama'); "
        "theirs = logging.getLogger('transformers'); theirs.setLevel(17); logging.disable(5); model.lens(); "
        "print(theirs.level, logging.root.manager.disable)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["17", "5"]
