"""Estimates that back off to fewer parents if there are few rows.

Each table is a chain of levels: no parent, then one more parent at each level. A level mixes its frequencies with the
level below; the weight of the level below is chosen by leave-one-out likelihood, in one pass over the counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnplug.counts.information import by_falling, conditional_information
from bnplug.hooks.components import check_numbers
from bnplug.inference.em import CountsLearner, added_counts, expectation_maximization, row_counts
from bnplug.model.log_tables import LogTables
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import FloatArray

#: Candidate concentrations; for tables of more rows, larger powers of 2 up to the number of rows are candidates too.
CONCENTRATIONS = (0.1, 0.3, 0.6, *(2.0**exponent for exponent in range(9)))

# Up to this many cells, all concentrations are tried at once.
_FEW_CELLS = 1 << 12

# Scaling causes rounding errors. Weights within the first relative difference of the number of rows are set to it;
# likelihoods of weighted rows within the second are tied.
_ROUNDED, _TIE = 1e-12, 1e-9

#: Counts, for each node and each of its levels.
_Levels = list[list[FloatArray]]


@dataclass(frozen=True)
class BackoffLevel:
    """The estimates of a node given its first parents, in the order in which they were added.

    ``concentration`` is the weight of the level below, in rows. ``log_p`` has the logarithms of the estimates, with
    axes (node, \\*parents), and ``log_loo`` those without one of a cell's rows; for an empty cell, the estimate.
    """

    parents: tuple[str, ...]
    concentration: float
    log_p: FloatArray
    log_loo: FloatArray


class BackOff(CountsLearner):
    """Estimates that back off to fewer parents if there are few rows.

    The parents of a feature are the class, and then the others by decreasing I(X; parent | C). With n rows of a value
    among the N rows of a configuration, p_0(x) = (n + c_0 / r) / (N + c_0) without parents, and with each further
    parent p_l = (n + c_l p_{l-1}) / (N + c_l). The concentration c_l of each node and level, one of
    :data:`CONCENTRATIONS` or a larger power of 2 up to the number of rows, maximizes the leave-one-out likelihood. A
    parent that says nothing about a feature then hardly changes its estimates. A configuration that never occurs has
    the estimate of its longest prefix that does. The class without parents is (n + 1/k) / (N + 1), for k classes.

    Rows are counted at the levels whose variables are known. Counts add up, so rows may come in batches: the first
    determines the order of the parents. If ``table.missing_policy`` is "em" and cells are missing, the counts are
    expected counts, with the virtual rows that the level below gives to the last level.

    Only the ratios of weights matter: for each configuration of the parents, the weights of its rows are divided by
    their mean, so n and N above are in units of rows. Class weights therefore change the class prior, but do not make
    the estimates of a class look more certain than its rows allow. Leaving out a row removes its whole weight, which is
    taken as the mean weight of the rows in its cell. A row of weight 2 is therefore not equivalent to two rows of
    weight 1, of which only one is left out at a time.

    Parameters
    ----------
    concentration : "loo" or float
        The weight of a level at the next one, in rows; by default chosen for each node and level.

    Attributes
    ----------
    levels_ : dict of str to tuple of BackoffLevel
        For each node the levels, from no condition to all parents.
    counts_ : list of float64 arrays
        The (expected) weight of the rows in every cell, for each variable with axes (variable, \\*parents).
    n_iter_ : int
        The number of EM steps; 1 without EM.
    log_likelihood_path_ : list of float
        After EM: the log-likelihood plus the log prior of the virtual rows, at the start and after each step. It never
        decreases.
    loo_tables_ : LogTables
        The leave-one-out log parameters of the rows in each cell, for discriminative learners. They are not a network.

    References
    ----------
    Petitjean, Buntine, Webb, Zaidi: Accurate parameter estimation for Bayesian network classifiers using hierarchical
    Dirichlet processes (2018). The levels are theirs; the concentrations are chosen more simply.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": [*"nnyy"]}), "c")
    >>> tables = BackOff(concentration=2.0).fit(table, Structure(table.names, [[1], []]))
    >>> np.exp(tables["x"].values)  # (2 + 2 * 1/2) / (2 + 2) and so on
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    discretizer = "log2-quantile"
    relative_weights = True
    generative = True

    def __init__(self, concentration: Any = "loo") -> None:
        self.concentration = concentration

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the estimates of every node."""
        if self.concentration != "loo":
            check_numbers(self, "concentration", positive=True)
        self.__dict__.pop("log_likelihood_path_", None)
        orders = _orders(table, structure)
        (self._counts, self._rows), self.n_iter_ = _counts(table, orders), 1
        tables = self._estimates(table, structure, orders)
        if not table.learned_by_em:
            return tables
        learner, relative = _WithVirtualRows(self._virtual_rows(table, structure)), table.with_relative_weights()
        maximum = expectation_maximization(learner, relative, structure, tables, engine=self.engine_)
        self.log_likelihood_path_, self.n_iter_ = maximum.path, len(maximum.path) - 1
        mean = table.mean_weight
        return self.from_counts(table, structure, [mean * counts for counts in maximum.counts], maximum.rows)

    def from_counts(
        self, table: Table, structure: Structure, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        """Return the estimates from the counts of families, which add up to the counts of lower levels."""
        orders = _orders(table, structure)
        axes = [[1 + parents.index(p) for p in order] for parents, order in zip(structure.parents, orders, strict=True)]
        self._counts = [_margins(*family) for family in zip(counts, axes, strict=True)]
        self._rows = [_margins(*family) for family in zip(rows, axes, strict=True)]
        return self._estimates(table, structure, orders)

    def _fit_more(self, table: Table, structure: Structure) -> LogTables:
        orders = [[table.index(p) for p in self.levels_[name][-1].parents] for name in table.names]
        self._counts, self._rows = (
            [added_counts(*levels) for levels in zip(earlier, more, strict=True)]
            for earlier, more in zip((self._counts, self._rows), _counts(table, orders), strict=True)
        )
        return self._estimates(table, structure, orders)

    def _estimates(self, table: Table, structure: Structure, orders: list[list[int]]) -> LogTables:
        """Return the parameters, and set the levels of every node."""
        self.levels_ = {table.names[v]: tuple(self._levels(table, v, order)) for v, order in enumerate(orders)}
        tables, loo_tables, self.counts_ = {}, {}, []
        for name, family, counts in zip(table.names, structure.parents, self._counts, strict=True):
            parents = [table.names[p] for p in family]
            last = self.levels_[name][-1]
            axes = (0, *(1 + last.parents.index(parent) for parent in parents))
            self.counts_.append(counts[-1].transpose(axes))
            tables[name] = (parents, last.log_p.transpose(axes))
            loo_tables[name] = (parents, last.log_loo.transpose(axes))
        self._loo = table.names, table.states, loo_tables, table.target
        return LogTables(table.names, table.states, tables, table.target)

    @property
    def loo_tables_(self) -> LogTables:
        """The leave-one-out log parameters."""
        return LogTables(*self._loo)

    def _virtual_rows(self, table: Table, structure: Structure) -> list[FloatArray]:
        """Return the virtual rows that the level below gives to each cell, with axes (variable, *parents)."""
        virtual = []
        for name, parents in zip(table.names, structure.parents, strict=True):
            *below, last = self.levels_[name]
            shape = last.log_p.shape
            p = np.exp(below[-1].log_p)[..., None] if below else np.full(shape, 1.0 / shape[0])
            axes = (0, *(1 + last.parents.index(table.names[parent]) for parent in parents))
            virtual.append((last.concentration * np.broadcast_to(p, shape)).transpose(axes))
        return virtual

    def _levels(self, table: Table, v: int, order: list[int]) -> Iterator[BackoffLevel]:
        """Yield the levels of a node, from no condition to all of its parents."""
        states = int(table.cards[v])
        below = below_loo = np.full((states, 1), 1.0 / states)
        for length, (counts, rows) in enumerate(zip(self._counts[v], self._rows[v], strict=True)):
            scaled = rows if counts is rows else _scaled(counts, rows)
            cells = _Cells(scaled.reshape(states, -1), rows.reshape(states, -1), below, below_loo)
            is_prior = v == table.target_index and not length
            chosen = cells.best((1.0,) if is_prior else self._candidates(float(rows.sum())))
            below, below_loo = cells.estimates(chosen), cells.left_out(chosen)
            names = tuple(table.names[u] for u in order[:length])
            log_p, log_loo = np.log(below), np.log(below_loo)
            yield BackoffLevel(names, chosen, log_p.reshape(counts.shape), log_loo.reshape(counts.shape))

    def _candidates(self, n_rows: float) -> tuple[float, ...]:
        if self.concentration != "loo":
            return (float(self.concentration),)
        # Sums of expected counts have rounding errors.
        largest = int(np.log2(max(n_rows, 1.0) * (1 + _TIE)))
        return *CONCENTRATIONS, *(2.0**exponent for exponent in range(9, largest + 1))


class _WithVirtualRows(CountsLearner):
    """Frequencies with constant virtual rows in the cells of each family, for all steps of EM."""

    def __init__(self, virtual: Sequence[FloatArray]) -> None:
        self.virtual = virtual

    def from_counts(
        self, table: Table, structure: Structure, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        tables = {}
        for name, parents, n, virtual in zip(table.names, structure.parents, counts, self.virtual, strict=True):
            cells = n + virtual
            tables[name] = ([table.names[p] for p in parents], np.log(cells / cells.sum(axis=0)))
        return LogTables(table.names, table.states, tables, table.target)

    def log_prior(self, table: Table, tables: LogTables) -> float:
        pairs = zip(self.virtual, tables.tables.values(), strict=True)
        return float(sum((virtual * node.values).sum() for virtual, node in pairs))


def _orders(table: Table, structure: Structure) -> list[list[int]]:
    return [_parents_in_turn(table, v, parents) for v, parents in enumerate(structure.parents)]


def _parents_in_turn(table: Table, v: int, parents: Sequence[int]) -> list[int]:
    """Return the parents in the order of the levels: the class, then the others by decreasing information."""
    given = [table.target_index] if table.target_index in parents else []
    others = [p for p in parents if p not in given]
    if len(others) < 2:
        return given + others
    information = np.zeros(len(table.names))
    for p in others:
        information[p] = conditional_information(table, v, p, given)
    return given + by_falling(information, others)


def _counts(table: Table, orders: list[list[int]]) -> tuple[_Levels, _Levels]:
    """Return the total weight and the number of rows of every cell, for the levels of every node."""
    families = [(v, *order[:length]) for v, order in enumerate(orders) for length in range(len(order) + 1)]

    def by_node(counts: Sequence[FloatArray]) -> _Levels:
        following = iter(counts)
        return [[next(following) for _ in range(len(order) + 1)] for order in orders]

    counts = table.counts(families)
    return by_node(counts), by_node(row_counts(table, families, counts))


def _margins(counts: FloatArray, axes: list[int]) -> list[FloatArray]:
    """Return the counts of every level from the counts of all parents, whose axes come in this order."""
    ordered = counts.transpose([0, *axes])
    return [np.ascontiguousarray(ordered.sum(axis=tuple(range(k, ordered.ndim)))) for k in range(1, ordered.ndim + 1)]


def _scaled(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """Scale the weights of cells to sum to the number of rows of each configuration of the parents.

    If all rows of a configuration have the same weight, the result is exactly the number of rows in each cell.
    """
    weight = counts.sum(axis=0)
    scaled = counts * np.divide(rows.sum(axis=0), weight, out=np.ones_like(weight), where=weight > 0)
    return np.where(np.abs(scaled - rows) <= _ROUNDED * rows, rows, scaled)


class _Cells:
    """The cells of a level, as arrays of shape (states, configurations).

    `counts` and `rows` are the scaled total weight and the number of rows in each cell. `below` and `below_loo` are the
    estimates of the level below, with all rows and with one left out; the last parent varies fastest in `counts`.
    """

    def __init__(self, counts: FloatArray, rows: FloatArray, below: FloatArray, below_loo: FloatArray) -> None:
        width = counts.shape[1] // below.shape[1]
        self.counts, self.totals = counts, counts.sum(axis=0)
        self.below = np.repeat(below, width, axis=1)
        # The following arrays have an entry for each cell with rows.
        self.seen = np.nonzero(counts)
        n = counts[self.seen]
        # If less than one row is expected in a cell, all of its weight is left out.
        one = n / np.maximum(rows[self.seen], 1.0)
        self.weighted = not np.array_equal(n, rows[self.seen])
        self.others, self.all_others = np.maximum(n - one, 0.0), self.totals[self.seen[1]] - one
        self.below_loo = below_loo[self.seen[0], self.seen[1] // width]

    def best(self, candidates: tuple[float, ...]) -> float:
        """Return the concentration, the first of tied ones, with the largest leave-one-out likelihood."""
        if len(candidates) == 1:
            return candidates[0]
        n, c = self.counts[self.seen], np.array(candidates)[:, None]
        parts = [c] if n.size <= _FEW_CELLS else c[:, None]
        likelihoods = np.array([n @ logs for part in parts for logs in np.log(self._left_out(part))])
        largest = likelihoods.max()
        slack = _TIE * abs(largest) if self.weighted else 0.0
        return candidates[int(np.argmax(likelihoods >= largest - slack))]

    def estimates(self, c: float) -> FloatArray:
        """Return the probability of every cell."""
        estimates: FloatArray = (self.counts + c * self.below) / (self.totals + c)
        return estimates

    def left_out(self, c: float) -> FloatArray:
        """Return the leave-one-out probability of every cell; the estimate for cells without rows."""
        estimates = self.estimates(c)
        estimates[self.seen] = self._left_out(c)
        return estimates

    def _left_out(self, c: float | FloatArray) -> FloatArray:
        estimates: FloatArray = (self.others + c * self.below_loo) / (self.all_others + c)
        return estimates
