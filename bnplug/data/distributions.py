"""How often each number occurs: exactly while few differ, and above that by a summary with a bounded error.

The summary is made of *points*: numbers, each of which stands for the rows between it and the point before. Compressing
moves rows up to the next point that is kept, and no point stands for more than a share ``1 / KEPT`` of the rows that
were there, unless they all have one and the same number. Two summaries of about equally many rows are put together and
compressed again (the binary counter of Munro and Paterson 1980), so that a row is moved at most once for each time that
the number of rows doubles: with n rows, the rank of any number is too low by at most
``n / KEPT * (1 + ceil(log2(n / LEAF)))``, and never too high. That is 0.3% of 100 million rows.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray

#: A summary is compressed to about twice as many points.
KEPT = 1 << 12

#: As many points are gathered before they are compressed for the first time.
LEAF = 1 << 15

#: So many distinct numbers of one class are kept as they are.
MOST_EXACT = 1 << 16


class Points(NamedTuple):
    """Ascending numbers, and the rows that each stands for.

    Attributes
    ----------
    values : float64 or integer array
    rows : int64 array
        How many rows.
    weights : float64 array, or None
        Their weight; None where rows have none.
    """

    values: np.ndarray[tuple[int], np.dtype[np.generic]]
    rows: IntArray
    weights: FloatArray | None

    @classmethod
    def of(cls, values: np.ndarray[tuple[int], np.dtype[np.generic]], weights: FloatArray | None = None) -> Points:
        """Return the distinct numbers of rows, none of which is missing.

        Examples
        --------
        >>> Points.of(np.array([3, 1, 3])).values.tolist(), Points.of(np.array([3, 1, 3])).rows.tolist()
        ([1, 3], [1, 2])
        """
        if weights is None:
            values = np.sort(values)
            ends = np.flatnonzero(np.append(values[1:] != values[:-1], True)[: len(values)])
            return cls(values[ends], np.diff(ends, prepend=-1), None)
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.ones(len(values), dtype=np.int64), weights[order])._distinct()

    def join(self, *others: Points) -> Points:
        """Return the points of several summaries."""
        if not others:
            return self
        every = [self, *others]
        values = np.concatenate([own.values for own in every])
        order = np.argsort(values, kind="stable")
        weights = None if self.weights is None else np.concatenate([own._weights() for own in every])[order]
        return Points(values[order], np.concatenate([own.rows for own in every])[order], weights)._distinct()

    def compress(self, kept: int) -> Points:
        """Return about ``2 * kept`` points: rows are moved up to the next, at most a share ``1 / kept`` to each."""
        size = self._size()
        total = size.sum()
        cell = np.floor((np.cumsum(size) - size / 2) * (2 * kept) / total)
        # Rows that have a share of their own stay where they are.
        heavy = size >= total / (2 * kept)
        last = np.append((cell[1:] != cell[:-1]) | heavy[:-1] | heavy[1:], True)
        # The least number is known, as the greatest is: equal widths are laid between them.
        last[0] = True
        return self._gathered(last)

    def _size(self) -> FloatArray:
        return self.rows.astype(np.float64) if self.weights is None else self.weights

    def _weights(self) -> FloatArray:
        assert self.weights is not None
        return self.weights

    def _distinct(self) -> Points:
        """Return points of which no two have the same value."""
        last = np.append(self.values[1:] != self.values[:-1], True)[: len(self.values)]
        return self if last.all() else self._gathered(last)

    def _gathered(self, last: npt.NDArray[np.bool_]) -> Points:
        """Return the points that are the last of their group, with the rows of the group."""
        ends = np.flatnonzero(last)
        starts = np.append(0, ends[:-1] + 1)
        weights = None if self.weights is None else np.add.reduceat(self.weights, starts)
        return Points(self.values[ends], np.add.reduceat(self.rows, starts), weights)


class Distribution:
    """How often each number occurs, of the rows of one class; it grows file by file.

    Parameters
    ----------
    kept, leaf, most_exact : int
        As :data:`KEPT`, :data:`LEAF` and :data:`MOST_EXACT`.

    Attributes
    ----------
    exact : bool
        Whether every number is kept.

    Examples
    --------
    >>> seen = Distribution()
    >>> for rows in ([2.5, 1.0], [2.5, 7.0]):
    ...     seen.add(Points.of(np.array(rows)))
    >>> seen.points().values.tolist(), seen.points().rows.tolist(), seen.exact
    ([1.0, 2.5, 7.0], [1, 2, 1], True)
    """

    def __init__(self, kept: int = KEPT, leaf: int = LEAF, most_exact: int = MOST_EXACT) -> None:
        self.kept, self.leaf, self.most_exact = kept, leaf, most_exact
        self.exact = True
        self._waiting: list[Points] = []
        self._n_waiting = 0
        # The summary of 2^i leaves, or None.
        self._levels: list[Points | None] = []

    @property
    def is_empty(self) -> bool:
        """Whether no number was seen."""
        return not self._waiting and not any(self._levels)

    def add(self, points: Points) -> None:
        """Take in the distinct numbers of more rows."""
        if len(points.values) == 0:
            return
        self._waiting.append(points)
        self._n_waiting += len(points.values)
        if self._n_waiting > (self.most_exact if self.exact else self.leaf):
            self._settle()

    def merge(self, other: Distribution) -> Self:
        """Take in what another one has seen."""
        if other.exact:
            for points in other._waiting:
                self.add(points)
            return self
        self.exact = False
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._carry(summary, level)
        for points in other._waiting:
            self.add(points)
        return self

    def points(self) -> Points:
        """Return all points together."""
        every = self._waiting + [level for level in self._levels if level is not None]
        return every[0].join(*every[1:])

    def _settle(self) -> None:
        """Make one of what is waiting and, where that is too much, compress it."""
        joined = self._waiting[0].join(*self._waiting[1:])
        if self.exact and len(joined.values) <= self.most_exact:
            self._waiting, self._n_waiting = [joined], len(joined.values)
            return
        self.exact = False
        self._waiting, self._n_waiting = [], 0
        self._carry(_as_floats(joined).compress(self.kept), 0)

    def _carry(self, points: Points, level: int) -> None:
        """Put a summary at its level; two of a level are one of the next."""
        self._levels += [None] * (level + 1 - len(self._levels))
        there, self._levels[level] = self._levels[level], None
        if there is None:
            self._levels[level] = points
        else:
            self._carry(there.join(points).compress(self.kept), level + 1)


def _as_floats(points: Points) -> Points:
    """Whole numbers that differ may be the same as floats."""
    return points._replace(values=points.values.astype(np.float64))._distinct()
