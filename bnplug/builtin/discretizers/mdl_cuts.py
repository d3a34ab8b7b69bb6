"""The cuts of Fayyad and Irani (IJCAI 1993) for one feature: the recursion, and its compiled passes.

Rows are sorted once and grouped into *blocks*: the rows of one value, or of neighboring values of a single class. The
best cut is never inside a block (Fayyad and Irani 1992, theorem 1). Finding the best cut of an interval is one pass
over its blocks, which skips *stretches* of blocks that cannot contain it. Weights and entropies are counted in whole
units, so running sums are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.compiling import inner_kernel, kernel
from bnplug.typing import FloatArray, IntArray

# Entropies (in nats) that differ by less are tied: the lower cut is taken, and a gain that equals the price is refused.
_TIE = 1e-11

# A table of x log x is used if it has at most this many entries per row.
_TABLE_PER_ROW = 8

# Values of up to so many classes are merged if there are at least so many rows.
_FEW_CLASSES, _MANY_ROWS = 8, 1 << 14

# Blocks per stretch and class.
_STRETCH = 32


@dataclass(frozen=True)
class ClassColumn:
    """The class and weight of each row, shared by all features of a data set.

    Attributes
    ----------
    codes : int32 array of shape (rows,)
    n_classes : int
    weights : int64 array of shape (rows,)
        Row weights in units.
    alike : bool
        Whether all weights are the same.
    unit : float
        1 if all weights are whole and add up exactly; else a power of two as small as the rounding of their sum.
    quantum : float
        A power of two: the unit of whole-number entropies, in nats.
    table : int64 array
        ``x log x`` in quanta for x = 0, 1, ... units; empty if it would be long.
    """

    codes: npt.NDArray[np.int32]
    n_classes: int
    weights: IntArray
    alike: bool
    unit: float
    quantum: float
    table: IntArray

    @cached_property
    def by_class(self) -> IntArray:
        """The rows, ordered by class."""
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def starts(self) -> IntArray:
        """The start of each class in `by_class`, and the end of the last one."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.codes, minlength=self.n_classes))]).astype(np.int64)

    @classmethod
    def of(cls, y: npt.NDArray[Any], weights: FloatArray | None = None) -> ClassColumn:
        """Code the class labels `y`; all weights must be positive."""
        codes, labels = pd.factorize(y)
        if weights is None:
            weights = np.ones(len(y))
        total = float(weights.sum())
        whole = total < 2.0**52 and bool((weights == np.rint(weights)).all())
        # The smallest positive float is 2**-1074.
        unit = 1.0 if whole else 2.0 ** max(math.frexp(total)[1] - 52, -1074)
        largest = total * math.log(max(total, 1.0)) + len(labels) + 1
        quantum = 2.0 ** (math.frexp(largest)[1] - 61)
        size = int(total) + 1 if whole and total <= _TABLE_PER_ROW * len(y) else 0
        units = np.rint(weights / unit).astype(np.int64)
        alike = bool((units == units[0]).all()) if len(units) else True
        return cls(codes.astype(np.int32), len(labels), units, alike, unit, quantum, _xlogx_table(size, quantum))


