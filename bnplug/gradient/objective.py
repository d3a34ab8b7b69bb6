"""Sums of a loss of the log joint over the rows, with their gradient: what discriminative parameters are learned by.

A parameter learner writes its log parameters as the flat values of :class:`~bnplug.inference.complete.Terms`, and a
loss as a compiled function over a block of rows; :class:`Objective` does the rest. Two things make a pass fast. Rows
that agree in the class and in all variables that matter are one row of a larger weight. And terms with few
configurations share a table, over the joint configurations that occur: a row looks up the sum of several terms at once.
Where rows are in many blocks, each has its own, and their sums are added in the order of the blocks.

Missing cells: a term adds nothing to the log joint of a row in which one of its variables is missing. Or, where the
whole network is given, such a row has its exact marginal log joint; see :mod:`bnplug.gradient._incomplete_rows`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.compiling import run_in_threads
from bnplug.data.blocks import Blocks
from bnplug.data.table import Table
from bnplug.gradient._incomplete_rows import IncompleteRows
from bnplug.gradient._shared_tables import (
    class_codes,
    distinct_rows,
    gather,
    gather_distinct,
    gather_own,
    merge,
    refuse_unlabeled,
    scatter,
    scatter_own,
    share_tables,
    unmerge,
)
from bnplug.gradient.losses import Loss
from bnplug.inference.complete import Terms
from bnplug.model.log_tables import LogTables

# A block of log joints and one of derivatives stay in a second-level cache.
_BLOCK_CELLS = 1 << 14
_MAX_PARTS = 16
# Rows of many blocks that differ are brought together if they are no more than this: sums are then those of a table in
# memory, to the last bit where weights are whole numbers.
_MOST_GATHERED = 1 << 18
_NO_PARAMS: FloatArray = np.empty(0)


class Objective:
    """The sum over the rows of a table of a loss of their log joint, and its gradient.

    Parameters
    ----------
    terms : Terms
        The nodes that matter, as :func:`bnplug.inference.complete.terms` gives them; their values are not looked at.
    table : Table
        The training rows. A row of weight 2 is the row twice.
    n_jobs : int, optional
        Threads. The result does not depend on it, bit for bit.
    tables : LogTables, optional
        The network that the terms come from. Where it is given, a row with missing cells has its exact log joint,
        log P(c, what the row knows), by the terms' values and the parameters that other nodes have in `tables`. On a C1
        structure that is the log joint of the network that the values are normalised to, on others that of the product
        of the tables; but for a number that is the same for all classes. Otherwise terms with a missing cell are left
        out.
    unlabeled : bool
        Whether rows may have no class, for losses that know what to do with one of -1.

    Raises
    ------
    ValueError
        If the class is missing in some row, and must not be.

    Attributes
    ----------
    n_rows : int
        The number of distinct rows, over which a pass goes.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import parameter_learner
    >>> from bnplug.gradient import conditional_nll
    >>> from bnplug.inference.complete import terms
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")
    >>> own = terms(parameter_learner("ml").fit(table, table.dag([[1], []])), "c")
    >>> nll, gradient = Objective(own, table)(np.zeros(own.values.size), conditional_nll)
    >>> print(round(nll / np.log(2), 6))
    3.0
    >>> gradient.tolist()
    [-1.0, 1.0, 0.5, -0.5, -0.5, 0.5]
    """

    def __init__(
        self,
        terms: Terms,
        table: Table,
        n_jobs: int | None = None,
        tables: LogTables | None = None,
        unlabeled: bool = False,
    ) -> None:
        self.n_jobs = n_jobs
        self._exact = tables is not None
        read = np.arange(len(table.names)) if self._exact else np.unique(terms.variables)
        rows = gather_distinct(table, read, _MOST_GATHERED, unlabeled)
        self._blocks = rows.spawn(_rows_of_block, terms, n_jobs, tables, unlabeled)
        self.n_rows = sum(self._blocks.call("__len__"))

    @property
    def few_rows(self) -> _RowsOfBlock | None:
        """The rows, where they are in memory and one thread passes over all at once; for other compiled code."""
        if type(self._blocks) is not Blocks:
            return None
        [*others, rows] = self._blocks.call("few")
        return None if others else rows

    def __call__(self, values: FloatArray, loss: Loss, params: FloatArray = _NO_PARAMS) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows, and its derivative by every entry of `values`.

        Parameters
        ----------
        values : float64 array
            Log parameters in the layout of ``terms.values``.
        loss : Loss
            Such as :func:`~bnplug.gradient.conditional_nll`.
        params : float64 array, optional
            What the loss is given as its parameters.
        """
        value, gradient = self._blocks.sum("sum", values, loss, params)
        return value, gradient

    def with_own(
        self, values: FloatArray, own: FloatArray, loss: Loss, params: FloatArray = _NO_PARAMS
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return what a call does where the class that a row has finds other values, and the derivative by `own` too.

        A row with the class y has the log joint of `values` with every class, and the sum of its entries in `own` more
        with y: such as what leaving the row out changes.

        Parameters
        ----------
        values, own : float64 arrays
            In the layout of ``terms.values``.
        loss, params
            As for a call.

        Raises
        ------
        ValueError
            If the objective was given a network for rows with missing cells.

        Examples
        --------
        >>> import pandas as pd
        >>> from bnplug import parameter_learner
        >>> from bnplug.gradient import conditional_nll
        >>> from bnplug.inference.complete import terms
        >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")
        >>> layout = terms(parameter_learner("ml").fit(table, table.dag([[1], []])), "c")
        >>> values, own = np.zeros(layout.values.size), np.zeros(layout.values.size)
        >>> nll, gradient, of_own = Objective(layout, table).with_own(values, own, conditional_nll)
        >>> of_own.tolist()  # x = 0 and 1 with each class, then the class: where a row is
        [-1.0, 0.0, 0.0, -0.5, -1.0, -0.5]
        """
        if self._exact:
            raise ValueError("with_own is for terms alone: incomplete rows have no entries of their own to look up")
        value, gradient, of_own = self._blocks.sum("sum_with_own", values, own, loss, params)
        return value, gradient, of_own


def _rows_of_block(
    table: Table, terms: Terms, n_jobs: int | None, tables: LogTables | None, unlabeled: bool
) -> _RowsOfBlock | IncompleteRows | _BothKinds:
    """Return what passes over the rows: those with all that the terms read in another way than others."""
    if not unlabeled:
        refuse_unlabeled(table)
    lacking = np.zeros(table.n_rows, dtype=bool)
    if tables is not None:
        for v in np.unique(terms.variables):
            lacking |= table.codes[v] == table.missing
    if tables is None or not lacking.any():
        return _RowsOfBlock(table, terms, n_jobs, unlabeled)
    incomplete = IncompleteRows(table.take(lacking), terms, tables, n_jobs, unlabeled)
    if lacking.all():
        return incomplete
    return _BothKinds(_RowsOfBlock(table.take(~lacking), terms, n_jobs, unlabeled), incomplete)


class _BothKinds:
    """The rows of one block, with and without missing cells."""

    def __init__(self, complete: _RowsOfBlock, incomplete: IncompleteRows) -> None:
        self._complete, self._incomplete = complete, incomplete

    def __len__(self) -> int:
        return len(self._complete) + len(self._incomplete)

    def few(self) -> None:
        """No other compiled code passes over incomplete rows."""

    def sum(self, values: FloatArray, loss: Loss, params: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows of the block, and its derivative."""
        value, gradient = self._complete.sum(values, loss, params)
        more, of_more = self._incomplete.sum(values, loss, params)
        return value + more, gradient + of_more


class _RowsOfBlock:
    """The rows of one block, made fewer, as passes go over them."""

    def __init__(self, table: Table, terms: Terms, n_jobs: int | None, unlabeled: bool = False) -> None:
        self.n_jobs = n_jobs
        self._size = terms.values.size
        rows = distinct_rows(table, np.unique(terms.variables), unlabeled)
        self._y, self._weights = class_codes(table)[rows.places], rows.weights
        self.n_rows = len(rows.places)
        self._shared = share_tables(terms, rows)
        self._parts = self._part_bounds(terms.n_classes)
        self._block = max(1, _BLOCK_CELLS // terms.n_classes)
        self._merged = np.empty((self._shared.size, terms.n_classes))
        self._gradients = [np.empty_like(self._merged) for _ in self._parts]
        # For each part, a block of log joints and one of derivatives.
        self._blocks = [np.empty((2, min(self._block, last - first), terms.n_classes)) for first, last in self._parts]

    def _part_bounds(self, n_classes: int) -> list[tuple[int, int]]:
        """Return the parts of rows that threads take: they follow from the data alone, and so does every sum.

        Each part has a gradient of its own, so parts are large against the tables.
        """
        parts = min(_MAX_PARTS, self.n_rows * n_classes // max(2 * self._shared.size * n_classes, _BLOCK_CELLS))
        edges = np.linspace(0, self.n_rows, max(1, parts) + 1).astype(int)
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def __len__(self) -> int:
        return self.n_rows

    def few(self) -> _RowsOfBlock | None:
        """Return the rows, if there is one part of them, and one block."""
        return self if len(self._parts) == 1 and self.n_rows <= self._block else None

    def arrays(self) -> tuple[Any, ...]:
        """Return what a pass over the rows reads and fills, where they are few.

        The members and bounds of the shared tables and the rows' places in them; classes and weights; then room for the
        tables, their gradient, the log joints and their derivatives.
        """
        shared, (joint, derivative) = self._shared, self._blocks[0]
        gathered = shared.members, shared.bounds, shared.index, self._y, self._weights
        return *gathered, self._merged, self._gradients[0], joint, derivative

    def sum(self, values: FloatArray, loss: Loss, params: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows of the block, and its derivative."""
        self._merge(values, self._merged)
        run_part = partial(self._run_part, loss=loss, params=params)
        sums = run_in_threads(run_part, range(len(self._parts)), n_jobs=self.n_jobs)
        return float(sum(sums)), self._summed(self._gradients)

    def sum_with_own(
        self, values: FloatArray, own: FloatArray, loss: Loss, params: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the sum of `loss` where the class that a row has finds other values, and both derivatives."""
        merged = np.empty_like(self._merged)
        gradients = [np.zeros_like(merged) for _ in self._parts]
        self._merge(values, self._merged)
        self._merge(own, merged)

        def run_part(part: int) -> float:
            return self._run_part(part, loss, params, merged, gradients[part])

        sums = run_in_threads(run_part, range(len(self._parts)), n_jobs=self.n_jobs)
        return float(sum(sums)), self._summed(self._gradients), self._summed(gradients)

    def _merge(self, values: FloatArray, merged: FloatArray) -> None:
        merge(values, self._shared.members, self._shared.bounds, merged)

    def _summed(self, gradients: list[FloatArray]) -> FloatArray:
        """Return the gradient by the values, from those of the parts by the shared tables; the first is changed."""
        total = gradients[0]
        for more in gradients[1:]:
            total += more
        gradient = np.zeros(self._size)
        unmerge(total, self._shared.members, self._shared.bounds, gradient)
        return gradient

    def _run_part(
        self,
        part: int,
        loss: Loss,
        params: FloatArray,
        own: FloatArray | None = None,
        of_own: FloatArray | None = None,
    ) -> float:
        """Add up one part of the rows, block by block; its gradient goes to ``self._gradients[part]`` and `of_own`."""
        first, last = self._parts[part]
        gradient = self._gradients[part]
        gradient[:] = 0.0
        joint, derivative = self._blocks[part]
        others = np.empty(derivative.shape[1], dtype=np.int64)
        total = 0.0
        for low in range(first, last, self._block):
            high = min(low + self._block, last)
            L, dL, index = joint[: high - low], derivative[: high - low], self._shared.index[low:high]
            y = self._y[low:high]
            gather(index, self._merged, L)
            if own is not None:
                gather_own(index, own, y, L)
            total += loss(L, y, self._weights[low:high], params, dL)
            scatter(index, dL, others, gradient)
            if of_own is not None:
                scatter_own(index, dL, y, of_own)
        return total
