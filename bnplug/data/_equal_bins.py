"""Cuts that do not look at the class: into bins of equal weight, and of equal width."""

from __future__ import annotations

import numpy as np

from bnplug.arrays import FloatArray

# Sums of weights within this relative difference count as equal, unless all weights are whole numbers.
_ROUNDED = 1e-9


def quantile_cuts(values: FloatArray, weights: FloatArray, n_bins: int) -> FloatArray:
    """Return the least values below which shares 1 / n_bins, 2 / n_bins, ... of the weight lie; NaN takes no part.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), 2)
    array([2.])
    """
    # NaN sorts to the end.
    order = np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    if len(order) == 0:
        return np.empty(0)
    values, cumulative = values[order], np.cumsum(weights[order])
    # Multiplied out, the comparison is exact for whole weights.
    shares = np.arange(1, n_bins) * cumulative[-1]
    reached = np.searchsorted(cumulative * n_bins, shares * (1.0 - rounding_of_sums(weights)), side="left")
    cuts = np.unique(values[reached])
    inner: FloatArray = cuts[cuts < values[-1]]
    return inner


def rounding_of_sums(weights: FloatArray) -> float:
    """Return the relative difference below which sums of weights count as equal: 0 for whole weights.

    Constant weights then give the same cuts as no weights, although their sums are rounded.

    Examples
    --------
    >>> rounding_of_sums(np.array([1.0, 2.0])), rounding_of_sums(np.array([3.7, 3.7]))
    (0.0, 1e-09)
    """
    return 0.0 if (weights == np.rint(weights)).all() else _ROUNDED


def uniform_cuts(values: FloatArray, n_bins: int) -> FloatArray:
    """Return cuts at equal distances between the least and the greatest value; NaN takes no part.

    Examples
    --------
    >>> uniform_cuts(np.array([1.0, np.nan, 4.0]), 3)
    array([2., 3.])
    """
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return np.empty(0)
    low, high = present.min(), present.max()
    # The difference of the two may overflow.
    share = np.arange(1, n_bins) / n_bins
    cuts = np.unique(low * (1 - share) + high * share)
    inner: FloatArray = cuts[(low <= cuts) & (cuts < high)]
    return inner
