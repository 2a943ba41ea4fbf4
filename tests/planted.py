"""A tiny model with a known guilty block, and questions whose gold answers are what it says without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from interp.intervention import silence
from interp.procedure import Decoding, Procedure, Prompt, Request, Template
from interp.question import Kind, Question
from interp.tasks.task import Task

if TYPE_CHECKING:
    from interp.models.hooks import HooksModel

TEXTS = [f"Which word comes after {a}{b}?" for a in "abcdefghijkl" for b in "mnopq"]
PROCEDURE = Procedure(Prompt(answer_prefix="It is "), Decoding(1))
CHOICES = tuple(f"the letter {letter}" for letter in "abcdefghijklmnopqrstuvwxyz")


def planted(
    layer: int, *, texts: Sequence[str] = TEXTS, chat_template: bool = True
) -> tuple[HooksModel, Task]:
    """The model and the task; a tokenizer without a chat template is asked in plain text."""
    from interp.models.tiny import plant, tiny

    model, asked = tiny("llama"), PROCEDURE
    if not chat_template:
        model.tokenizer.chat_template = None
        asked = replace(asked, prompt=replace(asked.prompt, template=Template.PLAIN))
    prompts = [model.render(text, asked.prompt).tokens for text in texts]
    model = plant(model, prompts, layer=layer)
    clean = replace(asked, interventions=(silence(layer),))
    answers = [c.text for c in model.generate([Request(text, clean) for text in texts])]
    questions = tuple(
        Question(f"q{i:02}", text, Kind.CHOICE, (answer.upper(),), choices=CHOICES)
        for i, (text, answer) in enumerate(zip(texts, answers, strict=True))
    )
    return model, Task("planted", questions, PROCEDURE.prompt, PROCEDURE.decoding)
