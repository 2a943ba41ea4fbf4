"""The question that a sample of Inspect asks."""

from __future__ import annotations

from typing import Any

from interp.imports.foreign import mapping, objects, question_of, subject_of
from interp.imports.inspect_file import Sample
from interp.question import Question


def read_question(sample: Sample) -> Question:
    """The question of a sample, its options below it.

    Several targets are alternatives. Of options each target must be named, so that several make one gold
    ("A, C") of a text question.

    Raises:
        BadInput: The sample has no input or target, or a long text that it keeps apart is missing.
    """
    target = sample.resolve(sample.get("target"))
    gold = [str(each).strip() for each in (target if isinstance(target, list) else [target])]
    found = sample.resolve(sample.value.get("choices"))
    choices = [str(choice) for choice in found] if isinstance(found, list) else []
    text = _input(sample)
    values: dict[str, Any] = {
        "id": str(sample.get("id")),
        "subject": subject_of(mapping(sample.value.get("metadata"))),
    }
    if not choices:
        return question_of(values | {"text": text, "gold": gold})
    labels = [chr(ord("A") + i) for i in range(len(choices))]
    named = [labels[choices.index(each)] if each in choices and each not in labels else each for each in gold]
    if len(named) == 1 and named[0] in labels:
        return question_of(values | {"question": text, "gold": named, "choices": choices})
    text += "".join(f"\n{label}. {choice}" for label, choice in zip(labels, choices, strict=True))
    return question_of(values | {"text": text, "gold": [", ".join(named)], "kind": "text"})


def text_of(sample: Sample, content: Any) -> str:
    """The text of a message; reasoning, pictures and tool calls are left out.

    Raises:
        BadInput: A long text that the sample keeps apart is missing.
    """
    content = sample.resolve(content)
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in objects(content) if part.get("type") == "text")


def _input(sample: Sample) -> str:
    """What is asked: the input, or the last message of the user in it."""
    found = sample.resolve(sample.get("input"))
    if isinstance(found, str):
        return found.strip()
    users = [message for message in objects(found) if message.get("role") == "user"]
    return text_of(sample, users[-1].get("content")).strip() if users else ""
