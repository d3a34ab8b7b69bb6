"""The moves that are legal from a graph, in compiled code, where a step costs less than arrays of masks would.

What is legal is said in :class:`~bnplug.search.Neighbourhood`, which needs nothing compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.search.moves import KINDS, Move, Neighbourhood


class MovingGraph(NamedTuple):
    """A graph with its rules, as kernels take it; ``matrix[u, v]`` is about the edge from u to v.

    Attributes
    ----------
    edges, allowed, fixed : bool arrays of shape (variables, variables)
    capacity : int64 array of shape (variables,)
    kinds : bool array of shape (3,)
        Which of ``KINDS`` are made.
    ancestors : bool array of shape (variables, variables)
        ``ancestors[v, u]``: whether u reaches v; every variable reaches itself.
    n_parents, n_ancestors : int64 arrays of shape (variables,)
    marks : bool array of shape (3, variables, variables)
        For each of ``KINDS``, the edges to which it may be done.
    """

    edges: BoolArray
    allowed: BoolArray
    fixed: BoolArray
    capacity: IntArray
    kinds: BoolArray
    ancestors: BoolArray
    n_parents: IntArray
    n_ancestors: IntArray
    marks: BoolArray

    @classmethod
    def of(cls, start: Neighbourhood) -> MovingGraph:
        """Return the graph of a neighbourhood; it does not move with it."""
        edges, n = start.graph.edges, len(start.graph.edges)
        return cls(
            edges=edges.copy(),
            allowed=np.ascontiguousarray(start.allowed),
            fixed=np.ascontiguousarray(start.fixed),
            capacity=np.ascontiguousarray(start.capacity, dtype=np.int64),
            kinds=np.array([kind in start.kinds for kind in KINDS]),
            ancestors=start.graph.reaches.T.copy(),
            n_parents=edges.sum(axis=0),
            n_ancestors=np.empty(n, dtype=np.int64),
            marks=np.empty((len(KINDS), n, n), dtype=bool),
        )

    def copy(self) -> MovingGraph:
        """Return the same graph, to be moved on its own."""
        return self._replace(edges=self.edges.copy(), ancestors=self.ancestors.copy(), n_parents=self.n_parents.copy())

    def legal(self) -> BoolArray:
        """Return `marks` for the graph as it is."""
        _mark(self)
        return self.marks

    def lacking(self, known: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the edges that legal moves toggle and that are not known yet, child by child.

        Returns
        -------
        children, parents : int64 arrays
        """
        found = np.empty((2, known.size), dtype=np.int64)
        size = _list_lacking(self, known, found)
        return found[0, :size], found[1, :size]

    def list_moves(self, rise: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the legal moves, in the order of ``Neighbourhood.moves()``, after :meth:`lacking`.

        Parameters
        ----------
        rise : float64 array of shape (variables, variables)
            By how much the score rises when an edge is toggled.

        Returns
        -------
        places : int64 array
            The position of each move in `marks`.
        rises : float64 array
            By how much the score rises.
        """
        places, rises = np.empty(self.marks.size, dtype=np.int64), np.empty(self.marks.size)
        size = _list_moves(self.marks, rise, places, rises)
        return places[:size], rises[:size]

    def move_at(self, place: int) -> Move:
        """Return the move that is at a position in `marks`."""
        kind, edge = divmod(place, self.edges.size)
        return Move(KINDS[kind], *divmod(edge, len(self.edges)))

    def make(self, kind: str, parent: int, child: int) -> None:
        """Make a move."""
        toggle(self, parent, child)
        if kind == "reverse":
            toggle(self, child, parent)


@kernel(allocates=False)
def _mark(graph):  # type: ignore[no-untyped-def]
    """Fill the marks of a MovingGraph."""
    edges, ancestors, marks = graph.edges, graph.ancestors, graph.marks
    n = edges.shape[0]
    for u in range(n):
        room = graph.n_parents[u] < graph.capacity[u]
        for v in range(n):
            free = graph.n_parents[v] < graph.capacity[v] and graph.allowed[u, v] and not ancestors[u, v]
            marks[0, u, v] = marks[1, u, v] = False
            marks[2, u, v] = free and not edges[u, v] and graph.kinds[2]
            if edges[u, v] and not graph.fixed[u, v]:
                marks[0, u, v] = graph.kinds[0]
                # A second path from u to v would be a cycle with the reversed edge.
                only = room and graph.allowed[v, u] and graph.kinds[1]
                for w in range(n):
                    only = only and not (edges[u, w] and w != v and ancestors[v, w])
                marks[1, u, v] = only


@kernel(allocates=False)
def _list_lacking(graph, known, found):  # type: ignore[no-untyped-def]
    """Fill the marks of a MovingGraph, and `found` with children and parents; return how many."""
    _mark(graph)
    marks, size = graph.marks, 0
    for v in range(known.shape[0]):
        for u in range(known.shape[0]):
            if not known[u, v] and (marks[0, u, v] or marks[1, u, v] or marks[2, u, v] or marks[1, v, u]):
                found[0, size], found[1, size] = v, u
                size += 1
    return size


@kernel(allocates=False)
def _list_moves(marks, rise, places, rises):  # type: ignore[no-untyped-def]
    """Fill `places` and `rises`; return how many moves there are."""
    n, size = rise.shape[0], 0
    for kind in range(marks.shape[0]):
        for u in range(n):
            for v in range(n):
                if marks[kind, u, v]:
                    places[size] = (kind * n + u) * n + v
                    rises[size] = rise[u, v] + rise[v, u] if kind == 1 else rise[u, v]
                    size += 1
    return size


@kernel(allocates=False)
def toggle(graph, u, v):  # type: ignore[no-untyped-def]
    """Take the edge from u to v out of a MovingGraph, where it is there, or put it in; no cycle may come of it."""
    edges, ancestors, number = graph.edges, graph.ancestors, graph.n_ancestors
    n = edges.shape[0]
    edges[u, v] = not edges[u, v]
    graph.n_parents[v] += 1 if edges[u, v] else -1
    if edges[u, v]:
        for w in range(n):
            if ancestors[w, v]:
                for a in range(n):
                    ancestors[w, a] |= ancestors[u, a]
        return
    # What v reaches gets its ancestors anew. Who has fewer of them comes first: a topological order.
    for w in range(n):
        number[w] = 0
        for a in range(n):
            number[w] += ancestors[w, a] if ancestors[w, v] else 0
    for rank in range(1, n + 1):
        for w in range(n):
            if number[w] == rank:
                for a in range(n):
                    ancestors[w, a] = a == w
                for p in range(n):
                    if edges[p, w]:
                        for a in range(n):
                            ancestors[w, a] |= ancestors[p, a]
