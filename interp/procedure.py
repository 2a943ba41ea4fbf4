"""How a question is asked: prompt, decoding, interventions; together a `Procedure` with a content key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from interp.errors import BadInput
from interp.intervention import Intervention, parse_intervention


class Template(StrEnum):
    """How a question becomes a prompt."""

    CHAT = "chat"
    PLAIN = "plain"


@dataclass(frozen=True)
class Prompt:
    """What stands around a question.

    Attributes:
        system: The system text; None leaves it to the template.
        examples: Few-shot pairs (question, answer), shown as earlier turns.
        answer_prefix: Text with which the answer is begun for the model ("The answer is ").
        template: The model's chat template, or plain text with "Question:" and "Answer:".
    """

    system: str | None = None
    examples: tuple[tuple[str, str], ...] = ()
    answer_prefix: str = ""
    template: Template = Template.CHAT

    def __post_init__(self) -> None:
        """Refuses an unknown template and texts that are not valid Unicode.

        Raises:
            BadInput: There is no such template, or a text holds half of a surrogate pair.
        """
        for text in (self.system or "", self.answer_prefix, *(t for pair in self.examples for t in pair)):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise BadInput(f"The prompt text {text[:40]!r} is not valid Unicode. Write it in UTF-8.")
        if self.template not in set(Template):
            raise BadInput(f"There is no template {self.template!r}. Use one of: {', '.join(Template)}.")


@dataclass(frozen=True)
class Decoding:
    """How an answer is read off the model: greedy, up to a stop.

    Attributes:
        max_new_tokens: Longest answer in tokens; the token that ends it counts.
        stop: Strings that end the answer; the text is cut before the first of them.
    """

    max_new_tokens: int = 32
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuses an answer without tokens and an empty stop string.

        Raises:
            BadInput: `max_new_tokens` is below 1, or a stop string is empty.
        """
        if self.max_new_tokens < 1:
            raise BadInput(f"An answer needs at least one token, got max_new_tokens={self.max_new_tokens}.")
        if "" in self.stop:
            raise BadInput("An empty stop string would end every answer at once; leave it out.")


@dataclass(frozen=True)
class Procedure:
    """Everything but the question and the model that decides an answer."""

    prompt: Prompt = field(default_factory=Prompt)
    decoding: Decoding = field(default_factory=Decoding)
    interventions: tuple[Intervention, ...] = ()

    @property
    def key(self) -> str:
        """Hash of the canonical JSON: 16 hexadecimal digits.

        The order in which interventions are written does not matter.
        """
        return content_key(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value; fields at their default are left out, so that later fields keep old keys."""
        return _plain(self) | (
            {"interventions": sorted(map(str, self.interventions))} if self.interventions else {}
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Procedure:
        """Inverse of `to_json`."""
        prompt = dict(value.get("prompt", {}))
        if "examples" in prompt:
            prompt["examples"] = tuple((question, answer) for question, answer in prompt["examples"])
        if "template" in prompt:
            prompt["template"] = Template(prompt["template"])
        decoding = dict(value.get("decoding", {}))
        if "stop" in decoding:
            decoding["stop"] = tuple(decoding["stop"])
        return cls(
            Prompt(**prompt),
            Decoding(**decoding),
            tuple(parse_intervention(line) for line in value.get("interventions", ())),
        )


@dataclass(frozen=True)
class Request:
    """One answer asked of a model.

    Attributes:
        text: The question's text, before it is rendered into a prompt.
        procedure: How it is asked.
        seed: Seed of this draw; greedy decoding does not use it.
    """

    text: str
    procedure: Procedure
    seed: int = 0


def content_key(value: object) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a JSON value in canonical form."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def draw_seed(run_seed: int, probe: str, question: str, draw: int) -> int:
    """Seed of one draw: a hash of its names, so it depends on no order and no batch. Below 2**63."""
    digest = hashlib.sha256(f"{run_seed}\x00{probe}\x00{question}\x00{draw}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _plain(word: Any) -> dict[str, Any]:
    """A frozen word as JSON, without the fields that are at their default."""
    default = type(word)()
    plain: dict[str, Any] = {}
    for f in fields(word):
        value = getattr(word, f.name)
        if value != getattr(default, f.name):
            plain[f.name] = _plain(value) if is_dataclass(value) else value
    return plain
