"""Counts of pairs of features with the class: as kernels make and reduce them, and over many blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.counts._numbering import merge_occurring, number_occurring
from bnplug.data.table import Table

_TILE = 4096

# Of many blocks, pairs are counted together in one pass as long as their tables have no more cells than this.
_CELLS_AT_ONCE = 1 << 24


class _Group(NamedTuple):
    """The pairs of the feature at a position with those from `first` to before `last`.

    The table of the pair with `other` is ``starts[other]:starts[other + 1]``; a pair without cells is left out.
    """

    position: int
    first: int
    last: int
    starts: IntArray


def fill_from_blocks(table: Table, features: IntArray, largest: int, result: FloatArray, n_jobs: int | None) -> None:
    """Fill result[a, b] = I(a; b | class) for features a and each b before it, as far as tables are small enough.

    Parameters
    ----------
    table : Table
        Of many blocks.
    features : int64 array
    largest : int
        Pairs whose table has more cells are left out.
    result : float64 array of shape (variables, variables)
    n_jobs : int, optional
    """
    for groups in _passes(table, features, largest):
        found = table.sum(_count_groups, features, groups, n_jobs)
        for group, counts in zip(groups, found, strict=True):
            _reduce_groups(
                counts, table.target_index, table.cards, features, group.position, group.first, group.last,
                group.starts, result,
            )  # fmt: skip


def fill_from_counts(table: Table, features: IntArray, largest: int, result: FloatArray) -> None:
    """Fill the same from the counts that a table expects."""
    for position, a in enumerate(features.tolist()):
        for b in features[:position].tolist():
            if table.cards[table.target_index] * (table.cards[a] + 1) * (table.cards[b] + 1) <= largest:
                result[a, b] = expected_information(table, a, b, [table.target_index])


def expected_information(table: Table, a: int, b: int, given: Sequence[int]) -> float:
    """Return I(A; B | given) by the counts that a table expects."""
    return information_of(table.counts([(a, b, *given)])[0])


def information_of(counts: FloatArray) -> float:
    """Return I(A; B | others) of counts whose first axes are A and B."""
    return entropy_of(counts.sum(1)) + entropy_of(counts.sum(0)) - entropy_of(counts.sum((0, 1))) - entropy_of(counts)


def _passes(table: Table, features: IntArray, largest: int) -> Iterator[list[_Group]]:
    """Yield the groups of pairs that are counted in one pass."""
    c, groups, left = table.target_index, [], _CELLS_AT_ONCE
    for position in range(1, len(features)):
        cells = table.cards[c] * (table.cards[features[position]] + 1) * (table.cards[features[:position]] + 1)
        ends = np.cumsum(np.where(cells <= largest, cells, 0))
        first = 0
        while first < position:
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + left, side="right")))
            starts = np.zeros(position + 1, dtype=np.int64)
            starts[first + 1 : last + 1] = ends[first:last] - before
            groups.append(_Group(position, first, last, starts))
            left, first = left - int(starts[last]), last
            if left <= 0 or last < position:
                yield groups
                groups, left = [], _CELLS_AT_ONCE
    if groups:
        yield groups


def _count_groups(block: Table, features: IntArray, groups: list[_Group], n_jobs: int | None) -> list[FloatArray]:
    """Return the tables of groups of pairs, each group's one behind the other."""
    codes, _ = block.padded()
    dtype = np.int64 if block.weights is None else np.float64

    def counted(group: _Group) -> FloatArray:
        counts = np.zeros(int(group.starts[group.last]), dtype)
        _add_groups(
            codes, block.target_index, block.cards, features, block.weights, group.position, group.first, group.last,
            group.starts, counts,
        )  # fmt: skip
        return counts.astype(np.float64)

    return run_in_threads(counted, groups, n_jobs=n_jobs)


def information_that_occurs(table: Table, a: int, b: int, given: Sequence[int]) -> float:
    """Return I(A; B | given) over rows in many blocks, where all are known, by the joint states that occur."""
    family = a, b, *given
    cards = table.cards[list(family)]
    states, (weights,) = merge_occurring(table.each(_joint_states, family), cards)

    def entropy(*axes: int) -> float:
        numbers, examples = number_occurring(states, cards, axes)
        return entropy_of(np.bincount(numbers, weights, len(examples)).astype(np.float64))

    rest = range(2, len(family))
    return entropy(0, *rest) + entropy(1, *rest) - entropy(*rest) - entropy(0, 1, *rest)


