"""Each probe: what it proposes, in which order, and that it depends on nothing but its arguments."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.errors import BadInput, QuestionTooLong, Unsupported
from interp.intervention import Mean, Scale, Scope, silence
from interp.models.scripted import Scripted
from interp.probes.deployed import Deployed
from interp.probes.load import Setting, load_probe
from interp.probes.probe import Draw
from interp.probes.replay import Replay
from interp.probes.sampling import Sampling
from interp.probes.silencing import Silencing
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.question import Attempt, Kind, Outcome, Question
from interp.site import Point, Site

PROCEDURE = Procedure(Prompt(answer_prefix="The answer is "), Decoding(max_new_tokens=8, stop=("\n",)))
QUESTIONS = tuple(Question(f"q{i}", f"What is {i}?", Kind.NUMBER, (str(i),)) for i in range(6))
ROW = Attempt("q0", "", "", 0, "", (), 0, "", "", (), "stop", Outcome.RIGHT, None, "0", None, "", 1, 1)


def test_deployed_asks_every_question_once_in_order() -> None:
    probe = Deployed(PROCEDURE)
    assert probe.propose(QUESTIONS, ()) == [Draw(f"q{i}", 0, PROCEDURE) for i in range(6)]
    assert probe.propose(QUESTIONS, [ROW]) == []
    assert (probe.name, probe.sees_verdicts) == ("deployed", False)


def test_silencing_sets_a_control_before_its_blocks() -> None:
    probe = Silencing(PROCEDURE, 3, ("q4", "q1"), scope=Scope.DECODE)
    draws = probe.propose(QUESTIONS, ())
    assert [(draw.question, draw.draw) for draw in draws] == [(q, d) for q in ("q4", "q1") for d in range(4)]
    assert draws[0].procedure == draws[4].procedure == PROCEDURE
    for draw in draws:
        words = draw.procedure.interventions
        assert words == (() if draw.draw == 0 else (silence(draw.draw - 1, Scope.DECODE),))
        assert replace(draw.procedure, interventions=()) == PROCEDURE
    assert probe.propose(QUESTIONS, [ROW]) == []
    assert (probe.name, probe.sees_verdicts, probe.n_draws) == ("silencing", False, 4)


def test_a_mean_ablation_names_its_reference_set() -> None:
    probe = Silencing(PROCEDURE, 2, ("q0",), "mean", Scope.PROMPT, "3fa9c1")
    mean = Mean(Site(1, Point.MLP_OUT), "3fa9c1", Scope.PROMPT)
    assert probe.propose(QUESTIONS, ())[2].procedure.interventions == (mean,)


def test_an_ablation_is_added_to_what_the_procedure_does() -> None:
    attention = Scale(Site(0, Point.ATTN_OUT), 0.5)
    probe = Silencing(replace(PROCEDURE, interventions=(attention,)), 1, ("q0",))
    control, silenced = probe.propose(QUESTIONS, ())
    assert control.procedure.interventions == (attention,)
    assert silenced.procedure.interventions == (attention, silence(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_layers": 0}, "at least one MLP block"),
        ({"ablation": "mean"}, "reference"),
        ({"reference": "3fa9c1"}, "reference"),
        ({"ablation": "noise"}, "Known: mean, zero"),
    ],
)
def test_a_sweep_without_meaning_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Silencing(**({"procedure": PROCEDURE, "n_layers": 2, "questions": ("q0",)} | arguments))


def test_a_question_that_the_task_lacks_is_named() -> None:
    with pytest.raises(BadInput, match="'q9'"):
        Silencing(PROCEDURE, 2, ("q0", "q9")).propose(QUESTIONS, ())


@given(st.lists(st.sampled_from([q.id for q in QUESTIONS]), unique=True), st.integers(1, 12))
def test_no_draw_is_proposed_twice_and_every_procedure_differs(ids: list[str], n_layers: int) -> None:
    probe = Silencing(PROCEDURE, n_layers, tuple(ids))
    draws = probe.propose(QUESTIONS, ())
    assert draws == replace(probe).propose(QUESTIONS[::-1], ())
    assert len({(draw.question, draw.draw) for draw in draws}) == len(draws) == len(ids) * (n_layers + 1)
    assert len({draw.procedure.key for draw in draws}) == (n_layers + 1 if ids else 0)


def test_the_scripted_model_answers_as_a_model_does() -> None:
    texts = {"a": "12\nQuestion", "b": "1234567", "c": "12345678"}
    model = Scripted(lambda text, _, seed: texts[text] if seed else "", n_layers=5)
    done = list(model.generate([Request(text, PROCEDURE, 1) for text in texts]))
    assert [completion.text for completion in done] == ["12", "1234567", "12345678"]
    assert [completion.finish for completion in done] == ["stop", "stop", "length"]
    assert [len(completion.tokens) for completion in done] == [3, 8, 8]
    assert done[0].prompt == model.render("a", PROCEDURE.prompt)
    assert done[0].prompt.text == "Question: a\nAnswer: The answer is "
    assert done[2].n_layer_tokens == 5 * (len(done[2].prompt.tokens) + 8)
    assert done[1].tokens[:7] == model.encode_answer(done[1].prompt, "1234567")
    assert [model.decode(completion.tokens) for completion in done] == ["12", "1234567", "12345678"]
    assert not model.has_chat_template
    assert next(model.generate([Request("a", PROCEDURE)])).text == ""
    assert (len(model.batches), model.n_answers) == (2, 4)


def test_the_scripted_model_shows_examples_and_system_text() -> None:
    prompt = Prompt(system="Be short.", examples=(("1 + 1", "2"),))
    text = Scripted(lambda *_: "").render("2 + 2", prompt).text
    assert text == "Be short.\nQuestion: 1 + 1\nAnswer: 2\nQuestion: 2 + 2\nAnswer: "


def test_the_scripted_model_refuses_what_it_cannot_do() -> None:
    model = Scripted(lambda *_: "", n_layers=2, n_context=60, fail_at=2)
    model.check_procedure(["short"], replace(PROCEDURE, interventions=(silence(1),)))
    with pytest.raises(Unsupported, match=r"L2\.mlp_out"):
        model.check_procedure(["short"], replace(PROCEDURE, interventions=(silence(2),)))
    with pytest.raises(QuestionTooLong):
        model.check_procedure(["short", "long " * 9], PROCEDURE)
    for call in (model.forward, model.head, model.readout):
        with pytest.raises(Unsupported, match="only generates"):
            call((1, 2))
    answers = model.generate([Request("a", PROCEDURE)] * 3)
    next(answers)
    with pytest.raises(RuntimeError, match="answer 2"):
        next(answers)


def test_sampling_goes_round_by_round_and_more_draws_add_rounds() -> None:
    procedure = replace(PROCEDURE, decoding=replace(PROCEDURE.decoding, temperature=0.8))
    few, more = (Sampling(procedure, n).propose(QUESTIONS, ()) for n in (2, 5))
    assert [(draw.question, draw.draw) for draw in few] == [(f"q{i}", d) for d in range(2) for i in range(6)]
    assert more[: len(few)] == few
    assert {draw.procedure for draw in more} == {procedure}
    assert Sampling(procedure, 2).propose(QUESTIONS, [ROW]) == []
    assert (Sampling(procedure, 2).name, Sampling(procedure, 2).sees_verdicts) == ("sampling", False)


def test_sampling_needs_a_budget_and_a_temperature() -> None:
    procedure = replace(PROCEDURE, decoding=replace(PROCEDURE.decoding, temperature=0.8))
    with pytest.raises(BadInput, match="at least one draw, got n_draws=0"):
        Sampling(procedure, 0)
    with pytest.raises(BadInput, match=r"same answer each time.*temperature=0\.8"):
        Sampling(PROCEDURE, 4)


def test_a_deployment_that_is_sampled_is_asked_in_rounds() -> None:
    draws = Deployed(PROCEDURE, 2).propose(QUESTIONS[:2], ())
    assert [(draw.question, draw.draw) for draw in draws] == [("q0", 0), ("q1", 0), ("q0", 1), ("q1", 1)]


def test_a_replay_tries_hits_until_one_holds_from_the_last_question_on() -> None:
    other = replace(PROCEDURE, interventions=(silence(1),))
    probe = Replay("sampling", {"q0": (2, 5), "q2": (1,)}, {"q0": (PROCEDURE, other), "q2": (PROCEDURE,)})
    first = probe.propose(QUESTIONS, ())
    assert first == [Draw("q2", 1, PROCEDURE, "sampling"), Draw("q0", 2, PROCEDURE, "sampling")]
    missed = replace(ROW, question="q0", draw=2, outcome=Outcome.WRONG)
    held = replace(ROW, question="q2", draw=1)
    assert probe.propose(QUESTIONS, [held, missed]) == [Draw("q0", 5, other, "sampling")]
    assert probe.propose(QUESTIONS, [held, missed, replace(missed, draw=5)]) == []
    assert (probe.name, probe.sees_verdicts) == ("replay sampling", True)


SETTING = Setting(PROCEDURE, 3, tuple(question.id for question in QUESTIONS))


def test_a_line_names_a_probe_its_budget_and_its_settings() -> None:
    probe, note = load_probe("sampling:8", SETTING)
    assert probe == Sampling(
        replace(PROCEDURE, decoding=replace(PROCEDURE.decoding, temperature=0.6, top_p=0.95)), 8
    )
    assert (note.name, note.budget, note.exchangeable) == ("sampling", 8, True)
    probe, note = load_probe(" sampling: 4 , temperature=1, top_p = 1", SETTING)
    assert (note.name, note.line) == (
        "sampling:temperature=1,top_p=1",
        "sampling: 4 , temperature=1, top_p = 1",
    )
    assert probe.name == note.name
    again = load_probe(note.line, SETTING)
    assert again == (probe, note)
    probe, note = load_probe("silencing:scope=decode", SETTING)
    assert probe.propose(QUESTIONS, ())[1].procedure.interventions == (silence(0, Scope.DECODE),)
    assert (note.name, note.n_draws, note.budget) == ("silencing:scope=decode", 4, 3)


def test_a_probe_of_a_sampled_deployment_draws_as_it_does() -> None:
    deployed = replace(PROCEDURE, decoding=replace(PROCEDURE.decoding, temperature=0.9, top_k=40))
    probe, note = load_probe("sampling:2", replace(SETTING, procedure=deployed))
    assert (probe, note.name) == (Sampling(deployed, 2), "sampling")
