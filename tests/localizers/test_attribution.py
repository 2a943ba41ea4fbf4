"""Attribution against its oracles: sums, finite differences, enumeration, and a block known to be guilty."""

from __future__ import annotations

import polars as pl
import pytest
import torch

from interp.intervention import EDITABLE, Mean, Scale, Scope, silence
from interp.localizers.attribution import (
    Ablation,
    agreement_table,
    attribute,
    attribution_blocks,
    attribution_table,
    block_estimates,
)
from interp.localizers.lens import lens_layers, lens_table
from interp.localizers.parting import Parting, find_partings
from interp.models.tiny import ARCHITECTURES
from interp.procedure import Prompt
from interp.question import Attempt, Kind, Outcome, Question
from interp.site import Point, Site

CONTEXT = (70, 71, 72, 73, 74, 75)
PARTING = Parting("q", CONTEXT, 4, gold=40, given=41)


def difference(model, *edits, references=None) -> float:
    logits = model.forward(CONTEXT, interventions=edits, references=references).logits[0, -1]
    return float(logits[PARTING.gold] - logits[PARTING.given])


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_blocks_and_embedding_sum_to_the_logit_difference(tiny_model, name):
    model = tiny_model(name)
    sites = [Site(layer, point) for layer in range(model.n_layers) for point in EDITABLE]
    last, first = Site(model.n_layers - 1, Point.RESID_POST), Site(0, Point.RESID_PRE)
    seen = model.forward(CONTEXT, record=[*sites, last, first])
    found = attribute(model, PARTING, Ablation())
    gold, given = model.readout(seen.activations[last][0, -1], [PARTING.gold, PARTING.given])
    total = sum(direct for direct, _ in found.values())
    total += float(seen.activations[first][0, -1] @ (gold - given))
    norm = model.module.get_submodule(model.layout.final_norm)
    head = model.module.get_submodule(model.layout.head)
    if getattr(norm, "bias", None) is not None:  # the biases are terms that no block writes
        total += float((head.weight[PARTING.gold] - head.weight[PARTING.given]) @ norm.bias)
    if head.bias is not None:
        total += float(head.bias[PARTING.gold] - head.bias[PARTING.given])
    logits = seen.logits[0, -1].double()
    cap = getattr(model.config, "final_logit_softcapping", None)
    if cap is not None:  # direct attribution is of the logits before the soft cap
        logits = torch.atanh(logits / cap) * cap
    assert total == pytest.approx(float(logits[PARTING.gold] - logits[PARTING.given]), abs=2e-3)


@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt2", "gpt_neox"])
def test_patching_is_the_slope_of_silencing(tiny_model, name):
    model = tiny_model(name)
    found = attribute(model, PARTING, Ablation())
    step = 1e-2
    for site, (_, patching) in found.items():
        up, down = (difference(model, Scale(site, 1 + s)) for s in (step, -step))
        assert -patching == pytest.approx((up - down) / (2 * step), rel=0.05, abs=0.02)


def test_patching_of_the_last_block_is_exact_where_the_head_is_linear(tiny_model):
    """Without a final norm's scale the last MLP acts linearly, so the estimate is the effect itself."""
    model = tiny_model("llama")
    site = Site(model.n_layers - 1, Point.MLP_OUT)
    _, patching = attribute(model, PARTING, Ablation())[site]
    effect = difference(model, silence(site.layer)) - difference(model)
    assert patching * effect > 0  # same sign; the norm's scale makes up the rest


def test_patching_respects_the_scope(tiny_model):
    model = tiny_model("llama")
    tables = {scope: attribute(model, PARTING, Ablation(scope)) for scope in Scope}
    for site in tables[Scope.BOTH]:
        parts = tables[Scope.PROMPT][site][1] + tables[Scope.DECODE][site][1]
        assert parts == pytest.approx(tables[Scope.BOTH][site][1], abs=1e-4)
        assert tables[Scope.PROMPT][site][0] == tables[Scope.BOTH][site][0]
    assert any(abs(tables[Scope.PROMPT][s][1] - tables[Scope.BOTH][s][1]) > 1e-3 for s in tables[Scope.BOTH])


def test_patching_towards_a_mean_moves_towards_what_the_mean_does(tiny_model):
    model = tiny_model("llama")
    site = Site(2, Point.MLP_OUT)
    base = model.forward(CONTEXT, record=[site]).activations[site]
    near = {site: base[0].mean(0)}
    _, patching = attribute(model, PARTING, Ablation(means=near))[site]
    _, zero = attribute(model, PARTING, Ablation())[site]
    effect = difference(model, Mean(site, "ab"), references={"ab": near}) - difference(model)
    assert abs(patching - zero) > 1e-3
    assert patching == pytest.approx(effect, abs=max(0.5 * abs(effect), 0.3))


