"""The noun: a probe proposes draws, the loop asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from interp.procedure import Procedure
from interp.question import Attempt, Question


@dataclass(frozen=True)
class Draw:
    """One try that a probe wants made.

    Attributes:
        question: Id of the question to ask.
        draw: Its number within probe and question; a number is never used twice.
        procedure: How to ask.
        seeded_as: Name of the probe whose seed it takes; its own unless given. A replay takes another's.
    """

    question: str
    draw: int
    procedure: Procedure
    seeded_as: str | None = None


class Probe(Protocol):
    """A rule that says which draws to make next, from nothing but the rows it has so far.

    It is pure: the same history gives the same draws, in the same order. That is what lets a run which
    was killed be replayed from its log.
    """

    @property
    def name(self) -> str:
        """Part of the key of each row it causes."""
        ...

    @property
    def sees_verdicts(self) -> bool:
        """Whether its draws depend on verdicts, and so on the gold answers."""
        ...

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> Sequence[Draw]:
        """The next draws, all to be asked before it is consulted again; empty when it is done.

        Args:
            questions: Every question of the task, in order.
            history: This probe's rows so far, in the order in which it proposed them.
        """
        ...


@dataclass(frozen=True)
class Probed:
    """A probe of an audit, as the run notes it.

    Attributes:
        name: Part of the key of its rows.
        line: The line that it was asked for by ("sampling:32").
        about: What it does, in words.
        n_draws: Draws a question, controls included: the budget.
        n_controls: Draws at the beginning that are no attempts: they ask the deployed procedure again, or are
            a search on some of the questions.
        sees_verdicts: Whether its draws depend on the gold answers.
        exchangeable: Whether its draws are independent repetitions. The draws of a sweep are all different:
            its first k are then k of them in random order.
        ordered: Whether later draws depend on earlier ones, so that its first k attempts are the first k in
            order.
        n_followed: Where it goes by what another probe had found when it was first asked: so many draws a
            question. That one may grow later, and this one stays as it is. 0 if it follows none, or follows
            draw by draw.
    """

    name: str
    line: str
    about: str
    n_draws: int
    n_controls: int = 0
    sees_verdicts: bool = False
    exchangeable: bool = True
    ordered: bool = False
    n_followed: int = 0

    @property
    def budget(self) -> int:
        """Attempts a question."""
        return self.n_draws - self.n_controls

    @property
    def title(self) -> str:
        """The name as tables and figures show it: a probe whose draws depend on gold answers says so."""
        return f"{self.name} (oracle)" if self.sees_verdicts else self.name

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Probed:
        """Inverse of `dataclasses.asdict`."""
        return cls(**value)
