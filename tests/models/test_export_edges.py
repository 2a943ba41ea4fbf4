"""Exports of unusual configs and weights, on a full disk, and of processes that are killed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest
import torch
from test_export import logits_of, plain, unrolled
from transformers import AutoConfig, AutoModelForCausalLM

from interp.errors import BadInput, Unsupported
from interp.intervention import Scale, silence
from interp.models import export as module
from interp.models.export import export
from interp.models.layout import blocks_of
from interp.models.load import LoadOptions, load, wrap
from interp.models.tiny import ARCHITECTURES, byte_tokenizer, tiny
from interp.procedure import Prompt
from interp.route import Route
from interp.site import Point, Site

BY_RULE = {
    "cohere2 every second full": ("cohere2", {"sliding_window_pattern": 2}),
    "gemma3 every second full": ("gemma3", {"sliding_window_pattern": 2}),
    "qwen2 window from layer 2": (
        "qwen2",
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2},
    ),
    "qwen3 window from layer 2": (
        "qwen3",
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2},
    ),
    "qwen3_moe every second has experts": ("qwen3_moe", {"decoder_sparse_step": 2, "mlp_only_layers": []}),
    "qwen3_next every second full": ("qwen3_next", {"layer_types": None, "full_attention_interval": 2}),
    "qwen3_next every second has experts": ("qwen3_next", {"decoder_sparse_step": 2, "mlp_only_layers": []}),
    "smollm3 every second without rope": ("smollm3", {"no_rope_layer_interval": 2}),
    "smollm3 window and rope": (
        "smollm3",
        {"no_rope_layer_interval": 2, "use_sliding_window": True, "sliding_window": 16},
    ),
}
"""Configs that say by a rule of the layer's number what kind it is: a tiny architecture and its settings."""


def tiny_with(name, seed=0, **settings):
    model_type, usual = ARCHITECTURES[name]
    tokenizer = byte_tokenizer()
    control = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("pad", "bos", "eos")}
    config = AutoConfig.for_model(model_type, **{**usual, **settings}, **control)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        for weight in made.parameters():
            if weight.dim() >= 2:
                torch.nn.init.normal_(weight, 0.0, weight.shape[-1] ** -0.5)
    return wrap(made, tokenizer, name=f"tiny:{name}")


@pytest.mark.parametrize("rule", BY_RULE)
@pytest.mark.parametrize("line", ["1,0,3,3,2", "0,2-3", "3"])
def test_kinds_of_layers_that_a_rule_decides_go_with_their_layers(tmp_path, rule, line):
    """On a text that is longer than the window, against deep copies of the layers."""
    name, settings = BY_RULE[rule]
    model, route = tiny_with(name, **settings), Route.parse(line)
    loaded = plain(export(model, tmp_path / "out", route=route))
    tokens = tuple(range(3, 63))
    expected = logits_of(unrolled(model, route), tokens)
    torch.testing.assert_close(logits_of(loaded, tokens), expected, rtol=1e-6, atol=2e-6)


def test_rules_give_layers_of_two_kinds():
    for name, settings in BY_RULE.values():
        blocks = tiny_with(name, **settings).blocks
        kinds = [
            (
                type(getattr(block, "mlp", None)).__name__,
                getattr(getattr(block, "self_attn", None), "sliding_window", None),
                getattr(getattr(block, "self_attn", None), "use_rope", None),
                hasattr(block, "linear_attn"),
            )
            for block in blocks
        ]
        assert len(set(kinds)) == 2, name


def test_a_window_that_no_short_text_shows_is_found(tmp_path, monkeypatch):
    longer_than_the_texts = {"use_sliding_window": True, "sliding_window": 400, "max_window_layers": 2}
    model, route = tiny_with("qwen2", **longer_than_the_texts), Route((0, 3))
    unroll = module.unroll

    def without_windows(exported, checkpoint, route):
        unroll(exported, checkpoint, route)
        exported.config.layer_types = ["full_attention"] * len(route.layers)

    monkeypatch.setattr(module, "unroll", without_windows)
    with pytest.raises(Unsupported, match=r"layer 3 runs at place 1: its self_attn\.layer_type is sliding"):
        export(model, tmp_path / "out", route=route)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(module, "check_kinds", lambda *_: None)
    export(model, tmp_path / "out", route=route)  # the logits do not show it


