"""The port: what a model must do for the rest of the package, and the records it hands back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from interp.intervention import Intervention
from interp.procedure import Procedure, Prompt, Request
from interp.question import TokenScores
from interp.route import Route
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    References = Mapping[str, "Mapping[Site, Tensor] | Mapping[Site, Recorded]"]
    """What interventions name by key: the key, then for each site a mean contribution, "d_model" (`Mean`), or
    what another pass recorded: a prompt, "pos d_model", or a whole answer (`Resample`, `Patch`)."""


@dataclass(frozen=True)
class Rendered:
    """A prompt as the model reads it.

    Attributes:
        text: The whole prompt, template and answer prefix included.
        tokens: Its token ids, special tokens of the template included.
    """

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Recorded:
    """What one row recorded at one site.

    Attributes:
        prompt: At each token of the prompt.
        new: At each generated token that was read back: all but the last.
    """

    prompt: Float[Tensor, "pos d_model"]
    new: Float[Tensor, "step d_model"]

    def first(self, n_new: int) -> Recorded:
        """The same with at most `n_new` new tokens."""
        return Recorded(self.prompt, self.new[:n_new])


@dataclass(frozen=True)
class Completion:
    """One answer of a model.

    Attributes:
        text: The answer, cut before a stop string, without the token that ended it.
        tokens: Token ids generated, the one that ended it included.
        finish: "stop" (end of turn, or a stop string) or "length".
        prompt: The prompt it answers.
        n_layer_tokens: Layers times tokens read or written, as this request would cost alone.
        activations: What was recorded, by site.
        scores: What the model thought of each token; None unless it was asked for.
        tie_margin: Smallest lead that a token had over the next best one when it was chosen, in units in
            the last place of the number format; None in float32, where tokens were drawn, and from a server.
    """

    text: str
    tokens: tuple[int, ...]
    finish: Literal["stop", "length"]
    prompt: Rendered
    n_layer_tokens: int
    activations: Mapping[Site, Recorded] = field(default_factory=dict, compare=False, repr=False)
    scores: TokenScores | None = field(default=None, repr=False)
    tie_margin: float | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Forward:
    """What one forward pass gives.

    Attributes:
        logits: Next-token logits at every position.
        activations: One tensor a recorded site, on the graph of `logits` if gradients were asked for.
    """

    logits: Float[Tensor, "batch pos vocab"]
    activations: Mapping[Site, Float[Tensor, "batch pos d_model"]]


class Model(Protocol):
    """A decoder language model whose blocks can be read and edited.

    The laws that every backend obeys are tests in `tests/models/test_laws.py`. Edits are arguments of a
    call: after it, and after any exception in it, the model is as it was.
    """

    @property
    def name(self) -> str:
        """The name it was loaded by."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of weights, configuration, tokenizer and chat template."""
        ...

    @property
    def n_layers(self) -> int:
        """Number of decoder blocks."""
        ...

    @property
    def has_chat_template(self) -> bool:
        """Whether it comes with a chat template."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What else decides its numbers: architecture, dtype, attention implementation, device, hashes."""
        ...

    def render(self, text: str, prompt: Prompt) -> Rendered:
        """The prompt for a question's text."""
        ...

    def encode_answer(self, prompt: Rendered, answer: str) -> tuple[int, ...]:
        """Token ids of an answer that follows a prompt."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, special tokens left out."""
        ...

    def check_procedure(self, texts: Sequence[str], procedure: Procedure) -> None:
        """Refuses questions that do not fit.

        Raises:
            QuestionTooLong: A prompt with its longest answer exceeds the context.
            Unsupported: The procedure asks for what the model cannot do.
        """
        ...

    def forward(  # noqa: PLR0913
        self,
        tokens: Sequence[int],
        *,
        route: Route | None = None,
        interventions: Sequence[Intervention] = (),
        record: Sequence[Site] = (),
        record_on: str | None = None,
        references: References | None = None,
        with_grad: bool = False,
    ) -> Forward:
        """One pass over one sequence, without a cache; all its positions count as prompt.

        Args:
            tokens: Token ids.
            route: In which order the layers run; None runs each once, in order.
            interventions: What to edit.
            record: Sites to record, after the edits.
            record_on: Device on which recorded tensors are kept; None leaves them where the model runs.
            references: Tensors that interventions name by key.
            with_grad: Whether the result is on a graph that reaches back to the embedding's output.
        """
        ...

    def answer_logprobs(
        self, requests: Sequence[Request], answers: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Log-probability of each token of answers that are given, in nats, before any temperature.

        Args:
            requests: How each is asked.
            answers: Token ids, at least one an answer.
        """
        ...

    def head(self, resid: Float[Tensor, "... d_model"]) -> Float[Tensor, "... vocab"]:
        """Final norm and unembedding: the logit lens of a residual stream."""
        ...

    def readout(
        self, resid: Float[Tensor, " d_model"], tokens: Sequence[int]
    ) -> Float[Tensor, "token d_model"]:
        """Directions of some tokens' logits with the final norm frozen at a residual stream.

        The dot product of a row with that stream is the token's logit up to a term that no block writes.
        """
        ...

    def generate(
        self,
        requests: Sequence[Request],
        *,
        references: References | None = None,
        record: Sequence[Site] = (),
        record_on: str | None = None,
        scored: bool = False,
    ) -> Iterator[Completion]:
        """Answers requests of any mix of procedures, one completion a request, in their order.

        Args:
            requests: What to answer.
            references: Tensors that interventions name by key.
            record: Sites to record, after the edits, in the prompt and at every generated token that is read
                back: all but the last.
            record_on: Device on which recorded tensors are kept; None leaves them where the model runs.
            scored: Whether to keep what the model thought of each token.

        Raises:
            BadLogits: The logits of a row are NaN or infinite.
            QuestionTooLong: A prompt with its longest answer exceeds the context.
        """
        ...
