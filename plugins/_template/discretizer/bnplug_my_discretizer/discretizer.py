"""Fixed frequency discretisation: enough rows in each bin for an estimate, and as many bins as that allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.hooks.components import check_numbers

if TYPE_CHECKING:
    from bnplug.typing import FloatArray


class MyDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cuts each column into bins of `rows` rows; what is left over is spread over all of them.

    A classifier, and a model that was saved, use ``cut_points_`` alone: a value is in the bin below a cut when it is at
    most the cut.

    Parameters
    ----------
    rows : int
        How many rows a bin has at least; equal values stay together.

    Attributes
    ----------
    cut_points_ : list of arrays
        The ascending cuts of each column; None would leave a column alone.

    Examples
    --------
    >>> MyDiscretizer(rows=3).fit([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]).cut_points_
    [array([3.])]
    """

    def __init__(self, rows: int = 30) -> None:
        self.rows = rows

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MyDiscretizer:
        """Find the cuts of every column; a row counts by its weight, and NaN for nothing."""
        check_numbers(self, "rows", positive=True)
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.cut_points_ = [self._cuts(column, weights) for column in values.T]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the number of each value's bin; what is missing stays so."""
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        pairs = zip(self.cut_points_, values.T, strict=True)
        bins = np.column_stack([np.searchsorted(cuts, column) for cuts, column in pairs])
        binned: FloatArray = np.where(np.isnan(values), np.nan, bins)
        return binned

    def _cuts(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        known = ~np.isnan(values) & (weights > 0)
        order = np.argsort(values[known])
        values, total = values[known][order], np.cumsum(weights[known][order])
        n_bins = int(total[-1] // self.rows) if len(values) else 0
        if n_bins < 2:
            return np.empty(0)
        # The least value at which each share of the weight is reached; multiplied out, that is exact for whole weights.
        cuts = np.unique(values[np.searchsorted(total * n_bins, np.arange(1, n_bins) * total[-1])])
        inner: FloatArray = cuts[cuts < values[-1]]
        return inner
