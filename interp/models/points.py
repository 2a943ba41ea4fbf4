"""Where the points of a block are read and edited: torch hooks, taken off again when their `with` ends."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.intervention import EDITABLE
from interp.models.edits import RowEdits
from interp.models.layout import Layout, module_at
from interp.site import Point, Site

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def hooked_points(
    blocks: Sequence[nn.Module],
    layout: Layout,
    edits: RowEdits,
    record: Sequence[Site] = (),
    recorded: dict[Site, Tensor] | None = None,
) -> Generator[None]:
    """Edits contributions and records sites in the one pass that the block runs.

    Raises:
        EditMisfired: When the block ends: an edit did not fire once in it.

    Args:
        blocks: The decoder blocks in order.
        layout: Where things live in them.
        edits: What to do at each site.
        record: Sites to record.
        recorded: Where recorded tensors go.
    """
    into: dict[Site, Tensor] = {} if recorded is None else recorded
    wanted = set(record)
    sites = sorted(edits.sites | wanted, key=lambda site: site.order)
    experts: dict[int, list[Site]] = {}
    with ExitStack() as stack:
        if layout.contribution_scale:
            layers = dict.fromkeys(site.layer for site in sites if site.point in EDITABLE)
            for layer in layers:
                _scale_in_hooks(blocks[layer], layout, layout.contribution_scale, stack)
        for site in sites:
            block, sink = blocks[site.layer], into if site in wanted else None
            if site.expert is not None:
                experts.setdefault(site.layer, []).append(site)
            elif site.point in EDITABLE:
                _hook_contribution(site, block, layout, edits, sink, stack)
            elif sink is not None:
                _hook_stream(site, block, layout, sink, stack)
        for layer, named in experts.items():
            _hook_experts(named, blocks[layer], layout, edits, stack)
        yield
        edits.end_pass()


@contextmanager
def leaf_output(module: nn.Module) -> Generator[None]:
    """Makes a module's output a leaf that asks for gradients, for as long as the block runs."""
    handle = module.register_forward_hook(lambda _module, _args, output: output.detach().requires_grad_())
    try:
        yield
    finally:
        handle.remove()


def _scale_in_hooks(block: nn.Module, layout: Layout, name: str, stack: ExitStack) -> None:
    """Moves a block's multiplication of both contributions into hooks, where the result can be reached.

    The block then multiplies by one, which changes no bit.
    """
    scale: float = getattr(block, name)

    def multiply(_module: nn.Module, _args: Any, output: Any) -> Any:
        return replaced(output, stream_of(output) * scale)

    for point in EDITABLE:
        stack.callback(module_at(block, layout, point).register_forward_hook(multiply).remove)
    stack.callback(setattr, block, name, scale)
    setattr(block, name, 1.0)


def _hook_contribution(
    site: Site,
    block: nn.Module,
    layout: Layout,
    edits: RowEdits,
    sink: dict[Site, Tensor] | None,
    stack: ExitStack,
) -> None:
    is_mlp = site.point is Point.MLP_OUT
    unflatten = _unflatten(block, layout, stack) if is_mlp and layout.flat_mlp else None

    def contribution(_module: nn.Module, _args: Any, output: Any) -> Any:
        written = stream_of(output)
        edited = edits.apply(site, unflatten(written) if unflatten else written)
        if sink is not None:
            sink[site] = edited
            if is_mlp and layout.adds_in_place:
                edited = edited.clone()
        return replaced(output, edited.reshape(written.shape) if unflatten else edited)

    stack.callback(module_at(block, layout, site.point).register_forward_hook(contribution).remove)


def _hook_experts(
    sites: Sequence[Site], block: nn.Module, layout: Layout, edits: RowEdits, stack: ExitStack
) -> None:
    """Scales what the router gives some experts; what the others get stays as it is."""
    n_rows: list[int] = []

    def note(_module: nn.Module, args: Any, kwargs: Any) -> None:
        n_rows[:] = [(args[0] if args else kwargs["hidden_states"]).shape[0]]

    def scale(_module: nn.Module, args: Any) -> Any:
        hidden, chosen, weights, *rest = args
        for site in sites:
            edits.fire(site)
        n_pos = chosen.shape[0] // n_rows[0]
        for expert, factors in edits.expert_factors(sites[0].layer).items():
            of_token = factors[: n_rows[0]].repeat_interleave(n_pos)[:, None]
            weights = torch.where(chosen == expert, weights * of_token, weights)
        return (hidden, chosen, weights, *rest)

    stack.callback(block.get_submodule(layout.mlp).register_forward_pre_hook(note, with_kwargs=True).remove)
    stack.callback(block.get_submodule(layout.experts).register_forward_pre_hook(scale).remove)


def _hook_stream(
    site: Site, block: nn.Module, layout: Layout, sink: dict[Site, Tensor], stack: ExitStack
) -> None:
    if site.point is Point.RESID_POST:

        def after(_module: nn.Module, _args: Any, output: Any) -> None:
            sink[site] = stream_of(output)

        stack.callback(block.register_forward_hook(after).remove)
        return
    is_mid = site.point is Point.RESID_MID
    unflatten = _unflatten(block, layout, stack) if is_mid and layout.flat_mlp else None

    def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
        read = args[0] if args else kwargs["hidden_states"]
        sink[site] = unflatten(read) if unflatten else read

    reader = module_at(block, layout, site.point) if is_mid else block
    stack.callback(reader.register_forward_pre_hook(before, with_kwargs=True).remove)


def _unflatten(block: nn.Module, layout: Layout, stack: ExitStack) -> Callable[[Tensor], Tensor]:
    """Splits one dimension into batch and positions again, as attention in the same block saw them."""
    shape: list[int] = []

    def note(_module: nn.Module, _args: Any, output: Any) -> None:
        shape[:] = stream_of(output).shape

    stack.callback(module_at(block, layout, Point.ATTN_OUT).register_forward_hook(note).remove)
    return lambda flat: flat.view(shape)


def stream_of(output: Any) -> Tensor:
    """What a module writes: attention, some MLPs and some blocks hand back a tuple that begins with it."""
    stream = output[0] if isinstance(output, tuple) else output
    assert isinstance(stream, torch.Tensor)
    return stream


def replaced(output: Any, stream: Tensor) -> Any:
    """A module's output with another stream in it."""
    return (stream, *output[1:]) if isinstance(output, tuple) else stream
