"""Which block stands in between, without asking every block everything: a sweep that drops the hopeless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interp.probes.probe import Draw
from interp.probes.race import Race, RaceRule, race, random_blocks, rounds_of
from interp.probes.silencing import Silencing
from interp.question import Attempt, FailureSet, Outcome, Question


@dataclass(frozen=True)
class Racing:
    """A sweep in rounds: live blocks are asked on a part of the first half, then some are dropped.

    Blocks that are left are asked on the whole second half, which never decides who is dropped; beside them
    stand a few blocks drawn at random. Draws are numbered and asked as the sweep's own: draw 0 is the
    control, draw k + 1 has block k ablated, and a row is the same as in a full sweep.

    A control shares its batch with its blocks only as far as the batch size allows, since fewer blocks are
    asked in every round.

    Reference:
        See `RaceRule`, which states the rule and its error.

    Attributes:
        sweep: The sweep that is raced.
        failures: The failure set: its halves, and the seed of every order.
        rule: When a block is dropped.
    """

    sweep: Silencing
    failures: FailureSet
    rule: RaceRule = field(default_factory=RaceRule)
    sees_verdicts: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.sweep.name

    def standing(self, history: Sequence[Attempt]) -> Race:
        """How far the race is, from its rows."""
        right = {
            (row.question, row.draw - 1): row.outcome is Outcome.RIGHT for row in history if row.draw > 0
        }
        return race(self.failures, self.sweep.n_layers, self.rule, right)

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        """The next round; after the last one the second half; then nothing.

        Raises:
            BadInput: A question of the failure set is not among the questions.
        """
        draws = {(draw.question, draw.draw): draw for draw in self.sweep.propose(questions, ())}
        found, asked = self.standing(history), {(row.question, row.draw) for row in history}
        return [draws[key] for key in self._wanted(found) if key not in asked]

    def _wanted(self, found: Race) -> list[tuple[str, int]]:
        """Question and draw of what is to be asked next."""
        live = set(found.live)
        rounds = rounds_of(self.failures, self.rule.n_rounds)
        if found.n_finished < len(rounds):
            ids, extra = rounds[found.n_finished], 0
        else:
            _, second = self.failures.halves
            ids, extra = [i for i in self.sweep.questions if i in second], self.rule.n_random
        wanted: list[tuple[str, int]] = []
        for i in ids:
            drawn = random_blocks(self.failures, i, self.sweep.n_layers, extra)
            wanted += [(i, 0), *((i, block + 1) for block in sorted(live.union(drawn)))]
        return wanted
