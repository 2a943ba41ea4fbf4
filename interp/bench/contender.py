"""The noun of this folder: a `Contender` makes a sweep in its own way; `Work` says which sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from interp.procedure import Decoding, Prompt

if TYPE_CHECKING:
    from jaxtyping import Int
    from torch import Tensor

    from interp.models.backend import Backend

PLAIN = -1
"""The pass with nothing silenced, among layers."""


@dataclass(frozen=True)
class Work:
    """Questions asked once for each of some blocks, with that block silenced.

    Attributes:
        name: What it is called in tables.
        texts: The questions.
        prompt: What stands around each.
        decoding: How answers are read off; greedy.
        layers: Which blocks are silenced in turn; -1 is the pass with nothing silenced.
    """

    name: str
    texts: tuple[str, ...]
    prompt: Prompt
    decoding: Decoding
    layers: tuple[int, ...]


class Contender(Protocol):
    """One way of making a sweep."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    def sweep(self, work: Work) -> Mapping[tuple[int, int], str]:
        """The answer to each question (by its place) with each block silenced (by its layer)."""
        ...


@dataclass(frozen=True)
class Looped:
    """A contender that makes one pass after another over all questions: how everybody writes it.

    Attributes:
        name: What it is called in tables.
        model: Renders prompts and spells answers.
        batch_size: Questions a batch.
        generate: New tokens of a left-padded batch with one block silenced, or none (layer -1).
    """

    name: str
    model: Backend
    batch_size: int
    generate: Callable[[Inputs, int, Decoding], Int[Tensor, "batch new"]]

    def sweep(self, work: Work) -> Mapping[tuple[int, int], str]:
        """One block after the other, in batches of questions."""
        prompts = [self.model.render(text, work.prompt).tokens for text in work.texts]
        texts: dict[tuple[int, int], str] = {}
        with torch.inference_mode():
            for layer in work.layers:
                for begin in range(0, len(prompts), self.batch_size):
                    inputs = padded(prompts[begin : begin + self.batch_size], self.model.device)
                    new = self.generate(inputs, layer, work.decoding)
                    for place, tokens in enumerate(new.tolist()):
                        texts[begin + place, layer] = self.spell(tokens, work.decoding)
        return texts

    def spell(self, tokens: Sequence[int], decoding: Decoding) -> str:
        """The answer that new tokens spell: up to the token, or before the string, that ends it."""
        ends = [place for place, token in enumerate(tokens) if token in self.model.end_tokens]
        text = self.model.decode(tokens[: ends[0]] if ends else tokens)
        places = [place for place in map(text.find, decoding.stop) if place >= 0]
        return text[: min(places)] if places else text


@dataclass(frozen=True)
class Inputs:
    """A left-padded batch of prompts.

    Attributes:
        ids: Token ids.
        mask: 1 where there is a token.
    """

    ids: Int[Tensor, "batch pos"]
    mask: Int[Tensor, "batch pos"]

    def to_dict(self) -> dict[str, Any]:
        """As transformers takes them."""
        return {"input_ids": self.ids, "attention_mask": self.mask}


def padded(prompts: Sequence[Sequence[int]], device: torch.device) -> Inputs:
    """Prompts of different lengths in one batch."""
    width = max(map(len, prompts))
    ids = [[0] * (width - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return Inputs(torch.tensor(ids, device=device), torch.tensor(mask, device=device))
