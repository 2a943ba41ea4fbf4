"""The silencing attempts of a failure set as a grid: one row a question, one column a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from interp.errors import BadInput
from interp.intervention import parse_intervention
from interp.question import Attempt, FailureSet, Outcome
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Flags = Bool[np.ndarray, " question"]

SILENCING = "silencing"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every failure and success with nothing silenced (control) and with each block silenced.

    Attributes:
        failure_set: What was frozen before the sweep.
        sites: The blocks, in forward order.
        control: One attempt a question, failures before successes, in the order of the failure set.
        silenced: For each of these questions, one attempt a block.
    """

    failure_set: FailureSet
    sites: tuple[Site, ...]
    control: tuple[Attempt, ...]
    silenced: tuple[tuple[Attempt, ...], ...]

    @cached_property
    def failure_right(self) -> Bool[np.ndarray, "failure block"]:
        """Whether a failure is answered right once a block is silenced."""
        return self._right[: len(self.failure_set.failures)]

    @cached_property
    def success_right(self) -> Bool[np.ndarray, "success block"]:
        """Whether a success is still answered right once a block is silenced."""
        return self._right[len(self.failure_set.failures) :]

    @cached_property
    def failure_in_first(self) -> Flags:
        """Whether a failure belongs to the first half."""
        return self._in_first(self.failure_set.failures)

    @cached_property
    def success_in_first(self) -> Flags:
        """Whether a success belongs to the first half."""
        return self._in_first(self.failure_set.successes)

    @property
    def n_unstable(self) -> int:
        """Questions whose control row says otherwise than the deployed run; 0 where nothing is random."""
        n_failures = len(self.failure_set.failures)
        failing = {"wrong": (Outcome.WRONG,), "unreadable": (Outcome.UNREADABLE,)}.get(
            self.failure_set.rule, (Outcome.WRONG, Outcome.UNREADABLE)
        )
        return sum(
            row.outcome not in (failing if i < n_failures else (Outcome.RIGHT,))
            for i, row in enumerate(self.control)
        )

    def gains(
        self, failures: Flags | None = None, successes: Flags | None = None
    ) -> tuple[Float[np.ndarray, "question block"], Float[np.ndarray, " question"]]:
        """Signed outcomes and their weights: weights @ outcomes is the net gain of each block.

        A repaired failure counts 1, a broken success -1. A failure weighs (failures of all questions) /
        (failures here x questions), a success likewise, so that the sum estimates the change of accuracy
        over all questions, whatever share of each was asked. Masks restrict both to some of the questions.
        """
        f = self.failure_right if failures is None else self.failure_right[failures]
        s = self.success_right if successes is None else self.success_right[successes]
        total = self.failure_set
        weights = np.concatenate(
            [
                np.full(len(f), total.n_failures / (max(len(f), 1) * total.n_questions)),
                np.full(len(s), total.n_successes / (max(len(s), 1) * total.n_questions)),
            ]
        )
        return np.concatenate([f.astype(np.float64), s.astype(np.float64) - 1]), weights

    @cached_property
    def _right(self) -> Bool[np.ndarray, "question block"]:
        return np.array(
            [[row.outcome is Outcome.RIGHT for row in rows] for rows in self.silenced], dtype=bool
        )

    def _in_first(self, ids: Sequence[str]) -> Flags:
        first, _ = self.failure_set.halves
        return np.array([i in first for i in ids], dtype=bool)


def outcome_matrix(attempts: Iterable[Attempt], failures: FailureSet) -> Outcomes:
    """Reads the grid off the log; other probes and other questions in it are passed over.

    Draw 0 of the silencing probe is the control; every other draw adds one intervention to it, and the
    site of that one is its block.

    Raises:
        BadInput: A control or a block is missing for some question, stands twice, or a row adds anything
            but one intervention to its control.
    """
    ids = (*failures.failures, *failures.successes)
    wanted = frozenset(ids)
    control: dict[str, Attempt] = {}
    cells: dict[tuple[str, Site], Attempt] = {}
    rows = [row for row in attempts if row.probe == SILENCING and row.question in wanted]
    for row in rows:
        if row.draw == 0:
            control[row.question] = row
    for row in rows:
        if row.draw == 0:
            continue
        base = control.get(row.question)
        if base is not None and row.interventions[:-1] != base.interventions:
            raise BadInput(
                f"Draw {row.draw} of {row.question!r} must add one intervention to its control, "
                f"which has {list(base.interventions)}; it has {list(row.interventions)}."
            )
        site = silenced_site(row)
        if (row.question, site) in cells:
            raise BadInput(f"{site} is silenced twice on {row.question!r}; a sweep asks each block once.")
        cells[row.question, site] = row
    sites = tuple(sorted({site for _, site in cells}, key=lambda site: site.order))
    _refuse_gaps(ids, sites, control, cells)
    return Outcomes(
        failures,
        sites,
        tuple(control[i] for i in ids),
        tuple(tuple(cells[i, site] for site in sites) for i in ids),
    )


def silenced_site(row: Attempt) -> Site:
    """The block that a silencing attempt silences: the site of its last intervention.

    Raises:
        BadInput: The row has no intervention.
    """
    if not row.interventions:
        raise BadInput(f"Draw {row.draw} of {row.question!r} silences nothing; only draw 0 is a control.")
    return _site(row.interventions[-1])


@lru_cache(maxsize=4096)
def _site(line: str) -> Site:
    return parse_intervention(line).site


def _refuse_gaps(
    ids: Sequence[str],
    sites: Sequence[Site],
    control: dict[str, Attempt],
    cells: dict[tuple[str, Site], Attempt],
) -> None:
    if not sites:
        raise BadInput("The log has no silencing attempt at the failure set; run the sweep first.")
    gaps = [f"{i!r} with nothing silenced" for i in ids if i not in control]
    gaps += [f"{i!r} with {site} silenced" for i in ids for site in sites if (i, site) not in cells]
    if gaps:
        raise BadInput(
            f"The sweep is not complete: {len(gaps)} of {len(ids) * (len(sites) + 1)} attempts are missing, "
            f"the first is {gaps[0]}. Finish the run first."
        )
