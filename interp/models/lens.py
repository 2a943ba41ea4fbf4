"""The TransformerLens backend: the same reads and edits through a `TransformerBridge`'s hook points."""

from __future__ import annotations

import contextlib
import copy
import logging
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from interp.errors import Unsupported
from interp.intervention import EDITABLE, Intervention, Scope
from interp.models.backend import Backend
from interp.models.checkpoint import shared_copy
from interp.models.decode import Batch
from interp.models.edits import RowEdits
from interp.models.model import Forward, Recorded
from interp.models.points import leaf_output
from interp.models.recording import Recorder, kept_on
from interp.site import Point, Site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jaxtyping import Float, Int
    from torch import Tensor

    from interp.models.model import References
    from interp.route import Route

HOOK_POINTS: dict[Point, tuple[str, ...]] = {
    Point.RESID_PRE: ("hook_resid_pre",),
    Point.ATTN_OUT: ("hook_attn_out", "linear_attn.hook_linear_attn_out"),
    Point.RESID_MID: ("hook_resid_mid",),
    Point.MLP_OUT: ("hook_mlp_out",),
    Point.RESID_POST: ("hook_resid_post",),
}
"""Names in a block of the bridge, the first that it has; a block with linear attention names its own."""


@dataclass(frozen=True)
class LensModel(Backend):
    """A model read and edited through TransformerLens.

    The bridge attends with plain matrix products ("eager"), so its numbers differ from those of the `hooks`
    backend in the last digits.

    Attributes:
        bridge: The `transformer_lens.model_bridge.TransformerBridge` on the same weights.
    """

    bridge: Any
    backend: ClassVar[str] = "lens"

    @property
    def environment(self) -> Mapping[str, str]:
        """What else decides its numbers; attention is the bridge's."""
        attention = getattr(self.bridge.original_model.config, "_attn_implementation", "unknown")
        return {**super().environment, "attention": str(attention)}

    def check_site(self, site: Site) -> None:
        """Refuses a site that this model or TransformerLens does not have.

        Raises:
            Unsupported: There is no such layer, stream or hook point; or it is one expert.
        """
        super().check_site(site)
        if site.expert is not None:
            raise Unsupported(
                f"TransformerLens has no hook point for one expert, {site}. Load hooks:{self._plain}."
            )
        self._hook_name(site)

    @property
    def _plain(self) -> str:
        return self.name.removeprefix(f"{self.backend}:")

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.bridge.hook_dict)

    def _hook_name(self, site: Site) -> str:
        names = [f"blocks.{site.layer}.{name}" for name in HOOK_POINTS[site.point]]
        found = next((name for name in names if name in self._names), None)
        if found is None:
            raise Unsupported(
                f"TransformerLens has no hook point for {site} in this model. Load hooks:{self._plain}."
            )
        return found

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
            Unsupported: A site does not exist in this model or has no hook point.
        """
        self.check_pass(tokens, interventions, record, route)
        edits = RowEdits([interventions], Scope.PROMPT, references, self.unembedding.weight, [len(tokens)])
        recorded: dict[Site, Tensor] = {}
        ids = torch.tensor([list(tokens)], device=self.device)
        embedding = self.bridge.original_model.get_submodule(self.layout.embedding)
        source = leaf_output(embedding) if with_grad else nullcontext()
        with torch.set_grad_enabled(with_grad), source, self.hooked(edits, record, recorded):
            logits = self.bridge.forward(
                ids, attention_mask=torch.ones_like(ids), return_type="logits", use_cache=False
            )
        return Forward(logits, kept_on(recorded, record_on))

    def stepper(self, batch: Batch) -> LensBatch:
        """A batch that is moved on token by token."""
        return LensBatch(self, batch)

    @contextmanager
    def hooked(
        self, edits: RowEdits, record: Sequence[Site], recorded: dict[Site, Tensor]
    ) -> Generator[None]:
        """Edits contributions and records sites in the one pass that the block runs.

        Raises:
            EditMisfired: When the block ends: an edit did not fire once in it.
        """
        wanted = set(record)

        def hook_of(site: Site) -> Any:
            def hook(value: Tensor, **_: Any) -> Tensor:
                if site.point in EDITABLE:
                    value = edits.apply(site, value)
                if site in wanted:
                    recorded[site] = value
                return value

            return hook

        sites = sorted(edits.sites | wanted, key=lambda site: site.order)
        with self.bridge.hooks(fwd_hooks=[(self._hook_name(site), hook_of(site)) for site in sites]):
            yield
        edits.end_pass()


class LensBatch:
    """Rows that are decoded together by a bridge, left-padded and cached; a `Stepper`."""

    def __init__(self, model: LensModel, batch: Batch) -> None:
        """Prepares a batch.

        Args:
            model: Runs it.
            batch: Its prompts, edits, and what to record.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, names an unknown reference,
                or patches from a prompt of another length.
        """
        self._model, self._sites = model, batch.recording.sites
        n_prompt = [len(prompt) for prompt in batch.prompts]
        like = model.unembedding.weight
        self._prompt = RowEdits(batch.rows, Scope.PROMPT, batch.references, like, n_prompt)
        self._decode = RowEdits(batch.rows, Scope.DECODE, batch.references, like)
        self._recorder = Recorder(batch.recording, n_prompt)
        width = max(n_prompt)
        padded = [(0,) * (width - n) + prompt for n, prompt in zip(n_prompt, batch.prompts, strict=True)]
        self._ids = torch.tensor(padded, device=model.device)
        self._mask = torch.tensor([[0] * (width - n) + [1] * n for n in n_prompt], device=model.device)
        self._cache: Any = None

    def prefill(self) -> Float[Tensor, "batch vocab"]:
        """Reads the prompts; logits of the first new token."""
        from transformers import DynamicCache

        self._cache = DynamicCache(config=self._model.bridge.original_model.config)
        recorded: dict[Site, Tensor] = {}
        with self._model.hooked(self._prompt, self._sites, recorded):
            logits = self._advance(self._ids)
        self._recorder.prompt(recorded)
        return logits

    def step(self, tokens: Int[Tensor, " batch"]) -> Float[Tensor, "batch vocab"]:
        """Appends one token to each row; logits of the next."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        recorded: dict[Site, Tensor] = {}
        with self._model.hooked(self._decode, self._sites, recorded):
            logits = self._advance(tokens[:, None])
        self._recorder.step(recorded)
        return logits

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these."""
        self._mask = self._mask[rows]
        for stored in self._cache.layers:
            stored.reorder_cache(rows)
        self._decode.keep(rows)
        self._recorder.keep(rows)

    def recorded(self) -> list[dict[Site, Recorded]]:
        """What each row recorded, those that were dropped included."""
        return self._recorder.recorded()

    def _advance(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch vocab"]:
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        logits = self._model.bridge.forward(
            ids,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            return_type="logits",
        )
        return logits[:, -1]


def lens_model(model: Backend, name: str) -> LensModel:
    """A loaded model read and edited through TransformerLens.

    Raises:
        Unsupported: TransformerLens has no adapter for the architecture.
    """
    return LensModel(**model.parts(name), bridge=bridge_of(model))


def bridge_of(model: Backend) -> Any:
    """A `TransformerBridge` on the weights of a loaded model, which stays as it is.

    The bridge puts its own modules into the model that it is given and changes how it attends, so it gets a
    copy of the modules around the same tensors; and a copy of the tokenizer, as it is. Where one matrix holds
    query, key and value interleaved (gpt_neox), the bridge copies that matrix, split in three.

    Raises:
        Unsupported: TransformerLens has no adapter for the architecture.
    """
    with _contained():
        from transformer_lens.model_bridge import TransformerBridge

    module = shared_copy(model.module)
    if not getattr(module.config, "architectures", None):
        module.config.architectures = [type(module).__name__]
    tokenizer: Any = copy.deepcopy(model.tokenizer)
    # So that it is taken as it is: the bridge else reads it again from the place of this name.
    tokenizer.init_kwargs |= {"name_or_path": model.name, "add_bos_token": True}
    try:
        with _contained():
            bridge = TransformerBridge.boot_transformers(model.name, hf_model=module, tokenizer=tokenizer)
    except (ValueError, RuntimeError, LookupError, AttributeError) as error:
        architecture = str(model.config.model_type)
        reason = str(error).partition(".")[0][:160]
        raise Unsupported(
            f"TransformerLens cannot run the architecture {architecture!r} ({reason}). Load it as "
            f"hooks:{model.name}."
        ) from error
    bridge.eval()
    return bridge


@contextmanager
def _contained() -> Generator[None]:
    """Keeps what the library prints as it boots off the terminal, and what it sets from the whole process.

    Imported, it sets the level of transformers' logger; booting, it draws numbers for matrices that it fills.
    """
    theirs, disabled = logging.getLogger("transformers"), logging.root.manager.disable
    level = theirs.level
    logging.disable(max(disabled, logging.WARNING))
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            torch.random.fork_rng(devices=[]),
        ):
            yield
    finally:
        theirs.setLevel(level)
        logging.disable(disabled)
