"""The rows of a table as predictive scores go through them: by fold, then by class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.data.table import Table

_SMALL = np.iinfo(np.uint16).max

# Weights become whole numbers that add up to less than this, so that float64 holds their sums exactly.
_WHOLE = 2**52


class FoldedRows(NamedTuple):
    """The rows of a table in the order (fold, class), and how parameters are estimated from them.

    Attributes
    ----------
    codes : unsigned array of shape (variables, rows)
        A missing cell has the code ``cards[v]``.
    cards, sizes : int64 arrays of shape (variables,)
        The number of states, and of codes: one more where the column has missing cells.
    target : int
        The class.
    n_folds : int
        How many folds are tested. Rows that are never tested come last, as one fold more.
    bounds : int64 array of shape ((n_folds + 1) * classes + 1,)
        The rows of segment ``s = fold * classes + class`` are ``bounds[s]:bounds[s + 1]``.
    weights : int64 array of shape (rows,), or (0,) where every row counts once
        Whole numbers, so that their sums are exact and do not depend on any order.
    unit : float
        The weight that 1 in `weights` stands for.
    tested_weight : float
        The sum of the weights of the rows that are tested, in units.
    resubstitution : bool
        Whether the rows that are tested train, too.
    alpha, floor : float
        As in :func:`bnplug.model.log_tables.estimate`. With both 0, probabilities can be zero.
    """

    codes: CodeArray
    cards: IntArray
    sizes: IntArray
    target: int
    n_folds: int
    bounds: IntArray
    weights: IntArray
    unit: float
    tested_weight: float
    resubstitution: bool
    alpha: float
    floor: float

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.cards[self.target])

    @property
    def n_tested(self) -> int:
        """The number of rows that are tested."""
        return int(self.bounds[self.n_folds * self.n_classes])

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield where the rows of each segment that is tested begin and end."""
        return pairwise(self.bounds[: self.n_folds * self.n_classes + 1].tolist())

    @property
    def finite(self) -> bool:
        """Whether no probability can be zero."""
        return self.alpha > 0 or self.floor > 0


def arrange(table: Table, folds: IntArray | None, alpha: float, floor: float) -> FoldedRows:
    """Sort the rows of a table by fold and class.

    Parameters
    ----------
    table : Table
    folds : int64 array of shape (rows,), or None
        Each row's fold, negative for a row that is never tested; None for resubstitution.
    alpha, floor : float

    Raises
    ------
    ValueError
        If the class has one state only or a missing cell, no row is tested, or the rows outside a fold
        are all of one class.
    """
    fold, header = describe(table, folds, alpha, floor)
    return sort_rows(table, fold, header)


def describe(table: Table, folds: IntArray | None, alpha: float, floor: float) -> tuple[IntArray, FoldedRows]:
    """Return the number of each row's fold, and what is the same for all rows, as :func:`arrange` has it, without rows.

    Rows may be in many blocks.
    """
    if not table.total_weight > 0:
        raise ValueError("the table has no rows (or none with a positive weight)")
    _check_class(table)
    fold, n_folds = _number_folds(table, folds)
    if folds is not None:
        _check_training(table, fold, n_folds)
    unit = _unit(table.total_weight) if table.weighted else 1.0
    return fold, FoldedRows(
        codes=np.empty((len(table.names), 0), dtype=table.dtype),
        cards=table.cards.copy(),
        sizes=table.cards + table.has_missing,
        target=table.target_index,
        n_folds=n_folds,
        bounds=np.zeros((n_folds + 1) * int(table.cards[table.target_index]) + 1, dtype=np.int64),
        weights=np.empty(0, dtype=np.int64),
        unit=unit,
        tested_weight=0.0,
        resubstitution=folds is None,
        alpha=float(alpha),
        floor=float(floor),
    )


