"""Count how often each number occurs in each class: exactly for few distinct numbers, else by a bounded-error summary.

The summary consists of *points*: numbers that stand for the rows between them and the previous point. Compressing moves
rows up to the next point that is kept, at most a share ``1 / KEPT`` of them to any point. Two summaries of equally many
parts are joined and compressed again (the binary counter of Munro and Paterson 1980): the count at or below a number is
too small by at most ``n / KEPT * (1 + ceil(log2(n / LEAF)))``, 0.16% of 100 million rows, and never too large. All
classes share their points: else an interval of mixed classes would look like many short ones of a single class each.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bnplug.table._checks import has_inexact
from bnplug.typing import BoolArray, FloatArray, IntArray

#: A summary is compressed to about twice KEPT points. As many numbers as LEAF are gathered before the first
#: compression. As many distinct numbers as MOST_EXACT are kept exactly.
KEPT, LEAF, MOST_EXACT = 1 << 13, 1 << 15, 1 << 16


class Points(NamedTuple):
    """Numbers with the rows (and their weight) of each class; sorted by number, then by class."""

    values: npt.NDArray[Any]
    classes: IntArray
    rows: IntArray
    weights: FloatArray | None

    @classmethod
    def of(cls, values: npt.NDArray[Any], classes: IntArray, weights: FloatArray | None = None) -> Points:
        """Return the distinct numbers of rows that are sorted by class; no number may be missing."""
        bounds = [0, *(np.flatnonzero(np.diff(classes)) + 1), len(classes)]
        parts = [
            _distinct_rows(values[low:high], int(classes[low]), None if weights is None else weights[low:high])
            for low, high in pairwise(bounds)
            if high > low
        ]
        if not parts:
            return cls(values, classes, np.zeros(0, dtype=np.int64), weights)
        points = _concatenated(parts)
        # A stable sort merges sorted runs in one pass, and leaves equal numbers in the order of the classes.
        return points if len(parts) == 1 else points._taken(np.argsort(points.values, kind="stable"))

    def join(self, *others: Points) -> Points:
        """Return the points of several summaries."""
        if not others:
            return self
        points = _concatenated([self, *others])._sorted()
        last = np.append((np.diff(points.classes) != 0) | (points.values[1:] != points.values[:-1]), True)
        if last.all():
            return points
        ends = np.flatnonzero(last)
        starts = np.append(0, ends[:-1] + 1)
        weights = None if points.weights is None else np.add.reduceat(points.weights, starts)
        return Points(points.values[ends], points.classes[ends], np.add.reduceat(points.rows, starts), weights)

    def renumbered(self, places: IntArray) -> Points:
        """Return the same points with class c renamed to ``places[c]``."""
        return self._replace(classes=places[self.classes])._sorted()

    def compress(self, kept: int) -> Points:
        """Return about ``2 * kept`` numbers: rows move up to the next one, at most a share ``1 / kept`` to each."""
        ends = np.flatnonzero(self._ends())
        size = self.rows.astype(np.float64) if self.weights is None else self.weights
        size = np.add.reduceat(size, np.append(0, ends[:-1] + 1))
        total = size.sum()
        cell = np.floor((np.cumsum(size) - size / 2) * (2 * kept) / total)
        # Numbers with a full share of the rows keep them.
        heavy = size >= total / (2 * kept)
        last = np.append((cell[1:] != cell[:-1]) | heavy[:-1] | heavy[1:], True)
        # Bins of equal width need the smallest number, as well as the largest.
        last[0] = True
        group = np.cumsum(last) - last
        return self._moved(self.values[ends[last]], np.repeat(group, np.diff(ends, prepend=-1)))

    def _moved(self, values: npt.NDArray[Any], group: IntArray) -> Points:
        """Move entry i to ``values[group[i]]``."""
        n_classes = int(self.classes.max()) + 1
        cells, size = group * n_classes + self.classes, len(values) * n_classes
        rows = np.bincount(cells, self.rows, size)
        used = np.flatnonzero(rows)
        weights = None if self.weights is None else np.bincount(cells, self.weights, size)[used].astype(np.float64)
        return Points(values[used // n_classes], used % n_classes, rows[used].astype(np.int64), weights)

    def _ends(self) -> BoolArray:
        """Return which entries are the last of their number."""
        return np.append(self.values[1:] != self.values[:-1], True)[: len(self.values)]

    def _sorted(self) -> Points:
        return self._taken(np.lexsort((self.classes, self.values)))

    def _taken(self, order: IntArray) -> Points:
        weights = None if self.weights is None else self.weights[order]
        return Points(self.values[order], self.classes[order], self.rows[order], weights)


def _distinct_rows(values: npt.NDArray[Any], c: int, weights: FloatArray | None) -> Points:
    """Return the distinct numbers of rows of one class."""
    order = None if weights is None else np.argsort(values, kind="stable")
    values = np.sort(values) if order is None else values[order]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    rows = np.diff(ends, prepend=-1)
    totals = None if weights is None else np.add.reduceat(weights[order], ends + 1 - rows)
    return Points(values[ends], np.full(len(ends), c, dtype=np.int64), rows, totals)


def _concatenated(parts: list[Points]) -> Points:
    weights = [part.weights for part in parts if part.weights is not None]
    return Points(
        _in_one_type([part.values for part in parts]),
        np.concatenate([part.classes for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def _in_one_type(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate numbers, as integers if some are integers and all are whole: numpy would convert them to floats."""
    if len({array.dtype.kind for array in arrays}) > 1:
        for dtype in (np.int64, np.uint64):
            if all(_fit(array, np.iinfo(dtype)) for array in arrays):
                return np.concatenate([array.astype(dtype) for array in arrays])
    return np.concatenate(arrays)


