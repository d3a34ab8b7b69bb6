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
from bnplug.typing import FloatArray, IntArray

#: Candidate concentrations; for tables of more rows, larger powers of 2 up to the number of rows are candidates too.
CONCENTRATIONS = (0.1, 0.3, 0.6, *(2.0**exponent for exponent in range(9)))

# Nodes are estimated together as long as their largest levels have at most this many cells in total.
_CELLS_AT_ONCE = 1 << 16

# Sums have rounding errors. Scaled weights within the first relative difference of the number of rows are set to it;
# likelihoods within the second are tied.
_ROUNDED, _TIE = 1e-12, 1e-9

#: Counts, for each node and each of its levels.
_Levels = list[list[FloatArray]]


@dataclass(frozen=True)
class BackoffLevel:
    """The estimates of a node given its first parents, in the order in which they were added.

    ``concentration`` is the weight of the level below, in rows. ``p`` has the estimates, with axes (node, \\*parents),
    and ``loo`` those without one of a cell's rows; for an empty cell, the estimate. ``log_p`` and ``log_loo`` are their
    logarithms.
    """

    parents: tuple[str, ...]
    concentration: float
    p: FloatArray
    loo: FloatArray

    @property
    def log_p(self) -> FloatArray:
        """The logarithms of the estimates."""
        return np.asarray(np.log(self.p))

    @property
    def log_loo(self) -> FloatArray:
        """The logarithms of the leave-one-out estimates."""
        return np.asarray(np.log(self.loo))


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
        learner, relative = _WithVirtualRows(self._virtual_rows(table)), table.with_relative_weights()
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
        levels = {v: some for nodes in self._batches() for v, some in self._levels(table, nodes, orders).items()}
        self.levels_ = {name: tuple(levels[v]) for v, name in enumerate(table.names)}
        self._parents = {
            name: tuple(table.names[p] for p in family)
            for name, family in zip(table.names, structure.parents, strict=True)
        }
        pairs = zip(self._parents, self._counts, strict=True)
        self.counts_ = [counts[-1].transpose(self._axes(name)) for name, counts in pairs]
        self._schema = table.names, table.states, table.target
        return self._tables("log_p")

    @property
    def loo_tables_(self) -> LogTables:
        """The leave-one-out log parameters."""
        return self._tables("log_loo")

    def _tables(self, which: str) -> LogTables:
        """Return the log parameters of the last levels: `which` is "log_p" or "log_loo"."""
        names, states, target = self._schema
        tables = {
            name: (parents, getattr(self.levels_[name][-1], which).transpose(self._axes(name)))
            for name, parents in self._parents.items()
        }
        return LogTables(names, states, tables, target)

    def _axes(self, name: str) -> list[int]:
        """Return the axes of the last level of a node in the order of its parents."""
        order = self.levels_[name][-1].parents
        return [0, *(1 + order.index(parent) for parent in self._parents[name])]

    def _virtual_rows(self, table: Table) -> list[FloatArray]:
        """Return the virtual rows that the level below gives to each cell, with axes (variable, *parents)."""
        virtual = []
        for name in table.names:
            *below, last = self.levels_[name]
            shape = last.p.shape
            p = below[-1].p[..., None] if below else np.full(shape, 1.0 / shape[0])
            virtual.append((last.concentration * np.broadcast_to(p, shape)).transpose(self._axes(name)))
        return virtual

    def _batches(self) -> Iterator[list[int]]:
        """Yield nodes that are estimated together: they have the same number of levels, and few cells."""
        for depth in sorted({len(levels) for levels in self._counts}):
            batch, cells = list[int](), 0
            for v, levels in enumerate(self._counts):
                if len(levels) == depth:
                    if batch and cells + levels[-1].size > _CELLS_AT_ONCE:
                        yield batch
                        batch, cells = [], 0
                    batch.append(v)
                    cells += levels[-1].size
            yield batch

    def _levels(self, table: Table, nodes: list[int], orders: list[list[int]]) -> dict[int, list[BackoffLevel]]:
        """Return the levels of nodes that have equally many, from no condition to all of their parents."""
        levels: dict[int, list[BackoffLevel]] = {v: [] for v in nodes}
        states = table.cards[nodes].astype(np.int64)
        below = below_loo = np.repeat(1.0 / states, states)
        configurations = np.ones(len(nodes), dtype=np.int64)
        for length in range(len(self._counts[nodes[0]])):
            counts = [self._counts[v][length] for v in nodes]
            rows = [self._rows[v][length] for v in nodes]
            cells = _Cells(counts, rows, configurations, below, below_loo)
            chosen = cells.best() if self.concentration == "loo" else np.full(len(nodes), float(self.concentration))
            if length == 0 and table.target_index in nodes:
                chosen[nodes.index(table.target_index)] = 1.0
            below, below_loo = cells.estimates(chosen)
            configurations = cells.configurations
            for v, n, c, start in zip(nodes, counts, chosen.tolist(), cells.starts.tolist(), strict=True):
                names = tuple(table.names[u] for u in orders[v][:length])
                p, loo = (some[start : start + n.size].reshape(n.shape) for some in (below, below_loo))
                levels[v].append(BackoffLevel(names, c, p, loo))
        return levels


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


