"""The race: what it asks next, whom it drops, and that the second half has no say in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Bool

from interp.errors import BadInput
from interp.probes.probe import Draw
from interp.probes.race import (
    Race,
    RaceRule,
    race,
    random_blocks,
    rounds_of,
    standard_errors_behind,
)
from interp.probes.racing import Racing
from interp.probes.silencing import Silencing
from interp.procedure import Procedure
from interp.question import Attempt, FailureSet, Kind, Outcome, Question

Cells = Mapping[tuple[str, int], bool]
N_BLOCKS = 8


def failure_set(n_failures: int = 24, n_successes: int = 24, *, seed: int = 0) -> FailureSet:
    failures = tuple(f"f{i:02}" for i in range(n_failures))
    successes = tuple(f"s{i:02}" for i in range(n_successes))
    totals = n_failures, n_successes, n_failures + n_successes
    return FailureSet("wrong", seed, failures, successes, *totals)


def some_cells(failures: FailureSet, seed: int, n_blocks: int = N_BLOCKS) -> dict[tuple[str, int], bool]:
    """Blocks of all kinds: each repairs and keeps its own share of the questions."""
    rng = np.random.default_rng(seed)
    shares = {"f": rng.random(n_blocks) ** 2, "s": rng.random(n_blocks) ** 0.3}
    ids = (*failures.failures, *failures.successes)
    return {(i, block): bool(rng.random() < shares[i[0]][block]) for i in ids for block in range(n_blocks)}


def probe_of(failures: FailureSet, rule: RaceRule | None = None, n_blocks: int = N_BLOCKS) -> Racing:
    ids = (*failures.failures, *failures.successes)
    return Racing(Silencing(Procedure(), n_blocks, ids), failures, rule or RaceRule())


def questions_of(failures: FailureSet) -> list[Question]:
    return [Question(i, i, Kind.TEXT, (i,)) for i in (*failures.failures, *failures.successes)]


def answered(draw: Draw, cells: Cells) -> Attempt:
    right = draw.question.startswith("s") if draw.draw == 0 else cells[draw.question, draw.draw - 1]
    outcome = Outcome.RIGHT if right else Outcome.WRONG
    edits = tuple(map(str, draw.procedure.interventions))
    key = draw.procedure.key
    return Attempt(
        draw.question,
        "",
        "silencing",
        draw.draw,
        key,
        edits,
        0,
        "",
        "",
        (),
        "stop",
        outcome,
        *[None] * 3,
        "",
        1,
        1,
    )


def run_out(probe: Racing, cells: Cells) -> list[list[Attempt]]:
    """The rows of each proposal, until there is none."""
    questions = questions_of(probe.failures)
    found: list[list[Attempt]] = []
    while draws := probe.propose(questions, [row for rows in found for row in rows]):
        found.append([answered(draw, cells) for draw in draws])
    return found


def flat(proposals: Sequence[Sequence[Attempt]]) -> list[Attempt]:
    return [row for rows in proposals for row in rows]


def test_the_first_half_is_asked_in_rounds_and_the_second_at_once() -> None:
    failures = failure_set()
    first, second = failures.halves
    proposals = run_out(probe_of(failures), some_cells(failures, 1))
    n_rounds = RaceRule().n_rounds
    assert len(proposals) == n_rounds + 1
    asked = [list(dict.fromkeys(row.question for row in rows)) for rows in proposals]
    assert sorted(i for ids in asked[:-1] for i in ids) == sorted(first)
    assert sorted(asked[-1]) == sorted(second)
    for ids in asked[:-1]:
        assert abs(sum(i[0] == "f" for i in ids) - len(ids) / 2) <= 0.5
    assert {row.draw for row in proposals[0]} == set(range(N_BLOCKS + 1))


def test_a_control_stands_before_its_blocks_and_every_question_has_one() -> None:
    failures = failure_set()
    rows = flat(run_out(probe_of(failures), some_cells(failures, 1)))
    by_question: dict[str, list[int]] = {}
    for row in rows:
        by_question.setdefault(row.question, []).append(row.draw)
    assert set(by_question) == {*failures.failures, *failures.successes}
    assert all(draws[0] == 0 and draws == sorted(set(draws)) for draws in by_question.values())


def test_a_row_is_asked_as_in_the_full_sweep() -> None:
    failures = failure_set()
    probe = probe_of(failures)
    questions = questions_of(failures)
    full = {(draw.question, draw.draw): draw for draw in probe.sweep.propose(questions, ())}
    draws = probe.propose(questions, ())
    assert draws
    assert all(full[draw.question, draw.draw] == draw for draw in draws)
    assert (probe.name, probe.sees_verdicts) == ("silencing", True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 30))
def test_the_same_log_gives_the_same_draws_from_anywhere_in_it(seed: int, n_f: int, n_s: int) -> None:
    failures = failure_set(n_f, n_s, seed=seed)
    cells = some_cells(failures, seed)
    probe, questions = probe_of(failures), questions_of(failures)
    proposals = run_out(probe, cells)
    rows = flat(proposals)
    assert len({row.key for row in rows}) == len(rows)
    for n, proposed in enumerate(proposals):
        before = flat(proposals[:n])
        again = replace(probe).propose(questions[::-1], before)
        assert [(draw.question, draw.draw) for draw in again] == [(r.question, r.draw) for r in proposed]
        assert probe.standing(before) == probe.standing(before[::-1])
        half = [*before, *proposed[: len(proposed) // 2]]
        rest = probe.propose(questions, half)
        assert [(d.question, d.draw) for d in rest] == [
            (r.question, r.draw) for r in proposed[len(proposed) // 2 :]
        ]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 30))
def test_who_is_left_was_asked_everything_and_who_is_not_was_never_first(
    seed: int, n_f: int, n_s: int
) -> None:
    failures = failure_set(n_f, n_s, seed=seed)
    cells = some_cells(failures, seed)
    probe = probe_of(failures)
    rows = flat(run_out(probe, cells))
    found = probe.standing(rows)
    assert found.live
    done = {(row.question, row.draw - 1) for row in rows}
    ids = (*failures.failures, *failures.successes)
    assert all((i, block) in done for i in ids for block in (-1, *found.live))
    seen: list[str] = []
    for number, ids in enumerate(rounds_of(failures, probe.rule.n_rounds)):
        seen += ids
        live = Race(N_BLOCKS, found.dropped[:number]).live
        repaired = {b: sum(cells[i, b] for i in seen if i[0] == "f") for b in live}
        kept = {b: sum(cells[i, b] for i in seen if i[0] == "s") for b in live}
        parts = [sum(i[0] == kind for i in seen) / n for kind, n in (("f", n_f), ("s", n_s))]
        for block in found.dropped[number]:
            assert repaired[block] < max(repaired.values())
            foreseen = {b: repaired[b] / parts[0] + kept[b] / parts[1] for b in live}
            assert foreseen[block] < max(foreseen.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_second_half_never_decides_who_is_dropped(seed: int, random: np.random.Generator) -> None:
    failures = failure_set(seed=seed)
    cells = some_cells(failures, seed)
    _, second = failures.halves
    other = {key: random.random() < 0.5 if key[0] in second else right for key, right in cells.items()}
    probe = probe_of(failures)
    before, after = run_out(probe, cells), run_out(probe, other)
    assert [[row.key for row in rows] for rows in before] == [[row.key for row in rows] for rows in after]
    assert probe.standing(flat(before)) == probe.standing(flat(after))


def test_a_strong_block_is_left_alone_early() -> None:
    failures = failure_set()
    ids = (*failures.failures, *failures.successes)
    cells = {(i, b): i[0] == "s" or b == 5 for i in ids for b in range(N_BLOCKS)}
    found = race(failures, N_BLOCKS, RaceRule(), cells)
    assert found.live == (5,)
    rows = flat(run_out(probe_of(failures), cells))
    assert len(rows) < 0.55 * len(ids) * (N_BLOCKS + 1)


def test_equal_blocks_are_all_left() -> None:
    failures = failure_set()
    cells = {(i, b): int(i[1:]) % 2 == 0 for i, b in some_cells(failures, 0)}
    assert race(failures, N_BLOCKS, RaceRule(), cells).live == tuple(range(N_BLOCKS))


def test_the_best_by_net_gain_is_left_though_it_repairs_least() -> None:
    failures = failure_set()
    ids = (*failures.failures, *failures.successes)
    shares = {("f", 0): 1.0, ("s", 0): 0.0, ("f", 1): 0.25, ("s", 1): 1.0, ("f", 2): 0.0, ("s", 2): 0.0}
    cells = {(i, b): int(i[1:]) % 4 < 4 * shares[i[0], b] for i in ids for b in range(3)}
    assert race(failures, 3, RaceRule(), cells).live == (0, 1)


def test_no_one_is_dropped_on_questions_of_one_kind_alone() -> None:
    failures = failure_set(4, 1)
    cells = some_cells(failures, 3)
    assert race(failures, N_BLOCKS, RaceRule(z=1e-6), cells).live == tuple(range(N_BLOCKS))


def test_distances_counted_by_hand() -> None:
    failures = failure_set(8, 8)
    f: Bool[np.ndarray, "q b"] = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], dtype=bool)
    s = np.ones((4, 2), dtype=bool)
    repair, gain = standard_errors_behind(f, s, failures)
    # Ahead by 2 of 4, foreseen 4 of 8; four questions are left at a mean square of (2 + 1) / (4 + 1).
    assert repair.tolist() == [0.0, pytest.approx(4 / np.sqrt(4 * 2 * 3 / 5))]
    assert gain.tolist() == [0.0, pytest.approx(4 / np.sqrt(4 * 2 * 3 / 5 + 4 * 2 * 1 / 5))]


def test_random_blocks_are_all_equally_likely() -> None:
    failures = failure_set()
    drawn = [random_blocks(failures, f"q{i}", 5, 2) for i in range(2000)]
    counts = np.bincount([block for blocks in drawn for block in blocks], minlength=5)
    assert all(len(set(blocks)) == 2 for blocks in drawn)
    assert abs(counts / 2000 - 0.4).max() < 0.05
    assert random_blocks(failures, "q", 1, 2) == (0,)


def test_a_rule_reads_back_and_refuses_nonsense() -> None:
    rule = RaceRule(n_rounds=2, z=2.5, n_random=1)
    assert RaceRule.from_json(rule.to_json()) == rule
    for wrong in ({"n_rounds": 0}, {"z": 0.0}, {"z": float("nan")}, {"n_random": -1}):
        with pytest.raises(BadInput, match="A race needs"):
            RaceRule(**wrong)


def test_a_question_that_the_task_lacks_is_named() -> None:
    failures = failure_set(2, 2)
    with pytest.raises(BadInput, match="'s01'"):
        probe_of(failures).propose(questions_of(failures)[:-1], ())
