"""Summarize columns batch by batch: count how often each value occurs in each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

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


_NONE = np.zeros(0, dtype=np.int64)
#: No rows: where counting begins.
NO_ROWS = Points(_NONE, _NONE, _NONE, None)


def counted(numbers: IntArray, labels: Labels) -> Points:
    """Return how many rows of each class have each number; negative numbers are skipped."""
    present, n_classes = numbers >= 0, labels.n_classes
    cells = numbers[present] * n_classes + labels.codes[present]
    rows = np.bincount(cells)
    used = np.flatnonzero(rows)
    weights = None if labels.weights is None else np.bincount(cells, labels.weights[present])[used].astype(np.float64)
    return Points(used // n_classes, used % n_classes, rows[used], weights)


#: A summary is compressed to about twice KEPT points. As many numbers as LEAF are gathered before the first
#: compression. As many distinct numbers as MOST_EXACT are kept exactly.
KEPT, LEAF, MOST_EXACT = 1 << 13, 1 << 15, 1 << 16


def _are_merged(parts: list[Points], joined: Points) -> bool:
    """Return whether joining the parts converted distinct whole numbers to the same float."""
    whole = [part.values for part in parts if part.values.dtype.kind in "iu" and has_inexact(part.values)]
    if not whole or joined.values.dtype.kind != "f":
        return False
    distinct = set().union(*(values.tolist() for values in whole))
    return len({float(number) for number in distinct}) < len(distinct)


class Distribution:
    """Incremental count of each number in each class: exact for few distinct numbers, else of bounded error.

    A summary is :class:`Points` that stand for the rows between them and the previous point. Compressing moves at most
    a share ``1 / KEPT`` of the rows up to any point. Two summaries of equally many parts are joined and compressed
    again (the binary counter of Munro and Paterson 1980): the count at or below a number is too small by at most
    ``n / KEPT * (1 + ceil(log2(n / LEAF)))``, 0.16% of 100 million rows, and never too large. All classes share points:
    else an interval of mixed classes would look like many short ones of a single class each.

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


def _cells(points: Points, missing: Points, column: pd.Series[Any], n_distinct: float | None) -> Cells:
    """Return the cells of a column, whose missing cells come last."""
    labels, rows = np.append(points.classes, missing.classes), np.append(points.rows, missing.rows)
    weights = [part.weights for part in (points, missing) if part.weights is not None]
    return Cells(column, labels, np.concatenate(weights) if weights else None, rows, n_distinct)


class NumberSummary:
    """Count the numbers of a column by class; for an `identifier`, also estimate how many are distinct."""

    def __init__(self, identifier: bool = False) -> None:
        self.distribution = Distribution()
        self.dtype: np.dtype[Any] | None = None
        self.whole, self.merged = True, False
        # Large whole numbers by their floats; None if there are too many.
        self.large: dict[float, Any] | None = {}
        self.hashes = SmallestHashes() if identifier else None

    def add(self, column: pd.Series[Any], labels: Labels) -> BoolArray:
        """Add a batch of rows; return which cells are missing."""
        values, holes = _numbers_and_holes(column)
        self._widen(values.dtype if isinstance(column.dtype, np.dtype) else np.dtype(np.float64))
        self.merged |= column.dtype == object and are_merged(column, values)
        if column.dtype.kind != "f" and has_inexact(values):
            large = column[np.abs(values.astype(np.float64)) >= FIRST_INEXACT].unique().tolist()
            self._keep_large({float(number): number for number in large})
        if self.hashes is not None:
            self.hashes.add(values[~holes])
            self.whole &= bool((values[~holes] == np.rint(values[~holes])).all())
        order = labels.order[~holes[labels.order]] if holes.any() else labels.order
        weights = None if labels.weights is None else labels.weights[order]
        self.distribution.add(Points.of(values[order], labels.codes[order], weights))
        return holes

    def merge(self, other: NumberSummary) -> None:
        if other.dtype is not None:
            self._widen(other.dtype)
        self.whole &= other.whole
        self.merged |= other.merged
        self._keep_large(other.large)
        if self.hashes is not None and other.hashes is not None:
            self.hashes.take(other.hashes.least)
        self.distribution.merge(other.distribution)

    def renumber(self, places: IntArray) -> None:
        self.distribution.renumber(places)

    def cells(self, missing: Points) -> Cells:
        points = self.distribution.points()
        column = self._column(points.values, len(missing.rows))
        n_distinct = self.hashes.n_distinct() if self.hashes is not None and self.whole else 0.0
        cells = _cells(points, missing, column, None if self.distribution.exact else n_distinct)
        return cells._replace(merged=self.merged or self.distribution.merged)

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


