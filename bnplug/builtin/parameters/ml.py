"""Smoothed maximum-likelihood parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnplug.contracts import ParameterLearner
from bnplug.counts.counting import count
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables, estimate

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


class MaximumLikelihood(ParameterLearner):
    """Relative frequencies with ``alpha`` virtual rows, spread evenly over each table (Peharz et al. 2013, eq. 4).

    Parameters
    ----------
    alpha : float
        The virtual sample size; 0 for plain maximum likelihood.
    floor : float
        Probabilities below it are lifted to it, and the column renormalised.
    """

    def __init__(self, alpha: float = 1.0, floor: float = 0.0) -> None:
        self.alpha = alpha
        self.floor = floor

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates; each table counts the rows in which its variables are known."""
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        tables = {
            table.names[v]: (
                [table.names[p] for p in parents],
                estimate(count(table, v, parents), self.alpha, self.floor),
            )
            for v, parents in enumerate(table.parents(dag))
        }
        return LogTables(table.names, table.states, tables, table.target)
