"""Where things live inside an architecture: one row of `LAYOUTS` each.

A row names modules relative to the model (embedding, blocks, final norm, head) and relative to a block.
`attn_out` and `mlp_out` are the modules whose output is *added to the residual stream*: where an
architecture normalises a block's output first, that is the post-norm. `resid_mid` is a module that reads
the stream between attention and MLP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from interp.errors import Unsupported

if TYPE_CHECKING:
    from torch import nn


class Norm(StrEnum):
    """How the final norm turns a residual stream into what the head reads."""

    RMS = "rms"
    RMS_PLUS_ONE = "rms_plus_one"
    LAYER = "layer"


@dataclass(frozen=True)
class Layout:
    """One architecture's module names.

    Attributes:
        embedding: Token embedding.
        blocks: List of decoder blocks.
        attn_out: In a block, the module whose output is attention's contribution.
        mlp: In a block, the MLP.
        mlp_out: In a block, the module whose output is the MLP's contribution.
        resid_mid: In a block, the module whose input is the stream between attention and MLP.
        final_norm: Norm before the head.
        head: Unembedding.
        norm: Kind of the final norm.
        parallel: Whether attention and MLP read the same stream; a name is looked up in the config.
    """

    embedding: str = "model.embed_tokens"
    blocks: str = "model.layers"
    attn_out: str = "self_attn"
    mlp: str = "mlp"
    mlp_out: str = "mlp"
    resid_mid: str = "post_attention_layernorm"
    final_norm: str = "model.norm"
    head: str = "lm_head"
    norm: Norm = Norm.RMS
    parallel: bool | str = False


_LLAMA = Layout()
_GEMMA = Layout(
    attn_out="post_attention_layernorm",
    mlp_out="post_feedforward_layernorm",
    resid_mid="pre_feedforward_layernorm",
    norm=Norm.RMS_PLUS_ONE,
)

LAYOUTS: dict[str, Layout] = {
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA,
    "gpt2": Layout(
        embedding="transformer.wte",
        blocks="transformer.h",
        attn_out="attn",
        resid_mid="ln_2",
        final_norm="transformer.ln_f",
        norm=Norm.LAYER,
    ),
    "gpt_neox": Layout(
        embedding="gpt_neox.embed_in",
        blocks="gpt_neox.layers",
        attn_out="post_attention_dropout",
        mlp_out="post_mlp_dropout",
        final_norm="gpt_neox.final_layer_norm",
        norm=Norm.LAYER,
        parallel="use_parallel_residual",
    ),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "olmo2": replace(
        _LLAMA, attn_out="post_attention_layernorm", mlp_out="post_feedforward_layernorm", resid_mid="mlp"
    ),
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "smollm3": _LLAMA,
}


def layout_of(module: nn.Module) -> Layout:
    """The row for a transformers model, with `parallel` read from its config.

    Raises:
        Unsupported: No row has its architecture, or a block lacks a module that the row names.
    """
    config: Any = module.config
    architecture = str(config.model_type)
    row = LAYOUTS.get(architecture)
    if row is None:
        raise Unsupported(
            f"The architecture {architecture!r} has no row in interp/models/layout.py. "
            f"Known: {', '.join(sorted(LAYOUTS))}. A row names where blocks, attention, MLP and norms live."
        )
    if isinstance(row.parallel, str):
        row = replace(row, parallel=bool(getattr(config, row.parallel)))
    _check(module, row, architecture)
    return row


def blocks_of(module: nn.Module, layout: Layout) -> Sequence[nn.Module]:
    """The decoder blocks in order."""
    return list(module.get_submodule(layout.blocks).children())


def _check(module: nn.Module, row: Layout, architecture: str) -> None:
    for name in (row.embedding, row.blocks, row.final_norm, row.head):
        if not _has(module, name):
            raise Unsupported(f"This {architecture!r} model has no module {name!r}, which its row names.")
    if not blocks_of(module, row):
        raise Unsupported(f"This {architecture!r} model has no blocks, so there is no MLP to silence.")
    for layer, block in enumerate(blocks_of(module, row)):
        if not _has(block, row.mlp):
            raise Unsupported(
                f"Block {layer} of this {architecture!r} model has no MLP ({row.mlp!r}), so there is no MLP "
                "block to silence."
            )
        for name in (row.attn_out, row.mlp_out, row.resid_mid):
            if not _has(block, name):
                raise Unsupported(
                    f"Block {layer} of this {architecture!r} model has no {name!r}, which its row names."
                )


def _has(module: nn.Module, name: str) -> bool:
    try:
        module.get_submodule(name)
    except AttributeError:
        return False
    return True
