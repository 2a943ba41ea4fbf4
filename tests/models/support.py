"""Which laws hold where: architectures, backends, and every exception with its reason."""

from __future__ import annotations

from typing import Any

from torch import nn

from interp.models.backend import Backend
from interp.models.lens import LensModel
from interp.models.nnsight import NnsightModel
from interp.models.tiny import ARCHITECTURES

BACKENDS = ("hooks", "lens", "nnsight")
LLAMAS = ("llama", "lens:llama", "nnsight:llama")

REFUSED: dict[tuple[str, str], str] = {
    ("lens", "falcon_alibi"): "failed a load check .*: logits 0",
    ("lens", "falcon_grouped"): "TransformerLens cannot run the architecture 'falcon'",
}
"""(backend, architecture) -> what the refusal at load says. On all others every law is tested."""

NAMES = (
    *sorted(ARCHITECTURES),
    *(f"{b}:{name}" for b in BACKENDS[1:] for name in sorted(ARCHITECTURES) if (b, name) not in REFUSED),
)

NOT_TESTED: dict[tuple[str, str], str] = {
    ("an edit that does not fire once a pass is an error", "lens"): (
        "the test runs a block's MLP twice or not at all by its `forward`; the bridge's blocks have none to "
        "replace. Firings are counted by the same code."
    ),
    ("an edit that does not fire once a pass is an error", "nnsight"): (
        "nnsight shows a trace the first call of a module a pass and raises its own error if there is none."
    ),
    ("single experts", "lens"): "no hook point; refused, which is tested.",
    ("single experts", "nnsight"): "not built; refused, which is tested.",
}
"""(law, backend) -> why it is tested on the reference backend only."""


def running(model: Backend) -> nn.Module:
    """The module whose passes a backend runs."""
    if isinstance(model, LensModel):
        return model.bridge.original_model
    if isinstance(model, NnsightModel):
        native: Any = model.native
        return native._module
    return model.module


def table() -> str:
    """The table of the README: what works by architecture and backend."""
    rows = [
        "| architecture | tiny model | `hooks:` | `lens:` | `nnsight:` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, (model_type, _) in sorted(ARCHITECTURES.items()):
        cells = [_cell(backend, name) for backend in BACKENDS]
        rows.append(f"| {model_type} | `tiny:{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(backend: str, name: str) -> str:
    if (backend, name) in REFUSED:
        return "refused"
    return "every law"
