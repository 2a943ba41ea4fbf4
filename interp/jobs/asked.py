"""What every job notes of the model and the task that it is given."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interp.procedure import Procedure, Template
from interp.tasks.task import Task

if TYPE_CHECKING:
    from interp.models.model import Model

PACKAGES = ("interp", "numpy", "polars", "tokenizers", "torch", "transformers")
N_ROWS = 256
"""Rows that a batch aims at."""


def whole_batch(n_layers: int) -> int:
    """About `N_ROWS` rows: as many whole questions, each with its control and blocks, as fit."""
    return max(1, N_ROWS // (n_layers + 1)) * (n_layers + 1)


def askable(model: Model, task: Task) -> tuple[Task, list[str]]:
    """The task as this model can be asked, and what must be said about it."""
    warnings = [*task.warnings]
    if task.prompt.template is Template.CHAT and not model.has_chat_template:
        task = replace(task, prompt=replace(task.prompt, template=Template.PLAIN))
        warnings.append("The tokenizer has no chat template, so questions are asked as plain text.")
    return task, warnings


def asked_record(model: Model, task: Task, procedure: Procedure) -> dict[str, Any]:
    """Model, task and deployed procedure as a plan notes them."""
    return {
        "model": {"name": model.name, "fingerprint": model.fingerprint, "n_layers": model.n_layers},
        "task": {
            "name": task.name,
            "description": task.description,
            "binary": task.binary,
            "n_questions": len(task.questions),
            "hash": task.hash,
            "grader": task.grader,
        },
        "procedure": {"key": procedure.key, **procedure.to_json()},
    }


def environment_of(model: Model) -> dict[str, Any]:
    """Versions of packages, and what else decides the model's numbers."""
    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "packages": packages, "model": dict(model.environment)}
