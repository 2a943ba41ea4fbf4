"""Reference sets: the mean contribution of each block over some prompts, for mean ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interp.errors import RunDamaged
from interp.procedure import Prompt, content_key
from interp.site import Point, Site

if TYPE_CHECKING:
    import polars as pl
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


def reference_table(reference: Mapping[Site, Float[Tensor, " d_model"]]) -> pl.DataFrame:
    """A reference set as a table: one row a site, `site` and `mean`, the vector as a list of floats."""
    import polars as pl

    return pl.DataFrame(
        {"site": [str(site) for site in reference], "mean": [mean.tolist() for mean in reference.values()]},
        schema={"site": pl.String, "mean": pl.List(pl.Float32)},
    )


def read_reference(path: Path) -> dict[Site, Float[Tensor, " d_model"]]:
    """A reference set from the Parquet file of its table.

    Raises:
        RunDamaged: The file cannot be read back.
    """
    import polars as pl
    import torch

    try:
        rows = pl.read_parquet(path, glob=False).iter_rows(named=True)
        return {Site.parse(row["site"]): torch.tensor(row["mean"]) for row in rows}
    except (OSError, pl.exceptions.PolarsError, KeyError) as error:
        raise RunDamaged(f"{path} cannot be read back ({error}). Remove it: it is made again.") from None
