"""Reduce rows and terms before a pass: equal rows become one, and terms with few configurations share a table.

A row then looks up the sum of several terms at once, and adds its derivative to several terms at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel, kernel
from bnplug.counts._numbering import number_occurring
from bnplug.inference.complete import Terms
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray, IntArray

# Shared tables have at most this many cells, and at least this many rows per configuration.
_SHARED_CELLS = 1 << 15
_ROWS_A_CONFIGURATION = 16
# If at most one class in this many has a derivative, they are added one by one.
_FEW = 4


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a table, with missing as one more state of each variable, and -1 as a missing class."""

    table: Table
    places: IntArray
    codes: CodeArray
    sizes: IntArray
    y: IntArray
    weights: FloatArray


def distinct_rows(table: Table, variables: IntArray) -> DistinctRows:
    """Return the rows that differ in the class or in `variables`."""
    codes, sizes = table.padded()
    numbers, places = number_occurring(codes, sizes, [table.target_index, *variables])
    weights = np.bincount(numbers, table.weights, minlength=len(places)).astype(np.float64)
    y = table.codes[table.target_index, places].astype(np.int64)
    y[y == table.missing] = -1
    return DistinctRows(table, places, np.ascontiguousarray(codes[:, places]), sizes, y, weights)


def refuse_unlabeled(table: Table) -> None:
    """Raise a ``ValueError`` if the class is missing in some row."""
    absent = int((table.codes[table.target_index] == table.missing).sum())
    if absent:
        raise ValueError(f"the class {table.target!r} is missing in {absent} row(s); drop these rows")


def gather_distinct(table: Table, variables: IntArray, most: int, unlabeled: bool = False) -> Table:
    """Bring the distinct rows of many blocks into memory, with their weights, unless they are more than `most`."""
    if table.n_blocks == 1:
        return table
    parts: list[tuple[CodeArray, FloatArray]] = []
    for part in table.each(_distinct, variables, most, unlabeled):
        if part is None or len(part[1]) + sum(len(weights) for _, weights in parts) > most:
            return table
        parts.append(part)
    codes = np.concatenate([part for part, _ in parts], axis=1)
    return Table(codes, table.names, table.states, table.target, np.concatenate([weights for _, weights in parts]))


def _distinct(block: Table, variables: IntArray, most: int, unlabeled: bool) -> tuple[CodeArray, FloatArray] | None:
    if not unlabeled:
        refuse_unlabeled(block)
    rows = distinct_rows(block, variables)
    return None if len(rows.places) > most else (block.codes[:, rows.places], rows.weights)


def _groups(terms: Terms, n_rows: int, sizes: IntArray) -> list[list[int]]:
    """Group terms that share a table: start with the first left, add the term that enlarges it least, while small."""
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
    """The shared tables, concatenated into one array of shape (size, classes).

    ``index[m, g]`` is the configuration of row m in the table of group g. Configuration k is the sum of the entries of
    the terms' values that begin at ``members[bounds[k]:bounds[k + 1]]``.
    """

    index: npt.NDArray[np.uint32]
    bounds: IntArray
    members: IntArray
    size: int


def share_tables(terms: Terms, rows: DistinctRows) -> SharedTables:
    """Choose which terms share a table, number the configurations that occur, and list the members of each."""
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
    """Set merged[k, :] to the sum of the members of configuration k."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        for c in range(n_classes):
            merged[k, c] = 0.0
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                merged[k, c] += values[members[i] + c]


@kernel(allocates=False)
def unmerge(merged, members, bounds, gradient):  # type: ignore[no-untyped-def]
    """Add merged[k, :] to each member of configuration k."""
    n_classes = merged.shape[1]
    for k in range(merged.shape[0]):
        for i in range(bounds[k], bounds[k + 1]):
            for c in range(n_classes):
                gradient[members[i] + c] += merged[k, c]


@kernel(allocates=False)
def gather(index, merged, joint):  # type: ignore[no-untyped-def]
    """Set joint[m, :] to the sum over groups of merged[index[m, g], :]."""
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
    """Add derivative[m, :] to gradient[index[m, g], :] for every group g; margin losses have many zeros."""
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


class CompactRows(NamedTuple):
    """The distinct rows of a small table, for compiled code that passes over them without Python.

    Inside a kernel, :func:`fill_log_joint` fills `joint` from log parameters. A loss then fills `derivative`, and
    :func:`add_gradient` adds its derivative by the log parameters to an array.

    `merged` and `of_merged`, of shape (entries, classes), are shared tables and their gradient. `members` and `bounds`
    list the terms' values that each entry of `merged` is the sum of, and `entries`, of shape (rows, groups), the
    entries that each row adds up. `y` (int64) is the class of each row, -1 if it is missing, and `weights` its weight.
    `joint` and `derivative` have the shape (rows, classes).
    """

    members: IntArray
    bounds: IntArray
    entries: npt.NDArray[np.uint32]
    y: IntArray
    weights: FloatArray
    merged: FloatArray
    of_merged: FloatArray
    joint: FloatArray
    derivative: FloatArray


@inner_kernel(allocates=False, called_once=True)
def fill_log_joint(values, rows):  # type: ignore[no-untyped-def]
    """Fill ``rows.joint`` with the log joint of every row; values : float64, as ``Terms.values``."""
    merge(values, rows.members, rows.bounds, rows.merged)
    gather(rows.entries, rows.merged, rows.joint)


@inner_kernel(allocates=False, called_once=True)
def add_gradient(rows, others, gradient):  # type: ignore[no-untyped-def]
    """Add the derivative by the values to `gradient`, given ``rows.derivative``; others : int64 (classes,), scratch."""
    for k in range(rows.of_merged.shape[0]):
        for c in range(rows.of_merged.shape[1]):
            rows.of_merged[k, c] = 0.0
    scatter(rows.entries, rows.derivative, others, rows.of_merged)
    unmerge(rows.of_merged, rows.members, rows.bounds, gradient)
