"""How often each number occurs in each class: exactly while few differ, above that by a summary with a bounded error.

The summary is made of *points*: numbers, each of which stands for the rows between it and the point before, of all
classes. Compressing moves rows up to the next point that is kept, and moves no more than a share ``1 / KEPT`` of them
to any point; rows that all have one and the same number stay, where they are that many. Two summaries of equally many
parts are put together and compressed again (the binary counter of Munro and Paterson 1980), so that a row is moved at
most once for each time that the number of rows doubles: of n rows, those at or below a number are too few by at most
``n / KEPT * (1 + ceil(log2(n / LEAF)))``, and never too many. That is 0.16% of 100 million rows.

The classes have their points in common: with points of its own for each, a stretch of numbers in which they are mixed
would look like many short ones in each of which there is one class alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.data._whole_numbers import has_inexact

#: A summary is compressed to about twice as many points.
KEPT = 1 << 13

#: As many numbers are gathered before they are compressed for the first time.
LEAF = 1 << 15

#: As many distinct numbers are kept as they are.
MOST_EXACT = 1 << 16


class Points(NamedTuple):
    """Numbers, and the rows of each class that each stands for; sorted by number, then by class.

    Attributes
    ----------
    values : float or integer array
    classes : int64 array
    rows : int64 array
        How many rows.
    weights : float64 array, or None
        Their weight; None where rows have none.
    """

    values: npt.NDArray[Any]
    classes: IntArray
    rows: IntArray
    weights: FloatArray | None

    @classmethod
    def of(cls, values: npt.NDArray[Any], classes: IntArray, weights: FloatArray | None = None) -> Points:
        """Return the distinct numbers of rows, none of which is missing; the rows come sorted by class.

        Examples
        --------
        >>> found = Points.of(np.array([3, 1, 3, 3]), np.array([0, 0, 0, 1]))
        >>> found.values.tolist(), found.classes.tolist(), found.rows.tolist()
        ([1, 3, 3], [0, 0, 1], [1, 2, 1])
        """
        bounds = [0, *(np.flatnonzero(np.diff(classes)) + 1), len(classes)]
        parts = [
            _distinct_rows(values[low:high], int(classes[low]), None if weights is None else weights[low:high])
            for low, high in pairwise(bounds)
            if high > low
        ]
        if not parts:
            return cls(values, classes, np.zeros(0, dtype=np.int64), weights)
        every = _concatenated(parts)
        # Runs that are sorted are put together in one pass, and equal numbers stay in the order of the classes.
        return every if len(parts) == 1 else every._taken(np.argsort(every.values, kind="stable"))

    def join(self, *others: Points) -> Points:
        """Return the points of several summaries."""
        if not others:
            return self
        every = _concatenated([self, *others])
        every = every._taken(np.lexsort((every.classes, every.values)))
        same = (every.values[1:] == every.values[:-1]) & (every.classes[1:] == every.classes[:-1])
        return every._gathered(np.append(~same, True))

    def renumbered(self, places: IntArray) -> Points:
        """Return the same points with other numbers of the classes: class c is ``places[c]``."""
        own = self._replace(classes=places[self.classes])
        return own._taken(np.lexsort((own.classes, own.values)))

    @property
    def n_distinct(self) -> int:
        """The number of distinct numbers."""
        return int(np.count_nonzero(self._ends()))

    def compress(self, kept: int) -> Points:
        """Return about ``2 * kept`` numbers: rows are moved up to the next, at most a share ``1 / kept`` to each."""
        ends = np.flatnonzero(self._ends())
        size = np.add.reduceat(self._size(), np.append(0, ends[:-1] + 1))
        total = size.sum()
        cell = np.floor((np.cumsum(size) - size / 2) * (2 * kept) / total)
        # Rows that have a share of their own stay where they are.
        heavy = size >= total / (2 * kept)
        last = np.append((cell[1:] != cell[:-1]) | heavy[:-1] | heavy[1:], True)
        # The least number is known, as the greatest is: equal widths are laid between them.
        last[0] = True
        group = np.cumsum(last) - last
        return self._moved(self.values[ends[last]], np.repeat(group, np.diff(ends, prepend=-1)))

    def _moved(self, values: npt.NDArray[Any], group: IntArray) -> Points:
        """Return points of fewer numbers: entry i goes to ``values[group[i]]``."""
        n_classes = int(self.classes.max()) + 1
        cells, size = group * n_classes + self.classes, len(values) * n_classes
        rows = np.bincount(cells, self.rows, size)
        there = np.flatnonzero(rows)
        weights = None if self.weights is None else np.bincount(cells, self.weights, size)[there].astype(np.float64)
        return Points(values[there // n_classes], there % n_classes, rows[there].astype(np.int64), weights)

    def _ends(self) -> BoolArray:
        """Return which entries are the last of their number."""
        return np.append(self.values[1:] != self.values[:-1], True)[: len(self.values)]

    def _size(self) -> FloatArray:
        return self.rows.astype(np.float64) if self.weights is None else self.weights

    def _taken(self, order: IntArray) -> Points:
        weights = None if self.weights is None else self.weights[order]
        return Points(self.values[order], self.classes[order], self.rows[order], weights)

    def _gathered(self, last: BoolArray) -> Points:
        """Return the entries that are the last of their group, with the rows of the group."""
        if last.all():
            return self
        ends = np.flatnonzero(last)
        starts = np.append(0, ends[:-1] + 1)
        weights = None if self.weights is None else np.add.reduceat(self.weights, starts)
        return Points(self.values[ends], self.classes[ends], np.add.reduceat(self.rows, starts), weights)


def _distinct_rows(values: npt.NDArray[Any], c: int, weights: FloatArray | None) -> Points:
    """Return the distinct numbers of rows of one class."""
    order = None if weights is None else np.argsort(values, kind="stable")
    values = np.sort(values) if order is None else values[order]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    rows = np.diff(ends, prepend=-1)
    own = None if weights is None else np.add.reduceat(weights[order], ends + 1 - rows)
    return Points(values[ends], np.full(len(ends), c, dtype=np.int64), rows, own)


def _concatenated(parts: list[Points]) -> Points:
    weights = [own.weights for own in parts if own.weights is not None]
    return Points(
        _in_one_type([part.values for part in parts]),
        np.concatenate([own.classes for own in parts]),
        np.concatenate([own.rows for own in parts]),
        np.concatenate(weights) if weights else None,
    )


def _in_one_type(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate numbers, as integers if some are integers and all are whole: numpy would convert them to floats."""
    kinds = {array.dtype.kind for array in arrays}
    if len(kinds) > 1:
        for dtype in (np.int64, np.uint64):
            if all(_fit(array, dtype) for array in arrays):
                return np.concatenate([array.astype(dtype) for array in arrays])
    return np.concatenate(arrays)


