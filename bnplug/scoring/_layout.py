"""Flat arrays that compiled calls take: candidates, the current graph, and rows sorted by fold and class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from bnplug.contracts import Changes
from bnplug.table.table import Table
from bnplug.typing import BoolArray, CodeArray, IntArray

_SMALL = np.iinfo(np.uint16).max

# Weights become integers whose sum is below this: float64 holds their sums exactly.
_WHOLE = 2**52


class Candidates(Sequence[Changes]):
    """A batch of candidates as flat arrays; read one by one, it is a sequence of changes.

    Parameters
    ----------
    starts : int64 array of shape (candidates + 1,)
        Candidate i changes the variables ``nodes[starts[i]:starts[i + 1]]``.
    nodes : int64 array
    bounds : int64 array
        The j-th changed variable gets the parents ``parents[bounds[j]:bounds[j + 1]]``.
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
        # Kernels would be compiled again for arrays that are not contiguous.
        self.starts, self.nodes, self.bounds, self.parents = map(np.ascontiguousarray, (starts, nodes, bounds, parents))

    @classmethod
    def of(cls, candidates: Sequence[Changes]) -> Candidates:
        """Return candidates as arrays; an instance is returned unchanged."""
        if isinstance(candidates, Candidates):
            return candidates
        if isinstance(candidates, Toggles):
            return cls.toggling(candidates.edges, np.arange(len(candidates) + 1), candidates.nodes, candidates.others)
        families = [parents for changes in candidates for parents in changes.values()]
        numbers = (
            accumulate(map(len, candidates), initial=0),
            chain.from_iterable(candidates),
            accumulate(map(len, families), initial=0),
            chain.from_iterable(families),
        )
        return cls(*[np.array(list(column), dtype=np.int64) for column in numbers])

    @classmethod
    def toggling(cls, edges: BoolArray, starts: IntArray, nodes: IntArray, others: IntArray) -> Candidates:
        """Return candidates that toggle the edge from each of `others` to each of `nodes` in a matrix of edges."""
        parents = edges.T[nodes]
        parents[np.arange(len(nodes)), others] ^= True
        bounds = np.concatenate([[0], np.cumsum(parents.sum(axis=1))])
        return cls(starts, nodes, bounds, np.flatnonzero(parents) % len(edges))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, stop, _ = index.indices(len(self))
            return Candidates(self.starts[first : max(first, stop) + 1], self.nodes, self.bounds, self.parents)
        i = range(len(self))[index]
        return {
            int(self.nodes[j]): self.parents[self.bounds[j] : self.bounds[j + 1]].tolist()
            for j in range(self.starts[i], self.starts[i + 1])
        }


class Toggles(Sequence[Changes]):
    """Candidates that each add or delete one edge, which decomposable scores evaluate faster than other candidates.

    Parameters
    ----------
    edges : bool array of shape (variables, variables)
        The current graph, as [parent, child].
    nodes, others : int64 arrays of shape (candidates,)
        Candidate i toggles the edge from ``others[i]`` to ``nodes[i]``. Equal nodes are adjacent.
    """

    def __init__(self, edges: BoolArray, nodes: IntArray, others: IntArray) -> None:
        self.edges = edges
        self.nodes = nodes
        self.others = others

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Toggles(self.edges, self.nodes[index], self.others[index])
        place = range(len(self))[index]
        return Candidates.of(self[place : place + 1])[0]


class FlatGraph(NamedTuple):
    """The families of a graph: v has the parents ``parents[v, :n_parents[v]]``, or no family if n_parents[v] is -1."""

    n_parents: IntArray
    parents: IntArray

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> FlatGraph:
        """Return the graph in which v has ``parents[v]``."""
        most = max(1, *map(len, parents))
        rows = [[*family, *[0] * (most - len(family))] for family in parents]
        return cls(np.array([len(family) for family in parents], dtype=np.int64), np.array(rows, dtype=np.int64))

    @classmethod
    def without_families(cls, n: int) -> FlatGraph:
        """Return n variables without families: adding one replaces nothing."""
        return cls(np.full(n, -1), np.zeros((n, 1), np.int64))

    def parents_of(self, v: int) -> tuple[int, ...]:
        """Return the parents of v."""
        return tuple(self.parents[v, : max(0, self.n_parents[v])].tolist())

    def replace(self, v: int, parents: Sequence[int]) -> FlatGraph:
        """Return the graph in which v has these parents; arrays are changed in place."""
        graph = self.with_room(len(parents))
        graph.n_parents[v] = len(parents)
        graph.parents[v, : len(parents)] = parents
        return graph

    def with_room(self, n: int) -> FlatGraph:
        """Return the graph with room for n parents of each variable."""
        lacking = n - self.parents.shape[1]
        return self if lacking <= 0 else self._replace(parents=np.pad(self.parents, ((0, 0), (0, lacking))))


