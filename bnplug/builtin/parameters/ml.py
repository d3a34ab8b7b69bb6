"""Smoothed maximum-likelihood parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bnplug.hooks.components import check_numbers
from bnplug.inference.em import CountsLearner
from bnplug.model.log_tables import LogTables, estimate
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import FloatArray

# Fixed tables by node, and the virtual rows of every cell; None if they are uniform.
_Expert = tuple[dict[int, FloatArray], list[FloatArray] | None]


@dataclass(eq=False, repr=False)
class MaximumLikelihood(CountsLearner):
    """Relative frequencies with ``alpha`` virtual rows, spread evenly over each table (Peharz et al. 2013, eq. 4).

    If ``table.missing_policy`` is "em" and cells are missing, EM finds the most probable parameters given all known
    cells; estimates from complete rows are identical.

    With a `prior`, a cell of a family gets ``alpha P(node, parents)`` virtual rows, whatever the parents in the prior
    are (Heckerman, Geiger and Chickering 1995). With ``prior="marginal"``, each configuration of the parents gets
    `alpha` virtual rows, distributed as the variable in all rows (Friedman, Geiger and Goldszmidt 1997, section 4.2,
    with alpha=5); this smooths tables of many configurations much more.

    Parameters
    ----------
    alpha : float
        The virtual, or equivalent, sample size; 0 for plain maximum likelihood.
    floor : float
        Smaller probabilities are raised to it, and the column is normalized.
    prior : LogTables, pgmpy network or dict of tables by node, or "marginal", optional
        The distribution of the virtual rows. Variables that it does not have are uniform and independent; variables
        that the data do not have are summed out.
    fixed : LogTables, pgmpy network or dict of tables by node, optional
        Tables of some or all nodes that are not estimated. Their parents must be those of the structure. In a dict, a
        table is ``{state: probability}``, or ``(parents, {their states: {state: probability}})``, or a network that has
        the node.
    restarts : int
        The number of additional EM runs from random starts; the best result is taken.
    tol : float
        EM stops if a step increases the log-likelihood by no more than this relative amount; with 0, if no probability
        changes.
    max_iter : int
        The maximum number of EM steps from each start.
    random_state : int or RandomState, optional
        The seed of random starts.
    n_jobs : int, optional
        The number of threads, which does not affect the result.
    verbose : int, optional
        1 reports the progress of EM once a second and at the end, 2 every step.

    Attributes
    ----------
    counts_ : list of float64 arrays
        The (expected) counts of each variable and its parents.
    n_iter_ : int
        The number of EM steps; 1 without EM.
    log_likelihood_path_ : list of float
        After EM: the log-likelihood plus the log prior, alpha / (r q) log theta for each cell, at the start and after
        each step. It never decreases.
    """

    reads_rows = False
    # The table, the structure and the expert knowledge of the last call.
    _known = cast("tuple[Table, Sequence[Sequence[int]], _Expert] | None", None)

    alpha: float = 1.0
    floor: float = 0.0
    prior: Any = None
    fixed: Any = None
    restarts: int = 0
    tol: float = 1e-6
    max_iter: int = 500
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int | None = None

    def from_counts(
        self, table: Table, structure: Structure, counts: Sequence[FloatArray], rows: Sequence[FloatArray] | None = None
    ) -> LogTables:
        """Return smoothed relative frequencies; the numbers of rows are not used."""
        self._check()
        families = structure.parents
        fixed, virtual = self._expert(table, families)
        tables = {}
        for v, parents in enumerate(families):
            if v in fixed:
                values = fixed[v]
            elif self.prior == "marginal":
                values = estimate(counts[v] + self.alpha * _marginal(counts[v]), 0.0, self.floor)
            elif virtual is None:
                values = estimate(counts[v], self.alpha, self.floor)
            else:
                values = estimate(counts[v] + virtual[v], 0.0, self.floor)
            tables[table.names[v]] = [table.names[p] for p in parents], values
        return LogTables(table.names, table.states, tables, table.target)

    def log_prior(self, table: Table, tables: LogTables) -> float:
        """Return the sum over cells of their virtual rows times log theta."""
        if self.prior == "marginal":
            raise ValueError(
                "prior='marginal' is estimated from the rows themselves, so EM, which needs a prior that stays, does "
                "not take it; give another prior, or missing='ignore'"
            )
        if self.alpha == 0:
            return 0.0
        fixed, virtual = self._expert(table, tables.structure.parents)
        total = 0.0
        for v, (_, values) in enumerate(tables.tables.values()):
            if v in fixed:
                continue
            if virtual is None:
                total += self.alpha / values.size * float(values.sum())
            else:
                seen = virtual[v] > 0
                total += float((virtual[v][seen] * values[seen]).sum())
        return total

    def _check(self) -> None:
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        if isinstance(self.prior, str) and self.prior != "marginal":
            raise ValueError(f"prior={self.prior!r} is not a network, and the only prior with a name is 'marginal'")

    def _expert(self, table: Table, families: Sequence[Sequence[int]]) -> _Expert:
        """Return the expert knowledge, which is cached for one table and structure."""
        if self.fixed is None and self.prior is None:
            return {}, None
        if self._known is None or self._known[0] is not table or self._known[1] != families:
            self._known = table, families, self._look_up(table, families)
        return self._known[2]

    def _look_up(self, table: Table, families: Sequence[Sequence[int]]) -> _Expert:
        from bnplug.builtin.parameters._expert import Prior, fixed_tables

        fixed = {} if self.fixed is None else fixed_tables(self.fixed, table, families)
        if self.prior is None or self.prior == "marginal":
            return fixed, None
        prior = Prior(self.prior, table)
        joint = [np.zeros(0) if v in fixed else prior.joint(v, parents) for v, parents in enumerate(families)]
        return fixed, [self.alpha * cells for cells in joint]


def _marginal(counts: FloatArray) -> FloatArray:
    """Return the relative frequencies of a variable in all rows, in the shape of a table with its parents."""
    marginal = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    total = float(marginal.sum())
    shares = marginal / total if total > 0 else np.full_like(marginal, 1.0 / counts.shape[0])
    return np.asarray(np.broadcast_to(shares, counts.shape))
