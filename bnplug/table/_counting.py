"""Counts of a block of rows: the cell of each row in a table, and the total weight of each cell."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.table.table import Table

_BLOCK = 2048


def count_families(
    block: Table, families: Sequence[Sequence[int]], folds: IntArray | None = None, n_folds: int = 0
) -> list[FloatArray]:
    """Return the counts of families in a block of rows, as :meth:`bnplug.Table.counts` has them."""
    return [_count(block, family, folds, n_folds) for family in families]


def count_rows(block: Table, families: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Return the number of rows in each joint state of families; rows of weight 0 are not counted."""
    return count_families(with_unit_weights(block), families)


def with_unit_weights(block: Table) -> Table:
    """Return a block in which every positive weight is 1."""
    if block.weights is None:
        return block
    return block._with_rows(block.codes, (block.weights > 0).astype(np.float64), block.shares)


def _count(block: Table, family: Sequence[int], folds: IntArray | None, n_folds: int) -> FloatArray:
    cards = [int(block.cards[v]) for v in family]
    index, size = np.empty(block.n_rows, dtype=np.int64), prod(cards)
    index_rows(block.codes, np.array(family, dtype=np.int64), strides(cards), block.missing, index)
    if folds is None:
        return tally(index, size, block.weights).reshape(cards)
    fold = np.where(folds < 0, n_folds, folds)
    index[index >= 0] += size * fold[index >= 0]
    return tally(index, size * (n_folds + 1), block.weights).reshape(n_folds + 1, *cards)


def tally(index: IntArray, size: int, weights: FloatArray | None = None) -> FloatArray:
    """Add up the weights of each number below `size` in `index`; -1 is skipped."""
    counts = np.zeros(size, dtype=np.int64 if weights is None else np.float64)
    _tally(index, weights, counts)
    return counts.astype(np.float64)


def strides(cards: Sequence[int]) -> IntArray:
    """Return the strides, in cells, of an array in C order."""
    return np.array([prod(cards[i + 1 :]) for i in range(len(cards))], dtype=np.int64)


@kernel(allocates=False)
def _tally(index, weights, counts):  # type: ignore[no-untyped-def]
    """counts[index[m]] += weight of row m; weights may be None."""
    for m in range(index.shape[0]):
        if index[m] >= 0:
            if weights is None:
                counts[index[m]] += 1
            else:
                counts[index[m]] += weights[m]


@kernel(allocates=False)
def index_rows(codes, variables, strides, missing, index):  # type: ignore[no-untyped-def]
    """index[m] = sum over i of codes[variables[i], m] * strides[i], or -1 where one of them is missing."""
    n_rows = index.shape[0]
    for start in range(0, n_rows, _BLOCK):
        stop = start + _BLOCK if n_rows - start > _BLOCK else n_rows
        find_cells(codes[:, start:stop], variables, strides, missing, index[start:stop])


@inner_kernel(allocates=False)
def find_cells(codes, variables, strides, missing, cells):  # type: ignore[no-untyped-def]
    """Fill cells[m] as above, for a block of rows that fits the cache, in loops without branches."""
    for m in range(cells.shape[0]):
        cells[m] = 0
    for i in range(variables.shape[0]):
        column = codes[variables[i]]
        stride = strides[i]
        for m in range(cells.shape[0]):
            cells[m] += np.int64(column[m]) * stride
    for i in range(variables.shape[0]):
        column = codes[variables[i]]
        for m in range(cells.shape[0]):
            cells[m] = -1 if column[m] == missing else cells[m]
