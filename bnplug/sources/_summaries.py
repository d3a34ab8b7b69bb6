"""Summarize columns batch by batch: count how often each value occurs in each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.sources._distributions import Distribution
from bnplug.table._cells import Cells
from bnplug.table._checks import FIRST_INEXACT, are_merged, has_inexact
from bnplug.table._dates import all_parts, zone_of
from bnplug.table.coding import Codes, factorize
from bnplug.table.column_summary import Points
from bnplug.table.kinds import to_floats
from bnplug.typing import BoolArray, FloatArray, IntArray

#: The most distinct values of a column that is not numeric.
MOST_STATES = 1 << 18
# With this many hash values, the number of distinct values is estimated to within about 2%.
_HASHES = 1 << 12
# The most large whole numbers that stay exact beside floats; a column with more is discretized.
_MOST_LARGE = 64


class Labels(NamedTuple):
    """The classes of a batch of rows; `order` sorts the rows by class."""

    codes: IntArray
    weights: FloatArray | None
    order: IntArray
    n_classes: int

    @classmethod
    def of(cls, codes: Codes, weights: FloatArray | None = None) -> Labels:
        """Sort rows by class."""
        numbers = codes.astype(np.int64)
        return cls(numbers, weights, np.argsort(codes, kind="stable"), int(numbers.max(initial=-1)) + 1)


class ByClass:
    """Rows and weights in a matrix (places, classes) that grows in both directions."""

    def __init__(self) -> None:
        self.rows = np.zeros((0, 0), dtype=np.int64)
        self.weights = np.zeros((0, 0))
        self.weighted = False

    def add(self, places: Sequence[int] | IntArray, numbers: IntArray, labels: Labels) -> None:
        """Count row m at ``places[numbers[m]]``, unless its number is negative."""
        n_classes, present = labels.n_classes, numbers >= 0
        shape = len(places), n_classes
        cells = numbers[present] * n_classes + labels.codes[present]
        self._grow(int(max(places, default=-1)) + 1, n_classes)
        self.rows[places, :n_classes] += np.bincount(cells, minlength=shape[0] * n_classes).reshape(shape)
        if labels.weights is not None:
            self.weighted = True
            weights = np.bincount(cells, labels.weights[present], shape[0] * n_classes).reshape(shape)
            self.weights[places, :n_classes] += weights

    def merge(self, places: Sequence[int], other: ByClass) -> None:
        """Add row i of another matrix to row ``places[i]``."""
        n_classes = other.rows.shape[1]
        if n_classes:
            self._grow(max(places, default=-1) + 1, n_classes)
            self.rows[places, :n_classes] += other.rows[: len(places)]
            self.weights[places, :n_classes] += other.weights[: len(places)]
            self.weighted |= other.weighted

    def renumber(self, places: IntArray) -> None:
        """Rename class c to ``places[c]``."""
        rows, weights, n_classes = self.rows, self.weights, self.rows.shape[1]
        shape = len(rows), int(places[:n_classes].max(initial=-1)) + 1
        self.rows, self.weights = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        self.rows[:, places[:n_classes]], self.weights[:, places[:n_classes]] = rows, weights

    def _grow(self, n_places: int, n_classes: int) -> None:
        old_places, old_classes = self.rows.shape
        if n_places > old_places or n_classes > old_classes:
            # Doubling keeps the cost of growing by one place at a time linear.
            pad = [(0, 2 * n_places - old_places if n_places > old_places else 0), (0, max(n_classes - old_classes, 0))]
            self.rows, self.weights = np.pad(self.rows, pad), np.pad(self.weights, pad)


class _CountsMissing:
    """Incremental summary of a column; `missing` counts the missing cells of each class in row 0."""

    def __init__(self) -> None:
        self.missing = ByClass()

    def renumber(self, places: IntArray) -> None:
        """Rename class c to ``places[c]``."""
        self.missing.renumber(places)

    def lack(self, rows: ByClass) -> None:
        """Add rows whose cells are missing, counted in row 0."""
        self.missing.merge([0], rows)

    def _missing_cells(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the classes with missing cells, and the rows and weight of each."""
        rows = self.missing.rows.sum(axis=0)
        classes = np.flatnonzero(rows)
        return classes, rows[classes], self.missing.weights.sum(axis=0)[classes]


