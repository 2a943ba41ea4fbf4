"""The words: printed on one line and read back, JSON both ways, keys of content, and no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interp
from interp.errors import BadInput, BadWord
from interp.intervention import (
    EDITABLE,
    Intervention,
    Mean,
    Patch,
    Resample,
    Scale,
    Scope,
    parse_intervention,
    silence,
)
from interp.procedure import Decoding, Procedure, Prompt, Template, content_key, draw_seed
from interp.question import Attempt, FailureSet, Kind, Outcome, Question, Reason, Verdict, seeded_order
from interp.site import Point, Site

WORDS = ("errors", "site", "intervention", "procedure", "question")
MLP = Site(7, Point.MLP_OUT)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
layers = st.integers(0, 10**6)
experts = st.builds(Site, layers, st.just(Point.MLP_OUT), st.integers(0, 512))
sites = st.builds(Site, layers, st.sampled_from(Point)) | experts
editable = st.builds(Site, layers, st.sampled_from(EDITABLE))
scopes = st.sampled_from(Scope)
factors = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6)
scales = st.builds(Scale, editable | experts, factors, scopes)
keys = st.text("0123456789abcdefz", min_size=1, max_size=16)
replacements = st.one_of(st.builds(word, editable, keys, scopes) for word in (Mean, Resample, Patch))
edits = scales | replacements
prompts = st.builds(
    Prompt,
    system=st.none() | texts,
    examples=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    answer_prefix=texts,
    template=st.sampled_from(Template),
)
stops = st.lists(texts.filter(bool), max_size=3).map(tuple)
decodings = st.builds(Decoding, st.integers(1, 4096), stops) | st.builds(
    Decoding,
    st.integers(1, 4096),
    stops,
    temperature=st.floats(0.01, 10),
    top_p=st.floats(0.01, 1.0),
    top_k=st.integers(0, 100),
    min_p=st.floats(0.0, 1.0),
)
procedures = st.builds(Procedure, prompts, decodings, st.lists(edits, max_size=4).map(tuple))
many = st.lists(texts, max_size=3).map(tuple)
questions = st.builds(
    Question,
    id=ids,
    text=texts,
    kind=st.sampled_from(Kind),
    gold=many,
    choices=many,
    labels=many,
    candidates=many,
    subject=texts,
)
attempts = st.builds(
    Attempt,
    question=ids,
    question_hash=texts,
    probe=ids,
    draw=st.integers(0, 99),
    procedure=texts,
    interventions=st.lists(edits.map(str), max_size=3).map(tuple),
    seed=st.integers(0, 2**63 - 1),
    prompt_hash=texts,
    text=st.text(max_size=12),
    tokens=st.lists(st.integers(0, 10**6), max_size=5).map(tuple),
    finish=st.sampled_from(["stop", "length"]),
    outcome=st.sampled_from(Outcome),
    reason=st.none() | st.sampled_from(Reason),
    answer=st.none() | texts,
    span=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    grader=texts,
    n_prompt_tokens=st.integers(0, 10**6),
    n_layer_tokens=st.integers(0, 10**9),
)
failure_sets = st.builds(
    FailureSet,
    rule=st.sampled_from(["wrong", "unreadable", "not-right", "file"]),
    seed=st.integers(0, 2**31),
    failures=st.lists(ids, max_size=9, unique=True).map(lambda i: tuple(sorted(i))),
    successes=st.lists(ids, max_size=9, unique=True).map(lambda i: tuple(sorted(i))),
    n_failures=st.integers(0, 99),
    n_successes=st.integers(0, 99),
    n_questions=st.integers(0, 99),
)


def through_json(value: object) -> Any:
    return json.loads(json.dumps(value))


@given(sites)
def test_a_site_is_read_back_from_its_line(site: Site) -> None:
    assert Site.parse(str(site)) == site
    assert Site.parse(f"  {site}\n") == site
    assert "\n" not in str(site)


@given(edits)
def test_an_intervention_is_read_back_from_its_line(edit: Intervention) -> None:
    line = str(edit)
    assert parse_intervention(line) == edit
    assert str(parse_intervention(line)) == line
    assert "\n" not in line


def test_how_words_are_written() -> None:
    assert str(silence(7)) == "L7.mlp_out*0"
    assert silence(7) == Scale(MLP, 0.0) == Scale(MLP, 0) == parse_intervention("L7.mlp_out*0@both")
    assert str(Scale(MLP, 0)) == str(Scale(MLP, -0.0)) == "L7.mlp_out*0"
    assert str(Scale(Site(0, Point.ATTN_OUT), 0.5, Scope.PROMPT)) == "L0.attn_out*0.5@prompt"
    assert str(Mean(MLP, "3fa9c1", Scope.DECODE)) == "L7.mlp_out=mean:3fa9c1@decode"
    assert str(Resample(MLP, "3fa9c1")) == "L7.mlp_out=resample:3fa9c1"
    assert str(Patch(MLP, "3fa9c1", Scope.PROMPT)) == "L7.mlp_out=patch:3fa9c1@prompt"
    assert str(silence(7, expert=3)) == "L7.mlp_out.expert3*0"
    assert len({Mean(MLP, "ab"), Resample(MLP, "ab"), Patch(MLP, "ab")}) == 3


def test_points_and_sites_are_in_forward_order() -> None:
    assert [str(point) for point in Point] == ["resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post"]
    forward = [Site(layer, point) for layer in (2, 10) for point in Point]
    backward = forward[::-1]
    assert sorted(backward, key=lambda site: site.order) == forward


@pytest.mark.parametrize(
    "line",
    [
        *("", "7.mlp_out", "L7", "L7.mlp", "L-1.mlp_out", "Lx.mlp_out", "L7.mlp_out.x", "l7.mlp_out"),
        *("L7.mlp_out.expert", "L7.mlp_out.expert-1", "L7.mlp_out.expert3.expert4"),
    ],
)
def test_a_line_that_is_no_site_is_refused_with_an_example(line: str) -> None:
    with pytest.raises(BadWord, match=r"is not a site.*'L7\.mlp_out'.*resid_pre.*resid_post") as caught:
        Site.parse(line)
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", r"is not an intervention.*'L7\.mlp_out\*0'.*mean:3fa9c1"),
        ("L7.mlp_out", r"is not an intervention.*'L7\.mlp_out\*0'"),
        ("L7.mlp_out*", "is not an intervention"),
        ("L7.mlp_out=median:3f", "is not an intervention"),
        ("L7.mlp_out*0@sideways", "'sideways' is not a scope.*prompt, decode, both"),
        ("L7.mlp_out*zero", "'zero' in .* is not a number"),
        ("L7.mlp_out*nan", r"factor of L7\.mlp_out must be a finite number"),
        ("L7.mlp_out*-inf", "must be a finite number"),
        ("L7.mlp*0", "is not a site"),
        ("L7.resid_mid*0", r"not on L7\.resid_mid\. Use one of: attn_out, mlp_out"),
        ("L7.mlp_out.expert3=mean:3f", r"scaled, not replaced.*L7\.mlp_out\.expert3"),
        ("L7.attn_out.expert3*0", "Only an MLP has experts"),
        ("L7.mlp_out=mean:3F", "reference key is made of digits and small letters"),
    ],
)
def test_a_line_that_is_no_intervention_is_refused_with_what_to_write(line: str, says: str) -> None:
    with pytest.raises(BadWord, match=says):
        parse_intervention(line)


def test_words_that_mean_nothing_cannot_be_made() -> None:
    with pytest.raises(BadWord, match="counted from 0, got -1"):
        Site(-1, Point.MLP_OUT)
    for expert in (-1, 0.5):
        with pytest.raises(BadWord, match=f"expert is counted from 0 in whole numbers, got {expert}"):
            Site(0, Point.MLP_OUT, expert)  # pyright: ignore[reportArgumentType]
    half: Any = 1.5
    with pytest.raises(BadWord, match=r"whole number, got 1\.5"):
        Site(half, Point.MLP_OUT)
    with pytest.raises(BadWord, match="contribution to the residual stream"):
        Mean(Site(0, Point.RESID_POST), "ab")
    unknown: Any = "sideways"
    for make in (lambda: silence(1, unknown), lambda: Mean(MLP, "ab", unknown)):
        with pytest.raises(BadWord, match=r"'sideways' is not a scope\. Use one of: prompt, decode, both"):
            make()
    with pytest.raises(BadInput, match=r"no template 'sideways'\. Use one of: chat, plain"):
        Prompt(template=unknown)
    for broken in (Prompt(), Prompt(examples=(("1+1?", "2"),))):
        with pytest.raises(BadInput, match="not valid Unicode"):
            replace(broken, system="a\udcffb")
    with pytest.raises(BadInput, match="not valid Unicode"):
        Prompt(examples=(("1+1?", "\ud800"),))
    with pytest.raises(BadInput, match="max_new_tokens=0"):
        Decoding(0)
    with pytest.raises(BadInput, match="empty stop string"):
        Decoding(stop=("\n", ""))


def test_words_are_frozen_and_hashable() -> None:
    words = [MLP, silence(7), Mean(MLP, "ab"), Prompt(), Decoding(), Procedure(), Verdict(Outcome.RIGHT)]
    assert len(set(words)) == len(words)
    for word in words:
        with pytest.raises(FrozenInstanceError):
            setattr(word, next(iter(vars(word))), None)


@given(procedures)
def test_a_procedure_is_read_back_from_json(procedure: Procedure) -> None:
    back = Procedure.from_json(through_json(procedure.to_json()))
    assert (back.prompt, back.decoding) == (procedure.prompt, procedure.decoding)
    assert sorted(map(str, back.interventions)) == sorted(map(str, procedure.interventions))
    assert back.key == procedure.key
    assert hash(back.prompt) == hash(procedure.prompt)


@given(procedures, st.randoms(use_true_random=False))
def test_the_key_does_not_depend_on_the_order_of_interventions(procedure: Procedure, random: Any) -> None:
    shuffled = list(procedure.interventions)
    random.shuffle(shuffled)
    assert replace(procedure, interventions=tuple(shuffled)).key == procedure.key


EXAMPLE = Procedure(
    Prompt("You answer questions.", (("What is 1 + 1?", "2"),), "The answer is ", Template.PLAIN),
    Decoding(8, ("\n",)),
    (Scale(MLP, 0.5, Scope.PROMPT), Mean(Site(3, Point.ATTN_OUT), "3fa9c1")),
)


def test_the_key_changes_with_each_field() -> None:
    prompt, decoding, (scale, mean) = EXAMPLE.prompt, EXAMPLE.decoding, EXAMPLE.interventions
    others = [
        EXAMPLE,
        *(
            replace(EXAMPLE, prompt=replace(prompt, **change))
            for change in (
                {"system": None},
                {"system": ""},
                {"examples": ()},
                {"examples": (("What is 1 + 1?", "3"),)},
                {"examples": (("What is 1 + 2?", "2"),)},
                {"examples": prompt.examples * 2},
                {"answer_prefix": "The answer is"},
                {"template": Template.CHAT},
            )
        ),
        replace(EXAMPLE, decoding=replace(decoding, max_new_tokens=9)),
        replace(EXAMPLE, decoding=replace(decoding, stop=())),
        replace(EXAMPLE, decoding=replace(decoding, stop=("\n", "."))),
        *(
            replace(EXAMPLE, interventions=edits)
            for edits in (
                (),
                (scale,),
                (replace(scale, factor=0.25), mean),
                (replace(scale, scope=Scope.DECODE), mean),
                (replace(scale, site=Site(8, Point.MLP_OUT)), mean),
                (replace(scale, site=Site(7, Point.ATTN_OUT)), mean),
                (scale, replace(mean, reference="3fa9c2")),
                (scale, mean, mean),
            )
        ),
    ]
    keys = [procedure.key for procedure in others]
    assert len(set(keys)) == len(keys)


def test_keys_are_those_that_old_runs_have_stored() -> None:
    assert EXAMPLE.key == "94cb8631f127d6b6"
    assert Procedure().key == "44136fa355b3678a"
    assert Procedure().to_json() == {}
    assert content_key({"b": [1, "é"], "a": None}) == "f8f17faab95c0248"
    question = Question("q1", "Which is smaller, 3 or 8?", Kind.NUMBER, ("3",), candidates=("3", "8"))
    assert question.hash == "6c9968dde305c724"
    assert FailureSet("wrong", 1, ("a", "b"), ("c",), 2, 5, 7).hash == "0055c339634ab701"
    assert draw_seed(1, "silencing", "q1", 3) == 2239416247115373698


@given(st.integers(), ids, ids, st.integers(0, 99))
def test_a_draw_seed_fits_into_63_bits(seed: int, probe: str, question: str, draw: int) -> None:
    assert 0 <= draw_seed(seed, probe, question, draw) < 2**63


@given(questions)
def test_a_question_is_read_back_from_json(question: Question) -> None:
    back = Question.from_json(through_json(question.to_json()))
    assert back == question
    assert back.hash == question.hash


@given(questions, texts.filter(bool))
def test_a_question_hash_knows_every_field_but_the_id(question: Question, more: str) -> None:
    assert replace(question, id=question.id + more).hash == question.hash
    others = [
        replace(question, text=question.text + more),
        replace(question, gold=(*question.gold, more)),
        replace(question, choices=(*question.choices, more)),
        replace(question, labels=(*question.labels, more)),
        replace(question, candidates=(*question.candidates, more)),
        replace(question, subject=question.subject + more),
        *(replace(question, kind=kind) for kind in Kind if kind is not question.kind),
    ]
    assert question.hash not in {other.hash for other in others}


@given(attempts)
def test_an_attempt_is_read_back_from_json(attempt: Attempt) -> None:
    back = Attempt.from_json(through_json(attempt.to_json()))
    assert back == attempt
    assert back.key == (attempt.probe, attempt.question, attempt.draw)
    assert isinstance(back.outcome, Outcome)
    assert back.reason is None or isinstance(back.reason, Reason)
    assert hash(back) == hash(attempt)


def test_only_right_is_right() -> None:
    assert [Verdict(outcome).right for outcome in Outcome] == [True, False, False]


@given(failure_sets)
def test_a_failure_set_is_read_back_from_json(failures: FailureSet) -> None:
    value = through_json(failures.to_json())
    back = FailureSet.from_json(value)
    assert back == failures
    assert value["hash"] == back.hash
    assert [frozenset(half) for half in value["halves"]] == list(back.halves)


@given(failure_sets)
def test_halves_split_failures_and_successes_evenly(failures: FailureSet) -> None:
    only = replace(failures, successes=tuple(i for i in failures.successes if i not in failures.failures))
    first, second = only.halves
    assert not first & second
    assert first | second == {*only.failures, *only.successes}
    for chosen in (only.failures, only.successes):
        assert len(second & {*chosen}) - len(first & {*chosen}) in (0, 1)


@given(failure_sets, st.integers(0, 2**31))
def test_a_failure_set_hash_knows_every_field(failures: FailureSet, seed: int) -> None:
    others = [
        replace(failures, rule=failures.rule + "x"),
        replace(failures, failures=(*failures.failures, "new")),
        replace(failures, successes=(*failures.successes, "new")),
        replace(failures, n_failures=failures.n_failures + 1),
        replace(failures, n_successes=failures.n_successes + 1),
        replace(failures, n_questions=failures.n_questions + 1),
        *([replace(failures, seed=seed)] if seed != failures.seed else []),
    ]
    assert len({failures.hash, *(other.hash for other in others)}) == len(others) + 1


@given(st.lists(ids, unique=True, max_size=9), st.integers(0, 9), st.randoms(use_true_random=False))
def test_a_seeded_order_is_the_same_whatever_order_comes_in(order: list[str], seed: int, random: Any) -> None:
    shuffled = random.sample(order, len(order))
    assert seeded_order(shuffled, seed) == seeded_order(order, seed)
    assert sorted(seeded_order(order, seed)) == sorted(order)


def test_importing_words_and_the_package_loads_nothing_heavy() -> None:
    program = f"import sys, interp, {', '.join(f'interp.{word}' for word in WORDS)}\n" + (
        "heavy = ('numpy', 'torch', 'transformers', 'polars', 'plotly', 'scipy', 'rich', 'typer')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_public_names_are_sorted_and_there() -> None:
    assert interp.__all__ == sorted(set(interp.__all__))
    for name in interp.__all__:
        assert getattr(interp, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'localise'"):
        _ = interp.localise
