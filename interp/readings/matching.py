"""Whether two audits measured the same thing: everything but the model and its edits must match."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from interp.difference import differences, question_differences
from interp.errors import BadInput, RunMismatch, UnknownName
from interp.probes.probe import Probed
from interp.question import Question

NAMES: Mapping[str, str] = {
    "questions": "the questions and their golds",
    "prompt": "system text, examples and answer prefix",
    "template": "chat or plain",
    "rendered": "the prompts as the models read them: the chat template's text and its tokens",
    "decoding": "temperature, filters, longest answer, stop strings",
    "rule": "how draws make one deployed answer",
    "probes": "which probes were run",
    "budget": "draws a question",
    "grader": "version of the grader",
    "clusters": "which questions an interval draws together",
}
"""What must match, by the name that allows it to differ."""


_KNOWN = ("key", "prompt", "decoding", "interventions")
"""Fields of a procedure; an imported one has others, which say how a question was asked."""


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation was, as far as it must match another.

    Attributes:
        name: How it is called: its directory.
        plan: The run's plan.
        questions: The questions, in order.
        probes: Its probes by name.
        prompts: Hash of each question's rendered prompt: `question`, `prompt_hash`.
        grader: Version of the grader whose verdicts are read.
    """

    name: str
    plan: Mapping[str, Any]
    questions: Sequence[Question]
    probes: Mapping[str, Probed]
    prompts: pl.DataFrame
    grader: str


@dataclass(frozen=True)
class Mismatch:
    """One thing in which two evaluations differ.

    Attributes:
        name: What differs; `--allow NAME` accepts it.
        detail: How.
    """

    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


def match(before: Evaluated, after: Evaluated, *, allow: Collection[str] = ()) -> tuple[Mismatch, ...]:
    """Compares two evaluations, and gives the differences that were allowed.

    Args:
        before: The one.
        after: The other.
        allow: Names of what may differ; see `NAMES`.

    Raises:
        RunMismatch: Something else differs; names each difference.
        UnknownName: There is no such name to allow.
        BadInput: The evaluations share no question, so that nothing is paired.
    """
    for name in allow:
        if name not in NAMES:
            raise UnknownName("difference", name, NAMES)
    found = list(_mismatches(before, after))
    refused = [mismatch for mismatch in found if mismatch.name not in allow]
    if refused:
        options = " ".join(f"--allow {name}" for name in dict.fromkeys(m.name for m in refused))
        raise RunMismatch(
            f"{before.name} and {after.name} are not matched, so a difference between them could come from "
            f"that alone: {'; '.join(map(str, refused))}. Make them alike, or accept it with {options}."
        )
    if not {q.id for q in before.questions} & {q.id for q in after.questions}:
        raise BadInput(f"{before.name} and {after.name} share no question, so nothing can be paired.")
    return tuple(found)


def _mismatches(before: Evaluated, after: Evaluated) -> Iterator[Mismatch]:
    yield from _questions(before.questions, after.questions)
    one, other = before.plan["procedure"], after.plan["procedure"]
    prompts = [
        {**procedure.get("prompt", {}), **{k: v for k, v in procedure.items() if k not in _KNOWN}}
        for procedure in (one, other)
    ]
    templates = [prompt.pop("template", "chat") for prompt in prompts]
    yield from _plain("prompt", *prompts)
    yield from _plain("template", {"template": templates[0]}, {"template": templates[1]})
    yield from _rendered(before.prompts, after.prompts)
    yield from _plain("decoding", one.get("decoding", {}), other.get("decoding", {}))
    yield from _plain("rule", before.plan["deployed"], after.plan["deployed"])
    missing = sorted({*before.probes} ^ {*after.probes})
    if missing:
        where = [f"{name} only in {before.name if name in before.probes else after.name}" for name in missing]
        yield Mismatch("probes", ", ".join(where))
    for name in before.probes:
        if name not in after.probes:
            continue
        note, other_note = before.probes[name], after.probes[name]
        if note.n_draws != other_note.n_draws:
            yield Mismatch("budget", f"{name} has {note.budget} attempts, then {other_note.budget}")
    if before.grader != after.grader:
        hint = f"read both by one: interp score {before.name}; interp score {after.name}"
        yield Mismatch("grader", f"was {before.grader}, then {after.grader} ({hint})")
    by = [{"by": plan.get("clusters", "auto")} for plan in (before.plan, after.plan)]
    yield from _plain("clusters", *by)


def _plain(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Mismatch]:
    found = differences(one, other)
    if found:
        yield Mismatch(name, ", ".join(found))


def _questions(one: Sequence[Question], other: Sequence[Question]) -> Iterator[Mismatch]:
    """Questions that only one side has, or that differ; their order does not matter."""
    before, after = ({q.id: q.hash for q in questions} for questions in (one, other))
    if before != after:
        yield Mismatch("questions", ", ".join(question_differences(one, other)))


def _rendered(one: pl.DataFrame, other: pl.DataFrame) -> Iterator[Mismatch]:
    both = one.join(other, on="question", suffix="_after")
    differ = both.filter(pl.col("prompt_hash") != pl.col("prompt_hash_after"))
    if differ.height:
        yield Mismatch(
            "rendered",
            f"{differ.height} of {both.height} prompts differ in text or tokens, such as that of "
            f"{differ['question'][0]!r}",
        )
