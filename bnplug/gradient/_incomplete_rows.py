"""Rows with missing cells, each with its exact marginal log joint, and the gradient of a loss of that.

L[m, c] = log P(c, what row m knows) is the log of a sum over all completions, of the product of all tables: those of
nodes that are no class child too, which stay as they are. Its derivative by a log parameter is the probability of that
cell given c and what the row knows, so that a loss has the expected counts, weighted by its derivatives, as gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data.table import Table
from bnplug.gradient._shared_tables import class_codes, distinct_rows
from bnplug.gradient.losses import Loss
from bnplug.inference._flat_tables import in_memory, in_shape
from bnplug.inference.complete import Terms, terms, with_values
from bnplug.inference.expectation import Expectation
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import _Normalization, is_c1

#: From the expected counts of all cells, flat, to the derivative by the terms' values.
Chain = Callable[[FloatArray], FloatArray]


class IncompleteRows:
    """The rows of one block that lack something that the class's terms read.

    Parameters
    ----------
    table : Table
        These rows.
    terms : Terms
        Of the class and its children, which the values are of.
    tables : LogTables
        The network that the terms come from: its structure, and the parameters of all other nodes.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    unlabeled : bool
        Whether rows may have no class.
    """

    def __init__(
        self, table: Table, terms: Terms, tables: LogTables, n_jobs: int | None = None, unlabeled: bool = False
    ) -> None:
        self.n_jobs = n_jobs
        rows = distinct_rows(table, np.arange(len(table.names)), unlabeled)
        # Rows of one pattern share messages; side by side they do so even where not all messages can be kept.
        order = np.lexsort(table.codes[:, rows.places] == table.missing)
        self._codes = np.ascontiguousarray(table.codes[:, rows.places[order]])
        self._y, self._weights = class_codes(table)[rows.places[order]], rows.weights[order]
        target = table.target
        with_parents = len(tables.parents[target]) > 0
        network = _ThroughNetwork if with_parents and is_c1(tables.parents, target) else _AsTheyAre
        self._parameters: _AsTheyAre = network(tables, target, terms)

    def __len__(self) -> int:
        return len(self._y)

    def few(self) -> None:
        """No other compiled code passes over incomplete rows."""

    def sum(self, values: FloatArray, loss: Loss, params: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of `loss` over the rows, and its derivative."""
        sums: dict[int, float] = {}

        def weigh(joint: FloatArray, rows: slice) -> FloatArray:
            derivative = np.empty_like(joint)
            sums[rows.start] = loss(joint, self._y[rows], self._weights[rows], params, derivative)
            return derivative

        expectation, chain = self._parameters.at(values)
        counts = expectation.flat_counts(self._codes, weigh, self.n_jobs)
        # Which rows come together does not depend on threads, but when they come does.
        return float(sum(sums[start] for start in sorted(sums))), chain(counts)


class _AsTheyAre:
    """The product of the tables as they are: that of a network, or one with the same posterior of the class.

    Normalising such tables on a C1 structure moves factors from one to another, and divides by a number that is the
    same for all rows, where the class has no parents.
    """

    def __init__(self, tables: LogTables, target: str, terms: Terms) -> None:
        self._base = Expectation(tables, target)
        numbered = {name: (own.parents, np.full(own.values.shape, -1.0)) for name, own in tables.tables.items()}
        numbers = with_values(
            LogTables(tables.names, tables.states, numbered, target), target, terms, np.arange(float(terms.values.size))
        )
        # Which of the terms' values each cell is, in the order of memory; -1 for those of other nodes.
        which = in_memory(self._base.flat, [own.values for own in numbers.tables.values()]).astype(np.int64)
        self._cells, self._size = np.flatnonzero(which >= 0), terms.values.size
        self._values = which[self._cells]
        self._logs = self._base.flat.values[len(which) :].copy()

    def at(self, values: FloatArray) -> tuple[Expectation, Chain]:
        """Return what counts by these values, and what makes derivatives by the values from counts of all cells."""
        logs = self._logs.copy()
        logs[self._cells] = values[self._values]
        return self._base.with_logs(logs), self._chain

    def _chain(self, counts: FloatArray) -> FloatArray:
        gradient = np.empty(self._size)
        gradient[self._values] = counts[self._cells]
        return gradient


class _ThroughNetwork(_AsTheyAre):
    """The network that the tables are normalised to, where the class has parents.

    Normalising them divides by numbers that depend on the class's parents. Where these are missing, that changes the
    posterior, and what is learned must be what the network says.
    """

    def __init__(self, tables: LogTables, target: str, terms: Terms) -> None:
        super().__init__(tables, target, terms)
        self._tables, self._target, self._terms = tables, target, terms

    def at(self, values: FloatArray) -> tuple[Expectation, Chain]:
        """Return what counts by the network of these values, and what makes derivatives by the values from that."""
        raw = with_values(self._tables, self._target, self._terms, values)
        normalization = _Normalization(raw, self._target)
        normalized = [own.values for own in normalization.tables.tables.values()]
        return self._base.with_logs(in_memory(self._base.flat, normalized)), partial(self._through, normalization)

    def _through(self, normalization: _Normalization, counts: FloatArray) -> FloatArray:
        tables = self._tables
        by_network = dict(zip(tables.names, in_shape(tables, self._base.flat, counts), strict=True))
        by_raw = {name: (tables.parents[name], own) for name, own in normalization.chain(by_network).items()}
        # These are no logarithms, but have the shapes of the tables.
        return terms(LogTables(tables.names, tables.states, by_raw, self._target), self._target).values
