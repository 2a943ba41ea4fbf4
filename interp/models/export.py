"""Writes an edited model as an ordinary checkpoint, which transformers loads without this package."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import nn

from interp.errors import BadInput, Unsupported
from interp.intervention import Intervention
from interp.models.backend import Backend
from interp.models.card import card_of
from interp.models.checkpoint import shared_copy
from interp.models.checks import TEXTS, failures, limit_of, measure, relative, usable_prompt
from interp.models.fold import fold
from interp.models.source import clear_marks, quiet_transformers
from interp.models.unroll import check_kinds, unroll
from interp.route import Route

if TYPE_CHECKING:
    from torch import Tensor


def export(
    model: Backend,
    out: str | Path,
    *,
    interventions: Sequence[Intervention] = (),
    route: Route | None = None,
    note: str = "",
) -> Path:
    """Writes a model with its edits folded into the weights and its layers in the order of a route.

    The folder holds safetensors weights, the config, the generation config, the tokenizer and a card that
    says what was done. It is written beside its place, loaded back by transformers, compared with the edited
    model, and only then put there: a process that is killed leaves a hidden folder, never half a checkpoint.

    Args:
        model: A loaded model; it is not changed.
        out: The folder to write; it must not exist, or be empty.
        interventions: `Scale` words that act on the prompt and in decoding.
        route: Order of the layers; None keeps it. An edit acts at every visit of its layer.
        note: A line for the card, for instance which run this comes from.

    Returns:
        The folder.

    Raises:
        BadInput: The folder is not empty or cannot be written, or there is nothing to do.
        BadWord: The route names a layer that the model lacks.
        Unsupported: An edit or the route cannot be written into this architecture's weights and config
            exactly; says why.
    """
    out, model = Path(out), model.here
    check_free(out)
    _check(model, interventions, route)
    module, expected = _edited(model, interventions, route)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise BadInput(f"{str(out)!r} cannot be written: {error.strerror}.") from error
    try:
        _write(module, model, scratch)
        error = _compare(scratch, expected, model, route)
        card = card_of(model, interventions, route, note=note, error=error)
        (scratch / "README.md").write_text(card, encoding="utf-8")
        scratch.chmod(0o755)
        if out.exists():
            out.rmdir()  # it is empty
        scratch.rename(out)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{str(out)!r} cannot be written: {reason}.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return out


def check_free(out: Path) -> None:
    """Refuses a place where something is already: an export never overwrites.

    Raises:
        BadInput: There is a file, or a folder that is not empty.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{str(out)!r} is there already and is not an empty folder. Name another one.")


def _check(model: Backend, interventions: Sequence[Intervention], route: Route | None) -> None:
    if not interventions and route is None:
        raise BadInput("There is nothing to export: name at least one edit or a route.")
    for edit in interventions:
        model.check_site(edit.site)
    if route is not None:
        route.check(model.n_layers)
    for name, weight in model.module.named_parameters():
        if not weight.is_floating_point() or weight.itemsize < 2:
            raise Unsupported(
                f"{name} is quantized ({weight.dtype}), and an edit of quantized weights is not exact. "
                "Export the model from unquantized weights."
            )


def _edited(
    model: Backend, interventions: Sequence[Intervention], route: Route | None
) -> tuple[nn.Module, list[Tensor]]:
    """The module to write, around the model's own tensors where they stay, and the logits it must give.

    Without a route those are of the model's own edited pass. With one they are of the module itself, once
    what was folded into it, in the old order, has been compared with that pass.
    """
    module = shared_copy(model.module)
    clear_marks(module)
    fold(module, model, interventions)
    asked = _asked(model)
    expected = [model.forward(tokens, interventions=interventions).logits for tokens in asked]
    if route is not None:
        _refuse_difference(_worst(module, expected, model), model, "edits, folded into weights, give")
        unroll(module, model, route)
        expected = [_logits(module, tokens, model.device) for tokens in asked]
    return module, expected


def _write(module: Any, model: Backend, folder: Path) -> None:
    """Saves module and tokenizer.

    Raises:
        Unsupported: transformers refuses to save them.
    """
    try:
        with quiet_transformers():
            module.save_pretrained(folder)
            model.tokenizer.save_pretrained(folder)
    except (RuntimeError, ValueError) as error:
        raise Unsupported(f"transformers refuses to save this model: {_on_one_line(error)}") from error


def _compare(folder: Path, expected: Sequence[Tensor], model: Backend, route: Route | None) -> float:
    """Loads the folder back and compares it with what it must be.

    Returns:
        The largest difference of logits, relative to the largest logit.

    Raises:
        Unsupported: It is too large, a layer has become another, or a check that every model must pass fails.
    """
    from transformers import AutoModelForCausalLM

    from interp.models.hooks import HooksModel

    dtype = next(model.module.parameters()).dtype
    try:
        with quiet_transformers():
            loaded: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Unsupported(
            f"transformers cannot load what was written, so it was removed: {_on_one_line(error)}"
        ) from error
    loaded.eval().requires_grad_(False).to(model.device)
    check_kinds(loaded, model, route or Route.identity(model.n_layers))
    worst = _worst(loaded, expected, model)
    _refuse_difference(worst, model, "checkpoint that was written, and has been removed, gives")
    written = HooksModel("the exported checkpoint", "", loaded, model.tokenizer, model.layout, {})
    if failed := failures(written, measure(written)):
        numbers = ", ".join(f"{name} {error:.2g}" for name, error in failed.items())
        raise Unsupported(
            f"The checkpoint that was written fails a load check, so it was removed: {numbers} "
            f"(limit {limit_of(model):g}). Export fewer edits, or a route that keeps more layers."
        )
    return worst


def _asked(model: Backend) -> list[tuple[int, ...]]:
    return [model.render(text, usable_prompt(model)).tokens for text in TEXTS]


def _worst(module: nn.Module, expected: Sequence[Tensor], model: Backend) -> float:
    """Largest difference of a module's logits on the texts of the load checks, relative to the largest."""
    pairs = zip(_asked(model), expected, strict=True)
    errors = [relative(_logits(module, tokens, model.device), logits) for tokens, logits in pairs]
    return float(torch.tensor(errors).max())  # of NaN and a number, NaN


def _refuse_difference(worst: float, model: Backend, what: str) -> None:
    if not worst <= limit_of(model):
        raise Unsupported(
            f"The {what} logits that differ from the edited model's by {worst:.2g} of the largest (limit "
            f"{limit_of(model):g}). {model.config.model_type!r} cannot say in weights and config what was "
            "asked, or uses the weights elsewhere too."
        )


def _logits(module: Any, tokens: Sequence[int], device: torch.device) -> Tensor:
    ids = torch.tensor([list(tokens)], device=device)
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def _on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
