"""Exported checkpoints, loaded by plain transformers, against the edited model and unrolled copies."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from interp.errors import BadInput, BadWord, Unsupported
from interp.intervention import Mean, Scale, Scope, silence
from interp.models.export import export
from interp.models.layout import blocks_of
from interp.models.load import load
from interp.models.tiny import ARCHITECTURES, tiny
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.route import Route
from interp.site import Point, Site

NAMES = sorted(ARCHITECTURES)
TEXTS = ("Hi?", "Which number is smaller, 3 or 8?")


def plain(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model.eval().requires_grad_(False)


def logits_of(module, tokens):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def generated(module, tokens, n=6):
    ids = torch.tensor([tokens])
    out = module.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=n, do_sample=False, pad_token_id=0
    )
    return out[0, len(tokens) :].tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "edits",
    [
        (silence(1),),
        (silence(0), Scale(Site(2, Point.MLP_OUT), 0.5), Scale(Site(3, Point.ATTN_OUT), -0.5)),
        (Scale(Site(1, Point.ATTN_OUT), 0.0),),
    ],
    ids=["silence", "mixed", "attention"],
)
def test_an_exported_edit_gives_the_edited_models_logits_and_tokens(tiny_model, tmp_path, name, edits):
    model = tiny_model(name)
    before = {key: value.clone() for key, value in model.module.state_dict().items()}
    loaded = plain(export(model, tmp_path / "out", interventions=edits))
    requests = [Request(text, Procedure(Prompt(), Decoding(6), edits)) for text in TEXTS]
    for completion in model.generate(requests):
        tokens = completion.prompt.tokens
        expected = model.forward(tokens, interventions=edits).logits
        close = 1e-6 if edits == (silence(1),) else 1e-5  # a zero is exact; other factors round
        torch.testing.assert_close(logits_of(loaded, tokens), expected, rtol=close, atol=2 * close)
        assert generated(loaded, tokens)[: len(completion.tokens)] == list(completion.tokens)
    assert all(torch.equal(value, before[key]) for key, value in model.module.state_dict().items())


@pytest.mark.parametrize("name", ["gpt_oss", "mixtral", "qwen3_moe", "qwen3_next"])
def test_one_expert_can_be_silenced_for_good(tiny_model, tmp_path, name):
    model, edit = tiny_model(name), silence(2, expert=3)
    loaded = plain(export(model, tmp_path / "out", interventions=[edit]))
    tokens = model.render(TEXTS[1], Prompt()).tokens
    expected = model.forward(tokens, interventions=[edit]).logits
    torch.testing.assert_close(logits_of(loaded, tokens), expected, rtol=1e-5, atol=1e-5)


def unrolled(model, route, edits=()):
    """An oracle of its own: deep copies of the layers in order, numbered anew, with masks of their kind."""
    module = copy.deepcopy(model.module)
    above, _, name = model.layout.blocks.rpartition(".")
    blocks = blocks_of(module, model.layout)
    new = torch.nn.ModuleList(copy.deepcopy(blocks[layer]) for layer in route.layers)
    for place, block in enumerate(new):
        for part in block.modules():
            if hasattr(part, "layer_idx"):
                part.layer_idx = place
        if any(edit.site.layer == route.layers[place] for edit in edits):
            for parameter in block.get_submodule("mlp").down_proj.parameters():
                parameter.zero_()
    setattr(module.get_submodule(above), name, new)
    if getattr(module.config, "layer_types", None):
        module.config.layer_types = [module.config.layer_types[layer] for layer in route.layers]
    module.config.num_hidden_layers = len(route.layers)
    return module


ROUTES = ("0-3,1-3", "0,2-3", "3,1,0,2", "0-1,1,1-3")


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_route_gives_the_logits_of_an_unrolled_copy(tiny_model, tmp_path, name):
    model = tiny_model(name)
    for i, line in enumerate(ROUTES):
        route = Route.parse(line)
        loaded = plain(export(model, tmp_path / str(i), route=route))
        oracle = unrolled(model, route)
        for text in TEXTS:
            tokens = model.render(text, Prompt()).tokens
            expected = logits_of(oracle, tokens)
            torch.testing.assert_close(logits_of(loaded, tokens), expected, rtol=1e-5, atol=1e-5)
        assert len(blocks_of(loaded, model.layout)) == len(route.layers)
        assert (expected - model.forward(tokens).logits).abs().max() > 1e-3


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layers=st.lists(st.integers(0, 3), min_size=1, max_size=7))
@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen3_moe", "smollm3", "gpt2"])
def test_random_routes_cached_and_left_padded(tiny_model, tmp_path_factory, name, layers):
    model, route = tiny_model(name), Route(tuple(layers))
    loaded = plain(export(model, tmp_path_factory.mktemp("route") / "out", route=route))
    oracle = unrolled(model, route)
    prompts = [model.render(text, Prompt()).tokens for text in TEXTS]
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    cache = DynamicCache(config=loaded.config)
    for step in range(3):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        with torch.no_grad():
            found = loaded(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]
        for row, prompt in enumerate(prompts):
            expected = logits_of(oracle, prompt)[0, -1]
            torch.testing.assert_close(found[row], expected, rtol=1e-4, atol=1e-4)
        ids = found.argmax(-1, keepdim=True)
        prompts = [(*prompt, int(token)) for prompt, token in zip(prompts, ids, strict=True)]
        mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
        assert step < 3


def test_an_edit_acts_at_every_visit_of_a_route(tiny_model, tmp_path):
    model, route = tiny_model("llama"), Route.parse("0-2,1-3")
    loaded = plain(export(model, tmp_path / "out", interventions=[silence(1)], route=route))
    tokens = model.render(TEXTS[1], Prompt()).tokens
    expected = logits_of(unrolled(model, route, [silence(1)]), tokens)
    torch.testing.assert_close(logits_of(loaded, tokens), expected, rtol=1e-5, atol=1e-5)


def test_a_process_without_this_package_loads_it(tiny_model, tmp_path):
    model = tiny_model("gemma2")
    folder = export(model, tmp_path / "out", interventions=[silence(2)], route=Route.parse("0-3,2"))
    tokens = list(model.render(TEXTS[1], Prompt()).tokens)
    code = f"""
