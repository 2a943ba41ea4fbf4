"""How routes are carried out: the visits of a row, and the stages in which rows run together.

Rows that ask the same prompt and have run the same visits with the same edits are one row until they part.
What has not parted is run once; rows that wait for the same layer run it in one stage, the lowest layer that
anyone waits for first, so that rows which have gone back catch up with the others. Pure: no tensors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from interp.intervention import Intervention, Scale
from interp.route import Damped, Half, Parallel, Part, Route
from interp.site import Point, Scope, Site

_OTHER = {Part.ATTN: Point.MLP_OUT, Part.MLP: Point.ATTN_OUT}


@dataclass(frozen=True)
class Gate:
    """What a visit does with the stream before and after its layer; by default nothing.

    Attributes:
        enters: Keeps the stream as it is: a group begins.
        aside: Reads the kept stream, and adds what it gives to the sum of the group.
        within: The group goes on after it.
        mean_of: The group ends: the stream becomes its sum divided by this number; 0 if it does not.
        step_of: A damped run ends: the stream moves this fraction of the way, as a whole number; 0 if not.
    """

    enters: bool = False
    aside: bool = False
    within: bool = False
    mean_of: int = 0
    step_of: int = 0


PLAIN = Gate()


@dataclass(frozen=True)
class Visit:
    """One run of a layer.

    Attributes:
        layer: The layer.
        nth: Which run of this layer it is, from 0.
        edits: What is changed in it; their sites name no visit.
        gate: What is done with the stream.
    """

    layer: int
    nth: int
    edits: tuple[Intervention, ...] = ()
    gate: Gate = PLAIN


def visits_of(route: Route | None, n_layers: int, edits: Sequence[Intervention], phase: Scope) -> list[Visit]:
    """The visits of a row in one phase, each with its edits.

    Args:
        route: The route; None runs each layer once, in order.
        n_layers: Number of layers of the model.
        edits: Edits of the row that act in the phase.
        phase: `Scope.PROMPT` or `Scope.DECODE`; in a phase that is not the route's each layer runs once.
    """
    steps = route.steps if route is not None and route.scope in (phase, Scope.BOTH) else range(n_layers)
    found: list[Visit] = []
    counts: dict[int, int] = {}

    def add(part: int | Half, gate: Gate = PLAIN) -> None:
        layer = part.layer if isinstance(part, Half) else part
        nth = counts.get(layer, 0)
        counts[layer] = nth + 1
        acting = [
            replace(edit, site=replace(edit.site, visit=None))
            for edit in edits
            if edit.site.layer == layer and edit.site.visit in (None, nth)
        ]
        if isinstance(part, Half):
            acting.append(Scale(Site(layer, _OTHER[part.part]), 0.0))
        found.append(Visit(layer, nth, tuple(acting), gate))

    for step in steps:
        if isinstance(step, Parallel):
            n = len(step.steps)
            for i, part in enumerate(step.steps):
                last = i == n - 1
                add(part, Gate(enters=i == 0, aside=True, within=not last, mean_of=n if last else 0))
        elif isinstance(step, Damped):
            n = len(step.steps)
            for i, part in enumerate(step.steps * step.times):
                last = i % n == n - 1
                add(part, Gate(enters=i % n == 0, within=not last, step_of=step.times if last else 0))
        else:
            add(step)
    return found


@dataclass(frozen=True)
class Stage:
    """One run of a layer by some rows together.

    Attributes:
        layer: The layer.
        gate: What is done with the stream; the same for all.
        reads: For each of its rows, the place of the stream that it reads.
        writes: Places that are written.
        sources: For each of them, which of its rows is written there: several where rows part after it.
        edits: Edits of each of its rows.
        nths: Which run of the layer it is for each of them.
    """

    layer: int
    gate: Gate
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    sources: tuple[int, ...]
    edits: tuple[tuple[Intervention, ...], ...]
    nths: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """In which stages the rows of one pass run.

    A place is a position in the stream of the pass: one for each different pair of prompt and visits.

    Attributes:
        bases: For each place, which of the different prompts it reads.
        places: Place of each row.
        stages: The stages in order.
        slots: For each place, the stage and the row in it of each run of a layer: (layer, nth).
    """

    bases: tuple[int, ...]
    places: tuple[int, ...]
    stages: tuple[Stage, ...]
    slots: tuple[dict[tuple[int, int], tuple[int, int]], ...]


@dataclass(eq=False)
class _Node:
    """What rows with one prompt have run so far."""

    base: int
    visit: Visit | None = None
    above: _Node | None = None
    below: dict[Visit, _Node] = field(default_factory=dict)
    ends: bool = False
    place: int = -1
    stage: tuple[int, int] = (-1, -1)


def plan_stages(prompts: Sequence[Hashable], rows: Sequence[Sequence[Visit]]) -> Plan:
    """Plans one pass.

    Args:
        prompts: What each row reads; rows with equal prompts are shared until their visits part.
        rows: The visits of each row.
    """
    roots: dict[Hashable, _Node] = {}
    ends: list[_Node] = []
    for prompt, visits in zip(prompts, rows, strict=True):
        node = roots.setdefault(prompt, _Node(len(roots)))
        for visit in visits:
            node = node.below.setdefault(visit, _Node(node.base, visit, node))
        node.ends = True
        ends.append(node)
    leaves: list[_Node] = []
    for root in roots.values():
        _place(root, leaves)
    stages = _stages(list(roots.values()))
    slots: list[dict[tuple[int, int], tuple[int, int]]] = []
    for leaf in leaves:
        found: dict[tuple[int, int], tuple[int, int]] = {}
        node: _Node | None = leaf
        while node is not None and node.visit is not None:
            found[node.visit.layer, node.visit.nth] = node.stage
            node = node.above
        slots.append(found)
    place_of = {id(leaf): place for place, leaf in enumerate(leaves)}
    return Plan(
        bases=tuple(leaf.base for leaf in leaves),
        places=tuple(place_of[id(end)] for end in ends),
        stages=tuple(stages),
        slots=tuple(slots),
    )


def _place(root: _Node, leaves: list[_Node]) -> None:
    """Gives each node the place of the first row that goes through it; rows that end get their own."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.ends:
            place = len(leaves)
            leaves.append(node)
            above: _Node | None = node
            while above is not None and above.place < 0:
                above.place = place
                above = above.above
        waiting.extend(reversed(node.below.values()))


