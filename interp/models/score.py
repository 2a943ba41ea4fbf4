"""What a model thinks of the tokens it generates: the numbers that answer-blind selectors read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from interp.question import TokenScores

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

N_TOP = 20
"""Most probable tokens over which DeepConf takes its mean."""
EXACT = (torch.float32, torch.float64)
"""Number formats in which rounding chooses no token; in others near ties are marked."""
_WINDOW = 8
"""Tokens before one that may change how it is spelled."""


@dataclass
class Scored:
    """The scores of one answer as it grows; one row a token, in the order of `TokenScores`."""

    rows: list[tuple[float, float, float, float, float]] = field(
        default_factory=list[tuple[float, float, float, float, float]]
    )

    def finished(self, tokens: Sequence[int], to_text: Callable[[Sequence[int]], str]) -> TokenScores:
        """The scores of the whole answer, with the place of each token in its text."""
        columns = [tuple(round(value, 6) for value in column) for column in zip(*self.rows, strict=True)]
        return TokenScores(*columns, start=token_starts(tokens, to_text))


def token_scores(
    logits: Float[Tensor, "row vocab"], tokens: Sequence[int]
) -> list[tuple[float, float, float, float, float]]:
    """Log-probability, entropy, margin, confidence and certainty of one token a row, in nats.

    Args:
        logits: Next-token logits, as the model gives them.
        tokens: The token that was chosen in each row.

    Reference:
        Confidence: Y. Fu et al., "Deep think with confidence", arXiv 2508.15260 (2025). Certainty: Z. Kang,
        X. Zhao and D. Song, "Scalable best-of-N selection for large language models via self-certainty",
        arXiv 2502.18581 (2025): KL(U || p) = -log V - mean log p.
    """
    logprobs = logits.float().log_softmax(-1)
    n_vocab = logprobs.shape[-1]
    chosen = logprobs.gather(-1, torch.tensor(tokens, device=logprobs.device)[:, None])[:, 0]
    top = logprobs.topk(min(N_TOP, n_vocab), dim=-1).values
    shares = top[:, :2].exp()
    margin = shares[:, 0] - shares[:, 1] if n_vocab > 1 else shares[:, 0]
    certainty = -logprobs.mean(-1) - torch.tensor(float(n_vocab)).log()
    entropy = torch.special.entr(logprobs.exp()).sum(-1)
    columns = (chosen, entropy, margin, -top.mean(-1), certainty.clamp(min=0.0))
    return [tuple(row) for row in torch.stack(columns, dim=-1).double().tolist()]


def tie_margins(logits: Float[Tensor, "row vocab"]) -> list[float]:
    """Lead of the best token over the next in each row, in units in the last place at the larger of the two.

    Args:
        logits: Next-token logits in the number format in which the model gives them.
    """
    first, second = logits.topk(2, dim=-1).values.double().unbind(-1)
    unit = torch.finfo(logits.dtype).eps * torch.maximum(first.abs(), second.abs())
    margins = (first - second) / unit.clamp(min=torch.finfo(unit.dtype).tiny)
    return [round(margin, 4) for margin in margins.tolist()]


def token_starts(tokens: Sequence[int], to_text: Callable[[Sequence[int]], str]) -> tuple[int, ...]:
    """Where the text of each token begins in the text of all; found from a few tokens before each.

    A character that several tokens spell counts to the last of them, to within one character.
    """
    starts: list[int] = []
    position = 0
    for i in range(len(tokens)):
        starts.append(position)
        before = tokens[max(0, i - _WINDOW) : i]
        position = max(position, position + len(to_text([*before, tokens[i]])) - len(to_text(before)))
    return tuple(starts)
