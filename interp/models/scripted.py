"""A model whose answers come from a function: for tests of everything that only needs answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from interp.errors import QuestionTooLong, Unsupported
from interp.models.model import Completion, Rendered
from interp.procedure import Procedure, Prompt, Request, content_key
from interp.site import Site

Script = Callable[[str, Procedure, int], str]
"""Question text, procedure and seed to the answer's text."""

_END = 0x110000  # one past the last code point


class Scripted:
    """Answers by a script, one token a character; it has layers in name only and loads no torch.

    Attributes:
        name: The name it goes by.
        n_layers: Number of decoder blocks it claims to have.
        batches: The requests of each call of `generate`, in order.
        n_answers: How often the script was asked.
        checked: The texts and procedure of each call of `check_procedure`, in order.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        n_layers: int = 4,
        n_context: int = 4096,
        fail_at: int | None = None,
    ) -> None:
        """Makes a model of a function.

        Args:
            script: Gives the answer to a question's text under a procedure and a seed.
            name: The name it goes by; its fingerprint is a hash of it.
            n_layers: Number of decoder blocks it claims to have.
            n_context: Longest prompt and answer together, in characters.
            fail_at: The how-manieth answer, counted from 1, raises `RuntimeError` in place of text.
        """
        self.name = name
        self.n_layers = n_layers
        self.batches: list[tuple[Request, ...]] = []
        self.n_answers = 0
        self.checked: list[tuple[tuple[str, ...], Procedure]] = []
        self._script = script
        self._n_context = n_context
        self._fail_at = fail_at

    @property
    def fingerprint(self) -> str:
        """Hash of its name."""
        return content_key(["scripted", self.name])

    @property
    def has_chat_template(self) -> bool:
        """False: every prompt is plain text."""
        return False

    @property
    def environment(self) -> Mapping[str, str]:
        """Its one-word architecture."""
        return {"architecture": "scripted"}

    def render(self, text: str, prompt: Prompt) -> Rendered:
        """The prompt in plain text; tokens are code points."""
        turns = [f"Question: {question}\nAnswer: {answer}\n" for question, answer in prompt.examples]
        head = f"{prompt.system}\n" if prompt.system else ""
        whole = f"{head}{''.join(turns)}Question: {text}\nAnswer: {prompt.answer_prefix}"
        return Rendered(whole, tuple(map(ord, whole)))

    def encode_answer(self, prompt: Rendered, answer: str) -> tuple[int, ...]:  # noqa: ARG002
        """The code points of an answer."""
        return tuple(map(ord, answer))

    def decode(self, tokens: Sequence[int]) -> str:
        """The characters of code points, the token that ends an answer left out."""
        return "".join(chr(token) for token in tokens if token != _END)

    def check_procedure(self, texts: Sequence[str], procedure: Procedure) -> None:
        """Refuses questions that do not fit.

        Raises:
            QuestionTooLong: A prompt with its longest answer exceeds `n_context`.
            BadWord: The route names a layer that it does not claim to have, or is too long.
            Unsupported: An intervention names a layer that it does not claim to have.
        """
        self.checked.append((tuple(texts), procedure))
        if procedure.route is not None:
            procedure.route.check(self.n_layers)
        for word in procedure.interventions:
            if word.site.layer >= self.n_layers:
                raise Unsupported(f"{self.name} has the layers 0 to {self.n_layers - 1}, not {word.site}.")
        for text in texts:
            length = len(self.render(text, procedure.prompt).tokens) + procedure.decoding.max_new_tokens
            if length > self._n_context:
                raise QuestionTooLong(f"{text[:40]!r} needs {length} tokens of {self._n_context}.")

    def generate(
        self,
        requests: Sequence[Request],
        *,
        references: Mapping[str, Any] | None = None,  # noqa: ARG002
        record: Sequence[Site] = (),
        record_on: str | None = None,  # noqa: ARG002
        scored: bool = False,  # noqa: ARG002
    ) -> Iterator[Completion]:
        """One completion a request, in order, lazily.

        Raises:
            RuntimeError: The answer that `fail_at` names is reached.
            Unsupported: Something should be recorded.
        """
        if record:
            raise Unsupported(f"{self.name} has no activations. Load a model with weights to record them.")
        self.batches.append(tuple(requests))
        for request in requests:
            self.n_answers += 1
            if self.n_answers == self._fail_at:
                raise RuntimeError(f"answer {self._fail_at} fails, as scripted")
            yield self._complete(request)

    def _complete(self, request: Request) -> Completion:
        prompt = self.render(request.text, request.procedure.prompt)
        text = self._script(request.text, request.procedure, request.seed)
        for stop in request.procedure.decoding.stop:
            text = text.split(stop, 1)[0]
        limit = request.procedure.decoding.max_new_tokens
        finished = len(text) < limit
        text = text[:limit]
        tokens = (*map(ord, text), _END) if finished else tuple(map(ord, text))
        n_layer_tokens = self.n_layers * (len(prompt.tokens) + len(tokens))
        return Completion(text, tokens, "stop" if finished else "length", prompt, n_layer_tokens)

    def forward(self, *_: object, **__: object) -> NoReturn:
        """Raises `Unsupported`: a script has no activations."""
        raise Unsupported(f"{self.name} only generates. Load a model with weights to run a forward pass.")

    def answer_logprobs(self, *_: object, **__: object) -> NoReturn:
        """Raises `Unsupported`: a script has no probabilities."""
        raise Unsupported(f"{self.name} only generates. Load a model with weights to read answers.")

    def head(self, *_: object, **__: object) -> NoReturn:
        """Raises `Unsupported`: a script has no head."""
        raise Unsupported(f"{self.name} only generates. Load a model with weights for a logit lens.")

    def readout(self, *_: object, **__: object) -> NoReturn:
        """Raises `Unsupported`: a script has no unembedding."""
        raise Unsupported(f"{self.name} only generates. Load a model with weights to attribute its logits.")
