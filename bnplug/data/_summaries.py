"""What training must know of a column, gathered batch by batch: how often each value goes with each class.

Numbers are summed up by :mod:`bnplug.data._distributions`: exactly up to 65,536 distinct ones. Of everything else all
values are kept, as long as they are at most 262,144.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.data._cells import Cells, Seen
from bnplug.data._dates import all_parts
from bnplug.data._distributions import Distribution, Points
from bnplug.data._whole_numbers import FIRST_INEXACT, are_merged, has_inexact
from bnplug.data.coding import Codes, factorize
from bnplug.data.kinds import to_floats

#: A column that is not numeric may have as many distinct values.
MOST_STATES = 1 << 18

# Of so many of the smallest hash values the number of distinct ones is known to within about two in a hundred.
_HASHES = 1 << 12


class Labels(NamedTuple):
    """The classes of a batch of rows, by which the cells of every column are sorted.

    Attributes
    ----------
    codes : int64 array of shape (rows,)
        The number of each row's class.
    weights : float64 array of shape (rows,), or None
    order : int64 array of shape (rows,)
        The rows by class.
    n_classes : int
        One more than the greatest number of a class.
    """

    codes: IntArray
    weights: FloatArray | None
    order: IntArray
    n_classes: int

    @classmethod
    def of(cls, codes: Codes, weights: FloatArray | None = None) -> Labels:
        """Sort rows by their class."""
        numbers = codes.astype(np.int64)
        return cls(numbers, weights, np.argsort(codes, kind="stable"), int(numbers.max(initial=-1)) + 1)


class ByClass:
    """Rows and weights by class, and by another number: a matrix that grows in both directions."""

    def __init__(self) -> None:
        self.rows = np.zeros((0, 0), dtype=np.int64)
        self.weights = np.zeros((0, 0))
        self.weighted = False

    def add(self, places: Sequence[int] | IntArray, numbers: IntArray, labels: Labels) -> None:
        """Add rows: row m goes to ``places[numbers[m]]``, unless its number is negative."""
        n_classes, present = labels.n_classes, numbers >= 0
        shape = len(places), n_classes
        cells = numbers[present] * n_classes + labels.codes[present]
        self._grow(int(max(places, default=-1)) + 1, n_classes)
        self.rows[places, :n_classes] += np.bincount(cells, minlength=shape[0] * n_classes).reshape(shape)
        if labels.weights is not None:
            self.weighted = True
            own = np.bincount(cells, labels.weights[present], shape[0] * n_classes).reshape(shape)
            self.weights[places, :n_classes] += own

    def merge(self, places: Sequence[int], other: ByClass) -> None:
        """Add what another one has, whose row i is row ``places[i]`` here."""
        n_classes = other.rows.shape[1]
        if not n_classes:
            return
        self._grow(max(places, default=-1) + 1, n_classes)
        self.rows[places, :n_classes] += other.rows[: len(places)]
        self.weights[places, :n_classes] += other.weights[: len(places)]
        self.weighted |= other.weighted

    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers: class c is ``places[c]``."""
        rows, weights, n_classes = self.rows, self.weights, self.rows.shape[1]
        shape = len(rows), int(places[:n_classes].max(initial=-1)) + 1
        self.rows, self.weights = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        self.rows[:, places[:n_classes]], self.weights[:, places[:n_classes]] = rows, weights

    def _grow(self, n_places: int, n_classes: int) -> None:
        there = self.rows.shape
        if n_places > there[0] or n_classes > there[1]:
            # Twice as many, so that to grow by one takes no time in the long run.
            wanted = 2 * n_places if n_places > there[0] else there[0], max(n_classes, there[1])
            pad = [(0, wanted[0] - there[0]), (0, wanted[1] - there[1])]
            self.rows, self.weights = np.pad(self.rows, pad), np.pad(self.weights, pad)


