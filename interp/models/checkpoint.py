"""A transformers checkpoint: its facts, how text becomes tokens, its head, and what can be asked of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.errors import BadInput, QuestionTooLong, Unsupported
from interp.models.layout import Layout, blocks_of, frozen_norm, n_experts_of
from interp.models.model import Rendered
from interp.models.render import render
from interp.procedure import Decoding, Procedure, Prompt
from interp.site import Point, Scope, Site

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

    from interp.intervention import Intervention
    from interp.route import Route


@dataclass(frozen=True)
class Checkpoint:
    """A transformers model and its tokenizer; a backend adds how passes are run, read and edited.

    Attributes:
        name: The name it was loaded by.
        fingerprint: Hash of weights, configuration, tokenizer and chat template.
        module: The transformers model, in evaluation mode, its parameters frozen.
        tokenizer: Its tokenizer.
        layout: Where things live in it.
        hashes: Hashes of weights, configuration, tokenizer and template.
    """

    name: str
    fingerprint: str
    module: nn.Module
    tokenizer: PreTrainedTokenizerBase
    layout: Layout
    hashes: Mapping[str, str]

    @property
    def config(self) -> Any:
        """The transformers configuration."""
        return self.module.config

    @cached_property
    def blocks(self) -> tuple[nn.Module, ...]:
        """The decoder blocks in order."""
        return tuple(blocks_of(self.module, self.layout))

    @property
    def n_layers(self) -> int:
        """Number of decoder blocks."""
        return len(self.blocks)

    @property
    def d_model(self) -> int:
        """Width of the residual stream."""
        return int(self.unembedding.weight.shape[1])

    @property
    def device(self) -> torch.device:
        """Where its inputs go."""
        return self.unembedding.weight.device

    @property
    def n_context(self) -> int:
        """Most tokens of prompt and answer together."""
        named = (getattr(self.config, name, 0) for name in ("max_position_embeddings", "max_seq_len"))
        return int(next(filter(None, named), 2**31))

    @property
    def has_chat_template(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return bool(self.tokenizer.chat_template)

    @property
    def environment(self) -> Mapping[str, str]:
        """What else decides its numbers: architecture, dtype, attention implementation, device, hashes."""
        weight = self.unembedding.weight
        return {
            "architecture": str(self.config.model_type),
            "attention": str(getattr(self.config, "_attn_implementation", "unknown")),
            "dtype": str(weight.dtype).removeprefix("torch."),
            "device": str(self.device),
            "threads": str(torch.get_num_threads()),
            **self.hashes,
        }

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer: those of the generation config and the tokenizer's own."""
        configured: Any = getattr(getattr(self.module, "generation_config", None), "eos_token_id", None)
        own: Any = self.tokenizer.eos_token_id
        listed = configured if isinstance(configured, list) else [configured]
        return frozenset(int(token) for token in (*listed, own) if token is not None)

    def render(self, text: str, prompt: Prompt) -> Rendered:
        """The prompt for a question's text; see `interp.models.render.render`."""
        return render(self.tokenizer, text, prompt)

    def encode_answer(self, prompt: Rendered, answer: str) -> tuple[int, ...]:
        """Token ids of an answer that follows a prompt."""
        n_prompt = len(prompt.tokens)
        for special in (False, True):  # a plain prompt has the tokenizer's own beginning before it
            joined = tuple(self.tokenizer(prompt.text + answer, add_special_tokens=special).input_ids)
            if joined[:n_prompt] == prompt.tokens:
                return joined[n_prompt:]
        return tuple(self.tokenizer(answer, add_special_tokens=False, split_special_tokens=True).input_ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, special tokens left out."""
        return str(
            self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        )

    def check_procedure(self, texts: Sequence[str], procedure: Procedure) -> None:
        """Refuses interventions on missing layers and questions that do not fit.

        Raises:
            QuestionTooLong: A prompt with its longest answer exceeds the context.
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: The procedure edits a layer that the model does not have, or asks for what the
                backend cannot do.
        """
        self.check_asked(procedure)
        for text in texts:
            self._check_length(self.render(text, procedure.prompt), text, procedure)

    def _check_length(self, prompt: Rendered, text: str, procedure: Procedure) -> None:
        n_needed = len(prompt.tokens) + procedure.decoding.max_new_tokens
        if n_needed > self.n_context:
            raise QuestionTooLong(
                f"The question {text[:60]!r} needs {n_needed} tokens ({len(prompt.tokens)} of prompt, "
                f"{procedure.decoding.max_new_tokens} of answer), but {self.name} reads at most "
                f"{self.n_context}. Shorten it, or leave it out."
            )

    def check_pass(
        self,
        tokens: Sequence[int],
        interventions: Sequence[Intervention],
        record: Sequence[Site],
        route: Route | None = None,
    ) -> None:
        """Refuses a forward pass that cannot be run.

        Raises:
            BadInput: There is no token, or one that the vocabulary lacks.
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: A site does not exist in this model or on the route, or the backend runs no routes.
        """
        self.check_asked(Procedure(interventions=tuple(interventions), route=route), record)
        self._check_tokens(tokens)

    def check_asked(self, procedure: Procedure, record: Sequence[Site] = ()) -> None:
        """Refuses a procedure that cannot be carried out, whatever the question.

        Raises:
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: A site does not exist in this model or on the route, or the backend cannot do it.
        """
        self.check_decoding(procedure.decoding)
        if procedure.route is not None:
            self.check_route(procedure.route)
        for site in record:
            self.check_recorded(site)
            self._check_visit(site, procedure.route, recorded=True)
        for edit in procedure.interventions:
            self.check_site(edit.site)
            self._check_visit(edit.site, procedure.route)

    def check_route(self, route: Route) -> None:
        """Refuses a route that cannot be run: every one, unless the backend runs routes.

        Raises:
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: The backend runs no routes.
        """
        raise Unsupported(
            f"{self.name} runs each layer once, in order, so it cannot run the route {route}. Load the model "
            "without a backend's name before it."
        )

    def _check_visit(self, site: Site, route: Route | None, *, recorded: bool = False) -> None:
        """Refuses a visit that a route does not make; in a recording, also one that is not named."""
        whole = route is None or route.scope is not Scope.BOTH
        counts = [1] if whole else []
        counts += [] if route is None else [route.layers.count(site.layer)]
        most, least = max(counts), min(counts)
        if site.visit is not None and site.visit >= (least if recorded else most):
            n_visits = least if recorded else most
            raise Unsupported(
                f"Layer {site.layer} runs {n_visits} times, so there is no {site}; visits are counted from 0."
            )
        if recorded and not least:
            raise Unsupported(f"The route {route} does not run layer {site.layer}, so there is no {site}.")
        if recorded and site.visit is None and most != 1:
            raise Unsupported(
                f"Layer {site.layer} runs {most} times on the route {route}, so name the visit: {site}#0."
            )

    def _check_tokens(self, tokens: Sequence[int]) -> None:
        n_vocab = int(self.unembedding.weight.shape[0])
        if not tokens:
            raise BadInput("A forward pass needs at least one token.")
        if not 0 <= min(tokens) <= max(tokens) < n_vocab:
            raise BadInput(f"Tokens are 0 to {n_vocab - 1}, got {min(tokens)} to {max(tokens)}.")

    def check_decoding(self, decoding: Decoding) -> None:
        """Refuses a decoding that the backend cannot carry out; this one can carry out all.

        Raises:
            Unsupported: The backend cannot do it.
        """

    def check_recorded(self, site: Site) -> None:
        """Refuses a site that cannot be recorded.

        Raises:
            Unsupported: The model does not have it, or it is one expert's.
        """
        self.check_site(site)
        if site.expert is not None:
            raise Unsupported(
                f"{site} can be edited, but what one expert writes is not recorded. "
                f"Record {Site(site.layer, site.point)}."
            )

    def check_site(self, site: Site) -> None:
        """Refuses a site that this model does not have.

        Raises:
            Unsupported: There is no such layer, or its block has no stream between attention and MLP.
        """
        if site.layer >= self.n_layers:
            raise Unsupported(f"{self.name} has layers 0 to {self.n_layers - 1}, so there is no {site}.")
        if site.expert is not None:
            n_experts = n_experts_of(self.blocks[site.layer], self.layout)
            if site.expert >= n_experts:
                have = f"experts 0 to {n_experts - 1}" if n_experts else "no experts"
                raise Unsupported(f"Block {site.layer} of {self.name} has {have}, so there is no {site}.")
        if site.point is Point.RESID_MID and self.layout.parallel:
            raise Unsupported(
                f"{self.name} runs attention and MLP side by side on the same stream, so there is no {site}. "
                "Use resid_pre or resid_post."
            )

    @property
    def logit_scale(self) -> float:
        """What the unembedding's output is multiplied by to give the logits."""
        scale, divisor = self.layout.logit_scale, self.layout.logit_divisor
        times = float(getattr(self.config, scale)) if scale else 1.0
        return times / float(getattr(self.config, divisor)) if divisor else times

    def head(self, resid: Float[Tensor, "... d_model"]) -> Float[Tensor, "... vocab"]:
        """Final norm and unembedding: the logit lens of a residual stream."""
        logits = self.unembedding(self.module.get_submodule(self.layout.final_norm)(resid)) * self.logit_scale
        cap = getattr(self.config, "final_logit_softcapping", None)
        return logits if cap is None else torch.tanh(logits / cap) * cap

    def readout(
        self, resid: Float[Tensor, " d_model"], tokens: Sequence[int]
    ) -> Float[Tensor, "token d_model"]:
        """Directions of some tokens' logits, before a soft cap, with the final norm frozen at `resid`."""
        rows = self.unembedding.weight[list(tokens)] * self.logit_scale
        return frozen_norm(self.module.get_submodule(self.layout.final_norm), self.layout.norm, rows, resid)

    @property
    def unembedding(self) -> nn.Linear:
        """The head: its weight has the dtype and device of the model's activations."""
        head = self.module.get_submodule(self.layout.head)
        assert isinstance(head, nn.Linear)
        return head


def shared_copy(module: Any) -> Any:
    """A copy of a module and of all modules in it, around the same parameters and buffers."""
    tensors = [*module.parameters(), *module.buffers()]
    return copy.deepcopy(module, {id(tensor): tensor for tensor in tensors})
