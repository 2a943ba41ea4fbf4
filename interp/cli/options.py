"""Options that several commands share, and how they change a task."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interp.errors import BadInput

if TYPE_CHECKING:
    from interp.tasks.task import Task

Dtype = Annotated[str, typer.Option(help="float32, bfloat16 or float16")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1; a GPU if there is one")]
Download = Annotated[bool, typer.Option(help="allow fetching the model, or a benchmark, from the hub")]
Strict = Annotated[bool, typer.Option(help="stop at a bad row of a question file")]
AllowPickle = Annotated[bool, typer.Option(help="accept pickled weights, which can run code")]
TrustRemoteCode = Annotated[bool, typer.Option(help="run code that comes with the model")]


def asked_task(line: str, *, n: int | None, seed: int, download: bool, strict: bool, **prompt: Any) -> Task:
    """The task that the command line names, with its prompt; tells what a reader of it must know."""
    from interp.tasks.load import load_task

    task = load_task(line, n=n, seed=seed, download=download, strict=strict)
    for warning in task.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    return _with_prompt(task, **prompt)


def _with_prompt(
    task: Task, system: str | None, answer_prefix: str | None, template: str | None, examples: Path | None
) -> Task:
    """The task with the parts of its prompt that the command line names."""
    from interp.procedure import Template
    from interp.tasks.files import load_questions

    changes: dict[str, Any] = {}
    if system is not None:
        changes["system"] = system or None
    if answer_prefix is not None:
        changes["answer_prefix"] = answer_prefix
    if template is not None:
        changes["template"] = Template(one_of("--template", template, list(Template)))
    if examples is not None:
        changes["examples"] = tuple((q.text, q.gold[0]) for q in load_questions(examples))
        asked = {question.text for question in task.questions}
        shown = [text for text, _ in changes["examples"] if text in asked]
        if shown:
            raise BadInput(f"The example {shown[0][:60]!r} of {examples} is also a question of the task.")
    return task.with_prompt(replace(task.prompt, **changes)) if changes else task


def one_of(option: str, value: str, known: Sequence[str]) -> Any:
    """The value of an option, if it is a known one."""
    if value not in known:
        raise BadInput(f"{option} is one of {', '.join(known)}, not {value!r}.")
    return value
