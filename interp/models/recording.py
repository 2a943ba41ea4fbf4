"""What a decoded batch records: each row's contributions and streams, in its prompt and at its new tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interp.models.model import Recorded
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


@dataclass(frozen=True)
class Recording:
    """What to record.

    Attributes:
        sites: Sites to record.
        device: Where recorded tensors are kept; None leaves them where the model runs.
    """

    sites: tuple[Site, ...] = ()
    device: str | None = None


NOTHING = Recording()


class Recorder:
    """Collects what the passes of a left-padded batch record, row by row."""

    def __init__(self, recording: Recording, n_prompt: Sequence[int]) -> None:
        """Starts with nothing recorded.

        Args:
            recording: What to record.
            n_prompt: Tokens of each row's prompt.
        """
        self._recording, self._n_prompt = recording, n_prompt
        self._alive = [*range(len(n_prompt))]
        self._prompts: list[dict[Site, Tensor]] = [{} for _ in n_prompt]
        self._steps: list[dict[Site, list[Tensor]]] = [
            {site: [] for site in recording.sites} for _ in n_prompt
        ]

    def prompt(self, seen: Mapping[Site, Float[Tensor, "batch pos d_model"]]) -> None:
        """Takes in the pass over the prompts, padding on the left."""
        for site, kept in kept_on(seen, self._recording.device).items():
            for row, n in enumerate(self._n_prompt):
                self._prompts[row][site] = kept[row, kept.shape[1] - n :]

    def step(self, seen: Mapping[Site, Float[Tensor, "batch 1 d_model"]]) -> None:
        """Takes in one step of the rows that are left."""
        for site, kept in kept_on(seen, self._recording.device).items():
            for place, row in enumerate(self._alive):
                self._steps[row][site].append(kept[place, -1])

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these."""
        self._alive = [self._alive[place] for place in rows.tolist()]

    def recorded(self) -> list[dict[Site, Recorded]]:
        """What each row recorded, those that were dropped included."""
        return [
            {site: Recorded(prompt[site], _stacked(steps[site], prompt[site])) for site in prompt}
            for prompt, steps in zip(self._prompts, self._steps, strict=True)
        ]


def kept_on(recorded: Mapping[Site, Tensor], device: str | None) -> Mapping[Site, Tensor]:
    """Recorded tensors on a device; None leaves them where they are."""
    return recorded if device is None else {site: tensor.to(device) for site, tensor in recorded.items()}


def _stacked(steps: Sequence[Tensor], like: Tensor) -> Tensor:
    import torch

    return torch.stack(list(steps)) if steps else like[:0]
