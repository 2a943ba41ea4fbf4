"""Reference sets: the mean contribution of each block over some prompts, for mean ablation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interp.procedure import Prompt, content_key
from interp.site import Point, Site

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from interp.models.model import Model


def reference_key(model: Model, texts: Sequence[str], prompt: Prompt) -> str:
    """Content key of a reference set: the model and the rendered prompts, in any order."""
    return content_key([model.fingerprint, sorted(model.render(text, prompt).text for text in texts)])


def mean_reference(
    model: Model, texts: Sequence[str], prompt: Prompt
) -> dict[Site, Float[Tensor, " d_model"]]:
    """Mean MLP contribution of each layer over all positions of all prompts.

    Every position counts the same, so a longer prompt counts more.

    Args:
        model: The model to read.
        texts: Questions of the reference set.
        prompt: What stands around them.
    """
    sites = [Site(layer, Point.MLP_OUT) for layer in range(model.n_layers)]
    totals: dict[Site, Tensor] = {}
    n_positions = 0
    for text in sorted(texts):
        tokens = model.render(text, prompt).tokens
        seen = model.forward(tokens, record=sites).activations
        n_positions += len(tokens)
        for site in sites:
            total = seen[site][0].double().sum(0)
            totals[site] = totals[site] + total if site in totals else total
    return {site: (total / n_positions).float() for site, total in totals.items()}