class _Cells:
    """The cells of one level of several nodes, one node after the other, in the order of their count arrays.

    Parameters
    ----------
    counts, rows : lists of arrays with axes (node, \\*parents)
        The total weight and the number of rows in each cell. Where these are the same arrays, rows have no weights.
    configurations : array of shape (nodes,)
        The number of configurations of the parents at the level below.
    below, below_loo : arrays
        The estimates of the level below, with all rows and with one left out, one node after the other.
    """

    def __init__(
        self,
        counts: list[FloatArray],
        rows: list[FloatArray],
        configurations: IntArray,
        below: FloatArray,
        below_loo: FloatArray,
    ) -> None:
        states = np.array([array.shape[0] for array in counts])
        sizes = np.array([array.size for array in counts])
        self.configurations = sizes // states
        self.starts = _starts(sizes)
        self.node = np.repeat(np.arange(len(counts)), sizes)
        state, configuration = np.divmod(
            np.arange(sizes.sum()) - self.starts[self.node], self.configurations[self.node]
        )
        # The last parent varies fastest, and is the one that the level below does not have.
        width = self.configurations // configurations
        place = state * configurations[self.node] + configuration // width[self.node]
        place += _starts(states * configurations)[self.node]
        column = configuration + _starts(self.configurations)[self.node]
        flat_rows = np.concatenate([array.ravel() for array in rows])
        self.n_rows = np.bincount(self.node, flat_rows)
        self.counts = flat_rows
        if any(n is not m for n, m in zip(counts, rows, strict=True)):
            self.counts = _scaled(np.concatenate([array.ravel() for array in counts]), flat_rows, column)
        self.totals = np.bincount(column, self.counts)[column]
        self.below = below[place]
        # The following arrays have an entry for each cell with rows.
        self.seen = np.flatnonzero(self.counts)
        n = self.counts[self.seen]
        # If less than one row is expected in a cell, all of its weight is left out.
        one = n / np.maximum(flat_rows[self.seen], 1.0)
        self.others, self.all_others = np.maximum(n - one, 0.0), self.totals[self.seen] - one
        self.below_loo = below_loo[place[self.seen]]

    def best(self) -> FloatArray:
        """Return for each node the concentration, the first of tied ones, with the largest leave-one-out likelihood."""
        n, node = self.counts[self.seen], self.node[self.seen]
        # Sums of expected counts have rounding errors.
        most = np.maximum(self.n_rows * (1 + _TIE), CONCENTRATIONS[-1])
        larger = range(len(CONCENTRATIONS) - 3, int(np.log2(most.max())) + 1)
        candidates = np.array([*CONCENTRATIONS, *(2.0**exponent for exponent in larger)])
        likelihoods = np.array(
            [np.bincount(node, n * np.log(self._left_out(c)), minlength=len(self.starts)) for c in candidates.tolist()]
        )
        likelihoods[candidates[:, None] > most] = -np.inf
        largest = likelihoods.max(axis=0)
        best = np.argmax(likelihoods >= largest - _TIE * np.abs(largest), axis=0)
        return np.asarray(candidates[best])

    def estimates(self, concentrations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability of every cell, and that without one of its rows if it has rows."""
        c = concentrations[self.node]
        estimates = (self.counts + c * self.below) / (self.totals + c)
        left_out = estimates.copy()
        left_out[self.seen] = self._left_out(c[self.seen])
        return estimates, left_out

    def _left_out(self, c: float | FloatArray) -> FloatArray:
        estimates: FloatArray = (self.others + c * self.below_loo) / (self.all_others + c)
        return estimates


def _starts(sizes: IntArray) -> IntArray:
    """Return where each of several arrays of these sizes starts when they are concatenated."""
    return np.asarray(np.cumsum(sizes) - sizes)


def _scaled(counts: FloatArray, rows: FloatArray, column: IntArray) -> FloatArray:
    """Scale the weights of cells to sum to the number of rows of each configuration of the parents.

    `column` is the configuration of each cell. If all rows of a configuration have the same weight, the result is
    exactly the number of rows in each cell.
    """
    weight, n_rows = np.bincount(column, counts), np.bincount(column, rows)
    factor = np.divide(n_rows, weight, out=np.ones_like(weight), where=weight > 0)
    scaled = counts * factor[column]
    return np.where(np.abs(scaled - rows) <= _ROUNDED * rows, rows, scaled)
