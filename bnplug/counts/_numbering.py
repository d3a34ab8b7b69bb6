"""Number the joint states that occur, and count pairs of features with the class, in kernels and over many blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel, kernel, run_in_threads
from bnplug.table.table import Table
from bnplug.typing import CodeArray, FloatArray, IntArray

_LARGEST_NUMBER = 1 << 62

_T = TypeVar("_T")

#: Joint states that occur, (variables, size), and numbers that belong to each, (any, size).
Occurring: TypeAlias = tuple[IntArray, FloatArray]


def number_occurring(
    codes: npt.NDArray[Any], sizes: npt.NDArray[Any], variables: Iterable[int]
) -> tuple[IntArray, IntArray]:
    """Number the joint states of some variables that occur, in ascending order, the last variable fastest.

    `sizes` are above every code. Returns the number of each row, and a row with each number.
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
    """Number the joint states of some variables by their place among distinct `states`; -1 if not among them."""
    chosen = list(variables)
    numbers, examples = number_occurring(codes, sizes, chosen)
    both = np.concatenate([states, codes[chosen][:, examples].astype(np.int64)], axis=1)
    together, _ = number_occurring(both, sizes[chosen], range(len(chosen)))
    n_given = states.shape[1]
    place = np.full(int(together.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[together[:n_given]] = np.arange(n_given)
    return np.asarray(place[together[n_given:]][numbers])


def merge_occurring(parts: Iterable[Occurring], sizes: npt.NDArray[Any]) -> Occurring:
    """Add up the numbers of each joint state over the blocks, in their order; joint states are ascending.

    Parts are merged as soon as the waiting ones are as large as the merged one, to save memory.
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
        total[:, place[first:last]] += numbers  # a block has each joint state once
        first = last
    return every[:, examples], total


_TILE = 4096

# The most cells of pairs that are counted in one pass over many blocks.
_CELLS_AT_ONCE = 1 << 24


class _Group(NamedTuple):
    """The pairs of the feature at a position with those from `first` to before `last`; see `_add_group`."""

    position: int
    first: int
    last: int
    starts: IntArray


def fill_from_rows(table: Table, features: IntArray, largest: int, result: FloatArray, n_jobs: int | None) -> None:
    """Set result[a, b] to I(a; b | class) for each a and b before it whose table has at most `largest` cells."""

    def reduce(group: _Group, counts: npt.NDArray[Any]) -> None:
        _reduce_group(counts, table.target_index, table.cards, features, *group, result)

    def fill(position: int) -> None:
        for group in _groups(table, features, position, largest):
            reduce(group, _count_group(table, codes, features, group))

    # Features with the most pairs come first, to balance the threads.
    positions = range(len(features) - 1, 0, -1)
    if table.n_blocks == 1:
        codes, _ = table.padded()
        run_in_threads(fill, positions, n_jobs=n_jobs)
        return
    every = (group for position in positions for group in _groups(table, features, position, largest))
    for groups in in_batches(every, lambda group: int(group.starts[group.last]), _CELLS_AT_ONCE):
        counted = table.sum(_count_groups, features, groups, n_jobs)
        for group, counts in zip(groups, counted, strict=True):
            reduce(group, counts)


def _groups(table: Table, features: IntArray, position: int, largest: int) -> Iterator[_Group]:
    """Yield the pairs of the feature at a position with those before it, in groups of up to `largest` cells."""
    n_classes, width = table.cards[table.target_index], table.cards[features[position]] + 1
    cells = n_classes * width * (table.cards[features[:position]] + 1)
    starts = np.zeros(position + 1, dtype=np.int64)
    (cells * (cells <= largest)).cumsum(out=starts[1:])
    first = 0
    while first < position:
        last = int(starts.searchsorted(starts[first] + largest, side="right")) - 1
        yield _Group(position, first, last, starts - starts[first])
        first = last


def in_batches(items: Iterable[_T], size: Callable[[_T], int], most: int) -> Iterator[list[_T]]:
    """Yield items in batches whose sizes add up to at most `most`; a larger item has a batch of its own."""
    batch, total = list[_T](), 0
    for item in items:
        added = size(item)
        if batch and total + added > most:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += added
    if batch:
        yield batch


def _count_groups(block: Table, features: IntArray, groups: list[_Group], n_jobs: int | None) -> list[FloatArray]:
    """Return the concatenated tables of each group of pairs."""
    count_one = partial(_count_group, block, block.padded()[0], features)
    return run_in_threads(lambda group: count_one(group).astype(np.float64), groups, n_jobs=n_jobs)


def _count_group(block: Table, codes: CodeArray, features: IntArray, group: _Group) -> npt.NDArray[Any]:
    dtype: Any = np.int64 if block.weights is None else np.float64
    counts: npt.NDArray[Any] = np.zeros(int(group.starts[group.last]), dtype)
    _add_group(codes, block.target_index, block.cards, features, block.weights, *group, counts)
    return counts


def information_that_occurs(table: Table, a: int, b: int, given: Sequence[int]) -> float:
    """Return I(A; B | given) over the complete rows of many blocks, by the joint states that occur."""
    family = a, b, *given
    cards = table.cards[list(family)]
    states, (weights,) = merge_occurring(table.each(_joint_states, family), cards)

    def entropy(*axes: int) -> float:
        numbers, examples = number_occurring(states, cards, axes)
        return entropy_of(np.bincount(numbers, weights, len(examples)).astype(np.float64))

    rest = range(2, len(family))
    return entropy(0, *rest) + entropy(1, *rest) - entropy(*rest) - entropy(0, 1, *rest)


def _joint_states(block: Table, family: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """Return the joint states of a family that occur in a block, and their weights, of shape (1, size)."""
    codes = block.codes[list(family)]
    known = (codes != block.missing).all(axis=0)
    codes, weights = codes[:, known], None if block.weights is None else block.weights[known]
    numbers, examples = number_occurring(codes, block.cards[list(family)], range(len(family)))
    weighed = np.bincount(numbers, weights, len(examples)).astype(np.float64)
    return codes[:, examples].astype(np.int64), weighed[None]


def entropy_of(counts: FloatArray) -> float:
    """Return the entropy of the distribution proportional to `counts`; 0 if they are all 0."""
    positive = counts[counts > 0]
    total = positive.sum()
    return float(np.log(total) - (positive * np.log(positive)).sum() / total) if total else 0.0


@kernel
def _add_group(codes, c, cards, features, weights, position, first, last, starts, counts):  # type: ignore[no-untyped-def]
    """Count the pairs of the feature at a position with those from `first` to before `last`.

    codes: (variables, rows), with missing as the state cards[v], which saves a branch per cell; c: the class; weights:
    (rows,) or None. A pair's table has axes (class, a, b), with missing as the last state of a and b. In `counts`, the
    table of `other` is ``starts[other]:starts[other + 1]``; a pair without cells is skipped.
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
    """Add the weight of row low + m to table[base[m] * width + column[m]]."""
    for m in range(column.shape[0]):
        cell = base[m] * width + np.int64(column[m])
        if weights is None:
            table[cell] += 1
        else:
            table[cell] += weights[low + m]


@kernel
def _reduce_group(counts, c, cards, features, position, first, last, starts, result):  # type: ignore[no-untyped-def]
    """Fill result[a, b] from the tables of a group of pairs, as _add_group leaves them."""
    a = features[position]
    for other in range(first, last):
        b = features[other]
        table = counts[starts[other] : starts[other + 1]]
        if table.shape[0] > 0:
            result[a, b] = _reduce(table.reshape(cards[c], cards[a] + 1, cards[b] + 1))


@inner_kernel
def _reduce(table):  # type: ignore[no-untyped-def]
    """Return I(A; B | C) of counts with axes (C, A, B), without the last states of A and B, which are missing."""
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
