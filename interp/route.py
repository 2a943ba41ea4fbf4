"""In which order a model's layers run: `"0-11,8-29"` runs layers 0 to 11, then 8 to 29.

A piece is a layer or a range; `7a` and `7m` run one half of layer 7, its attention or its MLP; `8|9|10` runs
layers side by side and averages what they give; `(8-11)~4` is a damped loop. What follows an `@` says at
which positions the route holds (`@prompt`, `@decode`) and how its keys and values are kept (`@published`).
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from interp.errors import BadWord
from interp.site import Scope

MOST_LAYERS = 10_000
"""A line that names a layer from here on is a slip of the pen; written out it would fill the memory."""
LONGEST = 4
"""Most visits of a route, as a multiple of the model's layers."""
_PIECE = re.compile(r"([0-9]+)(?:-([0-9]+)|([am]))?")
_DAMPED = re.compile(r"\((?P<inside>[^()]*)\)~(?P<times>[0-9]+)")
_OUTSIDE = re.compile(r",(?![^()]*\))")


class Part(StrEnum):
    """One half of a layer."""

    ATTN = "a"
    MLP = "m"


class Slots(StrEnum):
    """How the keys and values of a layer that runs more than once are kept.

    Per visit: the k-th visit of a layer reads what its k-th visit wrote at earlier tokens, as an unrolled
    copy of the model would. Published: all visits write into the one slot of their layer, as code that runs
    the same module again does; what a visit reads is then not what it would read in one pass over the text.
    """

    PER_VISIT = "per_visit"
    PUBLISHED = "published"


@dataclass(frozen=True)
class Half:
    """One half of a layer, `7a` or `7m`; the other half adds nothing."""

    layer: int
    part: Part

    def __str__(self) -> str:
        return f"{self.layer}{self.part}"


@dataclass(frozen=True)
class Parallel:
    """Layers that read the same stream; the mean of what they give goes on: `8|9|10`.

    Reference:
        Q. Sun et al., "Transformer layers as painters", arXiv 2407.09298 (2024).
    """

    steps: tuple[int | Half, ...]

    def __post_init__(self) -> None:
        """Refuses fewer than two.

        Raises:
            BadWord: There are fewer than two layers.
        """
        if len(self.steps) < 2:
            raise BadWord("Layers that run side by side are at least two, as in '8|9'.")

    def __str__(self) -> str:
        return "|".join(map(str, self.steps))


@dataclass(frozen=True)
class Damped:
    """Layers that run `times` times, each time moving 1/times of the way: x + (g(x) - x)/times.

    Reference:
        arXiv 2605.23872 (2026).
    """

    steps: tuple[int | Half, ...]
    times: int

    def __post_init__(self) -> None:
        """Refuses an empty loop, and one that runs less than twice.

        Raises:
            BadWord: There is no layer, or `times` is below 2.
        """
        if not self.steps:
            raise BadWord("A damped loop has at least one layer, as in '(8-11)~4'.")
        if self.times < 2:
            raise BadWord(f"A damped loop runs at least twice, got {self.times}. Write for instance '(8)~2'.")

    def __str__(self) -> str:
        return f"({_line(self.steps)})~{self.times}"


Step = int | Half | Parallel | Damped


@dataclass(frozen=True)
class Route:
    """Layers in the order in which they run; a layer may be left out, and may run more than once.

    Attributes:
        steps: Layer numbers, counted from 0; halves, layers side by side and damped loops among them.
        scope: At which positions the route holds; elsewhere each layer runs once, in order.
        slots: How keys and values of repeated layers are kept.
    """

    steps: tuple[Step, ...]
    scope: Scope = Scope.BOTH
    slots: Slots = Slots.PER_VISIT

    def __post_init__(self) -> None:
        """Refuses a route without layers, and numbers that count no layer.

        Raises:
            BadWord: There is no layer, one is negative or no whole number, or there is no such scope.
        """
        steps = tuple(_checked(step, place) for place, step in enumerate(self.steps))
        if not steps:
            raise BadWord("A route has at least one layer.")
        if self.scope not in set(Scope):
            raise BadWord(f"{self.scope!r} is not a scope. Use one of: {', '.join(Scope)}.")
        object.__setattr__(self, "steps", steps)

    def __str__(self) -> str:
        """The shortest line: runs of layers that follow each other, as ranges."""
        scope = "" if self.scope is Scope.BOTH else f"@{self.scope}"
        return f"{_line(self.steps)}{scope}{'' if self.slots is Slots.PER_VISIT else f'@{self.slots}'}"

    @classmethod
    def identity(cls, n_layers: int) -> Route:
        """The route that runs each layer once, in order."""
        return cls(tuple(range(n_layers)))

    @classmethod
    def parse(cls, line: str) -> Route:
        """Reads the line that a route prints.

        Raises:
            BadWord: A piece has another form, or no model has so many layers; names it and its place.
        """
        body, *suffixes = line.split("@")
        steps: list[Step] = []
        for place, piece in enumerate(_OUTSIDE.split(body)):
            steps.extend(_parse_piece(piece.strip(), f"piece {place} of the route {line!r}"))
        scopes = [word for word in suffixes if word in set(Scope)]
        slots = [word for word in suffixes if word in set(Slots)]
        if len(scopes) > 1 or len(slots) > 1 or len(scopes) + len(slots) < len(suffixes):
            raise BadWord(
                f"The route {line!r} ends in {'@' + '@'.join(suffixes)!r}. After an @ stands one of "
                f"{', '.join((*Scope, *Slots))}."
            )
        return cls(tuple(steps), Scope((scopes or [Scope.BOTH])[0]), Slots((slots or [Slots.PER_VISIT])[0]))

    @property
    def is_plain(self) -> bool:
        """Whether whole layers run one after another, at every position."""
        return self.scope is Scope.BOTH and all(isinstance(step, int) for step in self.steps)

    @property
    def visits(self) -> tuple[int | Half, ...]:
        """Every run of a layer or a half, in order."""
        found: list[int | Half] = []
        for step in self.steps:
            found.extend(step.steps * step.times if isinstance(step, Damped) else _parts(step))
        return tuple(found)

    @property
    def layers(self) -> tuple[int, ...]:
        """Layer of every visit, in order."""
        return tuple(visit.layer if isinstance(visit, Half) else visit for visit in self.visits)

    @property
    def cost(self) -> float:
        """Layers that run, a half counted as one half."""
        return sum(0.5 if isinstance(visit, Half) else 1.0 for visit in self.visits)

    @property
    def n_jumps(self) -> int:
        """Places at which the next visit is not of the next layer: one for each skip or repeat of a block."""
        return sum(b != a + 1 for a, b in pairwise(self.layers)) + (self.layers[0] != 0)

    def distance(self, n_layers: int) -> int:
        """Visits left out, put in or exchanged, at least, between each layer once and this route.

        A half counts as another layer. This is the Levenshtein distance.

        Args:
            n_layers: Number of layers of the model.
        """
        row = list(range(n_layers + 1))
        for i, visit in enumerate(self.visits, start=1):
            last, row[0] = row[0], i
            for layer in range(n_layers):
                cost = last + (visit != layer)
                last = row[layer + 1]
                row[layer + 1] = min(last + 1, row[layer] + 1, cost)
        return row[n_layers]

    def check(self, n_layers: int) -> None:
        """Refuses a route that a model does not have the layers for.

        Args:
            n_layers: Number of layers of the model.

        Raises:
            BadWord: A layer is not below `n_layers`, or there are more than `LONGEST` visits a layer of the
                model; names the first, or the number.
        """
        for place, layer in enumerate(self.layers):
            if layer >= n_layers:
                raise BadWord(
                    f"The route {str(self)!r} names layer {layer} at place {place}, but the model has "
                    f"layers 0 to {n_layers - 1}."
                )
        if len(self.layers) > LONGEST * n_layers:
            raise BadWord(
                f"The route {_short(str(self))!r} runs {len(self.layers)} layers, and a route of a model "
                f"with {n_layers} layers runs at most {LONGEST * n_layers}. Shorten it."
            )


