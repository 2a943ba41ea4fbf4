"""What the model delivers: every question asked as it is deployed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question


@dataclass(frozen=True)
class Deployed:
    """Asks every question under one procedure: once, or as often as its rule for one answer needs.

    Attributes:
        procedure: The deployed procedure.
        n_draws: Draws a question, made round by round; more than one only where they are sampled.
    """

    procedure: Procedure
    n_draws: int = 1
    name: str = field(default="deployed", init=False)
    sees_verdicts: bool = field(default=False, init=False)

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every round of all questions in order on an empty history, then nothing."""
        if history:
            return []
        return [
            Draw(question.id, draw, self.procedure) for draw in range(self.n_draws) for question in questions
        ]