def sort_rows(table: Table, fold: IntArray, header: FoldedRows) -> FoldedRows:
    """Return the rows of a table in memory, or of one block, by fold and class.

    Parameters
    ----------
    table : Table
    fold : int64 array of shape (rows,)
        The number of each row's fold.
    header : FoldedRows
        What is the same for all rows.
    """
    labels = table.codes[table.target_index].astype(np.int64)
    segments = fold * header.n_classes + labels
    # Small numbers are sorted in one pass over their digits.
    order = np.argsort(segments.astype(np.uint16) if len(header.bounds) <= _SMALL else segments, kind="stable")
    segments = segments[order]
    bounds = np.searchsorted(segments, np.arange(len(header.bounds)))
    codes = table.codes
    if (header.sizes > table.cards).any():
        codes = np.minimum(codes, table.cards.astype(table.dtype)[:, None])
    weights = _whole_weights(table.weights, header.unit)
    weights = weights[order] if len(weights) else weights
    n_tested = int(bounds[header.n_folds * header.n_classes])
    return header._replace(
        codes=codes.take(order, axis=1),
        bounds=bounds.astype(np.int64),
        weights=weights,
        tested_weight=float(weights[:n_tested].sum() if len(weights) else n_tested),
    )


def sorted_within(rows: FoldedRows, values: npt.NDArray[np.floating[Any]]) -> IntArray:
    """Return the order of the tested rows in which `values` ascend within each segment."""
    order = np.empty(rows.n_tested, dtype=np.int64)
    for low, high in rows.segments():
        order[low:high] = low + np.argsort(values[low:high])
    return order


def rearrange(rows: FoldedRows, order: IntArray) -> None:
    """Put the rows that are tested into another order, in which each stays in its segment."""
    n = len(order)
    for column in (*rows.codes, rows.weights):
        if len(column):
            column[:n] = column.take(order)


def _unit(total: float) -> float:
    """The power of two that weights are multiples of: counts of 2 stay twice the row, and no sum is rounded."""
    return float(2.0 ** np.ceil(np.log2(total / _WHOLE)))


def _whole_weights(weights: FloatArray | None, unit: float) -> IntArray:
    return np.empty(0, dtype=np.int64) if weights is None else np.rint(weights / unit).astype(np.int64)


def _number_folds(table: Table, folds: IntArray | None) -> tuple[IntArray, int]:
    """Folds as 0, 1, ..., and one more for the rows that are never tested."""
    if folds is None:
        return np.zeros(table.n_rows, dtype=np.int64), 1
    folds = np.asarray(folds, dtype=np.int64)
    if folds.shape != (table.n_rows,):
        raise ValueError(f"folds have shape {folds.shape}; the table has {table.n_rows} rows")
    tested = folds >= 0
    if not tested.any():
        raise ValueError("no row is in a test fold")
    numbers, fold = np.unique(folds[tested], return_inverse=True)
    result = np.full(table.n_rows, len(numbers), dtype=np.int64)
    result[tested] = fold
    return result, len(numbers)


def _check_class(table: Table) -> None:
    if table.cards[table.target_index] < 2:
        raise ValueError(f"the class {table.target!r} has one state only: there is nothing to tell apart")
    # A table that expects has no row without one, and would have to draw what else is missing to show its rows.
    absent = 0 if table.expects else sum(table.map(_n_without_class))
    if absent:
        raise ValueError(f"the class {table.target!r} is missing in {absent} row(s); drop those rows")


def _n_without_class(block: Table) -> int:
    return int((block.codes[block.target_index] == block.missing).sum())


def _check_training(table: Table, fold: IntArray, n_folds: int) -> None:
    counts = table.counts([[table.target_index]], fold)[0]
    outside = (counts.sum(axis=0) - counts[:n_folds] > 0).sum(axis=1)
    if (outside < 2).any():
        raise ValueError(
            f"all rows outside fold {int(np.argmin(outside))} have the same class, so it has nothing to "
            f"learn {table.target!r} from; use fewer folds, or stratified ones"
        )
