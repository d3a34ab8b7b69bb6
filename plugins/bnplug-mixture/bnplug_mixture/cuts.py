"""Cuts that differ from draw to draw: what one network cannot tell about a number, the next one may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.table.weights import row_weights

if TYPE_CHECKING:
    from bnplug.typing import FloatArray


class JitteredQuantiles(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cuts each column into bins of about equal weight; how many bins, and how far each cut is moved, is drawn.

    With b bins, the i-th cut is the least value that a share (i + u) / b of the weight lies at or below, u drawn
    between -jitter and jitter. What is drawn depends on `random_state` and the column's place, not on the rows.

    Parameters
    ----------
    min_bins, max_bins : int
        The fewest and the most bins of a column; every number between them is as likely.
    jitter : float
        The largest shift of a cut, in bins; below 0.5, so that cuts keep their order.
    random_state : int, RandomState or None
        What the draws are made by. It is a number by default, so that a classifier with such cuts is the same when it
        is learned again; a mixture gives each member one of its own.

    Attributes
    ----------
    cut_points_ : list of arrays
        The ascending cuts of each column.

    Examples
    --------
    >>> rows = np.arange(1.0, 101.0)[:, None]
    >>> JitteredQuantiles(min_bins=4, max_bins=4, jitter=0).fit(rows).cut_points_
    [array([25., 50., 75.])]
    >>> JitteredQuantiles(min_bins=4, max_bins=4, random_state=0).fit(rows).cut_points_
    [array([27., 55., 78.])]
    """

    def __init__(self, min_bins: int = 4, max_bins: int = 12, jitter: float = 0.45, random_state: Any = 0) -> None:
        self.min_bins = min_bins
        self.max_bins = max_bins
        self.jitter = jitter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> JitteredQuantiles:
        """Draw the cuts of every column; a row counts by its weight, and NaN for nothing."""
        self._check()
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        weights = row_weights(sample_weight, len(values))
        random = check_random_state(self.random_state)
        self.cut_points_ = [_cuts(column, weights, self._shares(random)) for column in values.T]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the number of each value's bin; what is missing stays so."""
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        pairs = zip(self.cut_points_, values.T, strict=True)
        bins = np.column_stack([np.searchsorted(cuts, column) for cuts, column in pairs])
        binned: FloatArray = np.where(np.isnan(values), np.nan, bins)
        return binned

    def _check(self) -> None:
        for name in ("min_bins", "max_bins"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 2:
                raise ValueError(f"{name}={value!r}: expected a whole number of at least 2")
        if self.min_bins > self.max_bins:
            raise ValueError(f"min_bins={self.min_bins} is more than max_bins={self.max_bins}")
        if isinstance(self.jitter, bool) or not isinstance(self.jitter, int | float) or not 0 <= self.jitter < 0.5:
            raise ValueError(f"jitter={self.jitter!r}: expected a number from 0 to less than 0.5")

    def _shares(self, random: np.random.RandomState) -> FloatArray:
        """Draw which share of the weight lies below each cut of a column."""
        n_bins = random.randint(self.min_bins, self.max_bins + 1)
        moved: FloatArray = np.arange(1, n_bins) + random.uniform(-self.jitter, self.jitter, n_bins - 1)
        return moved / n_bins


def _cuts(values: FloatArray, weights: FloatArray, shares: FloatArray) -> FloatArray:
    known = ~np.isnan(values) & (weights > 0)
    order = np.argsort(values[known], kind="stable")
    values, total = values[known][order], np.cumsum(weights[known][order])
    if len(values) == 0:
        return np.empty(0)
    cuts = np.unique(values[np.searchsorted(total, shares * total[-1])])
    inner: FloatArray = cuts[cuts < values[-1]]
    return inner
