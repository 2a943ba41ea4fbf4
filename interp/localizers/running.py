"""The repair of each block so far, counted while rows come in: for a progress bar, not for a claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from interp.localizers.outcomes import SILENCING, silenced_site
from interp.question import Attempt, Outcome


class RunningRepair:
    """Counts repairs as rows come in; a question whose control row is not right is a failure."""

    def __init__(self) -> None:
        """Starts with nothing tried."""
        self._failures: set[str] = set()
        self._tried: Counter[int] = Counter()
        self._repaired: Counter[int] = Counter()

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Counts rows; a question's control row comes before its blocks."""
        for row in attempts:
            if row.probe != SILENCING:
                continue
            if row.draw == 0 and row.outcome is not Outcome.RIGHT:
                self._failures.add(row.question)
            elif row.draw > 0 and row.question in self._failures:
                layer = silenced_site(row).layer
                self._tried[layer] += 1
                self._repaired[layer] += row.outcome is Outcome.RIGHT

    @property
    def best(self) -> tuple[int, int, int] | None:
        """The block that repairs most so far: layer, failures repaired, failures it was tried on.

        None while none was tried; ties go to the block tried more often, then to the lower layer.
        """
        if not self._tried:
            return None
        tried, repaired = self._tried, self._repaired
        layer = min(tried, key=lambda layer: (-repaired[layer] / tried[layer], -tried[layer], layer))
        return layer, repaired[layer], tried[layer]

    def __str__(self) -> str:
        if self.best is None:
            return ""
        layer, repaired, tried = self.best
        return f"block {layer} repairs {repaired} of {tried} so far"
