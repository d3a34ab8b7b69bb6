"""Mutual information between variables, from raw counts, in nats.

All pairwise I(Xi; Xj | C) come from one compiled pass that counts and reduces each pair's table. A pair uses the rows
in which both features are known, or the expected counts of a table (EM).

In a finite sample, independent variables have some mutual information by chance: in n rows, 2 n I follows a chi-square
distribution. The mean of I grows with the number of states and falls with n, so a column with many states or few known
rows looks informative. A correction subtracts that mean, or a quantile as in the MIT score of De Campos (2006). Where
the table of a pair is sparse, both are too low, and are multiplied by a factor. A correction also multiplies the result
by the share of rows in which the variables are known, because a column that is known in few rows carries information in
these rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from bnplug.compiling import run_in_threads
from bnplug.counts._numbering import entropy_of, fill_from_rows, information_that_occurs
from bnplug.counts._sparse import SparseTables
from bnplug.counts.counting import configurations, tally
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

#: Information values this close are tied; the lowest feature index comes first.
INFORMATION_TIE = 1e-9

# A pair whose table has more cells than this, or than this many for each row, is counted by the configurations that
# occur. Up to this many cells of tables of one feature are counted together.
_DENSE_CELLS = 1 << 22
_DENSE_CELLS_PER_ROW, _FEWEST_DENSE = 64, 1 << 16

# Rows in which known cells are counted at a time: as floats they take eight times the memory of the codes.
_ROWS_AT_ONCE = 1 << 16

#: How information measures are corrected for chance.
Correction = Literal["expected"] | float | None


def class_information(table: Table, correction: Correction = None) -> FloatArray:
    """Return I(X; C) of every variable X; 0 for the class itself.

    Parameters
    ----------
    table : Table
    correction : None, "expected" or float
        Subtract the information that independent variables have by chance; see :func:`chance_information`. The
        result is never negative, and is multiplied by the share of rows in which X is known.
    """
    result, degrees = np.zeros(len(table.names)), np.zeros(len(table.names))
    rows = np.full(len(table.names), table.total_weight)
    for v, counts in zip(table.features, _with_class(table), strict=True):
        result[v] = entropy_of(counts.sum(0)) + entropy_of(counts.sum(1)) - entropy_of(counts)
        degrees[v] = (np.count_nonzero(counts.sum(1)) - 1) * (np.count_nonzero(counts.sum(0)) - 1)
        rows[v] = counts.sum()
    if correction is not None:
        result = (result - chance_information(degrees, rows, correction)) * (rows / table.total_weight)
    return np.maximum(result, 0.0)


def _with_class(table: Table) -> list[FloatArray]:
    """Return the counts of each feature with the class."""
    return table.counts([(v, table.target_index) for v in table.features])


def chance_information(degrees: FloatArray, rows: FloatArray, correction: Literal["expected"] | float) -> FloatArray:
    """Return the information, in nats, that independent variables have by chance.

    Parameters
    ----------
    degrees : array
        Degrees of freedom. For I(A; B), the number of occurring states of A minus 1, times the same for B; for
        I(A; B | C), the sum of these products over the classes.
    rows : array of the same shape
        The number of rows, or the sum of their weights.
    correction : "expected" or float
        ``"expected"`` is the mean, degrees / (2 rows). A float between 0 and 1 selects a quantile: the
        information of independent variables stays below it with this probability.

    References
    ----------
    De Campos: A scoring function for learning Bayesian networks based on mutual information and conditional
    independence tests (2006).

    Examples
    --------
    >>> degrees, rows = np.array([1.0, 4.0]), np.array([100.0, 100.0])
    >>> chance_information(degrees, rows, "expected").round(4)
    array([0.005, 0.02 ])
    >>> chance_information(degrees, rows, 0.95).round(4)
    array([0.0192, 0.0474])
    """
    _check_correction(correction)
    # A quantile of chi-square is twice a quantile of the gamma distribution, and 2 n I follows chi-square.
    if isinstance(correction, str):
        halves: FloatArray = degrees / 2
    else:
        from scipy.special import gammaincinv

        halves = np.asarray(gammaincinv(np.where(degrees > 0, degrees, 1.0) / 2, float(correction)), np.float64)
    return np.where((degrees > 0) & (rows > 0), halves / np.maximum(rows, 1e-300), 0.0)


def _check_correction(correction: Correction) -> None:
    """Raise a ``ValueError`` unless it is None, "expected" or a float above 0 and below 1."""
    probability = isinstance(correction, float | np.floating) and 0 < correction < 1
    if not probability and correction is not None and not (isinstance(correction, str) and correction == "expected"):
        raise ValueError(
            f"correction={correction!r}: expected None, 'expected' or a probability above 0 and below 1, such as 0.999"
        )


def pairwise_information(table: Table, n_jobs: int | None = None, correction: Correction = None) -> FloatArray:
    """Return I(Xi; Xj | C) for all pairs of variables, a symmetric matrix; 0 in the class's row and column.

    Parameters
    ----------
    table : Table
    n_jobs : int, optional
        Threads, as joblib counts them. The result does not depend on it.
    correction : None, "expected" or float
        As in :func:`class_information`; the share is that of the rows in which both variables are known. In sparse
        tables, the information by chance is multiplied by the factor by which the mean of 2 n I of independent
        variables exceeds its degrees of freedom.
    """
    _check_correction(correction)
    size = len(table.names)
    result = np.zeros((size, size))
    # Expected counts are not counted from rows: each pair is computed on its own.
    largest = 0 if table.expects else min(_DENSE_CELLS, max(_FEWEST_DENSE, _DENSE_CELLS_PER_ROW * table.n_rows))
    features = np.array(table.features, dtype=np.int64)
    if not table.expects:
        fill_from_rows(table, features, largest, result, n_jobs)
    n_classes = int(table.cards[table.target_index])
    for position, a in enumerate(features):
        before = features[:position]
        for b in before[n_classes * (table.cards[a] + 1) * (table.cards[before] + 1) > largest]:
            result[a, b] = conditional_information(table, int(a), int(b), [table.target_index])
    if correction is not None:
        _correct_pairs(table, result, correction, n_jobs)
    # In place: with ten thousand features the matrix takes 0.8 GB.
    for v in range(size):
        np.maximum(result[v, :v], 0.0, out=result[v, :v])
        result[:v, v] = result[v, :v]
    return result


def _correct_pairs(
    table: Table, result: FloatArray, correction: Literal["expected"] | float, n_jobs: int | None
) -> None:
    """Correct the entries below the diagonal for chance, and for the rows in which a variable is missing."""
    counts = _with_class(table)
    (of_class,) = table.counts([(table.target_index,)])
    spare = np.zeros((len(table.names), len(of_class)))
    for v, of_feature in zip(table.features, counts, strict=True):
        spare[v] = np.maximum((of_feature > 0).sum(axis=0) - 1, 0)
    sparse = SparseTables(counts, of_class)
    incomplete = np.flatnonzero(table.has_missing)
    (known,) = table.sum(_rows_that_know, incomplete) if len(incomplete) else [np.zeros((0, 0))]
    rows = np.full(len(table.names), table.total_weight)
    rows[incomplete] = np.diag(known)
    place = {int(v): i for i, v in enumerate(incomplete)}

    def correct(position: int) -> None:
        v, earlier = table.features[position], table.features[:position]
        shared = np.minimum(rows[:v], rows[v])
        if v in place:
            before = incomplete < v
            shared[incomplete[before]] = known[place[v], before]
        degrees = spare[:v] @ spare[v]
        chance = chance_information(degrees, shared, correction)
        chance[earlier] *= np.maximum(sparse.mean(position) / np.maximum(degrees[earlier], 1.0), 1.0)
        result[v, :v] = (result[v, :v] - chance) * (shared / table.total_weight)

    run_in_threads(correct, range(len(counts) - 1, 0, -1), n_jobs=n_jobs)


def _rows_that_know(block: Table, variables: IntArray) -> list[FloatArray]:
    """Return the total weight of the rows in which both variables of a pair are known, for all pairs."""
    total = np.zeros(2 * variables.shape)
    for low in range(0, block.n_rows, _ROWS_AT_ONCE):
        part = slice(low, low + _ROWS_AT_ONCE)
        known = (block.codes[variables, part] != block.missing).astype(np.float64)
        total += known @ (known if block.weights is None else known * block.weights[part]).T
    return [total]


def first_largest(values: FloatArray, candidates: Sequence[int]) -> int:
    """Return the candidate with the largest value; among tied ones, the lowest."""
    among = np.asarray(candidates)
    chosen = values[among]
    return int(among[chosen >= chosen.max() - INFORMATION_TIE].min())


def by_falling(values: FloatArray, candidates: Sequence[int], most: int | None = None) -> list[int]:
    """Return the candidates by falling value; among tied ones the lowest comes first.

    Parameters
    ----------
    values : array
        Finite numbers.
    candidates : sequence of int
        Positions in `values`.
    most : int, optional
        Return only this many, which is faster than sorting all.

    Examples
    --------
    >>> by_falling(np.array([0.5, 0.1, 0.5, 0.7]), [0, 1, 2, 3], most=3)
    [3, 0, 2]
    """
    left = np.sort(np.asarray(candidates, dtype=np.int64))
    remaining = values[left]
    wanted = len(left) if most is None else min(most, len(left))
    ordered = []
    for _ in range(wanted):
        place = int(np.argmax(remaining >= remaining.max() - INFORMATION_TIE))
        ordered.append(int(left[place]))
        remaining[place] = -np.inf
    return ordered


def conditional_information(table: Table, a: int, b: int, given: Sequence[int] = ()) -> float:
    """Return I(A; B | given) of one pair, over the rows in which all variables are known.

    Memory depends on the rows, not on the number of joint states. For many pairs see :func:`pairwise_information`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1, 1], "b": [1, 1, 0, 0], "c": [*"nyny"]}), "c")
    >>> [round(conditional_information(table, 0, other), 6) for other in (1, 2)]
    [0.693147, 0.0]
    """
    if table.expects and int(np.prod(table.cards[[a, b, *given]])) <= _DENSE_CELLS:
        (counts,) = table.counts([(a, b, *given)])
        of_a, of_b, of_given = counts.sum(1), counts.sum(0), counts.sum((0, 1))
        return entropy_of(of_a) + entropy_of(of_b) - entropy_of(of_given) - entropy_of(counts)
    if table.n_blocks > 1:
        return information_that_occurs(table, a, b, given)
    known = np.logical_and.reduce([table.codes[v] != table.missing for v in (a, b, *given)])
    weights = None if table.weights is None else table.weights[known]

    def entropy(*variables: int) -> float:
        joint = configurations(table, (*variables, *given))
        return entropy_of(tally(joint.index[known], joint.size, weights))

    # H(A, G) + H(B, G) - H(G) - H(A, B, G)
    return entropy(a) + entropy(b) - entropy() - entropy(a, b)
