"""The sweep as a plain loop over transformers: for each block a hook, and `generate` on all questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from interp.bench.contender import PLAIN, Inputs, Looped
from interp.models.layout import module_at
from interp.models.points import replaced, stream_of
from interp.site import Point

if TYPE_CHECKING:
    from jaxtyping import Int
    from torch import Tensor

    from interp.models.backend import Backend
    from interp.procedure import Decoding


def plain_loop(model: Backend, batch_size: int) -> Looped:
    """What one would write by hand: it stops at stop strings, as transformers does when it is told to."""
    module: Any = model.module

    def generate(inputs: Inputs, layer: int, decoding: Decoding) -> Int[Tensor, "batch new"]:
        handle = None
        if layer != PLAIN:
            silenced = module_at(model.blocks[layer], model.layout, Point.MLP_OUT)
            handle = silenced.register_forward_hook(
                lambda _module, _args, output: replaced(output, torch.zeros_like(stream_of(output)))
            )
        try:
            out = module.generate(**inputs.to_dict(), **greedy(model, decoding))
        finally:
            if handle is not None:
                handle.remove()
        return out[:, inputs.ids.shape[1] :]

    return Looped("transformers", model, batch_size, generate)


def greedy(model: Backend, decoding: Decoding) -> dict[str, Any]:
    """Arguments of transformers' `generate` for a greedy decoding."""
    from transformers import GenerationConfig

    config = GenerationConfig(
        do_sample=False,
        max_new_tokens=decoding.max_new_tokens,
        eos_token_id=sorted(model.end_tokens),
        pad_token_id=min(model.end_tokens, default=0),
        stop_strings=list(decoding.stop) or None,
    )
    return {"generation_config": config, **({"tokenizer": model.tokenizer} if decoding.stop else {})}
