"""The Brier score: a gain of a row's log joints, which bnplug compiles and runs over all rows of a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.hooks.components import check_numbers
from bnplug.scoring import Bounds, PredictiveScore

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import FloatArray, IntArray


def negative_distance(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """Fill out[m] with minus the sum over classes of abs(P(c | row m) - [c is its class]) ** params[0].

    A gain is a function at the top of a module. ``L[m, c]`` is the log joint of row m and class c, ``y[m]`` its
    class; what else the gain needs comes in ``params``. It is compiled, so it is written in loops, and an index outside
    an array is no error: see in ``gain_params`` that ``params`` is as long as it must be.
    """
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for c in range(1, n_classes):
            largest = max(largest, L[m, c])
        total = 0.0
        for c in range(n_classes):
            total += np.exp(L[m, c] - largest)
        distance = 0.0
        for c in range(n_classes):
            truth = 1.0 if c == y[m] else 0.0
            distance += abs(np.exp(L[m, c] - largest) / total - truth) ** params[0]
        out[m] = -distance


class MyScore(PredictiveScore):
    """The mean distance of the posterior from the truth, negated: 0 is best.

    Parameters
    ----------
    power : float
        2 is the Brier score; a larger one minds single large mistakes more.
    alpha, floor, cv, random_state
        As in :class:`bnplug.scoring.PredictiveScore`: smoothing, and the folds that rows are predicted from.

    Examples
    --------
    >>> from bnplug import Structure
    >>> import bnplug, pandas as pd
    >>> table = bnplug.Table.from_frame(pd.DataFrame({"x": [0, 1], "c": ["n", "y"]}), "c")
    >>> MyScore().score(table, Structure(table.names, [[], []]))  # both posteriors are (1/2, 1/2)
    -0.5
    """

    gain = negative_distance
    aggregate = "mean"
    needs_finite = True

    def __init__(
        self, power: float = 2.0, alpha: float = 1.0, floor: float = 0.0, cv: Any = None, random_state: Any = None
    ) -> None:
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.power = power

    def gain_params(self, table: Table) -> list[float]:
        """Return the numbers that the gain gets as ``params``."""
        check_numbers(self, "power", positive=True)
        return [self.power]

    def gain_bounds(self, table: Table) -> Bounds:
        """Return that no row is above 0, so that a candidate that can no longer win is dropped early."""
        return Bounds(maximum=0.0)
