"""Minimize ``-n' omega + lam * slack`` on some training rows, over sub-normalized log parameters omega."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from bnplug.gradient import Problem
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray
from bnplug_mlbnsvm.descent import Descent, descend, dot
from bnplug_mlbnsvm.slack import hard_slack, slack_and_surprise, slack_params, soft_slack
from bnplug_mlbnsvm.softmax import SoftmaxProblem

# The metric of the descent adds this share of the mean to every count: without it, entries that were never counted move
# too far; with much more, frequent ones hardly move.
_RAISED = 0.02
# The sharpness of each stage of a refinement, relative to problem (11).
_SHARPER = (1.0, 10 ** (2 / 3), 10 ** (4 / 3), 100.0)
# L-BFGS stops by the improvement of a step, which is far less than the improvement still possible.
_STEP_TOL = 1e-4
# The deviation that counts as normalized before Wettig's algorithm, and the smallest tolerance tried.
_NORMALIZED, _LEAST_TOL = 1e-3, 1e-8


@dataclass(frozen=True)
class Setting:
    """The settings of a solution: the weight of the slack, the margin, and the sharpness of the soft maximum.

    `tol` and `max_iter` apply to each stage of a refinement. With `normalized`, the descent continues with a smaller
    `tol` until all columns counted at least once sum to one up to a thousandth, as at the optimum (Theorem 2).
    """

    lam: float
    gamma: float
    eta: float = 10.0
    refine: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    normalized: bool = True

    def stages(self) -> Iterator[FloatArray]:
        """Yield the parameters of the soft slack (gamma, eta, R) for each stage."""
        radius = min(1.0, self.gamma)
        for sharper in _SHARPER if self.refine else _SHARPER[:1]:
            yield slack_params(self.gamma, self.eta * sharper, radius / sharper)


class LargeMarginProblem(Problem):
    """Problems (10) and (11) of Peharz et al. (2013) on the rows of a table.

    Only the class and its children have terms. Every other node has its maximum-likelihood estimate, since it is the
    same for all classes. If ``table.missing_policy`` is "em" and cells are missing, the likelihood and the margins are
    those of the known cells, and rows without a class contribute to the likelihood alone.
    """

    takes_unlabeled = True

    @cached_property
    def incomplete(self) -> bool:
        """Whether rows lack a cell or the class, so the log-likelihood is not linear in the log parameters."""
        lacking = bool(self.table.has_missing[self.table.target_index])
        return self.marginal or (self.table.missing_policy == "em" and lacking)

    @cached_property
    def counts(self) -> FloatArray:
        """The smoothed counts n of eq. (4), in the layout of the terms' values."""
        table, tables = self.table, self.generative.tables
        families = [[table.index(n) for n in (name, *parents)] for name, (parents, _) in tables.items()]
        smoothed = {
            name: (parents, counts + self.alpha / counts.size)
            for (name, (parents, _)), counts in zip(tables.items(), table.counts(families), strict=True)
        }
        # These are not logarithms, but have the shapes of the estimates.
        return self.values(LogTables(table.names, table.states, smoothed, table.target))

    @cached_property
    def convex(self) -> bool:
        """Whether the problem over networks is convex: on a C1 structure, if no cell of the class's terms is missing.

        If terms are omitted in some rows, normalizing a sub-normalized solution changes the margins of these rows.
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
        """Return the NLL of the rows and of the virtual rows, for the terms of the class and its children."""
        return -dot(self.counts, values) if not self.incomplete else self.soft(values, 0.0, slack_params(1, 1, 1))[0]

    @cached_property
    def _virtual(self) -> FloatArray:
        """The virtual counts of ``alpha``, in the layout of the terms' values."""
        even = {
            name: (cpt.parents, np.full(cpt.values.shape, self.alpha / cpt.values.size))
            for name, cpt in self.generative.tables.items()
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
        """Return the solution of problem (11): sub-normalized, and for ``lam = 0`` the estimates themselves.

        The start is sub-normalized, by default the maximum-likelihood estimates. The callback receives the number of
        each step of a stage and the objective after it.
        """
        point = self.terms.values if start is None else start
        if setting.lam == 0.0 or self.terms.n_classes == 1:
            return Descent(self.terms.values, [self.negative_log_likelihood(self.terms.values)], 0.0)
        path: list[float] = []
        for params in setting.stages():
            stage = (self._descend if self.convex else self._descend_softmax)(setting, params, point, callback)
            point, path = stage.point, path + stage.path
        return Descent(point, path, stage.optimality)

    def _descend(
        self, setting: Setting, params: FloatArray, start: FloatArray, callback: Callable[[int, float], None] | None
    ) -> Descent:
        weights = self.counts + _RAISED * self.counts.mean()
        objective = partial(self.soft, lam=setting.lam, params=params)
        tol = setting.tol
        solution = descend(objective, start, weights, self.columns, tol, setting.max_iter, callback)
        while setting.normalized and tol > _LEAST_TOL and self.unnormalized(solution.point) > _NORMALIZED:
            tol, left = 0.1 * tol, setting.max_iter - len(solution.path) + 1
            more = descend(objective, solution.point, weights, self.columns, tol, left, callback)
            solution = Descent(more.point, solution.path + more.path[1:], more.optimality)
        if setting.normalized and self.unnormalized(solution.point) > _NORMALIZED:
            # A flat objective takes long; normalizing keeps all margins and raises the likelihood.
            point = self.values(self.network(solution.point))
            last = descend(objective, point, weights, self.columns, tol, 0)
            solution = Descent(last.point, solution.path[:-1] + last.path, last.optimality)
        return solution

    def unnormalized(self, values: FloatArray) -> float:
        """Return the largest absolute log-sum-exp of a column that was counted at least once."""
        zeros = np.zeros_like(values)
        # The derivative of a softmax at theta = 1 subtracts the sum of the column.
        counted = self.counts - self.columns.chain(self.counts, zeros) >= 1.0
        return float(np.abs(values - self.columns.log_softmax(values))[counted].max(initial=0.0))

    def _descend_softmax(
        self, setting: Setting, params: FloatArray, start: FloatArray, callback: Callable[[int, float], None] | None
    ) -> Descent:
        """Descend over theta = softmax(beta): if not convex, sub-normalized columns do not give a network."""
        if self.incomplete:
            loss, params, counts, factor = slack_and_surprise, np.append(params, setting.lam), self._virtual, 1.0
        else:
            loss, counts, factor = soft_slack, self.counts, setting.lam
        problem = SoftmaxProblem(self.objective, loss, params, counts, self.columns, np.sqrt(self.counts), factor)
        return problem.minimize(start, _STEP_TOL * setting.tol, setting.max_iter, callback)
