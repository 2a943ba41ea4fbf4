"""Probes over routes: pure, within their budgets, never the same route twice, and each what it says."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import BadInput, BadWord
from interp.probes.cola import _Node, _score, cola
from interp.probes.dr_llm_walk import dr_llm_walk
from interp.probes.edits import Edit
from interp.probes.exhaustive import Exhaustive
from interp.probes.greedy import Greedy
from interp.probes.hill_climb import hill_climb
from interp.probes.load import load_probe
from interp.probes.load_routes import POLICIES
from interp.probes.menu import Menu
from interp.probes.probe import Draw, Probe
from interp.probes.random_routes import RandomRoutes
from interp.probes.re_polar import re_polar, route_of
from interp.probes.setting import Setting
from interp.procedure import Decoding, Procedure
from interp.question import Attempt, Kind, Outcome, Question
from interp.reroute import skip
from interp.route import Route

N = 8
PROCEDURE = Procedure(decoding=Decoding(max_new_tokens=4))
QUESTIONS = tuple(Question(f"q{i}", f"What is {i}?", Kind.NUMBER, (str(i),)) for i in range(5))
SETTING = Setting(PROCEDURE, N, tuple(q.id for q in QUESTIONS), seed=3)
ROW = Attempt("q0", "", "", 0, "", (), 0, "", "", (), "stop", Outcome.WRONG, None, "0", None, "", 1, 1)
LINES = (
    *(f"{name}:6" for name in POLICIES),
    *(f"{name}:6,reward=constant" for name in POLICIES),
    "cola:6,reward=random,rate=0.3",
    "random_routes:6",
    "random_routes:6,shared=yes",
    "exhaustive:6",
    "greedy:2",
)

Verdict = Callable[[str, Route], bool]


def answered(draw: Draw, right: bool) -> Attempt:
    outcome = Outcome.RIGHT if right else Outcome.WRONG
    route = draw.procedure.route
    return replace(ROW, question=draw.question, draw=draw.draw, outcome=outcome, route=str(route))


def rounds(probe: Probe, verdict: Verdict) -> list[list[Draw]]:
    """All proposals of a probe whose routes get these verdicts."""
    history: list[Attempt] = []
    found: list[list[Draw]] = []
    while draws := list(probe.propose(QUESTIONS, tuple(history))):
        found.append(draws)
        history += [answered(draw, verdict(draw.question, route_in(draw))) for draw in draws]
        assert len(found) < 500
    return found


def route_in(draw: Draw) -> Route:
    assert draw.procedure.route is not None
    return draw.procedure.route


def some(question: str, route: Route) -> bool:
    """Verdicts that look like chance and are the same in every process."""
    return sum(map(ord, f"{question} {route}")) % 4 == 0


@pytest.mark.parametrize("line", LINES)
def test_a_probe_over_routes_is_pure(line: str) -> None:
    """The same log gives the same draws: to itself again, to another object, and from any prefix."""
    probe, note = load_probe(line, SETTING)
    found = rounds(probe, some)
    history: list[Attempt] = []
    for draws in found:
        assert probe.propose(QUESTIONS, tuple(history)) == draws
        assert load_probe(line, SETTING)[0].propose(QUESTIONS, tuple(history)) == draws
        history += [answered(draw, some(draw.question, route_in(draw))) for draw in draws]
    assert list(probe.propose(QUESTIONS, tuple(history))) == []
    assert (note.name, note.sees_verdicts) == (probe.name, probe.sees_verdicts)
    assert note.sees_verdicts == ("sees" in note.about)
    assert not note.exchangeable


@pytest.mark.parametrize("line", LINES)
def test_routes_are_new_valid_and_within_the_budget(line: str) -> None:
    probe, note = load_probe(line, SETTING)
    draws = [draw for draws in rounds(probe, some) for draw in draws]
    by_question: dict[str, list[Draw]] = {}
    for draw in draws:
        route_in(draw).check(N)
        assert replace(draw.procedure, route=None) == PROCEDURE
        by_question.setdefault(draw.question, []).append(draw)
    assert set(by_question) == set(SETTING.questions)
    for asked in by_question.values():
        attempts = [draw for draw in asked if draw.draw >= note.n_controls]
        assert [draw.draw for draw in attempts] == [note.n_controls + i for i in range(len(attempts))]
        routes = [route_in(draw) for draw in attempts]
        assert 0 < len(set(routes)) == len(routes) <= note.budget
        assert Route.identity(N) not in routes


@pytest.mark.parametrize("line", [line for line in LINES if "reward=" in line or "random" in line])
def test_what_sees_no_verdict_does_not_depend_on_them(line: str) -> None:
    probe = load_probe(line, SETTING)[0]
    assert not probe.sees_verdicts
    expected = rounds(probe, some)
    for verdict in (lambda *_: True, lambda *_: False):
        assert rounds(load_probe(line, SETTING)[0], verdict) == expected


@pytest.mark.parametrize("name", [*POLICIES, "greedy"])
def test_what_sees_verdicts_does_depend_on_them(name: str) -> None:
    line = f"{name}:{3 if name == 'greedy' else 20}"

    def other(question: str, route: Route) -> bool:
        return not some(question, route)

    assert rounds(load_probe(line, SETTING)[0], some) != rounds(load_probe(line, SETTING)[0], other)


@pytest.mark.parametrize(
    "line", [line for line in LINES if "shared" not in line and line[:2] in ("co", "ra", "hi")]
)
def test_questions_have_seeds_of_their_own(line: str) -> None:
    first = {draw.question: route_in(draw) for draw in rounds(load_probe(line, SETTING)[0], some)[0][::-1]}
    assert len(set(first.values())) > 1
    fewer = replace(SETTING, questions=SETTING.questions[2:3])
    alone = load_probe(line, fewer)[0].propose(QUESTIONS[2:3], ())[0]
    assert route_in(alone) == first["q2"]


def test_routes_are_the_same_in_every_process() -> None:
    code = (
        "from test_route_probes import *\n"
        "for line in LINES:\n"
        "    for draws in rounds(load_probe(line, SETTING)[0], some):\n"
        "        print([str(route_in(draw)) for draw in draws])"
    )
    here = Path(__file__).parent
    said: set[bytes] = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(here)}
        command = [sys.executable, "-c", code]
        said.add(subprocess.run(command, env=environment, capture_output=True, check=True, cwd=here).stdout)
    assert min(map(len, said)) > 1000
    assert len(said) == 1


def test_more_draws_only_add_rows() -> None:
    for name in ("cola", "re_polar", "hill_climb", "dr_llm_walk", "random_routes", "exhaustive"):
        few = [d for ds in rounds(load_probe(f"{name}:4", SETTING)[0], some) for d in ds]
        many = [d for ds in rounds(load_probe(f"{name}:9", SETTING)[0], some) for d in ds]
        assert set(few) <= set(many)
        assert {d for d in many if d.draw < 4} == set(few)


def test_the_score_of_cola_is_the_published_one() -> None:
    child = _Node(Route((0, 1, 2)), total=3.0, n=4)
    expected = 3 / 4 + 1.5 * math.sqrt(math.log(10) / 4) - 5.0 * 3 / 8
    assert _score(child, 10, 1.5, 5.0, 8) == pytest.approx(expected)


def test_cola_goes_on_below_what_was_right_and_beside_what_was_wrong() -> None:
    """With little exploration and no penalty the second path edits a right first one, by one edit more."""
    for seed in range(20):
        search = cola(N, seed, c=1e-9, penalty=0.0, explore=0.0)
        first = next(search)
        second = search.send(True)
        single = {edit.of(first) for edit in every_edit(first)}
        assert second in single
        assert first in {edit.of(Route.identity(N)) for edit in every_edit(Route.identity(N))}


def every_edit(route: Route) -> list[Edit]:
    n = len(route.steps)
    edits = [Edit(s, k, t) for s in range(n) for k in range(1, 5) for t in (0, 2, 3, 4, 5) if s + k <= n]
    return [edit for edit in edits if n + (edit.times - 1) * edit.n > 0]


def test_cola_counts_its_simulations() -> None:
    search = cola(N, 0, simulations=13)
    next(search)
    for n in range(1, 13):
        search.send(n % 3 == 0)
    with pytest.raises(StopIteration):
        search.send(False)


def test_re_polar_widens_as_published() -> None:
    """Of v routes, at most max(1, ceil(2 v^0.5)) are single edits of the plain order."""
    search = re_polar(30, 5, size=1)
    routes = [next(search)]
    for v in range(1, 121):
        singles = {route for route in routes if route.n_jumps == 1 and len(route.layers) in (29, 31)}
        assert len(singles) <= max(1, math.ceil(2 * math.sqrt(v)))
        routes.append(search.send(v % 5 == 0))
    assert len(set(routes)) > 40


@given(st.sets(st.tuples(st.integers(0, 5), st.sampled_from((0, 2))), min_size=1, max_size=3))
def test_sets_of_edits_are_applied_to_layers(edits: set[tuple[int, int]]) -> None:
    """Blocks of two layers at 0, 4, 8, ...: each layer is skipped or repeated whatever the others do."""
    chosen = dict(edits)
    route = route_of(frozenset(Edit(4 * s, 2, t) for s, t in chosen.items()), 24)
    counts = Counter(route.layers)
    for layer in range(24):
        inside = chosen.get(layer // 4) if layer % 4 < 2 else None
        assert counts[layer] == (1 if inside is None else inside)


def test_the_walk_changes_one_layer_a_step_and_stops_where_it_is_right() -> None:
    search = dr_llm_walk(N, 1)
    before, route = Counter(range(N)), next(search)
    for _ in range(40):
        now = Counter(route.layers)
        assert sum(now[layer] != before[layer] for layer in range(N)) == 1
        assert all(b >= a for a, b in zip(route.layers, route.layers[1:], strict=False))
        before, route = now, search.send(False)
    with pytest.raises(StopIteration):
        search.send(True)
    going = dr_llm_walk(N, 1, stop=False)
    next(going)
    assert going.send(True)


def test_hill_climbing_edits_what_was_no_worse_and_starts_again_where_it_is_stuck() -> None:
    search = hill_climb(N, 2, most_edits=50, patience=3)
    current, route = Route.identity(N), next(search)
    for right in (False, True, False, True, False, False, False):
        assert route in {edit.of(current) for edit in every_edit(current)}
        if right or current == Route.identity(N):
            current = route
        route = search.send(right)
    assert route in {edit.of(Route.identity(N)) for edit in every_edit(Route.identity(N))}


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_routes_like_those_of_a_search_are_as_long_and_jump_as_often(seed: int) -> None:
    searched = {
        q.id: [next(cola(30, seed + i + 7 * d, times=1)) for d in range(4)] for i, q in enumerate(QUESTIONS)
    }
    probe = RandomRoutes(PROCEDURE, 30, 4, matched=searched, seed=seed)
    for question, routes in searched.items():
        drawn = probe.routes(question)
        for like, route in zip(routes, drawn, strict=True):
            assert (len(route.layers), route.n_jumps) == (len(like.layers), like.n_jumps)


def test_random_routes_are_even_over_their_edits() -> None:
    """About half are single edits, half of these skips, and every layer is edited about as often."""
    probe = RandomRoutes(PROCEDURE, 30, 3000, most_edits=1, most=1, shared=True)
    with pytest.raises(BadInput, match="too few routes of 1 edits for 3000 draws"):
        probe.routes("q0")
    counts = Counter(
        len(RandomRoutes(PROCEDURE, 30, 1, most_edits=1, seed=s).routes("q")[0].layers) for s in range(800)
    )
    shorter = sum(n for length, n in counts.items() if length < 30)
    assert 330 < shorter < 470
    assert set(counts) == {26, 27, 28, 29, 31, 32, 33, 34}


def test_exhaustive_asks_every_single_change_once() -> None:
    routes = Exhaustive(PROCEDURE, N).routes
    whole = Route.identity(N)
    assert routes[:N] == [skip(whole, layer) for layer in range(N)]
    assert len(routes) == len(set(routes)) == N + sum(N - size + 1 for size in (1, 2, 3, 4))
    planted = Route((0, 1, 2, 3, 4, 3, 4, 5, 6, 7))
    found = rounds(load_probe("exhaustive", SETTING)[0], lambda _, route: route == planted)
    assert planted in {route_in(draw) for draws in found for draw in draws}


def test_greedy_finds_the_layers_that_stand_in_the_way() -> None:
    """Right without layers 2 and 5, whatever else; half right without one of them."""

    def verdict(question: str, route: Route) -> bool:
        missing = {2, 5} - set(route.layers)
        return len(missing) == 2 or (len(missing) == 1 and question in ("q0", "q2", "q4"))

    probe = Greedy(PROCEDURE, N, 2, share=0.8, seed=1)
    validation = probe.validation(QUESTIONS)
    last = rounds(probe, verdict)[-1]
    assert len(validation) == 4
    assert [draw.question for draw in last] == [q.id for q in QUESTIONS] * 2
    assert [route_in(draw) for draw in last] == [skip(Route.identity(N), 5)] * 5 + [
        Route((0, 1, 3, 4, 6, 7))
    ] * 5


def test_a_longer_chain_of_greedy_adds_rows_and_changes_none() -> None:
    few, more = (
        {(d.question, d.draw): d.procedure for draws in rounds(Greedy(PROCEDURE, N, n), some) for d in draws}
        for n in (1, 3)
    )
    assert few.items() < more.items()


def test_greedy_ends_where_a_deletion_costs() -> None:
    def verdict(_: str, route: Route) -> bool:
        return len(route.layers) == N - 1

    chain = rounds(Greedy(PROCEDURE, N, 4), verdict)[-1]
    assert len({route_in(draw) for draw in chain}) == 1
    assert len({route_in(draw) for draw in rounds(Greedy(PROCEDURE, N, 4, stops=False), verdict)[-1]}) == 4


def test_a_menu_leaves_the_question_itself_out() -> None:
    routes = [Route((0, i)) for i in range(1, 5)]
    right = {"q0": {0, 1}, "q1": {1}, "q2": {2, 3}, "q3": {2}, "q4": {1, 2}}
    log = {q: tuple((route, i in hits) for i, route in enumerate(routes)) for q, hits in right.items()}
    draws = Menu(PROCEDURE, 2, log).propose(QUESTIONS, ())
    for question in right:
        votes = {
            route: sum(i in hits for other, hits in right.items() if other != question)
            for i, route in enumerate(routes)
        }
        best = sorted(routes, key=lambda route: (-votes[route], str(route)))[:2]
        own = [draw for draw in draws if draw.question == question]
        assert sorted(map(route_in, own), key=str) == sorted(best, key=str)
        assert votes[route_in(own[0])] >= votes[route_in(own[1])]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cola", "'' is no number of draws, for instance cola:32"),
        ("cola:0", "at least one route, got n_draws=0"),
        ("cola:8,deep=3", "'deep' is not one of: a number of draws, reward, rate, simulations, c"),
        ("cola:8,reward=luck", "reward is one of verdict, constant, random, not 'luck'"),
        ("cola:8,rate=0.5", "a rate goes with reward=random"),
        ("cola:8,reward=random,rate=7", "a share in 0 to 1, got 7"),
        ("cola:8,reward=random,rate=beam", "needs the routes of 'beam', which this run has not asked"),
        ("dr_llm_walk:8,stop=maybe", "stop is one of yes, no, not 'maybe'"),
        ("random_routes:0", "at least one draw"),
        ("random_routes:4,like=cola", "needs the routes of 'cola', which this run has not asked"),
        ("menu:4", "say whose routes, for instance menu:8,from=exhaustive"),
        ("menu:4,from=cola", "needs the routes of 'cola'"),
        ("greedy:8", "1 to 7 can go, not 8"),
        ("greedy:1,share=1", "between 0 and 1, got 1"),
        ("exhaustive:3,most=0", "at least one draw and one layer"),
    ],
)
def test_lines_that_ask_for_what_cannot_be_are_refused(line: str, says: str) -> None:
    with pytest.raises((BadInput, BadWord), match=says):
        load_probe(line, SETTING)


def test_options_of_a_line_reach_the_search_and_name_it() -> None:
    log: Callable[[str], Any] = lambda _: {"q0": ((Route((0,)), True), (Route((1,)), False))}  # noqa: E731
    setting = replace(SETTING, log=log)
    probe, note = load_probe("cola:4,reward=random,rate=beam,simulations=9", setting)
    assert note.name == "cola:reward=random,rate=beam,simulations=9"
    assert getattr(probe, "rate") == 0.5  # noqa: B009
    assert note.ordered
    assert not load_probe("random_routes:4", setting)[1].ordered
    limited = load_probe("cola:50,simulations=3", setting)[0]
    asked: Sequence[Draw] = [d for ds in rounds(limited, some) for d in ds if d.question == "q0"]
    assert len(asked) <= 3
