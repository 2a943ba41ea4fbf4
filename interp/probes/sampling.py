"""What a model says if it is asked again: draws at a temperature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interp.errors import BadInput
from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question


@dataclass(frozen=True)
class Sampling:
    """Asks every question `n_draws` times under a procedure that samples.

    The draws go round by round, every question once a round, so that more draws only add rounds.

    Attributes:
        procedure: A procedure whose decoding has a temperature.
        n_draws: Draws a question: the budget.
        name: Part of the key of its rows; two settings in one run have different names.
    """

    procedure: Procedure
    n_draws: int
    name: str = "sampling"
    sees_verdicts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuses an empty budget and a procedure that says the same each time.

        Raises:
            BadInput: There is no draw, or the decoding is greedy.
        """
        if self.n_draws < 1:
            raise BadInput(f"A sampling probe needs at least one draw, got n_draws={self.n_draws}.")
        if self.procedure.decoding.is_greedy:
            raise BadInput(
                "Greedy decoding gives the same answer each time. Give the decoding a temperature, for "
                "instance Decoding(temperature=0.8)."
            )

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every round on an empty history, then nothing."""
        if history:
            return []
        return [
            Draw(question.id, draw, self.procedure) for draw in range(self.n_draws) for question in questions
        ]
