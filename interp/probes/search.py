"""Searches over routes: a policy a question, told after each route whether it was right."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from interp.errors import BadInput
from interp.probes.probe import Draw
from interp.procedure import Procedure, draw_seed
from interp.question import Attempt, Outcome, Question
from interp.route import Route

Reward = Literal["verdict", "constant", "random"]
"""What a search is told: the verdict; never right; or right at a stated rate, whatever the answer."""

Search = Generator[Route, bool, None]
"""A search of one question: yields a route, is sent whether it was right, ends when it is done.

It may yield a route again: that costs nothing, since the reward is known. It draws only from its seed.
"""

Policy = Callable[[int, int], Search]
"""Starts the search of one question, from the number of layers and a seed."""


@dataclass
class _Walk:
    """The search of one question, as far as its rows go.

    Attributes:
        steps: The running search.
        known: Rewards by route.
        pending: The route that is to be asked next; None when the search has ended.
        n_asked: Routes asked so far.
        n_steps: Steps made, those among them whose reward was known.
    """

    steps: Search
    known: dict[Route, bool]
    pending: Route | None = None
    n_asked: int = 0
    n_steps: int = 0


@dataclass(frozen=True)
class Searching:
    """Searches every question on its own, all questions side by side, one route a round.

    What counts against the budget is a route that was not asked before. The plain order of the layers is
    never
    asked: it is what is deployed. Its reward counts as wrong, unless the search is told otherwise.

    Attributes:
        procedure: The procedure to which a route is added.
        n_layers: Number of layers of the model.
        n_draws: Most different routes a question.
        policy: How routes are chosen.
        name: Part of the key of its rows; part of every seed.
        seed: Seed of the run; each question has its own, from it, the name and the question.
        reward: What the search is told.
        rate: How often it is told that a random route was right.
        n_steps: Most steps a question, those among them that cost nothing.
    """

    procedure: Procedure
    n_layers: int
    n_draws: int
    policy: Policy
    name: str
    seed: int = 0
    reward: Reward = "verdict"
    rate: float = 0.5
    n_steps: int = 10_000
    _seen: dict[str, _Walk] = field(default_factory=dict[str, _Walk], init=False, repr=False, compare=False)
    _rows: list[tuple[str, int, bool]] = field(
        default_factory=list[tuple[str, int, bool]], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Refuses an empty budget and rates that are none.

        Raises:
            BadInput: There is no draw, the reward is unknown, or the rate is no share.
        """
        if self.n_draws < 1:
            raise BadInput(f"A search needs at least one route, got n_draws={self.n_draws}.")
        if self.reward not in ("verdict", "constant", "random"):
            raise BadInput(f"There is no reward {self.reward!r}. Use verdict, constant or random.")
        if not 0.0 <= self.rate <= 1.0:
            raise BadInput(f"The rate of a random reward is a share in 0 to 1, got {self.rate}.")

    @property
    def sees_verdicts(self) -> bool:
        """Whether its draws depend on verdicts, and so on the gold answers."""
        return self.reward == "verdict"

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """The next route of every question whose search goes on."""
        self._follow(questions, history)
        draws: list[Draw] = []
        for question in questions:
            walk = self._seen[question.id]
            if walk.pending is not None:
                procedure = replace(self.procedure, route=walk.pending)
                draws.append(Draw(question.id, walk.n_asked, procedure))
        return draws

    def _follow(self, questions: Sequence[Question], history: Sequence[Attempt]) -> None:
        """Brings the searches to where the history ends; what was seen before is not gone through again."""
        rows, seen = self._rows, len(self._rows)
        same = seen <= len(history) and set(self._seen) == {question.id for question in questions}
        if not same or any(rows[i] != _told(history[i]) for i in range(max(0, seen - 1), seen)):
            rows.clear()
            self._seen.clear()
        for question in questions:
            if question.id not in self._seen:
                self._seen[question.id] = self._start(question.id)
        for row in history[len(rows) :]:
            rows.append(_told(row))
            self._tell(self._seen[row.question], row)

    def _start(self, question: str) -> _Walk:
        steps = self.policy(self.n_layers, draw_seed(self.seed, self.name, question, 0))
        walk = _Walk(steps, {Route.identity(self.n_layers): False})
        self._on(walk, None)
        return walk

    def _tell(self, walk: _Walk, row: Attempt) -> None:
        assert walk.pending is not None
        walk.known[walk.pending] = self._rewarded(row, walk.pending)
        walk.n_asked += 1
        self._on(walk, walk.known[walk.pending])

    def _on(self, walk: _Walk, right: bool | None) -> None:
        """Moves a search on until it wants a route whose reward is not known."""
        route = walk.pending = None
        if walk.n_asked >= self.n_draws:
            return
        while walk.n_steps < self.n_steps:
            walk.n_steps += 1
            try:
                route = next(walk.steps) if right is None else walk.steps.send(right)
            except StopIteration:
                return
            if route not in walk.known:
                walk.pending = route
                return
            right = walk.known[route]

    def _rewarded(self, row: Attempt, route: Route) -> bool:
        if self.reward == "verdict":
            return row.outcome is Outcome.RIGHT
        if self.reward == "constant":
            return False
        chance = draw_seed(self.seed, f"{self.name} reward", f"{row.question} {route}", 0)
        return chance < self.rate * 2**63


def _told(row: Attempt) -> tuple[str, int, bool]:
    return row.question, row.draw, row.outcome is Outcome.RIGHT
