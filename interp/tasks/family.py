"""A `Family` of generated questions, and how a sample is drawn from its cells."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

from interp.procedure import Decoding, Prompt
from interp.question import Question
from interp.tasks.task import ASKED, ONE_LINE

_EXACT = 1_000
_SHUFFLED = 10_000
_PATIENCE = 1_000


@dataclass(frozen=True)
class Cell:
    """Questions of one sort, addressed by a grid of values.

    Attributes:
        name: What sets the cell apart; enters the seed.
        axes: The values of each argument of `make`.
        make: Builds the question at a point of the grid; None where the grid has no question.
        key: What decides to which half a question belongs, its text unless given; mirrored questions share
            a key.
    """

    name: str
    axes: Sequence[Sequence[Any]]
    make: Callable[..., Question | None]
    key: Callable[[Question], str] = lambda question: question.text

    def questions(self, seed: int) -> Iterator[Question]:
        """All its questions in a seeded order, none twice.

        The cell is cut in two halves by a hash that knows no seed. An even seed gives the first half before
        the second, an odd seed the second before the first: samples of an even and an odd seed share nothing
        as long as each takes at most half. Of a grid of more than 10,000 points random ones are drawn, until
        1,000 in a row bring nothing new.
        """
        half = self._halves()
        seen: set[str] = set()
        for wanted in (seed % 2, 1 - seed % 2):
            misses = 0
            for point in self._points(f"{self.name}\x00{seed}\x00{wanted}"):
                question = self.make(*point)
                if question is None or question.text in seen or half(question) != wanted:
                    misses += 1
                    if misses > _PATIENCE and self._size > _SHUFFLED:
                        break
                    continue
                misses = 0
                seen.add(question.text)
                yield question

    @property
    def _size(self) -> int:
        return math.prod(len(axis) for axis in self.axes)

    def _at(self, index: int) -> tuple[Any, ...]:
        point: list[Any] = []
        for axis in reversed(self.axes):
            index, position = divmod(index, len(axis))
            point.append(axis[position])
        return tuple(reversed(point))

    def _points(self, salt: str) -> Iterator[tuple[Any, ...]]:
        rng = Random(_digest(salt))
        if self._size > _SHUFFLED:
            while True:
                yield self._at(rng.randrange(self._size))
        order = list(range(self._size))
        rng.shuffle(order)
        yield from map(self._at, order)

    def _halves(self) -> Callable[[Question], int]:
        """Which half a question is in: exact halves of a small grid, a bit of the hash for a large one."""
        if self._size > _EXACT:
            return lambda question: _digest(self.key(question)) % 2
        made = (self.make(*self._at(index)) for index in range(self._size))
        keys = sorted({self.key(question) for question in made if question is not None}, key=_digest)
        first = frozenset(keys[: (len(keys) + 1) // 2])
        return lambda question: 0 if self.key(question) in first else 1


Knobs = Mapping[str, str]


@dataclass(frozen=True)
class Family:
    """A row of the table of tasks: how its questions are made, and how they are asked by default.

    Attributes:
        description: One line for a reader.
        cells: The cells for given knobs; a sample takes from each in turn, so it is balanced over them.
        knobs: Allowed values of each knob, the default first.
        n: Number of questions unless the caller says otherwise.
        prompt: What stands around a question.
        decoding: How the answer is read off the model.
        binary: Whether the answers come from two fixed options.
    """

    description: str
    cells: Callable[[Knobs], Sequence[Cell]]
    knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n: int = 200
    prompt: Prompt = ASKED
    decoding: Decoding = ONE_LINE
    binary: bool = False

    def draw(self, knobs: Knobs, *, n: int, seed: int) -> tuple[Question, ...]:
        """The first n questions of a seed, or all there are; a smaller n gives a prefix of a larger one."""
        return tuple(islice(_in_turn([cell.questions(seed) for cell in self.cells(knobs)]), n))


def chosen(knobs: Knobs, name: str, every: Sequence[str]) -> Sequence[str]:
    """The values a knob stands for: itself, or each of some if it says "both", "all" or "mixed"."""
    return every if knobs[name] in ("both", "all", "mixed") else (knobs[name],)


def with_digits(n_digits: int | str) -> range:
    """All positive numbers of so many digits."""
    return range(10 ** (int(n_digits) - 1), 10 ** int(n_digits))


def digits_label(n_digits: int | str) -> str:
    """How many digits, in words: "1 digit", "2 digits"."""
    return f"{n_digits} digit{'' if int(n_digits) == 1 else 's'}"


def _in_turn(streams: list[Iterator[Question]]) -> Iterator[Question]:
    """One question of each stream in turn, until all have run dry."""
    while streams:
        dry: list[int] = []
        for position, stream in enumerate(streams):
            question = next(stream, None)
            if question is None:
                dry.append(position)
            else:
                yield question
        streams = [stream for position, stream in enumerate(streams) if position not in dry]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