import sys
sys.modules["interp"] = None
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model = AutoModelForCausalLM.from_pretrained({str(folder)!r}, dtype="auto")
tokenizer = AutoTokenizer.from_pretrained({str(folder)!r})
turns = [{{"role": "user", "content": {TEXTS[1]!r}}}]
text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
tokens = tokenizer(text, add_special_tokens=False).input_ids
assert tokens == {tokens}, tokens
options = dict(max_new_tokens=5, do_sample=False, pad_token_id=0)
print(model.generate(torch.tensor([tokens]), **options)[0, len(tokens):].tolist())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out.strip().splitlines()[-1]) == generated(plain(folder), tokens, 5)


def test_the_folder_holds_a_checkpoint_a_tokenizer_and_a_card(tiny_model, tmp_path):
    model = tiny_model("llama")
    folder = export(model, tmp_path / "a" / "out", interventions=[silence(2)], note="`runs/x`: MLP 2 | helps")
    names = {path.name for path in folder.iterdir()}
    wanted = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "README.md"}
    assert wanted <= names
    assert list((tmp_path / "a").iterdir()) == [folder]
    card = (folder / "README.md").read_text()
    for what in ("`tiny:llama`", model.fingerprint, "`L2.mlp_out*0`", "runs/x", "as it was"):
        assert what in card
    assert AutoTokenizer.from_pretrained(folder).chat_template == model.tokenizer.chat_template


def test_an_empty_folder_is_taken_and_a_full_one_is_not(tiny_model, tmp_path):
    (tmp_path / "empty").mkdir()
    export(tiny_model("llama"), tmp_path / "empty", interventions=[silence(0)])
    assert (tmp_path / "empty" / "config.json").exists()
    before = (tmp_path / "empty" / "config.json").read_bytes()
    with pytest.raises(BadInput, match="is there already and is not an empty folder"):
        export(tiny_model("llama"), tmp_path / "empty", interventions=[silence(1)])
    assert (tmp_path / "empty" / "config.json").read_bytes() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is there already"):
        export(tiny_model("llama"), tmp_path / "file", interventions=[silence(1)])
    with pytest.raises(BadInput, match="cannot be written"):
        export(tiny_model("llama"), tmp_path / "file" / "below", interventions=[silence(1)])


def test_what_cannot_be_written_is_refused_with_the_reason(tiny_model, tmp_path):
    model = tiny_model("llama")
    for edit in (silence(1, Scope.PROMPT), Mean(Site(1, Point.MLP_OUT), "ab")):
        with pytest.raises(Unsupported, match=r"cannot be written into weights.*scope both"):
            export(model, tmp_path / "out", interventions=[edit])
    with pytest.raises(BadInput, match="nothing to export"):
        export(model, tmp_path / "out")
    with pytest.raises(BadWord, match="names layer 9"):
        export(model, tmp_path / "out", route=Route((0, 9)))
    with pytest.raises(Unsupported, match="layers 0 to 3"):
        export(model, tmp_path / "out", interventions=[silence(4)])
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.iterdir()) == []


def test_layers_that_depend_on_their_number_cannot_be_put_into_another_order(tmp_path):
    model = tiny("gpt2")
    model.config.scale_attn_by_inverse_layer_idx = True
    with pytest.raises(Unsupported, match="scale_attn_by_inverse_layer_idx"):
        export(model, tmp_path / "out", route=Route((0, 2)))


def test_a_checkpoint_that_does_not_load_back_the_same_is_removed(tiny_model, tmp_path, monkeypatch):
    from interp.models import export as module

    monkeypatch.setattr(module, "fold", lambda *_: None)
    with pytest.raises(
        Unsupported, match=r"checkpoint that was written, and has been removed, gives logits that differ"
    ):
        export(tiny_model("llama"), tmp_path / "out", interventions=[silence(1)])
    assert list(tmp_path.iterdir()) == []


def test_smollm2_without_its_block_is_the_edited_model(smollm2, tmp_path):
    folder = export(smollm2, tmp_path / "out", interventions=[silence(14)])
    prompt = Prompt(system="You answer questions.", answer_prefix="The answer is ")
    texts = [f"Which number is smaller, {a} or {b}?" for a, b in ((3, 8), (7, 2), (4, 9), (6, 1))]
    asked = [
        [Request(text, Procedure(prompt, Decoding(6), edits)) for text in texts]
        for edits in ((silence(14),), ())
    ]
    edited, exported = list(smollm2.generate(asked[0])), list(load(folder).generate(asked[1]))
    assert [c.tokens for c in exported] == [c.tokens for c in edited]
    assert [c.text for c in edited] != [c.text for c in smollm2.generate(asked[1])]
