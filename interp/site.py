"""Where in a model: a layer and a point, `"L7.mlp_out"`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from interp.errors import BadWord


class Point(StrEnum):
    """A place inside a decoder block; declaration order is forward order.

    `attn_out` and `mlp_out` are contributions to the residual stream: what is added to it, after
    any post-norm. `resid_pre + attn_out = resid_mid` and `resid_mid + mlp_out = resid_post`.
    """

    RESID_PRE = "resid_pre"
    ATTN_OUT = "attn_out"
    RESID_MID = "resid_mid"
    MLP_OUT = "mlp_out"
    RESID_POST = "resid_post"


POINT_ORDER = {point: order for order, point in enumerate(Point)}
_SITE = re.compile(r"L(\d+)\.([a-z_]+)")


@dataclass(frozen=True)
class Site:
    """A point of one layer, written `L7.mlp_out`."""

    layer: int
    point: Point

    def __post_init__(self) -> None:
        """Refuses a layer that is negative or no whole number.

        Raises:
            BadWord: The layer is negative, or no whole number.
        """
        if self.layer != int(self.layer):
            raise BadWord(f"A layer is a whole number, got {self.layer}.")
        if self.layer < 0:
            raise BadWord(f"A layer is counted from 0, got {self.layer}.")

    def __str__(self) -> str:
        return f"L{self.layer}.{self.point}"

    @classmethod
    def parse(cls, line: str) -> Site:
        """Reads `"L7.mlp_out"`.

        Raises:
            BadWord: The line has another form or names an unknown point.
        """
        match = _SITE.fullmatch(line.strip())
        if match is None or match[2] not in set(Point):
            raise BadWord(
                f"{line!r} is not a site. Write a layer and a point, for instance 'L7.mlp_out'; "
                f"points: {', '.join(Point)}."
            )
        return cls(int(match[1]), Point(match[2]))

    @property
    def order(self) -> tuple[int, int]:
        """Sort key in forward order."""
        return self.layer, POINT_ORDER[self.point]
