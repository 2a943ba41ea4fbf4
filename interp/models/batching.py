"""Which requests are decoded together. Pure: no tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interp.route import Route, Slots

MAX_BATCH = 256
"""Most requests of one `generate` call that run in one batch."""
MIN_BUCKET = 16
"""Fewest rows for which a batch of their own is worth the reading of all weights at each token."""
MAX_PADDING = 1.5
"""How much longer than the shortest row of a batch the longest may be, where both sides have enough rows."""


def batches_of(routes: Sequence[Route | None], lengths: Sequence[int], *, apart: bool) -> list[list[int]]:
    """Which rows are decoded together.

    Rows without a route by themselves, so that their numbers do not depend on what else is asked; a route
    with published slots alone, as published code runs it; all other routes together. In each of these, short
    prompts apart from long ones.

    Args:
        routes: The route of each row.
        lengths: Length of each row's prompt, in tokens.
        apart: Whether different routes cannot run in one batch.
    """
    groups: dict[object, list[int]] = {}
    for row, route in enumerate(routes):
        alone = route is not None and route.slots is Slots.PUBLISHED
        key = row if alone else str(route) if apart or route is None else "routes"
        groups.setdefault(key, []).append(row)
    return [bucket for group in groups.values() for bucket in buckets(group, lengths)]


def buckets(rows: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows by length, cut where padding would take more than a third; each in the order of the rows.

    A bucket with few rows is not cut off. Rows of one prompt have one length, so they stay together.
    """
    order = sorted(rows, key=lambda row: lengths[row])
    begin = 0
    for end, row in enumerate(order):
        enough = end - begin >= MIN_BUCKET and len(order) - end >= MIN_BUCKET
        if enough and lengths[row] > MAX_PADDING * lengths[order[begin]] and _parts(order, lengths, end):
            yield sorted(order[begin:end])
            begin = end
    yield sorted(order[begin:])


def _parts(order: Sequence[int], lengths: Sequence[int], end: int) -> bool:
    """Whether a cut there parts rows of different lengths."""
    return lengths[order[end]] > lengths[order[end - 1]]
