"""The conditional log-likelihood: how probable the classes are, given the features."""

from __future__ import annotations

import numpy as np

from bnplug.scoring import Bounds, PredictiveScore
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray


def _log_posterior_of_class(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """The logarithm of the posterior of the row's class."""
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for c in range(1, L.shape[1]):
            largest = max(largest, L[m, c])
        total = 0.0
        for c in range(L.shape[1]):
            total += np.exp(L[m, c] - largest)
        out[m] = L[m, y[m]] - largest - np.log(total)


class ConditionalLogLikelihood(PredictiveScore):
    """`cll`: the sum over tested rows of log P(class | features).

    Needs ``alpha > 0`` or ``floor > 0``. Parameters are those of :class:`~bnplug.scoring.PredictiveScore`.

    References
    ----------
    Friedman, Geiger, Goldszmidt: Bayesian network classifiers (1997).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> ConditionalLogLikelihood().score(table, Structure(table.names, [[], []]))
    -1.386...
    """

    gain = _log_posterior_of_class
    needs_finite = True

    def gain_bounds(self, table: Table) -> Bounds:
        """Return that no row is above 0."""
        return Bounds(maximum=0.0)
