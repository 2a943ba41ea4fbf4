"""What is asked and what came back: `Question`, `Verdict`, `TokenScores`, `Attempt`, `FailureSet`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from interp.procedure import content_key


class Kind(StrEnum):
    """How a gold answer is compared."""

    NUMBER = "number"
    CHOICE = "choice"
    TEXT = "text"


@dataclass(frozen=True)
class Question:
    """One question with its gold answer.

    Attributes:
        id: Unique within the task.
        text: What is asked, as the model sees it (choices included).
        kind: How an answer is compared.
        gold: Accepted answers; for a choice, its label.
        choices: Texts of the options of a choice question, in order.
        labels: Labels of the options; A, B, C, ... unless given.
        candidates: The answers that a question names itself, in order ("Which is smaller, 3 or 8?").
            They give the chance floor and show an answer that follows a position, not the question.
        subject: A name for questions of one sort; intervals and splits respect it.
        template: Name of what questions were made from: a template, a passage; intervals draw such
            questions together.
    """

    id: str
    text: str
    kind: Kind
    gold: tuple[str, ...]
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    subject: str = ""
    template: str = ""

    @property
    def hash(self) -> str:
        """Content hash of everything but the id."""
        return content_key({k: v for k, v in self.to_json().items() if k != "id"})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value; empty fields are left out."""
        return {
            k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items() if v not in ((), "")
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Question:
        """Inverse of `to_json`."""
        known: dict[str, Any] = {"text": "", "gold": (), **value, "kind": Kind(value["kind"])}
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in known.items()}
        return cls(**fields)


class Outcome(StrEnum):
    """What a verdict says."""

    RIGHT = "right"
    WRONG = "wrong"
    UNREADABLE = "unreadable"


class Reason(StrEnum):
    """Why an answer is unreadable."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    AMBIGUOUS = "ambiguous"
    NO_ANSWER = "no_answer"
    NOT_OFFERED = "not_offered"
    ERROR = "error"


@dataclass(frozen=True)
class Verdict:
    """How a grader read an answer.

    Attributes:
        outcome: Right, wrong or unreadable.
        reason: Why it is unreadable; None otherwise.
        answer: The answer read, in one canonical spelling ("0.5", "1/3", "B", "paris"); None if unreadable.
        span: Start and end of what was read in the text; None if nothing was.
    """

    outcome: Outcome
    reason: Reason | None = None
    answer: str | None = None
    span: tuple[int, int] | None = None

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.outcome is Outcome.RIGHT


NEAR_TIE = 4.0
"""Units in the last place below which a lead is a near tie.

