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


class RowEdits:
    """What to do at each site to each row of a batch, in one phase: the prompt, or decoding.

    Attributes:
        sites: Every site that some row edits.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Intervention]],
        phase: Scope,
        references: References | None,
        like: Tensor,
    ) -> None:
        """Compiles the interventions of every row.

        Args:
            rows: Interventions of each row; those that do not act in the phase are left out.
            phase: `Scope.PROMPT` or `Scope.DECODE`.
            references: Vectors that `Mean` words name.
            like: A tensor with the dtype and device of the model.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, or names an unknown
                reference set.
        """
        self._n_rows, self._like = len(rows), like
        self._factors: dict[Site, Float[Tensor, " batch"]] = {}
        self._means: dict[Site, tuple[Bool[Tensor, " batch"], Float[Tensor, "batch d_model"]]] = {}
        for row, interventions in enumerate(rows):
            acting = [edit for edit in interventions if acts_in(edit, phase)]
            _check_order_free(acting)
            for edit in acting:
                if isinstance(edit, Scale):
                    self._scale(edit, row)
                else:
                    self._put_mean(edit, row, references)
        self.sites = {*self._factors, *self._means}

    def _scale(self, edit: Scale, row: int) -> None:
        ones = torch.ones(self._n_rows, dtype=self._like.dtype, device=self._like.device)
        self._factors.setdefault(edit.site, ones)[row] *= edit.factor

    def _put_mean(self, edit: Mean, row: int, references: References | None) -> None:
        vector = (references or {}).get(edit.reference, {}).get(edit.site)
        if vector is None:
            raise BadInput(
                f"{edit} needs the vectors of reference set {edit.reference!r} at {edit.site}; pass them in "
                "references={key: {site: vector}}."
            )
        device = self._like.device
        empty = (
            torch.zeros(self._n_rows, dtype=torch.bool, device=device),
            torch.zeros(self._n_rows, vector.shape[-1], dtype=self._like.dtype, device=device),
        )
        mask, values = self._means.setdefault(edit.site, empty)
        mask[row] = True
        values[row] = vector.to(values)

    def apply(
        self, site: Site, contribution: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """The contribution as the rows' edits leave it; the same tensor where no row edits the site.

        A contribution of fewer rows than were compiled belongs to the first of them.
        """
        n = contribution.shape[0]
        factors = self._factors.get(site)
        if factors is not None:
            contribution = contribution * factors[:n, None, None]
        means = self._means.get(site)
        if means is not None:
            mask, values = means
            contribution = torch.where(mask[:n, None, None], values[:n, None, :], contribution)
        return contribution

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these, in this order."""
        self._factors = {site: factors[rows] for site, factors in self._factors.items()}
        self._means = {site: (mask[rows], values[rows]) for site, (mask, values) in self._means.items()}


def acts_in(edit: Intervention, phase: Scope) -> bool:
    """Whether an intervention acts in the prompt pass, or in decoding."""
    return edit.scope in (phase, Scope.BOTH)


def _check_order_free(interventions: Sequence[Intervention]) -> None:
    for mean in interventions:
        if isinstance(mean, Mean):
            for other in interventions:
                if other is not mean and other.site == mean.site:
                    raise BadInput(
                        f"{mean} and {other} edit the same site; what they do depends on their order."
                    )
