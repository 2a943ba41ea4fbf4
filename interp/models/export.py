"""Writes an edited model as an ordinary checkpoint, which transformers loads without this package."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interp.errors import BadInput, Unsupported
from interp.intervention import Intervention
from interp.models.backend import Backend
from interp.models.checkpoint import shared_copy
from interp.models.checks import TEXTS, limit_of, relative, usable_prompt, verify
from interp.models.fold import fold
from interp.models.source import quiet_transformers
from interp.models.unroll import unroll
from interp.route import Route

if TYPE_CHECKING:
    from torch import Tensor

CARD = """---
library_name: transformers
---

# {title}

{name}, changed by interp and written as an ordinary checkpoint.

| | |
| --- | --- |
| from | {name}, fingerprint {fingerprint} |
| edits | {edits} |
| route | {route} |
{note}
Edits multiply what a block adds to the residual stream, at every position; they are folded into its output
weights. A route is the order in which the layers of the original run.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained(".", dtype="auto")
tokenizer = AutoTokenizer.from_pretrained(".")
```

When it was written it was loaded back, and its logits differed from those of the edited model by at most
{error:.1g} of the largest.
"""


def export(
    model: Backend,
    out: str | Path,
    *,
    interventions: Sequence[Intervention] = (),
    route: Route | None = None,
    note: str = "",
) -> Path:
    """Writes a model with its edits folded into the weights and its layers in the order of a route.

    The folder holds safetensors weights, the config, the tokenizer and a card that says what was done. It is
    written beside its place, loaded back by transformers, compared with the edited model, and only then put
    there.

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
    out = Path(out)
    _check(model, out, interventions, route)
    module = shared_copy(model.module)
    fold(module, model, interventions)
    if route is not None:
        unroll(module, model, route)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise BadInput(f"{str(out)!r} cannot be written: {error.strerror}.") from error
    try:
        _write(module, model, scratch)
        error = _compare(module, model, scratch, None if route else interventions)
        (scratch / "README.md").write_text(_card(model, interventions, route, note=note, error=error))
        scratch.chmod(0o755)
        if out.exists():
            out.rmdir()  # it is empty
        scratch.rename(out)
    except OSError as error:
        raise BadInput(f"{str(out)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return out


def _check(model: Backend, out: Path, interventions: Sequence[Intervention], route: Route | None) -> None:
    if not interventions and route is None:
        raise BadInput("There is nothing to export: name at least one edit or a route.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{str(out)!r} is there already and is not an empty folder. Name another one.")
    for edit in interventions:
        model.check_site(edit.site)
    if route is not None:
        route.check(model.n_layers)


def _write(module: Any, model: Backend, folder: Path) -> None:
    # transformers refuses to save what is still marked as quantized; the weights no longer are.
    with quiet_transformers():
        module.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)


def _compare(
    module: nn.Module, model: Backend, folder: Path, interventions: Sequence[Intervention] | None
) -> float:
    """Loads the folder back and compares it with the edited model, or with the unrolled one in memory.

    Returns:
        The largest difference of logits, relative to the largest logit.

    Raises:
        Unsupported: It is too large, or the checks that every model must pass fail.
    """
    from transformers import AutoModelForCausalLM

    from interp.models.hooks import HooksModel

    with quiet_transformers():
        loaded: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=next(module.parameters()).dtype)
    loaded.eval().requires_grad_(False).to(model.device)
    worst = 0.0
    for text in TEXTS:
        tokens = model.render(text, usable_prompt(model)).tokens
        if interventions is None:
            expected = _logits(module, tokens, model.device)
        else:
            expected = model.forward(tokens, interventions=interventions).logits
        worst = max(worst, relative(_logits(loaded, tokens, model.device), expected))
    limit = limit_of(model)
    if not worst <= limit:
        raise Unsupported(
            f"The checkpoint that was written differs from the edited model by {worst:.2g} of the largest "
            f"logit (limit {limit:g}), so it was removed. The config of "
            f"{model.config.model_type!r} cannot say what was asked, or its weights are used elsewhere too."
        )
    layout = model.layout
    verify(HooksModel("the exported checkpoint", "", loaded, model.tokenizer, layout, {}))
    return worst


def _logits(module: Any, tokens: Sequence[int], device: torch.device) -> Tensor:
    ids = torch.tensor([list(tokens)], device=device)
    with torch.no_grad():
        return module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits


def _card(
    model: Backend, interventions: Sequence[Intervention], route: Route | None, *, note: str, error: float
) -> str:
    edits = ", ".join(f"`{edit}`" for edit in interventions) or "none"
    return CARD.format(
        title=f"{Path(model.name).name}, edited",
        name=f"`{model.name}`",
        fingerprint=f"`{model.fingerprint}`",
        edits=edits,
        route=f"`{route}`" if route else "as it was",
        note=f"| run | {note} |\n" if note else "",
        error=error,
    )