In bfloat16 the lead of SmolLM2's first token over its second moved by 0.5 (median), 1.4 (0.95 quantile) and
2.2 (largest of 78) between a batch of 12 and one question alone, and tokens changed at leads of up to 1.6.
"""


@dataclass(frozen=True)
class TokenScores:
    """What the model thought of each token that it generated, before temperature and filters; in nats.

    One value a token, the one that ended the answer included. They are all that the answer-blind selectors
    read (`interp.readings.selectors`), so whole logits are not kept.

    Attributes:
        logprob: Log-probability of the token.
        entropy: Entropy of the distribution.
        margin: Probability of the most probable token minus that of the next.
        confidence: Minus the mean log-probability of the 20 most probable tokens (DeepConf).
        certainty: Divergence of the uniform distribution from this one (self-certainty).
        start: Where the token's text begins in the answer, in characters.
    """

    logprob: tuple[float, ...]
    entropy: tuple[float, ...]
    margin: tuple[float, ...]
    confidence: tuple[float, ...]
    certainty: tuple[float, ...]
    start: tuple[int, ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TokenScores:
        """Inverse of `dataclasses.asdict`."""
        return cls(**{name: tuple(values) for name, values in value.items()})


@dataclass(frozen=True)
class Attempt:
    """One row of the log: one try at one question, with all that is needed to read it again.

    Attributes:
        question: Question id.
        question_hash: Content hash of the question.
        probe: Name of the probe that asked.
        draw: Number of the draw within probe and question.
        procedure: Key of the procedure.
        interventions: The procedure's interventions, one line each.
        seed: Seed of the draw.
        prompt_hash: Hash of the rendered prompt.
        text: The answer, cut at a stop string, without the token that ended it.
        tokens: Token ids generated, the one that ended it included.
        finish: "stop" (end of turn, or a stop string) or "length".
        outcome: Verdict of the grader: right, wrong or unreadable.
        reason: Why the answer is unreadable, else None.
        answer: The answer read, in canonical spelling, else None.
        span: Start and end of what was read in the text, else None.
        grader: Version of the grader.
        n_prompt_tokens: Length of the prompt in tokens.
        n_layer_tokens: Layers times tokens, as this attempt would cost alone.
        scores: What the model thought of each token; None where it was not asked for.
        route: The procedure's route, on one line; None where each layer runs once, in order.
        tie_margin: Smallest lead that a token had over the next best one when it was chosen, in units in
            the last place of the number format; None in float32, where tokens were drawn, and from a server.
    """

    question: str
    question_hash: str
    probe: str
    draw: int
    procedure: str
    interventions: tuple[str, ...]
    seed: int
    prompt_hash: str
    text: str
    tokens: tuple[int, ...]
    finish: str
    outcome: Outcome
    reason: Reason | None
    answer: str | None
    span: tuple[int, int] | None
    grader: str
    n_prompt_tokens: int
    n_layer_tokens: int
    scores: TokenScores | None = None
    route: str | None = None
    tie_margin: float | None = None

    @property
    def near_tie(self) -> bool:
        """Whether rounding alone may have chosen a token, so that another batch may answer otherwise."""
        return self.tie_margin is not None and self.tie_margin < NEAR_TIE

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes a row unique within a run: probe, question, draw."""
        return self.probe, self.question, self.draw

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value with every field; `scores`, `route` and `tie_margin` only where there are some."""
        row = asdict(self)
        for name in ("scores", "route", "tie_margin"):
            if row[name] is None:
                del row[name]
        return row

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Attempt:
        """Inverse of `to_json`."""
        row = dict(value)
        row["interventions"] = tuple(row["interventions"])
        row["tokens"] = tuple(row["tokens"])
        row["outcome"] = Outcome(row["outcome"])
        row["reason"] = row["reason"] and Reason(row["reason"])
        row["span"] = row["span"] and (row["span"][0], row["span"][1])
        row["scores"] = row.get("scores") and TokenScores.from_json(row["scores"])
        return cls(**row)


@dataclass(frozen=True)
class FailureSet:
    """Which questions must be repaired and which must be kept, frozen before any block is tried.

    Attributes:
        rule: How failures were chosen: "wrong", "unreadable", "not-right", or "file".
        seed: Seed of the choice and of the halves.
        failures: Ids of the failures, sorted.
        successes: Ids of the matched successes, sorted.
        n_failures: How many failures the deployed procedure has in all, before any cap.
        n_successes: How many successes it has in all.
        n_questions: How many questions were asked.
    """

    rule: str
    seed: int
    failures: tuple[str, ...]
    successes: tuple[str, ...]
    n_failures: int
    n_successes: int
    n_questions: int

    @property
    def hash(self) -> str:
        """Content hash."""
        return content_key(asdict(self))

    @property
    def halves(self) -> tuple[frozenset[str], frozenset[str]]:
        """Two halves of failures and successes, each split evenly in the order of a seeded hash of the id."""
        first: set[str] = set()
        second: set[str] = set()
        for ids in (self.failures, self.successes):
            order = seeded_order(ids, self.seed)
            first.update(order[: len(order) // 2])
            second.update(order[len(order) // 2 :])
        return frozenset(first), frozenset(second)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON value, with the hash and the halves written out for the reader."""
        return asdict(self) | {"hash": self.hash, "halves": [sorted(half) for half in self.halves]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FailureSet:
        """Inverse of `to_json`; the hash and halves are computed again."""
        row = {k: v for k, v in value.items() if k not in ("hash", "halves")}
        row["failures"], row["successes"] = tuple(row["failures"]), tuple(row["successes"])
        return cls(**row)


def seeded_order(ids: Sequence[str], seed: int) -> list[str]:
    """Ids in the order of a hash of seed and id: the same whatever order they come in."""
    return sorted(ids, key=lambda i: (hashlib.sha256(f"{seed}\x00{i}".encode()).digest(), i))
