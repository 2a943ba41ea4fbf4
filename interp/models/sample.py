"""Drawing tokens: the distribution that a decoding leaves, and a stream of random numbers for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from interp.procedure import Decoding

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


def probabilities(logits: Float[Tensor, "row vocab"], decoding: Decoding) -> Float[Tensor, "row vocab"]:
    """What tokens are drawn from: temperature, then top-k, top-p and min-p, then normalised; in float64.

    Each filter acts on what the ones before it left, in transformers' order.

    Args:
        logits: Next-token logits.
        decoding: A decoding that samples.

    Reference:
        Holtzman et al., "The Curious Case of Neural Text Degeneration", arXiv 1904.09751 (2019), for top-p;
        Nguyen et al., "Turning Up the Heat: Min-p Sampling", arXiv 2407.01082 (2024), for min-p.
    """
    kept = logits.double() / decoding.temperature
    nothing = -float("inf")
    if decoding.top_k:
        least = kept.topk(min(decoding.top_k, kept.shape[-1])).values[:, -1:]
        kept = kept.masked_fill(kept < least, nothing)
    if decoding.top_p < 1.0:
        ascending, order = kept.sort(dim=-1)
        left_out = ascending.softmax(-1).cumsum(-1) <= 1.0 - decoding.top_p
        left_out[:, -1] = False  # the most probable token stays
        kept = kept.masked_fill(left_out.scatter(-1, order, left_out), nothing)
    if decoding.min_p > 0.0:
        shares = kept.softmax(-1)
        kept = kept.masked_fill(shares < decoding.min_p * shares.amax(-1, keepdim=True), nothing)
    return kept.softmax(-1)


@dataclass
class Chooser:
    """Chooses the next token of every row: the most probable one, or a draw by the row's own seed.

    A row's random numbers come from its seed alone, one a token, so what is drawn depends on no batch.

    Attributes:
        decodings: How each row is decoded.
        seeds: Seed of each row.
    """

    decodings: Sequence[Decoding]
    seeds: Sequence[int]
    _streams: dict[int, np.random.Generator] = field(default_factory=dict[int, np.random.Generator])

    def choose(self, logits: Float[Tensor, "place vocab"], alive: Sequence[int]) -> list[int]:
        """The token of each place.

        Args:
            logits: Next-token logits of the rows that are left.
            alive: Which rows they are.
        """
        chosen: list[int] = logits.argmax(-1).tolist()
        groups: dict[Decoding, list[int]] = {}
        for place, row in enumerate(alive):
            if not self.decodings[row].is_greedy:
                groups.setdefault(self.decodings[row], []).append(place)
        for decoding, places in groups.items():
            sums = probabilities(logits[places], decoding).cumsum(-1)
            numbers = [self._number(alive[place]) for place in places]
            drawn = torch.tensor(numbers, dtype=sums.dtype, device=sums.device)[:, None] * sums[:, -1:]
            for place, token in zip(
                places, torch.searchsorted(sums, drawn, right=True)[:, 0].tolist(), strict=True
            ):
                chosen[place] = min(token, logits.shape[-1] - 1)
        return chosen

    def _number(self, row: int) -> float:
        """The next random number of a row, in [0, 1)."""
        if row not in self._streams:
            self._streams[row] = np.random.Generator(np.random.Philox(key=self.seeds[row]))
        return float(self._streams[row].random())
