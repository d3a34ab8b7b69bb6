"""Fixed frequency discretization: enough rows in each bin for an estimate, and as many bins as that allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnplug import Discretizer
from bnplug.hooks.components import check_numbers

if TYPE_CHECKING:
    from bnplug import ColumnSummary
    from bnplug.typing import FloatArray


class MyDiscretizer(Discretizer):
    """Cut each column into bins of `rows` rows; rows that are left over are spread over all bins.

    Parameters
    ----------
    rows : int
        The least number of rows in a bin; equal values stay together.

    Attributes
    ----------
    cut_points_ : list of arrays
        The ascending cuts of each column.

    Examples
    --------
    >>> MyDiscretizer(rows=3).fit([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]).cut_points_
    [array([3.])]
    """

    def __init__(self, rows: int = 30) -> None:
        self.rows = rows

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column; a row counts with its weight."""
        check_numbers(self, "rows", positive=True)
        total = np.cumsum(column.weights)
        n_bins = int(total[-1] // self.rows)
        if n_bins < 2:
            return np.empty(0)
        # The smallest value that reaches each share of the weight; multiplied out, that is exact for whole weights.
        places = np.unique(np.searchsorted(total * n_bins, np.arange(1, n_bins) * total[-1]))
        inner: FloatArray = column.values[places[places < len(total) - 1]]
        return inner
