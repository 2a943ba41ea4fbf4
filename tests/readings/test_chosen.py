"""One choice for all questions: made on some of them, measured on the others."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from made_audit import SWEEP, Made, made, table_of

from interp.probes.probe import Probed
from interp.question import Outcome
from interp.readings.chosen import one_for_all
from interp.readings.clusters import clusters_of
from interp.readings.probed import attempts_of, tuned_on
from interp.readings.selectors import picked
from interp.readings.states import deployed_answers

ROUTES = ("0-2", "0,2", "1-2", "0-1", "0-2,2")
"""One a block of the sweep: the same questions, read as a probe over routes."""


def routed(audit: Made, *, own: bool = False) -> Made:
    """The sweep's attempts on routes; of its own order for each question, or first of routes of its own."""
    rows = []
    for row in audit.rows:
        place = audit.ids.index(row.question)
        turned = ROUTES[(row.draw - 1 + place) % len(ROUTES)]
        is_routed = row.probe == "silencing" and row.draw
        route = f"{place},{row.draw}" if own else turned
        rows.append(replace(row, route=route, interventions=()) if is_routed else row)
    return replace(audit, rows=tuple(rows))


def rights(audit: Made, route: str) -> dict[str, bool]:
    """Whether each question is right on a route."""
    return {row.question: row.outcome is Outcome.RIGHT for row in audit.rows if row.route == route}


def chosen(audit: Made, tuned=()) -> pl.DataFrame | None:
    return one_for_all(attempts_of(audit.table, SWEEP, audit.ids), clusters_of(audit.questions), tuned)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_route_is_chosen_by_one_half_for_the_other(seed: int) -> None:
    audit = routed(made(seed))
    found = chosen(audit)
    assert found is not None
    assert found["question"].to_list() == audit.ids
    by_choice = found.group_by("choice").agg("question")
    parts = [set(part) for part in by_choice["question"]]
    table = {route: rights(audit, route) for route in ROUTES}
    for question, route, right in found.select("question", "choice", "right").iter_rows():
        assert right == table[route][question]
    if len(parts) == 2:
        assert {len(part) for part in parts} == {len(audit.ids) // 2}
        for choice, part in zip(by_choice["choice"], parts, strict=True):
            others = set(audit.ids) - part
            scores = {route: sum(table[route][i] for i in others) for route in ROUTES}
            assert scores[choice] == max(scores.values())


def test_a_cluster_is_not_parted() -> None:
    audit = made(4, n_questions=20)
    grouped = [replace(q, template=f"t{i // 5}") for i, q in enumerate(audit.questions)]
    audit = routed(replace(audit, questions=tuple(grouped)))
    for seed in range(30):
        shuffled = routed(replace(made(seed, n_questions=20), questions=audit.questions))
        found = chosen(shuffled)
        assert found is not None
        sides = found.with_columns(side=pl.Series([i // 5 for i in range(20)])).group_by("side")
        assert sides.agg(pl.col("choice").n_unique())["choice"].max() == 1


def test_questions_a_probe_has_chosen_on_are_not_measured() -> None:
    audit = routed(made(3))
    tuned = audit.ids[:4]
    found = chosen(audit, tuned)
    assert found is not None
    assert found["question"].to_list() == audit.ids[4:]
    scores = {route: sum(rights(audit, route)[i] for i in tuned) for route in ROUTES}
    (choice,) = found["choice"].unique()
    assert scores[choice] == max(scores.values())


def test_routes_of_their_own_leave_no_choice_for_all() -> None:
    audit = routed(made(3), own=True)
    assert chosen(audit) is None
    deployed = deployed_answers(audit.table, "first", audit.ids)
    attempts = attempts_of(audit.table, SWEEP, audit.ids)
    names = set(picked(attempts, deployed, SWEEP, clusters=clusters_of(audit.questions))["selector"])
    assert not {name for name in names if "for all" in name}


def test_the_selector_is_named_for_what_is_chosen() -> None:
    for audit, name in ((made(3), "one attempt for all"), (routed(made(3)), "one route for all")):
        deployed = deployed_answers(audit.table, "first", audit.ids)
        attempts = attempts_of(audit.table, SWEEP, audit.ids)
        found = picked(attempts, deployed, SWEEP, clusters=clusters_of(audit.questions), tuned=audit.ids[:2])
        rows = found.filter(selector=name)
        assert rows.height == len(audit.ids) - 2
        assert rows["family"].unique().to_list() == ["trained"]


def test_questions_a_probe_has_chosen_on_are_those_that_alone_were_searched() -> None:
    audit = made(1)
    assert tuned_on(audit.table, SWEEP) == frozenset(), "a control that all were asked chooses nothing"
    searched = [r for r in audit.rows if r.probe != "silencing" or r.draw or r.question in audit.ids[:3]]
    assert tuned_on(table_of(searched), SWEEP) == frozenset(audit.ids[:3])
    assert tuned_on(audit.table, Probed("sampling", "sampling:5", "made up", 5)) == frozenset()


def test_a_probe_that_sees_verdicts_says_so_in_its_title() -> None:
    assert SWEEP.title == "silencing"
    assert replace(SWEEP, sees_verdicts=True).title == "silencing (oracle)"
