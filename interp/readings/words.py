"""An audit in words: every reach with its budget and its controls, nothing claimed beyond them."""

from __future__ import annotations

from interp.readings.audit import Audit, Reached
from interp.readings.states import State


def headline(audit: Audit) -> str:
    """The audit in one sentence."""
    deployed = f"{share(audit.realized)} of {audit.n_questions} questions are answered as deployed"
    if not audit.probes:
        return f"{deployed}; no probe was run."
    best = max(audit.probes, key=lambda reached: (reached.reach, -reached.k))
    says = f"{deployed}; {_budget(best)} {_verb(best)} {share(best.reach)}"
    if best.excess is None or best.excess_interval is None:
        return f"{says}, with no wrong target to compare."
    if best.excess_interval[0] <= 0:
        return f"{says}, wrong answers {share(best.decoy)}: the difference may be chance."
    return f"{says}, wrong answers {share(best.decoy)}."


def sentences(audit: Audit) -> list[str]:
    """The audit in a few sentences, the headline first."""
    found = [headline(audit), _states(audit)]
    for reached in audit.probes:
        found += _of_probe(reached)
    found.append(f"Intervals are 95 percent, over questions, {audit.clusters}.")
    return found


def _states(audit: Audit) -> str:
    counts = audit.states
    unread = f", {counts[State.UNREADABLE]} unreadable and not reached" if counts[State.UNREADABLE] else ""
    return (
        f"Of {count(audit.n_questions, 'question')}, {counts[State.REALIZED]} realized, "
        f"{counts[State.REACHABLE]} reachable only, {counts[State.NEVER]} never reached within the "
        f"budget{unread}."
    )


def _of_probe(reached: Reached) -> list[str]:
    name = reached.probe.name
    low, high = reached.reach_interval
    controls: list[str] = []
    if reached.decoy is not None and reached.excess_interval is not None:
        ends = f"[{signed(reached.excess_interval[0])}, {signed(reached.excess_interval[1])}]"
        controls.append(f"wrong targets {share(reached.decoy)}, difference {signed(reached.excess)} {ends}")
    if reached.floor is not None:
        controls.append(f"guessing among the options {share(reached.floor)}")
    beside = f" ({'; '.join(controls)})" if controls else " (no wrong target and no options to compare with)"
    found = [
        f"{name}: {_budget(reached)} {_verb(reached)} {share(reached.reach)} [{share(low)}, {share(high)}]"
        f"{beside}; one attempt is right {share(reached.first)} of the time, the majority "
        f"{share(reached.majority)}."
    ]
    if reached.n_unconfirmed:
        found.append(
            f"{name}: {count(reached.n_unconfirmed, 'question')} reached by hits that did not hold when "
            f"made again in another batch; confirmed reach is {share(reached.confirmed)}."
        )
    if reached.probe.sees_verdicts:
        found.append(f"{name} is an oracle probe: its draws depend on the gold answers.")
    return found


def _budget(reached: Reached) -> str:
    if reached.probe.exchangeable:
        return count(reached.k, "draw")
    return count(reached.k, "attempt") + f" of {reached.probe.title}"


def _verb(reached: Reached) -> str:
    return "reaches" if reached.k == 1 else "reach"


def count(n: int, noun: str) -> str:
    """A number with its noun ("1 draw", "2 draws")."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def share(value: float | None) -> str:
    """A fraction with two decimals; a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def signed(value: float | None) -> str:
    """A difference with its sign and two decimals; a dash where there is none."""
    if value is None:
        return "–"
    text = f"{abs(value):.2f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text
