"""Smoothed maximum-likelihood parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bnplug.arrays import FloatArray
from bnplug.contracts import ParameterLearner
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables, estimate

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


#: Returns the log probabilities of a variable given its parents.
_Learn = Callable[[int, list[int]], FloatArray]


class MaximumLikelihood(ParameterLearner):
    """Relative frequencies with ``alpha`` virtual rows, spread evenly over each table (Peharz et al. 2013, eq. 4).

    With a `prior`, the virtual rows are spread as that network says: a cell of a family gets ``alpha P(node, parents)``
    of them, whatever the parents in the prior are (Heckerman, Geiger and Chickering 1995).

    Parameters
    ----------
    alpha : float
        The virtual, or equivalent, sample size; 0 for plain maximum likelihood.
    floor : float
        Probabilities below it are lifted to it, and the column renormalised.
    prior : LogTables, pgmpy network or dict of tables by node, optional
        What the virtual rows are like. A variable that it does not have is uniform in them and depends on nothing;
        one that the data do not have is summed out.
    fixed : LogTables, pgmpy network or dict of tables by node, optional
        Tables that are taken as they are, for some nodes or all. Their parents must be those of the structure. In a
        dict, a table is ``{state: probability}``, or ``(parents, {their states: {state: probability}})``, or a network
        that has the node.

    Attributes
    ----------
    counts_ : list of float64 arrays
        How often each state of a variable occurs with each configuration of its parents, in the order of the table's
        variables.
    """

    def __init__(self, alpha: float = 1.0, floor: float = 0.0, prior: Any = None, fixed: Any = None) -> None:
        self.alpha = alpha
        self.floor = floor
        self.prior = prior
        self.fixed = fixed

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates; each table counts the rows in which its variables are known."""
        self.counts_ = self._counts(table, table.parents(dag))
        return self._estimates(table, dag)

    def partial_fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates on these rows and all before them: counts add up.

        The states of the table and the structure must be those of the rows before.
        """
        counts = self._counts(table, table.parents(dag))
        self.counts_ = [there + own for there, own in zip(self.counts_, counts, strict=True)]
        return self._estimates(table, dag)

    def _counts(self, table: Table, families: list[list[int]]) -> list[FloatArray]:
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        return table.counts([(v, *parents) for v, parents in enumerate(families)])

    def _estimates(self, table: Table, dag: DAG) -> LogTables:
        families = table.parents(dag)
        known, learn = self._known(table, families)
        tables = {
            table.names[v]: ([table.names[p] for p in parents], known[v] if v in known else learn(v, parents))
            for v, parents in enumerate(families)
        }
        return LogTables(table.names, table.states, tables, table.target)

    def _known(self, table: Table, families: list[list[int]]) -> tuple[dict[int, FloatArray], _Learn]:
        """Return the tables that are given, and what estimates the others."""
        known: dict[int, FloatArray] = {}
        if self.fixed is not None:
            from bnplug.builtin.parameters._expert import fixed_tables

            known = fixed_tables(self.fixed, table, families)
        if self.prior is None:
            return known, lambda v, _: estimate(self.counts_[v], self.alpha, self.floor)
        from bnplug.builtin.parameters._expert import Prior

        prior = Prior(self.prior, table)
        return known, lambda v, parents: estimate(
            self.counts_[v] + self.alpha * prior.joint(v, parents), 0.0, self.floor
        )
