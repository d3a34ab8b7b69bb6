"""A discretizer whose bins are drawn: how many each column has, and how far each cut is from its quantile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from bnplug import Discretizer

if TYPE_CHECKING:
    from bnplug.table.column_summary import ColumnSummary
    from bnplug.typing import FloatArray


class JitteredQuantiles(Discretizer):
    """Cut each column into bins of about equal weight, with a random number of bins and randomly shifted cuts.

    With b bins, the i-th cut is the smallest value with at least a share (i + u) / b of the weight at or below it,
    where u is uniform between -jitter and jitter. The draws depend on `random_state` and on the position of the column
    among the numeric columns, not on the rows.

    Parameters
    ----------
    min_bins, max_bins : int
        The smallest and the largest number of bins of a column; all numbers in between are equally probable.
    jitter : float
        The largest shift of a cut, in bins; below 0.5, which keeps the cuts in order.
    random_state : int, RandomState or None
        The seed. It is an int by default, so that a classifier with these cuts can be reproduced. A mixture gives each
        member a different seed.

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the cuts of every column; missing values are ignored."""
        self._begin()
        return super().fit(X, y, sample_weight)

    def fit_summaries(self, columns: Iterable[ColumnSummary]) -> Self:
        """Draw the cuts of summarized columns, in their order."""
        self._begin()
        return super().fit_summaries(columns)

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Draw the cuts of the next column."""
        random = check_random_state(self.random_state) if self._random is None else self._random
        total = np.cumsum(column.weights)
        cuts = np.unique(column.values[np.searchsorted(total, self._shares(random) * total[-1])])
        inner: FloatArray = cuts[cuts < column.values[-1]]
        return inner

    # The generator from which the columns of one fit draw in turn.
    _random: np.random.RandomState | None = None

    def _begin(self) -> None:
        self._check()
        self._random = check_random_state(self.random_state)

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
        """Draw the share of the weight below each cut of a column."""
        n_bins = random.randint(self.min_bins, self.max_bins + 1)
        moved: FloatArray = np.arange(1, n_bins) + random.uniform(-self.jitter, self.jitter, n_bins - 1)
        return moved / n_bins
