"""The rows of a table as predictive scores go through them: by fold, then by class."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.data.table import Table

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
    labels = table.codes[table.target_index].astype(np.int64)
    n_classes = int(table.cards[table.target_index])
    if not table.total_weight > 0:
        raise ValueError("the table has no rows (or none with a positive weight)")
    _check_class(table, labels)
    fold, n_folds = _number_folds(table, folds)
    order = np.lexsort((labels, fold))
    segments = (fold * n_classes + labels)[order]
    codes, sizes = table.padded()
    weights, unit = _whole_weights(table.weights)
    weights = weights[order] if len(weights) else weights
    bounds = np.searchsorted(segments, np.arange((n_folds + 1) * n_classes + 1))
    n_tested = int(bounds[n_folds * n_classes])
    if folds is not None:
        _check_training(table, fold, labels, n_folds)
    return FoldedRows(
        codes=np.ascontiguousarray(codes[:, order]),
        cards=table.cards.copy(),
        sizes=sizes,
        target=table.target_index,
        n_folds=n_folds,
        bounds=bounds.astype(np.int64),
        weights=weights,
        unit=unit,
        tested_weight=float(weights[:n_tested].sum() if len(weights) else n_tested),
        resubstitution=folds is None,
        alpha=float(alpha),
        floor=float(floor),
    )


def sorted_within(rows: FoldedRows, values: FloatArray) -> IntArray:
    """Return the order of the tested rows in which `values` ascend within each segment."""
    order = np.empty(rows.n_tested, dtype=np.int64)
    for low, high in pairwise(rows.bounds[: rows.n_folds * rows.n_classes + 1].tolist()):
        order[low:high] = low + np.argsort(values[low:high])
    return order


def rearrange(rows: FoldedRows, order: IntArray) -> None:
    """Put the rows that are tested into another order, in which each stays in its segment."""
    n = len(order)
    for column in (*rows.codes, rows.weights):
        if len(column):
            column[:n] = column[order]


def _whole_weights(weights: FloatArray | None) -> tuple[IntArray, float]:
    """Weights as multiples of a power of two: counts of 2 stay twice the row, and no sum is rounded."""
    if weights is None:
        return np.empty(0, dtype=np.int64), 1.0
    unit = 2.0 ** np.ceil(np.log2(weights.sum() / _WHOLE))
    return np.rint(weights / unit).astype(np.int64), float(unit)


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


def _check_class(table: Table, labels: IntArray) -> None:
    if table.cards[table.target_index] < 2:
        raise ValueError(f"the class {table.target!r} has one state only: there is nothing to tell apart")
    absent = int((labels == table.missing).sum())
    if absent:
        raise ValueError(f"the class {table.target!r} is missing in {absent} row(s); drop those rows")


def _check_training(table: Table, fold: IntArray, labels: IntArray, n_folds: int) -> None:
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    n_classes = int(table.cards[table.target_index])
    counts = np.bincount(fold * n_classes + labels, weights, (n_folds + 1) * n_classes).reshape(-1, n_classes)
    outside = (counts.sum(axis=0) - counts[:n_folds] > 0).sum(axis=1)
    if (outside < 2).any():
        raise ValueError(
            f"all rows outside fold {int(np.argmin(outside))} have the same class, so it has nothing to "
            f"learn {table.target!r} from; use fewer folds, or stratified ones"
        )
