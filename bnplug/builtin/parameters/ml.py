"""Smoothed maximum-likelihood parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.hooks.components import check_numbers
from bnplug.inference.em import CountsLearner
from bnplug.model.log_tables import LogTables, estimate

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG


class _Expert(NamedTuple):
    """What is known besides rows: tables by node, and the virtual rows of every cell where they are not even."""

    fixed: dict[int, FloatArray]
    virtual: list[FloatArray] | None


_NOTHING = _Expert({}, None)


class MaximumLikelihood(CountsLearner):
    """Relative frequencies with ``alpha`` virtual rows, spread evenly over each table (Peharz et al. 2013, eq. 4).

    Where ``table.incomplete`` is "em" and cells are missing, EM finds the most probable parameters by all that is
    known; of complete rows the estimates are the same to the last bit.

    With a `prior`, the virtual rows are spread as that network says: a cell of a family gets ``alpha P(node, parents)``
    of them, whatever the parents in the prior are (Heckerman, Geiger and Chickering 1995). With ``prior="marginal"``,
    each configuration of the parents gets `alpha` of them, distributed as the variable is in all rows (Friedman, Geiger
    and Goldszmidt 1997, section 4.2, who take 5): tables of many configurations are smoothed much more by it.

    Parameters
    ----------
    alpha : float
        The virtual, or equivalent, sample size; 0 for plain maximum likelihood.
    floor : float
        Probabilities below it are lifted to it, and the column renormalised.
    prior : LogTables, pgmpy network or dict of tables by node, or "marginal", optional
        What the virtual rows are like. A variable that it does not have is uniform in them and depends on nothing;
        one that the data do not have is summed out.
    fixed : LogTables, pgmpy network or dict of tables by node, optional
        Tables that are taken as they are, for some nodes or all. Their parents must be those of the structure. In a
        dict, a table is ``{state: probability}``, or ``(parents, {their states: {state: probability}})``, or a network
        that has the node.
    restarts : int
        EM climbs from so many starts more, which are drawn at random around the first, and the best end is taken.
    tol : float
        EM stops where a step raises the log-likelihood by no more than this times its size; with 0, where no
        probability moves any more.
    max_iter : int
        The most steps of EM from a start.
    random_state : int or RandomState, optional
        What random starts are drawn from.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    verbose : int, optional
        1 tells about EM once a second and at the end, 2 about every step.

    Attributes
    ----------
    counts_ : list of float64 arrays
        How often each state of a variable occurs with each configuration of its parents, in the order of the table's
        variables; after EM, how often that is expected.
    n_iter_ : int
        The steps of EM; of other data, 1.
    log_likelihood_path_ : list of float
        After EM: the log-likelihood of all that is known plus the logarithm of the prior, alpha / (r q) log theta for
        each cell, at the start and after each step. It never falls.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        floor: float = 0.0,
        prior: Any = None,
        fixed: Any = None,
        restarts: int = 0,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.floor = floor
        self.prior = prior
        self.fixed = fixed
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates: by EM, or each table by the rows in which its variables are known."""
        self._check()
        return super().fit(table, dag)

    def partial_fit(self, table: Table, dag: DAG) -> LogTables:
        """Return the estimates on these rows and all before them: counts add up.

        The states of the table and the structure must be those of the rows before.
        """
        self._check()
        counts = table.counts([(v, *parents) for v, parents in enumerate(table.parents(dag))])
        self.counts_ = [there + own for there, own in zip(self.counts_, counts, strict=True)]
        return self.from_counts(table, dag, self.counts_)

    def from_counts(
        self, table: Table, dag: DAG, counts: Sequence[FloatArray], rows: Sequence[FloatArray] | None = None
    ) -> LogTables:
        """Return smoothed relative frequencies; the numbers of rows are not used."""
        families = table.parents(dag)
        expert = self._expert(table, families)
        tables = {}
        for v, parents in enumerate(families):
            if v in expert.fixed:
                values = expert.fixed[v]
            elif self.prior == "marginal":
                values = estimate(counts[v] + self.alpha * _marginal(counts[v]), 0.0, self.floor)
            elif expert.virtual is None:
                values = estimate(counts[v], self.alpha, self.floor)
            else:
                values = estimate(counts[v] + expert.virtual[v], 0.0, self.floor)
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
        expert = self._expert(table, [[table.index(p) for p in own] for own, _ in tables.tables.values()])
        total = 0.0
        for v, (_, values) in enumerate(tables.tables.values()):
            if v in expert.fixed:
                continue
            if expert.virtual is None:
                total += self.alpha / values.size * float(values.sum())
            else:
                seen = expert.virtual[v] > 0
                total += float((expert.virtual[v][seen] * values[seen]).sum())
        return total

    def _check(self) -> None:
        check_numbers(self, "alpha", "floor")
        if not self.floor < 1:
            raise ValueError(f"floor={self.floor} must be at least 0 and below 1")
        if isinstance(self.prior, str) and self.prior != "marginal":
            raise ValueError(f"prior={self.prior!r} is not a network, and the only prior with a name is 'marginal'")

    def _expert(self, table: Table, families: list[list[int]]) -> _Expert:
        """Return what is known besides rows; of one structure, it is looked up once."""
        if self.fixed is None and self.prior is None:
            return _NOTHING
        if self._known is None or self._known[0] is not table or self._known[1] != families:
            self._known = table, families, self._look_up(table, families)
        return self._known[2]

    #: What was looked up last, for which table and structure.
    _known: tuple[Table, list[list[int]], _Expert] | None = None

    def _look_up(self, table: Table, families: list[list[int]]) -> _Expert:
        from bnplug.builtin.parameters._expert import Prior, fixed_tables

        fixed = {} if self.fixed is None else fixed_tables(self.fixed, table, families)
        if self.prior is None or self.prior == "marginal":
            return _Expert(fixed, None)
        prior = Prior(self.prior, table)
        rows = [self.alpha * prior.joint(v, own) if v not in fixed else np.zeros(0) for v, own in enumerate(families)]
        return _Expert(fixed, rows)


def _marginal(counts: FloatArray) -> FloatArray:
    """Return the relative frequencies of a variable in all rows, in the shape of a table with its parents."""
    marginal = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
    total = float(marginal.sum())
    shares = marginal / total if total > 0 else np.full_like(marginal, 1.0 / counts.shape[0])
    return np.asarray(np.broadcast_to(shares, counts.shape))
