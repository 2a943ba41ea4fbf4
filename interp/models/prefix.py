"""What prompts begin with alike, and whether it may be run apart, once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interp.models.checkpoint import Checkpoint

MIN_PREFIX = 4
"""Shortest common beginning of prompts, in tokens, that is run apart."""


def shared_prefix(model: Checkpoint, prompts: Sequence[tuple[int, ...]], *, whole: bool) -> int:
    """Number of tokens at the front of all prompts that are run apart; 0 if none are.

    Padding then stands behind them, which windows and recurrent layers would count; and edits by position and
    recordings are of whole prompts.

    Args:
        model: The model.
        prompts: The different prompts.
        whole: Whether something that is asked is of whole prompts.
    """
    n_same = common_prefix(prompts) if len(prompts) > 1 else 0
    if n_same < MIN_PREFIX or whole or not model.layout.forks:
        return 0
    return n_same if has_gaps(model) else 0


def has_gaps(model: Checkpoint) -> bool:
    """Whether padding may stand between tokens: not where a layer counts positions or slides a window."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    return model.layout.gaps and all(
        type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers
    )


def common_prefix(prompts: Sequence[tuple[int, ...]]) -> int:
    """Number of tokens that all prompts begin with, at least one token short of the shortest."""
    shortest, longest = min(prompts), max(prompts)  # the first and last in order differ first
    n_same = 0
    while n_same < min(len(shortest), len(longest)) and shortest[n_same] == longest[n_same]:
        n_same += 1
    return max(0, min(n_same, min(map(len, prompts)) - 1))
