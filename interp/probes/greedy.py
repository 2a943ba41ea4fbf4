"""Greedy deletion: the layer without which a validation set is answered best goes first."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interp.errors import BadInput
from interp.probes.probe import Draw
from interp.procedure import Procedure, draw_seed
from interp.question import Attempt, Outcome, Question
from interp.reroute import skip
from interp.route import Route


@dataclass(frozen=True)
class Greedy:
    """Leaves out layer after layer, each time the one without which most validation questions are right.

    Validation questions are asked every deletion from the current route; of equally good ones the highest
    layer goes. It ends after `n_deletions`, or when no deletion keeps as many right as the last. Then all
    questions are asked on the chain of routes that was found, the first deletion first. Only the chain counts
    as attempts; the draws before it, `n_search` of them kept free, are the search. What a question is asked
    does not depend on its own verdicts unless it is a validation question.

    Reference:
        "TALE: task-aware layer elimination", arXiv 2510.22767 (2025). The validation share is ours.

    Attributes:
        procedure: The procedure to which a route is added.
        n_layers: Number of layers of the model.
        n_deletions: Most layers left out.
        share: Share of the questions that are validation questions.
        stops: Whether it ends when a deletion costs right answers.
        seed: Seed of the run; it chooses the validation questions.
        name: Part of the key of its rows.
    """

    procedure: Procedure
    n_layers: int
    n_deletions: int
    share: float = 0.25
    stops: bool = True
    seed: int = 0
    name: str = "greedy"
    sees_verdicts: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        """Refuses a search without a deletion or without questions on one side.

        Raises:
            BadInput: There is no deletion, too many, or the share is not between 0 and 1.
        """
        if not 1 <= self.n_deletions < self.n_layers:
            raise BadInput(
                f"Of {self.n_layers} layers, 1 to {self.n_layers - 1} can go, not {self.n_deletions}."
            )
        if not 0 < self.share < 1:
            raise BadInput(f"The share of validation questions is between 0 and 1, got {self.share}.")

    def validation(self, questions: Sequence[Question]) -> list[str]:
        """Ids of the validation questions, in order."""
        ids = [question.id for question in questions]
        n = min(max(1, math.ceil(self.share * len(ids))), max(1, len(ids) - 1))
        draw = random.Random(draw_seed(self.seed, self.name, "validation", 0))
        chosen = set(draw.sample(ids, n))
        return [i for i in ids if i in chosen]

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """The next deletions for validation questions; at the end the chain for all others; then nothing."""
        asked = self.validation(questions)
        right = {(row.question, row.draw): row.outcome is Outcome.RIGHT for row in history}
        route, chain, draw, before = Route.identity(self.n_layers), list[Route](), 0, -1
        while len(chain) < self.n_deletions:
            routes = [skip(route, place) for place in range(len(route.steps))]
            draws = range(draw, draw + len(routes))
            if (asked[0], draw) not in right:
                return [
                    Draw(question, d, replace(self.procedure, route=r))
                    for d, r in zip(draws, routes, strict=True)
                    for question in asked
                ]
            counts = [sum(right[question, d] for question in asked) for d in draws]
            best = max(range(len(routes)), key=lambda i: (counts[i], i))
            if self.stops and chain and counts[best] < before:
                break
            route, before, draw = routes[best], counts[best], draw + len(routes)
            chain.append(route)
        return [
            Draw(question.id, d, replace(self.procedure, route=r))
            for d, r in enumerate(chain, n_search(self.n_layers))
            for question in questions
            if (question.id, d) not in right
        ]


def n_search(n_layers: int) -> int:
    """Draws that are kept free for a whole search, so that a longer chain changes no draw."""
    return sum(range(2, n_layers + 1))
