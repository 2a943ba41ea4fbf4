"""A comparison in words."""

from __future__ import annotations

from interp.readings.comparison import DEPLOYED, REACHABLE, Change, Comparison
from interp.readings.words import count, share, signed


def changed_headline(found: Comparison) -> str:
    """The comparison in one sentence: what is delivered, against what could be."""
    deployed = (
        f"Deployed {share(found.deployed.before)} to {share(found.deployed.after)} ({_moved(found.deployed)})"
    )
    ceilings = [*found.ceilings]
    if not ceilings:
        return f"{deployed}; no probe was run on both."
    best = ceilings[-1] if len(ceilings) > 2 else ceilings[0]
    name = "all probes together" if best.name == REACHABLE else count(best.k, "attempt") + f" of {best.name}"
    return f"{deployed}; {name} reach {share(best.before)}, then {share(best.after)} ({_moved(best)})."


def changed_sentences(found: Comparison) -> list[str]:
    """The comparison in a few sentences, the headline first."""
    says = [changed_headline(found), _split(found)]
    says.append(
        f"Reachable support: {found.preserved} questions preserved, {found.expanded} expanded, "
        f"{found.shrunk} shrunk; {count(found.n_changed, 'answer')} changed without becoming right or wrong."
    )
    says += [_tested(tested) for tested in found.changes]
    for name, k in found.crossings.items():
        if k is not None:
            says.append(f"{name}: the curves cross; from k = {k} on the run that reached less reaches more.")
    for allowed in found.allowed:
        says.append(f"Not matched, and allowed: {allowed}.")
    says.append(
        f"Paired on {count(found.n_questions, 'question')}, {found.clusters}; p-values are exact McNemar "
        "tests, adjusted by Holm over every test shown."
    )
    return says


def _split(found: Comparison) -> str:
    gained, lost = found.deployed.gained, found.deployed.lost
    return (
        f"Of {count(gained, 'question')} gained, {found.gained_within_reach} were within reach before and "
        f"{found.gained_newly} are newly reached; of {lost} lost, {found.lost_within_reach} are still within "
        f"reach and {found.lost_entirely} are not."
    )


def _moved(tested: Change) -> str:
    low, high = tested.interval
    return f"{signed(tested.difference)} [{signed(low)}, {signed(high)}]"


def _tested(tested: Change) -> str:
    name = {DEPLOYED: "Deployed score", REACHABLE: "Reachable by any"}.get(
        tested.name, f"Reach of {tested.name}"
    )
    at = f" at k = {tested.k}" if tested.k > 1 else ""
    small = (
        f"the smallest difference this sample would have shown is {share(tested.detectable)}"
        if tested.detectable is not None
        else "too few questions changed for any difference to show"
    )
    return (
        f"{name}{at}: {_moved(tested)}, {tested.gained} gained and {tested.lost} lost, p = {tested.p:.4f}, "
        f"adjusted {tested.p_holm:.4f}; {small}."
    )
