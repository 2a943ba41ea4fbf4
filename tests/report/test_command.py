"""The command on the page makes the same run again."""

from __future__ import annotations

import shlex
from dataclasses import replace

from interp.jobs.localizing import LocalizePlan
from interp.report.command import command_of
from interp.tasks.load import load_task


def plan_of(task, asked=None, rule="wrong"):
    asked = asked or LocalizePlan()
    return {
        "verb": "localize",
        "model": {"name": "smollm2"},
        "task": {"name": task.name, "n_questions": len(task.questions)},
        "procedure": {"key": task.procedure.key, **task.procedure.to_json()},
        "failures": rule,
        "scope": str(asked.scope),
        "ablation": asked.ablation,
        "seed": asked.seed,
        "max_failures": asked.max_failures,
        "max_successes": asked.max_successes,
    }


def test_defaults_are_left_out():
    task = load_task("comparison", n=40)
    assert command_of(plan_of(task), "runs/a b") == (
        "interp localize smollm2 --task comparison --out 'runs/a b' --n 40"
    )


def test_what_differs_is_named():
    task = load_task("capitals", n=10)
    task = task.with_prompt(replace(task.prompt, system="Be brief.", examples=(("1+1?", "2"),)))
    asked = LocalizePlan(scope="prompt", ablation="mean", seed=3, max_failures=None, max_successes=9)
    words = shlex.split(command_of(plan_of(task, asked, rule=["a", "b"]), "out"))
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options == {
        "--task": "capitals",
        "--out": "out",
        "--n": "10",
        "--failures": "FILE",
        "--scope": "prompt",
        "--ablation": "mean",
        "--max-failures": "0",
        "--max-successes": "9",
        "--seed": "3",
        "--system": "Be brief.",
        "--examples": "FILE",
    }


def test_a_file_is_read_whole(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("question,gold\n1+1?,2\n2+2?,4\n")
    task = load_task(str(path))
    assert command_of(plan_of(task), "out") == f"interp localize smollm2 --task {path} --out out"
