"""The reference backend: plain torch hooks over a transformers model."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from interp.errors import Unsupported
from interp.intervention import Intervention, Scope
from interp.models.backend import Backend
from interp.models.batch import HookedBatch
from interp.models.decode import Answer, Batch
from interp.models.drafts import drafters
from interp.models.edits import RowEdits
from interp.models.engine import EVERYTHING, Engine
from interp.models.model import Forward
from interp.models.points import hooked_points, leaf_output
from interp.models.prefix import has_gaps
from interp.models.recording import Recording, kept_on
from interp.models.routed import RoutedBatch, routed_pass
from interp.models.unroll import BY_INDEX
from interp.route import Route
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

    from interp.models.model import References


@dataclass(frozen=True)
class HooksModel(Backend):
    """A transformers model read and edited by torch hooks; the model itself is never changed.

    Attributes:
        engine: Which work requests share.
    """

    engine: Engine = EVERYTHING
    backend: ClassVar[str] = "hooks"

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

        Raises:
            BadInput: There is no token, or one that the vocabulary lacks.
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: A site does not exist in this model or on the route.
        """
        self.check_pass(tokens, interventions, record, route)
        batch = Batch(
            [tuple(tokens)], [interventions], [], references=references, recording=Recording(tuple(record)),
            routes=[route],
        )  # fmt: skip
        ids = torch.tensor([list(tokens)], device=self.device)
        source = leaf_output(self.module.get_submodule(self.layout.embedding)) if with_grad else nullcontext()
        with torch.set_grad_enabled(with_grad), source:
            if route is not None:
                logits, recorded = routed_pass(self, batch, ids)
            else:
                recorded: dict[Site, Tensor] = {}
                edits = RowEdits(batch.rows, Scope.PROMPT, references, self.unembedding.weight, [len(tokens)])
                with self.hooked(edits, record, recorded):
                    logits = self.whole_pass(ids)
        return Forward(logits, kept_on(recorded, record_on))

    def whole_pass(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos vocab"]:
        """Logits at every position, without a cache."""
        return self.call(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits

    def stepper(self, batch: Batch) -> HookedBatch | RoutedBatch:
        """A batch that is moved on token by token; what its rows share is run once."""
        routed = any(route is not None for route in batch.routes)
        return RoutedBatch(self, batch) if routed else HookedBatch(self, batch)

    def answers(self, batch: Batch) -> list[Answer]:
        """Decodes a batch: one finished answer a row. Rows that can follow a draft come after their draft.

        Raises:
            BadLogits: The logits of a row are NaN or infinite.
        """
        draft_of = self._drafters(batch)
        if not draft_of:
            return super().answers(batch)
        first = [row for row in range(len(batch.prompts)) if row not in draft_of]
        found = dict(zip(first, super().answers(batch.only(first)), strict=True))
        drafted = batch.only([*draft_of])
        drafts = [tuple(found[row].tokens) for row in draft_of.values()]
        found.update(zip(draft_of, super().answers(replace(drafted, drafts=drafts)), strict=True))
        return [found[row] for row in range(len(batch.prompts))]

    def _drafters(self, batch: Batch) -> dict[int, int]:
        """For each row that can follow a draft, the row whose answer is its draft."""
        routed = any(route is not None for route in batch.routes)
        if not self.engine.drafts or routed or batch.recording.sites or not self.layout.forks:
            return {}
        found = drafters(batch.prompts, batch.rows, batch.decodings)
        return found if found and has_gaps(self) else {}

    def check_route(self, route: Route) -> None:
        """Refuses a route that cannot be run.

        Raises:
            BadWord: The route names a layer that the model lacks, or is too long.
            Unsupported: Layers depend on their number.
        """
        route.check(self.n_layers)
        for name in BY_INDEX:
            if getattr(self.config, name, False):
                raise Unsupported(f"Layers depend on their number ({name}), so no route can be run.")

    @cached_property
    def _accepts(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.module.forward).parameters)

    def call(self, **inputs: Any) -> Any:
        """Runs the model; `cache` goes by the name that this version of transformers uses."""
        if "cache" in inputs and "past_key_values" in self._accepts:
            inputs["past_key_values"] = inputs.pop("cache")
        return self.module(
            **{
                name: value
                for name, value in inputs.items()
                if name != "logits_to_keep" or name in self._accepts
            }
        )

    def hooked(
        self, edits: RowEdits, record: Sequence[Site] = (), recorded: dict[Site, Tensor] | None = None
    ) -> AbstractContextManager[None]:
        """Edits contributions and records sites for as long as a `with` runs, and no longer."""
        return hooked_points(self.blocks, self.layout, edits, record, recorded)
