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
from bnplug.counts._numbering import merge_occurring, number_occurring, place_among
from bnplug.data._counting import index_rows, strides
from bnplug.data._counting import tally as tally
from bnplug.data.table import Table

# Parent configurations above this number, and above the number of rows, are numbered as they occur.
_DENSE_LIMIT = 1 << 20

_BLOCK = 2048

# So many tables are counted side by side.
_LANES = 4


@dataclass(frozen=True)
class Configurations:
    """The joint states of some variables, numbered.

    Attributes
    ----------
    index : int64 array of shape (rows,)
        Each row's configuration; -1 where one of the variables is missing. Empty where rows are in many blocks.
    size : int
        How many numbers there are.
    states : int64 array of shape (size, variables), or None
        The codes that make up each configuration that occurs, in ascending order; None where all
        configurations are numbered, in C order.
    """

    index: IntArray
    size: int
    states: IntArray | None


def configurations(
    table: Table, variables: Sequence[int], limit: int | None = None, like: Configurations | None = None
) -> Configurations:
    """Number the joint states of `variables` in each row.

    All of them are numbered, in C order, when they are at most `limit` (default: 2^20 or the
    number of rows, whichever is larger); otherwise only those that occur, so that memory follows the
    rows and not the product of the cardinalities. With `like`, they have the numbers that they have there, such as over
    the rows of all blocks; -1 where they are not among those.
    """
    cards = [int(table.cards[v]) for v in variables]
    limit = _most_numbered(table) if limit is None else limit
    if prod(cards) <= limit if like is None else like.states is None:
        index = np.empty(table.n_rows, dtype=np.int64)
        index_rows(table.codes, np.array(variables, dtype=np.int64), strides(cards), table.missing, index)
        return Configurations(index, prod(cards), None)
    codes = table.codes[list(variables)]
    complete = (codes != table.missing).all(axis=0)
    index = np.full(table.n_rows, -1, dtype=np.int64)
    if like is not None and like.states is not None:
        index[complete] = place_among(codes[:, complete], np.array(cards), range(len(cards)), like.states.T)
        return Configurations(index, like.size, like.states)
    numbers, examples = number_occurring(codes[:, complete], np.array(cards), range(len(cards)))
    index[complete] = numbers
    return Configurations(index, len(examples), codes[:, complete][:, examples].T.astype(np.int64))


def _most_numbered(table: Table) -> int:
    """Return how many configurations are all numbered; of more, those that occur."""
    return max(_DENSE_LIMIT, table.n_rows)


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
    return table.counts([(child, *parents)])[0]


def count_occurring(table: Table, child: int, parents: Sequence[int]) -> tuple[FloatArray, Configurations]:
    """Count as :func:`count` does, by the numbered configurations of the parents.

    Returns
    -------
    counts : float64 array of shape (child, size)
    configurations : Configurations
        Of the parents. Only those that occur have a number where all of them would be too many. Where rows are in many
        blocks, it has the index of none.
    """
    no_rows, cards = np.empty(0, dtype=np.int64), table.cards[list(parents)]
    if table.n_blocks == 1 and not (table.expects and prod(cards.tolist()) <= _DENSE_LIMIT):
        return table.map(_count_occurring, child, parents)[0]
    if prod(cards.tolist()) <= _most_numbered(table):
        counts = count(table, child, parents).reshape(int(table.cards[child]), -1)
        return counts, Configurations(no_rows, counts.shape[1], None)
    states, counts = merge_occurring(table.each(_states_that_occur, child, tuple(parents)), cards)
    return counts, Configurations(no_rows, counts.shape[1], states.T)


def _states_that_occur(block: Table, child: int, parents: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """Return the configurations that occur in a block, and the counts of each."""
    counts, parent = _count_occurring(block, child, parents, limit=0)
    assert parent.states is not None  # since the limit is below every number of them
    return parent.states.T, counts


def _count_occurring(
    block: Table, child: int, parents: Sequence[int], limit: int | None = None
) -> tuple[FloatArray, Configurations]:
    parent = configurations(block, parents, limit)
    codes = block.codes[child]
    index = np.where(
        (codes == block.missing) | (parent.index < 0), -1, codes.astype(np.int64) * parent.size + parent.index
    )
    card = int(block.cards[child])
    return tally(index, card * parent.size, block.weights).reshape(card, parent.size), parent


def count_with_each(table: Table, child: int, parents: Sequence[int], others: Sequence[int]) -> list[FloatArray]:
    """Count `child` with `parents` and one more parent, for each of `others`, all in one pass.

    Returns
    -------
    list of float64 arrays of shape (child, size)
        One for each of `others`; the order of the configurations is left open.
    """
    if table.expects:
        found = table.counts([(child, *parents, u) for u in others])
        return [own.reshape(len(own), -1) for own in found]
    return table.sum(_count_with_each, child, tuple(parents), tuple(others))


def _count_with_each(block: Table, child: int, parents: tuple[int, ...], others: tuple[int, ...]) -> list[FloatArray]:
    variables = (child, *parents)
    family = configurations(block, variables, limit=prod(int(block.cards[v]) for v in variables))
    # One configuration more, for rows with a missing cell: -1 is above every number when it has no sign.
    index = np.minimum(family.index.astype(np.uint32), np.uint32(family.size))
    cards = block.cards[list(others)]
    starts = np.concatenate([[0], np.cumsum((family.size + 1) * cards)])
    counts = np.zeros((_LANES, starts[-1]), dtype=np.int64 if block.weights is None else np.float64)
    _tally_with_each(block.codes, np.array(others), cards, block.missing, block.weights, index, starts, counts)
    total = counts.sum(axis=0).astype(np.float64)
    states, ends = int(block.cards[child]), starts[:-1] + family.size * cards
    return [total[start:end].reshape(states, -1) for start, end in zip(starts.tolist(), ends.tolist(), strict=False)]


@kernel
def _tally_with_each(codes, others, cards, missing, weights, index, starts, counts):  # type: ignore[no-untyped-def]
    """counts[:, starts[i] + index[m] * cards[i] + codes[others[i], m]] += weight of row m, for every i.

    All four rows of `counts` together: where weights are None, rows of the data go to them in turn, since adding to one
    cell twice in a row waits. A missing cell goes where the last configuration of `index` begins.

    Rows go by in blocks, whose cells are found first: that loop vectorises.
    """
    cells = np.empty(_BLOCK, np.uint32)
    for low in range(0, index.shape[0], _BLOCK):
        size = min(_BLOCK, index.shape[0] - low)
        family = index[low : low + size]
        for i in range(others.shape[0]):
            column, card = codes[others[i], low : low + size], np.uint32(cards[i])
            sink = np.uint32(starts[i + 1] - starts[i]) - card
            for m in range(size):
                cell = np.uint32(family[m] * card) + np.uint32(column[m])
                cells[m] = sink if column[m] == missing else cell
            one, two = counts[0, starts[i] :], counts[1, starts[i] :]
            three, four = counts[2, starts[i] :], counts[3, starts[i] :]
            if weights is None:
                whole = size - size % _LANES
                for m in range(0, whole, _LANES):
                    one[np.uint64(cells[m])] += 1
                    two[np.uint64(cells[m + 1])] += 1
                    three[np.uint64(cells[m + 2])] += 1
                    four[np.uint64(cells[m + 3])] += 1
                for m in range(whole, size):
                    one[np.uint64(cells[m])] += 1
            else:
                for m in range(size):
                    one[np.uint64(cells[m])] += weights[low + m]
