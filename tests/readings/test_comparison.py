"""Two audits: what must match, and what changed, against plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_audit import PROBE, SWEEP, made
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from interp.errors import BadInput, RunMismatch, UnknownName
from interp.readings.changed_words import changed_headline, changed_sentences
from interp.readings.clusters import clusters_of
from interp.readings.comparison import (
    change,
    compare_tables,
    crossing,
    flow_table,
    pair_table,
    with_holm,
)
from interp.readings.decoys import decoy_targets
from interp.readings.matching import NAMES, Evaluated, match
from interp.readings.probed import attempts_of
from interp.readings.states import State, deployed_answers, probe_questions, question_table

PLAN = {
    "procedure": {"key": "1", "prompt": {"system": "s"}, "decoding": {"max_new_tokens": 8}},
    "deployed": {"rule": "first", "n_draws": 1},
    "clusters": "auto",
}
EVALUATED = Evaluated(
    "runs/a",
    PLAN,
    made(0).questions,
    {"sampling": PROBE},
    pl.DataFrame({"question": made(0).ids, "prompt_hash": ["h"] * 12}),
    "1",
)


def plan(**changes) -> dict:
    return {**PLAN, "procedure": {**PLAN["procedure"], **changes}}


DIFFERENT = {
    "questions": replace(EVALUATED, questions=EVALUATED.questions[:-1]),
    "prompt": replace(EVALUATED, plan=plan(prompt={"system": "other"})),
    "template": replace(EVALUATED, plan=plan(prompt={"system": "s", "template": "plain"})),
    "rendered": replace(EVALUATED, prompts=EVALUATED.prompts.with_columns(prompt_hash=pl.lit("other"))),
    "decoding": replace(EVALUATED, plan=plan(decoding={"max_new_tokens": 9})),
    "rule": replace(EVALUATED, plan={**PLAN, "deployed": {"rule": "majority", "n_draws": 8}}),
    "probes": replace(EVALUATED, probes={"sampling": PROBE, "silencing": SWEEP}),
    "budget": replace(EVALUATED, probes={"sampling": replace(PROBE, n_draws=9)}),
    "grader": replace(EVALUATED, grader="2"),
    "clusters": replace(EVALUATED, plan={**PLAN, "clusters": "none"}),
}


def test_every_name_has_a_case():
    assert set(DIFFERENT) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_is_refused_by_name_and_can_be_allowed(name):
    other = replace(DIFFERENT[name], name="runs/b")
    with pytest.raises(RunMismatch, match=rf"runs/a and runs/b are not matched.*{name}: .*--allow {name}"):
        match(EVALUATED, other)
    found = match(EVALUATED, other, allow=[name])
    assert [mismatch.name for mismatch in found] == [name]


def test_model_edits_order_and_seed_may_differ():
    silenced = plan(interventions=["L1.mlp_out*0"], key="2") | {"model": {"name": "other"}, "seed": 4}
    assert match(EVALUATED, replace(EVALUATED, plan=silenced, questions=EVALUATED.questions[::-1])) == ()


def test_all_differences_are_named_at_once():
    both = replace(DIFFERENT["grader"], plan=DIFFERENT["decoding"].plan)
    with pytest.raises(RunMismatch, match=r"decoding: .*max_new_tokens was 8, now 9.*grader: was 1, then 2"):
        match(EVALUATED, both)
    with pytest.raises(RunMismatch) as error:
        match(EVALUATED, both, allow=["grader"])
    assert "grader" not in str(error.value).partition("accept it with")[2]


def test_unknown_names_and_nothing_shared_are_refused():
    with pytest.raises(UnknownName, match=r"no difference 'temperature'.*decoding"):
        match(EVALUATED, EVALUATED, allow=["temperature"])
    strange = replace(EVALUATED, questions=[replace(q, id=f"x{q.id}") for q in EVALUATED.questions])
    with pytest.raises(BadInput, match="share no question"):
        match(EVALUATED, strange, allow=["questions"])


def question_rows(seed: int) -> pl.DataFrame:
    audit = made(seed, n_questions=40)
    found = probe_questions(
        attempts_of(audit.table, PROBE, audit.ids), decoy_targets(audit.questions), audit.table.clear()
    )
    deployed = deployed_answers(audit.table, "first", audit.ids)
    return question_table(audit.questions, deployed, {"sampling": found})


def compared(seeds: tuple[int, int]):
    pairs = pair_table(*map(question_rows, seeds))
    clusters = clusters_of(made(0, n_questions=40).questions)
    flags = [
        [(pairs[f"outcome_{end}"] == "right").to_numpy() for end in ("before", "after")],
        [pairs[f"reachable_{end}"].to_numpy() for end in ("before", "after")],
    ]
    changes = [change(name, 5, a, b, clusters=clusters) for name, (a, b) in zip("dr", flags, strict=True)]
    return pairs, compare_tables(pairs, changes, names=("a", "b"), clusters=clusters)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.integers(1001, 2000))
def test_every_count_is_one_of_questions(first, second):
    before, after = question_rows(first), question_rows(second)
    pairs, found = compared((first, second))
    rows = list(zip(before.iter_rows(named=True), after.iter_rows(named=True), strict=True))
    gained = [(a, b) for a, b in rows if b["realized"] and not a["realized"]]
    lost = [(a, b) for a, b in rows if a["realized"] and not b["realized"]]
    assert (found.deployed.gained, found.deployed.lost) == (len(gained), len(lost))
    assert found.gained_within_reach == sum(a["state"] == State.REACHABLE for a, _ in gained)
    assert found.gained_newly == sum(a["state"] in (State.NEVER, State.UNREADABLE) for a, _ in gained)
    assert found.lost_within_reach == sum(b["reachable"] for _, b in lost)
    assert found.lost_within_reach + found.lost_entirely == len(lost)
    support = Counter((a["reachable"], b["reachable"]) for a, b in rows)
    assert (found.preserved, found.expanded, found.shrunk) == tuple(
        support[key] for key in ((True, True), (False, True), (True, False))
    )
    same = [(a, b) for a, b in rows if a["realized"] == b["realized"]]
    assert found.n_changed == sum(a["deployed_answer"] != b["deployed_answer"] for a, b in same)
    flow = {(a, b): n for a, b, n in flow_table(pairs).iter_rows()}
    assert flow == {(a, b): 0 for a in State for b in State} | Counter(
        (a["state"], b["state"]) for a, b in rows
    )
    assert found.deployed.difference == pytest.approx((len(gained) - len(lost)) / 40)
    assert found.deployed.interval[0] <= found.deployed.difference <= found.deployed.interval[1]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 500), st.integers(501, 1000))
def test_p_values_are_those_of_statsmodels(first, second):
    _, found = compared((first, second))
    _, other = compared((second, first))
    tested = [*found.changes, *other.changes]
    for row in tested:
        exact = mcnemar([[0, row.gained], [row.lost, 0]], exact=True).pvalue
        assert row.p == pytest.approx(min(1.0, exact))
    adjusted = [row.p_holm for result in with_holm([found, other]) for row in result.changes]
    assert adjusted == pytest.approx(multipletests([row.p for row in tested], method="holm")[1])


@pytest.mark.parametrize(
    ("before", "after", "k"),
    [
        ([0.2, 0.4, 0.6, 0.8], [0.3, 0.45, 0.55, 0.7], 4),
        ([0.3, 0.45, 0.55, 0.7], [0.2, 0.5, 0.6, 0.8], 2),
        ([0.2, 0.5, 0.6, 0.8], [0.3, 0.4, 0.7, 0.9], None),
        ([0.2, 0.3, 0.4, 0.5], [0.2, 0.3, 0.4, 0.5], None),
        ([0.2, 0.3, 0.4, 0.5], [0.3, 0.4, 0.5, 0.5], None),
    ],
)
def test_curves_cross_where_the_order_changes_for_good(before, after, k):
    tables = [pl.DataFrame({"k": [1, 2, 4, 8], "reach": reach}) for reach in (before, after)]
    assert crossing(*tables) == k


def test_words_carry_the_numbers():
    _, found = compared((1, 2))
    found = with_holm([replace(found, crossings={"sampling": 4, "other": None}, allowed=("grader: 1, 2",))])[
        0
    ]
    said = changed_sentences(found)
    assert said[0] == changed_headline(found)
    assert f"Of {found.deployed.gained} questions gained, {found.gained_within_reach} were within" in said[1]
    assert any("from k = 4 on" in sentence for sentence in said)
    assert any("Not matched, and allowed: grader: 1, 2." in sentence for sentence in said)
    assert sum("adjusted" in sentence for sentence in said) == len(found.changes) + 1
