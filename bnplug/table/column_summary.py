"""Summaries of columns for discretizers: how often each number occurs in each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.table._checks import has_inexact
from bnplug.typing import BoolArray, FloatArray, IntArray

# With more rows, sorting those of each class and merging them is faster than sorting all by number and class.
_MANY_ROWS = 1 << 13


@dataclass(frozen=True, eq=False, repr=False)
class ColumnSummary:
    """Summary of a column for a discretizer: the numbers that occur, and how often in each class.

    It is the same for rows in memory, in files and on Dask. A column with more distinct numbers than
    :func:`bnplug.encode_training` keeps is summarized by fewer. Missing cells are not part of it.

    Parameters
    ----------
    points : Points
        One entry for each number and class that occur together, sorted by number, then by class: the other attributes
        in a form that stays small if there are many classes.
    n_classes : int
        The number of classes; 1 for a discretizer that is not ``supervised``.
    name : str
        The name of the column.

    Examples
    --------
    >>> column = ColumnSummary.of([2.5, 1.0, 2.5, np.nan, 4.0], classes=[0, 0, 1, 1, 1])
    >>> column.values, column.rows
    (array([1. , 2.5, 4. ]), array([1, 2, 1]))
    >>> column.rows_by_class
    array([[1, 0],
           [1, 1],
           [0, 1]])
    """

    points: Points
    n_classes: int = 1
    name: str = ""

    @classmethod
    def of(
        cls,
        values: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        rows: npt.ArrayLike | None = None,
        name: str = "",
    ) -> ColumnSummary:
        """Summarize a column; NaN is omitted.

        Parameters
        ----------
        values : array of shape (cells,)
        classes : int array of shape (cells,), optional
            The class of each cell, from 0.
        weights : array of shape (cells,), optional
            Positive weights; by default 1 for each row.
        rows : int array of shape (cells,), optional
            The number of rows that each cell stands for, by default 1. Its weight is their total weight.
        name : str
            The name of the column.
        """
        numbers = np.asarray(values, dtype=np.float64) + 0.0  # Adding zero turns -0.0 into 0.0.
        labels = np.zeros(len(numbers), dtype=np.int64) if classes is None else np.asarray(classes, dtype=np.int64)
        n_classes, known = int(labels.max(initial=0)) + 1, ~np.isnan(numbers)
        cells: list[Any] = [numbers, labels, *(None if cell is None else np.asarray(cell) for cell in (rows, weights))]
        if not known.all():
            cells = [None if cell is None else cell[known] for cell in cells]
        numbers, labels, repeats, totals = cells
        if repeats is not None or len(numbers) <= _MANY_ROWS:
            repeats = np.ones(len(numbers), dtype=np.int64) if repeats is None else repeats
            return cls(Points(numbers, labels, repeats, totals).merged(), n_classes, name)
        if labels.any():
            small = labels.astype(np.uint16) if n_classes <= 1 << 16 else labels  # Sorted by digits, thus fast.
            order = np.argsort(small, kind="stable")
            numbers, labels, totals = numbers[order], labels[order], None if totals is None else totals[order]
        return cls(Points.of(numbers, labels, totals), n_classes, name)

    @cached_property
    def values(self) -> FloatArray:
        """The distinct numbers, ascending."""
        return self.points.values if self._is_distinct else np.asarray(self.points.values[self._ends])

    @cached_property
    def rows(self) -> IntArray:
        """The number of rows that have each number."""
        return self._totals(self.points.rows)

    @cached_property
    def weights(self) -> FloatArray:
        """The total weight of the rows that have each number: their number if rows have no weights."""
        return self._totals(self._point_weights)

    @cached_property
    def rows_by_class(self) -> IntArray:
        """The number of rows of each number and class, of shape (values, classes)."""
        return self._matrix(self.points.rows)

    @cached_property
    def weights_by_class(self) -> FloatArray:
        """The total weight of the rows of each number and class, of shape (values, classes)."""
        return self._matrix(self._point_weights)

    @cached_property
    def _ends(self) -> IntArray:
        return np.flatnonzero(self.points._ends())

    @property
    def _point_weights(self) -> FloatArray:
        return self.points.rows.astype(np.float64) if self.points.weights is None else self.points.weights

    @cached_property
    def _is_distinct(self) -> bool:
        return self.n_classes == 1 or bool(self.points._steps().all())

    def _totals(self, amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._is_distinct:
            return amounts
        return np.asarray(np.add.reduceat(amounts, np.append(0, self._ends[:-1] + 1)))

    def _matrix(self, amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        matrix = np.zeros((len(self._ends), self.n_classes), dtype=amounts.dtype)
        places = np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=-1))
        matrix[places, self.points.classes] = amounts
        return matrix

    def __repr__(self) -> str:
        return f"ColumnSummary({self.name!r}: {len(self.values)} values, {self.n_classes} classes)"


class Points(NamedTuple):
    """Numbers with the rows of each class; sorted by number, then by class.

    An entry has a number, a class, the number of its rows that have the number, and the total weight of these rows;
    the weights are None if rows have none.
    """

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
        return _concatenated([self, *others]).merged()

    def merged(self) -> Points:
        """Sort entries in any order, and add up those of the same number and class."""
        points = self._sorted()
        differ = points._steps() | (points.classes[1:] != points.classes[:-1])
        if differ.all():
            return points
        ends = np.append(np.flatnonzero(differ), len(differ))
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
        return np.append(self._steps(), True)[: len(self.values)]

    def _steps(self) -> BoolArray:
        """Return whether each number but the first differs from the one before."""
        return np.asarray(self.values[1:] != self.values[:-1])

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
