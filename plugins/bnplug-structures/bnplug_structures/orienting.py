"""Orient the edges of a skeleton: colliders, Meek's rules, and an extension to an acyclic graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from bnplug.structure import PartialGraph, Structure
from bnplug.typing import BoolArray

#: Two variables and the one between them, (a, b, c) with a < c: b is adjacent to both, which are not adjacent.
Triple = tuple[int, int, int]


class PartialDag:
    """A graph with directed and undirected edges that never gets a directed cycle.

    Parameters
    ----------
    adjacent : bool array of shape (variables, variables)
        The skeleton, symmetric.
    allowed : bool array of the same shape, optional
        Whether an edge from u to v may be directed so.
    required : bool array of the same shape, optional
        The edges that are directed from the start; they are acyclic, and allowed.

    Attributes
    ----------
    undirected, directed : bool arrays
        ``directed[u, v]``: there is an edge from u to v.

    Examples
    --------
    A collider, and the edge that must then point away from it:

    >>> skeleton = np.zeros((4, 4), dtype=bool)
    >>> skeleton[[0, 1, 2], [2, 2, 3]] = skeleton[[2, 2, 3], [0, 1, 2]] = True
    >>> graph = PartialDag(skeleton)
    >>> graph.orient_collider((0, 2, 1))
    True
    >>> graph.close()
    >>> np.argwhere(graph.directed).tolist()
    [[0, 2], [1, 2], [2, 3]]
    """

    def __init__(
        self, adjacent: BoolArray, allowed: BoolArray | None = None, required: BoolArray | None = None
    ) -> None:
        self.undirected: BoolArray = adjacent.copy()
        self.directed: BoolArray = np.zeros_like(adjacent)
        self._allowed = np.ones_like(adjacent) if allowed is None else allowed
        for u, v in [] if required is None else np.argwhere(required).tolist():
            self._orient(u, v)
        # An edge with one allowed direction takes it, or is removed if that would close a cycle.
        for u, v in np.argwhere(self.undirected & self._allowed & ~self._allowed.T).tolist():
            if self.undirected[u, v] and not self._orient(u, v):
                self.undirected[u, v] = self.undirected[v, u] = False

    @property
    def adjacent(self) -> BoolArray:
        """The skeleton."""
        return self.undirected | self.directed | self.directed.T

    def orient_collider(self, triple: Triple) -> bool:
        """Direct both edges of a triple to the one in the middle; return whether both are directed so."""
        a, b, c = triple
        before = self.undirected.copy(), self.directed.copy()
        if self._orient(a, b) and self._orient(c, b):
            return True
        self.undirected, self.directed = before
        return False

    def close(self, ambiguous: Collection[Triple] = ()) -> None:
        """Apply Meek's rules until none applies; `ambiguous` triples are neither colliders nor non-colliders."""
        changed = True
        while changed:
            changed = False
            for u, v in np.argwhere(self.undirected).tolist():
                if self.undirected[u, v] and self._follows(u, v, ambiguous) and self._orient(u, v):
                    changed = True

    def extend(self, first: Iterable[int]) -> list[list[int]]:
        """Direct all edges, without further colliders where that is possible; return the parents of each variable.

        Where both directions are possible, the edge leaves the variable that comes earlier in `first`.
        """
        self.close()
        for u in first:
            for v in range(len(self.undirected)):
                if self.undirected[u, v]:
                    if not self._orient(u, v) and not self._orient(v, u):
                        # Neither direction is allowed without a cycle.
                        self.undirected[u, v] = self.undirected[v, u] = False
                    self.close()
        return [np.flatnonzero(column).tolist() for column in self.directed.T]

    def _orient(self, u: int, v: int) -> bool:
        """Direct an edge from u to v; return False if it has the other direction, may not, or would close a cycle."""
        if self.directed[u, v]:
            return True
        if not self.undirected[u, v] or not self._allowed[u, v] or self._reaches(v, u):
            return False
        self.undirected[u, v] = self.undirected[v, u] = False
        self.directed[u, v] = True
        return True

    def _reaches(self, u: int, v: int) -> bool:
        """Return whether directed edges lead from u to v."""
        reached, waiting = {u}, [u]
        while waiting:
            for child in np.flatnonzero(self.directed[waiting.pop()]).tolist():
                if child == v:
                    return True
                if child not in reached:
                    reached.add(child)
                    waiting.append(child)
        return False

    def _follows(self, u: int, v: int, ambiguous: Collection[Triple]) -> bool:
        """Return whether one of Meek's four rules directs the edge from u to v."""
        directed, undirected, adjacent = self.directed, self.undirected, self.adjacent
        # 1: w -> u - v, w and v not adjacent.
        for w in np.flatnonzero(directed[:, u] & ~adjacent[:, v]).tolist():
            if w != v and _ordered(w, u, v) not in ambiguous:
                return True
        into = directed[:, v]
        # 2: u -> w -> v.
        if (directed[u] & into).any():
            return True
        # 3: u - w -> v and u - x -> v, w and x not adjacent.
        around = np.flatnonzero(undirected[u] & into).tolist()
        for i, w in enumerate(around):
            for x in around[:i]:
                if not adjacent[w, x] and _ordered(w, u, x) not in ambiguous:
                    return True
        # 4: u - x -> w -> v, x and v not adjacent, u and w adjacent.
        for w in np.flatnonzero(into & adjacent[u]).tolist():
            if (directed[:, w] & undirected[u] & ~adjacent[:, v]).any():
                return True
        return False


def _ordered(a: int, b: int, c: int) -> Triple:
    return (a, b, c) if a < c else (c, b, a)


def constrained_class(structure: Structure, allowed: BoolArray | None) -> PartialGraph:
    """Return the equivalence class of a graph: of those of its members that have allowed edges only."""
    pdag = structure.cpdag()
    if allowed is None:
        return pdag
    position = {name: v for v, name in enumerate(structure.names)}
    required: BoolArray = np.zeros_like(allowed)
    adjacent: BoolArray = np.zeros_like(allowed)
    for u, v in structure.edges:
        adjacent[position[u], position[v]] = adjacent[position[v], position[u]] = True
    for u, v in pdag.directed:
        required[position[u], position[v]] = True
    graph = PartialDag(adjacent, allowed, required)
    graph.close()
    return PartialGraph(structure.names, _pairs(graph.directed), _pairs(np.triu(graph.undirected)))


def _pairs(matrix: BoolArray) -> Sequence[tuple[int, int]]:
    return [(u, v) for u, v in np.argwhere(matrix).tolist()]
