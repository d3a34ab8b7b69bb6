"""Counts of families for decomposable scores, one at a time or many in one compiled call.

The rows of a family are those in which the child is known; "unknown" is one more state of parents with missing cells.
Families that share their first parents share the numbering of their configurations, and configurations are numbered by
those that occur as soon as there are more of them than rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.compiling import kernel
from bnplug.counts._numbering import in_batches
from bnplug.counts.counting import BatchCounts, count_occurring, lay_out_with_each
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import ConvertedStore, Rows
from bnplug.table.coding import smallest_dtype
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

#: A child and its parents, ascending, as :meth:`bnplug.Table.counts` takes them.
Family = tuple[int, ...]

# A family with more cells is counted separately, by the configurations that occur.
_COUNTED_TOGETHER = 1 << 16

# A thread counts at most 4096 families of one child at a time, in batches of about 65,536 cells.
_FAMILIES, _CELLS = 4096, 1 << 16

# The most cells, in total, of the families that are counted in one pass over many blocks.
_CELLS_IN_PASS = 1 << 22

# The most numbers in an array that holds one for each row and state, or for each row and parent.
_MOST_NUMBERS = 1 << 26


class FamilyCounts:
    """Counts of a child and its parents over the rows in which the child is known; the table is not kept alive.

    In `table`, "unknown" is the last state of every variable that has missing cells.
    """

    def __init__(self, table: Table) -> None:
        self._incomplete = table.has_missing
        self._given = weakref.ref(table)
        self._extended = _with_unknown_states(table, self._incomplete) if self._incomplete.any() else None
        self._views = [] if self._extended is None else [self._view(table, v) for v in range(len(table.names))]

    @property
    def table(self) -> Table:
        """The table that is counted."""
        table = self._given() if self._extended is None else self._extended
        assert table is not None
        return table

    def view(self, child: int) -> Table:
        """Return the table in which the families of a child are counted."""
        return self._views[child] if self._views else self.table

    def _view(self, table: Table, child: int) -> Table:
        view = copy(table)
        view.cards = self.table.cards.copy()
        view.cards[child] = table.cards[child]
        return view

    def count_with_each(self, child: int, parents: Sequence[int], others: Sequence[int]) -> BatchCounts:
        """Count `child` with `parents` and one more parent, for each of `others`."""
        return self._of_known(child, lay_out_with_each(self.table, child, parents, others))

    def split(self, families: Sequence[Family]) -> list[list[Family]]:
        """Split ascending families into parts that :meth:`batches` counts in a thread or a pass over the blocks."""
        if not self._in_rows:
            small_first = sorted(families, key=self.is_large)
            return list(in_batches(small_first, self._n_cells, _CELLS_IN_PASS))
        groups = [list(group) for _, group in groupby(families, itemgetter(0))]
        return [group[first : first + _FAMILIES] for group in groups for first in range(0, len(group), _FAMILIES)]

    def batches(self, families: Sequence[Family]) -> Iterator[tuple[int, list[Family], BatchCounts]]:
        """Yield a child, sets of its parents, and their counts, for all families of a part."""
        for child, batch, counts in self._in_one_block(families) if self._in_rows else self._in_blocks(families):
            yield child, [family[1:] for family in batch], self._of_known(child, counts)

    @property
    def _in_rows(self) -> bool:
        return self.table.n_blocks == 1 and not self.table.expects

    def _in_one_block(self, families: Sequence[Family]) -> Iterator[tuple[int, Sequence[Family], BatchCounts]]:
        """Count families of one child in a kernel, as many at a time as there is room for."""
        table, child, depth = self.table, families[0][0], max(map(len, families))
        if table.n_rows * max(depth, int(table.cards.max())) > _MOST_NUMBERS:
            for batch in in_batches(families, self._n_cells, _CELLS_IN_PASS):
                yield from self._in_blocks(batch)
            return
        # The last number replaces the child and is not a variable, so that no set is empty.
        variables = np.array([v for family in families for v in (len(table.cards), *family[1:])], dtype=np.int64)
        bounds = np.cumsum([0, *map(len, families)])
        sizes = np.multiply.reduceat(np.append(table.cards, 1).astype(np.float64)[variables], bounds[:-1])
        first = 0
        while first < len(families):
            cells, starts, stops = table.map(_count_some, child, variables, bounds[first:])[0]
            last = first + len(starts)
            yield child, families[first:last], BatchCounts(cells, starts, stops, sizes[first:last])
            first = last

    def _in_blocks(self, families: Sequence[Family]) -> Iterator[tuple[int, Sequence[Family], BatchCounts]]:
        """Count families in one pass over the blocks, except for large ones."""
        together = [family for family in families if not self.is_large(family)]
        counted = dict(zip(together, self.table.counts(together), strict=True))
        for child, group in groupby(families, itemgetter(0)):
            batch = list(group)
            tables = [counted[f] if f in counted else count_occurring(self.table, child, f[1:])[0] for f in batch]
            sizes = np.array([self._n_cells(family[1:]) for family in batch], dtype=np.float64)
            stops = np.cumsum([counts.size for counts in tables])
            starts = np.concatenate([[0], stops[:-1]])
            yield child, batch, BatchCounts(np.concatenate([t.ravel() for t in tables]), starts, stops, sizes)

    def _n_cells(self, variables: Sequence[int]) -> int:
        return prod(self.table.cards[list(variables)].tolist())

    def is_large(self, family: Sequence[int]) -> bool:
        """Return whether a family is counted separately."""
        return self._n_cells(family) > _COUNTED_TOGETHER

    def _of_known(self, child: int, counts: BatchCounts) -> BatchCounts:
        """Omit the unknown state of a child, the last part of each of its tables."""
        if not self._incomplete[child]:
            return counts
        unknown = (counts.stops - counts.starts) // int(self.table.cards[child])
        return counts._replace(stops=counts.stops - unknown)


_COUNTED: weakref.WeakKeyDictionary[Table, FamilyCounts] = weakref.WeakKeyDictionary()


def counts_of(table: Table) -> FamilyCounts:
    """Return the counts of families of a table, the same object as long as the table exists."""
    counts = _COUNTED.get(table)
    return _COUNTED.setdefault(table, FamilyCounts(table)) if counts is None else counts


def _with_unknown_states(table: Table, incomplete: npt.NDArray[np.bool_]) -> Table:
    """Return a table with one more state for the missing cells of each incomplete variable."""
    states = {
        name: (*table.states[name], "unknown") if has_missing else table.states[name]
        for name, has_missing in zip(table.names, incomplete, strict=True)
    }
    dtype = smallest_dtype(table.cards + incomplete)
    if isinstance(table, BlockTable):
        store = ConvertedStore(table.store, _name_unknown, table.cards, dtype)
        return BlockTable(store, table.names, states, table.target, table.left_out, checked=True)
    codes, weights, _ = _name_unknown(Rows(table.codes, table.weights), table.cards, dtype)
    return Table(codes, table.names, states, table.target, weights, table.left_out)


def _name_unknown(rows: Rows, cards: IntArray, dtype: np.dtype[Any]) -> Rows:
    """Replace the code of missing cells, which is above all others, by the first code after the states."""
    codes = rows.codes.astype(dtype, copy=False)
    return Rows(np.minimum(codes, cards.astype(dtype)[:, None]), rows.weights)


def _count_some(
    block: Table, child: int, variables: IntArray, bounds: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Count the first families of a list, as many as there is room for; return their cells, starts and stops."""
    n_rows, n_states, depth = max(block.n_rows, 1), int(block.cards[child]), int(np.diff(bounds).max())
    cells = np.empty(max(_CELLS, n_states * n_rows))
    starts, stops = np.empty((2, len(bounds) - 1), dtype=np.int64)
    numbers = np.empty((depth, block.n_rows), dtype=np.int32)
    numbers[0] = 0
    place = np.empty(n_rows * int(block.cards.max()), dtype=np.int32)
    done = _lay_out(
        block.codes, child, n_states, variables, bounds, block.cards, block.weights, numbers, place,
        cells, starts, stops,
    )  # fmt: skip
    return cells[: stops[done - 1]], starts[:done], stops[:done]


