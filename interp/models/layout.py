"""Where things live inside an architecture: one row of `LAYOUTS` each.

A row names modules relative to the model (embedding, blocks, final norm, head) and relative to a block.
`attn_out` and `mlp_out` are the modules whose output is *added to the residual stream*: where an
architecture normalises a block's output first, that is the post-norm, and where a module adds the stream
itself, the projection inside it. `resid_mid` is a module that reads the stream between attention and MLP.
An architecture whose contributions cannot sum to the stream stands in `REFUSALS`, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from interp.errors import Unsupported
from interp.site import Point

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor, nn


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
        experts: In a block, the module that is given the router's choice and runs the experts, if it has any.
        resid_mid: In a block, the module whose input is the stream between attention and MLP.
        final_norm: Norm before the head.
        head: Unembedding.
        norm: Kind of the final norm.
        parallel: Whether attention and MLP read the same stream; a name is looked up in the config.
        linear_attn: Takes the place of `attn_out` in blocks that have no module of that name.
        contribution_scale: Attribute of a block: it multiplies both contributions by this number before it
            adds them.
        logit_scale: Name in the config: the model multiplies its logits by this number.
        logit_divisor: Name in the config: the model divides its logits by this number.
        flat_mlp: Whether the MLP reads and writes batch and positions in one dimension.
        adds_in_place: Whether a block adds to its MLP's output in place.
        forks: Whether everything that a block is given has one entry a row (or none), so that rows can
            join in the middle of a pass.
        gaps: Whether padding may stand between two pieces of a prompt: not where a layer counts positions
            by their index, padding included.
        mask_hides: Whether a True in an attention mask of truth values hides a position, instead of showing
            it.
        absent: Why a model may lack a module that the row names, for the refusal.
    """

    embedding: str = "model.embed_tokens"
    blocks: str = "model.layers"
    attn_out: str = "self_attn"
    mlp: str = "mlp"
    mlp_out: str = "mlp"
    experts: str = "mlp.experts"
    resid_mid: str = "post_attention_layernorm"
    final_norm: str = "model.norm"
    head: str = "lm_head"
    norm: Norm = Norm.RMS
    parallel: bool | str = False
    linear_attn: str | None = None
    contribution_scale: str | None = None
    logit_scale: str | None = None
    logit_divisor: str | None = None
    flat_mlp: bool = False
    adds_in_place: bool = False
    forks: bool = True
    gaps: bool = True
    mask_hides: bool = False
    absent: str = ""


_LLAMA = Layout()
_GEMMA = Layout(
    attn_out="post_attention_layernorm",
    mlp_out="post_feedforward_layernorm",
    resid_mid="pre_feedforward_layernorm",
    norm=Norm.RMS_PLUS_ONE,
)

_GPT2 = Layout(
    embedding="transformer.wte",
    blocks="transformer.h",
    attn_out="attn",
    resid_mid="ln_2",
    final_norm="transformer.ln_f",
    norm=Norm.LAYER,
)
_OLMO2 = replace(
    _LLAMA, attn_out="post_attention_layernorm", mlp_out="post_feedforward_layernorm", resid_mid="mlp"
)
_QWEN3_NEXT = replace(_LLAMA, linear_attn="linear_attn", norm=Norm.RMS_PLUS_ONE)

LAYOUTS: dict[str, Layout] = {
    "bloom": replace(
        _GPT2,
        embedding="transformer.word_embeddings",
        attn_out="self_attention.dense",
        mlp_out="mlp.dense_4h_to_h",
        resid_mid="post_attention_layernorm",
        forks=False,  # its position bias has one entry a row and head
    ),
    "cohere2": replace(_LLAMA, norm=Norm.LAYER, parallel=True, logit_scale="logit_scale"),
    "falcon": replace(
        _GPT2,
        embedding="transformer.word_embeddings",
        attn_out="self_attention",
        resid_mid="post_attention_layernorm",
        parallel="parallel_attn",
        adds_in_place=True,
    ),
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA,
    "gpt2": _GPT2,
    "gpt_neo": replace(_GPT2, gaps=False),  # its local layers count back by index
    "gpt_neox": Layout(
        embedding="gpt_neox.embed_in",
        blocks="gpt_neox.layers",
        attn_out="post_attention_dropout",
        mlp_out="post_mlp_dropout",
        final_norm="gpt_neox.final_layer_norm",
        norm=Norm.LAYER,
        parallel="use_parallel_residual",
    ),
    "gpt_oss": _LLAMA,
    "gptj": replace(_GPT2, parallel=True),
    "granite": replace(_LLAMA, contribution_scale="residual_multiplier", logit_divisor="logits_scaling"),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "mixtral": _LLAMA,
    "mpt": Layout(
        embedding="transformer.wte",
        blocks="transformer.blocks",
        attn_out="resid_attn_dropout",
        mlp="ffn",
        mlp_out="ffn.down_proj",
        resid_mid="norm_2",
        final_norm="transformer.norm_f",
        norm=Norm.LAYER,
        forks=False,  # its position bias has one entry a head
        gaps=False,  # and counts by index
        mask_hides=True,
    ),
    "olmo2": _OLMO2,
    "olmo3": _OLMO2,
    "opt": Layout(
        embedding="model.decoder.embed_tokens",
        blocks="model.decoder.layers",
        mlp="fc2",
        mlp_out="fc2",
        resid_mid="final_layer_norm",
        final_norm="model.decoder.final_layer_norm",
        norm=Norm.LAYER,
        flat_mlp=True,
        absent="OPT models that normalise after each block (the 350m one) rescale the stream itself, so "
        "contributions do not sum to it.",
    ),
    "phi3": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_moe": _LLAMA,
    "qwen3_next": _QWEN3_NEXT,
    "smollm3": _LLAMA,
}

