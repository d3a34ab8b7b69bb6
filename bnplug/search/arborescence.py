"""A maximum spanning arborescence: the heaviest tree whose edges all lead away from its root (Edmonds 1967).

Written after Tarjan's version for dense graphs (1977): a path grows backwards along the heaviest edges; where it meets
itself, the cycle becomes one node, whose edges weigh what they would gain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.counts.information import INFORMATION_TIE
from bnplug.typing import BoolArray, FloatArray


def _heaviest_tree(
    weight: FloatArray, allowed: BoolArray, nodes: Sequence[int], roots: Sequence[int]
) -> dict[int, int]:
    """Return each node's parent in a heaviest tree over `nodes` from any of `roots`, the first that has one.

    ``weight[u, v]`` is what the edge from u to v adds, ``allowed[u, v]`` whether it may be in the tree. Allowed edges
    lead from each of the roots to all other nodes.
    """
    places = np.ix_(nodes, nodes)
    weight, allowed = weight[places], allowed[places]
    starts = [list(nodes).index(root) for root in roots]
    largest = _total(weight, _from_any(weight, allowed, starts))
    for start in starts:
        parents = maximum_arborescence(weight, allowed, start)
        if _total(weight, parents) >= largest - len(nodes) * INFORMATION_TIE:
            break
    return {nodes[v]: nodes[u] for v, u in enumerate(parents) if u >= 0}


def _from_any(weight: FloatArray, allowed: BoolArray, starts: Sequence[int]) -> list[int]:
    """Return the parents in a heaviest tree from any of `starts`."""
    size = len(weight)
    above, edges = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1), dtype=bool)
    above[:size, :size], edges[:size, :size] = weight, allowed
    # A node above the roots, whose edges weigh so little that a tree has one of them.
    above[size, starts], edges[size, starts] = -size * (1 + np.abs(weight).max()), True
    return [u if u < size else -1 for u in maximum_arborescence(above, edges, size)[:size]]


def _total(weight: FloatArray, parents: Sequence[int]) -> float:
    return float(sum(weight[u, v] for v, u in enumerate(parents) if u >= 0))


def maximum_arborescence(weight: FloatArray, allowed: BoolArray, root: int) -> list[int]:
    """Return the parent of every node in a heaviest tree from `root`, which has none: -1.

    ``weight[u, v]`` is what the edge from u to v adds, ``allowed[u, v]`` whether it may be in the tree. Allowed edges
    lead from the root to all other nodes.

    Examples
    --------
    >>> weight = np.array([[0.0, 3.0, 2.0], [0.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    >>> maximum_arborescence(weight, weight > 0, 0)
    [-1, 0, 1]
    """
    size = len(weight)
    # For each node, including nodes that merge a cycle: the gain of the edge from each original node into it, and the
    # original node that this edge enters. `top` has the largest node that contains each original node.
    gains = [np.where(allowed[:, v], weight[:, v], -np.inf) for v in range(size)]
    entries = [np.full(size, v) for v in range(size)]
    top = np.arange(size)
    chosen: dict[int, tuple[int, int]] = {}
    whole: dict[int, tuple[int, list[int]]] = {}
    done = {root}
    for v in range(size):
        path = [int(top[v])]
        while path[-1] not in done:
            end = path[-1]
            u = int(np.flatnonzero(gains[end] >= gains[end].max() - INFORMATION_TIE)[0])
            chosen[end] = u, int(entries[end][u])
            gains[end] = gains[end] - gains[end][u]
            source = int(top[u])
            if source in path:
                cycle, made = path[path.index(source) :], len(gains)
                path[-len(cycle) :] = [made]
                into = np.array([gains[w] for w in cycle])
                entries.append(np.array([entries[w] for w in cycle])[into.argmax(axis=0), np.arange(size)])
                inside = np.isin(top, cycle)
                gains.append(np.where(inside, -np.inf, into.max(axis=0)))
                top[inside] = made
                whole.update(dict.fromkeys(cycle, (made, cycle)))
            else:
                path.append(source)
        done.update(path)
    parent = [-1] * size
    waiting = list(set(top.tolist()) - {root})
    while waiting:
        v = waiting.pop()
        u, inner = chosen[v]
        parent[inner] = u
        while inner != v:
            # The other nodes of a cycle are entered by the cycle's own edges.
            made, cycle = whole[inner]
            waiting += [other for other in cycle if other != inner]
            inner = made
    return parent


def _reachable(edges: BoolArray, root: int) -> BoolArray:
    """Return which nodes some path of edges leads to from `root`."""
    reached = np.zeros(len(edges), dtype=bool)
    reached[root] = True
    waiting = [root]
    while waiting:
        new = edges[waiting.pop()] & ~reached
        reached |= new
        waiting += np.flatnonzero(new).tolist()
    return reached
