"""Everything that can be wrong with a model before any question is asked: one row a check."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from interp.errors import InterpError
from interp.intervention import silence
from interp.models.checks import TEXTS, Check, guarded, limit_of, measure, relative, usable_prompt
from interp.models.layout import LAYOUTS, n_experts_of
from interp.models.load import BACKENDS, LoadOptions
from interp.models.prompting import prompt_checks
from interp.procedure import Decoding, Procedure, Request

if TYPE_CHECKING:
    from torch import Tensor

    from interp.models.backend import Backend
    from interp.models.hooks import HooksModel

PACKAGES = ("torch", "transformers", "transformer-lens", "nnsight")
N_NEW_TOKENS = 8


def examine(model: HooksModel, *, backends: Sequence[str] = ("lens", "nnsight")) -> tuple[Check, ...]:
    """Examines a model of the reference backend.

    Args:
        model: A loaded model; it need not have passed the load checks.
        backends: Which other backends to compare with it.

    Returns:
        One row a check, facts first. A check that breaks down is a failed row, not an error.
    """
    groups = (_facts, _load_checks, _against_transformers, _batches, _blocks)
    rows = [*guarded(groups, model), *prompt_checks(model)]
    for backend in backends:
        rows.append(_backend(model, backend))
    return tuple(rows)


def _facts(model: HooksModel) -> Iterator[Check]:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    environment = model.environment
    yield Check("model", None, f"{model.name}, fingerprint {model.fingerprint}")
    yield Check("versions", None, f"python {platform.python_version()}, {versions}")
    where = f"{environment['dtype']} on {environment['device']}, {environment['threads']} threads"
    yield Check("runs", None, f"{where}, attention {environment['attention']}")
    architecture = environment["architecture"]
    row = "a row of interp/models/layout.py" if architecture in LAYOUTS else "no row; a known one fits"
    yield Check("architecture", None, f"{architecture}: {row}")
    n_experts = max(n_experts_of(block, model.layout) for block in model.blocks)
    kind = "parallel blocks" if model.layout.parallel else "attention, then MLP"
    experts = f", up to {n_experts} experts a block" if n_experts else ""
    yield Check(
        "size",
        None,
        f"{model.n_layers} layers, d_model {model.d_model}, context {model.n_context}; {kind}{experts}",
    )


def _load_checks(model: HooksModel) -> Iterator[Check]:
    limit = limit_of(model)
    says = {
        "additivity": "contributions sum to the residual stream",
        "head": "the last stream gives the logits",
        "logits": "those of plain transformers",
        "readout": "directions of the frozen final norm give the logits",
        "cache": "cached = uncached generation of a left-padded pair",
    }
    for name, error in measure(model).items():
        advice = (
            "The versions of torch and transformers do not fit each other." if name == "cache" else
            "The row of the architecture in interp/models/layout.py is wrong for this model."
        )  # fmt: skip
        value = f"{says[name]}: relative error {error:.1g} (limit {limit:g})"
        yield Check(name, error <= limit, value, advice)


def _against_transformers(model: HooksModel) -> Iterator[Check]:
    tokens = model.render(TEXTS[0], usable_prompt(model)).tokens
    ids = torch.tensor([tokens], device=model.device)
    with torch.no_grad():
        plain = model.module(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    first, second = (model.forward(tokens).logits for _ in range(2))
    difference = float((first - plain).abs().max())
    value = f"largest difference of a logit {difference:.1g}"
    yield Check(
        "logits = transformers", difference == 0.0, value, "A hook of somebody else's is on the model."
    )
    yield Check("same again", torch.equal(first, second), "a second pass gives the same bits")
    ours = [completion.tokens for completion in model.generate(_requests(model))]
    theirs = _generated(model)
    same = all(row[: len(own)] == own for own, row in zip(ours, theirs, strict=True))
    yield Check(
        "tokens = transformers",
        same,
        f"greedy tokens of a left-padded pair, ours and generate's: {'the same' if same else 'differ'}",
        "Something in the generation config that is no greedy decoding, or a near tie in low precision.",
    )


def _generated(model: HooksModel) -> list[tuple[int, ...]]:
    """Greedy tokens of transformers' `generate` on a left-padded pair."""
    prompts = [model.render(text, usable_prompt(model)).tokens for text in TEXTS]
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    module: Any = model.module
    with torch.no_grad():
        out = module.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=N_NEW_TOKENS, do_sample=False, pad_token_id=0
        )
    return [tuple(row) for row in out[:, width:].tolist()]


