"""Near ties: the lead of each chosen token in low precision, and the mark on what hangs on rounding."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import interp
from interp.models.load import LoadOptions, load
from interp.models.score import tie_margins
from interp.procedure import Decoding, Procedure, Prompt, Request, Template
from interp.question import NEAR_TIE, Attempt, Outcome
from interp.run import Run

PLAIN = Prompt(template=Template.PLAIN)
ROW = Attempt(
    *("q", "h", "deployed", 0, "p", (), 1, "h", "12", (1, 2), "stop"),
    *(Outcome.RIGHT, None, "12", (0, 2), "g", 3, 4),
)


@given(st.floats(-50, 50), st.floats(0, 30))
def test_a_margin_counts_units_in_the_last_place_of_the_larger_logit(top: float, gap: float) -> None:
    logits = torch.tensor([[top - gap, top, top - gap - 1]]).bfloat16()
    first, second = sorted(logits[0].double().tolist(), reverse=True)[:2]
    largest = max(abs(first), abs(second))
    expected = (first - second) / (2**-7 * largest) if largest else 0.0
    assert tie_margins(logits) == [pytest.approx(expected, abs=1e-4)]


def test_equal_logits_have_no_margin() -> None:
    assert tie_margins(torch.zeros(2, 5).bfloat16()) == [0.0, 0.0]


@pytest.mark.parametrize("backend", ["", "lens:", "nnsight:"])
def test_the_margin_of_an_answer_is_that_of_its_closest_token(backend: str) -> None:
    model = load(f"{backend}tiny:llama", LoadOptions(dtype="bfloat16"))
    request = Request("What is 3?", Procedure(PLAIN, Decoding(max_new_tokens=6)))
    (found,) = model.generate([request])
    logits = model.decoded_logits([found.prompt.tokens], len(found.tokens))[0]
    assert logits.argmax(-1).tolist() == list(found.tokens)
    assert found.tie_margin == min(tie_margins(logits))


def test_only_greedy_answers_in_low_precision_have_a_margin(tiny_model) -> None:
    greedy, drawn = Decoding(max_new_tokens=4), Decoding(max_new_tokens=4, temperature=1.0)
    requests = [Request("What is 3?", Procedure(PLAIN, how)) for how in (greedy, drawn)]
    assert [c.tie_margin for c in tiny_model("llama").generate(requests)] == [None, None]
    low = load("tiny:llama", LoadOptions(dtype="bfloat16"))
    assert [c.tie_margin is None for c in low.generate(requests)] == [False, True]


@pytest.mark.parametrize(
    ("margin", "near"), [(None, False), (0.0, True), (NEAR_TIE, False), (math.nan, False)]
)
def test_a_small_margin_is_a_near_tie(margin: float | None, near: bool) -> None:
    assert dataclasses.replace(ROW, tie_margin=margin).near_tie is near


def test_a_margin_is_in_the_log_where_there_is_one() -> None:
    assert "tie_margin" not in ROW.to_json()
    marked = dataclasses.replace(ROW, tie_margin=1.5)
    assert Attempt.from_json(marked.to_json()) == marked


def test_a_run_says_how_many_answers_hang_on_a_near_tie(tmp_path) -> None:
    model = load("tiny:llama", LoadOptions(dtype="bfloat16"))
    task = interp.load_task("comparison", n=8)
    run = interp.audit(model, task, out=tmp_path / "run", plan=interp.AuditPlan(("sampling:1",)))
    near = run.run.table().filter(run.run.table()["tie_margin"] < NEAR_TIE).height
    assert near == sum(row.near_tie for row in Run.read(tmp_path / "run").attempts)
    said = [warning for warning in run.warnings if "near tie" in warning]
    assert bool(said) == bool(near)
    if near:
        assert said[0].startswith(f"In {near} of {run.table.height} answers a token was chosen by a near tie")
    whole = run.run.warnings(n_near_ties=3, n_rows=9)
    assert "In 3 of 9 answers" in whole[-1]
