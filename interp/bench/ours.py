"""The sweep as this package makes it: every question with every block in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interp.bench.contender import PLAIN, Work
from interp.intervention import silence
from interp.procedure import Procedure, Request

if TYPE_CHECKING:
    from interp.models.backend import Backend


@dataclass(frozen=True)
class Ours:
    """Requests in the order in which `localize` sends them: question by question, the plain pass first.

    Attributes:
        model: Answers.
        batch_size: Requests a call, in whole questions.
        name: What it is called in tables.
    """

    model: Backend
    batch_size: int
    name: str = "interp"

    def sweep(self, work: Work) -> Mapping[tuple[int, int], str]:
        """The answers, from calls of as many requests as `localize` makes."""
        keys = [(i, layer) for i in range(len(work.texts)) for layer in work.layers]
        texts: dict[tuple[int, int], str] = {}
        for begin in range(0, len(keys), self.batch_size):
            chunk = keys[begin : begin + self.batch_size]
            found = self.model.generate([_request(work, i, layer) for i, layer in chunk])
            texts.update((key, answer.text) for key, answer in zip(chunk, found, strict=True))
        return texts


def _request(work: Work, i: int, layer: int) -> Request:
    edits = () if layer == PLAIN else (silence(layer),)
    return Request(work.texts[i], Procedure(work.prompt, work.decoding, edits))
