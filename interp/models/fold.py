"""Folds edits into weights: a block that is multiplied by a factor is one whose output weights are.

What is multiplied is the last thing before the stream. Behind an RMS norm that is the norm's weight: the
projection before it may be multiplied by any factor but 0, and the norm takes it out again. Gemma's norms
multiply by 1 + weight, so there a silenced block has the weight -1. With two edits of one block the second
multiplies what the first has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.errors import Unsupported
from interp.intervention import Intervention, Scale, Scope
from interp.models.layout import Norm, blocks_of, module_at
from interp.site import Point, Site

if TYPE_CHECKING:
    from interp.models.checkpoint import Checkpoint

OUTPUTS = ("down_proj", "c_proj", "dense_4h_to_h", "fc_out", "fc2", "o_proj", "dense", "out_proj")
"""Names of the projection that writes a block's contribution."""


def fold(module: nn.Module, model: Checkpoint, interventions: Sequence[Intervention]) -> None:
    """Changes the output weights of the blocks that edits name.

    Args:
        module: A copy of the model's modules around the same tensors; what changes gets tensors of its own.
        model: The model, with its layout.
        interventions: `Scale` words of scope both.

    Raises:
        Unsupported: An edit is of another kind or scope, or its weights are not found or used elsewhere too.
    """
    blocks = blocks_of(module, model.layout)
    for edit in interventions:
        if not isinstance(edit, Scale) or edit.scope is not Scope.BOTH:
            raise Unsupported(
                f"{edit} cannot be written into weights: they act the same at every position and on every "
                "input. Export a Scale with scope both, for instance 'L7.mlp_out*0'."
            )
        block, n_changed = blocks[edit.site.layer], 0
        for owner, name in _outputs(block, model, edit.site):
            _scale(owner, name, edit, model, module)
            n_changed += 1
        if not n_changed:
            raise Unsupported(
                f"The output weights of {edit.site} are not found in {type(block).__name__}, so {edit} "
                "cannot be written into them."
            )


def _outputs(block: nn.Module, model: Checkpoint, site: Site) -> Iterator[tuple[nn.Module, str]]:
    """Every parameter whose product or sum is the contribution: owner and name."""
    if site.expert is not None:
        yield from _parameters(block.get_submodule(model.layout.experts), prefix="down_proj")
        return
    written = module_at(block, model.layout, site.point)
    if isinstance(
        getattr(written, "weight", None), nn.Parameter
    ):  # a norm after the block, or the projection
        yield from _parameters(written)
        return
    if not any(True for _ in written.parameters()):  # a dropout behind the block
        written = _behind(block, model, site.point)
    for name, part in written.named_modules():
        if name.rpartition(".")[2] in OUTPUTS:
            yield from _parameters(part)
        elif name.rpartition(".")[2] == "experts":
            yield from _parameters(part, prefix="down_proj")


def _behind(block: nn.Module, model: Checkpoint, point: Point) -> nn.Module:
    if point is Point.MLP_OUT:
        return block.get_submodule(model.layout.mlp)
    attention = ("attn", "attention", "self_attn", "self_attention")
    return next((part for name, part in block.named_children() if name in attention), nn.Identity())


def _parameters(owner: nn.Module, prefix: str = "") -> Iterator[tuple[nn.Module, str]]:
    for name, _ in owner.named_parameters(recurse=False):
        if name.startswith(prefix):
            yield owner, name


def _scale(owner: nn.Module, name: str, edit: Scale, model: Checkpoint, module: nn.Module) -> None:
    old: Any = getattr(owner, name)
    users = [key for key, value in module.named_parameters(remove_duplicate=False) if value is old]
    if len(users) > 1:
        raise Unsupported(f"{edit} cannot be written: its weights are also those of {', '.join(users)}.")
    with torch.no_grad():
        new = old.detach().clone()
        part = new if edit.site.expert is None else new[edit.site.expert]
        is_norm = "norm" in type(owner).__name__.lower()
        if is_norm and model.layout.norm is Norm.RMS_PLUS_ONE:
            part.copy_((part + 1.0) * edit.factor - 1.0)  # such norms multiply by 1 + weight
        else:
            part.mul_(edit.factor)
    setattr(owner, name, nn.Parameter(new, requires_grad=False))
