"""A maximum spanning arborescence: the heaviest tree whose edges all lead away from its root (Edmonds 1967).

Written after Tarjan's version for dense graphs (1977): a path grows backwards along the heaviest edges; where it meets
itself, the cycle becomes one node, whose edges weigh what they would gain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.counts.information import INFORMATION_TIE
from bnplug.typing import BoolArray, FloatArray, IntArray


def heaviest_tree(weight: FloatArray, allowed: BoolArray, nodes: Sequence[int], roots: Sequence[int]) -> dict[int, int]:
    """Return each node's parent in a heaviest tree over `nodes` from any of `roots`, the first that has one.

    Parameters
    ----------
    weight, allowed : arrays of shape (variables, variables)
        What the edge from u to v adds, and whether it may be in the tree.
    nodes : sequence of int
        The variables that the tree spans.
    roots : sequence of int
        Those from which allowed edges lead to all others.

    Examples
    --------
    >>> weight = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]], dtype=float)
    >>> edges = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    >>> heaviest_tree(weight, edges, [0, 1, 2], roots=[0, 1])
    {1: 0, 2: 1}
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

    Parameters
    ----------
    weight : float array of shape (nodes, nodes)
        What the edge from u to v adds.
    allowed : bool array of shape (nodes, nodes)
        Which edges there are. Every node must be reached from the root by them.
    root : int

    Examples
    --------
    Node 1 gives more to 2 than the root does, and 2 more to 1; one of them must do with the root.

    >>> weight = np.array([[0, 1, 2], [0, 0, 9], [0, 7, 0]], dtype=float)
    >>> maximum_arborescence(weight, ~np.eye(3, dtype=bool), 0)
    [-1, 0, 1]
    """
    return _Contraction(np.where(allowed, weight, -np.inf), root).parents()


def reachable(edges: BoolArray, root: int) -> BoolArray:
    """Return which nodes some path of edges leads to from `root`."""
    reached = np.zeros(len(edges), dtype=bool)
    reached[root] = True
    waiting = [root]
    while waiting:
        new = edges[waiting.pop()] & ~reached
        reached |= new
        waiting += np.flatnonzero(new).tolist()
    return reached


class _Contraction:
    """Nodes, those made of cycles included, and the edge by which each is entered.

    ``into[v][u]``: what the edge from the original node u into v gains; ``entry[v][u]``: the original node it enters.
    ``chosen[v]``: the edge by which v is entered, as such a pair. ``members[v]``: the nodes that v was made of;
    ``within[u]`` is v for each of them.
    """

    def __init__(self, weight: FloatArray, root: int) -> None:
        size = len(weight)
        self.root = root
        self.into: dict[int, FloatArray] = {v: weight[:, v].copy() for v in range(size)}
        self.entry: dict[int, IntArray] = {v: np.full(size, v) for v in range(size)}
        self.members: dict[int, list[int]] = {}
        self.within: dict[int, int] = {}
        self.chosen: dict[int, tuple[int, int]] = {}
        #: The largest node that each original one is in.
        self.top = np.arange(size)

    def parents(self) -> list[int]:
        """Return the parent of every original node."""
        size = len(self.top)
        done = {self.root}
        for v in range(size):
            path = [int(self.top[v])]
            while path[-1] not in done:
                self._grow(path, done)
        parent = np.full(size, -1)
        waiting = list(set(self.top.tolist()) - {self.root})
        while waiting:
            v = waiting.pop()
            u, inside = self.chosen[v]
            parent[inside] = u
            while inside != v:
                # Whoever was in a cycle with it is entered by the cycle's own edge.
                whole = self.within[inside]
                waiting += [other for other in self.members[whole] if other != inside]
                inside = whole
        return [int(u) for u in parent]

    def _grow(self, path: list[int], done: set[int]) -> None:
        """Make the path longer by the heaviest edge into its end, or done, or its cycle one node."""
        end = path[-1]
        gains = self.into[end]
        u = int(np.flatnonzero(gains >= gains.max() - INFORMATION_TIE)[0])
        self.chosen[end] = u, int(self.entry[end][u])
        self.into[end] = gains - gains[u]
        source = int(self.top[u])
        if source in done:
            done.update(path)
        elif source in path:
            start = path.index(source)
            path[start:] = [self._contract(path[start:])]
            return
        path.append(source)

    def _contract(self, cycle: list[int]) -> int:
        """Make one node of a cycle; return it."""
        made = len(self.top) + len(self.members)
        gains = np.array([self.into[v] for v in cycle])
        best = gains.argmax(axis=0)
        self.entry[made] = np.array([self.entry[v] for v in cycle])[best, np.arange(gains.shape[1])]
        self.into[made] = gains.max(axis=0)
        self.members[made] = cycle
        self.within.update(dict.fromkeys(cycle, made))
        inside = np.isin(self.top, cycle)
        self.into[made][inside] = -np.inf
        self.top[inside] = made
        return made
