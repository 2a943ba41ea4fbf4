"""The command line that makes a run again, from its plan."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from interp.procedure import Procedure
from interp.tasks.load import BENCHMARKS, TASKS
from interp.tasks.task import ASKED, LONG_LINE


def command_of(plan: Mapping[str, Any], out: str) -> str:
    """The command that makes a run with this plan, as far as a command line can say it.

    A failure file and a file of examples are not named by the plan, which holds what they said.
    """
    task, procedure = plan["task"], plan["procedure"]
    words = ["interp", "localize", plan["model"]["name"], "--task", task["name"], "--out", out]
    name = task["name"].partition(":")[0]
    known = TASKS.get(name) or BENCHMARKS.get(name)
    if known is not None:
        words += ["--n", str(task["n_questions"])]
    default = Procedure(known.prompt, known.decoding) if known is not None else Procedure(ASKED, LONG_LINE)
    asked = Procedure.from_json(procedure)
    options = {
        "--failures": (plan["failures"] if isinstance(plan["failures"], str) else "FILE", "wrong"),
        "--scope": (plan["scope"], "both"),
        "--ablation": (plan["ablation"], "zero"),
        "--max-failures": (plan["max_failures"] or 0, 48),
        "--max-successes": (plan["max_successes"] or 0, 0),
        "--seed": (plan["seed"], 0),
        "--system": (asked.prompt.system or "", default.prompt.system or ""),
        "--answer-prefix": (asked.prompt.answer_prefix, default.prompt.answer_prefix),
        "--template": (asked.prompt.template, default.prompt.template),
        "--max-new-tokens": (asked.decoding.max_new_tokens, default.decoding.max_new_tokens),
    }
    for option, (value, usual) in options.items():
        if value != usual:
            words += [option, str(value)]
    if asked.prompt.examples and name not in BENCHMARKS:
        words += ["--examples", "FILE"]
    return shlex.join(words)
