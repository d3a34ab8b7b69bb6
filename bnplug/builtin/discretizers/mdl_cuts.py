"""The cuts of Fayyad and Irani (IJCAI 1993) for one feature: the recursion, and its compiled passes.

The points of a column are grouped into *blocks*: those of one value, or of neighboring values of a single class. The
best cut is never inside a block (Fayyad and Irani 1992, theorem 1). Finding the best cut of an interval is one pass
over its blocks, which skips *stretches* of blocks that cannot contain it. Weights and entropies are counted in whole
units, so running sums are exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel, kernel
from bnplug.table.column_summary import ColumnSummary
from bnplug.typing import FloatArray, IntArray

# Entropies (in nats) that differ by less are tied: the lower cut is taken, and a gain that equals the price is refused.
_TIE = 1e-11

# A table of x log x is used if it has at most this many entries per point.
_TABLE_PER_POINT = 8

# Blocks per stretch and class.
_STRETCH = 32


class _Units(NamedTuple):
    """Weights of points and entropies of a column as whole numbers of units and quanta.

    The unit is 1 if all weights are whole and add up exactly; else a power of two as small as the rounding of their
    sum. The quantum, in nats, is a power of two. `table` has ``x log x`` in quanta for x = 0, 1, ... units; it is empty
    if it would be long.
    """

    weights: IntArray
    unit: float
    quantum: float
    table: IntArray

    @classmethod
    def of(cls, column: ColumnSummary) -> _Units:
        rows, weights = column.points.rows, column.points.weights
        total = float(rows.sum() if weights is None else weights.sum())
        whole = total < 2.0**52 and (weights is None or bool((weights == np.rint(weights)).all()))
        # The smallest positive float is 2**-1074.
        unit = 1.0 if whole else 2.0 ** max(math.frexp(total)[1] - 52, -1074)
        largest = total * math.log(max(total, 1.0)) + column.n_classes + 1
        quantum = 2.0 ** (math.frexp(largest)[1] - 61)
        size = int(total) + 1 if whole and total <= _TABLE_PER_POINT * len(rows) else 0
        units = rows if weights is None else np.rint(weights / unit).astype(np.int64)
        x = np.arange(size, dtype=np.float64)
        return cls(units, unit, quantum, np.rint(x * np.log(np.maximum(x, 1.0)) / quantum).astype(np.int64))


def mdl_cuts(column: ColumnSummary) -> FloatArray:
    """Return the ascending cuts of one feature.

    Examples
    --------
    >>> mdl_cuts(ColumnSummary.of([1.0, 2.0, 2.0, 5.0, np.nan, 6.0, 7.0], classes=[0, 0, 0, 1, 1, 1, 1]))
    array([3.5])
    """
    points, units, n_classes = column.points, _Units.of(column), column.n_classes
    codes = points.classes.astype(np.int32)
    entry_class, entry_weight, start, end_point = _blocks(points.values, codes, units.weights)
    stretches = np.zeros(((len(start) - 1) // (_STRETCH * n_classes), n_classes), dtype=np.int64)
    _add_stretches(entry_class, entry_weight, start, stretches)
    cuts: list[int] = []
    waiting = [(0, len(end_point), _class_weights(entry_class, entry_weight, 0, start[-1], n_classes))]
    while waiting:
        first, end, total = waiting.pop()
        cut = _best_cut(
            entry_class, entry_weight, start, stretches, first, end, total, units.table, units.unit, units.quantum,
        )  # fmt: skip
        if cut > first:
            left = _class_weights(entry_class, entry_weight, start[first], start[cut], n_classes)
            if _pays(units.unit * total.astype(np.float64), units.unit * left.astype(np.float64)):
                cuts.append(cut)
                waiting += [(first, cut, left), (cut, end, total - left)]
    places = end_point[np.sort(np.array(cuts, dtype=np.int64)) - 1]
    return _midpoints(points.values[places - 1], points.values[places])


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
    values: FloatArray, codes: npt.NDArray[np.int32], weights: IntArray
) -> tuple[npt.NDArray[np.int32], IntArray, IntArray, IntArray]:
    """Group points into blocks.

    Return the class and weight of each entry (a class in a block), the first entry of each block with the number of
    entries at the end, and the point after each block.
    """
    n_points = len(values)
    entry_class, entry_weight = np.empty(n_points, dtype=np.int32), np.empty(n_points, dtype=np.int64)
    start, end_point = np.empty(n_points + 1, dtype=np.int64), np.empty(n_points, dtype=np.int64)
    n_blocks = _fill_blocks(values, codes, weights, entry_class, entry_weight, start, end_point)
    return entry_class, entry_weight, start[: n_blocks + 1], end_point[:n_blocks]


@kernel
def _fill_blocks(values, codes, weights, entry_class, entry_weight, start, end_point):  # type: ignore[no-untyped-def]
    """Fill the arrays that _blocks returns, which have room for a block per point; return the number of blocks."""
    n_points = len(values)
    n_blocks, n_entries, point, pure = 0, 0, 0, -1
    while point < n_points:
        value, first = values[point], n_entries
        while point < n_points and values[point] == value:
            entry_class[n_entries], entry_weight[n_entries] = codes[point], weights[point]
            n_entries += 1
            point += 1
        c, alone = entry_class[first], n_entries == first + 1
        if alone and pure == c:
            entry_weight[first - 1] += entry_weight[first]
            n_entries = first
        else:
            start[n_blocks] = first
            n_blocks += 1
            pure = c if alone else -1
        end_point[n_blocks - 1] = point
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

    `total` (classes,) are the class weights of the blocks first, ..., end - 1; see ``_Units`` for `table`, `unit`
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
