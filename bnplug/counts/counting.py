"""Contingency counts: how often each state of a variable occurs with each configuration of others.

Rows in which a variable of the family is missing are not counted. A row counts with its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np

from bnplug.compiling import kernel
from bnplug.counts._numbering import merge_occurring, number_occurring, place_among
from bnplug.table._counting import find_cells, index_rows, strides
from bnplug.table._counting import tally as tally
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

# If there are more parent configurations than this and than rows, only those that occur are numbered.
_DENSE_LIMIT = 1 << 20

_BLOCK = 2048

# The number of accumulators per table.
_LANES = 4


@dataclass(frozen=True)
class Configurations:
    """The joint states of some variables, numbered.

    Attributes
    ----------
    index : int64 array of shape (rows,)
        Each row's configuration; -1 if one of the variables is missing. Empty if the rows are in many blocks.
    size : int
        The number of configurations.
    states : int64 array of shape (size, variables), or None
        The codes of each configuration that occurs, ascending; None if all are numbered, in C order.
    """

    index: IntArray
    size: int
    states: IntArray | None


def configurations(
    table: Table, variables: Sequence[int], limit: int | None = None, like: Configurations | None = None
) -> Configurations:
    """Number the joint states of `variables` in each row.

    All are numbered, in C order, if they are at most `limit` (default: the larger of 2^20 and the number of rows);
    otherwise only those that occur, and memory depends on the rows, not on the product of the cardinalities. With
    `like`, they are numbered as there, for example over the rows of all blocks; -1 if they do not occur there.
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
    """Return the most configurations for which all are numbered."""
    return max(_DENSE_LIMIT, table.n_rows)


def count(table: Table, child: int, parents: Sequence[int] = ()) -> FloatArray:
    """Count every state of `child` in every configuration of `parents`: an array with axes ``(child, *parents)``.

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
    """Count as :func:`count`, with the configurations of the parents numbered.

    Returns counts of shape (child, size), and the configurations, without an index if the rows are in many blocks.
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


class BatchCounts(NamedTuple):
    """Counts of a child with many sets of parents, in one array.

    Attributes
    ----------
    cells : float64 array
    starts, stops : int64 arrays of shape (sets,)
        The i-th table, of shape (child, configurations) in C order, is ``cells[starts[i]:stops[i]]``.
    n_configurations : float64 array of shape (sets,)
        The number of configurations of the parents, whether they occur or not. Tables may omit those that do not.
    """

    cells: FloatArray
    starts: IntArray
    stops: IntArray
    n_configurations: FloatArray

    def tables(self, n_states: int) -> list[FloatArray]:
        """Return the tables, of shape (child, size)."""
        ends = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [self.cells[start:stop].reshape(n_states, -1) for start, stop in ends]


def count_with_each(table: Table, child: int, parents: Sequence[int], others: Sequence[int]) -> list[FloatArray]:
    """Count `child` with `parents` and one more parent, for each of `others`, all in one pass.

    Each array has the shape (child, size); the order of the configurations is unspecified.
    """
    return lay_out_with_each(table, child, parents, others).tables(int(table.cards[child]))


def lay_out_with_each(table: Table, child: int, parents: Sequence[int], others: Sequence[int]) -> BatchCounts:
    """Count as :func:`count_with_each`, into one array."""
    variables, cards = (child, *parents), table.cards.tolist()
    n_cells = prod(cards[v] for v in variables)
    sizes = [n_cells * cards[u] for u in others]
    if table.expects:
        cells = np.concatenate([counts.ravel() for counts in table.counts([(*variables, u) for u in others])])
        starts = np.array([0, *accumulate(sizes)][:-1])
    else:
        # Rows with a missing cell are counted behind each table.
        starts = np.array([0, *accumulate((n_cells + 1) * cards[u] for u in others)])
        cells = table.sum(_count_with_each, variables, np.array(others), starts)[0]
    starts, stops = starts[: len(sizes)], starts[: len(sizes)] + np.array(sizes)
    return BatchCounts(cells, starts, stops, np.array(sizes) / cards[child])


def _count_with_each(block: Table, variables: tuple[int, ...], others: IntArray, starts: IntArray) -> list[FloatArray]:
    cards = [int(block.cards[v]) for v in variables]
    lanes = np.zeros((_LANES, starts[-1]), dtype=np.int64 if block.weights is None else np.float64)
    counts = np.empty(starts[-1])
    _tally_with_each(
        block.codes, np.array(variables), strides(cards), prod(cards), others, block.cards[others], starts,
        block.missing, block.weights, lanes, counts,
    )  # fmt: skip
    return [counts]


@kernel
def _tally_with_each(codes, variables, strides, n_cells, others, cards, starts, missing, weights, lanes, counts):  # type: ignore[no-untyped-def]
    """Add the weight of row m to counts[starts[i] + cell of row m * cards[i] + codes[others[i], m]], for every i.

    strides: of the variables, for a row's cell out of n_cells; rows with a missing cell are counted behind the last.
    lanes: four arrays whose sum is `counts`; unweighted rows go to them in turn, since adding to one cell twice in a
    row stalls. Rows are processed in blocks whose cells are found first, in a loop that vectorizes.
    """
    of_family, family, cells = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    n_rows = codes.shape[1]
    for low in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - low)
        find_cells(codes[:, low : low + size], variables, strides, missing, of_family[:size])
        for m in range(size):
            family[m] = n_cells if of_family[m] < 0 else of_family[m]
        for i in range(others.shape[0]):
            column, card = codes[others[i], low : low + size], np.uint32(cards[i])
            sink = np.uint32(n_cells) * card
            for m in range(size):
                cell = np.uint32(family[m] * card) + np.uint32(column[m])
                cells[m] = sink if column[m] == missing else cell
            one, two = lanes[0, starts[i] :], lanes[1, starts[i] :]
            three, four = lanes[2, starts[i] :], lanes[3, starts[i] :]
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
    for i in range(counts.shape[0]):
        counts[i] = lanes[0, i] + lanes[1, i] + lanes[2, i] + lanes[3, i]
