"""The problem on some training rows: minimise ``-n' omega + lam * slack`` over sub-normalised log parameters omega."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from bnplug.gradient import Problem, SoftmaxProblem
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray
from bnplug_mlbnsvm.descent import Descent, descend, dot
from bnplug_mlbnsvm.slack import hard_slack, slack_and_surprise, slack_params, soft_slack

# The share of their mean that every count is raised by in the metric of the descent: without it, entries that
# were never counted move too far, with much more of it those counted often hardly move.
_RAISED = 0.02
# How much sharper each stage of a refinement is than problem (11): the last has R / 100 and 100 eta.
_SHARPER = (1.0, 10 ** (2 / 3), 10 ** (4 / 3), 100.0)
# L-BFGS stops by what a step improves, which is far less than what is left to improve.
_STEP_TOL = 1e-4
# What counts as normalised before Wettig's algorithm, and the smallest tolerance that is tried for it.
_NORMALIZED, _LEAST_TOL = 1e-3, 1e-8


@dataclass(frozen=True)
class Setting:
    """What a solution depends on apart from the rows.

    Attributes
    ----------
    lam : float
        The weight of the slack against the likelihood.
    gamma : float
        The margin.
    eta : float
        The sharpness of the soft maximum over rivals.
    refine : bool
        Whether to go on to a hinge and a maximum that are a hundred times sharper.
    tol, max_iter
        When to stop; each stage of a refinement takes at most `max_iter` steps.
    normalized : bool
        Whether to go on, with a smaller `tol`, until columns counted at least once sum to one but for a thousandth: at
        the optimum they do (Theorem 2).
    """

    lam: float
    gamma: float
    eta: float = 10.0
    refine: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    normalized: bool = True

    def stages(self) -> Iterator[FloatArray]:
        """Yield the parameters of the soft slack (gamma, eta, R), one stage after the other."""
        radius = min(1.0, self.gamma)
        for sharper in _SHARPER if self.refine else _SHARPER[:1]:
            yield slack_params(self.gamma, self.eta * sharper, radius / sharper)


class LargeMarginProblem(Problem):
    """Problems (10) and (11) of Peharz et al. (2013) on the rows of a table.

    Only the class and its children have terms; every other node is the same for all classes, and maximum
    likelihood is best for it. Where ``table.incomplete`` is "em" and cells are missing, the likelihood and the margins
    are those of what each row knows, and rows without a class count in the likelihood alone.
    """

    takes_unlabeled = True

    @cached_property
    def incomplete(self) -> bool:
        """Whether the log-likelihood is no sum of counts times log parameters, since rows lack a cell or the class."""
        lacking = bool(self.table.has_missing[self.table.target_index])
        return self.marginal or (self.table.incomplete == "em" and lacking)

    @cached_property
    def counts(self) -> FloatArray:
        """The smoothed counts n of eq. (4), in the layout of the terms' values."""
        table, tables = self.table, self.generative.tables
        families = [[table.index(n) for n in (name, *parents)] for name, (parents, _) in tables.items()]
        smoothed = {
            name: (parents, counts + self.alpha / counts.size)
            for (name, (parents, _)), counts in zip(tables.items(), table.counts(families), strict=True)
        }
        # These are no logarithms, but have the shapes of the estimates.
        return self.values(LogTables(table.names, table.states, smoothed, table.target))

    @cached_property
    def convex(self) -> bool:
        """Whether the problem over networks is convex.

        It is on a C1 structure where no cell that the class's terms need is missing. With terms left out of some rows,
        normalising a sub-normalised solution changes the margins of these rows.
        """
        used = [self.table.target_index, *self.terms.variables]
        return self.is_c1 and not self.table.has_missing[used].any()

    def soft(self, values: FloatArray, lam: float, params: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective of problem (11) and its gradient."""
        if self.incomplete:
            value, gradient = self.objective(values, slack_and_surprise, np.append(params, lam))
            gradient -= self._virtual
            return value - dot(self._virtual, values), gradient
        slack, gradient = self.objective(values, soft_slack, params)
        gradient *= lam
        gradient -= self.counts
        return lam * slack - dot(self.counts, values), gradient

    def negative_log_likelihood(self, values: FloatArray) -> float:
        """Return that of the rows and of the virtual ones, of the terms of the class and its children."""
        return -dot(self.counts, values) if not self.incomplete else self.soft(values, 0.0, slack_params(1, 1, 1))[0]

    @cached_property
    def _virtual(self) -> FloatArray:
        """The virtual counts of ``alpha``, in the layout of the terms' values."""
        even = {
            name: (own.parents, np.full(own.values.shape, self.alpha / own.values.size))
            for name, own in self.generative.tables.items()
        }
        return self.values(LogTables(self.table.names, self.table.states, even, self.table.target))

    def slack(self, values: FloatArray, gamma: float) -> float:
        """Return the sum over rows of the exact slack, max(0, gamma - margin)."""
        return 0.0 if self.terms.n_classes == 1 else self.objective(values, hard_slack, np.array([gamma]))[0]

    def exact(self, values: FloatArray, setting: Setting) -> float:
        """Return the objective of problem (10)."""
        return setting.lam * self.slack(values, setting.gamma) + self.negative_log_likelihood(values)

    def solve(
        self, setting: Setting, start: FloatArray | None = None, callback: Callable[[int, float], None] | None = None
    ) -> Descent:
        """Return the solution of problem (11): sub-normalised, and for ``lam = 0`` the estimates themselves.

        Parameters
        ----------
        setting : Setting
        start : float64 array, optional
            Sub-normalised; by default the maximum-likelihood estimates.
        callback : function, optional
            Is given the number of each step of a stage and the objective after it.
        """
        point = self.terms.values if start is None else start
        if setting.lam == 0.0 or self.terms.n_classes == 1:
            return Descent(self.terms.values, [self.negative_log_likelihood(self.terms.values)], 0.0)
        path: list[float] = []
        for params in setting.stages():
            found = (self._descend if self.convex else self._descend_softmax)(setting, params, point, callback)
            point, path = found.point, path + found.path
        return Descent(point, path, found.optimality)

    def _descend(
        self, setting: Setting, params: FloatArray, start: FloatArray, callback: Callable[[int, float], None] | None
    ) -> Descent:
        weights = self.counts + _RAISED * self.counts.mean()
        objective = partial(self.soft, lam=setting.lam, params=params)
        tol = setting.tol
        found = descend(objective, start, weights, self.columns, tol, setting.max_iter, callback)
        while setting.normalized and tol > _LEAST_TOL and self.unnormalized(found.point) > _NORMALIZED:
            tol, left = 0.1 * tol, setting.max_iter - len(found.path) + 1
            more = descend(objective, found.point, weights, self.columns, tol, left, callback)
            found = Descent(more.point, found.path + more.path[1:], more.optimality)
        if setting.normalized and self.unnormalized(found.point) > _NORMALIZED:
            # Where the objective is flat that takes long; normalising keeps all margins, and raises the likelihood.
            point = self.values(self.network(found.point))
            last = descend(objective, point, weights, self.columns, tol, 0)
            found = Descent(last.point, found.path[:-1] + last.path, last.optimality)
        return found

    def unnormalized(self, values: FloatArray) -> float:
        """Return the largest distance of a column's log-sum-exp from 0, of columns counted at least once."""
        zeros = np.zeros_like(values)
        # The derivative of a softmax at theta = 1 takes off the sum of the column.
        counted = self.counts - self.columns.chain(self.counts, zeros) >= 1.0
        return float(np.abs(values - self.columns.log_softmax(values))[counted].max(initial=0.0))

    def _descend_softmax(
        self, setting: Setting, params: FloatArray, start: FloatArray, callback: Callable[[int, float], None] | None
    ) -> Descent:
        """Descend over theta = softmax(beta): off the convex case, sub-normalised columns give no network."""
        if self.incomplete:
            lost, params, counts, factor = slack_and_surprise, np.append(params, setting.lam), self._virtual, 1.0
        else:
            lost, counts, factor = soft_slack, self.counts, setting.lam
        problem = SoftmaxProblem(self.objective, lost, params, counts, self.columns, np.sqrt(self.counts), factor)
        found = problem.minimize(start, _STEP_TOL * setting.tol, setting.max_iter, callback)
        return Descent(found.values, found.path, found.steepest)
