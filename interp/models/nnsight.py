"""The nnsight backend: the same reads and edits inside nnsight's traces, here or on its server."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from interp.errors import InterpError, Unsupported
from interp.intervention import EDITABLE, Intervention, Scope
from interp.models.backend import Backend
from interp.models.checkpoint import shared_copy
from interp.models.decode import Answer, Batch, add_margins, add_scores, append_token, check_finite
from interp.models.edits import RowEdits
from interp.models.layout import module_path
from interp.models.model import Forward
from interp.models.recording import Recorder, kept_on
from interp.models.score import EXACT, Scored
from interp.procedure import Decoding
from interp.site import Point, Site

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from interp.models.model import References
    from interp.route import Route


@dataclass(frozen=True)
class NnsightModel(Backend):
    """A model read and edited through nnsight; generation is its own, edited step by step.

    Attributes:
        native: The `nnsight.TransformersModel` on the same weights.
        remote: Whether passes run on nnsight's server (NDIF).
    """

    native: Any
    remote: bool = False
    backend: ClassVar[str] = "nnsight"

    @property
    def environment(self) -> Mapping[str, str]:
        """What else decides its numbers: as everywhere, and where it runs."""
        return {**super().environment, **({"remote": "true"} if self.remote else {})}

    @property
    def here(self) -> NnsightModel:
        """The same model with every pass run on this machine."""
        return replace(self, remote=False)

    def check_site(self, site: Site) -> None:
        """Refuses a site that this model does not have, and single experts.

        Raises:
            Unsupported: There is no such layer or stream; or it is one expert.
        """
        super().check_site(site)
        if site.expert is not None:
            plain = self.name.removeprefix(f"{self.backend}:")
            raise Unsupported(f"The nnsight backend does not edit one expert, {site}. Load hooks:{plain}.")

    def check_decoding(self, decoding: Decoding) -> None:
        """Refuses sampling: `generate` draws by the whole batch, not by the seed of each row.

        Raises:
            Unsupported: The decoding has a temperature.
        """
        if not decoding.is_greedy:
            plain = self.name.removeprefix(f"{self.backend}:")
            raise Unsupported(f"The nnsight backend decodes greedily. To sample, load hooks:{plain}.")

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
            Unsupported: A site does not exist in this model, or gradients are asked of a server.
        """
        self.check_pass(tokens, interventions, record, route)
        if with_grad and self.remote:
            raise Unsupported("Gradients do not come back from a server. Load the model without remote.")
        edits = RowEdits([interventions], Scope.PROMPT, references, self.unembedding.weight, [len(tokens)])
        taps = self._taps(edits.sites, record)
        ids = torch.tensor([list(tokens)], device=self.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        with (
            torch.set_grad_enabled(with_grad),
            _own_errors(),
            self.native.trace(inputs, use_cache=False, **self._where()),
        ):
            seen: dict[str, Any] = {}.save()  # pyright: ignore[reportAttributeAccessIssue]
            if with_grad:
                embedding = _envoy(self.native, self.layout.embedding)
                embedding.output = embedding.output.detach().requires_grad_()
            seen["sites"] = _visit(taps, edits)
            seen["logits"] = self.native.output.logits
        return Forward(seen["logits"], kept_on(seen["sites"], record_on))

    def answers(self, batch: Batch) -> list[Answer]:
        """Decodes a batch greedily in one `generate` of as many steps as the longest answer may have.

        Raises:
            BadLogits: The logits of a row are NaN or infinite.
        """
        n_steps = max(decoding.max_new_tokens for decoding in batch.decodings)
        marked = self.unembedding.weight.dtype not in EXACT and not self.remote
        run = self._generate(batch, n_steps, keep=batch.scored or marked)
        answers = [Answer(scored=Scored() if batch.scored else None) for _ in batch.decodings]
        for step in range(n_steps):
            alive = [row for row, answer in enumerate(answers) if answer.finish is None]
            check_finite(run["finite"][step][alive], alive, answers)
            if batch.scored and alive:
                chosen = [int(token) for token in run["tokens"][alive, step]]
                add_scores([answers[row] for row in alive], run["logits"][step][alive], chosen)
            if marked and alive:
                add_margins([answers[row] for row in alive], run["logits"][step][alive])
            for row in alive:
                append_token(
                    answers[row],
                    int(run["tokens"][row, step]),
                    batch.decodings[row],
                    end_tokens=self.end_tokens,
                    to_text=self.decode,
                )
        recorder = Recorder(batch.recording, [len(prompt) for prompt in batch.prompts])
        recorder.prompt(run["prompt"])
        for seen in run["steps"]:
            recorder.step(seen)
        for answer, recorded in zip(answers, recorder.recorded(), strict=True):
            n_new = len(answer.tokens) - 1
            answer.activations = {site: whole.first(n_new) for site, whole in recorded.items()}
        return answers

    def read_answers(self, batch: Batch, answers: Sequence[Sequence[int]]) -> list[list[float]]:
        """Log-probability of each token of one answer a row, from a pass over each with its prompt."""
        found: list[list[float]] = []
        for prompt, edits, answer in zip(batch.prompts, batch.rows, answers, strict=True):
            with torch.no_grad():
                logits = self.forward([*prompt, *answer[:-1]], interventions=edits).logits[0]
            logprobs = logits[len(prompt) - 1 :].float().log_softmax(-1)
            chosen = torch.tensor(list(answer), device=logprobs.device)[:, None]
            found.append(logprobs.gather(-1, chosen)[:, 0].double().tolist())
        return found

    def decoded_logits(
        self, prompts: Sequence[tuple[int, ...]], n_new_tokens: int
    ) -> Float[Tensor, "batch step vocab"]:
        """Logits of a left-padded batch decoded greedily, with a cache, never stopping."""
        batch = Batch(prompts, [()] * len(prompts), [])
        return torch.stack(self._generate(batch, n_new_tokens, keep=True)["logits"], dim=1)

    def _generate(self, batch: Batch, n_steps: int, *, keep: bool = False) -> dict[str, Any]:
        """Exactly `n_steps` new tokens in every row.

        Args:
            batch: Prompts, edits, and what to record.
            n_steps: Number of new tokens.
            keep: Whether the logits of each step are handed back.
        """
        n_prompt = [len(prompt) for prompt in batch.prompts]
        like = self.unembedding.weight
        first = RowEdits(batch.rows, Scope.PROMPT, batch.references, like, n_prompt)
        later = RowEdits(batch.rows, Scope.DECODE, batch.references, like)
        at_first = self._taps(first.sites, batch.recording.sites)
        at_later = self._taps(later.sites, batch.recording.sites)
        model = self.native
        with (
            torch.no_grad(),
            _own_errors(),
            model.generate(self._padded(batch.prompts), **self._greedy(n_steps), **self._where()) as tracer,
        ):
            run: dict[str, Any] = {"steps": [], "finite": [], "logits": []}.save()  # pyright: ignore[reportAttributeAccessIssue]
            for step in tracer.iter[0:n_steps]:
                if step == 0:
                    run["prompt"] = _visit(at_first, first)
                else:
                    run["steps"].append(_visit(at_later, later))
                logits = model.output.logits[:, -1]
                run["finite"].append(torch.isfinite(logits).all(-1))
                if keep:
                    run["logits"].append(logits)
            run["tokens"] = tracer.result
        run["tokens"] = run["tokens"][:, max(n_prompt) :]
        return run

    def _padded(self, prompts: Sequence[tuple[int, ...]]) -> dict[str, Tensor]:
        width = max(map(len, prompts))
        ids = [[0] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        return {
            "input_ids": torch.tensor(ids, device=self.device),
            "attention_mask": torch.tensor(mask, device=self.device),
        }

    def _greedy(self, n_steps: int) -> dict[str, Any]:
        from transformers import GenerationConfig

        config = GenerationConfig(do_sample=False, max_new_tokens=n_steps, eos_token_id=None, pad_token_id=0)
        return {"generation_config": config}

    def _where(self) -> dict[str, Any]:
        return {"remote": True} if self.remote else {}

    def _taps(self, edited: set[Site], record: Sequence[Site]) -> list[_Tap]:
        """Where to read and edit, in the order in which a pass comes there."""
        sites = sorted(edited | set(record), key=lambda site: site.order)
        return [_tap(self, site, recorded=site in set(record)) for site in sites]


@dataclass(frozen=True)
class _Tap:
    """One site inside a trace.

    Attributes:
        site: The site.
        recorded: Whether its value is recorded.
        block: nnsight's view of the block.
        module: nnsight's view of the module that writes or reads the site.
        is_flat: Whether the module shows batch and positions in one dimension.
        is_flat_block: Whether some module of the block does.
        in_place: Whether the block changes what the module writes.
        scale: What the block multiplies the contribution by.
    """

    site: Site
    recorded: bool
    block: Any
    module: Any
    is_flat: bool
    is_flat_block: bool
    in_place: bool
    scale: float | None

    def visit(self, edits: RowEdits, block_shape: torch.Size | None) -> Tensor:
        """Edits the site and gives its value.

        Args:
            edits: What to do.
            block_shape: Batch, positions and width of what the block reads; needed where the module is flat.
        """
        shape = block_shape if self.is_flat else None
        if self.site.point in (Point.RESID_PRE, Point.RESID_MID):
            return _shaped(self.module.input, shape)
        raw = self.module.output
        stream = raw[0] if isinstance(raw, tuple) else raw
        value = _shaped(stream, shape)
        if self.site.point is Point.RESID_POST:
            return value
        if self.scale is not None:
            value = value * self.scale
        edited = edits.apply(self.site, value)
        # On a graph the value must be what the block goes on with; so must a view of what it writes.
        derived = shape is not None or (self.scale is not None and torch.is_grad_enabled())
        if edited is not value or self.in_place or derived:
            out = edited if self.scale is None else edited / self.scale
            out = out.reshape(stream.shape)
            out = out.clone() if self.in_place else out
            self.module.output = (out, *raw[1:]) if isinstance(raw, tuple) else out
        return edited


def _tap(model: NnsightModel, site: Site, *, recorded: bool) -> _Tap:
    layout, inner = model.layout, model.blocks[site.layer]
    block = _envoy(model.native, layout.blocks)[site.layer]
    is_stream = site.point in (Point.RESID_PRE, Point.RESID_POST)
    scaled = layout.contribution_scale if site.point in EDITABLE else None
    return _Tap(
        site,
        recorded,
        block,
        block if is_stream else _envoy(block, module_path(inner, layout, site.point)),
        is_flat_block=layout.flat_mlp,
        is_flat=layout.flat_mlp and site.point in (Point.RESID_MID, Point.MLP_OUT),
        in_place=layout.adds_in_place and site.point is Point.MLP_OUT,
        scale=getattr(inner, scaled) if scaled else None,
    )


def _visit(taps: Sequence[_Tap], edits: RowEdits) -> dict[Site, Tensor]:
    """Edits every site of one pass, and gives what is recorded; called inside a trace."""
    seen: dict[Site, Tensor] = {}
    shapes: dict[int, torch.Size] = {}
    for tap in taps:
        layer = tap.site.layer
        if tap.is_flat_block and layer not in shapes:
            shapes[layer] = tap.block.input.shape  # first, since a trace does not look back
        value = tap.visit(edits, shapes.get(layer))
        if tap.recorded:
            seen[tap.site] = value
    edits.end_pass()
    return seen


def _shaped(stream: Tensor, shape: torch.Size | None) -> Tensor:
    return stream if shape is None else stream.view(shape)


def _envoy(above: Any, path: str) -> Any:
    """Nnsight's view of a module below another."""
    for name in path.split("."):
        above = getattr(above, name)
    return above


@contextmanager
def _own_errors() -> Generator[None]:
    """Lets this package's errors leave a trace as what they are."""
    try:
        yield
    except Exception as error:
        inner: BaseException | None = error
        while inner is not None and not isinstance(inner, InterpError):
            inner = inner.__cause__ or inner.__context__
        if inner is None or inner is error:
            raise
        raise inner from None


def nnsight_model(model: Backend, name: str, *, remote: bool = False) -> NnsightModel:
    """A loaded model read and edited through nnsight.

    Args:
        model: The model, loaded here.
        name: The name to show.
        remote: Whether passes run on nnsight's server; the model then needs the name of a hub id.
    """
    from transformers import GenerationConfig

    native = native_of(model)
    # What generation does is said in each call; else the model's own settings, an end token first, fill in.
    native._module.generation_config = GenerationConfig()
    if remote:
        native.repo_id = model.name
    return NnsightModel(**model.parts(name), native=native, remote=remote)


def native_of(model: Backend) -> Any:
    """An `nnsight.TransformersModel` on the weights of a loaded model, which stays as it is.

    nnsight puts its own hooks on the modules that it is given, so it gets a copy of the modules around the
    same tensors.
    """
    from nnsight import TransformersModel

    return TransformersModel(shared_copy(model.module), task="text-generation", tokenizer=model.tokenizer)