def test_lens_ends_at_what_the_model_says(tiny_model):
    model = tiny_model("llama")
    table = lens_table(model, [PARTING])
    assert table["layer"].to_list() == list(range(model.n_layers + 1))
    logprobs = model.forward(CONTEXT).logits[0, -1].log_softmax(-1)
    last = table.row(-1, named=True)
    assert last["gold_logprob"] == pytest.approx(float(logprobs[PARTING.gold]), abs=1e-4)
    assert last["given_logprob"] == pytest.approx(float(logprobs[PARTING.given]), abs=1e-4)
    order = logprobs.argsort(descending=True).tolist()
    assert last["gold_rank"] == order.index(PARTING.gold) + 1
    assert last["given_rank"] == order.index(PARTING.given) + 1


def test_lens_layers_are_quartiles():
    rows = [
        {"question": str(i), "layer": layer, "gold_logprob": -float(i), "given_logprob": -2.0, "gold_rank": 1,
         "given_rank": 2}
        for i in range(5)
        for layer in (1, 0)
    ]  # fmt: skip
    table = lens_layers(pl.DataFrame(rows))
    assert table["layer"].to_list() == [0, 1]
    first = table.row(0, named=True)
    assert (first["gold_low"], first["gold_median"], first["gold_high"]) == (-3.0, -2.0, -1.0)
    assert first["gold_first"] == pytest.approx(2 / 5)


def attempt(text: str, tokens: tuple[int, ...], span: tuple[int, int] | None) -> Attempt:
    return Attempt(
        "q", "h", "deployed", 0, "p", (), 0, "ph", text, tokens, "stop",
        Outcome.WRONG, None, None, span, "1", 5, 20,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gold", "given", "span", "shared"),
    [
        ("3", "8.", (0, 1), ""),
        ("123", "128, I think", (0, 3), "12"),
        ("12", "128", (0, 3), None),  # the gold ends where the given answer goes on
        ("1", "so 2.", (3, 4), "so "),
        ("7", "no idea", None, ""),
    ],
)
def test_partings(tiny_model, gold, given, span, shared):
    model = tiny_model("llama")
    question = Question("q", "How much?", Kind.NUMBER, (gold,))
    rendered = model.render("How much?", Prompt())
    tokens = (*model.encode_answer(rendered, given), model.tokenizer.eos_token_id)
    found = find_partings(model, Prompt(), [attempt(given, tokens, span)], {"q": question})
    if shared is None:
        assert found == []
        return
    (parting,) = found
    assert parting.n_prompt == len(rendered.tokens)
    assert model.decode(parting.context[parting.n_prompt :]) == shared
    assert model.decode([parting.gold]) == gold[len(shared) if gold.startswith(shared) else 0]
    assert model.decode([parting.given]) == given[len(shared)]


def test_tables_and_agreement(tiny_model):
    model = tiny_model("llama")
    other = Parting("r", CONTEXT[:4], 4, gold=50, given=51)
    table = attribution_table(model, [PARTING, other], Ablation())
    assert table.height == 2 * model.n_layers * 2
    blocks = attribution_blocks(table)
    mlp = table.filter((pl.col("layer") == 1) & (pl.col("point") == "mlp_out"))
    found = blocks.filter((pl.col("layer") == 1) & (pl.col("point") == "mlp_out"))
    assert found["direct"][0] == pytest.approx(mlp["direct"].mean())
    repair = pl.DataFrame(
        {"layer": [3, 0, 1, 2], "repair": [0.9, 0.1, 0.5, 0.3], "net_gain": [0.1, 0.0, 0.3, 0.2]}
    )
    estimates = block_estimates(repair, table)
    assert estimates["layer"].to_list() == [0, 1, 2, 3]
    direct = blocks.filter(pl.col("point") == "mlp_out")["direct"].to_list()
    assert estimates["direct"].to_list() == pytest.approx([-value for value in direct])
    perfect = estimates.with_columns(direct=pl.col("repair"), patching=-pl.col("repair"))
    agreement = agreement_table(perfect)
    assert agreement["spearman"].to_list() == pytest.approx([1.0, -1.0])
    assert agreement["overlap_1"].to_list() == [1.0, 0.0]
    assert "overlap_5" not in agreement.columns  # there are four blocks
