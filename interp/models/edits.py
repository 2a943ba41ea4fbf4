"""Interventions of a batch as tensors: each row has its own, so different edits share one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from interp.errors import BadInput
from interp.intervention import Intervention, Mean, Scale, Scope
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from torch import Tensor

    from interp.models.model import References

PHASES = (Scope.PROMPT, Scope.DECODE)


class RowEdits:
    """What to do at each site to each row of a batch, in the prompt pass and in decoding.

    Attributes:
        phase: `Scope.PROMPT` or `Scope.DECODE`: which edits `apply` carries out now.
        sites: Every site that some row edits.
    """

    def __init__(
        self, rows: Sequence[Sequence[Intervention]], references: References | None, like: Tensor
    ) -> None:
        """Compiles the interventions of every row.

        Args:
            rows: Interventions of each row.
            references: Vectors that `Mean` words name.
            like: A tensor with the dtype and device of the model.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, or names an unknown
                reference set.
        """
        self.phase = Scope.PROMPT
        self._factors: dict[tuple[Site, Scope], Float[Tensor, " batch"]] = {}
        self._means: dict[
            tuple[Site, Scope], tuple[Bool[Tensor, " batch"], Float[Tensor, "batch d_model"]]
        ] = {}
        for row, interventions in enumerate(rows):
            _check_order_free(interventions)
            for edit in interventions:
                for phase in PHASES:
                    if edit.scope not in (phase, Scope.BOTH):
                        continue
                    if isinstance(edit, Scale):
                        ones = torch.ones(len(rows), dtype=like.dtype, device=like.device)
                        self._factors.setdefault((edit.site, phase), ones)[row] *= edit.factor
                    else:
                        self._put_mean(edit, phase, row, len(rows), references, like)
        self.sites = {site for site, _ in self._factors} | {site for site, _ in self._means}

    def _put_mean(
        self, edit: Mean, phase: Scope, row: int, n_rows: int, references: References | None, like: Tensor
    ) -> None:
        vector = (references or {}).get(edit.reference, {}).get(edit.site)
        if vector is None:
            raise BadInput(
                f"{edit} needs the vectors of reference set {edit.reference!r} at {edit.site}; pass them in "
                "references={key: {site: vector}}."
            )
        empty = (
            torch.zeros(n_rows, dtype=torch.bool, device=like.device),
            torch.zeros(n_rows, vector.shape[-1], dtype=like.dtype, device=like.device),
        )
        mask, values = self._means.setdefault((edit.site, phase), empty)
        mask[row] = True
        values[row] = vector.to(values)

    def apply(
        self, site: Site, contribution: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """The contribution as the rows' edits leave it; the same tensor where no row edits the site now."""
        factors = self._factors.get((site, self.phase))
        if factors is not None:
            contribution = contribution * factors[:, None, None]
        means = self._means.get((site, self.phase))
        if means is not None:
            mask, values = means
            contribution = torch.where(mask[:, None, None], values[:, None, :], contribution)
        return contribution

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these, in this order."""
        self._factors = {key: factors[rows] for key, factors in self._factors.items()}
        self._means = {key: (mask[rows], values[rows]) for key, (mask, values) in self._means.items()}


def _check_order_free(interventions: Sequence[Intervention]) -> None:
    for mean in interventions:
        if isinstance(mean, Mean):
            for other in interventions:
                overlap = other is not mean and other.site == mean.site
                if overlap and (other.scope == mean.scope or Scope.BOTH in (other.scope, mean.scope)):
                    raise BadInput(
                        f"{mean} and {other} edit the same site; what they do depends on their order."
                    )