class Summary(ABC):
    """What is known of a column from the batches so far.

    Attributes
    ----------
    complete : bool
        Whether nothing of what was seen is lost.
    """

    complete = True

    @abstractmethod
    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        """Take in the rows of one more batch."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Take in what another summary of the same kind has seen."""

    @abstractmethod
    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers: class c is ``places[c]``."""

    @abstractmethod
    def lack(self, rows: ByClass) -> None:
        """Take in rows whose cells are missing, in row 0."""

    @abstractmethod
    def cells(self) -> Seen:
        """Return the distinct cells; their labels are the numbers of the classes."""


class NumberSummary(Summary):
    """The numbers of a column, and how many rows of each class have them.

    Parameters
    ----------
    identifier : bool
        Whether the number of distinct values must be known, since the column is named like an identifier.
    """

    def __init__(self, identifier: bool = False) -> None:
        self.distribution = Distribution()
        self.missing = ByClass()
        self.dtype: np.dtype[Any] | None = None
        self.whole = True
        self.merged = False
        self.hashes = SmallestHashes() if identifier else None

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether every number is kept."""
        return self.distribution.exact

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        """Take in the rows of one more batch."""
        values, holes = _numbers_and_holes(column)
        dtype = values.dtype if isinstance(column.dtype, np.dtype) else np.dtype(np.float64)
        self.dtype = dtype if self.dtype is None else np.result_type(self.dtype, dtype)
        self.merged |= column.dtype == object and are_merged(column, values)
        self.missing.add([0], np.where(holes, 0, -1), labels)
        if self.hashes is not None:
            self.hashes.add(values[~holes])
            self.whole &= bool((values[~holes] == np.rint(values[~holes])).all())
        order = labels.order[~holes[labels.order]] if holes.any() else labels.order
        weights = None if labels.weights is None else labels.weights[order]
        self.distribution.add(Points.of(values[order], labels.codes[order], weights))

    def merge(self, other: NumberSummary) -> None:
        """Take in what another summary of numbers has seen."""
        if other.dtype is not None:
            self.dtype = other.dtype if self.dtype is None else np.result_type(self.dtype, other.dtype)
        self.missing.merge([0], other.missing)
        self.whole &= other.whole
        self.merged |= other.merged
        if self.hashes is not None and other.hashes is not None:
            self.hashes.merge(other.hashes)
        self.distribution.merge(other.distribution)

    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers."""
        self.missing.renumber(places)
        self.distribution.renumber(places)

    def lack(self, rows: ByClass) -> None:
        """Take in rows whose cells are missing."""
        self.missing.merge([0], rows)

    def cells(self) -> Cells:
        """Return the distinct numbers with the classes that they go with, and the missing cells of each class."""
        found = self.distribution.points()
        missing = np.flatnonzero(self.missing.rows.sum(axis=0))
        weights = None if found.weights is None else [found.weights, self.missing.weights[0, missing]]
        if weights is None and self.missing.weighted:
            weights = [self.missing.weights[0, missing]]
        return Cells(
            self._column(found.values, len(missing)),
            np.concatenate([found.classes, missing]),
            None if weights is None else np.concatenate(weights),
            np.concatenate([found.rows, self.missing.rows[0, missing] if len(missing) else missing]),
            None if self.complete else self._n_distinct(),
            self.merged or self.distribution.merged,
        )

    def _column(self, values: npt.NDArray[Any], n_missing: int) -> pd.Series[Any]:
        """Return numbers followed by missing cells; integers become floats where that is exact."""
        if values.dtype.kind in "iu" and (n_missing or self.dtype != values.dtype) and has_inexact(values):
            holes = np.arange(len(values) + n_missing) >= len(values)
            padded = np.concatenate([values, np.zeros(n_missing, dtype=values.dtype)])
            return pd.Series(pd.arrays.IntegerArray(padded, holes))
        missing = np.full(n_missing, np.nan) if n_missing else np.zeros(0, dtype=self.dtype)
        return pd.Series(np.concatenate([values.astype(self.dtype), missing]))

    def _n_distinct(self) -> float:
        """Return how many numbers there are about, where it matters; else fewer."""
        return self.hashes.n_distinct() if self.hashes is not None and self.whole else 0.0


class StateSummary(Summary):
    """The values of a column that is not numeric, and how many rows of each class have them.

    Parameters
    ----------
    categorical : bool
        Whether categories count, in their order, also where no row has them.
    """

    def __init__(self, categorical: bool = True) -> None:
        self.categorical = categorical
        self.places: dict[Any, int] = {}
        self.counts = ByClass()
        self.missing = ByClass()
        # The categories of every batch so far, where they are the same.
        self.categories: pd.Index[Any] | None = None
        self.began = False

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        """Take in the rows of one more batch."""
        codes, values = factorize(column)
        categories = values if isinstance(column.dtype, pd.CategoricalDtype) else None
        self._note(categories if self.categorical else None)
        numbers = codes.astype(np.int64)
        self.missing.add([0], np.where(numbers < 0, 0, -1), labels)
        if categories is not None:
            # Of categories those count that occur.
            occurring, numbers = renumbered(numbers, len(values))
            values = values[occurring]
        if self.complete and len(values):
            self.counts.add(self._places(list(values)), numbers, labels)
            self._check_size()

    def merge(self, other: StateSummary) -> None:
        """Take in what another summary of states has seen."""
        if other.began:
            self._note(other.categories)
        self.missing.merge([0], other.missing)
        self.complete &= other.complete
        if self.complete and other.places:
            self.counts.merge(self._places(list(other.places)), other.counts)
        self._check_size()

    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers."""
        self.missing.renumber(places)
        self.counts.renumber(places)

    def lack(self, rows: ByClass) -> None:
        """Take in rows whose cells are missing."""
        self.missing.merge([0], rows)

    def cells(self) -> Cells:
        """Return the distinct values with the classes that they go with, and the missing cells of each class."""
        places, labels = np.nonzero(self.counts.rows)
        missing = np.flatnonzero(self.missing.rows.sum(axis=0))
        codes = np.concatenate([places, np.full(len(missing), -1)])
        return Cells(
            self._column(codes),
            np.concatenate([labels, missing]),
            np.concatenate([self.counts.weights[places, labels], self.missing.weights[0, missing]])
            if self.missing.weighted
            else None,
            np.concatenate([self.counts.rows[places, labels], self.missing.rows[0, missing]]),
            None if self.complete else np.inf,
        )

    def _column(self, codes: IntArray) -> pd.Series[Any]:
        values = np.empty(len(self.places) + 1, dtype=object)
        values[:-1] = list(self.places)
        values[-1] = None
        cells = pd.Series(values[codes], dtype=object)
        return cells if self.categories is None else pd.Series(pd.Categorical(cells, categories=self.categories))

    def _places(self, values: list[Any]) -> list[int]:
        return [self.places.setdefault(value, len(self.places)) for value in values]

    def _note(self, categories: pd.Index[Any] | None) -> None:
        """Categories that are not the same in all batches are plain values, as where pandas puts frames together."""
        if not self.began:
            self.categories = categories
        elif self.categories is not None and (categories is None or not self.categories.equals(categories)):
            self.categories = None
        self.began = True

    def _check_size(self) -> None:
        if len(self.places) > MOST_STATES:
            self.complete, self.places, self.counts = False, {}, ByClass()


