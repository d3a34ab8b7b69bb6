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


#: Returns the log probabilities of a variable given its parents, from its counts.
_Learn = Callable[[int, list[int], FloatArray], FloatArray]


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
    """

    def __init__(self, alpha: float = 1.0, floor: float = 0.0, prior: Any = None, fixed: Any = None) -> None:
        self.alpha = alpha
        self.floor = floor
        self.prior = prior
        self.fixed = fixed

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates; each table counts the rows in which its variables are known."""
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        families = table.parents(dag)
        known, learn = self._known(table, families)
        learned = [v for v in range(len(families)) if v not in known]
        for v, counts in zip(learned, table.counts([(v, *families[v]) for v in learned]), strict=True):
            known[v] = learn(v, families[v], counts)
        tables = {table.names[v]: ([table.names[p] for p in parents], known[v]) for v, parents in enumerate(families)}
        return LogTables(table.names, table.states, tables, table.target)

    def _known(self, table: Table, families: list[list[int]]) -> tuple[dict[int, FloatArray], _Learn]:
        """Return the tables that are given, and what estimates the others."""
        known: dict[int, FloatArray] = {}
        if self.fixed is not None:
            from bnplug.builtin.parameters._expert import fixed_tables

            known = fixed_tables(self.fixed, table, families)
        if self.prior is None:
            return known, lambda v, parents, counts: estimate(counts, self.alpha, self.floor)
        from bnplug.builtin.parameters._expert import Prior

        prior = Prior(self.prior, table)
        return known, lambda v, parents, counts: estimate(
            counts + self.alpha * prior.joint(v, parents), 0.0, self.floor
        )
