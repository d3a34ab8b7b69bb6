"""Candidates and graphs as flat arrays, as one compiled call takes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple, overload

import numpy as np

from bnplug.arrays import BoolArray, IntArray
from bnplug.contracts import Changes


class Candidates(Sequence[Changes]):
    """Candidates of a search as arrays: what a batch of changes is, without an object for each.

    To whoever reads them one by one they are a sequence of changes, such as every evaluator takes.

    Parameters
    ----------
    starts : int64 array of shape (candidates + 1,)
        Candidate i changes the variables ``nodes[starts[i]:starts[i + 1]]``.
    nodes : int64 array
    bounds : int64 array
        The j-th of them gets the parents ``parents[bounds[j]:bounds[j + 1]]``.
    parents : int64 array

    Examples
    --------
    >>> candidates = Candidates.of([{1: [0]}, {0: [1, 2], 2: []}])
    >>> candidates.nodes.tolist(), candidates.parents.tolist()
    ([1, 0, 2], [0, 1, 2])
    >>> candidates[1]
    {0: [1, 2], 2: []}
    """

    def __init__(self, starts: IntArray, nodes: IntArray, bounds: IntArray, parents: IntArray) -> None:
        # For arrays that are parts of others, kernels would be compiled once more.
        self.starts, self.nodes, self.bounds, self.parents = map(np.ascontiguousarray, (starts, nodes, bounds, parents))

    @classmethod
    def of(cls, candidates: Sequence[Changes]) -> Candidates:
        """Return candidates as arrays, as they are where they are so already."""
        if isinstance(candidates, Candidates):
            return candidates
        if isinstance(candidates, Toggles):
            return cls.toggling(candidates.edges, np.arange(len(candidates) + 1), candidates.nodes, candidates.others)
        families = [own for changes in candidates for own in changes.values()]
        numbers = (
            accumulate(map(len, candidates), initial=0),
            chain.from_iterable(candidates),
            accumulate(map(len, families), initial=0),
            chain.from_iterable(families),
        )
        return cls(*[np.array(list(own), dtype=np.int64) for own in numbers])

    @classmethod
    def toggling(cls, edges: BoolArray, starts: IntArray, nodes: IntArray, others: IntArray) -> Candidates:
        """Return candidates in which each of `nodes` loses the parent in `others`, or gets it, by a matrix of edges."""
        own = edges.T[nodes]
        own[np.arange(len(nodes)), others] ^= True
        bounds = np.concatenate([[0], np.cumsum(own.sum(axis=1))])
        return cls(starts, nodes, bounds, np.flatnonzero(own) % len(edges))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> Changes: ...

    @overload
    def __getitem__(self, index: slice) -> Candidates: ...

    def __getitem__(self, index: int | slice) -> Changes | Candidates:
        if isinstance(index, slice):
            first, stop, _ = index.indices(len(self))
            return Candidates(self.starts[first : max(first, stop) + 1], self.nodes, self.bounds, self.parents)
        i = range(len(self))[index]
        return {
            int(self.nodes[j]): self.parents[self.bounds[j] : self.bounds[j + 1]].tolist()
            for j in range(self.starts[i], self.starts[i + 1])
        }


class Toggles(Sequence[Changes]):
    """Candidates that each take one edge out of an evaluator's current graph, where it is there, or put it in.

    Parameters
    ----------
    edges : bool array of shape (variables, variables)
        That graph: ``edges[u, v]`` is the edge from u to v.
    nodes, others : int64 arrays of shape (candidates,)
        The child and the parent of each candidate's edge.

    Examples
    --------
    >>> toggles = Toggles(np.array([[False, True], [False, False]]), np.array([1, 0]), np.array([0, 1]))
    >>> list(toggles)
    [{1: []}, {0: [1]}]
    """

    def __init__(self, edges: BoolArray, nodes: IntArray, others: IntArray) -> None:
        self.edges = edges
        self.nodes = nodes
        self.others = others

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, index: int) -> Changes: ...

    @overload
    def __getitem__(self, index: slice) -> Toggles: ...

    def __getitem__(self, index: int | slice) -> Changes | Toggles:
        if isinstance(index, slice):
            return Toggles(self.edges, self.nodes[index], self.others[index])
        place = range(len(self))[index]
        return Candidates.of(self[place : place + 1])[0]


class FlatGraph(NamedTuple):
    """The families of the current graph.

    Attributes
    ----------
    n_parents : int64 array of shape (variables,)
        -1 for one that has no family at all.
    parents : int64 array of shape (variables, most parents)
        Those of v are ``parents[v, :n_parents[v]]``.
    """

    n_parents: IntArray
    parents: IntArray

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> FlatGraph:
        """Return the graph in which ``parents[v]`` are those of v."""
        most = max(1, *map(len, parents))
        rows = [[*own, *[0] * (most - len(own))] for own in parents]
        return cls(np.array([len(own) for own in parents], dtype=np.int64), np.array(rows, dtype=np.int64))

    @classmethod
    def without_families(cls, n: int) -> FlatGraph:
        """Return the graph of n variables that have no families yet: whatever they get, none is replaced."""
        return cls(np.full(n, -1), np.zeros((n, 1), np.int64))

    def parents_of(self, v: int) -> tuple[int, ...]:
        """Return the parents of v."""
        return tuple(self.parents[v, : max(0, self.n_parents[v])].tolist())

    def replace(self, v: int, parents: Sequence[int]) -> FlatGraph:
        """Return the graph in which v has these parents; the arrays of this one are changed."""
        lacking = len(parents) - self.parents.shape[1]
        graph = self if lacking <= 0 else self._replace(parents=np.pad(self.parents, ((0, 0), (0, lacking))))
        graph.n_parents[v] = len(parents)
        graph.parents[v, : len(parents)] = parents
        return graph