class FoldedRows(NamedTuple):
    """The rows of a table in the order (fold, class), and how parameters are estimated from them.

    The rows of segment ``s = fold * classes + class`` are ``bounds[s]:bounds[s + 1]``; those never tested come last.
    """

    codes: CodeArray  # (variables, rows); a missing cell has the code cards[v]
    cards: IntArray  # (variables,): the number of states
    sizes: IntArray  # (variables,): the number of codes, one more if the column has missing cells
    target: int
    n_folds: int  # the number of tested folds
    bounds: IntArray  # ((n_folds + 1) * classes + 1,)
    weights: IntArray  # (rows,), or (0,) if every row counts once
    unit: float  # the weight that 1 in `weights` stands for
    tested_weight: float  # the total weight of the tested rows, in units
    resubstitution: bool  # whether tested rows are also training rows
    alpha: float  # as in bnplug.model.log_tables.estimate; if alpha and floor are 0, probabilities can be zero
    floor: float

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.cards[self.target])

    @property
    def n_tested(self) -> int:
        """The number of tested rows."""
        return int(self.bounds[self.n_folds * self.n_classes])

    @property
    def finite(self) -> bool:
        """Whether no probability can be zero."""
        return self.alpha > 0 or self.floor > 0

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield the bounds of each tested segment."""
        return pairwise(self.bounds[: self.n_folds * self.n_classes + 1].tolist())


def describe_rows(table: Table, folds: IntArray | None, alpha: float, floor: float) -> tuple[IntArray, FoldedRows]:
    """Return the number of each row's fold, and the properties that all blocks share, as FoldedRows without rows.

    folds: (rows,), negative for a row that is never tested; None for resubstitution.
    """
    if not table.total_weight > 0:
        raise ValueError("the table has no rows (or none with a positive weight)")
    _check_class(table)
    fold, n_folds = _number_folds(table, folds)
    if folds is not None:
        _check_training(table, fold, n_folds)
    # A power of two: a count of 2 stays twice the row, and no sum is rounded.
    unit = float(2.0 ** np.ceil(np.log2(table.total_weight / _WHOLE))) if table.weighted else 1.0
    return fold, FoldedRows(
        codes=np.empty((len(table.names), 0), dtype=table.dtype),
        cards=table.cards.copy(),
        sizes=table.cards + table.has_missing,
        target=table.target_index,
        n_folds=n_folds,
        bounds=np.zeros((n_folds + 1) * int(table.cards[table.target_index]) + 1, dtype=np.int64),
        weights=np.empty(0, dtype=np.int64),
        unit=unit,
        tested_weight=0.0,
        resubstitution=folds is None,
        alpha=float(alpha),
        floor=float(floor),
    )


def sort_rows(table: Table, fold: IntArray, header: FoldedRows) -> FoldedRows:
    """Return the rows of a table in memory, or of one block, by the number of their fold and by class."""
    labels = table.codes[table.target_index].astype(np.int64)
    segments = fold * header.n_classes + labels
    # Small integers are sorted by radix.
    order = np.argsort(segments.astype(np.uint16) if len(header.bounds) <= _SMALL else segments, kind="stable")
    bounds = np.searchsorted(segments[order], np.arange(len(header.bounds)))
    codes, weights = table.codes, np.empty(0, dtype=np.int64)
    if (header.sizes > table.cards).any():
        codes = np.minimum(codes, table.cards.astype(table.dtype)[:, None])
    if table.weights is not None:
        weights = np.rint(table.weights / header.unit).astype(np.int64)[order]
    n_tested = int(bounds[header.n_folds * header.n_classes])
    return header._replace(
        codes=codes.take(order, axis=1),
        bounds=bounds.astype(np.int64),
        weights=weights,
        tested_weight=float(weights[:n_tested].sum() if len(weights) else n_tested),
    )


def _number_folds(table: Table, folds: IntArray | None) -> tuple[IntArray, int]:
    """Number the folds 0, 1, ..., and one more for the rows that are never tested."""
    if folds is None:
        return np.zeros(table.n_rows, dtype=np.int64), 1
    folds = np.asarray(folds, dtype=np.int64)
    if folds.shape != (table.n_rows,):
        raise ValueError(f"folds have shape {folds.shape}; the table has {table.n_rows} rows")
    tested = folds >= 0
    if not tested.any():
        raise ValueError("no row is in a test fold")
    numbers, fold = np.unique(folds[tested], return_inverse=True)
    result = np.full(table.n_rows, len(numbers), dtype=np.int64)
    result[tested] = fold
    return result, len(numbers)


def _check_class(table: Table) -> None:
    if table.cards[table.target_index] < 2:
        raise ValueError(f"the class {table.target!r} has one state only: there is nothing to tell apart")
    # A table of expected rows has no row without a class, and would have to draw the missing cells to show its rows.
    absent = 0 if table.expects else sum(table.map(_n_without_class))
    if absent:
        raise ValueError(f"the class {table.target!r} is missing in {absent} row(s); drop these rows")


def _n_without_class(block: Table) -> int:
    return int((block.codes[block.target_index] == block.missing).sum())


def _check_training(table: Table, fold: IntArray, n_folds: int) -> None:
    counts = table.counts([[table.target_index]], fold)[0]
    outside = (counts.sum(axis=0) - counts[:n_folds] > 0).sum(axis=1)
    if (outside < 2).any():
        raise ValueError(
            f"all rows outside fold {int(np.argmin(outside))} have the same class, so it has nothing to "
            f"learn {table.target!r} from; use fewer folds, or stratified ones"
        )
