"""What every backend does the same way: answering requests in batches, on top of its own passes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from interp.errors import OutOfMemory
from interp.models.batching import MAX_BATCH, batches_of
from interp.models.checkpoint import Checkpoint
from interp.models.decode import Answer, Batch, Stepper, decode, read
from interp.models.memory import ran_out, rows_that_fit
from interp.models.model import Completion, Forward, Rendered
from interp.models.recording import Recording
from interp.procedure import Prompt, Request
from interp.route import Route
from interp.site import Scope, Site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jaxtyping import Float
    from torch import Tensor

    from interp.intervention import Intervention
    from interp.models.model import References


@dataclass(frozen=True)
class Backend(Checkpoint):
    """A checkpoint that can be run, read and edited; each backend adds how a pass is made."""

    backend: ClassVar[str] = ""

    @property
    def environment(self) -> Mapping[str, str]:
        """What else decides its numbers: as in every checkpoint, and the backend."""
        return {"backend": self.backend, **super().environment}

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

        Raises:
            BadInput: There is no token, or one that the vocabulary lacks.
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: A site does not exist in this model or on the route, or the backend runs no routes.
        """
        raise NotImplementedError

    def stepper(self, batch: Batch) -> Stepper:
        """A batch that is moved on token by token."""
        raise NotImplementedError

    def answers(self, batch: Batch) -> list[Answer]:
        """Decodes a batch: one finished answer a row.

        Raises:
            BadLogits: The logits of a row are NaN or infinite.
        """
        with torch.inference_mode():
            stepper = self.stepper(batch)
            return decode(stepper, batch, end_tokens=self.end_tokens, to_text=self.decode)

    def decoded_logits(
        self, prompts: Sequence[tuple[int, ...]], n_new_tokens: int
    ) -> Float[Tensor, "batch step vocab"]:
        """Logits of a left-padded batch decoded greedily, with a cache, never stopping."""
        with torch.inference_mode():
            stepper = self.stepper(Batch(prompts, [()] * len(prompts), []))
            logits = [stepper.prefill()]
            while len(logits) < n_new_tokens:
                logits.append(stepper.step(logits[-1].argmax(-1)))
            return torch.stack(logits, dim=1)

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
            OutOfMemory: One request alone does not fit; with more at once, fewer are tried.
            QuestionTooLong: A prompt with its longest answer exceeds the context.
            Unsupported: A procedure edits, or `record` names, a site that the model does not have.
        """
        recording = Recording(tuple(record), record_on)
        most, done = MAX_BATCH, 0
        while done < len(requests):
            chunk = requests[done : done + most]
            prompts = self._rendered(chunk, recording)
            chunk = chunk[: self._n_that_fit(chunk, prompts)]
            try:
                completions = self._complete(chunk, prompts, references, recording, scored=scored)
            except (MemoryError, RuntimeError) as error:
                if not ran_out(error):
                    raise
                if len(chunk) == 1:
                    raise OutOfMemory(_too_large(chunk[0], prompts[0])) from error
                completions, most = [], (len(chunk) + 1) // 2
            if not completions and self.device.type == "cuda":
                torch.cuda.empty_cache()
            done += len(completions)
            yield from completions

    def _rendered(self, requests: Sequence[Request], recording: Recording) -> list[Rendered]:
        """The prompt of each request, once it is known that the request can be answered."""
        rendered: dict[tuple[str, Prompt], Rendered] = {}
        for request in requests:
            asked = (request.text, request.procedure.prompt)
            if asked not in rendered:
                rendered[asked] = self.render(*asked)
                self._check_length(rendered[asked], request.text, request.procedure)
            self.check_asked(request.procedure, recording.sites)
        return [rendered[request.text, request.procedure.prompt] for request in requests]

    def _n_that_fit(self, requests: Sequence[Request], prompts: Sequence[Rendered]) -> int:
        """How many of the requests the memory has room for at once, at least one."""
        lengths = [
            len(prompt.tokens) + request.procedure.decoding.max_new_tokens
            for prompt, request in zip(prompts, requests, strict=True)
        ]
        return rows_that_fit(self, max(lengths))

    def _complete(
        self,
        requests: Sequence[Request],
        prompts: Sequence[Rendered],
        references: References | None,
        recording: Recording,
        *,
        scored: bool,
    ) -> list[Completion]:
        routes = [request.procedure.route for request in requests]
        lengths = [len(prompts[row].tokens) for row in range(len(requests))]
        completions: dict[int, Completion] = {}
        for rows in batches_of(routes, lengths, apart=not self.layout.forks):
            batch = Batch(
                prompts=[prompts[row].tokens for row in rows],
                rows=[requests[row].procedure.interventions for row in rows],
                decodings=[requests[row].procedure.decoding for row in rows],
                seeds=[requests[row].seed for row in rows],
                references=references,
                recording=recording,
                scored=scored,
                routes=[routes[row] for row in rows],
            )
            for row, answer in zip(rows, self.answers(batch), strict=True):
                completions[row] = Completion(
                    text=answer.text,
                    tokens=tuple(answer.tokens),
                    finish=answer.finish or "length",
                    prompt=prompts[row],
                    n_layer_tokens=self._cost(routes[row], len(prompts[row].tokens), len(answer.tokens) - 1),
                    activations=answer.activations,
                    scores=answer.scored and answer.scored.finished(answer.tokens, self.decode),
                    tie_margin=answer.tie_margin,
                )
        return [completions[row] for row in range(len(requests))]

    def answer_logprobs(
        self, requests: Sequence[Request], answers: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Log-probability of each token of answers that are given, in nats, before any temperature.

        Args:
            requests: How each is asked.
            answers: Token ids, at least one an answer.

        Raises:
            Unsupported: A procedure asks for what the model cannot do.
        """
        found: dict[int, list[float]] = {}
        for request in requests:
            self.check_asked(request.procedure)
        for start in range(0, len(requests), MAX_BATCH):
            chunk = range(start, min(start + MAX_BATCH, len(requests)))
            routes = [requests[row].procedure.route for row in chunk]
            prompts = [
                self.render(requests[row].text, requests[row].procedure.prompt).tokens for row in chunk
            ]
            for places in batches_of(routes, [*map(len, prompts)], apart=not self.layout.forks):
                rows = [chunk[place] for place in places]
                asked = [requests[row] for row in rows]
                batch = Batch(
                    prompts=[prompts[place] for place in places],
                    rows=[r.procedure.interventions for r in asked],
                    decodings=[],
                    routes=[r.procedure.route for r in asked],
                )
                read_off = self.read_answers(batch, [answers[row] for row in rows])
                found.update(zip(rows, read_off, strict=True))
        return [found[row] for row in range(len(requests))]

    def read_answers(self, batch: Batch, answers: Sequence[Sequence[int]]) -> list[list[float]]:
        """Log-probability of each token of one answer a row."""
        with torch.inference_mode():
            return read(self.stepper(batch), answers)

    def _cost(self, route: Route | None, n_prompt: int, n_new: int) -> int:
        """Layers times tokens, as the answer would cost alone; a half counts as one half."""
        cost = 0.0
        for phase, n in ((Scope.PROMPT, n_prompt), (Scope.DECODE, n_new)):
            routed = route is not None and route.scope in (phase, Scope.BOTH)
            cost += n * (route.cost if route is not None and routed else self.n_layers)
        return math.ceil(cost)

    @property
    def here(self) -> Backend:
        """The same model with every pass run on this machine."""
        return self

    def parts(self, name: str) -> dict[str, Any]:
        """What a backend is made of, whichever it is: the fields of this class, with another name."""
        shared: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(Checkpoint)}
        shared["name"] = name
        return shared

    def lens(self) -> Any:
        """A native `TransformerBridge` of TransformerLens on the same weights, for exploration.

        This model stays as it is, and what is done with the bridge does not reach it.

        Raises:
            Unsupported: TransformerLens has no adapter for the architecture.
        """
        from interp.models.lens import bridge_of

        return bridge_of(self)

    def nnsight(self) -> Any:
        """A native `nnsight.TransformersModel` on the same weights, for exploration.

        This model stays as it is, and what is done in a trace does not reach it.
        """
        from interp.models.nnsight import native_of

        return native_of(self)


def _too_large(request: Request, prompt: Rendered) -> str:
    """What to say where one request alone does not fit."""
    n_new = request.procedure.decoding.max_new_tokens
    return (
        f"Memory ran out on one request alone ({len(prompt.tokens)} tokens of prompt, up to {n_new} of "
        "answer). Load the model in bfloat16 (--dtype bfloat16) or on a larger device, or ask for shorter "
        "answers."
    )
