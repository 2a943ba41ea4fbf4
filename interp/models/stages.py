"""Runs stages in place of a model's blocks, for as long as a `with` runs, and no longer."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.models.edits import RowEdits
from interp.models.points import hooked_points, replaced, stream_of
from interp.models.visits import Gate, Stage
from interp.site import Site

if TYPE_CHECKING:
    from torch import Tensor

    from interp.models.checkpoint import Checkpoint

NUMBERS = ("layer_idx", "layer_id")
"""What layers call their number, by which they find their keys and values."""


class Kept:
    """The streams that groups of a pass have kept, and their sums; one place a row of the pass."""

    def __init__(self) -> None:
        """Starts with nothing kept."""
        self.stream: Tensor | None = None
        self.total: Tensor | None = None

    def clear(self) -> None:
        """Forgets what the last pass kept."""
        self.stream = self.total = None


class StageBlock(nn.Module):
    """Stands where a block stands: gives the rows of a stage to its layer, and puts back what they became.

    Whatever else is asked of it, it answers as the block does.
    """

    def __init__(
        self,
        model: Checkpoint,
        stage: Stage,
        *,
        bases: Sequence[int],
        edits: RowEdits,
        kept: Kept,
        place: int | None,
    ) -> None:
        """Prepares a stage.

        Args:
            model: The model, with its blocks.
            stage: What to run.
            bases: For each place of the pass, the row of the model's own inputs that it reads.
            edits: Edits of the stage's rows.
            kept: Where groups keep streams; shared by the stages of a pass.
            place: Place of the stage among all, by which its cache is addressed; None leaves the layer's own.
        """
        super().__init__()
        block = model.blocks[stage.layer]
        self.__dict__["block"] = block
        self.stage, self.edits, self.place = stage, edits, place
        self._model, self._kept = model, kept
        self._bases = tuple(bases)
        self._numbered = [
            (part, name, getattr(part, name))
            for part in block.modules()
            for name in NUMBERS
            if hasattr(part, name)
        ]
        device = model.device
        self.is_first = False
        whole = tuple(range(len(bases)))
        self._all = stage.reads == whole == stage.writes and stage.sources == whole
        self._as_given = whole == self._bases
        self._reads, self._writes, self._sources, self._given = (
            torch.tensor(values, device=device)
            for values in (stage.reads, stage.writes, stage.sources, [bases[p] for p in stage.reads])
        )
        self._spread = torch.tensor(self._bases, device=device)
        self.n_new = 0
        self._closed: Tensor | None = None
        self.record: tuple[Site, ...] = ()
        self.recorded: dict[Site, Tensor] = {}

    def __getattr__(self, name: str) -> Any:
        """Answers as the block does."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["block"], name)

    def close(self, rows: Sequence[bool]) -> None:
        """Shuts the prompt to rows that stored nothing there: what stands in their cache is no key."""
        self._closed = torch.tensor(rows, device=self._model.device) if any(rows) else None

    def kept_rows(
        self, index: Sequence[int], place_of: Mapping[int, int], *, place: int | None
    ) -> StageBlock:
        """The stage with some of its rows, after others have left the batch.

        Args:
            index: Which of its rows stay.
            place_of: New place of each row of the batch that stays.
            place: New place of the stage among all.
        """
        reads = tuple(place_of[self.stage.reads[i]] for i in index)
        stage = replace(
            self.stage,
            reads=reads,
            writes=reads,
            sources=tuple(range(len(index))),
            edits=tuple(self.stage.edits[i] for i in index),
            nths=tuple(self.stage.nths[i] for i in index),
        )
        rows = torch.tensor(index, device=self._model.device)
        self.edits.keep(rows)
        bases = range(len(place_of))
        left = StageBlock(self._model, stage, bases=bases, edits=self.edits, kept=self._kept, place=place)
        left.record = self.record
        if self._closed is not None:
            left.close(self._closed[rows].tolist())
        return left

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """One run of the layer on the rows of the stage."""
        stream = args[0] if args else kwargs["hidden_states"]
        n_given = max(self._bases) + 1
        if self.is_first and not self._as_given:
            stream = stream[self._spread]
        simple = self._all and self.stage.gate == Gate()
        inside = stream if self._all else stream[self._reads]
        gate, kept = self.stage.gate, self._kept
        before = inside
        if gate.aside and not gate.enters:
            assert kept.stream is not None
            inside = kept.stream[self._reads]
        rest = tuple(self._rows(value, n_given) for value in args[1:])
        others = {name: self._rows(value, n_given) for name, value in kwargs.items()}
        output = self._run(
            *((inside, *rest) if args else ()), **others | ({} if args else {"hidden_states": inside})
        )
        written = stream_of(output)
        if simple:
            return output
        after = self._leave(gate, before=before, inside=inside, written=written, stream=stream)
        return replaced(output, stream.index_copy(0, self._writes, after[self._sources]))

    def _leave(
        self, gate: Gate, *, before: Tensor, inside: Tensor, written: Tensor, stream: Tensor
    ) -> Tensor:
        """What becomes of the stage's rows; notes what groups keep."""
        kept = self._kept
        if gate == Gate():
            return written
        base = inside if gate.enters or gate.aside else self._of(kept.stream)
        total = written
        if gate.aside and not gate.enters:
            total = self._of(kept.total) + written
        if gate.within:
            kept.stream = self._put(kept.stream, base, stream)
            if gate.aside:
                kept.total = self._put(kept.total, total, stream)
                return before
            return written
        if gate.mean_of:
            return total / gate.mean_of
        return base + (written - base) / gate.step_of

    def _of(self, tensor: Tensor | None) -> Tensor:
        assert tensor is not None
        return tensor[self._reads]

    def _put(self, whole: Tensor | None, part: Tensor, like: Tensor) -> Tensor:
        whole = torch.zeros_like(like) if whole is None else whole
        return whole.index_copy(0, self._writes, part[self._sources])

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the layer with the edits of its rows, its cache addressed by the stage's place."""
        if self._closed is not None:
            args, kwargs = self._shut(args, kwargs)
        hooked = nullcontext()
        if self.edits.sites or self.record:
            hooked = hooked_points(
                self._model.blocks, self._model.layout, self.edits, self.record, self.recorded
            )
        try:
            if self.place is not None:
                for part, name, _ in self._numbered:
                    setattr(part, name, self.place)
            with hooked:
                return self.__dict__["block"](*args, **kwargs)
        finally:
            for part, name, number in self._numbered:
                setattr(part, name, number)

    def _shut(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the layer is given, with a mask under which closed rows see new tokens only."""
        block = self.__dict__["block"]
        given = inspect.signature(block.forward).bind_partial(*args, **kwargs)
        mask = given.arguments.get("attention_mask", given.kwargs.get("attention_mask"))
        if isinstance(mask, torch.Tensor) and mask.dim() < 4:
            return args, kwargs  # of a recurrent layer: its state is zero
        assert self._closed is not None
        n_rows = len(self.stage.reads)
        if mask is None:
            width = self._n_seen(given.kwargs | given.arguments) + 1
            mask = torch.ones(n_rows, 1, 1, width, dtype=torch.bool, device=self._closed.device)
        shut = self._closed[:, None, None, None] & (
            torch.arange(mask.shape[-1], device=mask.device) < mask.shape[-1] - self.n_new
        )
        hides = self._model.layout.mask_hides
        low = hides if mask.dtype is torch.bool else torch.finfo(mask.dtype).min
        mask = torch.where(shut, torch.full((), low, dtype=mask.dtype, device=mask.device), mask)
        if "attention_mask" in given.arguments:
            given.arguments["attention_mask"] = mask
        else:
            given.arguments.setdefault("kwargs", {})["attention_mask"] = mask
        return given.args, given.kwargs

    def _n_seen(self, given: Mapping[str, Any]) -> int:
        """Tokens that the layer's cache holds."""
        names = ("past_key_values", "cache", "layer_past", "past_key_value")
        everything = {**given, **given.get("kwargs", {})}
        cache = next(everything[name] for name in names if everything.get(name) is not None)
        keys = cache.layers[self.place].keys
        return 0 if keys is None else int(keys.shape[-2])

    def _rows(self, value: Any, n_given: int) -> Any:
        """What the rows of the stage are given of an argument that has one entry a row."""
        if self._all and self._as_given:
            return value
        if isinstance(value, torch.Tensor):
            return value[self._given] if value.dim() > 1 and value.shape[0] == n_given else value
        if isinstance(value, tuple):
            return tuple(self._rows(item, n_given) for item in value)
        return value


@contextmanager
def staged(model: Checkpoint, stages: Sequence[StageBlock]) -> Generator[None]:
    """Puts stages where the blocks are, and tells the config so, for as long as the block runs.

    The model's own loop then runs them: it chooses the mask and the rotary embedding of each by its kind.
    """
    above, _, name = model.layout.blocks.rpartition(".")
    owner, config = model.module.get_submodule(above), model.config
    blocks = getattr(owner, name)
    told: dict[str, Any] = {"num_hidden_layers": len(stages)}
    if getattr(config, "layer_types", None) is not None:
        told["layer_types"] = [config.layer_types[stage.stage.layer] for stage in stages]
    with _told(config, told):
        try:
            setattr(owner, name, nn.ModuleList(stages))
            yield
        finally:
            setattr(owner, name, blocks)


@contextmanager
def _told(config: Any, values: Mapping[str, Any]) -> Generator[None]:
    before = {name: getattr(config, name) for name in values}
    try:
        for name, value in values.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)
