"""What attribution says about the blocks, on the same failures that silencing was measured on.

Two estimates a block, both of the logit difference gold minus given at the token where they part:

* `direct`: what the block writes straight into that difference (direct logit attribution). The final
  norm's scale is frozen at the last residual stream, so the blocks and the embedding sum to the difference.
* `patching`: the first-order estimate of what silencing the block would add to the difference,
  gradient times minus contribution (or mean minus contribution), summed over the positions of the scope.

Reference: direct logit attribution as in Elhage et al., "A Mathematical Framework for Transformer
Circuits" (2021); attribution patching: Nanda (2023), and Syed, Rager, Conmy, arXiv 2310.10348 (2023). We
patch towards zero or a mean instead of a corrupted prompt, since that is what the sweep does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from interp.intervention import EDITABLE, Scope
from interp.localizers.parting import Parting
from interp.site import Point, Site
from interp.stats import spearman, top_k_overlap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jaxtyping import Float
    from torch import Tensor

    from interp.models.model import Model

ATTRIBUTION_SCHEMA = {
    "question": pl.String,
    "layer": pl.Int64,
    "point": pl.String,
    "direct": pl.Float64,
    "patching": pl.Float64,
    "gold_token": pl.String,
    "given_token": pl.String,
    "position": pl.Int64,
}
OVERLAPS = (1, 3, 5)


@dataclass(frozen=True)
class Ablation:
    """What the sweep puts in place of a contribution, and where: the thing that `patching` estimates.

    Attributes:
        scope: Positions that the sweep edits.
        means: Mean contribution a site; a site that is missing is set to zero.
    """

    scope: Scope = Scope.BOTH
    means: Mapping[Site, Float[Tensor, " d_model"]] = field(default_factory=dict)


def attribution_table(model: Model, partings: Sequence[Parting], ablation: Ablation) -> pl.DataFrame:
    """Direct attribution and attribution patching of every attention and MLP block.

    Returns:
        One row a parting, layer and point (`attn_out`, `mlp_out`): question, layer, point, direct and
        patching in logits, gold_token and given_token as text, position of the parting in tokens.
    """
    rows: list[dict[str, object]] = []
    for parting in partings:
        shown = {
            "gold_token": model.decode([parting.gold]),
            "given_token": model.decode([parting.given]),
            "position": len(parting.context) - 1,
        }
        for site, (direct, patching) in attribute(model, parting, ablation).items():
            where = {"question": parting.question, "layer": site.layer, "point": str(site.point)}
            rows.append({**where, "direct": direct, "patching": patching, **shown})
    return pl.DataFrame(rows, schema=ATTRIBUTION_SCHEMA)


def attribute(model: Model, parting: Parting, ablation: Ablation) -> dict[Site, tuple[float, float]]:
    """Direct attribution and attribution patching of each contribution at one parting, in logits."""
    import torch

    sites = [Site(layer, point) for layer in range(model.n_layers) for point in EDITABLE]
    last = Site(model.n_layers - 1, Point.RESID_POST)
    seen = model.forward(parting.context, record=[*sites, last], with_grad=True)
    logits = seen.logits[0, -1]
    difference = logits[parting.gold] - logits[parting.given]
    contributions = [seen.activations[site] for site in sites]
    gradients = torch.autograd.grad(difference, contributions)
    with torch.no_grad():
        gold, given = model.readout(seen.activations[last][0, -1], [parting.gold, parting.given])
        inside = _positions(parting, ablation.scope)
        found: dict[Site, tuple[float, float]] = {}
        for site, contribution, gradient in zip(sites, contributions, gradients, strict=True):
            direct = float(contribution[0, -1] @ (gold - given))
            put = ablation.means.get(site, torch.zeros(())).to(contribution)
            change = gradient[0, inside] * (put - contribution[0, inside])
            found[site] = direct, float(change.sum())
    return found


def attribution_blocks(attribution: pl.DataFrame) -> pl.DataFrame:
    """Mean over the failures: one row a layer and point, with direct and patching in logits."""
    return (
        attribution.group_by("layer", "point")
        .agg(pl.col("direct").mean(), pl.col("patching").mean())
        .sort("layer", "point")
    )


def block_estimates(repair: pl.DataFrame, attribution: pl.DataFrame) -> pl.DataFrame:
    """Measured repair and net gain beside the estimates, one row an MLP block in layer order.

    `direct` and `patching` are both signed as the predicted effect of silencing on gold minus given: a
    block predicted to help when silenced is positive.
    """
    estimates = attribution_blocks(attribution).filter(pl.col("point") == str(Point.MLP_OUT))
    return (
        repair.select("layer", "repair", "net_gain")
        .join(estimates.select("layer", -pl.col("direct"), pl.col("patching")), on="layer")
        .sort("layer")
    )


def agreement_table(blocks: pl.DataFrame) -> pl.DataFrame:
    """How each estimate ranks the blocks against what was measured.

    Args:
        blocks: Table of `block_estimates`.

    Returns:
        One row a method (`direct`, `patching`): Spearman correlation with repair and with net gain, share
        of the top 1, 3 and 5 blocks by repair that are also top by the estimate, number of blocks.
    """
    repair, net_gain = blocks["repair"].to_numpy(), blocks["net_gain"].to_numpy()
    rows: list[dict[str, object]] = []
    for method in ("direct", "patching"):
        estimate = blocks[method].to_numpy()
        overlaps = {f"overlap_{k}": top_k_overlap(estimate, repair, k) for k in OVERLAPS if k <= len(blocks)}
        correlations = {
            "spearman": spearman(estimate, repair),
            "spearman_net_gain": spearman(estimate, net_gain),
        }
        rows.append({"method": method, **correlations, **overlaps, "n_blocks": len(blocks)})
    return pl.DataFrame(rows)


def _positions(parting: Parting, scope: Scope) -> slice:
    """Positions of the context that the scope edits: the prompt, what was decoded after it, or all."""
    if scope is Scope.PROMPT:
        return slice(0, parting.n_prompt)
    return slice(parting.n_prompt, None) if scope is Scope.DECODE else slice(None)
