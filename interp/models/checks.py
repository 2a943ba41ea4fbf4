"""Loading is a test: what a model must show before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from interp.errors import InterpError, LoadRefused, Unsupported
from interp.models.backend import Backend
from interp.models.checkpoint import Checkpoint
from interp.models.model import Forward
from interp.procedure import Prompt, Template
from interp.site import Point, Site

if TYPE_CHECKING:
    from torch import Tensor


M = TypeVar("M", bound=Checkpoint)

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""Largest difference that passes, relative to the largest value compared."""

TEXTS = (
    "Which number is smaller, 3 or 8?",
    "What is the capital of the country whose largest city is Sydney?",
)
N_NEW_TOKENS = 4


def verify(model: Backend) -> dict[str, float]:
    """Runs the load checks.

    Returns:
        The relative error of each check: `additivity`, `head`, `readout`, `logits`, `cache`.

    Raises:
        LoadRefused: A check failed; the message gives the numbers.
    """
    errors = measure(model)
    failed = failures(model, errors)
    if failed:
        numbers = ", ".join(f"{name} {error:.2g}" for name, error in failed.items())
        plain = model.name.removeprefix(f"{model.backend}:")
        raise LoadRefused(
            f"{model.name} failed a load check (relative error above {limit_of(model):g}): {numbers}. "
            "Checks: additivity (contributions sum to the residual stream), head and readout (the last "
            "stream gives the logits), logits (those of plain transformers), cache (cached = uncached "
            "generation of a left-padded pair). Its numbers could not be trusted; the row of its "
            "architecture in interp/models/layout.py, the backend, or the versions of torch and "
            f"transformers, is wrong. `interp doctor {plain}` shows more."
        )
    return errors


def measure(model: Backend) -> dict[str, float]:
    """The relative error of each load check: `additivity`, `head`, `readout`, `logits`, `cache`."""
    tokens = model.render(TEXTS[0], usable_prompt(model)).tokens
    points = [p for p in Point if not (model.layout.parallel and p is Point.RESID_MID)]
    sites = [Site(layer, point) for layer in range(model.n_layers) for point in points]
    seen = model.forward(tokens, record=sites)
    return {
        "additivity": _additivity(model, seen),
        **_final(model, seen),
        "logits": relative(seen.logits, _plain_logits(model, tokens)),
        "cache": _cached_against_uncached(model),
    }


def failures(model: Backend, errors: Mapping[str, float]) -> dict[str, float]:
    """The errors that are too large for the model's dtype, or not a number."""
    return {name: error for name, error in errors.items() if not error <= limit_of(model)}


def limit_of(model: Backend) -> float:
    """Largest relative error that passes in a model's dtype."""
    return TOLERANCE.get(next(model.module.parameters()).dtype, 5e-2)


def usable_prompt(model: Checkpoint) -> Prompt:
    """A chat prompt if the tokenizer can make one: a broken template is in the way of chat prompts only."""
    try:
        model.render(TEXTS[0], Prompt())
    except Unsupported:
        return Prompt(template=Template.PLAIN)
    return Prompt()


def relative(found: Tensor, expected: Tensor) -> float:
    """Largest difference, relative to the largest value expected."""
    difference = (found.float() - expected.float()).abs().max()
    return float(difference / expected.float().abs().max().clamp(min=1e-9))


def _additivity(model: Backend, seen: Forward) -> float:
    """Largest relative error of `pre + attn = mid` and `pre + attn + mlp = post`."""
    worst = 0.0
    for layer in range(model.n_layers):
        at = {site.point: seen.activations[site] for site in seen.activations if site.layer == layer}
        if len({tensor.shape for tensor in at.values()}) > 1:
            return float("inf")  # shapes that only broadcast: an edit would reach the wrong rows
        total = at[Point.RESID_PRE] + at[Point.ATTN_OUT] + at[Point.MLP_OUT]
        worst = max(worst, relative(total, at[Point.RESID_POST]))
        if Point.RESID_MID in at:
            mid = at[Point.RESID_PRE] + at[Point.ATTN_OUT]
            worst = max(worst, relative(mid, at[Point.RESID_MID]))
    return worst


def _final(model: Backend, seen: Forward) -> dict[str, float]:
    """Whether the last stream gives the logits, through the head and through the frozen readout."""
    last = Site(model.n_layers - 1, Point.RESID_POST)
    resid, logits = seen.activations[last][0, -1], seen.logits[0, -1]
    with torch.no_grad():
        head = relative(model.head(resid), logits)
        pair = [int(logits.argmax()), int(logits.argmin())]
        norm = model.module.get_submodule(model.layout.final_norm)
        bias = getattr(norm, "bias", None)  # no block writes it
        written = norm(resid) if bias is None else norm(resid) - bias
        unembed: Any = model.module.get_submodule(model.layout.head)
        expected = unembed.weight[pair] @ written * model.logit_scale
        readout = relative(model.readout(resid, pair) @ resid, expected)
    return {"head": head, "readout": readout}


def _plain_logits(model: Backend, tokens: tuple[int, ...]) -> Tensor:
    """What transformers gives for the same tokens, whatever the backend."""
    ids = torch.tensor([tokens], device=model.device)
    with torch.no_grad():
        return model.module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def _cached_against_uncached(model: Backend) -> float:
    """Difference of next-token logits: a left-padded pair with a cache, against each alone without one."""
    prompts = [model.render(text, usable_prompt(model)).tokens for text in TEXTS]
    steps = model.decoded_logits(prompts, N_NEW_TOKENS + 1)
    worst = 0.0
    for prompt, found in zip(prompts, steps, strict=True):
        chosen: list[int] = found[:-1].argmax(-1).tolist()
        alone = model.forward((*prompt, *chosen)).logits[0, len(prompt) - 1 :]
        worst = max(worst, relative(found, alone))
    return worst


@dataclass(frozen=True)
class Check:
    """What one check found.

    Attributes:
        name: What is checked.
        passed: Whether it is as it should be; None where there is only something to know.
        value: What was found, on one line.
        advice: What to do if it failed.
    """

    name: str
    passed: bool | None
    value: str
    advice: str = ""


def guarded(groups: Iterable[Callable[[M], Iterable[Check]]], model: M) -> list[Check]:
    """What groups of checks find; one that breaks down ends as a failed row, and the next goes on."""
    rows: list[Check] = []
    for group in groups:
        try:
            rows.extend(group(model))
        except Exception as error:  # whatever a broken model does is a finding
            name = group.__name__.strip("_").replace("_", " ")
            kind = "" if isinstance(error, InterpError) else f"{type(error).__name__}: "
            found = f"{kind}{' '.join(str(error).split())[:300]}"
            rows.append(Check(name, False, found, "The check itself broke down."))
    return rows
