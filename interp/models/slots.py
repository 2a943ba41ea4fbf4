"""The keys, values and states that a layer has stored, picked out row by row."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

_STATES = ("conv_states", "recurrent_states")
_BY_STATE = (*_STATES, "is_conv_states_initialized", "is_recurrent_states_initialized", "has_previous_state")


def picked(parts: Sequence[tuple[Any, Sequence[int]]], order: Sequence[int], *, empty: Sequence[bool]) -> Any:
    """One cache layer with rows out of several of the same kind.

    Args:
        parts: A cache layer of transformers, and the rows to take from it.
        order: For each row of the result, its place among all that were taken.
        empty: Whether a row of the result has nothing stored: it is filled with zeros.
    """
    copies = [_copied(layer, rows) for layer, rows in parts]
    first = copies[0]
    if len(copies) > 1:
        for name in ("keys", "values"):
            if getattr(first, name, None) is not None:
                setattr(first, name, torch.cat([getattr(layer, name) for layer in copies]))
        for name in _STATES:
            for key, value in getattr(first, name, {}).items():
                if value is not None:
                    getattr(first, name)[key] = torch.cat([getattr(layer, name)[key] for layer in copies])
    if list(order) != list(range(len(order))):
        reorder(first, torch.tensor(order))
    if any(empty):
        rows = [row for row, nothing in enumerate(empty) if nothing]
        for tensor in _tensors(first):
            tensor[rows] = 0.0
    return first


def reorder(layer: Any, rows: Tensor) -> None:
    """Keeps these rows of a cache layer, in this order."""
    layer.reorder_cache(rows)


def _copied(layer: Any, rows: Sequence[int]) -> Any:
    """A cache layer of its own with some rows of another."""
    own = copy.copy(layer)
    for name in _BY_STATE:
        if hasattr(own, name):
            setattr(own, name, dict(getattr(own, name)))
    reorder(own, torch.tensor(rows))
    return own


def _tensors(layer: Any) -> list[Tensor]:
    found = [getattr(layer, name, None) for name in ("keys", "values")]
    for name in _STATES:
        found.extend(getattr(layer, name, {}).values())
    return [tensor for tensor in found if isinstance(tensor, torch.Tensor)]
