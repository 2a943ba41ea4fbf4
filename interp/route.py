"""In which order a model's layers run: `"0-11,8-29"` runs layers 0 to 11, then 8 to 29."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from interp.errors import BadWord

_PIECE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
MOST_LAYERS = 10_000
"""A line that names a layer from here on is a slip of the pen; written out it would fill the memory."""


@dataclass(frozen=True)
class Route:
    """Layers in the order in which they run; a layer may be left out, and may run more than once.

    Attributes:
        layers: Layer numbers, counted from 0.
    """

    layers: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuses a route without layers, and numbers that count no layer.

        Raises:
            BadWord: There is no layer, or one is negative or no whole number.
        """
        layers = tuple(_layer(layer, place) for place, layer in enumerate(self.layers))
        if not layers:
            raise BadWord("A route has at least one layer.")
        object.__setattr__(self, "layers", layers)

    def __str__(self) -> str:
        """The shortest line: runs of layers that follow each other, as ranges."""
        starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(self.layers)) if b != a + 1)]
        ends = [*(start - 1 for start in starts[1:]), len(self.layers) - 1]
        runs = [(self.layers[start], self.layers[end]) for start, end in zip(starts, ends, strict=True)]
        return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)

    @classmethod
    def identity(cls, n_layers: int) -> Route:
        """The route that runs each layer once, in order."""
        return cls(tuple(range(n_layers)))

    @classmethod
    def parse(cls, line: str) -> Route:
        """Reads `"0-11,8-29"`: numbers and upward ranges, with commas between them.

        Raises:
            BadWord: A piece is neither, or no model has so many layers; names it and its place.
        """
        layers: list[int] = []
        for place, piece in enumerate(line.split(",")):
            match = _PIECE.fullmatch(piece.strip())
            if match is None:
                raise BadWord(
                    f"{piece.strip()!r}, piece {place} of the route {line!r}, is neither a layer nor a "
                    "range. Write for instance '0-11,8-29'."
                )
            first = int(match[1])
            last = int(match[2]) if match[2] is not None else first
            if (most := max(first, last)) >= MOST_LAYERS:
                raise BadWord(
                    f"{piece.strip()!r}, piece {place} of the route {line!r}, names layer {most}, and no "
                    f"model has {MOST_LAYERS} layers. Write the layers of your model."
                )
            if last < first:
                raise BadWord(
                    f"{piece.strip()!r}, piece {place} of the route {line!r}, goes down. A range goes up; "
                    f"write the layers one by one: '{first},{first - 1},...'."
                )
            layers.extend(range(first, last + 1))
        return cls(tuple(layers))

    def check(self, n_layers: int) -> None:
        """Refuses a route that names a layer that a model does not have.

        Args:
            n_layers: Number of layers of the model.

        Raises:
            BadWord: A layer is not below `n_layers`; names the first.
        """
        for place, layer in enumerate(self.layers):
            if layer >= n_layers:
                raise BadWord(
                    f"The route {str(self)!r} names layer {layer} at place {place}, but the model has "
                    f"layers 0 to {n_layers - 1}."
                )


def _layer(layer: Any, place: int) -> int:
    """A layer number as an int; refuses what counts no layer."""
    try:
        number = -1 if isinstance(layer, bool) else operator.index(layer)
    except TypeError:
        number = -1
    if number < 0:
        raise BadWord(f"A layer is counted from 0 in whole numbers, got {layer!r} at place {place}.")
    return number