def _stages(roots: Sequence[_Node]) -> list[Stage]:
    """Runs every node below the roots, layer by layer, the lowest that waits first."""
    stages: list[Stage] = []
    waiting: dict[tuple[int, Gate], list[_Node]] = {}

    def wait(nodes: Sequence[_Node]) -> None:
        for node in nodes:
            for child in node.below.values():
                assert child.visit is not None
                waiting.setdefault((child.visit.layer, child.visit.gate), []).append(child)

    wait(roots)
    while waiting:
        key = min(waiting, key=lambda found: found[0])
        nodes = sorted(waiting.pop(key), key=lambda node: node.place)
        for i, node in enumerate(nodes):
            node.stage = (len(stages), i)
        written = [(p, i) for i, node in enumerate(nodes) for p in _written(node)]
        visits = [node.visit for node in nodes if node.visit is not None]
        stages.append(
            Stage(
                *key,
                reads=tuple(node.place for node in nodes),
                writes=tuple(place for place, _ in written),
                sources=tuple(i for _, i in written),
                edits=tuple(visit.edits for visit in visits),
                nths=tuple(visit.nth for visit in visits),
            )
        )
        wait(nodes)
    return stages


def _written(node: _Node) -> list[int]:
    """Places of a node's own end and of all that follow it."""
    return [*([node.place] if node.ends else []), *(child.place for child in node.below.values())]
