"""``ccbn-loo``: back-off estimates, weighted and corrected by what makes the class of rows likely that are left out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from bnplug import InnerFold, ParameterLearner, Structure
from bnplug.compiling import run_in_threads
from bnplug.gradient import folds as folds_of
from bnplug.gradient import temperature
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables
from bnplug.structure import is_c1
from bnplug.typing import FloatArray
from bnplug_loo.problem import LeaveOneOutProblem

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

#: What ``lam="cv"`` chooses from: strongest first, and each fit starts where the one before ended.
LAMBDAS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)

# A path ends where the NLL of rows held out is this much above the best.
_WORSE = 1.02
# Inside the folds the steps of each strength are fewer.
_INSIDE = 2 / 3


class _Path:
    """Free numbers on some training rows, for one strength after the other."""

    def __init__(self, problem: LeaveOneOutProblem, max_iter: int, tol: float) -> None:
        self.problem = problem
        self._limits = (max_iter, tol)
        self.free, self.center = problem.scaled(*self._limits)
        self.n_iter = 0

    def advance(self, lam: float) -> FloatArray:
        """Return the free numbers for the next strength."""
        self.free, self.n_iter = self.problem.minimize(self.free, lam, self.center, *self._limits)
        return self.free


class LeaveOneOutConditional(ParameterLearner):
    """Maximum conditional likelihood of rows that are left out of their own estimates, with a penalty.

    The log joint of a class is b + sum over its children of w log p + delta_0 + delta_1 + ..., p being the estimates
    of ``backoff``, and delta_l a correction for the value, the class and the first l feature parents; levels above
    the first with more cells than rows are left out. In training the class that a row has finds p as if the row were
    not among those counted, in prediction all find p. Minimised is the conditional NLL and
    1/2 sum (w - tau)^2 + lam/2 sum over l of 4^l ||delta_l||^2, tau being the best weight that is the same for all.

    On a C1 structure (naive Bayes, TAN, KDB-1 and others) the result is a network with that posterior. On others the
    tables do not sum to one: they predict, but no network on this structure need have their posterior, and what they
    say where features are missing depends on how they were learned.

    Where a cell is missing in a training row, its term is left out; where a parent is, the term is that of the
    parents before it. This is so with ``missing="em"`` too: what a row counts for cannot be taken out of an estimate
    that only expects it.

    If a class has a single row, leaving that row out removes all information about the class. Its features then get
    the distribution they have over all rows, and its posterior stays near its prior.

    Weights are divided by their mean, so multiplying all weights by a constant changes nothing. Leaving out a row
    removes its whole weight, as in ``backoff``.

    Parameters
    ----------
    lam : "cv" or float
        The strength of the penalty of corrections; infinite for none. "cv" chooses it by the NLL of rows held out.
    temperature : "cv" or float
        What all log parameters are multiplied by in the end: "cv" is the best for the rows held out.
    cv : int
        The number of folds. A classifier makes them with cuts and structure learned inside each; called with a table
        alone, this splits its rows and keeps the structure.
    max_iter : int
        The largest number of steps for each strength, two thirds of that inside the folds.
    tol : float
        Stop where the relative improvement of a step is at most this.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, optional
        Shuffles the folds of a table; None takes the rows in order.
    verbose : int, optional
        1 reports the choice.

    Attributes
    ----------
    lam_, temperature_ : float
        What was used.
    cv_nll_ : dict of float to float
        The NLL a row of the rows held out, by strength, as far as the path went; empty where nothing was chosen.
    generative_ : LogTables
        The network of the estimates that this began with.
    weights_ : dict of str to float
        The weight of every child of the class, before the temperature.
    common_weight_ : float
        tau.
    is_c1_ : bool
        Whether the structure is C1; the result is then a Bayesian network.
    n_iter_ : int
        The number of steps for the last strength.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug.table.table import Table
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1, 1] * 8, "c": [0, 0, 1, 1, 0] * 8}), "c")
    >>> learner = LeaveOneOutConditional(random_state=0)
    >>> learner.fit(table, Structure(table.names, [[1], []])).normalized
    True
    """

    discretizer = "log2-quantile"
    relative_weights = True

    def __init__(
        self,
        lam: Any = "cv",
        temperature: Any = "cv",
        cv: int = 3,
        max_iter: int = 60,
        tol: float = 1e-5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.lam = lam
        self.temperature = temperature
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def n_inner_folds(self) -> int:  # type: ignore[override]
        """The number of inner folds: 0 if nothing is chosen."""
        return self.cv if "cv" in (self.lam, self.temperature) else 0

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the parameters, normalized if the structure is C1."""
        self._check()
        folds = self.inner_folds_
        if folds is None:
            folds = self._split(table, structure) if self.n_inner_folds else []
        table = table.ignoring().with_relative_weights()
        self._choose(
            [
                InnerFold(fold.train.ignoring().with_relative_weights(), fold.structure, fold.held_out.ignoring())
                for fold in folds
            ]
        )
        path = _Path(LeaveOneOutProblem(table, structure, n_jobs=self.n_jobs), self.max_iter, self.tol)
        for lam in self._strengths(self.lam_):
            path.advance(lam)
        self._keep(path, table)
        tables = path.problem.network_tables(path.problem.tempered(path.free, self.temperature_))
        return tables.normalize() if self.is_c1_ else tables

    def _split(self, table: Table, structure: Structure) -> list[InnerFold]:
        """Return folds of a table whose raw columns nobody has: its cuts and structure have seen all rows."""
        most = int(np.bincount(table.column(table.target_index)).max())
        n_folds = min(self.cv, most)
        if n_folds < 2:
            return []
        return [InnerFold(train, structure, test) for train, test in folds_of(table, n_folds, self.random_state)]

    def _choose(self, folds: Sequence[InnerFold]) -> None:
        """Choose the strength and the temperature by rows held out; without any, no corrections and 1."""
        self.cv_nll_: dict[float, float] = {}
        self.lam_ = np.inf if self.lam == "cv" else float(self.lam)
        self.temperature_ = 1.0 if self.temperature == "cv" else float(self.temperature)
        folds = [fold for fold in folds if _has_rows_to_judge(fold)]
        if not folds or not self.n_inner_folds:
            return
        # The limit holds for the process; set here, it is not lifted by whichever fold ends first.
        with threadpool_limits(1):
            self._follow(folds)
        if self.verbose:
            shown = (
                f"lam {self.lam_:g}, temperature {self.temperature_:.3f}, NLL {self.cv_nll_[self.lam_]:.4f} held out"
            )
            print(f"ccbn-loo: {shown}", file=sys.stderr, flush=True)

    def _follow(self, folds: Sequence[InnerFold]) -> None:
        """Go along the strengths in all folds at once, until rows held out are worse off than they were."""
        steps = max(1, round(_INSIDE * self.max_iter)) if self.max_iter else 0
        total = sum(fold.held_out.total_weight for fold in folds)

        def begin(fold: InnerFold) -> _Path:
            return _Path(LeaveOneOutProblem(fold.train, fold.structure, fold.held_out, n_jobs=1), steps, self.tol)

        paths = run_in_threads(begin, folds, n_jobs=self.n_jobs)
        best: list[FloatArray] = []
        for lam in self._strengths(0.0 if self.lam == "cv" else self.lam_):
            points = run_in_threads(lambda path, lam=lam: path.advance(lam), paths, n_jobs=self.n_jobs)
            nll = sum(path.problem.held_out_nll(free)[0] for path, free in zip(paths, points, strict=True)) / total
            self.cv_nll_[lam] = nll
            least = min(self.cv_nll_.values())
            if self.lam != "cv" or nll == least:
                best = points
            if self.lam == "cv" and nll == least:
                self.lam_ = lam
            if self.lam == "cv" and nll > _WORSE * least:
                break
        if self.temperature == "cv":
            self.temperature_ = _best_temperature([path.problem for path in paths], best)

    @staticmethod
    def _strengths(last: float) -> list[float]:
        """Return the strengths down to one, which is among them unless it is 0."""
        return [lam for lam in LAMBDAS if lam > last] + ([last] if last > 0 else [])

    def _keep(self, path: _Path, table: Table) -> None:
        layout, generative = path.problem.layout, path.problem.generative
        self.generative_, self.n_iter_ = generative, path.n_iter
        self.is_c1_ = is_c1(generative.parents, table.target)
        weights = path.free[layout.n_classes : layout.first_correction]
        names = [table.names[node.number] for node in layout.nodes]
        self.weights_ = dict(zip(names, weights.tolist(), strict=True))
        self.common_weight_ = path.center

    def _check(self) -> None:
        if self.lam != "cv" and not (isinstance(self.lam, Real) and float(self.lam) > 0):
            raise ValueError(f'lam={self.lam!r} must be a positive number, which may be infinite, or "cv"')
        if self.temperature != "cv":
            check_numbers(self, "temperature", positive=True)
        check_numbers(self, "cv", "max_iter", "tol")
        if self.cv < 2 or self.cv != int(self.cv):
            raise ValueError(f"cv={self.cv!r} must be a number of folds, at least 2")


def _has_rows_to_judge(fold: InnerFold) -> bool:
    """Return whether any held-out row belongs to a class with more than one training row."""
    target = fold.train.target_index
    rows = np.bincount(fold.train.column(target), minlength=fold.train.cards[target])
    return bool((rows[fold.held_out.column(target)] > 1).any())


def _best_temperature(problems: Sequence[LeaveOneOutProblem], points: Sequence[FloatArray]) -> float:
    """Return the factor of all log parameters under which the rows held out are most likely."""
    return temperature(
        lambda factor: sum(
            problem.held_out_nll(free, factor)[1] for problem, free in zip(problems, points, strict=True)
        )
    )
