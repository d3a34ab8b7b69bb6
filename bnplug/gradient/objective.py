"""Sums of a loss of the log joint over the rows of a table, with their gradient.

A parameter learner writes its log parameters as the flat values of :class:`~bnplug.inference.complete.Terms`, and a
loss as a compiled function over a block of rows; :class:`Objective` does the rest. Two things make a pass fast. Rows
that agree in the class and in all variables that matter become one row of a larger weight. Terms with few
configurations share a table over the joint configurations that occur, and a row looks up the sum of several terms at
once. If the rows are in many blocks, each block has its own sum, and the sums are added in the order of the blocks.

Missing cells: a term adds nothing to the log joint of a row in which one of its variables is missing. If the whole
network is given, such a row has its exact marginal log joint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bnplug.compiling import run_in_threads
from bnplug.gradient._rows import (
    CompactRows,
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
from bnplug.inference._flat_tables import in_memory, in_shape
from bnplug.inference.complete import Terms, terms, with_values
from bnplug.inference.expectation import Expectation
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import _Normalization
from bnplug.structure import is_c1
from bnplug.table.blocks import Blocks
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# A block of log joints and one of derivatives fit into a second-level cache.
_BLOCK_CELLS = 1 << 14
_MAX_PARTS = 16
# Up to this many distinct rows of many blocks are gathered: sums then equal those of a table in memory, to the last
# bit if weights are integers.
_MOST_GATHERED = 1 << 18
_NO_PARAMS: FloatArray = np.empty(0)
# From the expected counts of all cells, flat, to the derivative by the terms' values.
_Chain = Callable[[FloatArray], FloatArray]


class Objective:
    """The sum over the rows of a table of a loss of their log joint, and its gradient.

    Parameters
    ----------
    terms : Terms
        The nodes that matter, as :func:`bnplug.inference.complete.terms` returns them; their values are not used.
    table : Table
        The training rows. A row of weight 2 counts twice.
    n_jobs : int, optional
        Threads. The result does not depend on it, bit for bit.
    tables : LogTables, optional
        The network of the terms. With it, a row with missing cells has its exact log joint, log P(class, known cells),
        by the terms' values and the parameters of other nodes in `tables`. On a C1 structure that is the log joint of
        the normalized network, on others that of the product of the tables, up to a constant that is the same for all
        classes. Without it, terms with a missing cell are omitted.
    unlabeled : bool
        Whether rows may have no class, for losses that handle a class of -1; otherwise they are a ``ValueError``.

    Attributes
    ----------
    n_rows : int
        The number of distinct rows.

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> from bnplug import parameter_learner
    >>> from bnplug.gradient import conditional_nll
    >>> from bnplug.inference.complete import terms
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1], "c": ["n", "n", "y"]}), "c")
    >>> layout = terms(parameter_learner("ml").fit(table, Structure(table.names, [[1], []])), "c")
    >>> nll, gradient = Objective(layout, table)(np.zeros(layout.values.size), conditional_nll)
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
    def compact_rows(self) -> CompactRows | None:
        """The rows for compiled code, if they are in memory and few enough for one block; otherwise None."""
        if type(self._blocks) is not Blocks:
            return None
        [*others, rows] = self._blocks.call("compact")
        return None if others else rows

    def __call__(self, values: FloatArray, loss: Loss, params: FloatArray = _NO_PARAMS) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows, and its derivative by every entry of `values`.

        `values` are log parameters in the layout of ``terms.values``, and `params` the parameters of the loss.
        """
        value, gradient = self._blocks.sum("sum", values, loss, params)
        return value, gradient

    def with_own(
        self, values: FloatArray, own_values: FloatArray, loss: Loss, params: FloatArray = _NO_PARAMS
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the sum with different values for the class of each row, and the derivatives by both arrays.

        In a row with the class y, the log joint of y is increased by the sum of the row's entries in `own_values`, an
        array in the layout of `values`: for example, by the effect of leaving the row out. Other classes use `values`
        alone. An objective created with `tables` does not support this.
        """
        if self._exact:
            raise ValueError("with_own does not support an objective created with `tables`")
        value, gradient, of_own = self._blocks.sum("sum", values, loss, params, own_values)
        return value, gradient, of_own


