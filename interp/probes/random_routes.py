"""Random routes: what any search must beat."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from interp.errors import BadInput
from interp.probes.edits import random_edit
from interp.probes.probe import Draw
from interp.procedure import Procedure, draw_seed
from interp.question import Attempt, Question
from interp.route import Route

_TRIES = 20_000


@dataclass(frozen=True)
class RandomRoutes:
    """Asks every question on different random routes, each of one or a few edits of the plain order.

    An edit leaves a block of steps out or runs it once more; the number of edits, the kind, the size and the
    place are each drawn evenly. The plain order is never drawn, and no route twice for a question. Each
    question has routes of its own, unless they are shared. The draws go round by round, so that more draws
    only add rows.

    Reference:
        "Reachability Is Not Realization: Tracing the Sources of LLM Benchmark Gains", arXiv 2608.03219
        (2026), for random routes under a matched budget. The distribution over edits is ours.

    Attributes:
        procedure: The procedure to which a route is added.
        n_layers: Number of layers of the model.
        n_draws: Routes a question: the budget.
        most_edits: Most edits of a route.
        most: Most steps of a block.
        shared: Whether all questions are asked on the same routes.
        matched: For each question, routes of a search: the d-th random route then has as many visits and as
            many jumps as the d-th of these; where there is no such route, or none is found, it is drawn
            freely.
        seed: Seed of the run.
        name: Part of the key of its rows; part of every seed.
    """

    procedure: Procedure
    n_layers: int
    n_draws: int
    most_edits: int = 2
    most: int = 4
    shared: bool = False
    matched: Mapping[str, Sequence[Route]] | None = None
    seed: int = 0
    name: str = "random_routes"
    sees_verdicts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Refuses an empty budget.

        Raises:
            BadInput: There is no draw, or an edit has no size.
        """
        if min(self.n_draws, self.most_edits, self.most) < 1:
            raise BadInput("Random routes need at least one draw, one edit, and one step in a block.")

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """Every round of all questions on an empty history, then nothing."""
        if history:
            return []
        routes = {question.id: self.routes(question.id) for question in questions}
        return [
            Draw(question.id, draw, replace(self.procedure, route=routes[question.id][draw]))
            for draw in range(self.n_draws)
            for question in questions
        ]

    def routes(self, question: str) -> list[Route]:
        """The routes of a question, in order.

        Raises:
            BadInput: The model has fewer different routes.
        """
        draw = random.Random(draw_seed(self.seed, self.name, "" if self.shared else question, 0))
        wanted = [] if self.matched is None else self.matched.get(question, ())
        found: dict[Route, None] = {Route.identity(self.n_layers): None}
        for place in range(self.n_draws):
            like = wanted[place] if place < len(wanted) else None
            route = (like and self._like(like, found, draw)) or self._free(found, draw)
            found[route] = None
        return [*found][1:]

    def _free(self, found: Mapping[Route, None], draw: random.Random) -> Route:
        for _ in range(_TRIES):
            route = self._drawn(draw.randint(1, self.most_edits), draw)
            if route not in found:
                return route
        raise BadInput(
            f"A model with {self.n_layers} layers has too few routes of {self.most_edits} edits for "
            f"{self.n_draws} draws a question. Ask for fewer draws, or for more edits."
        )

    def _like(self, like: Route, found: Mapping[Route, None], draw: random.Random) -> Route | None:
        """A route with as many visits and jumps as another, if one is found."""
        length, jumps = len(like.layers), like.n_jumps
        for _ in range(_TRIES // 20):
            route = self._drawn(max(1, jumps), draw)
            if route not in found and len(route.layers) == length and route.n_jumps == jumps:
                return route
        return None

    def _drawn(self, n_edits: int, draw: random.Random) -> Route:
        route = Route.identity(self.n_layers)
        for _ in range(n_edits):
            route = random_edit(route, self.n_layers, draw, most=self.most).of(route)
        return route