def _batches(model: HooksModel) -> Iterator[Check]:
    limit = limit_of(model)
    prompts = [model.render(text, usable_prompt(model)).tokens for text in TEXTS]
    short = min(prompts, key=len)
    alone = model.decoded_logits([short], 1)[0, 0]
    worst = 0.0
    for n_more in (1, 7, 30):
        longer = (*short, *short[-1:] * n_more)
        worst = max(worst, relative(model.decoded_logits([short, longer], 1)[0, 0], alone))
    yield Check(
        "padding",
        worst <= limit,
        f"a prompt alone = padded by 1, 7 and 30: relative error {worst:.1g} (limit {limit:g})",
        "Left padding changes the answers: positions or masks are not taken from what is passed.",
    )
    requests = [*_requests(model), *_requests(model, 0), *_requests(model, model.n_layers - 1)]
    together = [completion.tokens for completion in model.generate(requests)]
    single = [next(iter(model.generate([request]))).tokens for request in requests]
    n_same = sum(a == b for a, b in zip(together, single, strict=True))
    yield Check(
        "batch invariance",
        n_same == len(requests),
        f"tokens of {n_same} of {len(requests)} requests are the same alone and in one batch",
        "In low precision a near tie may break another way; in float32 this must not be.",
    )


def _blocks(model: HooksModel) -> Iterator[Check]:
    tokens = model.render(TEXTS[0], usable_prompt(model)).tokens
    plain = model.forward(tokens).logits
    idle = [
        layer
        for layer in range(model.n_layers)
        if torch.equal(model.forward(tokens, interventions=[silence(layer)]).logits, plain)
    ]
    value = f"no logit moves if the MLP of layer {idle} is silenced" if idle else "each MLP moves some logit"
    yield Check(
        "silencing matters", not idle, value, "Their output weights are zero, or the edit misses them."
    )


def _requests(model: Backend, layer: int | None = None) -> list[Request]:
    edits = () if layer is None else (silence(layer),)
    procedure = Procedure(usable_prompt(model), Decoding(N_NEW_TOKENS), edits)
    return [Request(text, procedure) for text in TEXTS]


def _backend(model: HooksModel, backend: str) -> Check:
    """Whether another backend gives the same numbers; one that refuses is no failure of the model."""
    name = f"agrees with {backend}"
    try:
        other = BACKENDS[backend](model, f"{backend}:{model.name}", LoadOptions())
        errors = measure(other)
        failed = {check: error for check, error in errors.items() if not error <= limit_of(model)}
        if failed:
            found = ", ".join(f"{check} {error:.1g}" for check, error in failed.items())
            return Check(name, False, f"fails its own load checks: {found}", f"Do not use {backend}: here.")
        tokens = model.render(TEXTS[0], usable_prompt(model)).tokens
        worst = max(
            _difference(model, other, tokens, edits) for edits in ((), (silence(model.n_layers // 2),))
        )
        requests = [*_requests(model), *_requests(model, model.n_layers // 2)]
        answers = [[c.tokens for c in m.generate(requests)] for m in (model, other)]
    except InterpError as error:
        return Check(name, None, f"not used: {error}")
    except Exception as error:  # a library's own failure is a finding
        return Check(
            name,
            False,
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            f"Do not use {backend}: here.",
        )
    n_same = sum(a == b for a, b in zip(*answers, strict=True))
    passed = worst <= 10 * limit_of(model) and n_same == len(requests)
    value = (
        f"logits within {worst:.1g} of the largest; tokens of {n_same} of {len(requests)} requests the same"
    )
    return Check(name, passed, value, f"Do not mix numbers of {backend}: with those of hooks: on this model.")


def _difference(model: Backend, other: Backend, tokens: Sequence[int], edits: Sequence[Any]) -> float:
    found, expected = (m.forward(tokens, interventions=edits).logits for m in (other, model))
    return relative(found, _like(expected, found))


def _like(expected: Tensor, found: Tensor) -> Tensor:
    return expected.to(found.device)
