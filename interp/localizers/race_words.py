"""A race in words: who was dropped, what was saved, and what may have been missed."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist

from interp.localizers.localization import Evidence, Raced


def race_words(evidence: Evidence) -> list[str]:
    """What a reader must know of a race before believing what is said of the best block."""
    raced = evidence.raced
    if raced is None:
        return []
    said = [
        f"Raced: {len(raced.dropped)} of {evidence.n_blocks} blocks were dropped on the first half"
        f"{_by_round(raced)}; {raced.n_rows} of {raced.n_rows_full} rows were asked. The best is named "
        f"among the {raced.n_left} left."
    ]
    if raced.dropped:
        said.append(race_error(raced))
    return said


def race_error(raced: Raced) -> str:
    """The rule in one sentence, with what it does and does not promise."""
    chance = 1 - NormalDist().cdf(raced.z)
    return (
        f"A block is dropped when it is {raced.z:g} standard errors behind both leaders, by repair and by "
        f"net gain: one such comparison errs with a chance of about {chance:.2f}, and a dropped block may "
        "still be the best."
    )


def _by_round(raced: Raced) -> str:
    counts = Counter(block.round for block in raced.dropped)
    rounds = ", ".join(f"{counts[number]} in round {number}" for number in sorted(counts))
    return f" ({rounds})" if rounds else ""
