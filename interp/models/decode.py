"""The decoding loop, written once: greedy or sampled, batched, rows leave the batch as they finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import torch

from interp.errors import BadLogits
from interp.models.model import Recorded
from interp.models.recording import NOTHING, Recording
from interp.models.sample import Chooser
from interp.models.score import EXACT, Scored, tie_margins, token_scores
from interp.procedure import Decoding
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from torch import Tensor

    from interp.intervention import Intervention
    from interp.models.model import References
    from interp.route import Route


@dataclass(frozen=True)
class Batch:
    """Rows that are decoded together.

    Attributes:
        prompts: Token ids of each row's prompt.
        rows: Interventions of each row.
        decodings: How each row is decoded.
        seeds: Seed of each row's draws.
        references: Tensors that interventions name by key.
        recording: What to record, in the prompt and in decoding.
        scored: Whether each token's scores are kept.
        routes: In which order the layers run for each row; empty if they run in order for all.
        drafts: Tokens that each row's answer may begin with, at least one; empty if there are none. They are
            a finished answer of the same decoding to the same prompt.
    """

    prompts: Sequence[tuple[int, ...]]
    rows: Sequence[Sequence[Intervention]]
    decodings: Sequence[Decoding]
    seeds: Sequence[int] = ()
    references: References | None = None
    recording: Recording = NOTHING
    scored: bool = False
    routes: Sequence[Route | None] = ()
    drafts: Sequence[tuple[int, ...]] = ()

    def only(self, rows: Sequence[int]) -> Batch:
        """Some of its rows."""
        lists = ("prompts", "rows", "decodings", "seeds", "routes", "drafts")
        values: dict[str, Sequence[Any]] = {name: getattr(self, name) for name in lists}
        return replace(self, **{name: [v[row] for row in rows] if v else v for name, v in values.items()})


class Stepper(Protocol):
    """A batch of sequences that a backend moves on, one token a row a step."""

    def prefill(self) -> Float[Tensor, "batch vocab"]:
        """Reads the prompts; logits of the first new token."""
        ...

    def step(self, tokens: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocab"]:
        """Appends one token to each row; logits of the next."""
        ...

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these."""
        ...

    def recorded(self) -> Sequence[Mapping[Site, Recorded]]:
        """What each row recorded, those that were dropped included."""
        ...


class Drafted(Protocol):
    """A stepper that has read each row's draft with its prompt."""

    def ahead(self, rows: Sequence[int], n: int) -> Float[Tensor, "row vocab"]:
        """Logits of the token after the first `n` of some rows' drafts."""
        ...

    def settle(self, n_followed: Sequence[int]) -> None:
        """Forgets each row's draft but for so many of its first tokens."""
        ...


@dataclass
class Answer:
    """A row's answer as it grows."""

    tokens: list[int] = field(default_factory=list)
    text: str = ""
    finish: Literal["stop", "length"] | None = None
    activations: Mapping[Site, Recorded] = field(default_factory=dict)
    scored: Scored | None = None
    tie_margin: float | None = None


def decode(
    stepper: Stepper,
    batch: Batch,
    *,
    end_tokens: frozenset[int],
    to_text: Callable[[Sequence[int]], str],
) -> list[Answer]:
    """Decodes every row of a batch to its end.

    Args:
        stepper: The batch, not yet prefilled.
        batch: How each row is decoded, and whether its tokens are scored.
        end_tokens: Tokens that end an answer.
        to_text: Turns an answer's tokens into text, special tokens left out.

    Returns:
        One answer a row, finished.

    Raises:
        BadLogits: The logits of a row are NaN or infinite.
    """
    answers = [Answer(scored=Scored() if batch.scored else None) for _ in batch.decodings]
    chooser = Chooser(batch.decodings, batch.seeds)

    def add(logits: Float[Tensor, "place vocab"], rows: Sequence[int]) -> list[int]:
        """Adds a token to each of some rows; those that go on."""
        check_finite(torch.isfinite(logits).all(-1), rows, answers)
        chosen = chooser.choose(logits, rows)
        if batch.scored:
            add_scores([answers[row] for row in rows], logits, chosen)
        if logits.dtype not in EXACT:
            greedy = [place for place, row in enumerate(rows) if batch.decodings[row].is_greedy]
            add_margins([answers[rows[place]] for place in greedy], logits[greedy])
        for row, token in zip(rows, chosen, strict=True):
            append_token(answers[row], token, batch.decodings[row], end_tokens=end_tokens, to_text=to_text)
        return [row for row in rows if answers[row].finish is None]

    held = list(range(len(answers)))
    logits = stepper.prefill()
    alive = add(logits, held)
    if batch.drafts:
        alive = _follow(cast("Drafted", stepper), batch.drafts, answers, add)
    while alive:
        if len(alive) < len(held):
            place_of = {row: place for place, row in enumerate(held)}
            stepper.keep(torch.tensor([place_of[row] for row in alive], device=logits.device))
            held = alive
        logits = stepper.step(torch.tensor([answers[row].tokens[-1] for row in alive], device=logits.device))
        alive = add(logits, alive)
    for answer, recorded in zip(answers, stepper.recorded(), strict=True):
        answer.activations = recorded
    return answers