class TimeSummary(Summary):
    """All parts of the points in time of a column; of durations, their seconds."""

    def __init__(self) -> None:
        self.parts: dict[str, NumberSummary] = {}

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        """Take in the rows of one more batch."""
        for name, part in all_parts(column).items():
            self.parts.setdefault(name, NumberSummary()).add(part, labels)

    def merge(self, other: TimeSummary) -> None:
        """Take in what another summary of times has seen."""
        for name, part in other.parts.items():
            self.parts.setdefault(name, NumberSummary()).merge(part)

    def renumber(self, places: IntArray) -> None:
        """Give the classes other numbers."""
        for part in self.parts.values():
            part.renumber(places)

    def lack(self, rows: ByClass) -> None:
        """Take in rows whose cells are missing."""
        for part in self.parts.values():
            part.lack(rows)

    def cells(self) -> Mapping[str, Cells]:
        """Return the distinct cells of every part."""
        return {name: part.cells() for name, part in self.parts.items()}


class SmallestHashes:
    """The number of distinct values, by the smallest of their hash values (Bar-Yossef et al. 2002).

    Examples
    --------
    >>> seen = SmallestHashes()
    >>> seen.add(np.arange(100_000.0))
    >>> seen.add(np.arange(50_000.0))
    >>> round(seen.n_distinct(), -4)
    100000.0
    """

    def __init__(self) -> None:
        self.least = np.zeros(0, dtype=np.uint64)

    def add(self, values: npt.NDArray[Any]) -> None:
        """Take in values."""
        hashes = pd.util.hash_array(values.astype(np.float64))
        if values.dtype.kind in "iu" and has_inexact(values):
            inexact = np.abs(values.astype(np.float64)) >= FIRST_INEXACT
            hashes[inexact] = pd.util.hash_array(values[inexact])
        self._take(hashes)

    def merge(self, other: SmallestHashes) -> None:
        """Take in what another one has seen."""
        self._take(other.least)

    def n_distinct(self) -> float:
        """Return about how many distinct values there were; exactly, where they are few."""
        if len(self.least) < _HASHES:
            return float(len(self.least))
        return (_HASHES - 1) * 2.0**64 / float(self.least[-1])

    def _take(self, hashes: npt.NDArray[np.uint64]) -> None:
        if len(self.least) == _HASHES:
            hashes = hashes[hashes < self.least[-1]]
        self.least = np.union1d(self.least, hashes)[:_HASHES]


def _numbers_and_holes(column: pd.Series[Any]) -> tuple[npt.NDArray[Any], BoolArray]:
    """Return the numbers of a column as a numpy array, integers as integers, and a mask of missing cells."""
    dtype: Any = column.dtype
    if dtype.kind in "iu":
        if isinstance(dtype, np.dtype):
            return column.to_numpy(), np.zeros(len(column), dtype=bool)
        return column.to_numpy(dtype.numpy_dtype, na_value=0), column.isna().to_numpy()
    is_plain = isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype != np.longdouble
    values = column.to_numpy() if is_plain else to_floats(column)
    return values, np.isnan(values)


def renumbered(numbers: IntArray, n_values: int) -> tuple[IntArray, IntArray]:
    """Return which numbers occur, and all of them numbered by that; a negative one stays."""
    occurring = np.flatnonzero(np.bincount(numbers[numbers >= 0], minlength=n_values))
    position = np.full(n_values + 1, -1, dtype=np.int64)
    position[occurring] = np.arange(len(occurring))
    return occurring, position[numbers]
