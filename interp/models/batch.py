"""A batch of the hooks backend: left-padded, cached, each row with its own edits, shared work run once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.errors import LoadRefused
from interp.intervention import Intervention, Scope
from interp.models.edits import RowEdits, acts_in
from interp.models.prefix import shared_prefix
from interp.models.recording import Recorder
from interp.models.sweep import ForkPlan, plan_forks
from interp.site import Point, Site

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor
    from torch.utils.hooks import RemovableHandle

    from interp.models.decode import Batch
    from interp.models.hooks import HooksModel
    from interp.models.model import Recorded


class HookedBatch:
    """Rows that are decoded together; a `Stepper`.

    The prompts are read in up to two passes: what all of them begin with, once for each different edit, and
    the rest. In both, rows join before the first layer that their edits touch (see `sweep`).
    """

    def __init__(self, model: HooksModel, batch: Batch) -> None:
        """Prepares a batch.

        Args:
            model: Runs it.
            batch: Its prompts, edits, and what to record.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, names an unknown reference,
                or patches from a prompt of another length.
        """
        self._model, self._references = model, batch.references
        self._prompts = batch.prompts
        self._n_prompt = [len(prompt) for prompt in batch.prompts]
        self._rows = [tuple(e for e in row if acts_in(e, Scope.PROMPT)) for row in batch.rows]
        self._decode = self._compile(batch.rows, Scope.DECODE)
        every = range(len(batch.rows))
        whole = self._compile(batch.rows, Scope.PROMPT, every)  # refuses bad edits before anything runs
        self._sites = batch.recording.sites
        self._recorder = Recorder(batch.recording, self._n_prompt)
        self._whole = whole.by_position or bool(self._sites)
        self._drafts = [draft[:-1] for draft in batch.drafts] or [()] * len(batch.rows)
        self._n_draft = max(map(len, self._drafts))
        self._stream = torch.zeros(0)
        self._mask = torch.zeros(len(batch.rows), 0, dtype=torch.long)
        self._cache: Any = None

    def prefill(self) -> Float[Tensor, "batch vocab"]:
        """Reads the prompts; logits of the first new token.

        Raises:
            LoadRefused: The model does not fill the cache that it is given.
        """
        bases = list(dict.fromkeys(self._prompts))
        whole = self._whole or not self._model.engine.fronts
        n_prefix = shared_prefix(self._model, bases, whole=whole)
        past = self._read_prefix(bases[0][:n_prefix]) if n_prefix else None
        if past is None or any(layer.keys is None for layer in past[0].layers):
            past, n_prefix = None, 0  # a model that keeps no cache shares nothing; the load check refuses it
        shares = self._model.layout.forks and self._model.engine.forks and not self._sites
        read = list(zip(self._prompts, self._drafts, strict=True))
        plan = plan_forks(read if shares else range(len(read)), [self._first_edit(row) for row in self._rows])
        order = plan.rows()
        ids, mask = self._padded([read[row] for row in order[: plan.n_bases]], n_prefix)
        cache = self._new_cache()
        if past is not None:
            self._fill(cache, past, plan, [self._rows[row] for row in order])
        recorded: dict[Site, Tensor] = {}
        edits = self._compile([self._rows[row] for row in order], Scope.PROMPT, order)
        last = self._model.n_layers - 1
        after = Site(last, Point.RESID_POST)
        sites = (after,) if self._n_draft else self._sites
        hooked = self._model.hooked(edits, sites, recorded)
        logits = self._pass(ids, mask, cache, plan, hooked, reads=not self._n_draft)
        if self._sites:
            self._recorder.prompt({site: seen[self._tensor(plan.places)] for site, seen in recorded.items()})
        self._spread(cache, plan)
        self._cache = cache
        self._mask = mask[self._tensor([plan.bases[place] for place in plan.places])]
        ends = self._tensor([plan.stand_in(place, last) for place in plan.places])
        if not self._n_draft:
            return logits[ends]
        self._stream = recorded[after][ends, -self._n_draft - 1 :]
        return self.ahead(range(len(ends)), 0)

    def ahead(self, rows: Sequence[int], n: int) -> Float[Tensor, "row vocab"]:
        """Logits of the token after the first `n` of some rows' drafts."""
        return self._model.head(self._stream[self._tensor(rows), n])

    def settle(self, n_followed: Sequence[int]) -> None:
        """Forgets each row's draft but for so many of its first tokens."""
        self._stream = torch.zeros(0)
        n_prompt, n_most = self._mask.shape[1] - self._n_draft, max(n_followed)
        seen = torch.arange(n_most, device=self._mask.device) < self._tensor(n_followed)[:, None]
        self._mask = torch.cat([self._mask[:, :n_prompt], seen.to(self._mask)], dim=1)
        for stored in self._cache.layers:
            stored.keys = stored.keys[..., : n_prompt + n_most, :]
            stored.values = stored.values[..., : n_prompt + n_most, :]

    def step(self, tokens: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocab"]:
        """Appends one token to each row; logits of the next."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        positions = self._mask.sum(-1, keepdim=True) - 1
        recorded: dict[Site, Tensor] = {}
        with self._model.hooked(self._decode, self._sites, recorded):
            logits = self._advance(tokens[:, None], self._mask, positions, self._cache)
        if self._sites:
            self._recorder.step(recorded)
        return logits

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these."""
        self._mask = self._mask[rows]
        for stored in self._cache.layers:
            stored.reorder_cache(rows)  # every kind of layer has it
        self._decode.keep(rows)
        self._recorder.keep(rows)

    def recorded(self) -> list[dict[Site, Recorded]]:
        """What each row recorded, those that were dropped included."""
        return self._recorder.recorded()

    def _read_prefix(self, prefix: tuple[int, ...]) -> tuple[Any, ForkPlan, dict[Any, int]]:
        """Runs what all prompts begin with: its cache, the plan of the pass, and each edit's place in it."""
        edits = list(dict.fromkeys(self._rows))
        plan = plan_forks([prefix] * len(edits), [self._first_edit(row) for row in edits])
        ids = self._tensor([prefix])
        cache = self._new_cache()
        compiled = self._compile([edits[row] for row in plan.rows()], Scope.PROMPT)
        self._pass(ids, torch.ones_like(ids), cache, plan, self._model.hooked(compiled))
        if cache.get_seq_length() != len(prefix):
            raise LoadRefused(
                f"{self._model.name} was given a cache for {len(prefix)} tokens and filled it with "
                f"{cache.get_seq_length()}, so its cached answers would be wrong. This version of "
                "transformers may call the cache by another name."
            )
        return cache, plan, dict(zip(edits, plan.places, strict=True))

    def _fill(
        self,
        cache: Any,
        past: tuple[Any, ForkPlan, dict[Any, int]],
        plan: ForkPlan,
        rows: Sequence[tuple[Intervention, ...]],
    ) -> None:
        """Puts the prefix's keys and values into the cache, for the places that run in each layer."""
        known, known_plan, place_of = past
        for layer, (new, old) in enumerate(zip(cache.layers, known.layers, strict=True)):
            alive = rows[: plan.n_alive(layer)]
            index = self._tensor([known_plan.stand_in(place_of[row], layer) for row in alive])
            new.update(old.keys[index], old.values[index])

    def _spread(self, cache: Any, plan: ForkPlan) -> None:
        """Gives every row its keys and values, in the order of the rows."""
        for layer, stored in enumerate(cache.layers):
            places = [plan.stand_in(place, layer) for place in plan.places]
            stored.reorder_cache(self._tensor(places))

    def _padded(
        self, read: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], n_prefix: int
    ) -> tuple[Int[Tensor, "base pos"], Int[Tensor, "base all"]]:
        """What follows the prefix, padded so that prompts end, and drafts begin, in one column; its mask."""
        rests = [(prompt[n_prefix:], draft) for prompt, draft in read]
        before, after = max(len(rest) for rest, _ in rests), self._n_draft

        def row(rest: Sequence[int], draft: Sequence[int]) -> list[int]:
            return [0] * (before - len(rest)) + [*rest, *draft] + [0] * (after - len(draft))

        ids = [row(rest, draft) for rest, draft in rests]
        mask = [[1] * n_prefix + row([1] * len(rest), [1] * len(draft)) for rest, draft in rests]
        return self._tensor(ids), self._tensor(mask)

    def _pass(
        self,
        ids: Tensor,
        mask: Tensor,
        cache: Any,
        plan: ForkPlan,
        hooked: AbstractContextManager[None],
        *,
        reads: bool = True,
    ) -> Float[Tensor, "place vocab"]:
        """One pass over a piece of the prompts; rows in the order of their places. Reads off its end."""
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        with hooked, self._joining(plan):
            return self._advance(ids, mask, positions, cache, reads=reads)

    @contextmanager
    def _joining(self, plan: ForkPlan) -> Generator[None]:
        """Lets rows join before their layers, for as long as the block runs."""
        handles: list[RemovableHandle] = []
        n_before = plan.n_bases
        try:
            for layer, block in enumerate(self._model.blocks):
                n_alive = plan.n_alive(layer)
                if n_alive > plan.n_bases:
                    joined = plan.bases[n_before:n_alive]
                    stream = self._tensor([*range(n_before), *joined]) if joined else None
                    hook = _joiner(stream, self._tensor(plan.bases[:n_alive]), plan.n_bases)
                    handles.append(block.register_forward_pre_hook(hook, with_kwargs=True))
                n_before = n_alive
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _advance(
        self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any, *, reads: bool = True
    ) -> Float[Tensor, "place vocab"]:
        output = self._model.call(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            cache=cache,
            use_cache=True,
            logits_to_keep=1 if reads else self._tensor([0])[:0],
        )
        return output.logits[:, -1] if reads else output.logits[:, 0:0]

    def _compile(
        self, rows: Sequence[Sequence[Intervention]], phase: Scope, order: Sequence[int] | None = None
    ) -> RowEdits:
        n_prompt = [self._n_prompt[row] for row in order] if order is not None else None
        return RowEdits(rows, phase, self._references, self._model.unembedding.weight, n_prompt)

    def _first_edit(self, row: Sequence[Intervention]) -> int:
        return min((edit.site.layer for edit in row), default=self._model.n_layers)

    def _new_cache(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self._model.config)

    def _tensor(self, values: Sequence[Any]) -> Tensor:
        return torch.tensor(values, device=self._model.device)


def _joiner(stream: Tensor | None, bases: Tensor, n_bases: int) -> Any:
    """A hook that gives a block its rows: the stream of those that join, and all else a block is given.

    Args:
        stream: For each row of the block, its row in the stream so far; None if no row joins here.
        bases: For each row of the block, its base: the model makes masks and positions for the bases only.
        n_bases: Number of bases.
    """

    def spread(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value[bases] if value.dim() > 1 and value.shape[0] == n_bases else value
        if isinstance(value, tuple):
            return tuple(spread(item) for item in value)
        return value

    def join(_module: nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        resid = args[0] if args else kwargs["hidden_states"]
        resid = resid if stream is None else resid[stream]
        others = {name: spread(value) for name, value in kwargs.items()}
        if args:
            return (resid, *(spread(value) for value in args[1:])), others
        return (), {**others, "hidden_states": resid}

    return join
