"""RE-PoLar: tree search over sets of edits that do not overlap."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from interp.probes.edits import Edit
from interp.probes.search import Search
from interp.route import Route

Edits = frozenset[Edit]


@dataclass(eq=False)
class _Node:
    edits: Edits
    total: float = 0.0
    n: int = 0
    below: list[_Node] = field(default_factory=list["_Node"])


def re_polar(  # noqa: PLR0913
    n_layers: int,
    seed: int,
    *,
    simulations: int = 200,
    c: float = math.sqrt(2),
    penalty: float = 5.0,
    size: int = 4,
    most_edits: int = 4,
    widen: float = 2.0,
    power: float = 0.5,
) -> Search:
    """Searches sets of skips and repeats of the plain order; sets that are reached in two ways are one node.

    A node that was visited v times may have max(1, ceil(widen v^power)) children; while it has fewer, a
    random one is added and its route asked; else the search goes on at the child with the largest Q/v + c
    sqrt(ln V / v) - penalty len/N, V being the visits of the node.

    Args:
        n_layers: Number of layers N.
        seed: Seed of the question.
        simulations: Simulations; not published, as many as CoLa's.
        c: Weight of exploration; sqrt 2 as published.
        penalty: Weight of the route's length, lambda; 5 as published.
        size: Most layers of an edit; 4 as published.
        most_edits: Most edits of a set; not published. A simulation that gets there asks its route again.
        widen: Children at the first visits; 2 as published.
        power: How children grow with visits; 0.5 as published.

    Reference:
        RE-PoLar, arXiv 2609.31360 (2026).
    """
    draw = random.Random(seed)
    nodes: dict[Edits, _Node] = {frozenset(): _Node(frozenset())}
    for _ in range(simulations):
        path = [nodes[frozenset()]]
        while len(path[-1].edits) < most_edits:
            node = path[-1]
            if len(node.below) < max(1, math.ceil(widen * node.n**power)):
                child = _added(node, n_layers, draw, size, nodes)
                if child is not None:
                    is_new = child.n == 0
                    node.below.append(child)
                    path.append(child)
                    if is_new:
                        break
                    continue
            if not node.below:
                break
            path.append(max(node.below, key=lambda child: _score(child, node, c, penalty, n_layers)))
        right = yield route_of(path[-1].edits, n_layers)
        for node in path:
            node.total += right
            node.n += 1


def route_of(edits: Edits, n_layers: int) -> Route:
    """The plain order with edits that do not overlap."""
    layers = list(range(n_layers))
    for edit in sorted(edits, reverse=True):  # from the end, so that places stay layers
        block = slice(edit.start, edit.start + edit.n)
        layers[block] = layers[block] * edit.times
    return Route(tuple(layers))


def _score(child: _Node, node: _Node, c: float, penalty: float, n_layers: int) -> float:
    length = n_layers + sum((edit.times - 1) * edit.n for edit in child.edits)
    explored = c * math.sqrt(math.log(max(node.n, 1)) / max(child.n, 1))
    return child.total / max(child.n, 1) + explored - penalty * length / n_layers


def _added(
    node: _Node, n_layers: int, draw: random.Random, size: int, nodes: dict[Edits, _Node]
) -> _Node | None:
    """The node of one more random edit that overlaps none; None if none is found."""
    taken = {layer for edit in node.edits for layer in range(edit.start, edit.start + edit.n)}
    known = {child.edits for child in node.below}
    for _ in range(64):
        n = draw.randint(1, min(size, n_layers))
        edit = Edit(draw.randrange(n_layers - n + 1), n, draw.choice((0, 2)))
        edits = node.edits | {edit}
        overlaps = taken & set(range(edit.start, edit.start + n))
        left = n_layers - sum(e.n for e in edits if e.times == 0)
        if not overlaps and left > 0 and edits not in known:
            return nodes.setdefault(edits, _Node(edits))
    return None
