"""The sweep as a loop over TransformerLens: for each block a hook on `hook_mlp_out`, and its `generate`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from interp.bench.contender import PLAIN, Inputs, Looped

if TYPE_CHECKING:
    from jaxtyping import Int
    from torch import Tensor

    from interp.models.backend import Backend
    from interp.procedure import Decoding


def lens_loop(model: Backend, batch_size: int) -> Looped:
    """What its tutorials show, on a native bridge of the same weights.

    Raises:
        Unsupported: TransformerLens has no adapter for the architecture.
    """
    bridge = model.lens()

    def silence(value: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
        return torch.zeros_like(value)

    def generate(inputs: Inputs, layer: int, decoding: Decoding) -> Int[Tensor, "batch new"]:
        hooks = [] if layer == PLAIN else [(f"blocks.{layer}.hook_mlp_out", silence)]
        with bridge.hooks(fwd_hooks=hooks) if hooks else nullcontext():
            out = bridge.generate(
                inputs.ids,
                attention_mask=inputs.mask,
                max_new_tokens=decoding.max_new_tokens,
                do_sample=False,
                stop_at_eos=True,
                eos_token_id=sorted(model.end_tokens),
                stop_strings=list(decoding.stop) or None,
                return_type="tokens",
                verbose=False,
            )
        return out[:, inputs.ids.shape[1] :]

    return Looped("TransformerLens", model, batch_size, generate)