class NumberSummary(_CountsMissing):
    """Count the numbers of a column by class; for an `identifier`, also estimate how many are distinct."""

    def __init__(self, identifier: bool = False) -> None:
        super().__init__()
        self.distribution = Distribution()
        self.dtype: np.dtype[Any] | None = None
        self.whole, self.merged = True, False
        # Large whole numbers by their floats; None if there are too many.
        self.large: dict[float, Any] | None = {}
        self.hashes = SmallestHashes() if identifier else None

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        values, holes = _numbers_and_holes(column)
        self._widen(values.dtype if isinstance(column.dtype, np.dtype) else np.dtype(np.float64))
        self.merged |= column.dtype == object and are_merged(column, values)
        self.missing.add([0], np.where(holes, 0, -1), labels)
        if column.dtype.kind != "f" and has_inexact(values):
            large = column[np.abs(values.astype(np.float64)) >= FIRST_INEXACT].unique().tolist()
            self._keep_large({float(number): number for number in large})
        if self.hashes is not None:
            self.hashes.add(values[~holes])
            self.whole &= bool((values[~holes] == np.rint(values[~holes])).all())
        order = labels.order[~holes[labels.order]] if holes.any() else labels.order
        weights = None if labels.weights is None else labels.weights[order]
        self.distribution.add(Points.of(values[order], labels.codes[order], weights))

    def merge(self, other: NumberSummary) -> None:
        if other.dtype is not None:
            self._widen(other.dtype)
        self.lack(other.missing)
        self.whole &= other.whole
        self.merged |= other.merged
        self._keep_large(other.large)
        if self.hashes is not None and other.hashes is not None:
            self.hashes.take(other.hashes.least)
        self.distribution.merge(other.distribution)

    def renumber(self, places: IntArray) -> None:
        super().renumber(places)
        self.distribution.renumber(places)

    def cells(self) -> Cells:
        points, (missing, rows, weights) = self.distribution.points(), self._missing_cells()
        seen_weights = np.zeros(len(points.values)) if points.weights is None else points.weights
        n_distinct = self.hashes.n_distinct() if self.hashes is not None and self.whole else 0.0
        return Cells(
            self._column(points.values, len(missing)),
            np.concatenate([points.classes, missing]),
            np.concatenate([seen_weights, weights]) if self.missing.weighted else None,
            np.concatenate([points.rows, rows]),
            None if self.distribution.exact else n_distinct,
            self.merged or self.distribution.merged,
        )

    def _widen(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype if self.dtype is None else np.result_type(self.dtype, dtype)

    def _keep_large(self, large: Mapping[float, Any] | None) -> None:
        merged = None if self.large is None or large is None else {**self.large, **large}
        self.large = None if merged is None or len(merged) > _MOST_LARGE else merged

    def _column(self, values: npt.NDArray[Any], n_missing: int) -> pd.Series[Any]:
        """Return numbers followed by missing cells; integers become floats where that is exact."""
        if values.dtype.kind == "f" and self.large:
            exact = {float(number): int(number) for number in values if float(number).is_integer()} | self.large
            return pd.Series([exact.get(float(number), number) for number in values] + [None] * n_missing, dtype=object)
        if values.dtype.kind in "iu" and (n_missing or self.dtype != values.dtype) and has_inexact(values):
            holes = np.arange(len(values) + n_missing) >= len(values)
            padded = np.concatenate([values, np.zeros(n_missing, dtype=values.dtype)])
            return pd.Series(pd.arrays.IntegerArray(padded, holes))
        missing = np.full(n_missing, np.nan) if n_missing else np.zeros(0, dtype=self.dtype)
        return pd.Series(np.concatenate([values.astype(self.dtype), missing]))


class StateSummary(_CountsMissing):
    """Count the values of a column that is not numeric by class; `complete` says whether they are not too many.

    If `categorical`, categories keep their order, and categories without rows are kept too.
    """

    def __init__(self, categorical: bool = True) -> None:
        super().__init__()
        self.categorical, self.complete = categorical, True
        self.places: dict[Any, int] = {}
        self.counts = ByClass()
        # The categories of all batches, if they agree.
        self.categories: pd.Index[Any] | None = None
        self.began = False

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        codes, values = factorize(column)
        categories = values if isinstance(column.dtype, pd.CategoricalDtype) else None
        self._note(categories if self.categorical else None)
        numbers = codes.astype(np.int64)
        self.missing.add([0], np.where(numbers < 0, 0, -1), labels)
        if categories is not None:
            occurring, numbers = renumbered(numbers, len(values))
            values = values[occurring]
        if self.complete and len(values):
            self.counts.add(self._places(list(values)), numbers, labels)
            self._check_size()

    def merge(self, other: StateSummary) -> None:
        if other.began:
            self._note(other.categories)
        self.lack(other.missing)
        self.complete &= other.complete
        if self.complete and other.places:
            self.counts.merge(self._places(list(other.places)), other.counts)
        self._check_size()

    def renumber(self, places: IntArray) -> None:
        super().renumber(places)
        self.counts.renumber(places)

    def cells(self) -> Cells:
        places, labels = np.nonzero(self.counts.rows)
        missing, rows, weights = self._missing_cells()
        return Cells(
            self._column(np.concatenate([places, np.full(len(missing), -1)])),
            np.concatenate([labels, missing]),
            np.concatenate([self.counts.weights[places, labels], weights]) if self.missing.weighted else None,
            np.concatenate([self.counts.rows[places, labels], rows]),
            None if self.complete else np.inf,
        )

    def _column(self, codes: IntArray) -> pd.Series[Any]:
        values = np.empty(len(self.places) + 1, dtype=object)
        values[:-1] = list(self.places)
        cells = pd.Series(values[codes], dtype=object)
        return cells if self.categories is None else pd.Series(pd.Categorical(cells, categories=self.categories))

    def _places(self, values: list[Any]) -> list[int]:
        return [self.places.setdefault(value, len(self.places)) for value in values]

    def _note(self, categories: pd.Index[Any] | None) -> None:
        """Treat categories that differ between batches as plain values, as pandas does when it concatenates frames."""
        if not self.began:
            self.categories = categories
        elif self.categories is not None and (categories is None or not self.categories.equals(categories)):
            self.categories = None
        self.began = True

    def _check_size(self) -> None:
        if len(self.places) > MOST_STATES:
            self.complete, self.places, self.counts = False, {}, ByClass()


class TimeSummary:
    """Summarize every part of the points in time of a column, or the seconds of durations."""

    def __init__(self) -> None:
        self.parts: dict[str, NumberSummary] = {}
        self.zone: str | None = None

    def add(self, column: pd.Series[Any], labels: Labels) -> None:
        """Add a batch of rows; times with another time zone are converted to the first one."""
        for name, part in all_parts(column, self.zone).items():
            self.parts.setdefault(name, NumberSummary()).add(part, labels)
        self.zone = zone_of(column) if self.zone is None else self.zone

    def merge(self, other: TimeSummary) -> None:
        if self.zone is not None and other.zone is not None and self.zone != other.zone:
            raise ValueError(f"points in time in the time zones {self.zone} and {other.zone}; convert them to one zone")
        self.zone = self.zone or other.zone
        for name, part in other.parts.items():
            self.parts.setdefault(name, NumberSummary()).merge(part)

    def renumber(self, places: IntArray) -> None:
        for part in self.parts.values():
            part.renumber(places)

    def lack(self, rows: ByClass) -> None:
        for part in self.parts.values():
            part.lack(rows)

    def cells(self) -> Mapping[str, Cells]:
        return {name: part.cells()._replace(zone=self.zone) for name, part in self.parts.items()}


class SmallestHashes:
    """Estimate the number of distinct values from their smallest hash values (Bar-Yossef et al. 2002)."""

    def __init__(self) -> None:
        self.least = np.zeros(0, dtype=np.uint64)

    def add(self, values: npt.NDArray[Any]) -> None:
        hashes = pd.util.hash_array(values.astype(np.float64))
        if values.dtype.kind in "iu" and has_inexact(values):
            inexact = np.abs(values.astype(np.float64)) >= FIRST_INEXACT
            hashes[inexact] = pd.util.hash_array(values[inexact])
        self.take(hashes)

    def take(self, hashes: npt.NDArray[np.uint64]) -> None:
        if len(self.least) == _HASHES:
            hashes = hashes[hashes < self.least[-1]]
        self.least = np.union1d(self.least, hashes)[:_HASHES]

    def n_distinct(self) -> float:
        """Return the approximate number of distinct values; it is exact if they are few."""
        n = len(self.least)
        return float(n) if n < _HASHES else (_HASHES - 1) * 2.0**64 / float(self.least[-1])


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
    """Return the numbers that occur, and every number's rank among them; negative numbers become -1."""
    occurring = np.flatnonzero(np.bincount(numbers[numbers >= 0], minlength=n_values))
    position = np.full(n_values + 1, -1, dtype=np.int64)
    position[occurring] = np.arange(len(occurring))
    return occurring, position[numbers]
