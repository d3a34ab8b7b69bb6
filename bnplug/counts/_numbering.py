"""Joint states as numbers: the cell of a table that each row falls into, and the joint states that occur."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import IntArray
from bnplug.compiling import inner_kernel, kernel

_LARGEST_NUMBER = 1 << 62

_BLOCK = 2048


def number_occurring(
    codes: npt.NDArray[Any], sizes: npt.NDArray[Any], variables: Iterable[int]
) -> tuple[IntArray, IntArray]:
    """Number the joint states of some variables that occur, in ascending order, the last variable fastest.

    Memory follows the rows, not the product of the numbers of states.

    Parameters
    ----------
    codes : integer array of shape (all variables, rows)
    sizes : integer array of shape (all variables,)
        Each above every code of its variable.
    variables : iterable of int

    Returns
    -------
    numbers : int64 array of shape (rows,)
        The number of each row.
    examples : int64 array of shape (joint states,)
        A row that has each number.

    Examples
    --------
    >>> numbers, examples = number_occurring(np.array([[1, 0, 1], [2, 0, 2]]), np.array([2, 3]), [0, 1])
    >>> numbers.tolist(), len(examples)
    ([1, 0, 1], 2)
    """
    n_rows = codes.shape[1]
    numbers, largest = np.zeros(n_rows, dtype=np.int64), 1
    for v in variables:
        size = int(sizes[v])
        if largest * size > _LARGEST_NUMBER:
            occurring, numbers = np.unique(numbers, return_inverse=True)
            largest = len(occurring)
        numbers = numbers * size + codes[v]
        largest *= size
    if largest > n_rows:
        _, examples, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return numbers, examples
    row = np.full(largest, -1, dtype=np.int64)
    row[numbers] = np.arange(n_rows)
    renumbered = np.cumsum(row >= 0) - 1
    return renumbered[numbers], row[row >= 0]


@kernel
def index_rows(codes, variables, strides, missing, index):  # type: ignore[no-untyped-def]
    """index[m] = sum over i of codes[variables[i], m] * strides[i], or -1 where one of them is missing."""
    n_rows = index.shape[0]
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        find_cells(codes[:, start:stop], variables, strides, missing, index[start:stop])


@inner_kernel
def find_cells(codes, variables, strides, missing, cells):  # type: ignore[no-untyped-def]
    """cells[m] as above, for a block of rows that fits the cache: loops without branches, which vectorise."""
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
