"""What is reached so far, counted while rows come in: for a progress bar, not for a claim."""

from __future__ import annotations

from collections.abc import Iterable

from interp.question import Attempt, Outcome
from interp.readings.states import DEPLOYED


class RunningReach:
    """Counts questions that the deployed procedure answers, and that any attempt has answered."""

    def __init__(self) -> None:
        """Starts with nothing asked."""
        self._asked: set[str] = set()
        self._realized: set[str] = set()
        self._reached: set[str] = set()

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Counts rows."""
        for row in attempts:
            if row.probe == DEPLOYED:
                self._asked.add(row.question)
            if row.outcome is Outcome.RIGHT:
                (self._realized if row.probe == DEPLOYED and row.draw == 0 else self._reached).add(
                    row.question
                )

    def __str__(self) -> str:
        if not self._asked:
            return ""
        n_reached = len(self._realized | self._reached)
        return f"{len(self._realized)} of {len(self._asked)} deployed, {n_reached} reached so far"
