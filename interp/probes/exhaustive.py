"""Every small change of the plain order, in one fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interp.errors import BadInput
from interp.probes.edits import Edit
from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question
from interp.route import Route


@dataclass(frozen=True)
class Exhaustive:
    """Asks every question on every single skip, then every single repeat, then every repeated block (i, j).

    All questions are asked on the same routes, so that one of them can be chosen on some questions and
    measured on others.

    Reference:
        The repeated blocks (i, j) are those of the scan known as RYS. Skips and single repeats are ours.

    Attributes:
        procedure: The procedure to which a route is added.
        n_layers: Number of layers of the model.
        n_draws: Most routes a question; None takes all of them.
        most: Most layers of a repeated block.
        name: Part of the key of its rows.
    """

    procedure: Procedure
    n_layers: int
    n_draws: int | None = None
    most: int = 4
    name: str = "exhaustive"
    sees_verdicts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuses an empty budget.

        Raises:
            BadInput: There is no draw, or a block has no layer.
        """
        if self.most < 1 or (self.n_draws is not None and self.n_draws < 1):
            raise BadInput("A scan of routes needs at least one draw and one layer in a block.")

    @property
    def routes(self) -> list[Route]:
        """The routes, in order."""
        n, whole = self.n_layers, Route.identity(self.n_layers)
        skips = [Edit(layer, 1, 0) for layer in range(n if n > 1 else 0)]
        blocks = [Edit(i, size, 2) for size in range(1, self.most + 1) for i in range(n - size + 1)]
        return [edit.of(whole) for edit in (*skips, *blocks)][: self.n_draws]

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every route of all questions on an empty history, then nothing."""
        if history:
            return []
        return [
            Draw(question.id, draw, replace(self.procedure, route=route))
            for draw, route in enumerate(self.routes)
            for question in questions
        ]
