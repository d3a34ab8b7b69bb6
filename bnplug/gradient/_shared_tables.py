"""Rows and terms made fewer before a pass: equal rows become one, and terms with few configurations share a table.

A row then looks up the sum of several terms at once, and adds its derivative for several terms at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.data.table import Table
from bnplug.inference.complete import Terms

# The tables that several terms share are kept this small (cells), and have this many rows for each configuration.
_SHARED_CELLS = 1 << 15
_ROWS_A_CONFIGURATION = 16
_LARGEST_NUMBER = 1 << 62


@dataclass(frozen=True)
class Rows:
    """Distinct training rows.

    Attributes
    ----------
    codes : unsigned array of shape (variables, rows)
        A missing cell has the code ``cards[v]``.
    cards, sizes : int64 arrays of shape (variables,)
        The number of states, and of codes: one more where the column has missing cells.
    y : int64 array of shape (rows,)
    weights : float64 array of shape (rows,)
    """

    codes: npt.NDArray[Any]
    cards: IntArray
    sizes: IntArray
    y: IntArray
    weights: FloatArray


def distinct_rows(table: Table, variables: IntArray) -> Rows:
    """Return the rows that differ in the class or in `variables`, with what they weigh together."""
    codes = np.minimum(table.codes, table.cards[:, None].astype(table.codes.dtype))
    sizes = table.cards + np.array([(column == table.missing).any() for column in table.codes], dtype=np.int64)
    first, number = _configurations(codes, sizes, [table.target_index, *variables])
    kept = np.ascontiguousarray(codes[:, first])
    weights = np.bincount(number, table.weights, minlength=len(first)).astype(np.float64)
    return Rows(kept, table.cards, sizes, kept[table.target_index].astype(np.int64), weights)


def _configurations(codes: npt.NDArray[Any], sizes: IntArray, variables: Iterable[int]) -> tuple[IntArray, IntArray]:
    """Number the joint states of `variables` that occur; return a row that has each, and the number of each row."""
    numbers, largest = np.zeros(codes.shape[1], dtype=np.int64), 1
    for v in variables:
        if largest * int(sizes[v]) > _LARGEST_NUMBER:
            occurring, numbers = np.unique(numbers, return_inverse=True)
            largest = len(occurring)
        numbers = numbers * int(sizes[v]) + codes[v]
        largest *= int(sizes[v])
    if largest > codes.shape[1]:
        _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        return first, numbers
    row = np.full(largest, -1, dtype=np.int64)
    row[numbers] = np.arange(codes.shape[1])
    renumbered = np.cumsum(row >= 0) - 1
    return row[row >= 0], renumbered[numbers]


def _groups(terms: Terms, rows: Rows) -> list[list[int]]:
    """Return groups of terms that share a table: the first left, then what enlarges it least, while it is small."""
    reads = np.zeros((len(terms.starts), len(rows.sizes)))
    for t in range(len(terms.starts)):
        reads[t, _variables(terms, t)] = 1.0
    log_sizes = np.log(rows.sizes)
    largest = min(_SHARED_CELLS // terms.n_classes, len(rows.y) // _ROWS_A_CONFIGURATION)
    room = np.log(max(1, largest)) + 1e-9
    left = np.ones(len(terms.starts), dtype=bool)
    groups = []
    while left.any():
        group = [int(left.argmax())]
        left[group] = False
        while left.any():
            read = reads[group].max(axis=0)
            enlarged = log_sizes @ read + np.where(left, reads @ (log_sizes * (1.0 - read)), np.inf)
            least = int(enlarged.argmin())
            if enlarged[least] > room:
                break
            group.append(least)
            left[least] = False
        groups.append(group)
    return groups


@dataclass(frozen=True)
class SharedTables:
    """The shared tables, one behind the other, as one array [configuration, class].

    Attributes
    ----------
    index : uint32 array of shape (rows, groups)
        The configurations of each row, one in each group's table.
    bounds : int64 array of shape (size + 1,)
    members : int64 array
        Configuration k is the sum of the entries of the terms' values that begin at
        ``members[bounds[k]:bounds[k + 1]]``: one for each term of the group without a missing variable.
    size : int
        The number of configurations.
    """

    index: npt.NDArray[np.uint32]
    bounds: IntArray
    members: IntArray
    size: int


def share_tables(terms: Terms, rows: Rows) -> SharedTables:
    """Choose which terms share a table, number the configurations that occur, and say what each is the sum of."""
    groups = _groups(terms, rows)
    index = np.empty((len(rows.y), len(groups)), dtype=np.uint32)
    counts, members, size = [], [], 0
    for g, group in enumerate(groups):
        variables = np.unique(np.concatenate([_variables(terms, t) for t in group]))
        first, number = _configurations(rows.codes, rows.sizes, variables)
        index[:, g] = number + size
        size += len(first)
        cells = np.stack([_cells(terms, t, rows, first) for t in group], axis=1)
        counts.append((cells >= 0).sum(axis=1))
        members.append(cells[cells >= 0])
    bounds = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return SharedTables(index, bounds, np.concatenate(members), size)


def _variables(terms: Terms, t: int) -> IntArray:
    return terms.variables[terms.bounds[t] : terms.bounds[t + 1]]


def _cells(terms: Terms, t: int, rows: Rows, chosen: IntArray) -> IntArray:
    """Return where term t finds the chosen rows in the terms' values; -1 where one of its variables is missing."""
    cells = np.full(len(chosen), terms.starts[t], dtype=np.int64)
    known = np.ones(len(chosen), dtype=bool)
    for i in range(terms.bounds[t], terms.bounds[t + 1]):
        codes = rows.codes[terms.variables[i], chosen].astype(np.int64)
        cells += codes * terms.strides[i]
        known &= codes < rows.cards[terms.variables[i]]
    return np.where(known, cells, -1)


@kernel
def merge(values, members, bounds, merged):  # type: ignore[no-untyped-def]
    """merged[k, :] = the sum of the members of configuration k."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        merged[k, :] = 0.0
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                merged[k, c] += values[members[i] + c]


@kernel
def unmerge(merged, members, bounds, gradient):  # type: ignore[no-untyped-def]
    """Add what configuration k has to each of its members."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                gradient[members[i] + c] += merged[k, c]


@kernel
def gather(index, merged, joint):  # type: ignore[no-untyped-def]
    """joint[m, :] = the sum over groups of merged[index[m, g], :]."""
    n_rows, n_classes = joint.shape
    for m in range(n_rows):
        for c in range(n_classes):
            joint[m, c] = merged[index[m, 0], c]
        for g in range(1, index.shape[1]):
            k = index[m, g]
            for c in range(n_classes):
                joint[m, c] += merged[k, c]


@kernel
def scatter(index, derivative, gradient):  # type: ignore[no-untyped-def]
    """gradient[index[m, g], :] += derivative[m, :] for every group g."""
    n_rows, n_classes = derivative.shape
    for m in range(n_rows):
        for g in range(index.shape[1]):
            k = index[m, g]
            for c in range(n_classes):
                gradient[k, c] += derivative[m, c]
