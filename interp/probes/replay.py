"""Whether a hit holds: attempts made again, with their own seeds, in batches of another shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Outcome, Question


@dataclass(frozen=True)
class Replay:
    """Makes the first hit of every question again, then the next one where that fails, until one holds.

    What a model says can hang on its neighbours in a batch: sums are rounded in another order. A question
    whose every hit fails was reached by that alone. It is a control and reaches nothing by itself.

    Attributes:
        of: Name of the probe whose hits they are.
        hits: Draws that were right, in order, by question id.
        procedures: How each of them was asked, by question id.
    """

    of: str
    hits: Mapping[str, tuple[int, ...]]
    procedures: Mapping[str, tuple[Procedure, ...]]
    sees_verdicts: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """Part of the key of each row: "replay" and the name of the probe."""
        return f"replay {self.of}"

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """The next hit of every question that has one left and none that held, last question first."""
        held = {row.question for row in history if row.outcome is Outcome.RIGHT}
        tried: dict[str, int] = {}
        for row in history:
            tried[row.question] = tried.get(row.question, 0) + 1
        draws: list[Draw] = []
        for question in reversed(questions):
            hits, n = self.hits.get(question.id, ()), tried.get(question.id, 0)
            if question.id not in held and n < len(hits):
                procedure = self.procedures[question.id][n]
                draws.append(Draw(question.id, hits[n], procedure, seeded_as=self.of))
        return draws
