"""The moves of a search over graphs: one edge is deleted, reversed or added, and no cycle is ever made.

A graph keeps its ancestor matrix, from which one compiled pass finds all legal moves. Everywhere here ``matrix[u, v]``
is about the edge from u to v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from bnplug.compiling import kernel
from bnplug.contracts import Changes
from bnplug.scoring import Candidates
from bnplug.typing import BoolArray, IntArray

#: The kinds of moves, in the order in which tied moves are preferred: the smaller graph comes first.
KINDS = ("delete", "reverse", "add")


class Move(NamedTuple):
    """One move: what is done to the edge from `parent` to `child`."""

    kind: str
    parent: int
    child: int

    def describe(self, names: Sequence[str]) -> str:
        """Return the move in words; the edge is the one before the move.

        Examples
        --------
        >>> Move("reverse", 0, 1).describe(["rain", "wet"])
        'reverse rain -> wet'
        """
        return f"{self.kind} {names[self.parent]} -> {names[self.child]}"


class Graph:
    """The parents of every variable, and which variables reach which.

    Parameters
    ----------
    parents : sequence of iterables of int
        The parents of each variable. A cycle is a ``ValueError``.

    Attributes
    ----------
    parents : list of list of int
        The parents of each variable, ascending.
    edges : bool array of shape (variables, variables)
        Whether there is an edge.

    Examples
    --------
    >>> graph = Graph([[], [0], [1]])
    >>> bool(graph.reaches[0, 2]), bool(graph.reaches[2, 0])
    (True, False)
    """

    def __init__(self, parents: Sequence[Iterable[int]]) -> None:
        size = len(parents)
        self.parents: list[list[int]] = [[] for _ in range(size)]
        self.edges: BoolArray = np.zeros((size, size), dtype=bool)
        # [v, u]: whether u reaches v; every variable reaches itself.
        self._ancestors: BoolArray = np.eye(size, dtype=bool)
        self._n_parents, self._n_ancestors = np.zeros((2, size), dtype=np.int64)
        for v, family in enumerate(parents):
            self.set_parents(v, family)

    def set_parents(self, v: int, parents: Iterable[int]) -> None:
        """Give `v` other parents."""
        family = sorted(parents)
        if family == self.parents[v]:
            return
        if any(self._ancestors[u, v] for u in family):
            raise ValueError(f"parents {family} of variable {v} make a cycle")
        for u in set(family).symmetric_difference(self.parents[v]):
            _toggle(self.edges, self._ancestors, self._n_parents, self._n_ancestors, u, v)
        self.parents[v] = family

    @property
    def reaches(self) -> BoolArray:
        """A matrix: whether there is a directed path; every variable reaches itself."""
        return self._ancestors.T

    def copy(self) -> Graph:
        """Return the same graph, to be changed separately."""
        other = copy(self)
        other.parents, other.edges = self.parents.copy(), self.edges.copy()
        other._ancestors, other._n_parents = self._ancestors.copy(), self._n_parents.copy()
        return other

    def apply(self, changes: Mapping[int, Sequence[int]]) -> None:
        """Give several variables other parents at once."""
        if len(changes) > 1:
            # Edges are removed first: otherwise a reversed edge would be a cycle for a moment.
            for v, family in changes.items():
                self.set_parents(v, [u for u in self.parents[v] if u in family])
        for v, family in changes.items():
            self.set_parents(v, family)

    def changes(self, move: Move) -> dict[int, list[int]]:
        """Return the new parents of the variables that `move` touches."""
        kind, u, v = move
        if kind == "add":
            return {v: sorted([*self.parents[v], u])}
        without = [p for p in self.parents[v] if p != u]
        if kind == "delete":
            return {v: without}
        return {v: without, u: sorted([*self.parents[u], v])}


class Moves(Sequence[Changes]):
    """The changes of many moves from one graph, as arrays: few of them are examined one by one.

    Parameters
    ----------
    edges : bool array of shape (variables, variables)
        The graph.
    kinds : int array of shape (moves,)
        Positions in ``KINDS``.
    ends : int array of shape (moves, 2)
        The parent and the child of each move's edge.

    Examples
    --------
    >>> moves = Neighbourhood(Graph([[], [0], []])).candidates()
    >>> moves.move(1), moves[1]
    (Move(kind='reverse', parent=0, child=1), {1: [], 0: [1]})
    """

    def __init__(self, edges: BoolArray, kinds: IntArray, ends: IntArray) -> None:
        self.edges = edges
        self.kinds = kinds
        self.ends = ends

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, index: Any) -> Any:
        """Return the changes of one move, or of several as arrays."""
        if not isinstance(index, slice):
            place = range(len(self))[index]
            return self[place : place + 1][0]
        kinds, ends = self.kinds[index], self.ends[index]
        reverses = kinds == KINDS.index("reverse")
        starts = np.concatenate([[0], np.cumsum(1 + reverses)])
        nodes, others = np.empty((2, starts[-1]), dtype=np.int64)
        nodes[starts[:-1]], others[starts[:-1]] = ends[:, 1], ends[:, 0]
        second = starts[1:][reverses] - 1
        nodes[second], others[second] = ends[reverses, 0], ends[reverses, 1]
        # Each family loses the other end of the edge, or gets it.
        return Candidates.toggling(self.edges, starts, nodes, others)

    def move(self, index: int) -> Move:
        """Return one of the moves."""
        return Move(KINDS[self.kinds[index]], *self.ends[index].tolist())


class Neighbourhood:
    """Which moves are legal from the current state of a graph.

    Parameters
    ----------
    graph : Graph
        The graph that moves.
    kinds : collection of str
        Which of ``KINDS`` are made.
    allowed : bool matrix, optional
        The edges that may be added, also by a reversal; by default all.
    fixed : bool matrix, optional
        The edges that may not be deleted or reversed; by default none.
    capacity : int array of shape (variables,), optional
        The largest number of parents of each variable; by default there is no limit.

    Examples
    --------
    >>> Neighbourhood(Graph([[], [0]])).moves()
    [Move(kind='delete', parent=0, child=1), Move(kind='reverse', parent=0, child=1)]
    """

    def __init__(
        self,
        graph: Graph,
        kinds: Iterable[str] = KINDS,
        allowed: BoolArray | None = None,
        fixed: BoolArray | None = None,
        capacity: IntArray | None = None,
    ) -> None:
        size = len(graph.parents)
        self.graph = graph
        self.kinds = frozenset(kinds)
        self.allowed = np.ascontiguousarray(np.ones((size, size), dtype=bool) if allowed is None else allowed)
        self.fixed = np.ascontiguousarray(np.zeros((size, size), dtype=bool) if fixed is None else fixed)
        self.capacity = np.ascontiguousarray(np.full(size, size) if capacity is None else capacity, dtype=np.int64)
        self._made = np.array([kind in self.kinds for kind in KINDS])

    def at(self, parents: Sequence[Iterable[int]] | Graph) -> Neighbourhood:
        """Return the neighborhood of another graph under the same rules."""
        graph = parents if isinstance(parents, Graph) else Graph(parents)
        return Neighbourhood(graph, self.kinds, self.allowed, self.fixed, self.capacity)

    def marks(self) -> BoolArray:
        """Return for each of ``KINDS`` the edges to which it may be done, (3, variables, variables)."""
        marks = np.empty((len(KINDS), *self.allowed.shape), dtype=bool)
        graph = self.graph.edges, self.graph._ancestors, self.graph._n_parents
        _mark(*graph, self.allowed, self.fixed, self.capacity, self._made, marks)
        return marks

    def legal(self) -> dict[str, BoolArray]:
        """Return for each kind of move the edges to which it may be done."""
        return dict(zip(KINDS, self.marks(), strict=True))

    def moves(self) -> list[Move]:
        """Return the legal moves in order: deletions, reversals, additions, each by parent, then by child."""
        return [Move(KINDS[kind], u, v) for kind, u, v in np.argwhere(self.marks()).tolist()]

    def candidates(self) -> Moves:
        """Return the changes of the legal moves, in their order."""
        kinds, *ends = np.nonzero(self.marks())
        return Moves(self.graph.edges.copy(), kinds, np.column_stack(ends))


@kernel(allocates=False)
def _mark(edges, ancestors, n_parents, allowed, fixed, capacity, kinds, marks):  # type: ignore[no-untyped-def]
    """Fill marks[kind, u, v]: whether a move of this kind may be made to the edge from u to v."""
    n = edges.shape[0]
    for u in range(n):
        room = n_parents[u] < capacity[u]
        for v in range(n):
            free = n_parents[v] < capacity[v] and allowed[u, v] and not ancestors[u, v]
            marks[0, u, v] = marks[1, u, v] = False
            marks[2, u, v] = free and not edges[u, v] and kinds[2]
            if edges[u, v] and not fixed[u, v]:
                marks[0, u, v] = kinds[0]
                # A second path from u to v would be a cycle with the reversed edge.
                only = room and allowed[v, u] and kinds[1]
                for w in range(n):
                    only = only and not (edges[u, w] and w != v and ancestors[v, w])
                marks[1, u, v] = only


@kernel(allocates=False)
def _toggle(edges, ancestors, n_parents, n_ancestors, u, v):  # type: ignore[no-untyped-def]
    """Remove the edge from u to v, or add it, which must not close a cycle; n_ancestors: (variables,), scratch."""
    n = edges.shape[0]
    edges[u, v] = not edges[u, v]
    n_parents[v] += 1 if edges[u, v] else -1
    if edges[u, v]:
        for w in range(n):
            if ancestors[w, v]:
                for a in range(n):
                    ancestors[w, a] |= ancestors[u, a]
        return
    # Only v and its descendants lose ancestors. In the order of their numbers of ancestors, parents come first.
    for w in range(n):
        n_ancestors[w] = 0
        for a in range(n):
            n_ancestors[w] += ancestors[w, a] if ancestors[w, v] else 0
    for rank in range(1, n + 1):
        for w in range(n):
            if n_ancestors[w] == rank:
                for a in range(n):
                    ancestors[w, a] = a == w
                for p in range(n):
                    if edges[p, w]:
                        for a in range(n):
                            ancestors[w, a] |= ancestors[p, a]
