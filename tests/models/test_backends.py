"""What is particular to the TransformerLens and nnsight backends."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from interp.errors import BadInput, LoadRefused, Unsupported
from interp.intervention import silence
from interp.models.checkpoint import shared_copy
from interp.models.load import LoadOptions, load
from interp.models.nnsight import NnsightModel
from interp.models.tiny import tiny
from interp.procedure import Decoding, Procedure, Request
from interp.site import Point, Site

TEXTS = ("Hi?", "Which number is smaller, 3 or 8?")
TOKENS = (5, 6, 7, 8)


def pointers(module: torch.nn.Module) -> set[int]:
    return {tensor.data_ptr() for tensor in module.parameters()}


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
@pytest.mark.parametrize("native", ["lens", "nnsight"])
def test_the_native_object_has_the_same_weights_and_leaves_the_model_as_it_was(name, native):
    model = tiny(name)
    before = model.forward(TOKENS).logits
    structure, config = str(model.module), model.config.to_json_string()
    made = getattr(model, native)()
    inner = made.original_model if native == "lens" else made._module
    assert pointers(model.module) <= pointers(inner)
    if (native, name) != ("lens", "gpt2"):  # TransformerLens splits its joint query, key and value matrix
        assert pointers(inner) == pointers(model.module)
    if native == "lens":
        theirs = made(torch.tensor([TOKENS]), return_type="logits")
        made.add_hook("blocks.1.hook_mlp_out", lambda value, **_: value * 0)
    else:
        with made.trace(torch.tensor([TOKENS])):
            theirs = made.output.logits.save()
        with made.trace(torch.tensor([TOKENS])):
            made.lm_head.output = made.lm_head.output * 0
    torch.testing.assert_close(theirs, before, rtol=1e-4, atol=1e-4)
    assert torch.equal(model.forward(TOKENS).logits, before)
    assert (str(model.module), model.config.to_json_string()) == (structure, config)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.module.modules())


def test_both_can_be_mixed_in_one_cell():
    model = tiny("llama")
    bridge, native = model.lens(), model.nnsight()
    _, cache = bridge.run_with_cache(torch.tensor([TOKENS]))
    with native.trace(torch.tensor([TOKENS])):
        mlp = native.model.layers[2].mlp.output.save()
    ours = model.forward(TOKENS, record=[Site(2, Point.MLP_OUT)]).activations[Site(2, Point.MLP_OUT)]
    torch.testing.assert_close(cache["blocks.2.hook_mlp_out"], ours, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(mlp, ours, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["lens", "nnsight"])
def test_name_fingerprint_and_environment(backend):
    model, plain = load(f"{backend}:tiny:llama"), load("tiny:llama")
    assert model.name == f"{backend}:tiny:llama"
    assert model.fingerprint == plain.fingerprint
    assert model.environment["backend"] == backend
    assert model.environment["attention"] == {"lens": "eager", "nnsight": "sdpa"}[backend]
    assert plain.environment["backend"] == load("hooks:tiny:llama").environment["backend"] == "hooks"


def test_a_version_pair_that_loses_the_cache_is_refused(monkeypatch):
    """TransformerLens 4.3 beside transformers 5.24 reads the cache by its old name and finds nothing."""
    from transformer_lens.model_bridge import TransformerBridge

    real = TransformerBridge.forward

    def forgetful(bridge, ids, **options):
        options.pop("past_key_values", None)
        return real(bridge, ids, **options)

    monkeypatch.setattr(TransformerBridge, "forward", forgetful)
    with pytest.raises(LoadRefused, match=r"lens:tiny:llama failed a load check .*: cache \d"):
        load("lens:tiny:llama")


def test_generation_settings_of_the_checkpoint_do_not_leak_into_nnsights_generation():
    requests = [Request(text, Procedure(decoding=Decoding(12))) for text in TEXTS]
    expected = list(tiny("llama").generate(requests))
    plain = tiny("llama")
    settings = plain.module.generation_config
    settings.repetition_penalty, settings.do_sample, settings.temperature = 5.0, True, 3.0
    settings.eos_token_id = [expected[0].tokens[3]]
    from interp.models.nnsight import nnsight_model

    model = nnsight_model(plain, "nnsight:tiny:llama")
    found = list(model.generate(requests))
    assert found[0].tokens == expected[0].tokens[: len(found[0].tokens)]
    assert len(found[0].tokens) <= 4  # our own rule ends the answer at the end token
    assert found == list(plain.generate(requests))


def test_remote_is_handed_through(monkeypatch):
    from nnsight import TransformersModel

    model = load("nnsight:tiny:llama", LoadOptions(remote=True))
    assert isinstance(model, NnsightModel)
    assert model.remote
    assert model.environment["remote"] == "true"
    assert model.native.repo_id == "tiny:llama"
    asked: list[object] = []

    class Asked(Exception):
        pass

    def listen(_native, *_inputs, **options):
        asked.append(options.get("remote"))
        raise Asked

    for name in ("trace", "generate"):
        monkeypatch.setattr(TransformersModel, name, listen)
    with pytest.raises(Asked):
        model.forward(TOKENS)
    with pytest.raises(Asked):
        list(model.generate([Request("Hi?", Procedure())]))
    with pytest.raises(Asked):
        model.here.forward(TOKENS)
    assert asked == [True, True, None]
    with pytest.raises(Unsupported, match="do not come back from a server"):
        model.forward(TOKENS, with_grad=True)


@pytest.mark.parametrize("name", ["tiny:llama", "lens:tiny:llama"])
def test_remote_is_refused_elsewhere(name):
    with pytest.raises(BadInput, match=f"Only the nnsight backend runs remotely. Load nnsight:{name}"):
        load(name, LoadOptions(remote=True))


def test_neither_library_is_imported_by_the_reference_backend():
    code = (
        "import sys, interp; interp.load('tiny:llama'); "
        "print([name for name in ('nnsight', 'transformer_lens') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_shared_copy_keeps_tied_weights_tied():
    module = tiny("gpt2").module
    copied = shared_copy(module)
    assert copied.lm_head.weight is copied.transformer.wte.weight is module.lm_head.weight
    assert copied.transformer.h[0] is not module.transformer.h[0]


@pytest.mark.parametrize("backend", ["lens", "nnsight"])
def test_numbers_equal_those_of_the_reference_backend_on_smollm2(backend, smollm2):
    model = load(f"{backend}:smollm2")
    site = Site(14, Point.MLP_OUT)
    tokens = smollm2.render(TEXTS[1], Procedure().prompt).tokens
    for edits in ((), (silence(14),)):
        found, expected = (m.forward(tokens, interventions=edits, record=[site]) for m in (model, smollm2))
        torch.testing.assert_close(found.logits, expected.logits, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(found.activations[site], expected.activations[site], rtol=1e-3, atol=1e-3)
    requests = [
        Request(text, Procedure(decoding=Decoding(4), interventions=e))
        for text in TEXTS
        for e in ((), (silence(14),))
    ]
    assert list(model.generate(requests)) == list(smollm2.generate(requests))