def _rows_of_block(
    table: Table, terms: Terms, n_jobs: int | None, tables: LogTables | None, unlabeled: bool
) -> _RowsOfBlock | _IncompleteRows:
    """Separate the rows that lack a cell the terms read, if they have an exact log joint."""
    if not unlabeled:
        refuse_unlabeled(table)
    lacking = np.zeros(table.n_rows, dtype=bool)
    if tables is not None:
        for v in np.unique(terms.variables):
            lacking |= table.codes[v] == table.missing
    if tables is None or not lacking.any():
        return _RowsOfBlock(table, terms, n_jobs)
    complete = None if lacking.all() else _RowsOfBlock(table.take(~lacking), terms, n_jobs)
    return _IncompleteRows(table.take(lacking), terms, tables, n_jobs, complete)


class _RowsOfBlock:
    """The distinct rows of one block, in parts that threads process."""

    def __init__(self, table: Table, terms: Terms, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._size = terms.values.size
        rows = distinct_rows(table, np.unique(terms.variables))
        self._y, self._weights = rows.y, rows.weights
        self._shared = share_tables(terms, rows)
        # The parts depend on the data alone, and so does every sum. Each has its own gradient, so parts are large
        # compared with the tables.
        n_rows, n_classes = len(rows.places), terms.n_classes
        n_parts = min(_MAX_PARTS, n_rows * n_classes // max(2 * self._shared.size * n_classes, _BLOCK_CELLS))
        self._parts = list(pairwise(np.linspace(0, n_rows, max(1, n_parts) + 1).astype(int).tolist()))
        self._block = max(1, _BLOCK_CELLS // terms.n_classes)
        self._merged = np.empty((self._shared.size, terms.n_classes))
        self._gradients = [np.empty_like(self._merged) for _ in self._parts]
        # A block of log joints and one of derivatives for each part.
        self._blocks = [np.empty((2, min(self._block, last - first), terms.n_classes)) for first, last in self._parts]

    def __len__(self) -> int:
        return len(self._y)

    def compact(self) -> CompactRows | None:
        """Return the rows for compiled code, if they form a single part and block."""
        if len(self._parts) > 1 or len(self) > self._block:
            return None
        shared = self._shared
        rows = shared.members, shared.bounds, shared.index, self._y, self._weights
        return CompactRows(*rows, self._merged, self._gradients[0], *self._blocks[0])

    def sum(
        self, values: FloatArray, loss: Loss, params: FloatArray, own_values: FloatArray | None = None
    ) -> tuple[Any, ...]:
        """Return the sum of `loss` over the block's rows, its derivative and, if `own_values` is given, that by it."""
        shared, gradients, own_merged = self._shared, [self._gradients], None
        merge(values, shared.members, shared.bounds, self._merged)
        if own_values is not None:
            own_merged = np.empty_like(self._merged)
            merge(own_values, shared.members, shared.bounds, own_merged)
            gradients.append([np.zeros_like(own_merged) for _ in self._parts])
        run_part = partial(self._run_part, loss, params, own_merged)
        sums = run_in_threads(run_part, self._parts, self._blocks, *gradients, n_jobs=self.n_jobs)
        return float(sum(sums)), *map(self._summed, gradients)

    def _summed(self, gradients: list[FloatArray]) -> FloatArray:
        """Add up the parts' gradients by the shared tables, in place, and return the gradient by the values."""
        total = gradients[0]
        for more in gradients[1:]:
            total += more
        gradient = np.zeros(self._size)
        unmerge(total, self._shared.members, self._shared.bounds, gradient)
        return gradient

    def _run_part(
        self,
        loss: Loss,
        params: FloatArray,
        own_values: FloatArray | None,
        bounds: tuple[int, int],
        scratch: FloatArray,
        gradient: FloatArray,
        of_own: FloatArray | None = None,
    ) -> float:
        """Add up one part of the rows, block by block; its derivatives go to `gradient` and `of_own`."""
        (first, last), (joint, derivative) = bounds, scratch
        gradient[:] = 0.0
        others = np.empty(derivative.shape[1], dtype=np.int64)
        total = 0.0
        for low in range(first, last, self._block):
            high = min(low + self._block, last)
            L, dL, index = joint[: high - low], derivative[: high - low], self._shared.index[low:high]
            y = self._y[low:high]
            gather(index, self._merged, L)
            if own_values is not None:
                gather_own(index, own_values, y, L)
            total += loss(L, y, self._weights[low:high], params, dL)
            scatter(index, dL, others, gradient)
            if of_own is not None:
                scatter_own(index, dL, y, of_own)
        return total


class _IncompleteRows:
    """The rows of one block, if some lack a cell that the class's terms read; `complete` are the others.

    The derivative of a log joint by a log parameter is the probability of its cell given the class and the known cells:
    the gradient of a loss consists of expected counts, weighted by the derivatives of the loss.
    """

    def __init__(
        self, table: Table, terms: Terms, tables: LogTables, n_jobs: int | None, complete: _RowsOfBlock | None
    ) -> None:
        self.n_jobs, self._complete = n_jobs, complete
        rows = distinct_rows(table, np.arange(len(table.names)))
        # Rows with the same missing cells share messages; sorted, they do so even if the cache of messages is full.
        order = np.lexsort(table.codes[:, rows.places] == table.missing)
        self._codes = np.ascontiguousarray(table.codes[:, rows.places[order]])
        self._y, self._weights = rows.y[order], rows.weights[order]
        target = table.target
        with_parents = len(tables.parents[target]) > 0
        network = _ThroughNetwork if with_parents and is_c1(tables.parents, target) else _AsTheyAre
        self._parameters: _AsTheyAre = network(tables, target, terms)

    def __len__(self) -> int:
        return len(self._y) + (0 if self._complete is None else len(self._complete))

    def compact(self) -> None:
        """Incomplete rows have no compact form."""

    def sum(self, values: FloatArray, loss: Loss, params: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows, and its derivative."""
        sums: dict[int, float] = {}

        def weigh(joint: FloatArray, rows: slice) -> FloatArray:
            derivative = np.empty_like(joint)
            sums[rows.start] = loss(joint, self._y[rows], self._weights[rows], params, derivative)
            return derivative

        expectation, chain = self._parameters.at(values)
        counts = expectation.flat_counts(self._codes, weigh, self.n_jobs)
        # The batches do not depend on the threads, but their order of arrival does.
        value, gradient = float(sum(sums[start] for start in sorted(sums))), chain(counts)
        if self._complete is None:
            return value, gradient
        of_complete, by_complete = self._complete.sum(values, loss, params)
        return of_complete + value, by_complete + gradient


class _AsTheyAre:
    """The product of the tables as they are, whose posterior is that of the network if the class has no parents."""

    def __init__(self, tables: LogTables, target: str, terms: Terms) -> None:
        self._base = Expectation(tables, target)
        outside = tables._with_arrays({name: np.full_like(cpt.values, -1.0) for name, cpt in tables.tables.items()})
        numbers = with_values(outside, target, terms, np.arange(float(terms.values.size)))
        # The index of each cell in the terms' values, in the order of memory; -1 for cells of other nodes.
        which = in_memory(self._base.flat.layouts, [cpt.values for cpt in numbers.tables.values()]).astype(np.int64)
        self._cells, self._size = np.flatnonzero(which >= 0), terms.values.size
        self._values = which[self._cells]
        self._logs = self._base.flat.values[len(which) :].copy()

    def at(self, values: FloatArray) -> tuple[Expectation, _Chain]:
        """Return the expectation under these values, and the chain rule from expected counts to the values."""
        logs = self._logs.copy()
        logs[self._cells] = values[self._values]
        return self._base.with_logs(logs), self._chain

    def _chain(self, counts: FloatArray) -> FloatArray:
        gradient = np.empty(self._size)
        gradient[self._values] = counts[self._cells]
        return gradient


class _ThroughNetwork(_AsTheyAre):
    """The normalized network: dividing by numbers that depend on missing parents of the class changes the posterior."""

    def __init__(self, tables: LogTables, target: str, terms: Terms) -> None:
        super().__init__(tables, target, terms)
        self._tables, self._target, self._terms = tables, target, terms

    def at(self, values: FloatArray) -> tuple[Expectation, _Chain]:
        """Return the expectation under the normalized network, and the chain rule through the normalization."""
        raw = with_values(self._tables, self._target, self._terms, values)
        normalization = _Normalization(raw, self._target)
        normalized = [cpt.values for cpt in normalization.tables.tables.values()]
        logs = in_memory(self._base.flat.layouts, normalized)
        return self._base.with_logs(logs), partial(self._through, normalization)

    def _through(self, normalization: _Normalization, counts: FloatArray) -> FloatArray:
        tables = self._tables
        by_network = dict(zip(tables.names, in_shape(tables, self._base.flat, counts), strict=True))
        # These are not logarithms, but have the shapes of the tables.
        return terms(tables._with_arrays(normalization.chain(by_network)), self._target).values
