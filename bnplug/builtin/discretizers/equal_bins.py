"""Bins of equal weight or equal width."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnplug.table.column_summary import ColumnSummary
from bnplug.table.discretizer import Discretizer, _checked_bins
from bnplug.typing import FloatArray

# Sums of weights within this relative difference count as equal, unless all weights are whole numbers.
_ROUNDED = 1e-9

# The least number of bins of `Log2QuantileDiscretizer`.
_FEWEST = 3


class QuantileDiscretizer(Discretizer):
    """Cut into bins of equal weight.

    The cut at a share q of the weight is the smallest value whose cumulative weight reaches it (the inverted
    distribution function), so weights and repeated rows give the same cuts. If many values are equal, cuts coincide and
    there are fewer bins.

    Parameters
    ----------
    n_bins : int
        The number of bins, at least 2.
    categorical_features
        See :class:`bnplug.Discretizer`.

    Examples
    --------
    >>> QuantileDiscretizer(n_bins=4).fit(np.arange(1.0, 101.0)[:, None]).bin_labels_
    [['<=25', '25..50', '50..75', '>75']]
    """

    def __init__(self, n_bins: int = 5, categorical_features: Any = "auto") -> None:
        super().__init__(categorical_features)
        self.n_bins = n_bins

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column."""
        return _quantile_cuts(column, _checked_bins(self.n_bins))


class Log2QuantileDiscretizer(Discretizer):
    """Cut into max(3, floor(log2 n)) bins of equal weight, where n is the number of rows that have a value.

    Weights move the cuts but do not change the number of bins, so multiplying all of them by a constant changes
    nothing. Rows of weight 0 are ignored. Cuts are values that occur, as in :class:`~bnplug.QuantileDiscretizer`. The
    bins are fine, for parameters such as ``backoff`` that back off if bins have few rows. The parameter is as for
    :class:`bnplug.Discretizer`.

    Examples
    --------
    >>> Log2QuantileDiscretizer().fit(np.arange(1.0, 17.0)[:, None]).bin_labels_
    [['<=4', '4..8', '8..12', '>12']]
    """

    relative_weights = True

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column."""
        return _quantile_cuts(column, max(_FEWEST, int(column.rows.sum()).bit_length() - 1))


class UniformDiscretizer(Discretizer):
    """Cut into bins of equal width between the smallest and the largest value.

    Parameters
    ----------
    n_bins : int
        The number of bins, at least 2; a constant column has one.
    categorical_features
        See :class:`bnplug.Discretizer`.

    Examples
    --------
    >>> UniformDiscretizer(n_bins=4).fit(np.arange(0.0, 101.0)[:, None]).bin_labels_
    [['<=25', '25..50', '50..75', '>75']]
    """

    def __init__(self, n_bins: int = 5, categorical_features: Any = "auto") -> None:
        super().__init__(categorical_features)
        self.n_bins = n_bins

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column."""
        n_bins = _checked_bins(self.n_bins)
        low, high = column.values[[0, -1]]
        # The difference of the two may overflow.
        share = np.arange(1, n_bins) / n_bins
        cuts = np.unique(low * (1 - share) + high * share)
        inner: FloatArray = cuts[(low <= cuts) & (cuts < high)]
        return inner


def _quantile_cuts(column: ColumnSummary, n_bins: int) -> FloatArray:
    """Return the smallest values that reach shares 1 / n_bins, 2 / n_bins, ... of the weight."""
    weights, cumulative = column.weights, np.cumsum(column.weights)
    # Multiplied out, the comparison is exact for whole weights. Sums of others are rounded: with a tolerance, constant
    # weights give the same cuts as no weights.
    rounding = 0.0 if (weights == np.rint(weights)).all() else _ROUNDED
    shares = np.arange(1, n_bins) * cumulative[-1]
    reached = np.unique(np.searchsorted(cumulative * n_bins, shares * (1.0 - rounding), side="left"))
    inner: FloatArray = column.values[reached[reached < len(weights) - 1]]
    return inner
