"""The information that independent variables have by chance in sparse tables.

For independent variables, 2 n I approximately follows a chi-square distribution, whose mean is the number of degrees of
freedom. The mean of 2 n I is larger, by up to 16%, if cells are expected to hold one or two rows, as in the table of a
column with 60 codes and a number in 11 bins. A count x with expectation e contributes the deviance of a Poisson
variable, 2 (x log(x / e) - x + e), to 2 n I, and sums of counts contribute theirs with the opposite sign. Williams
(1976) expands its mean in 1 / e; the exact mean also holds for small e.

Williams: Improved likelihood ratio tests for complete contingency tables (1976).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.typing import FloatArray

# Mean deviances are tabulated by the binary logarithm of the expected count, in steps of 1 / 16.
_LOWEST, _HIGHEST, _STEPS = -10, 8, 16

# Tables in which every cell is expected to hold more rows than 2 to this power are not sparse.
_NOT_SPARSE = 5.0


class SparseTables:
    """The tables of pairs of variables with the class, by the counts of each variable with the class.

    Parameters
    ----------
    counts : sequence of arrays of shape (states, classes)
    of_class : array of shape (classes,)
        The counts of the class.
    """

    def __init__(self, counts: Sequence[FloatArray], of_class: FloatArray) -> None:
        # The sum over the states of a variable is one more row, whose deviance is subtracted.
        rows = [np.concatenate([table, table.sum(axis=0, keepdims=True)]) for table in counts]
        joined = np.concatenate(rows).T
        self.starts = np.concatenate([[0], np.cumsum([len(table) for table in rows])])
        self.signs = np.where(joined > 0, 1.0, 0.0)
        self.signs[:, self.starts[1:] - 1] *= -1.0
        self.logs = np.log2(np.where(joined > 0, joined, 1.0))
        self.least = np.log2(np.stack([np.where(table > 0, table, np.inf).min(axis=0) for table in rows]))
        self.of_class = np.log2(np.where(of_class > 0, of_class, 1.0))

    def mean(self, position: int) -> FloatArray:
        """Return the mean of 2 n I(A; B | C), A at a position and B each one before it; 0 for tables not sparse."""
        means = np.zeros(position)
        arrays = (self.logs, self.signs, self.starts, self.of_class, self.least)
        _mean_deviances(*arrays, position, _mean_deviance(), means)
        return means


@cache
def _mean_deviance() -> FloatArray:
    """Return the mean deviance of Poisson variables, by the logarithms of their expectations."""
    expected = 2.0 ** np.linspace(_LOWEST, _HIGHEST, (_HIGHEST - _LOWEST) * _STEPS + 1)[:, None]
    x = np.arange(2.0 * 2**_HIGHEST)
    log_factorial = np.log(np.maximum(x, 1.0)).cumsum()
    probability = np.exp(x * np.log(expected) - expected - log_factorial)
    deviance = 2.0 * (x * np.log(np.maximum(x, 1.0) / expected) - x + expected)
    return np.asarray((probability * deviance).sum(axis=1))


@kernel
def _mean_deviances(logs, signs, starts, of_class, least, position, deviance, means):  # type: ignore[no-untyped-def]
    """Fill means[other] with the mean of 2 n I of the variable at `position` and each one before it.

    logs, signs: (classes, rows), the binary logarithms of counts, and 1, -1 for sums, 0 for states that do not occur;
    starts: the first row of each variable; of_class: (classes,), and least: (variables, classes), the logarithms of the
    counts of classes, and of the smallest count of each variable.
    """
    for other in range(position):
        sparse = False
        for c in range(logs.shape[0]):
            if least[position, c] + least[other, c] - of_class[c] < _NOT_SPARSE:
                sparse = True
        if not sparse:
            continue
        total = 0.0
        for c in range(logs.shape[0]):
            for a in range(starts[position], starts[position + 1]):
                if signs[c, a] != 0:
                    base = logs[c, a] - of_class[c]
                    part = 0.0
                    for b in range(starts[other], starts[other + 1]):
                        if signs[c, b] != 0:
                            part += signs[c, b] * _at(deviance, base + logs[c, b])
                    total += signs[c, a] * part
        means[other] = total


@inner_kernel
def _at(deviance, log):  # type: ignore[no-untyped-def]
    """Return the mean deviance for the logarithm of an expected count, by linear interpolation."""
    place = min(max((log - _LOWEST) * _STEPS, 0.0), deviance.shape[0] - 1.001)
    below = int(place)
    return deviance[below] + (place - below) * (deviance[below + 1] - deviance[below])
