"""Where batches are asked: here, one after the other, or elsewhere, in whatever order they finish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from interp.models.model import Completion, Model
from interp.procedure import Request

if TYPE_CHECKING:
    from interp.models.model import References


@dataclass(frozen=True)
class Answered:
    """One batch, answered.

    Attributes:
        index: Which of the batches it is.
        completions: One a request, in their order.
        worker: Who answered; a name that a file can have.
    """

    index: int
    completions: Sequence[Completion]
    worker: str


class Asker(Protocol):
    """Has batches answered. A batch is never cut: its bounds decide the last digits of its numbers."""

    @property
    def n_threads(self) -> int | None:
        """Threads of a pass on a CPU, which decide last digits, too; None for those of this process."""
        ...

    def ask(
        self, batches: Sequence[Sequence[Request]], *, references: References | None, scored: bool
    ) -> Iterator[Answered]:
        """Each batch once, as it is finished, in any order.

        Args:
            batches: What to answer; a batch is one call of `generate`.
            references: Tensors that interventions name by key.
            scored: Whether to keep what the model thought of each token.
        """
        ...


@dataclass(frozen=True)
class Here:
    """Asks a model of this process, one batch after the other; the next only when the last was taken."""

    model: Model

    @property
    def n_threads(self) -> int | None:
        """None: passes run in this process."""
        return None

    def ask(
        self, batches: Sequence[Sequence[Request]], *, references: References | None, scored: bool
    ) -> Iterator[Answered]:
        """Each batch once, in order."""
        for index, batch in enumerate(batches):
            completions = list(self.model.generate(batch, references=references, scored=scored))
            yield Answered(index, completions, "here")
