"""Counts of families for decomposable scores: every parent set of a variable is scored on the same rows.

These are the rows in which the variable is known. Where a parent is missing in a row, "unknown" is one more state of
that parent. If each parent set were scored on the rows in which all of it is known, larger sets would be scored on
fewer rows, and every column with missing cells would look like an excellent parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from bnplug.arrays import FloatArray, IntArray
from bnplug.counts.counting import CountsWithEach, count_occurring, lay_out_with_each
from bnplug.data.block_table import BlockTable
from bnplug.data.blocks import ConvertedStore, Rows
from bnplug.data.table import Table, smallest_dtype


class FamilyCounts:
    """Counts of a child and its parents over the rows in which the child is known.

    Parameters
    ----------
    table : Table
        Without missing cells, or if they are filled in by expectation, the counts are the plain ones.

    Attributes
    ----------
    table : Table
        The table in which "unknown" is the last state of every variable that has missing cells.
    """

    def __init__(self, table: Table) -> None:
        self._incomplete = table.has_missing
        self.table = _with_unknown_states(table, self._incomplete) if self._incomplete.any() else table
        self._views = [table if self.table is table else self._view(table, v) for v in range(len(table.names))]

    def _view(self, table: Table, child: int) -> Table:
        view = copy(table)
        view.cards = self.table.cards.copy()
        view.cards[child] = table.cards[child]
        return view

    def view(self, child: int) -> Table:
        """Return the table to score a child's families with: `cards` includes the unknown states of parents."""
        return self._views[child]

    def count(self, child: int, parents: Sequence[int]) -> FloatArray:
        """Count the states of `child` in the configurations of its parents, as an array (child, configurations)."""
        counts = count_occurring(self.table, child, parents)[0]
        return counts[:-1] if self._incomplete[child] else counts

    def count_with_each(self, child: int, parents: Sequence[int], others: Sequence[int]) -> CountsWithEach:
        """Count `child` with `parents` and one more parent, for each of `others`."""
        cells, starts, stops = lay_out_with_each(self.table, child, parents, others)
        if self._incomplete[child]:  # omit its unknown state, the last part of each table
            stops = stops - (stops - starts) // int(self.table.cards[child])
        return CountsWithEach(cells, starts, stops)


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
    codes, weights = _name_unknown((table.codes, table.weights), table.cards, dtype)
    return Table(codes, table.names, states, table.target, weights, table.left_out)


def _name_unknown(rows: Rows, cards: IntArray, dtype: np.dtype[Any]) -> Rows:
    """Replace the code of missing cells, which is above all others, by the first code after the states."""
    codes, weights = rows
    return np.minimum(codes.astype(dtype, copy=False), cards.astype(dtype)[:, None]), weights
