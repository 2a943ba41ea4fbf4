"""Whose answer is tried as whose draft. Pure: no tensors.

Most silenced blocks leave most answers as they are, at least in the beginning. So the answer with nothing
silenced is given to the others as a draft: one pass over prompt and draft gives the logits of every token,
each row follows the draft for as long as it would have chosen the same tokens, and decodes by itself from the
first that differs. Only greedy answers are drafted, so a row's tokens are those that it would have chosen.

Reference:
    Y. Leviathan, M. Kalman and Y. Matias, "Fast inference from transformers via speculative decoding",
    arXiv 2211.17192 (2022), for drafts verified in one pass. That the unedited model drafts for the edited
    ones is ours.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from interp.intervention import Mean, Scale, Scope

if TYPE_CHECKING:
    from interp.intervention import Intervention
    from interp.procedure import Decoding

MIN_ROWS = 4
"""Fewest rows with one prompt for which a draft is worth a pass of its own."""


def drafters(
    prompts: Sequence[Hashable], rows: Sequence[Sequence[Intervention]], decodings: Sequence[Decoding]
) -> dict[int, int]:
    """For each row that can follow a draft, the row whose answer is its draft.

    A draft comes from a row with the same prompt and decoding whose edits are a part of the row's own. Edits
    must act on prompt and answer alike, since a draft is read with the prompt.

    Args:
        prompts: What each row reads.
        rows: Interventions of each row.
        decodings: How each row is decoded.
    """
    groups: dict[tuple[Hashable, Decoding], list[int]] = {}
    for row, (prompt, decoding) in enumerate(zip(prompts, decodings, strict=True)):
        if decoding.is_greedy and decoding.max_new_tokens > 1:
            groups.setdefault((prompt, decoding), []).append(row)
    found: dict[int, int] = {}
    for group in groups.values():
        if len(group) < MIN_ROWS:
            continue
        first = min(group, key=lambda row: len(rows[row]))
        edits = set(rows[first])
        for row in group:
            if row != first and edits <= set(rows[row]) and all(map(_is_even, rows[row])):
                found[row] = first
    return found


def _is_even(edit: Intervention) -> bool:
    """Whether an edit does the same at every position of prompt and answer."""
    return isinstance(edit, Scale | Mean) and edit.scope is Scope.BOTH
