"""Rows and terms made fewer before a pass: equal rows become one, and terms with few configurations share a table.

A row then looks up the sum of several terms at once, and adds its derivative for several terms at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.compiling import kernel
from bnplug.counts._numbering import number_occurring
from bnplug.data.table import Table
from bnplug.inference.complete import Terms

# The tables that several terms share are kept this small (cells), and have this many rows for each configuration.
_SHARED_CELLS = 1 << 15
_ROWS_A_CONFIGURATION = 16
# Where no more than one class in this many has a derivative, they are added one by one.
_FEW = 4


@dataclass(frozen=True)
class DistinctRows:
    """Rows of a table that differ in what is looked at, each for all its like.

    Attributes
    ----------
    table : Table
    places : int64 array of shape (rows,)
        Where they are in the table.
    codes : unsigned array of shape (variables, rows)
        Missing being one more state.
    sizes : int64 array of shape (variables,)
        The number of codes that each variable has.
    weights : float64 array of shape (rows,)
        What its like weigh together.
    """

    table: Table
    places: IntArray
    codes: CodeArray
    sizes: IntArray
    weights: FloatArray


def distinct_rows(table: Table, variables: IntArray, unlabeled: bool = False) -> DistinctRows:
    """Return the rows that differ in the class or in `variables`.

    Raises
    ------
    ValueError
        If the class is missing in some row, unless rows may be `unlabeled`.
    """
    if not unlabeled:
        refuse_unlabeled(table)
    codes, sizes = table.padded()
    numbers, places = number_occurring(codes, sizes, [table.target_index, *variables])
    weights = np.bincount(numbers, table.weights, minlength=len(places)).astype(np.float64)
    return DistinctRows(table, places, np.ascontiguousarray(codes[:, places]), sizes, weights)


def refuse_unlabeled(table: Table) -> None:
    """Raise a ``ValueError`` if the class is missing in some row."""
    absent = int((table.codes[table.target_index] == table.missing).sum())
    if absent:
        raise ValueError(f"the class {table.target!r} is missing in {absent} row(s); drop those rows")


def class_codes(table: Table) -> npt.NDArray[np.int64]:
    """Return the class of every row, -1 where it has none."""
    codes: npt.NDArray[np.int64] = table.codes[table.target_index].astype(np.int64)
    codes[codes == table.missing] = -1
    return codes


def gather_distinct(table: Table, variables: IntArray, most: int, unlabeled: bool = False) -> Table:
    """Return the rows of many blocks that differ in the class or in `variables`, with their weights, in memory.

    If they are more than `most` in all blocks together, the table is returned as it is; so is one in memory.
    """
    if table.n_blocks == 1:
        return table
    parts: list[tuple[CodeArray, FloatArray]] = []
    for found in table.each(_distinct, variables, most, unlabeled):
        if found is None or len(found[1]) + sum(len(weights) for _, weights in parts) > most:
            return table
        parts.append(found)
    codes, weights = np.concatenate([own for own, _ in parts], axis=1), np.concatenate([own for _, own in parts])
    return Table(codes, table.names, table.states, table.target, weights)


def _distinct(block: Table, variables: IntArray, most: int, unlabeled: bool) -> tuple[CodeArray, FloatArray] | None:
    rows = distinct_rows(block, variables, unlabeled)
    return None if len(rows.places) > most else (block.codes[:, rows.places], rows.weights)


def _groups(terms: Terms, n_rows: int, sizes: IntArray) -> list[list[int]]:
    """Return groups of terms that share a table: the first left, then what enlarges it least, while it is small."""
    reads = np.zeros((len(terms.starts), len(sizes)))
    for t in range(len(terms.starts)):
        reads[t, _variables(terms, t)] = 1.0
    log_sizes = np.log(sizes)
    largest = min(_SHARED_CELLS // terms.n_classes, n_rows // _ROWS_A_CONFIGURATION)
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


def share_tables(terms: Terms, rows: DistinctRows) -> SharedTables:
    """Choose which terms share a table, number the configurations that occur, and say what each is the sum of."""
    groups = _groups(terms, len(rows.places), rows.sizes)
    index = np.empty((len(rows.places), len(groups)), dtype=np.uint32)
    counts, members, size = [], [], 0
    for g, group in enumerate(groups):
        variables = np.unique(np.concatenate([_variables(terms, t) for t in group]))
        numbers, examples = number_occurring(rows.codes, rows.sizes, variables)
        index[:, g] = numbers + size
        size += len(examples)
        cells = terms.cells(rows.table.codes[:, rows.places[examples]], group).T
        counts.append((cells >= 0).sum(axis=1))
        members.append(cells[cells >= 0])
    bounds = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return SharedTables(index, bounds, np.concatenate(members), size)


def _variables(terms: Terms, t: int) -> IntArray:
    return terms.variables[terms.bounds[t] : terms.bounds[t + 1]]


@kernel(allocates=False)
def merge(values, members, bounds, merged):  # type: ignore[no-untyped-def]
    """merged[k, :] = the sum of the members of configuration k."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        for c in range(n_classes):
            merged[k, c] = 0.0
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                merged[k, c] += values[members[i] + c]


@kernel(allocates=False)
def unmerge(merged, members, bounds, gradient):  # type: ignore[no-untyped-def]
    """Add what configuration k has to each of its members."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                gradient[members[i] + c] += merged[k, c]


@kernel(allocates=False)
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


@kernel(allocates=False)
def gather_own(index, merged, y, joint):  # type: ignore[no-untyped-def]
    """joint[m, y[m]] += the sum over groups of merged[index[m, g], y[m]]."""
    for m in range(joint.shape[0]):
        total = 0.0
        for g in range(index.shape[1]):
            total += merged[index[m, g], y[m]]
        joint[m, y[m]] += total


@kernel(allocates=False)
def scatter_own(index, derivative, y, gradient):  # type: ignore[no-untyped-def]
    """gradient[index[m, g], y[m]] += derivative[m, y[m]] for every group g."""
    for m in range(derivative.shape[0]):
        for g in range(index.shape[1]):
            gradient[index[m, g], y[m]] += derivative[m, y[m]]


@kernel(allocates=False)
def scatter(index, derivative, others, gradient):  # type: ignore[no-untyped-def]
    """gradient[index[m, g], :] += derivative[m, :] for every group g, for what of it is not zero.

    Of a loss by margins, most rows have none, and others that of a few classes. others: int64 (classes,), scratch.
    """
    n_rows, n_classes = derivative.shape
    for m in range(n_rows):
        n_others = 0
        for c in range(n_classes):
            if derivative[m, c] != 0.0:
                others[n_others] = c
                n_others += 1
        if n_others == 0:
            continue
        for g in range(index.shape[1]):
            k = index[m, g]
            if _FEW * n_others < n_classes:
                for i in range(n_others):
                    gradient[k, others[i]] += derivative[m, others[i]]
            else:
                for c in range(n_classes):
                    gradient[k, c] += derivative[m, c]