@kernel
def _lay_out(codes, child, n_states, variables, bounds, cards, weights, numbers, place, cells, starts, stops):  # type: ignore[no-untyped-def]
    """Count families of a child until `cells` is full, and return how many.

    The parents of the i-th family are ``variables[bounds[i] + 1 : bounds[i + 1]]``. numbers[d, m]: the configuration of
    row m by the first d parents; the first row is 0. place: room for the new number of each configuration.
    """
    n_rows = codes.shape[1]
    sizes, path = np.ones(numbers.shape[0], np.int64), np.empty(numbers.shape[0], np.int64)
    states, depth, start = codes[child], 0, 0
    for i in range(bounds.shape[0] - 1):
        first, n_parents = bounds[i], bounds[i + 1] - bounds[i] - 1
        shared = 0
        while shared < depth and shared < n_parents and path[shared] == variables[first + shared + 1]:
            shared += 1
        for d in range(shared, n_parents):
            path[d] = variables[first + d + 1]
            before, after, column, card = numbers[d], numbers[d + 1], codes[path[d]], np.int32(cards[path[d]])
            for m in range(n_rows):
                after[m] = before[m] * card + np.int32(column[m])
            sizes[d + 1] = sizes[d] * card
            if sizes[d + 1] > n_rows:
                place[: sizes[d + 1]] = 0
                for m in range(n_rows):
                    place[after[m]] = 1
                occurring = np.int32(0)
                for j in range(sizes[d + 1]):
                    occurs = place[j]
                    place[j] = occurring
                    occurring += occurs
                for m in range(n_rows):
                    after[m] = place[after[m]]
                sizes[d + 1] = occurring
        depth = n_parents
        number, size = numbers[depth], sizes[depth]
        if start + n_states * size > cells.shape[0]:
            return i
        counts = cells[start : start + n_states * size]
        counts[:] = 0
        for m in range(n_rows):
            cell = np.int64(states[m]) * size + number[m]
            if weights is None:
                counts[cell] += 1
            else:
                counts[cell] += weights[m]
        starts[i], stops[i] = start, start + n_states * size
        start = stops[i]
    return bounds.shape[0] - 1
