"""Counts over all blocks that a search asks for again and again: those of a set of features stay as long as the folds.

A step of a search changes a family or two, so that most of its neighbours need the tables that the last ones needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.scoring._batches import lay_out
from bnplug.scoring._bundles import Scratch
from bnplug.scoring._candidates import Candidates, FlatGraph
from bnplug.scoring._row_state import Given
from bnplug.scoring._rows import FoldedRows

# Counts are kept as long as they have no more cells than this together; those that were asked for last stay.
_MOST_KEPT = 1 << 23

#: The features of a table in ascending order, as bytes.
Key = bytes


class Layout(NamedTuple):
    """The tables of candidates.

    Attributes
    ----------
    sizes : float64 array of shape (candidates,)
        How many configurations each has, 0 where it changes no gain.
    features : int64 array
        The features of one candidate after the other, in ascending order.
    ends : int64 array of shape (candidates + 1,)
        Those of candidate i are ``features[ends[i]:ends[i + 1]]``.
    """

    sizes: FloatArray
    features: IntArray
    ends: IntArray

    @classmethod
    def of(cls, header: FoldedRows, graph: FlatGraph, candidates: Candidates, scratch: Scratch) -> Layout:
        """Return the tables of candidates from a graph."""
        arrays = candidates.starts, candidates.nodes, candidates.bounds, candidates.parents
        most = np.maximum(graph.n_parents[candidates.nodes], 0) + np.diff(candidates.bounds) + 1
        features = np.empty(int(most.sum()), dtype=np.int64)
        found = cls(np.zeros(len(candidates)), features, np.zeros(len(candidates) + 1, dtype=np.int64))
        lay_out(header, graph, *arrays, scratch, *found)
        return found

    def key(self, i: int) -> Key:
        """Return what the table of a candidate is known by."""
        return self.features[self.ends[i] : self.ends[i + 1]].tobytes()


class Tables(NamedTuple):
    """Tables to count: see :func:`~bnplug.scoring._batches.count_tables`.

    Attributes
    ----------
    features : int64 array
    ends : int64 array of shape (tables + 1,)
        The features of table i are ``features[ends[i]:ends[i + 1]]``.
    places : int64 array of shape (tables + 1,)
        Where its counts begin.
    """

    features: IntArray
    ends: IntArray
    places: IntArray

    @classmethod
    def of(cls, keys: Sequence[Key], cells: Sequence[int]) -> Tables:
        """Return tables that have so many cells each."""
        return cls(
            np.frombuffer(b"".join(keys), dtype=np.int64), _starts(len(own) // 8 for own in keys), _starts(cells)
        )


class KeptCounts:
    """Counts by the features that they are of.

    Examples
    --------
    >>> kept = KeptCounts()
    >>> one, other = (np.array(own).tobytes() for own in ([0, 2], [1]))
    >>> kept.add([one, other], np.arange(5), np.array([0, 3, 5]))
    >>> kept.lacking([one, other])
    []
    >>> kept.given([other, one, other]).counts.tolist()
    [3, 4, 0, 1, 2, 3, 4]
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[Key, IntArray] = OrderedDict()
        self._n_cells = 0

    def lacking(self, keys: Iterable[Key]) -> list[Key]:
        """Return those that are not here."""
        return [own for own in keys if own not in self._counts]

    def add(self, keys: Sequence[Key], counts: IntArray, places: IntArray) -> None:
        """Keep counts, one table after the other."""
        for key, first, last in zip(keys, places[:-1], places[1:], strict=True):
            # A copy: a part would keep the whole.
            self._counts[key] = counts[first:last].copy()
            self._n_cells += int(last - first)

    def given(self, keys: Sequence[Key]) -> Given:
        """Return the counts of tables, all of which are here; some of others may be forgotten then."""
        found = [self._counts[own] for own in keys]
        for own in keys:
            self._counts.move_to_end(own)
        while self._n_cells > _MOST_KEPT and len(self._counts) > 1:
            self._n_cells -= len(self._counts.popitem(last=False)[1])
        return Given(np.concatenate(found), _starts(map(len, found)))


def in_groups(cells: Sequence[int], most: int) -> Iterator[slice]:
    """Yield which tables are counted in one call: as many as have no more cells than `most`, one at least.

    Examples
    --------
    >>> list(in_groups([3, 4, 9, 1, 2], 8))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    first, total = 0, 0
    for i, own in enumerate(cells):
        if i > first and total + own > most:
            yield slice(first, i)
            first, total = i, 0
        total += own
    if first < len(cells):
        yield slice(first, len(cells))


def _starts(lengths: Iterable[int]) -> IntArray:
    return np.cumsum([0, *lengths], dtype=np.int64)
