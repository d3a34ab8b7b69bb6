"""Conditional mutual information from the patterns that occur in the data.

Rows are grouped by their pattern: the joint state of the variables conditioned on. Adding a variable splits
the groups. A group in which all rows have one class tells nothing more about the class and is left out, so
the work shrinks as the patterns grow, and none is left once they determine the class.

Where cells are missing, all features are compared on all rows. Missing is one more state of a variable that is
conditioned on. Rows in which X is missing add nothing to its information, and the information explained by chance is
subtracted in proportion to the missing cells. Otherwise a feature with few known rows would look informative. Complete
features keep the published measure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.counts import chance_information
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray, IntArray

#: The quantile of the chance distribution that incomplete features must exceed.
PROBABILITY = 0.999

# Relative rounding error of sums of weights.
_COMPLETE = 1e-12


class Patterns:
    """The rows of a table, grouped by the states of the variables conditioned on.

    Parameters
    ----------
    table : Table
    variables : sequence of int
        The variables to condition on; more come by :meth:`split`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]})
    >>> table = Table.from_frame(frame, "c")
    >>> Patterns(table).information([0, 1]).round(3).tolist()
    [0.0, 0.0]
    >>> Patterns(table, [0]).information([1]).round(3).tolist()
    [0.693]
    """

    def __init__(self, table: Table, variables: Sequence[int] = ()) -> None:
        self.table = table
        self._target = table.codes[table.target_index]
        self._rows: IntArray = np.arange(table.n_rows)
        self._starts: IntArray = np.array([0])
        for v in variables:
            self.split(v)

    @property
    def determine_class(self) -> bool:
        """Whether every pattern occurs with one class only: no further variable has any information."""
        return not len(self._rows)

    def undecided(self) -> IntArray:
        """Return the numbers of the rows whose pattern occurs with several classes, ascending."""
        return np.sort(self._rows)

    def split(self, v: int) -> None:
        """Condition on one more variable; missing is one more of its states."""
        card = int(self.table.cards[v])
        column = np.minimum(self.table.codes[v], card)
        sizes = np.diff(self._starts, append=len(self._rows))
        group = np.repeat(np.arange(len(sizes)), sizes)
        rows = self._rows
        label = group * (card + 1) + column[rows]
        order = np.argsort(label, kind="stable")
        rows, label = rows[order], label[order]
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        self._rows, self._starts = _without_pure(rows, starts, self._target)

    def information(self, variables: Sequence[int], n_jobs: int | None = None) -> FloatArray:
        """Return I(C; X | pattern) in nats for each X in `variables`; see :func:`information_per_row`.

        Parameters
        ----------
        variables : sequence of int
        n_jobs : int, optional
            Threads. The result does not depend on it.
        """
        if self.determine_class:
            return np.zeros(len(variables))
        table, classes = self.table, self._target[self._rows]
        n_classes = int(table.cards[table.target_index])
        ends = np.append(self._starts[1:], len(self._rows))

        groups = (self._rows, self._starts, ends)

        def sum_information(v: int) -> tuple[float, float]:
            column, n_x, degrees = table.codes[v], table.cards[v], np.zeros(1)
            total = _sum_information(column, classes, n_x, n_classes, table.missing, table.weights, *groups, degrees)
            return float(total), float(degrees[0])

        totals, degrees = np.array(run_in_threads(sum_information, variables, n_jobs=n_jobs)).reshape(-1, 2).T
        return information_per_row(totals, degrees, known_weights(table, variables), table.total_weight)


def known_weights(table: Table, variables: Sequence[int]) -> FloatArray:
    """Return the total weight of the rows in which each variable is known."""
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    lacking, total = table.has_missing, table.total_weight
    return np.array([weights[table.codes[v] != table.missing].sum() if lacking[v] else total for v in variables])


def information_per_row(totals: FloatArray, degrees: FloatArray, known: FloatArray, rows: float) -> FloatArray:
    """Return the information of features per row of the table, never negative.

    Parameters
    ----------
    totals : array
        The sum over the rows in which a feature is known.
    degrees : array
        The degrees of freedom of these sums; see :func:`bnplug.counts.chance_information`.
    known : array
        The total weight of the rows in which each feature is known.
    rows : float
        The total weight of all rows. Features that are known in all rows are not corrected.
    """
    missing = 1.0 - known / rows
    lacking = missing > _COMPLETE
    if lacking.any():
        chance = chance_information(degrees[lacking], np.ones(lacking.sum()), PROBABILITY)
        totals[lacking] -= missing[lacking] * chance
    return np.maximum(totals / rows, 0.0)


def _without_pure(rows: IntArray, starts: IntArray, target: CodeArray) -> tuple[IntArray, IntArray]:
    """Leave out the groups of rows that have one class."""
    if not len(rows):
        return rows, starts
    classes = target[rows]
    mixed = np.minimum.reduceat(classes, starts) != np.maximum.reduceat(classes, starts)
    sizes = np.diff(starts, append=len(rows))
    kept = sizes[mixed]
    return rows[np.repeat(mixed, sizes)], np.cumsum(kept) - kept


@kernel
def _sum_information(  # type: ignore[no-untyped-def]
    column, classes, n_x, n_classes, missing, weights, rows, starts, ends, degrees
):
    """M I(C; X | B), M the weight of the rows counted.

    column: the codes (rows,) of X, which has n_x states; weights: (rows,) or None; rows[starts[g]:ends[g]]: the rows of
    group g, and classes[starts[g]:ends[g]] their classes. A group's share is the sum over (x, c) of n log n, less the
    same of x alone and of the class alone, plus that of the whole group. degrees[0] becomes the degrees of freedom.
    """
    joint = np.zeros(n_x * n_classes, np.float64)
    of_x = np.zeros(n_x, np.float64)
    of_class = np.zeros(n_classes, np.float64)
    total = 0.0
    for g in range(starts.shape[0]):
        low, high = starts[g], ends[g]
        for m in range(low, high):
            x = column[rows[m]]
            if x != missing:
                cell = np.int64(x) * n_classes + np.int64(classes[m])
                joint[cell] += 1.0 if weights is None else weights[rows[m]]
        if high - low >= n_x * n_classes:
            total += _take_cells(joint, of_class, n_x, n_classes, degrees)
        else:
            total += _take_rows(joint, of_x, of_class, column, classes, missing, rows, low, high, degrees)
    return total


@inner_kernel
def _take_cells(joint, of_class, n_x, n_classes, degrees):  # type: ignore[no-untyped-def]
    """Return the sum of one group from its counts joint[x * n_classes + c], and clear them."""
    total = 0.0
    of_group = 0.0
    n_states = n_of_class = -1.0
    of_class[:] = 0.0
    for x in range(n_x):
        of_x = 0.0
        for c in range(n_classes):
            n = joint[x * n_classes + c]
            joint[x * n_classes + c] = 0.0
            total += _n_log_n(n)
            of_x += n
            of_class[c] += n
        total -= _n_log_n(of_x)
        of_group += of_x
        n_states += of_x > 0.0
    for c in range(n_classes):
        total -= _n_log_n(of_class[c])
        n_of_class += of_class[c] > 0.0
        of_class[c] = 0.0
    degrees[0] += max(n_states, 0.0) * max(n_of_class, 0.0)
    return total + _n_log_n(of_group)


@inner_kernel
def _take_rows(  # type: ignore[no-untyped-def]
    joint, of_x, of_class, column, classes, missing, rows, low, high, degrees
):
    """Do the same through the rows of a group that has fewer of them than cells."""
    n_classes = of_class.shape[0]
    total = 0.0
    of_group = 0.0
    n_states = n_of_class = -1.0
    for m in range(low, high):
        x = column[rows[m]]
        if x != missing:
            c = np.int64(classes[m])
            n = joint[np.int64(x) * n_classes + c]
            joint[np.int64(x) * n_classes + c] = 0.0
            total += _n_log_n(n)
            of_x[x] += n
            of_class[c] += n
            of_group += n
    for m in range(low, high):
        x = column[rows[m]]
        if x != missing:
            total -= _n_log_n(of_x[x]) + _n_log_n(of_class[classes[m]])
            n_states += of_x[x] > 0.0
            n_of_class += of_class[classes[m]] > 0.0
            of_x[x] = 0.0
            of_class[classes[m]] = 0.0
    degrees[0] += max(n_states, 0.0) * max(n_of_class, 0.0)
    return total + _n_log_n(of_group)


@inner_kernel
def _n_log_n(n):  # type: ignore[no-untyped-def]
    """Return n log n; most counts in small groups are 1, which needs no logarithm."""
    return 0.0 if n <= 0.0 or n == 1.0 else n * np.log(n)
