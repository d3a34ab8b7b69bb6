"""The cells of a column that training looks at: those of its rows, or its distinct ones with how often each occurs.

What is decided about a column (its states, its cuts, whether it is of use) depends on how often each value goes with
each class, and on nothing else. So rows that are too many to hold can be summed up first, file by file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.data.coding import Codes


class Cells(NamedTuple):
    """Cells of one column.

    Attributes
    ----------
    column : pandas.Series
        The cells, missing ones among them.
    labels : int array, optional
        The number of the class that each goes with.
    weights : float64 array, optional
        The weight of each, of all rows that it stands for.
    repeats : int64 array, optional
        How many rows each stands for; by default one.
    n_distinct : float, optional
        The number of distinct values, where the cells do not show them all.
    merged : bool
        Whether distinct whole numbers became the same float.
    """

    column: pd.Series[Any]
    labels: Codes | None = None
    weights: FloatArray | None = None
    repeats: IntArray | None = None
    n_distinct: float | None = None
    merged: bool = False

    def n_rows(self, which: BoolArray) -> float:
        """Return how many rows some of the cells stand for; a weight does not make fewer of them than there are.

        Examples
        --------
        >>> Cells(pd.Series([1, 2, 3]), weights=np.array([3.0, 0.5, 9.0])).n_rows(np.array([True, True, False]))
        3.5
        """
        n_rows = float(count_rows(which, self.repeats))
        return n_rows if self.weights is None else max(n_rows, float(self.weights[which].sum()))

    def row_weights(self) -> FloatArray:
        """Return the weight of each cell: of the rows that it stands for, where they have none of their own."""
        if self.weights is not None:
            return self.weights
        return np.ones(len(self.column)) if self.repeats is None else self.repeats.astype(np.float64)


#: A column of a frame as training sees it: its cells or, of points in time, those of each of their parts.
Seen = Cells | Mapping[str, Cells]


def cells_of(frame: pd.DataFrame, labels: Codes | None = None, weights: FloatArray | None = None) -> dict[str, Cells]:
    """Return the cells of the columns of a frame, by name."""
    return {str(name): Cells(column, labels, weights) for name, column in frame.items()}


def count_rows(which: BoolArray, repeats: IntArray | None) -> int:
    """Return how many rows some cells stand for."""
    return int(np.count_nonzero(which) if repeats is None else repeats[which].sum())


def rows_by_number(numbers: Codes, repeats: npt.NDArray[Any] | None, size: int) -> FloatArray:
    """Return how many rows the cells of each number stand for; those of a negative one are passed over.

    Examples
    --------
    >>> rows_by_number(np.array([0, 2, -1, 0]), np.array([1, 2, 3, 4]), 3)
    array([5., 0., 2.])
    """
    present = numbers >= 0
    own = None if repeats is None else repeats[present]
    return np.bincount(numbers[present], own, size).astype(np.float64)
