"""What edits put in place of contributions, at which positions; what generation records; firings counted."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from support import LLAMAS, NAMES

from interp.errors import BadInput, BadWord, EditMisfired, Unsupported
from interp.intervention import EDITABLE, Mean, Patch, Resample, Scale, Scope, silence
from interp.models.model import Recorded
from interp.models.tiny import tiny
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.site import Point, Site

PROMPT = Prompt(system="Be brief.", answer_prefix="It is ")
TEXT, TWIN, LONGER = "Is 3 < 8?", "Is 7 < 2?", "Which number is smaller, 3 or 8?"
MLP = Site(1, Point.MLP_OUT)


def ask(*edits, n: int = 6) -> Procedure:
    return Procedure(PROMPT, Decoding(n), edits)


def tokens_of(model, text: str) -> tuple[int, ...]:
    return model.render(text, PROMPT).tokens


def contributions(model) -> list[Site]:
    return [Site(layer, point) for layer in range(model.n_layers) for point in EDITABLE]


@pytest.mark.parametrize("name", NAMES)
def test_patching_every_contribution_carries_over_all_that_the_other_pass_added(tiny_model, name):
    """Then the last stream is this prompt's embedding and the other pass's sum of contributions."""
    model = tiny_model(name)
    first, last = Site(0, Point.RESID_PRE), Site(model.n_layers - 1, Point.RESID_POST)
    sites = [*contributions(model), first, last]
    here = model.forward(tokens_of(model, TEXT), record=sites)
    there = model.forward(tokens_of(model, TWIN), record=sites)
    reference = {"ab": {site: there.activations[site][0] for site in sites}}
    edits = [Patch(site, "ab") for site in contributions(model)]
    found = model.forward(tokens_of(model, TEXT), interventions=edits, references=reference, record=[last])
    added = there.activations[last] - there.activations[first]
    expected = here.activations[first] + added
    torch.testing.assert_close(found.activations[last], expected, rtol=1e-4, atol=1e-4)
    assert (found.logits - here.logits).abs().max() > 1e-2


@pytest.mark.parametrize("name", NAMES)
def test_patching_from_the_pass_itself_changes_nothing(tiny_model, name):
    model = tiny_model(name)
    tokens = tokens_of(model, TEXT)
    plain = model.forward(tokens, record=contributions(model))
    own = {"ab": {site: seen[0] for site, seen in plain.activations.items()}}
    for word in (Patch, Resample):
        edits = [word(site, "ab") for site in contributions(model)]
        found = model.forward(tokens, interventions=edits, references=own)
        torch.testing.assert_close(found.logits, plain.logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_generation_records_what_a_pass_over_the_whole_answer_records(tiny_model, name):
    model = tiny_model(name)
    points = [p for p in Point if not (model.layout.parallel and p is Point.RESID_MID)]
    sites = [Site(layer, point) for layer in (0, 2) for point in points]
    edits = [(), (silence(2),), (Scale(Site(1, Point.ATTN_OUT), 0.5),)]
    requests = [Request(text, ask(*row, n=n)) for row in edits for text, n in ((TEXT, 3), (LONGER, 7))]
    plain = list(model.generate(requests))
    recorded = list(model.generate(requests, record=sites))
    assert plain == recorded
    for request, completion in zip(requests, recorded, strict=True):
        whole = (*completion.prompt.tokens, *completion.tokens[:-1])
        expected = model.forward(whole, interventions=request.procedure.interventions, record=sites)
        assert set(completion.activations) == set(sites)
        for site in sites:
            seen = completion.activations[site]
            assert len(seen.prompt) == len(completion.prompt.tokens)
            together = torch.cat([seen.prompt, seen.new])
            torch.testing.assert_close(together, expected.activations[site][0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LLAMAS)
@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(("word", "source"), [(Patch, TWIN), (Resample, LONGER), (Resample, "Hm")])
def test_scope_and_alignment_decide_which_positions_are_replaced(tiny_model, name, word, source, scope):
    """Against full passes in which a hook of our own replaces position by position."""
    model = tiny_model(name)
    (there,) = model.generate([Request(source, ask(n=4))], record=[MLP])
    reference = {"ab": there.activations}
    (found,) = model.generate([Request(TEXT, ask(word(MLP, "ab", scope), n=8))], references=reference)
    tokens, seen = tokens_of(model, TEXT), there.activations[MLP]
    offset = len(tokens) - len(seen.prompt)  # the prompts' ends are aligned
    expected: list[int] = []

    def replace(_module, _args, output):
        output = output.clone()
        for position in range(output.shape[1]):
            step = position - len(tokens)
            if step < 0 and scope is not Scope.DECODE and position >= offset:
                output[0, position] = seen.prompt[position - offset]
            if 0 <= step < len(seen.new) and scope is not Scope.PROMPT:
                output[0, position] = seen.new[step]
        return output

    handle = model.blocks[1].get_submodule("mlp").register_forward_hook(replace)
    while len(expected) < len(found.tokens):
        ids = torch.tensor([[*tokens, *expected]])
        with torch.no_grad():
            expected.append(int(model.module(input_ids=ids).logits[0, -1].argmax()))
    handle.remove()
    assert list(found.tokens) == expected


@pytest.mark.parametrize("name", [*LLAMAS, "gemma3", "opt", "qwen3_next", "nnsight:gemma2"])
def test_rows_that_replace_by_position_share_a_batch(tiny_model, name):
    model = tiny_model(name)
    sites = [MLP, Site(2, Point.ATTN_OUT)]
    sources = dict(zip("abc", (TEXT, TWIN, LONGER), strict=True))
    references = {
        key: next(iter(model.generate([Request(text, ask())], record=sites))).activations
        for key, text in sources.items()
    }
    edits = [
        (),
        (silence(0),),
        (Resample(MLP, "c"),),
        (Resample(MLP, "a", Scope.DECODE), Resample(sites[1], "b", Scope.PROMPT)),
        (Patch(sites[1], "b"),),
    ]
    requests = [Request(TEXT, ask(*row)) for row in edits]
    requests += [Request(LONGER, ask(Resample(MLP, "a"), n=3)), Request(TWIN, ask(Patch(MLP, "a")))]
    together = list(model.generate(requests, references=references))
    alone = [next(iter(model.generate([request], references=references))) for request in requests]
    assert together == alone
    assert len({completion.text for completion in together[:5]}) > 1


@pytest.mark.parametrize("name", LLAMAS)
def test_a_reference_that_does_not_fit_is_refused(tiny_model, name):
    model = tiny_model(name)
    tokens = tokens_of(model, TEXT)
    vector, recorded = torch.zeros(model.d_model), torch.zeros(3, model.d_model)
    for edit, value, says in (
        (Patch(MLP, "ab"), recorded, f"{len(tokens)} tokens from one of 3.*Use resample"),
        (Resample(MLP, "ab"), vector, "needs a recorded pass"),
        (Mean(MLP, "ab"), recorded, "needs one vector"),
        (Mean(MLP, "ab"), Recorded(recorded, recorded), "needs one vector"),
        (Patch(MLP, "cd"), recorded, "'cd' holds at L1.mlp_out"),
    ):
        with pytest.raises(BadInput, match=says):
            model.forward(tokens, interventions=[edit], references={"ab": {MLP: value}})
    with pytest.raises(BadInput, match="prompt only"):
        list(model.generate([Request(TEXT, ask(Resample(MLP, "ab")))], references={"ab": {MLP: recorded}}))
    with pytest.raises(BadInput, match="depends on their order"):
        model.forward(
            tokens, interventions=[Patch(MLP, "ab"), silence(1)], references={"ab": {MLP: recorded}}
        )


@pytest.mark.parametrize("name", NAMES)
def test_silencing_attention_and_mlp_skips_the_block(tiny_model, name):
    model = tiny_model(name)
    tokens = tokens_of(model, LONGER)
    oracle = copy.deepcopy(model.module)
    block = list(oracle.get_submodule(model.layout.blocks).children())[2]
    real = block.forward

    def skip(hidden_states, *args, **kwargs):
        output = real(hidden_states, *args, **kwargs)
        return (hidden_states, *output[1:]) if isinstance(output, tuple) else hidden_states

    block.forward = skip
    with torch.no_grad():
        expected = oracle(input_ids=torch.tensor([tokens]), use_cache=False).logits
    edits = [Scale(Site(2, point), 0.0) for point in EDITABLE]
    found = model.forward(tokens, interventions=edits).logits
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


EXPERTS = {"gpt_oss": 0, "mixtral": 1, "qwen3_moe": 2, "qwen3_next": 3}


def without_expert(model, layer: int, expert: int) -> torch.nn.Module:
    module = copy.deepcopy(model.module)
    experts = module.get_submodule(model.layout.blocks)[layer].mlp.experts
    with torch.no_grad():
        experts.down_proj[expert] = 0.0
        if hasattr(experts, "down_proj_bias"):
            experts.down_proj_bias[expert] = 0.0
    return module


@pytest.mark.parametrize(("name", "layer"), EXPERTS.items())
def test_silencing_an_expert_equals_its_weights_zeroed(tiny_model, name, layer):
    model = tiny_model(name)
    tokens = tokens_of(model, LONGER)
    plain = model.forward(tokens).logits
    moved = 0
    for expert in range(4):
        oracle = without_expert(model, layer, expert)
        with torch.no_grad():
            expected = oracle(input_ids=torch.tensor([tokens])).logits
        found = model.forward(tokens, interventions=[silence(layer, expert=expert)]).logits
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        moved += int((found - plain).abs().max() > 1e-3)
    assert moved >= 3  # a router may leave one expert out


@pytest.mark.parametrize(("name", "layer"), EXPERTS.items())
def test_rows_silence_different_experts_in_one_batch(tiny_model, name, layer):
    model = tiny_model(name)
    edits = [
        (),
        *((silence(layer, expert=expert),) for expert in range(4)),
        (silence(layer, Scope.DECODE, expert=1), Scale(Site(layer, Point.MLP_OUT, 2), 0.5)),
        (silence(layer, expert=0), silence(1)),
    ]
    requests = [Request(text, ask(*row)) for text in (TEXT, LONGER) for row in edits]
    together = list(model.generate(requests))
    assert together == [next(iter(model.generate([request]))) for request in requests]


def test_silencing_every_expert_silences_the_mlp(tiny_model):
    model = tiny_model("mixtral")
    tokens = tokens_of(model, LONGER)
    every = model.forward(tokens, interventions=[silence(1, expert=e) for e in range(4)]).logits
    assert torch.equal(every, model.forward(tokens, interventions=[silence(1)]).logits)


@pytest.mark.parametrize("backend", ["lens", "nnsight"])
def test_other_backends_refuse_single_experts_and_say_what_to_load(tiny_model, backend):
    model = tiny_model(f"{backend}:mixtral")
    with pytest.raises(Unsupported, match=r"one expert, L1\.mlp_out\.expert0\. Load hooks:tiny:mixtral"):
        list(model.generate([Request(TEXT, ask(silence(1, expert=0)))]))


def test_experts_that_are_not_there_are_named(tiny_model):
    with pytest.raises(Unsupported, match=r"experts 0 to 3.*L1\.mlp_out\.expert4"):
        tiny_model("mixtral").forward([1], interventions=[silence(1, expert=4)])
    with pytest.raises(Unsupported, match=r"Block 1 .* has no experts"):
        tiny_model("qwen3_moe").forward([1], interventions=[silence(1, expert=0)])
    with pytest.raises(Unsupported, match="what one expert writes is not recorded"):
        tiny_model("mixtral").forward([1], record=[Site(1, Point.MLP_OUT, 0)])
    for word in (Mean, Resample, Patch):
        with pytest.raises(BadWord, match="scaled, not replaced"):
            word(Site(1, Point.MLP_OUT, 0), "ab")


@pytest.mark.parametrize("n_calls", [0, 2])
def test_an_edit_that_does_not_fire_once_a_pass_is_an_error(n_calls):
    model = tiny("llama")
    block = model.blocks[1]
    real = block.forward

    def otherwise(hidden_states, *args, **kwargs):
        if n_calls == 0:
            return hidden_states
        block.mlp(hidden_states)
        return real(hidden_states, *args, **kwargs)

    block.forward = otherwise
    says = rf"L1\.mlp_out fired {n_calls} times in a pass that should visit it 1"
    for edits in ((silence(1),), (silence(0), silence(1))):
        with pytest.raises(EditMisfired, match=says):
            model.forward([1, 2, 3], interventions=edits)
        with pytest.raises(EditMisfired, match=says):
            list(model.generate([Request(TEXT, ask(*edits))]))
    model.forward([1, 2, 3], interventions=[silence(2)])
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.module.modules())


@pytest.mark.parametrize("name", LLAMAS)
def test_recorded_tensors_go_to_the_device_asked_for(tiny_model, name):
    model = tiny_model(name)
    (completion,) = model.generate([Request(TEXT, ask())], record=[MLP], record_on="meta")
    assert {completion.activations[MLP].prompt.device.type, completion.activations[MLP].new.device.type} == {
        "meta"
    }
    seen = model.forward([1, 2], record=[MLP], record_on="meta")
    assert (seen.activations[MLP].device.type, seen.logits.device.type) == ("meta", "cpu")


def test_a_site_to_record_is_checked_before_anything_runs(tiny_model):
    with pytest.raises(Unsupported, match="layers 0 to 3"):
        list(tiny_model("llama").generate([Request(TEXT, ask())], record=[Site(4, Point.MLP_OUT)]))


@pytest.mark.parametrize("name", LLAMAS)
def test_an_answer_of_one_token_records_no_new_one(tiny_model, name):
    model = tiny_model(name)
    for n in (1, 2):
        (completion,) = model.generate([Request(TEXT, ask(n=n))], record=[MLP])
        assert completion.activations[MLP].new.shape == (n - 1, model.d_model)


def test_edits_of_a_recorded_site_are_recorded(tiny_model):
    model = tiny_model("gemma2")
    for factor, scope in itertools.product((0.0, 0.5), Scope):
        procedure = ask(Scale(MLP, factor, scope))
        (plain,) = model.generate([Request(TEXT, ask(n=1))], record=[MLP])
        (edited,) = model.generate([Request(TEXT, procedure)], record=[MLP])
        times = 1.0 if scope is Scope.DECODE else factor
        torch.testing.assert_close(edited.activations[MLP].prompt, plain.activations[MLP].prompt * times)
        if factor == 0.0:
            assert bool((edited.activations[MLP].new == 0).all()) == (scope is not Scope.PROMPT)