def _parse_piece(piece: str, where: str) -> list[Step]:
    """The steps of one piece between commas."""
    if damped := _DAMPED.fullmatch(piece):
        inside = [s for part in damped["inside"].split(",") for s in _parse_simple(part.strip(), where)]
        return [Damped(tuple(inside), int(damped["times"]))]
    if "|" in piece:
        sides = [_parse_simple(part.strip(), where) for part in piece.split("|")]
        if any(len(side) > 1 for side in sides):
            raise BadWord(f"{piece!r}, {where}, puts a range beside a layer. Write each layer: '8|9|10'.")
        return [Parallel(tuple(side[0] for side in sides))]
    return [*_parse_simple(piece, where)]


def _parse_simple(piece: str, where: str) -> list[int | Half]:
    """A layer, a range or a half."""
    match = _PIECE.fullmatch(piece)
    if match is None:
        raise BadWord(
            f"{piece!r}, {where}, is neither a layer nor a range. Write for instance '0-11,8-29'; a half is "
            "'7a' or '7m', layers side by side '8|9', a damped loop '(8-11)~4'."
        )
    first = int(match[1])
    last = int(match[2]) if match[2] is not None else first
    if (most := max(first, last)) >= MOST_LAYERS:
        raise BadWord(
            f"{piece!r}, {where}, names layer {most}, and no model has {MOST_LAYERS} layers. Write the "
            "layers of your model."
        )
    if last < first:
        raise BadWord(
            f"{piece!r}, {where}, goes down. A range goes up; write the layers one by one: "
            f"'{first},{first - 1},...'."
        )
    return [Half(first, Part(match[3]))] if match[3] else [*range(first, last + 1)]


def _line(steps: tuple[Step, ...]) -> str:
    """Steps on one line, layers that follow each other as a range."""
    pieces: list[str] = []
    first = last = -1
    for step in (*steps, None):
        if isinstance(step, int) and step == last + 1 and first >= 0:
            last = step
            continue
        if first >= 0:
            pieces.append(f"{first}" if first == last else f"{first}-{last}")
        first = last = step if isinstance(step, int) else -1
        if step is not None and not isinstance(step, int):
            pieces.append(str(step))
    return ",".join(pieces)


def _parts(step: Step) -> tuple[int | Half, ...]:
    return (step,) if isinstance(step, int | Half) else step.steps


def _checked(step: Any, place: int) -> Step:
    """A step with its numbers as ints; refuses what counts no layer."""
    if isinstance(step, Half):
        return Half(_layer(step.layer, place), Part(step.part))
    if isinstance(step, Parallel):
        return Parallel(tuple(_checked_part(part, place) for part in step.steps))
    if isinstance(step, Damped):
        return Damped(tuple(_checked_part(part, place) for part in step.steps), step.times)
    return _layer(step, place)


def _checked_part(part: Any, place: int) -> int | Half:
    return Half(_layer(part.layer, place), Part(part.part)) if isinstance(part, Half) else _layer(part, place)


def _layer(layer: Any, place: int) -> int:
    """A layer number as an int; refuses what counts no layer."""
    try:
        number = -1 if isinstance(layer, bool) else operator.index(layer)
    except TypeError:
        number = -1
    if number < 0:
        raise BadWord(f"A layer is counted from 0 in whole numbers, got {layer!r} at place {place}.")
    return number


def _short(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:57]}..."