def mdl_cuts(values: FloatArray, classes: ClassColumn) -> FloatArray:
    """Return the ascending cuts of one feature; NaN is ignored.

    Examples
    --------
    >>> mdl_cuts(np.array([1.0, 2.0, 2.0, 5.0, np.nan, 6.0, 7.0]), ClassColumn.of(np.array(list("aaabbbb"))))
    array([3.5])
    """
    values, codes, weights = _sorted(values, classes)
    entry_class, entry_weight, start, end_row = _blocks(values, codes, weights, classes.n_classes)
    stretches = np.zeros(((len(start) - 1) // (_STRETCH * classes.n_classes), classes.n_classes), dtype=np.int64)
    _add_stretches(entry_class, entry_weight, start, stretches)
    cuts: list[int] = []
    waiting = [(0, len(end_row), _class_weights(entry_class, entry_weight, 0, start[-1], classes.n_classes))]
    while waiting:
        first, end, total = waiting.pop()
        cut = _best_cut(
            entry_class, entry_weight, start, stretches, first, end, total,
            classes.table, classes.unit, classes.quantum,
        )  # fmt: skip
        if cut > first:
            left = _class_weights(entry_class, entry_weight, start[first], start[cut], classes.n_classes)
            if _pays(classes.unit * total.astype(np.float64), classes.unit * left.astype(np.float64)):
                cuts.append(cut)
                waiting += [(first, cut, left), (cut, end, total - left)]
    rows = end_row[np.sort(np.array(cuts, dtype=np.int64)) - 1]
    return _midpoints(values[rows - 1], values[rows])


def _sorted(values: FloatArray, classes: ClassColumn) -> tuple[FloatArray, npt.NDArray[np.int32], IntArray]:
    """Return the known values, ascending, with the class and the weight of each; ties in any order."""
    known = len(values) - np.count_nonzero(np.isnan(values))
    if not classes.alike or len(values) < _MANY_ROWS or classes.n_classes > _FEW_CLASSES:
        order = np.argsort(values)[:known]  # NaN sorts to the end
        weights = classes.weights[:known] if classes.alike else classes.weights[order]
        return values[order], classes.codes[order], weights
    # Sorting the numbers of each class and merging them is much faster than argsort.
    of_classes = values[classes.by_class]
    starts, ends = classes.starts[:-1].copy(), classes.starts[1:].copy()
    for c, (start, end) in enumerate(pairwise(classes.starts)):
        of_classes[start:end].sort()
        ends[c] -= np.count_nonzero(np.isnan(of_classes[start:end])) if known < len(values) else 0
    merged, codes = np.empty(known), np.empty(known, dtype=np.int32)
    _merge(of_classes, starts, ends, merged, codes)
    return merged, codes, classes.weights[:known]


@kernel
def _merge(values, places, ends, merged, codes):  # type: ignore[no-untyped-def]
    """Merge ascending runs, of each class from ``places[c]`` to ``ends[c]``; `places` is changed."""
    n_classes, least = places.shape[0], 0
    for row in range(merged.shape[0]):
        least = -1
        for c in range(n_classes):
            if places[c] < ends[c] and (least < 0 or values[places[c]] < values[places[least]]):
                least = c
        merged[row], codes[row] = values[places[least]], least
        places[least] += 1


def _midpoints(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the midpoints of low < high, with low <= cut < high despite rounding."""
    with np.errstate(over="ignore"):
        middle = 0.5 * (low + high)
    middle = np.where(np.isfinite(middle), middle, 0.5 * low + 0.5 * high)
    return np.where((low <= middle) & (middle < high), middle, low)


def _pays(total: FloatArray, left: FloatArray) -> bool:
    """Return whether the gain of a cut exceeds its price: Fayyad and Irani (1993), section 3, in nats.

    `total` and `left` are the class weights of the interval and of its left part; n - 1 is at least 1.
    """
    (n, entropy, k), *parts = _entropy(total), _entropy(left), _entropy(total - left)
    gain = entropy - sum(n_part * entropy_part for n_part, entropy_part, _ in parts) / n
    # log(3^k - 2) in a form that does not overflow
    price = math.log(max(n - 1.0, 1.0)) + k * math.log(3.0) + math.log1p(-2.0 * 3.0**-k)
    price -= k * entropy - sum(k_part * entropy_part for _, entropy_part, k_part in parts)
    return gain > price / n + _TIE


def _entropy(class_weights: FloatArray) -> tuple[float, float, int]:
    """Return total weight, class entropy in nats, and the number of classes that occur."""
    present = class_weights[class_weights > 0]
    n = float(present.sum())
    if n == 0.0:
        # Small weights are lost in the sum beside very large ones.
        return 0.0, 0.0, 0
    return n, math.log(n) - float(present @ np.log(present)) / n, len(present)


def _xlogx_table(size: int, quantum: float) -> IntArray:
    x = np.arange(size, dtype=np.float64)
    return np.rint(x * np.log(np.maximum(x, 1.0)) / quantum).astype(np.int64)


@inner_kernel
def _xlogx(count, table, unit, quantum):  # type: ignore[no-untyped-def]
    """``x log x`` of `count` units, in whole quanta."""
    if len(table) > 0:
        return table[np.uint64(count)]
    if count == 0:
        return np.int64(0)
    x = count * unit
    return np.int64(np.rint(x * np.log(x) / quantum))


def _blocks(
    values: FloatArray, codes: npt.NDArray[np.int32], weights: IntArray, n_classes: int
) -> tuple[npt.NDArray[np.int32], IntArray, IntArray, IntArray]:
    """Group sorted rows into blocks.

    Return the class and weight of each entry (a class in a block), the first entry of each block with the number of
    entries at the end, and the row after each block.
    """
    n_rows = len(values)
    entry_class, entry_weight = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int64)
    start, end_row = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    n_blocks = _fill_blocks(values, codes, weights, n_classes, entry_class, entry_weight, start, end_row)
    return entry_class, entry_weight, start[: n_blocks + 1], end_row[:n_blocks]


@kernel
def _fill_blocks(values, codes, weights, n_classes, entry_class, entry_weight, start, end_row):  # type: ignore[no-untyped-def]
    """Fill what _blocks returns, in arrays with room for a block per row; return the number of blocks."""
    n_rows = len(values)
    # place[c]: the latest entry of class c
    place = np.full(n_classes, -1, dtype=np.int64)
    n_blocks, n_entries, row, pure = 0, 0, 0, -1
    while row < n_rows:
        value, c, first = values[row], codes[row], n_entries
        entry_class[first], entry_weight[first] = c, weights[row]
        place[c] = first
        n_entries += 1
        row += 1
        while row < n_rows and values[row] == value:
            c = codes[row]
            if place[c] < first:
                place[c] = n_entries
                entry_class[n_entries], entry_weight[n_entries] = c, 0
                n_entries += 1
            entry_weight[place[c]] += weights[row]
            row += 1
        alone = n_entries == first + 1
        if alone and pure == c:
            entry_weight[first - 1] += entry_weight[first]
            n_entries = first
            # Otherwise the next value would reuse this entry.
            place[c] = -1
        else:
            start[n_blocks] = first
            n_blocks += 1
            pure = c if alone else -1
        end_row[n_blocks - 1] = row
    start[n_blocks] = n_entries
    return n_blocks


def _class_weights(
    entry_class: npt.NDArray[np.int32], entry_weight: IntArray, first: int, end: int, n_classes: int
) -> IntArray:
    """Return the weight (classes,) of each class in the entries first, ..., end - 1."""
    weights = np.zeros(n_classes, dtype=np.int64)
    _add_weights(entry_class, entry_weight, first, end, weights)
    return weights


@kernel
def _add_weights(entry_class, entry_weight, first, end, weights):  # type: ignore[no-untyped-def]
    """weights[c] += that of class c in the entries first, ..., end - 1."""
    for entry in range(first, end):
        weights[entry_class[entry]] += entry_weight[entry]


@kernel
def _add_stretches(entry_class, entry_weight, start, weights):  # type: ignore[no-untyped-def]
    """weights[s, c] += that of class c in run s of ``_STRETCH * n_classes`` blocks."""
    length = _STRETCH * weights.shape[1]
    for s in range(len(weights)):
        for entry in range(start[s * length], start[(s + 1) * length]):
            weights[s, entry_class[entry]] += entry_weight[entry]


@inner_kernel
def _least_change(total, left, step, n, n_left):  # type: ignore[no-untyped-def]
    """Return a lower bound of the change of weighted entropy, in units, while `left` (classes,) grows up to `step`.

    The slope in left[c] is log(n_left / left[c]) - log(n_right / right[c]); its lower bound has the smallest n_left and
    right[c], and the largest left[c] and n_right.
    """
    change = 0.0
    for c in range(len(total)):
        if step[c] > 0:
            after = left[c] + step[c]
            slope = np.log(n_left / after * ((total[c] - after) / (n - n_left)))
            change += step[c] * min(slope, 0.0)
    return change


@kernel
def _best_cut(entry_class, entry_weight, start, stretches, first, end, total, table, unit, quantum):  # type: ignore[no-untyped-def]
    """Return the block right of the best cut, between first + 1 and end - 1, or `first` if no cut lowers the entropy.

    `total` (classes,) are the class weights of the blocks first, ..., end - 1; see ``ClassColumn`` for `table`, `unit`
    and `quantum`.
    """
    n_classes, length = len(total), _STRETCH * len(total)
    # term[c]: x log x of class c, left and right of the cut together
    left, term = np.zeros(n_classes, dtype=np.int64), np.empty(n_classes, dtype=np.int64)
    n, n_left, terms = 0, 0, 0
    for c in range(n_classes):
        term[c] = _xlogx(total[c], table, unit, quantum)
        terms += term[c]
        n += total[c]
    entropy = _xlogx(n, table, unit, quantum) - terms
    tie = np.int64(_TIE * n * unit / quantum)
    cut, least, position = first, entropy, first
    while position < end - 1:
        stretch, offset = divmod(position, length)
        stop = position + length - offset
        if offset == 0 and stop < end:
            change = _least_change(total, left, stretches[stretch], n, n_left) * unit / quantum
            if entropy + change > least:
                terms = 0
                for c in range(n_classes):
                    left[c] += stretches[stretch, c]
                    n_left += stretches[stretch, c]
                    term[c] = _xlogx(left[c], table, unit, quantum)
                    term[c] += _xlogx(total[c] - left[c], table, unit, quantum)
                    terms += term[c]
                entropy = _xlogx(n_left, table, unit, quantum) + _xlogx(n - n_left, table, unit, quantum) - terms
                position = stop
                continue
        stop = min(stop, end - 1)
        for block in range(position, stop):
            for entry in range(start[block], start[block + 1]):
                c, weight = entry_class[entry], entry_weight[entry]
                left[c] += weight
                n_left += weight
                new = _xlogx(left[c], table, unit, quantum) + _xlogx(total[c] - left[c], table, unit, quantum)
                terms += new - term[c]
                term[c] = new
            entropy = _xlogx(n_left, table, unit, quantum) + _xlogx(n - n_left, table, unit, quantum) - terms
            if entropy < least - tie:
                cut, least = block + 1, entropy
        position = stop
    return cut
