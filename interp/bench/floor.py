"""What a sweep must take on this machine: the work of every pass that ran, at the rates the machine has.

A roofline: each visit of a block, and each reading of the head, takes the longer of its arithmetic at the
measured rate of large products and its reading of weights at the measured rate of memory.

Reference:
    S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model for multicore
    architectures", doi:10.1145/1498765.1498785 (2009).
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from interp.models.backend import Backend

REPEATS = 5


@dataclass(frozen=True)
class Rates:
    """What the machine can do.

    Attributes:
        flops: Floating-point operations a second, in a product of large matrices in the model's format.
        bytes: Bytes a second read from memory, in a sum over a tensor larger than any cache.
    """

    flops: float
    bytes: float


@dataclass
class Visits:
    """How many tokens each visit of a block, or of the head, ran.

    Attributes:
        blocks: Rows times positions, one number a visit of any block.
        head: The same for the unembedding.
    """

    blocks: list[int] = field(default_factory=list[int])
    head: list[int] = field(default_factory=list[int])


def measure_rates(device: torch.device, dtype: torch.dtype) -> Rates:
    """The best of five products of 2048 x 2048 matrices, and of five sums over 256 MB."""
    one = torch.randn(2048, 2048, device=device).to(dtype)
    many = torch.zeros(64 * 2**20, device=device)
    return Rates(
        2 * 2048**3 / min(_seconds(lambda: one @ one, device) for _ in range(REPEATS)),
        4 * many.numel() / min(_seconds(many.sum, device) for _ in range(REPEATS)),
    )


def _seconds(work: Any, device: torch.device) -> float:
    begin = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begin


@contextmanager
def visits_of(model: Backend) -> Generator[Visits]:
    """Counts the tokens of every visit for as long as the block runs."""
    visits = Visits()

    def count(into: list[int]) -> Any:
        def hook(_module: nn.Module, args: Any, kwargs: Any) -> None:
            stream = args[0] if args else next(iter(kwargs.values()))
            into.append(stream.shape[:-1].numel())

        return hook

    modules = [(block, visits.blocks) for block in model.blocks] + [(model.unembedding, visits.head)]
    handles = [m.register_forward_pre_hook(count(into), with_kwargs=True) for m, into in modules]
    try:
        yield visits
    finally:
        for handle in handles:
            handle.remove()


def floor_seconds(model: Backend, visits: Visits, rates: Rates) -> float:
    """Least time of the visits: products with weights only; attention, norms and the like come on top."""
    block = sum(p.numel() for p in model.blocks[0].parameters())
    head = model.unembedding.weight.numel()
    n_bytes = model.unembedding.weight.element_size()

    def least(n_tokens: int, n_weights: int) -> float:
        return max(2 * n_tokens * n_weights / rates.flops, n_weights * n_bytes / rates.bytes)

    return sum(least(n, block) for n in visits.blocks) + sum(least(n, head) for n in visits.head)
