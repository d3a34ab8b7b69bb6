"""Conditional mutual information from the patterns that occur in rows that are in many blocks.

Each block knows the pattern of its rows by a number that is the same in all blocks. What blocks are asked for is small:
the patterns that occur and their classes, and counts of the cells that occur.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray, IntArray
from bnplug_cmi_order.patterns import information_per_row, known_weights

# So many variables are asked for at once.
_TOGETHER = 32


class BlockPatterns:
    """The rows of a table of many blocks, grouped as :class:`~bnplug_cmi_order.patterns.Patterns` groups them.

    Parameters
    ----------
    table : Table
    variables : sequence of int
        The variables to condition on; more come by :meth:`split`.
    """

    def __init__(self, table: Table, variables: Sequence[int] = ()) -> None:
        self.table = table
        self._rows = table.spawn(_PatternRows)
        self._size = 1
        for v in variables:
            self.split(v)

    @property
    def determine_class(self) -> bool:
        """Whether every pattern occurs with one class only: no further variable has any information."""
        return not self._size

    def undecided(self) -> IntArray:
        """Return the numbers of the rows whose pattern occurs with several classes, ascending."""
        return np.flatnonzero(np.concatenate(self._rows.call("undecided")))

    def split(self, v: int) -> None:
        """Condition on one more variable; missing is one more of its states."""
        self._rows.call("split", v)
        classes = [np.concatenate(part) for part in zip(*self._rows.call("classes"), strict=True)]
        labels, place = np.unique(classes[0], return_inverse=True)
        lowest, highest = np.full(len(labels), np.iinfo(np.int64).max), np.full(len(labels), -1)
        np.minimum.at(lowest, place, classes[1])
        np.maximum.at(highest, place, classes[2])
        mixed = labels[lowest != highest]
        self._rows.call("number", mixed)
        self._size = len(mixed)

    def information(self, variables: Sequence[int], n_jobs: int | None = None) -> FloatArray:
        """Return I(C; X | pattern) in nats for each X in `variables`; see :func:`information_per_row`."""
        totals, degrees = np.zeros(len(variables)), np.zeros(len(variables))
        if self.determine_class:
            return totals
        known = np.sum(self._rows.call("weights_of_known", list(variables)), axis=0)
        for low in range(0, len(variables), _TOGETHER):
            chosen = list(variables[low : low + _TOGETHER])
            cells = zip(*self._rows.call("cells", chosen), strict=True)
            for i, (v, parts) in enumerate(zip(chosen, cells, strict=True)):
                totals[low + i], degrees[low + i] = self._sum_information(v, parts)
        return information_per_row(totals, degrees, known, self.table.total_weight)

    def _sum_information(self, v: int, parts: Sequence[tuple[IntArray, FloatArray]]) -> tuple[float, float]:
        """Return M I(C; X | B), where M is the total weight of the counted rows, and its degrees of freedom.

        Cells are numbered (pattern, state, class), in C order.
        """
        cells, weights = _add_up(*[np.concatenate(part) for part in zip(*parts, strict=True)])
        n_classes, n_states = int(self.table.cards[self.table.target_index]), int(self.table.cards[v])
        group = cells // (n_classes * n_states)
        states, with_states = _add_up(cells // n_classes, weights)
        classes, with_classes = _add_up(group * n_classes + cells % n_classes, weights)
        total = _sum(weights) - _sum(with_states) - _sum(with_classes) + _sum(_add_up(group, weights)[1])
        spare = np.bincount(states // n_states, minlength=1) - 1, np.bincount(classes // n_classes, minlength=1) - 1
        return total, float((np.maximum(spare[0], 0) * np.maximum(spare[1], 0)).sum())


class _PatternRows:
    """The rows of a block: the number of each one's pattern, -1 where it is of no more use."""

    def __init__(self, block: Table) -> None:
        self.block = block
        self._classes = block.codes[block.target_index].astype(np.int64)
        self._number: IntArray = np.zeros(block.n_rows, dtype=np.int64)

    def split(self, v: int) -> None:
        """Split the patterns by one variable more: rows have the labels of the new ones, which are to be numbered."""
        card = int(self.block.cards[v])
        column = np.minimum(self.block.codes[v], card)
        self._number = np.where(self._number >= 0, self._number * (card + 1) + column, -1)

    def undecided(self) -> BoolArray:
        """Say of which rows the pattern has a number."""
        return np.asarray(self._number >= 0)

    def classes(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the labels of patterns, and the lowest and highest class of each."""
        kept = self._number >= 0
        labels, place = np.unique(self._number[kept], return_inverse=True)
        lowest, highest = np.full(len(labels), np.iinfo(np.int64).max), np.full(len(labels), -1)
        np.minimum.at(lowest, place, self._classes[kept])
        np.maximum.at(highest, place, self._classes[kept])
        return labels, lowest, highest

    def number(self, labels: IntArray) -> None:
        """Number the patterns of these labels, in ascending order, and leave the others out."""
        place = np.searchsorted(labels, self._number)
        is_kept = np.append(labels, -2)[place] == self._number
        self._number = np.where(is_kept, place, -1)

    def cells(self, variables: Sequence[int]) -> list[tuple[IntArray, FloatArray]]:
        """Return the cells (pattern, state, class) of each variable that occur, and what their rows weigh."""
        n_classes = int(self.block.cards[self.block.target_index])
        cells = []
        for v in variables:
            kept = (self.block.codes[v] != self.block.missing) & (self._number >= 0)
            state = self._number[kept] * int(self.block.cards[v]) + self.block.codes[v][kept]
            weights = np.ones(len(state)) if self.block.weights is None else self.block.weights[kept]
            cells.append(_add_up(state * n_classes + self._classes[kept], weights))
        return cells

    def weights_of_known(self, variables: Sequence[int]) -> FloatArray:
        """Return the total weight of the rows in which each variable is known."""
        return known_weights(self.block, variables)


def _add_up(numbers: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the numbers that occur, in ascending order, and what each weighs."""
    occurring, place = np.unique(numbers, return_inverse=True)
    return occurring, np.bincount(place, weights, len(occurring)).astype(np.float64)


def _sum(weights: FloatArray) -> float:
    """Return the sum of n log n."""
    return float((weights * np.log(weights)).sum())
