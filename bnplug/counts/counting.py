"""Contingency counts: how often each state of a variable occurs with each configuration of others.

Every statistic that a method needs is a sum over rows, and starts here. Rows in which a variable of the
family is missing are not counted; a row counts as often as its weight says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.counts._numbering import index_rows, number_occurring
from bnplug.data.table import Table

# Parent configurations above this number, and above the number of rows, are numbered as they occur.
_DENSE_LIMIT = 1 << 20

_BLOCK = 2048


@dataclass(frozen=True)
class Configurations:
    """The joint states of some variables, numbered.

    Attributes
    ----------
    index : int64 array of shape (rows,)
        Each row's configuration; -1 where one of the variables is missing.
    size : int
        How many numbers there are.
    states : int64 array of shape (size, variables), or None
        The codes that make up each configuration that occurs, in ascending order; None where all
        configurations are numbered, in C order.
    """

    index: IntArray
    size: int
    states: IntArray | None


def configurations(table: Table, variables: Sequence[int], limit: int | None = None) -> Configurations:
    """Number the joint states of `variables` in each row.

    All of them are numbered, in C order, when they are at most `limit` (default: 2^20 or the
    number of rows, whichever is larger); otherwise only those that occur, so that memory follows the
    rows and not the product of the cardinalities.
    """
    cards = [int(table.cards[v]) for v in variables]
    limit = max(_DENSE_LIMIT, table.n_rows) if limit is None else limit
    if prod(cards) <= limit:
        index = np.empty(table.n_rows, dtype=np.int64)
        index_rows(table.codes, np.array(variables, dtype=np.int64), _strides(cards), table.missing, index)
        return Configurations(index, prod(cards), None)
    codes = table.codes[list(variables)]
    complete = (codes != table.missing).all(axis=0)
    numbers, examples = number_occurring(codes[:, complete], np.array(cards), range(len(cards)))
    index = np.full(table.n_rows, -1, dtype=np.int64)
    index[complete] = numbers
    return Configurations(index, len(examples), codes[:, complete][:, examples].T.astype(np.int64))


def count(table: Table, child: int, parents: Sequence[int] = ()) -> FloatArray:
    """Count every state of `child` in every configuration of `parents`.

    Parameters
    ----------
    table : Table
    child : int
    parents : sequence of int

    Returns
    -------
    float64 array
        Its axes are the child and the parents in turn.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"a": [0, 0, 1], "c": ["n", "y", "y"]}), "c")
    >>> count(table, 0, [1])
    array([[1., 1.],
           [0., 1.]])
    """
    cards = [int(table.cards[v]) for v in (child, *parents)]
    index = configurations(table, (child, *parents), limit=prod(cards)).index
    return tally(index, prod(cards), table.weights).reshape(cards)


def count_occurring(table: Table, child: int, parents: Sequence[int]) -> tuple[FloatArray, Configurations]:
    """Count as :func:`count` does, by the numbered configurations of the parents.

    Returns
    -------
    counts : float64 array of shape (child, size)
    configurations : Configurations
        Of the parents. Only those that occur have a number where all of them would be too many.
    """
    parent = configurations(table, parents)
    codes = table.codes[child]
    index = np.where(
        (codes == table.missing) | (parent.index < 0), -1, codes.astype(np.int64) * parent.size + parent.index
    )
    card = int(table.cards[child])
    return tally(index, card * parent.size, table.weights).reshape(card, parent.size), parent


def count_with_each(table: Table, child: int, parents: Sequence[int], others: Sequence[int]) -> list[FloatArray]:
    """Count `child` with `parents` and one more parent, for each of `others`, all in one pass.

    Returns
    -------
    list of float64 arrays of shape (child, size)
        One for each of `others`; the order of the configurations is left open.
    """
    variables = (child, *parents)
    family = configurations(table, variables, limit=prod(int(table.cards[v]) for v in variables))
    starts = np.concatenate([[0], np.cumsum(family.size * table.cards[list(others)])])
    counts = np.zeros(starts[-1], dtype=np.int64 if table.weights is None else np.float64)
    _tally_with_each(
        table.codes, np.array(others), table.cards, table.missing, table.weights, family.index, starts, counts
    )
    pieces = np.split(counts.astype(np.float64), starts[1:-1])
    return [piece.reshape(int(table.cards[child]), -1) for piece in pieces]


def tally(index: IntArray, size: int, weights: FloatArray | None = None) -> FloatArray:
    """Add up the weight of each number in `index`, which is below `size`; -1 is passed over."""
    counts = np.zeros(size, dtype=np.int64 if weights is None else np.float64)
    _tally(index, weights, counts)
    return counts.astype(np.float64)


def _strides(cards: Sequence[int]) -> IntArray:
    return np.array([prod(cards[i + 1 :]) for i in range(len(cards))], dtype=np.int64)


@kernel
def _tally(index, weights, counts):  # type: ignore[no-untyped-def]
    """counts[index[m]] += weight of row m; weights may be None."""
    for m in range(index.shape[0]):
        if index[m] >= 0:
            if weights is None:
                counts[index[m]] += 1
            else:
                counts[index[m]] += weights[m]


@kernel
def _tally_with_each(codes, others, cards, missing, weights, index, starts, counts):  # type: ignore[no-untyped-def]
    """counts[starts[i] + index[m] * cards[others[i]] + codes[others[i], m]] += weight of row m, for every i.

    Rows go by in blocks, so that a block's index stays near while all others pass over it.
    """
    for low in range(0, index.shape[0], _BLOCK):
        high = min(low + _BLOCK, index.shape[0])
        for i in range(others.shape[0]):
            column, card, start = codes[others[i]], cards[others[i]], starts[i]
            for m in range(low, high):
                if index[m] >= 0 and column[m] != missing:
                    cell = start + index[m] * card + np.int64(column[m])
                    if weights is None:
                        counts[cell] += 1
                    else:
                        counts[cell] += weights[m]
