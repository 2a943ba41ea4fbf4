"""A batch whose rows run their layers in orders of their own: left-padded, cached, shared work run once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from interp.errors import Unsupported
from interp.models.edits import RowEdits, acts_in
from interp.models.prefix import shared_prefix
from interp.models.recording import Recorder
from interp.models.slots import picked
from interp.models.stages import Kept, StageBlock, staged
from interp.models.visits import Plan, Visit, plan_stages, visits_of
from interp.route import Slots
from interp.site import Scope, Site

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

    from interp.models.decode import Batch
    from interp.models.hooks import HooksModel
    from interp.models.model import Recorded


@dataclass(frozen=True)
class _Pass:
    """A pass over some tokens, and what it wrote.

    Attributes:
        plan: Its stages.
        cache: A cache layer a stage.
        n_tokens: Tokens of the pass.
        places: For each place or row of the pass that follows, its place in this one.
    """

    plan: Plan
    cache: Any
    n_tokens: int
    places: Sequence[int]


class RoutedBatch:
    """Rows that are decoded together, each on its route; a `Stepper`.

    Every stage has a cache layer of its own, with the rows that run in it. A visit in decoding reads what the
    same visit of its layer wrote in the prompt; where the prompt had no such visit, what the layer's last one
    wrote; where it had none, nothing of the prompt.
    """

    def __init__(self, model: HooksModel, batch: Batch) -> None:
        """Prepares a batch.

        Args:
            model: Runs it.
            batch: Its prompts, routes, edits, and what to record.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, names an unknown reference,
                or patches from a prompt of another length.
        """
        self._model, self._batch = model, batch
        self._published = is_published(batch)
        self._recorder = Recorder(batch.recording, [len(prompt) for prompt in batch.prompts])
        self._mask = torch.zeros(0)
        self._stages: list[StageBlock] = []
        self._kept = Kept()
        self._cache: Any = None
        self._n_new = 0
        keys: Sequence[Hashable] = batch.prompts if model.layout.forks else range(len(batch.prompts))
        self._plan = plan_stages(keys, self._visits(Scope.PROMPT))
        decoding = plan_stages(range(len(batch.prompts)), self._visits(Scope.DECODE))
        row_of = {self._plan.bases[place]: row for row, place in enumerate(self._plan.places)}
        self._prompts = [batch.prompts[row_of[base]] for base in range(len(row_of))]
        lengths = [len(prompt) for prompt in self._prompts]
        kept = self._kept
        self._first = stage_blocks(model, self._plan, Scope.PROMPT, batch=batch, kept=kept, lengths=lengths)
        self._stages = stage_blocks(model, decoding, Scope.DECODE, batch=batch, kept=kept, lengths=None)

    def prefill(self) -> Float[Tensor, "batch vocab"]:
        """Reads the prompts; logits of the first new token."""
        plan, sites = self._plan, self._batch.recording.sites
        past = self._read_prefix()
        n_prefix = past.n_tokens if past is not None else 0
        rests = [prompt[n_prefix:] for prompt in self._prompts]
        width = max(map(len, rests))
        ids = self._tensor([[0] * (width - len(r)) + list(r) for r in rests])
        mask = self._tensor([[1] * n_prefix + [0] * (width - len(r)) + [1] * len(r) for r in rests])
        cache = self._new_cache(self._first)
        if past is not None:
            self._carry(past, cache, self._first)
        logits = self._advance(self._first, ids, mask, _positions(mask, width), cache)
        if sites:
            self._recorder.prompt(recorded_rows(self._first, [plan.slots[p] for p in plan.places], sites))
        self._mask = mask[self._tensor([plan.bases[place] for place in plan.places])]
        self._cache = cache
        if not self._published:
            self._cache = self._new_cache(self._stages)
            read = _Pass(plan, cache, mask.shape[1], plan.places)
            self._carry(read, self._cache, self._stages)
        return logits[self._tensor(plan.places)]

    def step(self, tokens: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocab"]:
        """Appends one token to each row; logits of the next."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        self._n_new += 1
        positions = self._mask.sum(-1, keepdim=True) - 1
        for stage in self._stages:
            stage.n_new = self._n_new
        logits = self._advance(self._stages, tokens[:, None], self._mask, positions, self._cache)
        if self._batch.recording.sites:
            slots = _slots_of(self._stages, len(self._mask))
            self._recorder.step(recorded_rows(self._stages, slots, self._batch.recording.sites))
        return logits

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these."""
        self._mask = self._mask[rows]
        self._recorder.keep(rows)
        place_of = {row: place for place, row in enumerate(rows.tolist())}
        left: list[StageBlock] = []
        layers: list[Any] = []
        for stage in self._stages:
            index = [i for i, read in enumerate(stage.stage.reads) if read in place_of]
            if not index:
                continue
            own = stage.place if stage.place is not None else len(left)
            if not self._published:
                layer = self._cache.layers[own]
                layer.reorder_cache(self._tensor(index))
                layers.append(layer)
            left.append(stage.kept_rows(index, place_of, place=None if self._published else len(left)))
        if not self._published:
            self._cache.layers = layers
        self._stages = left

    def recorded(self) -> list[dict[Site, Recorded]]:
        """What each row recorded, those that were dropped included."""
        return self._recorder.recorded()

    def _visits(self, phase: Scope) -> list[list[Visit]]:
        batch = self._batch
        return [
            visits_of(route, self._model.n_layers, [e for e in row if acts_in(e, phase)], phase)
            for route, row in zip(batch.routes, batch.rows, strict=True)
        ]

    def _advance(
        self, stages: Sequence[StageBlock], ids: Tensor, mask: Tensor, positions: Tensor, cache: Any
    ) -> Float[Tensor, "place vocab"]:
        self._kept.clear()
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions, "cache": cache}
        try:
            with staged(self._model, stages):
                return self._model.call(**inputs, use_cache=True, logits_to_keep=1).logits[:, -1]
        except RuntimeError as error:
            if not self._published or "size" not in str(error):
                raise
            raise Unsupported(
                "A route with published slots breaks on this architecture, as the code does that it stands "
                f"for: keys and mask differ in length ({error}). Leave '@published' out."
            ) from error

    def _new_cache(self, stages: Sequence[StageBlock]) -> Any:
        from transformers import DynamicCache

        if self._published:
            return DynamicCache(config=self._model.config)
        with staged(self._model, stages):
            return DynamicCache(config=self._model.config)

    def _read_prefix(self) -> _Pass | None:
        """Runs what all prompts begin with, once a different list of visits, if it may be run apart."""
        by_position = any(stage.edits.by_position for stage in self._first)
        whole = self._published or by_position or bool(self._batch.recording.sites)
        n = shared_prefix(self._model, self._prompts, whole=whole)
        if not n:
            return None
        visits = [tuple(row) for row in self._visits(Scope.PROMPT)]
        different = list(dict.fromkeys(visits))
        plan = plan_stages([0] * len(different), different)
        place_of = dict(zip(different, plan.places, strict=True))
        stages = stage_blocks(
            self._model, plan, Scope.PROMPT, batch=self._batch, kept=self._kept, lengths=[n]
        )
        cache = self._new_cache(stages)
        ids = self._tensor([self._prompts[0][:n]])
        mask = torch.ones_like(ids)
        self._advance(stages, ids, mask, _positions(mask, n), cache)
        if any(stored.keys is None for stored in cache.layers):
            return None  # a model that keeps no cache shares nothing; the load check refuses it
        row_of = {place: row for row, place in enumerate(self._plan.places)}
        places = [place_of[visits[row_of[place]]] for place in range(len(self._plan.bases))]
        return _Pass(plan, cache, n, places)

    def _carry(self, source: _Pass, cache: Any, stages: Sequence[StageBlock]) -> None:
        """Gives stages what their rows wrote in an earlier pass."""
        plan, places = source.plan, source.places
        for at, block in enumerate(stages):
            stage = block.stage
            found = [
                _slot(plan.slots[places[read]], stage.layer, nth)
                for read, nth in zip(stage.reads, stage.nths, strict=True)
            ]
            empty = [slot is None for slot in found]
            spare = (self._any_slot(source, cache.layers[at], stage.layer), 0) if any(empty) else (0, 0)
            wanted = [slot or spare for slot in found]
            parts: dict[int, list[int]] = {}
            for place, (where, _) in enumerate(wanted):
                parts.setdefault(where, []).append(place)
            taken = [place for rows in parts.values() for place in rows]
            cache.layers[at] = picked(
                [(source.cache.layers[s], [wanted[place][1] for place in rows]) for s, rows in parts.items()],
                sorted(range(len(taken)), key=taken.__getitem__),
                empty=empty,
            )
            block.close(empty)

    def _any_slot(self, source: _Pass, like: Any, layer: int) -> int:
        """A stage of an earlier pass that stored something of the same kind, best of the same layer."""
        same = [i for i, stored in enumerate(source.cache.layers) if type(stored) is type(like)]
        return min(same, key=lambda i: source.plan.stages[i].layer != layer)

    def _tensor(self, values: Sequence[Any]) -> Tensor:
        return torch.tensor(values, device=self._model.device)


def routed_pass(
    model: HooksModel, batch: Batch, ids: Int[Tensor, "batch pos"]
) -> tuple[Float[Tensor, "batch pos vocab"], dict[Site, Tensor]]:
    """One pass over whole prompts of one length, without a cache: logits, and what was recorded."""
    rows = [
        visits_of(route, model.n_layers, [e for e in edits if acts_in(e, Scope.PROMPT)], Scope.PROMPT)
        for route, edits in zip(batch.routes, batch.rows, strict=True)
    ]
    plan = plan_stages(range(len(rows)), rows)
    lengths = [ids.shape[1]] * len(rows)
    stages = stage_blocks(model, plan, Scope.PROMPT, batch=batch, kept=Kept(), lengths=lengths)
    with staged(model, stages):
        logits = model.whole_pass(ids)
    return logits, recorded_rows(stages, plan.slots, batch.recording.sites)


def stage_blocks(
    model: HooksModel,
    plan: Plan,
    phase: Scope,
    *,
    batch: Batch,
    kept: Kept,
    lengths: Sequence[int] | None,
) -> list[StageBlock]:
    """What stands where the blocks are while a plan runs.

    Args:
        model: The model.
        plan: The stages.
        phase: The phase in which edits are given values.
        batch: What its rows refer to, and what is recorded.
        kept: Where groups keep streams.
        lengths: Tokens of each different prompt; None in decoding.
    """
    own_slots = not is_published(batch)
    blocks: list[StageBlock] = []
    for place, stage in enumerate(plan.stages):
        n_prompt = lengths and [lengths[plan.bases[read]] for read in stage.reads]
        edits = RowEdits(stage.edits, phase, batch.references, model.unembedding.weight, n_prompt)
        block = StageBlock(
            model, stage, bases=plan.bases, edits=edits, kept=kept, place=place if own_slots else None
        )
        named = [s for s in batch.recording.sites if s.layer == stage.layer and (s.visit or 0) in stage.nths]
        block.record = tuple(dict.fromkeys(replace(site, visit=None) for site in named))
        blocks.append(block)
    blocks[0].is_first = True
    return blocks


def is_published(batch: Batch) -> bool:
    """Whether the visits of a layer share its slot."""
    return any(route is not None and route.slots is Slots.PUBLISHED for route in batch.routes)


def recorded_rows(
    stages: Sequence[StageBlock],
    slots: Sequence[dict[tuple[int, int], tuple[int, int]]],
    sites: Sequence[Site],
) -> dict[Site, Tensor]:
    """What stages recorded, one row a row of the batch.

    Args:
        stages: The stages of one pass.
        slots: For each row, the stage and the row in it of each run of a layer: (layer, nth).
        sites: What was asked to be recorded.
    """
    found: dict[Site, Tensor] = {}
    for site in sites:
        where = [row[site.layer, site.visit or 0] for row in slots]
        inside = replace(site, visit=None)
        first = where[0][0]
        whole = stages[first].recorded[inside]
        if where == [(first, i) for i in range(len(whole))]:
            found[site] = whole  # itself, so that gradients reach it
        else:
            found[site] = torch.stack([stages[stage].recorded[inside][i] for stage, i in where])
    return found


def _positions(mask: Tensor, width: int) -> Tensor:
    """Position of each of the last tokens: padding does not count."""
    return (mask.cumsum(-1) - 1).clamp(min=0)[:, -width:]


def _slots_of(stages: Sequence[StageBlock], n_rows: int) -> list[dict[tuple[int, int], tuple[int, int]]]:
    """Where each row of a step runs; no two rows share anything there."""
    slots: list[dict[tuple[int, int], tuple[int, int]]] = [{} for _ in range(n_rows)]
    for place, block in enumerate(stages):
        for i, (row, nth) in enumerate(zip(block.stage.reads, block.stage.nths, strict=True)):
            slots[row][block.stage.layer, nth] = (place, i)
    return slots


def _slot(found: dict[tuple[int, int], tuple[int, int]], layer: int, nth: int) -> tuple[int, int] | None:
    """The stage and row that a visit in decoding reads."""
    if (layer, nth) in found:
        return found[layer, nth]
    others = [slot for slot in found if slot[0] == layer]
    return found[max(others)] if others else None