def _fit(values: npt.NDArray[Any], dtype: type[np.int64 | np.uint64]) -> bool:
    """Return whether an integer type represents all numbers exactly."""
    if not len(values):
        return True
    if values.dtype.kind == "f" and (has_inexact(values) or (values != np.rint(values)).any()):
        return False
    limits = np.iinfo(dtype)
    return int(values.min()) >= limits.min and int(values.max()) <= limits.max


def _are_merged(parts: list[Points], joined: Points) -> bool:
    """Return whether joining the parts converted distinct whole numbers to the same float."""
    whole = [part.values for part in parts if part.values.dtype.kind in "iu" and has_inexact(part.values)]
    if not whole or joined.values.dtype.kind != "f":
        return False
    distinct = set().union(*(values.tolist() for values in whole))
    return len({float(number) for number in distinct}) < len(distinct)


class Distribution:
    """How often each number occurs in each class; it grows batch by batch.

    Parameters
    ----------
    kept, leaf, most_exact : int
        As :data:`KEPT`, :data:`LEAF` and :data:`MOST_EXACT`.

    Attributes
    ----------
    exact : bool
        Whether every number is kept.
    merged : bool
        Whether distinct whole numbers became the same float.

    Examples
    --------
    >>> seen = Distribution()
    >>> for rows in ([2.5, 1.0], [2.5, 7.0]):
    ...     seen.add(Points.of(np.array(rows), np.array([0, 1])))
    >>> points = seen.points()
    >>> points.values.tolist(), points.classes.tolist(), points.rows.tolist(), seen.exact
    ([1.0, 2.5, 7.0], [1, 0, 1], [1, 2, 1], True)
    """

    def __init__(self, kept: int = KEPT, leaf: int = LEAF, most_exact: int = MOST_EXACT) -> None:
        self.kept, self.leaf, self.most_exact = kept, leaf, most_exact
        self.exact = True
        self.merged = False
        self._waiting: list[Points] = []
        self._n_waiting, self._limit = 0, most_exact
        # The summary of 2^i leaves, or None.
        self._levels: list[Points | None] = []

    def add(self, points: Points) -> None:
        """Take in the distinct numbers of more rows."""
        if len(points.values) == 0:
            return
        self._waiting.append(points)
        self._n_waiting += len(points.values)
        if self._n_waiting > (self._limit if self.exact else self.leaf):
            self._settle()

    def merge(self, other: Distribution) -> Self:
        """Take in what another one has seen."""
        self.merged |= other.merged
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

    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers: class c is ``places[c]``."""
        self._waiting = [own.renumbered(places) for own in self._waiting]
        self._levels = [None if own is None else own.renumbered(places) for own in self._levels]

    def points(self) -> Points:
        """Return all points together."""
        every = self._waiting + [level for level in self._levels if level is not None]
        none = Points.of(np.zeros(0), np.zeros(0, dtype=np.int64))
        return self._joined(every) if every else none

    def _joined(self, parts: list[Points]) -> Points:
        joined = parts[0].join(*parts[1:])
        self.merged |= _are_merged(parts, joined)
        return joined

    def _settle(self) -> None:
        """Make one of what is waiting and, where that is too much, compress it."""
        joined = self._joined(self._waiting)
        if self.exact and joined.n_distinct <= self.most_exact:
            self._waiting, self._n_waiting = [joined], len(joined.values)
            # Twice as many, so that what is there is not put together again for every few that come.
            self._limit = max(self.most_exact, 2 * self._n_waiting)
            return
        self.exact = False
        self._waiting, self._n_waiting = [], 0
        floats = joined._replace(values=joined.values.astype(np.float64))
        self.merged |= _are_merged([joined], floats)
        self._carry(floats.compress(self.kept), 0)

    def _carry(self, points: Points, level: int) -> None:
        """Put a summary at its level; two of a level are one of the next."""
        self._levels += [None] * (level + 1 - len(self._levels))
        there, self._levels[level] = self._levels[level], None
        if there is None:
            self._levels[level] = points
        else:
            self._carry(there.join(points).compress(self.kept), level + 1)