_GEMMA4 = (
    "its blocks also add an embedding of their own to the stream and then rescale the stream, so what "
    "attention and MLP contribute does not sum to it"
)
REFUSALS: dict[str, str] = {"gemma4": _GEMMA4, "gemma4_text": _GEMMA4}
"""Architecture -> why it has no row."""


def is_unknown(module: nn.Module) -> bool:
    """Whether a model's architecture has neither a row nor a refusal."""
    config: Any = module.config
    return str(config.model_type) not in {*LAYOUTS, *REFUSALS}


def layout_of(module: nn.Module) -> Layout:
    """The row for a transformers model, with `parallel` read from its config.

    Raises:
        Unsupported: No row has its architecture, it is refused, or a module that the row names is missing.
    """
    config: Any = module.config
    architecture = str(config.model_type)
    if architecture in REFUSALS:
        raise Unsupported(f"The architecture {architecture!r} is refused: {REFUSALS[architecture]}.")
    row = LAYOUTS.get(architecture)
    if row is None:
        raise Unsupported(
            f"The architecture {architecture!r} has no row in interp/models/layout.py. "
            f"Known: {', '.join(sorted(LAYOUTS))}. A row names where blocks, attention, MLP and norms live."
        )
    if isinstance(row.parallel, str):
        row = replace(row, parallel=bool(getattr(config, row.parallel)))
    check_modules(module, row, architecture)
    return row


def blocks_of(module: nn.Module, layout: Layout) -> Sequence[nn.Module]:
    """The decoder blocks in order."""
    return list(module.get_submodule(layout.blocks).children())


def module_path(block: nn.Module, layout: Layout, point: Point) -> str:
    """Name, in a block, of the module that writes `attn_out` or `mlp_out`, or that reads `resid_mid`."""
    path = {
        Point.ATTN_OUT: layout.attn_out,
        Point.RESID_MID: layout.resid_mid,
        Point.MLP_OUT: layout.mlp_out,
    }[point]
    is_linear = point is Point.ATTN_OUT and layout.linear_attn and not _has(block, path)
    return layout.linear_attn if is_linear and layout.linear_attn else path


def module_at(block: nn.Module, layout: Layout, point: Point) -> nn.Module:
    """The module that `module_path` names."""
    return block.get_submodule(module_path(block, layout, point))


def frozen_norm(
    norm: Any, kind: Norm, rows: Float[Tensor, "token d_model"], resid: Float[Tensor, " d_model"]
) -> Float[Tensor, "token d_model"]:
    """Directions that, dotted with a residual stream, give what rows dotted with its norm give.

    Up to the norm's own bias, and in float32 inside: in half precision the square of a stream overflows.

    Args:
        norm: The module.
        kind: How it normalises.
        rows: What reads the normalised stream.
        resid: The stream at which the norm's scale is frozen.
    """
    eps = next(float(getattr(norm, name)) for name in ("variance_epsilon", "eps") if hasattr(norm, name))
    whole, weight = resid.float(), norm.weight.float()
    if kind is Norm.LAYER:
        directions = rows.float() * weight / (whole.var(correction=0) + eps).sqrt()
        return (directions - directions.mean(-1, keepdim=True)).to(rows.dtype)
    weight = weight + 1.0 if kind is Norm.RMS_PLUS_ONE else weight
    scale = (whole.pow(2).mean() + eps).rsqrt()
    return (rows.float() * weight * scale).to(rows.dtype)


def n_experts_of(block: nn.Module, layout: Layout) -> int:
    """Number of routed experts of a block; 0 if its MLP is one network."""
    return (
        int(getattr(block.get_submodule(layout.experts), "num_experts", 0))
        if _has(block, layout.experts)
        else 0
    )


def check_modules(module: nn.Module, row: Layout, architecture: str) -> None:
    """Refuses a model that lacks a module that a row names.

    Raises:
        Unsupported: A module is missing.
    """
    for name in (row.embedding, row.blocks, row.final_norm, row.head):
        if not _has(module, name):
            reason = f" {row.absent}" if row.absent else ""
            raise Unsupported(
                f"This {architecture!r} model has no module {name!r}, which its row names.{reason}"
            )
    if not blocks_of(module, row):
        raise Unsupported(f"This {architecture!r} model has no blocks, so there is no MLP to silence.")
    for layer, block in enumerate(blocks_of(module, row)):
        if not _has(block, row.mlp):
            raise Unsupported(
                f"Block {layer} of this {architecture!r} model has no MLP ({row.mlp!r}), so there is no MLP "
                "block to silence."
            )
        attn_out = row.attn_out if _has(block, row.attn_out) else row.linear_attn or row.attn_out
        for name in (attn_out, row.mlp_out, *(() if row.parallel else (row.resid_mid,))):
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
