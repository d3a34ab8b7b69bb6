"""The share of rows whose class is predicted."""

from __future__ import annotations

from bnplug.inference.complete import TIE
from bnplug.scoring import Bounds, PredictiveScore, winner
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray


def _hit(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """1 where the winner is the row's class, else 0."""
    for m in range(L.shape[0]):
        out[m] = winner(L, m) == y[m]


class HitRate(PredictiveScore):
    """`cr`: the share of tested rows whose winner is their class.

    Ties go to the class with the lowest index. Parameters are those of :class:`~bnplug.scoring.PredictiveScore`.

    References
    ----------
    Pernkopf, Bilmes: Order-based discriminative structure learning for Bayesian network classifiers (2008).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": ["n", "n", "y", "y", "y", "y"]})
    >>> table = Table.from_frame(frame, "c")
    >>> HitRate().score(table, Structure(table.names, [[1], []]))
    0.8333333333333334
    """

    gain = _hit
    aggregate = "mean"

    def gain_bounds(self, table: Table) -> Bounds:
        """Return the plateaus: beyond twice the tolerance for ties, the sign of the gap says who wins."""
        return Bounds(maximum=1.0, high_gap=2 * TIE, low_gap=-2 * TIE, low_value=0.0, whole=True)
