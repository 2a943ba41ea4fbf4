"""Writes a route into a model's structure: its blocks in that order, and a config that says so."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import nn

from interp.errors import Unsupported
from interp.models.checkpoint import shared_copy
from interp.models.layout import blocks_of, n_experts_of
from interp.route import Route

if TYPE_CHECKING:
    from interp.models.checkpoint import Checkpoint

BY_INDEX = ("scale_attn_by_inverse_layer_idx",)
"""Settings that make a layer depend on its number in a way that no config can undo."""

_NUMBER = re.compile(r"layer_?(id|idx|index|num|number)")


def unroll(module: nn.Module, model: Checkpoint, route: Route) -> None:
    """Puts a model's blocks into the order of a route.

    A block that runs twice stands there twice, the second time with tensors of its own, as a checkpoint
    stores them.

    Args:
        module: A copy of the model's modules; it is changed.
        model: The model, with its layout.
        route: Order of the layers.

    Raises:
        Unsupported: A layer depends on its number in a way that the config cannot say.
    """
    for name in BY_INDEX:
        if getattr(model.config, name, False):
            raise Unsupported(f"Layers depend on their number ({name}), so a route cannot be exported.")
    blocks = blocks_of(module, model.layout)
    seen: set[int] = set()
    unrolled: list[nn.Module] = []
    for place, layer in enumerate(route.layers):
        block = copy.deepcopy(blocks[layer]) if layer in seen else shared_copy(blocks[layer])
        seen.add(layer)
        parts: list[Any] = [part for part in block.modules() if hasattr(part, "layer_idx")]
        for part in parts:
            part.layer_idx = place
        unrolled.append(block)
    above, _, name = model.layout.blocks.rpartition(".")
    setattr(module.get_submodule(above), name, nn.ModuleList(unrolled))
    _tell_config(module, model, route, unrolled)


def _tell_config(module: Any, model: Checkpoint, route: Route, unrolled: Sequence[nn.Module]) -> None:
    """Brings what the config says of each layer in step with the route."""
    config, n_layers = module.config, model.n_layers
    apart = ("attention_types", "mlp_only_layers")
    for name, value in list(config.to_dict().items()):
        if name not in apart and not name.endswith("token_id") and _is_by_layer(value, n_layers):
            setattr(config, name, [value[layer] for layer in route.layers])
    if hasattr(config, "attention_types"):  # GPT-Neo: kinds, and how often they repeat
        config.attention_types = [[list(config.attention_layers), 1]]
    if hasattr(config, "mlp_only_layers"):  # which layers have no experts, and every how manyth has
        config.mlp_only_layers = [
            place for place, block in enumerate(unrolled) if not n_experts_of(block, model.layout)
        ]
        config.decoder_sparse_step = 1
    config.num_hidden_layers = len(route.layers)


def _is_by_layer(value: Any, n_layers: int) -> bool:
    return isinstance(value, list) and len(value) == n_layers


def check_kinds(loaded: nn.Module, model: Checkpoint, route: Route) -> None:
    """Refuses a checkpoint in which a block is of another kind than the layer that it came from.

    Logits do not show it all: a window that is longer than the text changes nothing. So the modules of each
    block are compared, and all that they are told of themselves, the layer's number left out.

    Args:
        loaded: What transformers makes of the checkpoint.
        model: The model that it came from.
        route: Order of the layers.

    Raises:
        Unsupported: A block differs, or there are more or fewer; names the first difference.
    """
    found = blocks_of(loaded, model.layout)
    if len(found) != len(route.layers):
        raise Unsupported(
            f"The config of {model.config.model_type!r} cannot say how many layers there are: "
            f"{len(route.layers)} were written and {len(found)} loaded."
        )
    for place, (layer, block) in enumerate(zip(route.layers, found, strict=True)):
        was, now = _kind(model.blocks[layer]), _kind(block)
        for name in [*was, *now]:
            if was.get(name) != now.get(name):
                raise Unsupported(
                    f"The config of {model.config.model_type!r} cannot say that layer {layer} runs at place "
                    f"{place}: its {name} is {was.get(name)} and would be {now.get(name)}. Layers depend on "
                    "their number there, so this route cannot be exported."
                )


def _kind(block: nn.Module) -> dict[str, Any]:
    """What the modules of a block are, and the plain values that they hold, by path."""
    plain = (bool, int, float, str, type(None))
    kind: dict[str, Any] = {}
    for path, part in block.named_modules():
        kind[f"{path or 'block'} (module)"] = type(part).__name__
        for name, value in vars(part).items():
            told = isinstance(value, plain) and name != "training" and not name.startswith("_")
            if told and not _NUMBER.fullmatch(name):
                kind[f"{path}.{name}".lstrip(".")] = value
    return kind
