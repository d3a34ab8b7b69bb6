"""Joint states as numbers: those that occur."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray

_LARGEST_NUMBER = 1 << 62

#: Joint states that occur, (variables, size), and numbers that belong to each, (any, size).
Occurring: TypeAlias = tuple[IntArray, FloatArray]


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


def place_among(
    codes: npt.NDArray[Any], sizes: npt.NDArray[Any], variables: Iterable[int], states: npt.NDArray[Any]
) -> IntArray:
    """Number the joint states of some variables as given ones are, which were found in other rows perhaps.

    Parameters
    ----------
    codes, sizes
        As for :func:`number_occurring`.
    variables : iterable of int
    states : integer array of shape (variables, size)
        Each joint state once.

    Returns
    -------
    int64 array of shape (rows,)
        -1 where the joint state of a row is none of them.
    """
    chosen = list(variables)
    numbers, examples = number_occurring(codes, sizes, chosen)
    both = np.concatenate([states, codes[chosen][:, examples].astype(np.int64)], axis=1)
    together, _ = number_occurring(both, sizes[chosen], range(len(chosen)))
    n_given = states.shape[1]
    place = np.full(int(together.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[together[:n_given]] = np.arange(n_given)
    found: IntArray = place[together[n_given:]][numbers]
    return found


def merge_occurring(parts: Iterable[Occurring], sizes: npt.NDArray[Any]) -> Occurring:
    """Add up, over the blocks and in their order, the numbers that belong to each joint state that occurs.

    Parts are merged as they come, whenever those that wait are as large as what is merged: memory follows the joint
    states, not the number of blocks.

    Parameters
    ----------
    parts : iterable of (states, numbers)
        Of every block, each joint state once.
    sizes : integer array of shape (variables,)
        Each above every code of its variable.

    Returns
    -------
    states : int64 array of shape (variables, joint states)
        In ascending order, the last variable fastest.
    numbers : float64 array of shape (any, joint states)
    """
    waiting: list[Occurring] = []
    merged = 0
    for part in parts:
        waiting.append(part)
        if sum(states.shape[1] for states, _ in waiting) > 2 * merged:
            waiting = [_merge(waiting, sizes)]
            merged = waiting[0][0].shape[1]
    return _merge(waiting, sizes)


def _merge(parts: list[Occurring], sizes: npt.NDArray[Any]) -> Occurring:
    every = np.concatenate([states for states, _ in parts], axis=1)
    place, examples = number_occurring(every, sizes, range(len(every)))
    total, first = np.zeros((len(parts[0][1]), len(examples))), 0
    for _, numbers in parts:
        last = first + numbers.shape[1]
        total[:, place[first:last]] += numbers  # of one block, no joint state has two places
        first = last
    return every[:, examples], total
