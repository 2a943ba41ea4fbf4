"""Where in a model: a layer and a point, `"L7.mlp_out"`, or one expert of its MLP, `"L7.mlp_out.expert3"`."""

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


class Scope(StrEnum):
    """At which positions an intervention or a route acts.

    The last prompt position, from which the first token is read, belongs to the prompt.
    """

    PROMPT = "prompt"
    DECODE = "decode"
    BOTH = "both"


POINT_ORDER = {point: order for order, point in enumerate(Point)}
_SITE = re.compile(r"L(\d+)\.([a-z_]+)(?:\.expert(\d+))?")


@dataclass(frozen=True)
class Site:
    """A point of one layer, written `L7.mlp_out`; or what one expert adds to it, `L7.mlp_out.expert3`."""

    layer: int
    point: Point
    expert: int | None = None

    def __post_init__(self) -> None:
        """Refuses numbers that count nothing, and experts of anything but an MLP.

        Raises:
            BadWord: The layer or the expert is negative or no whole number, or the point is not `mlp_out`
                and an expert is named.
        """
        if self.layer != int(self.layer):
            raise BadWord(f"A layer is a whole number, got {self.layer}.")
        if self.layer < 0:
            raise BadWord(f"A layer is counted from 0, got {self.layer}.")
        if self.expert is None:
            return
        if self.point is not Point.MLP_OUT:
            raise BadWord(f"Only an MLP has experts, so there is no expert of {self.point}. Use mlp_out.")
        if self.expert != int(self.expert) or self.expert < 0:
            raise BadWord(f"An expert is counted from 0 in whole numbers, got {self.expert}.")

    def __str__(self) -> str:
        return f"L{self.layer}.{self.point}{'' if self.expert is None else f'.expert{self.expert}'}"

    @classmethod
    def parse(cls, line: str) -> Site:
        """Reads `"L7.mlp_out"` or `"L7.mlp_out.expert3"`.

        Raises:
            BadWord: The line has another form or names an unknown point.
        """
        match = _SITE.fullmatch(line.strip())
        if match is None or match[2] not in set(Point):
            raise BadWord(
                f"{line!r} is not a site. Write a layer and a point, for instance 'L7.mlp_out'; "
                f"points: {', '.join(Point)}."
            )
        return cls(int(match[1]), Point(match[2]), None if match[3] is None else int(match[3]))

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key in forward order; an expert comes before the MLP that it is a part of."""
        return self.layer, POINT_ORDER[self.point], 10**9 if self.expert is None else self.expert