def test_a_list_of_end_tokens_as_long_as_the_model_is_not_one_by_layer(tmp_path):
    model = tiny("llama")
    model.config.eos_token_id = [2, 3, 4, 5]
    folder = export(model, tmp_path / "out", route=Route((3, 0, 0)))
    assert json.loads((folder / "config.json").read_text())["eos_token_id"] == [2, 3, 4, 5]


def test_what_ends_an_answer_is_taken_along(tmp_path):
    model = tiny("llama")
    model.module.generation_config.eos_token_id = [257, 10]
    folder = export(model, tmp_path / "out", interventions=[silence(1)])
    assert load(folder).end_tokens == frozenset({257, 10})


def test_a_generation_config_that_transformers_refuses_is_refused(tmp_path):
    model = tiny("llama")
    model.module.generation_config.temperature = 0.6
    with pytest.raises(Unsupported, match=r"refuses to save .* `do_sample`"):
        export(model, tmp_path / "out", interventions=[silence(1)])
    assert list(tmp_path.iterdir()) == []


def tied(layers, view):
    """A model in which two layers have one down projection, as one parameter or as two views of a tensor."""
    model = tiny("llama")
    first, second = (model.blocks[layer].mlp.down_proj for layer in layers)
    shared = first.weight
    second.weight = torch.nn.Parameter(shared.data.view_as(shared), requires_grad=False) if view else shared
    return wrap(model.module, model.tokenizer, name="tied")


def test_weights_that_two_layers_share_are_not_changed_for_the_other(tmp_path):
    model = tied((0, 1), view=True)
    before = model.blocks[0].mlp.down_proj.weight.clone()
    loaded = load(export(model, tmp_path / "out", interventions=[silence(1)]))
    assert torch.equal(loaded.blocks[0].mlp.down_proj.weight, before)
    assert torch.equal(model.blocks[1].mlp.down_proj.weight, before)
    assert not loaded.blocks[1].mlp.down_proj.weight.any()
    with pytest.raises(Unsupported, match=r"its weights are also those of model\.layers\.0"):
        export(tied((0, 1), view=False), tmp_path / "one", interventions=[silence(1)])
    with pytest.raises(Unsupported, match=r"refuses to save this model: .*shared tensors"):
        export(tied((0, 1), view=False), tmp_path / "two", interventions=[silence(2)])


def test_quantized_weights_are_refused_and_marks_on_ordinary_ones_are_not(tmp_path):
    model = tiny("llama")
    model.module.hf_quantizer = object()
    model.module.config.quantization_config = {"quant_method": "gguf"}
    folder = export(model, tmp_path / "out", interventions=[silence(1)])
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    assert model.config.quantization_config == {"quant_method": "gguf"}
    packed = torch.zeros(32, 64, dtype=torch.int8)
    model.blocks[2].mlp.down_proj.weight = torch.nn.Parameter(packed, requires_grad=False)
    with pytest.raises(Unsupported, match=r"layers\.2\.mlp\.down_proj\.weight is quantized \(torch\.int8\)"):
        export(model, tmp_path / "packed", interventions=[silence(1)])


def test_in_half_precision_the_checkpoint_is_the_edited_model(tmp_path):
    plain_folder = export(tiny("llama"), tmp_path / "first", interventions=[silence(0)])
    model = load(plain_folder, LoadOptions("bfloat16"))
    edits = [silence(1), Scale(Site(2, Point.MLP_OUT), 0.5)]
    folder = export(model, tmp_path / "out", interventions=edits)
    tokens = model.render("Hi?", Prompt()).tokens
    loaded = load(folder, LoadOptions("bfloat16"))
    assert torch.equal(loaded.forward(tokens).logits, model.forward(tokens, interventions=edits).logits)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
    assert "--dtype bfloat16`" in (folder / "README.md").read_text()


