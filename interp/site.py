"""Where in a model: a layer and a point, `"L7.mlp_out"`.

`"L7.mlp_out.expert3"` is one expert of its MLP, `"L7.mlp_out#1"` one visit of a layer that a route runs more
than once.
"""

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
_SITE = re.compile(r"L(\d+)\.([a-z_]+)(?:\.expert(\d+))?(?:#(\d+))?")


@dataclass(frozen=True)
class Site:
    """A point of one layer, written `L7.mlp_out`; or what one expert adds to it, `L7.mlp_out.expert3`.

    Attributes:
        layer: The layer, counted from 0.
        point: The point.
        expert: One expert of the layer's MLP; None for all of it.
        visit: One run of the layer, counted from 0, where a route runs it more than once; None for every run.
    """

    layer: int
    point: Point
    expert: int | None = None
    visit: int | None = None

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
        if self.visit is not None and (self.visit != int(self.visit) or self.visit < 0):
            raise BadWord(f"A visit is counted from 0 in whole numbers, got {self.visit}.")
        if self.expert is None:
            return
        if self.point is not Point.MLP_OUT:
            raise BadWord(f"Only an MLP has experts, so there is no expert of {self.point}. Use mlp_out.")
        if self.expert != int(self.expert) or self.expert < 0:
            raise BadWord(f"An expert is counted from 0 in whole numbers, got {self.expert}.")

    def __str__(self) -> str:
        expert = "" if self.expert is None else f".expert{self.expert}"
        return f"L{self.layer}.{self.point}{expert}{'' if self.visit is None else f'#{self.visit}'}"

    @classmethod
    def parse(cls, line: str) -> Site:
        """Reads `"L7.mlp_out"`, `"L7.mlp_out.expert3"` or `"L7.mlp_out#1"`.

        Raises:
            BadWord: The line has another form or names an unknown point.
        """
        match = _SITE.fullmatch(line.strip())
        if match is None or match[2] not in set(Point):
            raise BadWord(
                f"{line!r} is not a site. Write a layer and a point, for instance 'L7.mlp_out'; "
                f"points: {', '.join(Point)}."
            )
        expert, visit = (None if number is None else int(number) for number in (match[3], match[4]))
        return cls(int(match[1]), Point(match[2]), expert, visit)

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Sort key in forward order; an expert comes before the MLP that it is a part of."""
        expert = 10**9 if self.expert is None else self.expert
        return self.layer, POINT_ORDER[self.point], expert, -1 if self.visit is None else self.visit
