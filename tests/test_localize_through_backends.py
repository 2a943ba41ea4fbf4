"""`localize` through every backend: the same answers, the same ranking, on tiny models and on SmolLM2."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from interp.intervention import silence
from interp.jobs.localizing import LocalizePlan, localize
from interp.models.load import load
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.question import Kind, Outcome, Question, Verdict
from interp.tasks.load import load_task
from interp.tasks.task import Task

FAMILIES = ("gemma2", "gpt2", "gpt_neox", "llama", "opt", "qwen3")
BACKENDS = ("hooks", "lens", "nnsight")
GUILTY = 2
N_EACH = 8
TEXTS = [f"Which word comes after {a}{b}?" for a in "abcdefghijkl" for b in "mnopqrstuvwxyz"]


class Echo(Task):
    """Grades a completion by equality with the gold answer."""

    def grade(self, question, completion_text, _finish="stop"):
        right = completion_text == question.gold[0]
        return Verdict(Outcome.RIGHT if right else Outcome.WRONG, answer=completion_text)


def task_of(model) -> Task:
    """Questions in turn: one that is right as it is asked, one that is right once a block is silenced."""
    prompt, decoding = Prompt(answer_prefix="It is "), Decoding(4)
    plain, silenced = (
        [
            c.text
            for c in model.generate([Request(text, Procedure(prompt, decoding, edits)) for text in TEXTS])
        ]
        for edits in ((), (silence(GUILTY),))
    )
    questions: list[Question] = []
    for text, before, after in zip(TEXTS, plain, silenced, strict=True):
        gold = after if len(questions) % 2 else before
        if before != after and len(questions) < 2 * N_EACH:
            questions.append(Question(f"q{len(questions):02}", text, Kind.TEXT, (gold,)))
    assert len(questions) == 2 * N_EACH
    return Echo("echo", tuple(questions), prompt, decoding)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_backend_ranks_the_blocks_of_a_tiny_model_alike(family, tmp_path):
    task = task_of(load(f"tiny:{family}"))
    runs = {b: localize(load(f"{b}:tiny:{family}"), task, out=tmp_path / b) for b in BACKENDS}
    reference = runs["hooks"].repair()
    assert reference.row(by_predicate=pl.col("layer") == GUILTY, named=True)["repair"] == 1.0
    assert reference["repair"].n_unique() > 1
    for backend in BACKENDS[1:]:
        assert runs[backend].repair().equals(reference), backend
        assert answers(runs[backend]) == answers(runs["hooks"])
        assert runs[backend].path.joinpath("environment.json").read_text().count(f'"{backend}"') == 1
        found, expected = (run.attribution() for run in (runs[backend], runs["hooks"]))
        assert found.shape == expected.shape
        for column in ("direct", "patching"):
            assert found[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-3, abs=1e-4)


def answers(run) -> list[tuple[str, int, str]]:
    return [(row.question, row.draw, row.text) for row in run.run.attempts]


def test_every_backend_ranks_the_blocks_of_smollm2_alike(tmp_path):
    task = load_task("comparison:ask=smaller,digits=1", n=24)
    task = replace(task, decoding=replace(task.decoding, max_new_tokens=3))
    plan = LocalizePlan(max_failures=3, max_successes=3)
    runs = {b: localize(load(f"{b}:smollm2"), task, out=tmp_path / b, plan=plan) for b in BACKENDS}
    for backend in BACKENDS[1:]:
        assert runs[backend].repair().equals(runs["hooks"].repair()), backend
        assert answers(runs[backend]) == answers(runs["hooks"])