def _joint_states(block: Table, family: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """Return the joint states of a family that occur in a block, and what the rows of each weigh, (1, size)."""
    codes = block.codes[list(family)]
    known = (codes != block.missing).all(axis=0)
    codes, weights = codes[:, known], None if block.weights is None else block.weights[known]
    numbers, examples = number_occurring(codes, block.cards[list(family)], range(len(family)))
    weighed = np.bincount(numbers, weights, len(examples)).astype(np.float64)
    return codes[:, examples].astype(np.int64), weighed[None]


def entropy_of(counts: FloatArray) -> float:
    """Return the entropy of the distribution that `counts` are proportional to; 0 where there are none."""
    positive = counts[counts > 0]
    total = positive.sum()
    return float(np.log(total) - (positive * np.log(positive)).sum() / total) if total else 0.0


@kernel
def _add_groups(codes, c, cards, features, weights, position, first, last, starts, counts):  # type: ignore[no-untyped-def]
    """Count a group of pairs; see add_group."""
    add_group(codes, c, cards, features, weights, position, first, last, starts, counts)


@kernel
def _reduce_groups(counts, c, cards, features, position, first, last, starts, result):  # type: ignore[no-untyped-def]
    """Reduce the tables of a group of pairs; see reduce_group."""
    reduce_group(counts, c, cards, features, position, first, last, starts, result)


@inner_kernel
def add_group(codes, c, cards, features, weights, position, first, last, starts, counts):  # type: ignore[no-untyped-def]
    """Count the pairs of the feature at a position with those from `first` to before `last`.

    codes: (variables, rows) where missing is the state cards[v]. A pair's table has axes (class, a, b), its last state
    of a and of b being missing. In `counts`, that of `other` is ``starts[other]:starts[other + 1]``; a pair without
    cells is left out.
    """
    n_rows, target = codes.shape[1], codes[c]
    base = np.empty(_TILE, np.int64)
    a = features[position]
    width = cards[a] + 1
    for low in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - low)
        for m in range(size):
            base[m] = np.int64(target[low + m]) * width + np.int64(codes[a, low + m])
        for other in range(first, last):
            b = features[other]
            table = counts[starts[other] : starts[other + 1]]
            if table.shape[0] > 0:
                _add_tile(table, base, codes[b, low : low + size], cards[b] + 1, weights, low)


@inner_kernel
def _add_tile(table, base, column, width, weights, low):  # type: ignore[no-untyped-def]
    """table[base[m] * width + column[m]] += weight of row low + m."""
    for m in range(column.shape[0]):
        cell = base[m] * width + np.int64(column[m])
        if weights is None:
            table[cell] += 1
        else:
            table[cell] += weights[low + m]


@inner_kernel
def reduce_group(counts, c, cards, features, position, first, last, starts, result):  # type: ignore[no-untyped-def]
    """Fill result[a, b] from the tables of a group of pairs, as add_group leaves them."""
    a = features[position]
    for other in range(first, last):
        b = features[other]
        table = counts[starts[other] : starts[other + 1]]
        if table.shape[0] > 0:
            result[a, b] = _reduce(table.reshape(cards[c], cards[a] + 1, cards[b] + 1))


@inner_kernel
def _reduce(table):  # type: ignore[no-untyped-def]
    """I(A; B | C) of counts with axes (C, A, B), without the last state of A and of B, which is missing."""
    n_classes, n_a, n_b = table.shape[0], table.shape[1] - 1, table.shape[2] - 1
    of_b = np.empty(n_b, np.float64)
    total = 0.0
    information = 0.0
    for c in range(n_classes):
        of_class = 0.0
        for b in range(n_b):
            of_b[b] = 0.0
        for a in range(n_a):
            of_a = 0.0
            for b in range(n_b):
                n = np.float64(table[c, a, b])
                if n > 0:
                    information += n * np.log(n)
                of_a += n
                of_b[b] += n
            if of_a > 0:
                information -= of_a * np.log(of_a)
            of_class += of_a
        for b in range(n_b):
            if of_b[b] > 0:
                information -= of_b[b] * np.log(of_b[b])
        if of_class > 0:
            information += of_class * np.log(of_class)
        total += of_class
    return information / total if total > 0 else 0.0
