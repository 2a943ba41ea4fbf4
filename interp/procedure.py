"""How a question is asked: prompt, decoding, interventions; together a `Procedure` with a content key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from interp.errors import BadInput
from interp.intervention import Intervention, parse_intervention
from interp.route import Route


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
    """How an answer is read off the model: greedy or sampled, up to a stop.

    Attributes:
        max_new_tokens: Longest answer in tokens; the token that ends it counts.
        stop: Strings that end the answer; the text is cut before the first of them.
        temperature: What logits are divided by before a token is drawn; 0 takes the most probable token.
        top_p: Draws from the smallest set of most probable tokens that holds this share; 1 keeps all.
        top_k: Draws from this many most probable tokens; 0 keeps all.
        min_p: Leaves out tokens less probable than this share of the most probable one; 0 keeps all.
    """

    max_new_tokens: int = 32
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0

    @property
    def is_greedy(self) -> bool:
        """Whether each token is the most probable one, so that an answer is the same each time."""
        return self.temperature == 0.0

    def __post_init__(self) -> None:
        """Refuses an answer without tokens, an empty stop string, and settings that no draw can follow.

        Raises:
            BadInput: `max_new_tokens` is below 1, a stop string is empty, a setting of sampling is out of its
                range, or there is a filter and no temperature.
        """
        if self.max_new_tokens < 1:
            raise BadInput(f"An answer needs at least one token, got max_new_tokens={self.max_new_tokens}.")
        if "" in self.stop:
            raise BadInput("An empty stop string would end every answer at once; leave it out.")
        ranges = {
            "temperature": (0.0 <= self.temperature < float("inf"), "a finite number of 0 or more"),
            "top_p": (0.0 < self.top_p <= 1.0, "above 0 and at most 1"),
            "top_k": (self.top_k >= 0 and self.top_k == int(self.top_k), "a whole number of 0 or more"),
            "min_p": (0.0 <= self.min_p <= 1.0, "in 0 to 1"),
        }
        for name, (is_right, wanted) in ranges.items():
            if not is_right:
                raise BadInput(f"{name} is {wanted}, got {getattr(self, name)}.")
        if self.is_greedy and (self.top_p, self.top_k, self.min_p) != (1.0, 0, 0.0):
            raise BadInput("top_p, top_k and min_p act on draws; give a temperature above 0 with them.")


@dataclass(frozen=True)
class Procedure:
    """Everything but the question and the model that decides an answer.

    Attributes:
        prompt: What stands around the question.
        decoding: How the answer is read off the model.
        interventions: What is changed in every pass.
        route: In which order the layers run; None runs each once, in order.
    """

    prompt: Prompt = field(default_factory=Prompt)
    decoding: Decoding = field(default_factory=Decoding)
    interventions: tuple[Intervention, ...] = ()
    route: Route | None = None

    @property
    def key(self) -> str:
        """Hash of the canonical JSON: 16 hexadecimal digits.

        The order in which interventions are written does not matter.
        """
        return content_key(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value; fields at their default are left out, so that later fields keep old keys."""
        plain = _plain(replace(self, interventions=(), route=None))
        if self.interventions:
            plain["interventions"] = sorted(map(str, self.interventions))
        return plain if self.route is None else {**plain, "route": str(self.route)}

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
            Route.parse(value["route"]) if "route" in value else None,
        )


@dataclass(frozen=True)
class Request:
    """One answer asked of a model.

    Attributes:
        text: The question's text, before it is rendered into a prompt.
        procedure: How it is asked.
        seed: Seed of this draw, 0 or more; greedy decoding does not use it.
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
