"""Bins of equal weight, the more of them the more rows there are: for parameters that back off where rows are few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.data._cells import count_rows
from bnplug.data._equal_bins import quantile_cuts
from bnplug.data.discretize import Discretizer

_FEWEST = 3


class Log2QuantileDiscretizer(Discretizer):
    """Cut into max(3, floor(log2 n)) bins of equal weight, where n is the number of rows that have a value.

    Weights move the cuts but do not change the number of bins, so multiplying all of them by a constant changes
    nothing. Rows of weight 0 are ignored.

    Cuts are values that occur, as those of :class:`~bnplug.QuantileDiscretizer`. These are finer bins than the class
    alone would ask for, and pay with parameters that back off where bins have few rows, such as ``backoff``.

    Parameters
    ----------
    categorical_features : "auto", None, or sequence of names, positions or booleans
        The discrete columns, which are left alone; see :func:`bnplug.data.kinds.discrete_columns`.

    Attributes
    ----------
    cut_points_ : list of (float64 array or None)
        The ascending cuts of each column; None for a column that is left alone.
    bin_labels_ : list of (list of str or None)
        The labels of each column's bins, from the lowest.

    Examples
    --------
    >>> Log2QuantileDiscretizer().fit(np.arange(1.0, 17.0)[:, None]).bin_labels_
    [['<=4', '4..8', '8..12', '>12']]
    """

    relative_weights = True

    def _cutter(
        self, y: npt.NDArray[Any] | None, weights: FloatArray, repeats: IntArray | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        return lambda values: quantile_cuts(values, weights, _n_bins(count_rows(~np.isnan(values), repeats)))


def _n_bins(n_rows: int) -> int:
    """Return max(3, floor(log2 n_rows)), exactly.

    Examples
    --------
    >>> _n_bins(0), _n_bins(31), _n_bins(32)
    (3, 4, 5)
    """
    return max(_FEWEST, n_rows.bit_length() - 1)