@pytest.mark.parametrize("backend", ["lens", "nnsight"])
def test_a_model_of_another_backend_exports_the_same(tiny_model, tmp_path, backend):
    edits, route = [silence(1)], Route.parse("0-3,1")
    folders = [
        export(tiny_model(name), tmp_path / name.replace(":", "-"), interventions=edits, route=route)
        for name in ("llama", f"{backend}:llama")
    ]
    ours, theirs = (plain(folder).state_dict() for folder in folders)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_a_model_that_runs_on_a_server_is_exported_here(tmp_path):
    """There is no server to ask in a test, so an export that asked one would fail."""
    model = load("nnsight:tiny:llama", LoadOptions(remote=True))
    loaded = plain(export(model, tmp_path / "out", interventions=[silence(1)], route=Route((0, 1, 2))))
    assert len(blocks_of(loaded, model.layout)) == 3


def test_edits_that_do_not_fold_are_found_although_a_route_is_asked_for(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "fold", lambda *_: None)
    with pytest.raises(Unsupported, match=r"edits, folded into weights, give logits that differ .* by 0\.\d"):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)], route=Route((0, 1)))


def test_a_checkpoint_with_logits_that_are_no_numbers_is_removed(tiny_model, tmp_path, monkeypatch):
    answers = iter([0.0, float("nan")])
    monkeypatch.setattr(module, "relative", lambda *_: next(answers))
    with pytest.raises(Unsupported, match="by nan of the largest"):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_fails_a_load_check_is_removed(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "measure", lambda _: {"cache": 0.25, "head": 0.0})
    with pytest.raises(Unsupported, match=r"fails a load check, so it was removed: cache 0\.25 \(limit"):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_does_not_load_is_removed(tiny_model, tmp_path, monkeypatch):
    def write(exported, model, folder):
        written(exported, model, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 16, "head_dim": 4}))

    written = module._write
    monkeypatch.setattr(module, "_write", write)
    with pytest.raises(Unsupported, match="cannot load what was written, so it was removed"):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_files():
    """No file may grow beyond 50 kB: to write more fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_is_one_line_and_leaves_nothing(tiny_model, tmp_path):
    with pytest.raises(BadInput, match=r"out' cannot be written: .*File too large") as caught:
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_permission_is_one_line(tiny_model, tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.tempfile, "mkdtemp", refuse)
    with pytest.raises(BadInput, match=r"out' cannot be written: Permission denied\.$"):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])


def test_a_killed_export_leaves_no_half_checkpoint_and_can_be_started_again(tmp_path):
    code = f"""
import os, signal
from interp.intervention import silence
from interp.models import export
from interp.models.tiny import tiny
export._compare = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
export.export(tiny("llama"), {str(tmp_path / "out")!r}, interventions=[silence(1)])
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert killed.returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".out.")
    assert (left / "model.safetensors").exists()
    folder = export(tiny("llama"), tmp_path / "out", interventions=[silence(1)])
    assert len(blocks_of(plain(folder), tiny("llama").layout)) == 4


def test_the_card_gives_the_command_and_stays_a_table(tmp_path):
    model = tiny("llama")
    edits = [silence(2), Scale(Site(1, Point.MLP_OUT), 0.5)]
    folder = export(model, tmp_path / "out", interventions=edits, route=Route((0, 1, 2)), note="a | b\nc")
    card = (folder / "README.md").read_text()
    command = "interp export tiny:llama OUT --edit 'L2.mlp_out*0' --edit 'L1.mlp_out*0.5' --route 0-2"
    assert f"| command | `{command}` |\n" in card
    assert "| run | a \\| b c |\n" in card