def _fit(values: npt.NDArray[Any], limits: np.iinfo[Any]) -> bool:
    """Return whether an integer type represents all numbers exactly."""
    if values.dtype.kind == "f" and (has_inexact(values) or (values != np.rint(values)).any()):
        return False
    return not len(values) or (int(values.min()) >= limits.min and int(values.max()) <= limits.max)


def _are_merged(parts: list[Points], joined: Points) -> bool:
    """Return whether joining the parts converted distinct whole numbers to the same float."""
    whole = [part.values for part in parts if part.values.dtype.kind in "iu" and has_inexact(part.values)]
    if not whole or joined.values.dtype.kind != "f":
        return False
    distinct = set().union(*(values.tolist() for values in whole))
    return len({float(number) for number in distinct}) < len(distinct)


class Distribution:
    """Incremental count of each number in each class.

    `exact` says whether every number is kept, `merged` whether distinct whole numbers became the same float.
    """

    def __init__(self, kept: int = KEPT, leaf: int = LEAF, most_exact: int = MOST_EXACT) -> None:
        self.kept, self.leaf, self.most_exact = kept, leaf, most_exact
        self.exact, self.merged = True, False
        self._waiting: list[Points] = []
        self._n_waiting, self._limit = 0, most_exact
        # Level i: the summary of 2^i leaves, or None.
        self._levels: list[Points | None] = []

    def add(self, points: Points) -> None:
        """Add the distinct numbers of more rows."""
        if len(points.values) == 0:
            return
        self._waiting.append(points)
        self._n_waiting += len(points.values)
        if self._n_waiting > (self._limit if self.exact else self.leaf):
            self._summarize()

    def merge(self, other: Distribution) -> Self:
        """Add the contents of another distribution."""
        self.merged |= other.merged
        self.exact &= other.exact
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._carry(summary, level)
        for points in other._waiting:
            self.add(points)
        return self

    def renumber(self, places: IntArray) -> None:
        """Rename class c to ``places[c]``."""
        self._waiting = [points.renumbered(places) for points in self._waiting]
        self._levels = [None if points is None else points.renumbered(places) for points in self._levels]

    def points(self) -> Points:
        """Return all points together."""
        parts = self._waiting + [level for level in self._levels if level is not None]
        return self._joined(parts) if parts else Points.of(np.zeros(0), np.zeros(0, dtype=np.int64))

    def _joined(self, parts: list[Points]) -> Points:
        joined = parts[0].join(*parts[1:])
        self.merged |= _are_merged(parts, joined)
        return joined

    def _summarize(self) -> None:
        """Join the waiting points and, if they are too many, compress them."""
        joined = self._joined(self._waiting)
        if self.exact and np.count_nonzero(joined._ends()) <= self.most_exact:
            self._waiting, self._n_waiting = [joined], len(joined.values)
            # Doubling the limit keeps the cost of repeated joins linear.
            self._limit = max(self.most_exact, 2 * self._n_waiting)
            return
        self.exact = False
        self._waiting, self._n_waiting = [], 0
        floats = joined._replace(values=joined.values.astype(np.float64))
        self.merged |= _are_merged([joined], floats)
        self._carry(floats.compress(self.kept), 0)

    def _carry(self, points: Points, level: int) -> None:
        """Store a summary at its level; two of one level are joined into one of the next."""
        self._levels += [None] * (level + 1 - len(self._levels))
        previous, self._levels[level] = self._levels[level], None
        if previous is None:
            self._levels[level] = points
        else:
            self._carry(previous.join(points).compress(self.kept), level + 1)
