"""Interventions of a batch as tensors: each row has its own, so different edits share one batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from interp.errors import BadInput, EditMisfired
from interp.intervention import Intervention, Mean, Patch, Resample, Scale, Scope
from interp.models.model import Recorded
from interp.site import Site

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from torch import Tensor

    from interp.models.model import References


@dataclass
class _Values:
    """What takes the place of a contribution at one site.

    Attributes:
        rows: Where there is something to put: at which row and which position, counted from the last, or,
            in decoding, at which row and step.
        values: What to put there.
    """

    rows: Bool[Tensor, "batch pos"]
    values: Float[Tensor, "batch pos d_model"]


class RowEdits:
    """What to do at each site to each row of a batch, in one phase: the prompt, or decoding.

    Attributes:
        sites: Every site that some row edits; experts included.
        by_position: Whether what some row does depends on the position.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Intervention]],
        phase: Scope,
        references: References | None,
        like: Tensor,
        n_prompt: Sequence[int] | None = None,
    ) -> None:
        """Compiles the interventions of every row.

        Args:
            rows: Interventions of each row; those that do not act in the phase are left out.
            phase: `Scope.PROMPT` or `Scope.DECODE`.
            references: Tensors that interventions name by key.
            like: A tensor with the dtype and device of the model.
            n_prompt: Tokens of each row's prompt; `Patch` compares them.

        Raises:
            BadInput: A row edits a site in two ways that depend on their order, names an unknown reference,
                or patches from a prompt of another length.
        """
        self._n_rows, self._phase, self._like = len(rows), phase, like
        self._factors: dict[Site, Float[Tensor, " batch"]] = {}
        self._means: dict[Site, tuple[Bool[Tensor, " batch"], Float[Tensor, "batch d_model"]]] = {}
        self._placed: dict[Site, _Values] = {}
        self._fired: Counter[Site] = Counter()
        self._n_passes = 0
        for row, interventions in enumerate(rows):
            acting = [edit for edit in interventions if acts_in(edit, phase)]
            _check_order_free(acting)
            for edit in acting:
                if isinstance(edit, Scale):
                    self._scale(edit, row)
                elif isinstance(edit, Mean):
                    self._put_mean(edit, row, references)
                else:
                    self._put_recorded(edit, row, references, n_prompt[row] if n_prompt else None)
        self.sites = {*self._factors, *self._means, *self._placed}
        self.by_position = bool(self._placed)

    def _scale(self, edit: Scale, row: int) -> None:
        ones = torch.ones(self._n_rows, dtype=self._like.dtype, device=self._like.device)
        self._factors.setdefault(edit.site, ones)[row] *= edit.factor

    def _put_mean(self, edit: Mean, row: int, references: References | None) -> None:
        vector = _referenced(edit, references)
        if isinstance(vector, Recorded) or vector.dim() != 1:
            raise BadInput(f"{edit} needs one vector at {edit.site}; its reference holds a recorded pass.")
        device = self._like.device
        empty = (
            torch.zeros(self._n_rows, dtype=torch.bool, device=device),
            torch.zeros(self._n_rows, vector.shape[-1], dtype=self._like.dtype, device=device),
        )
        mask, values = self._means.setdefault(edit.site, empty)
        mask[row] = True
        values[row] = vector.to(values)

    def _put_recorded(
        self, edit: Resample | Patch, row: int, references: References | None, n_prompt: int | None
    ) -> None:
        found = _referenced(edit, references)
        recorded = found if isinstance(found, Recorded) else Recorded(found, found[:0])
        if recorded.prompt.dim() != 2:
            raise BadInput(f"{edit} needs a recorded pass at {edit.site}; its reference holds one vector.")
        if isinstance(edit, Patch) and n_prompt is not None and len(recorded.prompt) != n_prompt:
            raise BadInput(
                f"{edit} patches a prompt of {n_prompt} tokens from one of {len(recorded.prompt)}, so their "
                "positions do not correspond. Use resample, which aligns the ends."
            )
        decoding = self._phase is Scope.DECODE
        if decoding and not len(recorded.new):
            raise BadInput(
                f"{edit} acts on new tokens, and its reference holds a prompt only. Record it with "
                "generate(record=...), or write @prompt."
            )
        values = recorded.new if decoding else recorded.prompt.flip(0)
        self._place(edit.site, row, values.to(self._like))

    def _place(self, site: Site, row: int, values: Float[Tensor, "pos d_model"]) -> None:
        known = self._placed.get(site)
        n_known = known.rows.shape[1] if known else 0
        n, d_model = max(len(values), n_known), values.shape[-1]
        grown = _Values(
            torch.zeros(self._n_rows, n, dtype=torch.bool, device=self._like.device),
            torch.zeros(self._n_rows, n, d_model, dtype=self._like.dtype, device=self._like.device),
        )
        if known:
            grown.rows[:, :n_known], grown.values[:, :n_known] = known.rows, known.values
        grown.rows[row, : len(values)] = True
        grown.values[row, : len(values)] = values
        self._placed[site] = grown

    def apply(
        self, site: Site, contribution: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """The contribution as the rows' edits leave it; the same tensor where no row edits the site.

        A contribution of fewer rows than were compiled belongs to the first of them. The last position of
        a prompt is the last of the tensor.
        """
        n = contribution.shape[0]
        self._fired[site] += 1
        factors = self._factors.get(site)
        if factors is not None:
            contribution = contribution * factors[:n, None, None]
        means = self._means.get(site)
        if means is not None:
            mask, values = means
            contribution = torch.where(mask[:n, None, None], values[:n, None, :], contribution)
        placed = self._placed.get(site)
        if placed is not None:
            contribution = self._replaced(placed, contribution)
        return contribution

    def _replaced(
        self, placed: _Values, contribution: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        n, width = contribution.shape[:2]
        if self._phase is Scope.DECODE:
            step = self._n_passes
            if step >= placed.rows.shape[1]:
                return contribution
            return torch.where(
                placed.rows[:n, step, None, None], placed.values[:n, step, None, :], contribution
            )
        w = min(width, placed.rows.shape[1])
        edited = contribution.clone()
        tail, mask = contribution[:, width - w :], placed.rows[:n, :w].flip(1)
        edited[:, width - w :] = torch.where(mask[..., None], placed.values[:n, :w].flip(1), tail)
        return edited

    def expert_factors(self, layer: int) -> dict[int, Float[Tensor, " batch"]]:
        """Factor of each expert of a layer that some row scales."""
        return {
            site.expert: factors
            for site, factors in self._factors.items()
            if site.layer == layer and site.expert is not None
        }

    def fire(self, site: Site) -> None:
        """Counts an edit that was carried out elsewhere: that of an expert."""
        self._fired[site] += 1

    def end_pass(self, n_visits: int = 1) -> None:
        """Checks that each edit fired once a visit in the pass just made, and moves on to the next.

        Raises:
            EditMisfired: An edit fired more or less often: its module was left out, or ran again.
        """
        for site in self.sites:
            if self._fired[site] != n_visits:
                raise EditMisfired(
                    f"The edit at {site} fired {self._fired[site]} times in a pass that should visit it "
                    f"{n_visits}. Something runs the block another way (a compiled or replaced module, a "
                    "hook that skips it); load the model without it."
                )
        self._fired.clear()
        self._n_passes += 1

    def keep(self, rows: Int[Tensor, " kept"]) -> None:
        """Drops every row but these, in this order."""
        self._factors = {site: factors[rows] for site, factors in self._factors.items()}
        self._means = {site: (mask[rows], values[rows]) for site, (mask, values) in self._means.items()}
        self._placed = {site: _Values(v.rows[rows], v.values[rows]) for site, v in self._placed.items()}


def acts_in(edit: Intervention, phase: Scope) -> bool:
    """Whether an intervention acts in the prompt pass, or in decoding."""
    return edit.scope in (phase, Scope.BOTH)


def _referenced(edit: Mean | Resample | Patch, references: References | None) -> Tensor | Recorded:
    found = (references or {}).get(edit.reference, {}).get(edit.site)
    if found is None:
        raise BadInput(
            f"{edit} needs what reference {edit.reference!r} holds at {edit.site}; pass it in "
            "references={key: {site: ...}}."
        )
    return found


def _check_order_free(interventions: Sequence[Intervention]) -> None:
    """Refuses edits of one row whose order would matter: a replacement beside another edit of its MLP."""
    for edit in interventions:
        if isinstance(edit, Scale):
            continue
        for other in interventions:
            same = (other.site.layer, other.site.point) == (edit.site.layer, edit.site.point)
            if other is not edit and same:
                raise BadInput(f"{edit} and {other} edit the same site; what they do depends on their order.")
