"""Estimates that back off: a parent's say in a probability is as large as the rows that it leaves behind.

Each table is a chain of levels: no condition, then one parent more at each. A level mixes its own frequencies with
the level below, the more so the fewer rows it has, and how much so is chosen by what it says of rows that it has not
seen, each left out in turn: of counts that costs one pass over the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.compiling import kernel
from bnplug.contracts import ParameterLearner
from bnplug.counts.counting import count
from bnplug.counts.information import by_falling, conditional_information
from bnplug.data.table import Table
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.typing import DAG

#: What a concentration is chosen from.
CONCENTRATIONS = (0.1, 0.3, 0.6, *(2.0**exponent for exponent in range(9)))


@dataclass(frozen=True)
class BackoffLevel:
    """What a node's table is by its first parents.

    Attributes
    ----------
    parents : tuple of str
        In the order in which they were added.
    concentration : float
        How many rows the level below counts for.
    log_p : float64 array
        The logarithms of the estimates, with axes (node, \\*parents).
    log_loo : float64 array
        What the estimate of a cell would be without one of its rows; where no row is, the estimate.
    """

    parents: tuple[str, ...]
    concentration: float
    log_p: FloatArray
    log_loo: FloatArray


class BackOff(ParameterLearner):
    """Estimates that lean on fewer parents where rows are few.

    A feature's parents are the class, and then the others by falling I(X; parent | C). With n rows of a value among the
    N of a configuration, p_0(x) = (n + c_0 / r) / (N + c_0) without any condition, and with each parent more
    p_l = (n + c_l p_{l-1}) / (N + c_l). The concentration c_l of each node and level is the one of
    :data:`CONCENTRATIONS` under which rows that are left out in turn are most likely. A configuration that never occurs
    answers by its longest prefix that does. The class without parents is (n + 1/|C|) / (N + 1).

    Rows count at the levels whose variables they know. Of rows with weights, what is left out is one row, or the mean
    weight of the cell's rows where that is less.

    Parameters
    ----------
    concentration : "loo" or float
        How many rows a level counts for at the next; by default chosen for each node and level.

    Attributes
    ----------
    levels_ : dict of str to tuple of BackoffLevel
        For each node the levels, from no condition to all parents.
    loo_tables_ : LogTables
        The log parameters as a row of the cell finds them when it is left out: what a discriminative learner may take
        in training for the class that a row has. No network.

    References
    ----------
    Petitjean, Buntine, Webb, Zaidi: Accurate parameter estimation for Bayesian network classifiers using hierarchical
    Dirichlet processes (2018). The levels are theirs; the concentrations are chosen more simply.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": [*"nnyy"]}), "c")
    >>> tables = BackOff(concentration=2.0).fit(table, table.dag([[1], []]))
    >>> np.exp(tables["x"].values)  # (2 + 2 * 1/2) / (2 + 2) and so on
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    def __init__(self, concentration: Any = "loo") -> None:
        self.concentration = concentration

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates of every node."""
        if self.concentration != "loo":
            check_numbers(self, "concentration", positive=True)
        families = table.parents(dag)
        self.levels_ = {table.names[v]: self._levels(table, v, own) for v, own in enumerate(families)}
        tables, loo_tables = {}, {}
        for name, own in zip(table.names, families, strict=True):
            parents = [table.names[p] for p in own]
            last = self.levels_[name][-1]
            axes = (0, *(1 + last.parents.index(parent) for parent in parents))
            tables[name] = (parents, last.log_p.transpose(axes))
            loo_tables[name] = (parents, last.log_loo.transpose(axes))
        self.loo_tables_ = LogTables(table.names, table.states, loo_tables, table.target)
        return LogTables(table.names, table.states, tables, table.target)

    def _levels(self, table: Table, v: int, parents: list[int]) -> tuple[BackoffLevel, ...]:
        """Return the levels of a node, from no condition to all of its parents."""
        order = _parents_in_turn(table, v, parents)
        states = int(table.cards[v])
        below = below_loo = np.full((states, 1), 1.0 / states)
        levels = []
        for length in range(len(order) + 1):
            prefix = order[:length]
            counts, rows = _counts(table, v, prefix)
            shape = counts.shape
            counts, rows = counts.reshape(states, -1), rows.reshape(states, -1)
            p, loo = np.empty_like(counts), np.empty_like(counts)
            candidates = self._candidates(is_prior=v == table.target_index and not prefix)
            chosen = _fill_level(counts, rows, below, below_loo, candidates, p, loo)
            names = tuple(table.names[u] for u in prefix)
            levels.append(BackoffLevel(names, chosen, np.log(p).reshape(shape), np.log(loo).reshape(shape)))
            below, below_loo = p, loo
        return tuple(levels)

    def _candidates(self, is_prior: bool) -> FloatArray:
        if is_prior:
            return np.ones(1)
        return np.array(CONCENTRATIONS if self.concentration == "loo" else [float(self.concentration)])


def _parents_in_turn(table: Table, v: int, parents: list[int]) -> list[int]:
    """Return the parents in the order of the levels: the class, then those that tell most."""
    given = [table.target_index] if table.target_index in parents else []
    others = [p for p in parents if p not in given]
    if len(others) < 2:
        return given + others
    information = np.zeros(len(table.names))
    for p in others:
        information[p] = conditional_information(table, v, p, given)
    return given + by_falling(information, others)


def _counts(table: Table, v: int, parents: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return how much the rows of every cell weigh, and how many they are."""
    weighed = count(table, v, parents)
    if not table.weighted:
        return weighed, weighed
    return weighed, table.sum(_numbers_of_rows, (v, *parents))[0]


def _numbers_of_rows(block: Table, family: tuple[int, ...]) -> list[FloatArray]:
    return Table(block.codes, block.names, block.states, block.target).counts([family])


@kernel
def _fill_level(counts, rows, below, below_loo, candidates, p, loo):  # type: ignore[no-untyped-def]
    """Fill the estimates of a level and those of rows left out; return the concentration, of which the best is taken.

    counts, rows : float64 (states, configurations), what the rows of a cell weigh and how many they are.
    below, below_loo : float64 (states, configurations of one parent less), that parent's states being neighbours here.
    candidates : float64. p, loo : float64 (states, configurations), filled.
    """
    n_states, n_configurations = counts.shape
    width = n_configurations // below.shape[1]
    totals = np.zeros(n_configurations)
    for x in range(n_states):
        for h in range(n_configurations):
            totals[h] += counts[x, h]
    best, chosen = -np.inf, candidates[0]
    for c in candidates:
        if candidates.shape[0] == 1:
            break
        fit = 0.0
        for x in range(n_states):
            for h in range(n_configurations):
                n = counts[x, h]
                if n > 0.0:
                    one = min(1.0, n / rows[x, h])
                    fit += n * np.log((max(n - one, 0.0) + c * below_loo[x, h // width]) / (totals[h] - one + c))
        if fit > best:
            best, chosen = fit, c
    for x in range(n_states):
        for h in range(n_configurations):
            n = counts[x, h]
            p[x, h] = (n + chosen * below[x, h // width]) / (totals[h] + chosen)
            loo[x, h] = p[x, h]
            if n > 0.0:
                one = min(1.0, n / rows[x, h])
                loo[x, h] = (max(n - one, 0.0) + chosen * below_loo[x, h // width]) / (totals[h] - one + chosen)
    return chosen
