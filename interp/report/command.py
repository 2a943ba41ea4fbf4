"""The command line that makes a run again, from its plan."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from interp.procedure import Procedure
from interp.tasks.benchmarks.benchmark import Benchmark
from interp.tasks.family import Family
from interp.tasks.load import BENCHMARKS, TASKS
from interp.tasks.task import ASKED, LONG_LINE


def command_of(plan: Mapping[str, Any], out: str, probes: Sequence[str] = ()) -> str:
    """The command that makes a run with this plan, as far as a command line can say it.

    A failure file and a file of examples are not named by the plan, which holds what they said.

    Args:
        plan: The run's plan.
        out: The directory.
        probes: The probes' lines, of an audit.
    """
    if "source" in plan:
        return shlex.join(["interp", "import", plan["source"], *plan["files"], "--out", out])
    task = plan["task"]
    words = ["interp", plan["verb"], plan["model"]["name"], "--task", task["name"], "--out", out]
    name = task["name"].partition(":")[0]
    known = TASKS.get(name) or BENCHMARKS.get(name)
    if known is not None:
        words += ["--n", str(task["n_questions"])]
    for probe in probes:
        words += ["--probe", probe]
    own = _localize_options(plan) if plan["verb"] == "localize" else _audit_options(plan)
    for option, (value, usual) in {**own, **_asked_options(plan, known)}.items():
        if value != usual:
            words += [option, str(value)]
    asked = Procedure.from_json(plan["procedure"])
    for edit in asked.interventions:
        words += ["--edit", str(edit)]
    if asked.prompt.examples and name not in BENCHMARKS:
        words += ["--examples", "FILE"]
    return shlex.join(words)


def _localize_options(plan: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        "--failures": (plan["failures"] if isinstance(plan["failures"], str) else "FILE", "wrong"),
        "--scope": (plan["scope"], "both"),
        "--ablation": (plan["ablation"], "zero"),
        "--max-failures": (plan["max_failures"] or 0, 48),
        "--max-successes": (plan["max_successes"] or 0, 0),
    }


def _audit_options(plan: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    rule, decoding = plan["deployed"], Procedure.from_json(plan["procedure"]).decoding
    line = rule["rule"] if rule["n_draws"] == 1 else f"{rule['rule']}:{rule['n_draws']}"
    return {
        "--rule": (line, "first"),
        "--clusters": (plan["clusters"], "auto"),
        "--temperature": (decoding.temperature, 0.0),
        "--top-p": (decoding.top_p, 1.0),
        "--top-k": (decoding.top_k, 0),
        "--min-p": (decoding.min_p, 0.0),
    }


def _asked_options(plan: Mapping[str, Any], known: Family | Benchmark | None) -> dict[str, tuple[Any, Any]]:
    default = Procedure(known.prompt, known.decoding) if known is not None else Procedure(ASKED, LONG_LINE)
    asked = Procedure.from_json(plan["procedure"])
    return {
        "--seed": (plan["seed"], 0),
        "--system": (asked.prompt.system or "", default.prompt.system or ""),
        "--answer-prefix": (asked.prompt.answer_prefix, default.prompt.answer_prefix),
        "--template": (asked.prompt.template, default.prompt.template),
        "--max-new-tokens": (asked.decoding.max_new_tokens, default.decoding.max_new_tokens),
    }