def _follow(
    stepper: Drafted,
    drafts: Sequence[Sequence[int]],
    answers: Sequence[Answer],
    add: Callable[[Tensor, Sequence[int]], list[int]],
) -> list[int]:
    """Lets each row go along its draft to the first token that differs; the rows that go on from there.

    A row that goes along to the end has ended as its draft did.
    """
    parted: list[int] = []
    following = [row for row, answer in enumerate(answers) if answer.finish is None]
    n = 0
    while following:
        ahead = [row for row in following if answers[row].tokens[n] == drafts[row][n]]
        parted += [row for row in following if answers[row].tokens[n] != drafts[row][n]]
        n += 1
        following = add(stepper.ahead(ahead, n), ahead) if ahead else []
    stepper.settle([len(answer.tokens) - 1 if answer.finish is None else 0 for answer in answers])
    return sorted(parted)


def read(stepper: Stepper, answers: Sequence[Sequence[int]]) -> list[list[float]]:
    """Log-probability of each token of answers that are given.

    Args:
        stepper: A batch of their prompts, not yet prefilled.
        answers: One answer a row, each of at least one token.
    """
    found: list[list[float]] = [[] for _ in answers]
    alive = list(range(len(answers)))
    logits = stepper.prefill()
    while True:
        tokens = [answers[row][len(found[row])] for row in alive]
        chosen = torch.tensor(tokens, device=logits.device)[:, None]
        logprobs = logits.float().log_softmax(-1).gather(-1, chosen)[:, 0]
        for row, logprob in zip(alive, logprobs.double().tolist(), strict=True):
            found[row].append(logprob)
        kept = [place for place, row in enumerate(alive) if len(found[row]) < len(answers[row])]
        if not kept:
            return found
        last = [tokens[place] for place in kept]
        if len(kept) < len(alive):
            alive = [alive[place] for place in kept]
            stepper.keep(torch.tensor(kept, device=logits.device))
        logits = stepper.step(torch.tensor(last, device=logits.device))


def add_scores(answers: Sequence[Answer], logits: Float[Tensor, "row vocab"], tokens: Sequence[int]) -> None:
    """Notes what the model thought of the next token of each answer."""
    for answer, row in zip(answers, token_scores(logits, tokens), strict=True):
        if answer.scored is not None:
            answer.scored.rows.append(row)


def add_margins(answers: Sequence[Answer], logits: Float[Tensor, "row vocab"]) -> None:
    """Notes how small the lead of the best token was, for answers that take it."""
    for answer, margin in zip(answers, tie_margins(logits), strict=True):
        answer.tie_margin = margin if answer.tie_margin is None else min(answer.tie_margin, margin)


def append_token(
    answer: Answer,
    token: int,
    decoding: Decoding,
    *,
    end_tokens: frozenset[int],
    to_text: Callable[[Sequence[int]], str],
) -> None:
    """Adds a token to an answer and finishes it where it ends."""
    answer.tokens.append(token)
    if token in end_tokens:
        answer.finish = "stop"
        answer.text = _cut(to_text(answer.tokens[:-1]), decoding.stop)[0]
        return
    last = len(answer.tokens) == decoding.max_new_tokens
    if not (decoding.stop or last):
        return
    text, stopped = _cut(to_text(answer.tokens), decoding.stop)
    if stopped or last:
        answer.text = text
        answer.finish = "stop" if stopped else "length"


def _cut(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """Text before the first stop string, and whether there was one."""
    ends = [end for end in map(text.find, stop) if end >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


def check_finite(finite: Bool[Tensor, " row"], alive: Sequence[int], answers: Sequence[Answer]) -> None:
    """Refuses rows whose logits are not all finite.

    Args:
        finite: Whether each row's are.
        alive: Which answers the rows are.
        answers: Every answer.

    Raises:
        BadLogits: Some row's are not; names the first.
    """
    if not bool(finite.all()):
        row = alive[int((~finite).nonzero()[0, 0])]
        raise BadLogits(
            f"The model gave NaN or infinite logits at new token {len(answers[row].tokens)} of row {row} of "
            "the batch. Load it in another dtype (--dtype float32), or check its weights."
        )