class StateSummary:
    """Count the values of a column that is not numeric by class; `complete` says whether they are not too many.

    If `categorical`, categories keep their order, and categories without rows are kept too.
    """

    def __init__(self, categorical: bool = True) -> None:
        self.categorical, self.complete = categorical, True
        self.places: dict[Any, int] = {}
        self.counts = NO_ROWS
        # The categories of all batches, if they agree.
        self.categories: pd.Index[Any] | None = None
        self.began = False

    def add(self, column: pd.Series[Any], labels: Labels) -> BoolArray:
        """Add a batch of rows; return which cells are missing."""
        codes, values = factorize(column)
        categories = values if isinstance(column.dtype, pd.CategoricalDtype) else None
        self._note(categories if self.categorical else None)
        numbers = codes.astype(np.int64)
        if categories is not None:
            occurring, numbers = renumbered(numbers, len(values))
            values = values[occurring]
        if self.complete and len(values):
            self._count(list(values), counted(numbers, labels))
        return codes < 0

    def merge(self, other: StateSummary) -> None:
        if other.began:
            self._note(other.categories)
        self.complete &= other.complete
        if self.complete and other.places:
            self._count(list(other.places), other.counts)

    def renumber(self, places: IntArray) -> None:
        self.counts = self.counts.renumbered(places)

    def cells(self, missing: Points) -> Cells:
        values = np.empty(len(self.places) + 1, dtype=object)
        values[:-1] = list(self.places)
        column = pd.Series(values[np.append(self.counts.values, np.full(len(missing.rows), -1))], dtype=object)
        if self.categories is not None:
            column = pd.Series(pd.Categorical(column, categories=self.categories))
        return _cells(self.counts, missing, column, None if self.complete else np.inf)

    def _count(self, values: list[Any], counts: Points) -> None:
        """Add rows of values, which `counts` has by their positions among `values`."""
        places = np.array([self.places.setdefault(value, len(self.places)) for value in values], dtype=np.int64)
        self.counts = self.counts.join(counts._replace(values=places[counts.values]))
        if len(self.places) > MOST_STATES:
            self.complete, self.places, self.counts = False, {}, NO_ROWS

    def _note(self, categories: pd.Index[Any] | None) -> None:
        """Treat categories that differ between batches as plain values, as pandas does when it concatenates frames."""
        if not self.began:
            self.categories = categories
        elif self.categories is not None and (categories is None or not self.categories.equals(categories)):
            self.categories = None
        self.began = True


class TimeSummary:
    """Summarize every part of the points in time of a column, or the seconds of durations."""

    def __init__(self) -> None:
        self.parts: dict[str, NumberSummary] = {}
        self.zone: str | None = None

    def add(self, column: pd.Series[Any], labels: Labels) -> BoolArray:
        """Add a batch of rows, with times converted to the first time zone; return which cells are missing."""
        for name, part in all_parts(column, self.zone).items():
            holes = self.parts.setdefault(name, NumberSummary()).add(part, labels)
        self.zone = zone_of(column) if self.zone is None else self.zone
        return holes

    def merge(self, other: TimeSummary) -> None:
        if self.zone is not None and other.zone is not None and self.zone != other.zone:
            raise ValueError(f"points in time in the time zones {self.zone} and {other.zone}; convert them to one zone")
        self.zone = self.zone or other.zone
        for name, part in other.parts.items():
            self.parts.setdefault(name, NumberSummary()).merge(part)

    def renumber(self, places: IntArray) -> None:
        for part in self.parts.values():
            part.renumber(places)

    def cells(self, missing: Points) -> Mapping[str, Cells]:
        return {name: part.cells(missing)._replace(zone=self.zone) for name, part in self.parts.items()}


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
