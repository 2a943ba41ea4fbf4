"""A menu: the few routes that served other questions best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from interp.errors import BadInput
from interp.probes.probe import Draw
from interp.procedure import Procedure
from interp.question import Attempt, Question
from interp.route import Route

Log = Mapping[str, Sequence[tuple[Route, bool]]]
"""Question -> routes that it was asked on, each with whether it was right."""


@dataclass(frozen=True)
class Menu:
    """Asks every question on the routes of another probe that were right on most other questions.

    A question's own verdicts do not count. Of routes that served equally many, the one with fewer visits goes
    first, then the one whose line sorts first. Where few routes were asked of several questions, as with
    random routes that are not shared, a menu is hardly more than chance.

    Reference:
        Ours; menus of a few routes are what learned routers come down to, see RE-PoLar, arXiv 2609.31360
        (2026).

    Attributes:
        procedure: The procedure to which a route is added.
        n_draws: Routes a question: the budget.
        log: What the other probe found.
        name: Part of the key of its rows.
    """

    procedure: Procedure
    n_draws: int
    log: Log
    name: str = "menu"
    sees_verdicts: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Refuses an empty budget.

        Raises:
            BadInput: There is no draw.
        """
        if self.n_draws < 1:
            raise BadInput(f"A menu needs at least one route, got n_draws={self.n_draws}.")

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every route of all questions on an empty history, then nothing."""
        if history:
            return []
        right: dict[Route, set[str]] = {}
        for question, rows in self.log.items():
            for route, is_right in rows:
                right.setdefault(route, set())
                if is_right:
                    right[route].add(question)
        whole = sorted(right, key=lambda route: (-len(right[route]), len(route.layers), str(route)))
        draws: list[Draw] = []
        for question in questions:
            own = question.id
            ranked = sorted(whole, key=lambda route: -len(right[route] - {own}))[: self.n_draws]
            draws += [Draw(own, d, replace(self.procedure, route=route)) for d, route in enumerate(ranked)]
        return sorted(draws, key=lambda draw: draw.draw)
