"""Joint states as numbers: those that occur."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import IntArray

_LARGEST_NUMBER = 1 << 62


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
