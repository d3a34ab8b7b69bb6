"""The moves of a search over graphs: one edge is deleted, reversed or added, and no cycle is ever made.

A graph keeps who reaches whom, so that all legal moves come from a few operations on matrices. Everywhere
here ``matrix[u, v]`` is about the edge from u to v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple, overload

import numpy as np

from bnplug.arrays import BoolArray, IntArray
from bnplug.contracts import Changes
from bnplug.scoring import Candidates

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
    reaches : bool array of shape (variables, variables)
        Whether there is a directed path; every variable reaches itself.

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
        # Who reaches each variable, as the bits of a whole number: unions of small sets take no array.
        self._ancestors = [1 << v for v in range(size)]
        self._reaches: BoolArray | None = None
        for v, own in enumerate(parents):
            self.set_parents(v, own)

    def set_parents(self, v: int, parents: Iterable[int]) -> None:
        """Give `v` other parents."""
        own, ancestors = sorted(parents), self._ancestors
        if own == self.parents[v]:
            return
        if any(ancestors[u] >> v & 1 for u in own):
            raise ValueError(f"parents {own} of variable {v} make a cycle")
        self.parents[v] = own
        self.edges[:, v] = False
        self.edges[own, v] = True
        self._reaches = None
        # Only what v reaches gets other ancestors. Who has fewer of them comes first: a topological order.
        reached = [w for w, bits in enumerate(ancestors) if bits >> v & 1]
        for w in sorted(reached, key=lambda w: ancestors[w].bit_count()):
            ancestors[w] = reduce(or_, [ancestors[u] for u in self.parents[w]], 1 << w)

    @property
    def reaches(self) -> BoolArray:
        """Whether there is a directed path from one to another."""
        if self._reaches is None:
            size = len(self.parents)
            n_bytes = -(-size // 8)
            packed = np.frombuffer(b"".join(bits.to_bytes(n_bytes, "little") for bits in self._ancestors), np.uint8)
            columns = np.unpackbits(packed.reshape(size, n_bytes), axis=1, count=size, bitorder="little")
            self._reaches = columns.view(np.bool_).T
        return self._reaches

    def apply(self, changes: Mapping[int, Sequence[int]]) -> None:
        """Give several variables other parents at once."""
        if len(changes) > 1:
            # What goes, goes first: a reversed edge would be a cycle for a moment.
            for v, own in changes.items():
                self.set_parents(v, set(self.parents[v]) & set(own))
        for v, own in changes.items():
            self.set_parents(v, own)

    def changes(self, move: Move) -> dict[int, list[int]]:
        """Return the new parents of the variables that `move` touches."""
        return changes_by(move, self.parents)


def changes_by(move: Move, parents: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Return the new parents of the variables that `move` touches, in a graph by the parents of each."""
    kind, u, v = move
    if kind == "add":
        return {v: sorted([*parents[v], u])}
    without = [p for p in parents[v] if p != u]
    if kind == "delete":
        return {v: without}
    return {v: without, u: sorted([*parents[u], v])}


class Moves(Sequence[Changes]):
    """What the moves from one graph change, by arrays: there are many, and few are looked at one by one.

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

    @overload
    def __getitem__(self, index: int) -> Changes: ...

    @overload
    def __getitem__(self, index: slice) -> Candidates: ...

    def __getitem__(self, index: int | slice) -> Changes | Candidates:
        """Return what one move changes, or what several do, as arrays."""
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
        self.allowed = np.ones((size, size), dtype=bool) if allowed is None else allowed
        self.fixed = np.zeros((size, size), dtype=bool) if fixed is None else fixed
        self.capacity = np.full(size, size) if capacity is None else capacity

    def at(self, parents: Sequence[Iterable[int]]) -> Neighbourhood:
        """Return the neighbourhood of another graph under the same rules."""
        return Neighbourhood(Graph(parents), self.kinds, self.allowed, self.fixed, self.capacity)

    def legal(self) -> dict[str, BoolArray]:
        """Return for each kind of move the edges to which it may be done."""
        edges, reaches = self.graph.edges, self.graph.reaches
        loose = edges & ~self.fixed
        room = edges.sum(axis=0) < self.capacity
        legal = {
            "delete": loose,
            "reverse": loose & self.allowed.T & room[:, None] & self._only_path(),
            "add": self.allowed & ~(reaches.T | edges) & room,
        }
        for kind in legal.keys() - self.kinds:
            legal[kind] = np.zeros_like(edges)
        return legal

    def moves(self) -> list[Move]:
        """Return the legal moves in order: deletions, reversals, additions, each by parent, then by child."""
        found = self.candidates()
        return [found.move(i) for i in range(len(found))]

    def candidates(self) -> Moves:
        """Return what the legal moves change, in their order."""
        found = [np.argwhere(mask) for mask in self.legal().values()]
        kinds = np.repeat(np.arange(len(KINDS)), [len(edges) for edges in found])
        return Moves(self.graph.edges.copy(), kinds, np.concatenate(found))

    def _only_path(self) -> BoolArray:
        """Say for which edges there is no second path from parent to child: then reversal makes no cycle."""
        edges, reaches = self.graph.edges, self.graph.reaches
        # Children of the parent that reach the child; the child itself is one of them.
        through = edges.astype(np.float32) @ reaches.astype(np.float32)
        only: BoolArray = edges & (through == 1)
        return only
