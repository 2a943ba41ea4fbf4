"""What the model delivers: every question asked once, as it is deployed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question


@dataclass(frozen=True)
class Deployed:
    """Asks every question once, draw 0, under one procedure.

    Attributes:
        procedure: The deployed procedure.
    """

    procedure: Procedure
    name: str = field(default="deployed", init=False)
    sees_verdicts: bool = field(default=False, init=False)

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """All questions in order on an empty history, then nothing."""
        return [] if history else [Draw(question.id, 0, self.procedure) for question in questions]
