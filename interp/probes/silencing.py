"""Which block stands in between: each MLP block ablated in turn, with a control beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from interp.errors import BadInput
from interp.intervention import Intervention, Mean, Scope, silence
from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question
from interp.site import Point, Site


@dataclass(frozen=True)
class Silencing:
    """Asks chosen questions once as they are (draw 0) and once with block k ablated (draw k + 1).

    The draws go question by question, so that a control shares its batch with its blocks. They do so
    for every question if the batch size is a multiple of `n_draws`.

    Reference:
        "Reachability Is Not Realization: Tracing the Sources of LLM Benchmark Gains",
        arXiv 2608.03219 (2026). The control row and the mean ablation are ours.

    Attributes:
        procedure: The procedure to which one ablation at a time is added.
        n_layers: Number of MLP blocks.
        questions: Ids of the failures and successes to ask, in the order to ask them.
        ablation: "zero" silences a block's contribution, "mean" puts its mean over a reference set there.
        scope: At which positions the ablation acts.
        reference: Key of the reference set of a mean ablation.
        name: Part of the key of its rows; two settings in one run have different names.
    """

    procedure: Procedure
    n_layers: int
    questions: tuple[str, ...]
    ablation: Literal["zero", "mean"] = "zero"
    scope: Scope = Scope.BOTH
    reference: str | None = None
    name: str = "silencing"
    sees_verdicts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuses a sweep that has no meaning.

        Raises:
            BadInput: There is no block, the ablation is unknown, or reference set and ablation do not fit.
        """
        if self.n_layers < 1:
            raise BadInput(f"A sweep needs at least one MLP block, got n_layers={self.n_layers}.")
        if self.ablation not in ("zero", "mean"):
            raise BadInput(f"There is no ablation {self.ablation!r}. Known: mean, zero.")
        if (self.ablation == "mean") != (self.reference is not None):
            raise BadInput(
                f"A mean ablation, and no other, needs the key of its reference set; "
                f"got ablation={self.ablation!r} and reference={self.reference!r}."
            )

    @property
    def n_draws(self) -> int:
        """Draws a question: the control and one a block."""
        return self.n_layers + 1

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every question with control and blocks on an empty history, then nothing.

        Raises:
            BadInput: A chosen id is not among the questions.
        """
        if history:
            return []
        known = {question.id for question in questions}
        if unknown := [i for i in self.questions if i not in known]:
            raise BadInput(f"Cannot ask {unknown[0]!r}: the task has no question of that id.")
        procedures = [self.procedure, *(self.ablated(layer) for layer in range(self.n_layers))]
        return [Draw(i, draw, p) for i in self.questions for draw, p in enumerate(procedures)]

    def ablated(self, layer: int) -> Procedure:
        """The procedure with the MLP block of one layer ablated."""
        word = self._word(layer)
        return replace(self.procedure, interventions=(*self.procedure.interventions, word))

    def _word(self, layer: int) -> Intervention:
        if self.reference is None:
            return silence(layer, self.scope)
        return Mean(Site(layer, Point.MLP_OUT), self.reference, self.scope)
