"""Where a given answer and the gold answer part: the first token at which the model had to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interp.procedure import Prompt
from interp.question import Attempt, Question

if TYPE_CHECKING:
    from interp.models.model import Model


@dataclass(frozen=True)
class Parting:
    """A context after which the model gave one token where the gold answer has another.

    Attributes:
        question: Question id.
        context: Token ids of the prompt and of what both answers share.
        n_prompt: How many of them are prompt.
        gold: Next token of the gold answer.
        given: Next token of the answer given.
    """

    question: str
    context: tuple[int, ...]
    n_prompt: int
    gold: int
    given: int


def find_partings(
    model: Model, prompt: Prompt, attempts: Sequence[Attempt], questions: Mapping[str, Question]
) -> list[Parting]:
    """The parting of each attempt whose answer differs in tokens from the gold one, in order.

    The gold answer is the given text with the gold in place of what the grader read, or, where it read
    nothing, the gold alone. Of several golds the first is taken.
    """
    found = (_find(model, prompt, attempt, questions[attempt.question]) for attempt in attempts)
    return [parting for parting in found if parting is not None]


def _find(model: Model, prompt: Prompt, attempt: Attempt, question: Question) -> Parting | None:
    rendered = model.render(question.text, prompt)
    gold = question.gold[0]
    if attempt.span is not None:
        start, end = attempt.span
        gold = attempt.text[:start] + gold + attempt.text[end:]
    gold_tokens = model.encode_answer(rendered, gold)
    for place, (gold_token, given_token) in enumerate(zip(gold_tokens, attempt.tokens, strict=False)):
        if gold_token != given_token:
            context = (*rendered.tokens, *gold_tokens[:place])
            return Parting(attempt.question, context, len(rendered.tokens), gold_token, given_token)
    return None
