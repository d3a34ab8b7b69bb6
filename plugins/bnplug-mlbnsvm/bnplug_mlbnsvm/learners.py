"""The maximum-likelihood BN-SVM (Peharz, Tschiatschek, Pernkopf 2013) as a parameter learner."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.contracts import ParameterLearner
from bnplug.errors import BnplugWarning
from bnplug.hooks.components import check_numbers
from bnplug.inference.em import expected_family_counts
from bnplug.model.log_tables import LogTables
from bnplug_mlbnsvm.descent import Descent
from bnplug_mlbnsvm.grid import GAMMAS, LAMS, choose, cross_validate
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

# Cross-validation stops earlier by this factor: it needs the predicted classes, not probabilities.
_COARSER = 10.0


class MaximumLikelihoodSVM(ParameterLearner):
    """Large margins at the highest likelihood: ``ml-bn-svm`` (Peharz et al. 2013).

    Minimizes -n' omega + lam * (sum of slacks) over log parameters omega, where n' omega is the (smoothed)
    log-likelihood. The slack of a row is the amount by which the log joint of its class fails to exceed that of every
    other class by `gamma`. ``lam=0`` is maximum likelihood. On a C1 structure (naive Bayes, TAN, KDB-1 and others) this
    is convex, and the result is a Bayesian network. On other structures theta = softmax(beta) per column keeps it a
    network, but the result may be a local minimum. The same holds if cells are missing; in training, terms of a missing
    variable are omitted.

    With ``missing="em"`` the likelihood and the margins are those of log P(class, known cells), and the start is the
    estimate of EM. A row without a class adds log P(known cells) to the likelihood and has no margin; it is never held
    out.

    Parameters
    ----------
    lam : float, "cv" or sequence of float
        The weight of the slacks. "cv" chooses from the paper's grid, 0 and 2^-2 to 2^10, by accuracy in
        cross-validation; a sequence is another grid.
    gamma : float, "cv" or sequence of float
        The margin, a difference of log joints. The paper's grid is 0.1, 1, 5, 10, 15, 20.
    eta : float
        The sharpness of the soft maximum over the other classes.
    refine : bool
        Continue in stages with a hinge and a maximum up to a hundred times sharper, which solves the exact problem (10)
        to about a thousandth.
    solver : {"gradient", "conic"}
        "conic" solves problem (10) by a conic solver, for small data; it needs
        ``pip install bnplug-mlbnsvm[conic]`` and a C1 structure.
    max_iter : int
        The maximum number of steps, of each stage with `refine`.
    tol : float
        Stop when the optimality measure, relative to the objective, is at most this; cross-validation stops at ten
        times that. If the problem is not convex, stop when a step's relative improvement is at most ``tol / 1e4``.
    alpha : float
        The virtual sample size of the counts n, as in ``ml``; positive.
    cv : int or splitter
        The folds for choosing `lam` and `gamma`.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, optional
        Shuffles the folds; None keeps the order of the rows.
    verbose : int, optional
        1 reports the result, 2 every step.
    nested : bool
        Whether the classifier learns cuts and structure again in each fold. `cv` is then a number, and the classifier
        shuffles its folds. If :meth:`fit` is called with a table alone, its rows are split and the structure is kept.

    Attributes
    ----------
    lam_, gamma_ : float
        The values used.
    objective_path_ : list of float
        The objective of problem (11) at the start and after each step, of all stages; the one value of problem (10)
        with ``solver="conic"``.
    objective_ : float
        The objective of problem (10) at the result, for the terms of the class and its children.
    slack_ : float
        The sum over rows of max(0, gamma - margin) at the result.
    likelihood_ratio_ : float
        The log-likelihood of the training rows under maximum likelihood divided by that under the result: at most 1,
        and smaller for less generative results.
    optimality_ : float
        The optimality measure at the end, relative to the objective; the largest absolute derivative if not convex.
    n_iter_ : int
        The number of steps.
    is_c1_ : bool
        Whether the structure is C1.
    cv_accuracy_ : float array of shape (gammas, lams)
        The held-out accuracies, if something was chosen; ``cv_gammas_`` and ``cv_lams_`` are the grids. For a setting
        that could no longer win, the accuracy on the folds tried.

    Examples
    --------
    >>> import bnplug
    >>> from bnplug import datasets
    >>> X, y = datasets.iris()
    >>> learner = bnplug.parameter_learner("ml-bn-svm", lam=4.0, gamma=5.0)
    >>> model = bnplug.BayesianNetworkClassifier("tan", learner).fit(X, y)
    >>> bool(model.parameters_.likelihood_ratio_ < 1.0), model.tables_.normalized
    (True, True)
    """

    takes_unlabeled = True

    def __init__(
        self,
        lam: Any = 1.0,
        gamma: Any = 5.0,
        eta: float = 10.0,
        refine: bool = False,
        solver: str = "gradient",
        max_iter: int = 1000,
        tol: float = 1e-4,
        alpha: float = 1.0,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        nested: bool = False,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.eta = eta
        self.refine = refine
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.nested = nested

    @property
    def n_inner_folds(self) -> int:  # type: ignore[override]
        """The number of inner folds: 0 unless something is chosen and `nested` is True."""
        return int(self.cv) if self.nested and isinstance(self.cv, Integral) and self._n_settings > 1 else 0

    @property
    def _n_settings(self) -> int:
        return len(grid("lam", self.lam, LAMS)) * len(grid("gamma", self.gamma, GAMMAS))

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the parameters of the classifier on the rows of `table`."""
        self.check()
        lams, gammas = grid("lam", self.lam, LAMS), grid("gamma", self.gamma, GAMMAS)
        self.lam_, self.gamma_ = lams[0], gammas[0]
        if self._n_settings > 1:
            self._choose(table, structure, lams, gammas)
        problem = self.problem(table, structure)
        self.is_c1_ = problem.is_c1
        setting = self.setting(self.lam_, self.gamma_)
        solution = self._solve(problem, table, setting)
        tables = problem.generative if self.lam_ == 0.0 else problem.network(solution.point)
        self._keep(problem, setting, solution, tables)
        return tables

    def problem(self, table: Table, structure: Structure) -> LargeMarginProblem:
        """Return the optimization problem that `fit` solves, to solve it with other settings or from other starts."""
        self.check()
        return LargeMarginProblem(table, structure, self.alpha, n_jobs=self.n_jobs)

    def setting(self, lam: float, gamma: float, normalized: bool = True) -> Setting:
        """Return the argument of the problem's ``solve`` for given values of `lam` and `gamma`."""
        lams, gammas = grid("lam", lam, LAMS), grid("gamma", gamma, GAMMAS)
        if len(lams) * len(gammas) > 1:
            raise ValueError("a setting has one lam and one gamma")
        return Setting(lams[0], gammas[0], self.eta, self.refine, self.tol, self.max_iter, normalized)

    def _choose(self, table: Table, structure: Structure, lams: Sequence[float], gammas: Sequence[float]) -> None:
        given = [fold for fold in self.inner_folds_ or () if fold.held_out.n_rows > 0]
        setting = Setting(0.0, 0.0, self.eta, False, _COARSER * self.tol, self.max_iter, normalized=False)
        self.cv_lams_, self.cv_gammas_ = np.array(lams), np.array(gammas)
        self.cv_accuracy_ = cross_validate(
            table, structure, lams, gammas, setting, self.alpha, self.cv, self.random_state, self.n_jobs, given
        )
        self.lam_, self.gamma_ = choose(self.cv_accuracy_, lams, gammas)
        if self.verbose:
            self._say(f"lam={self.lam_:g}, gamma={self.gamma_:g}, held-out accuracy {self.cv_accuracy_.max():.4f}")

    def _solve(self, problem: LargeMarginProblem, table: Table, setting: Setting) -> Descent:
        if self.solver == "conic" and problem.is_c1 and not problem.convex:
            raise ValueError('solver="conic" needs complete rows; drop those with missing cells, or use "gradient"')
        if self.solver == "conic" and setting.lam > 0.0 and problem.terms.n_classes > 1:
            from bnplug_mlbnsvm.conic import solve_conic

            point = solve_conic(problem, table, setting)
            return Descent(point, [problem.exact(point, setting)], 0.0)
        solution = problem.solve(setting, callback=self._report)
        if problem.convex and solution.optimality > setting.tol:
            warnings.warn(
                f"ml-bn-svm: after {len(solution.path) - 1} steps (max_iter={self.max_iter}) the optimality measure is "
                f"{solution.optimality:.1e}, above tol={self.tol:g}; raise max_iter to continue, or tol to accept it",
                BnplugWarning,
                stacklevel=3,
            )
        return solution

    def _keep(self, problem: LargeMarginProblem, setting: Setting, solution: Descent, tables: LogTables) -> None:
        """Store the results in attributes."""
        values = problem.values(tables)
        self.objective_path_ = solution.path
        self.optimality_ = solution.optimality
        self.n_iter_ = len(solution.path) - 1
        self.slack_ = problem.slack(values, setting.gamma)
        self.objective_ = setting.lam * self.slack_ + problem.negative_log_likelihood(values)
        best, reached = (log_likelihood(problem.table, each) for each in (problem.generative, tables))
        self.likelihood_ratio_ = best / reached
        if self.verbose:
            self._say(
                f"{self.n_iter_} steps, objective {solution.path[0]:.4f} -> {solution.path[-1]:.4f}, "
                f"slack {self.slack_:.4f}, likelihood relative to ML {self.likelihood_ratio_:.4f}"
            )

    def _report(self, number: int, value: float) -> None:
        if (self.verbose or 0) > 1:
            self._say(f"step {number}, objective {value:.6f}")

    def _say(self, what: str) -> None:
        print(f"ml-bn-svm: {what}", file=sys.stderr, flush=True)

    def check(self) -> None:
        """Raise a ``ValueError`` for an invalid parameter."""
        if self.solver not in ("gradient", "conic"):
            raise ValueError(f'solver={self.solver!r} must be "gradient" or "conic"')
        check_numbers(self, "eta", "alpha", positive=True)
        check_numbers(self, "max_iter", "tol")
        if self.nested and not isinstance(self.cv, Integral):
            raise ValueError(f"nested=True needs a number of folds, which the classifier makes, not cv={self.cv!r}")


def log_likelihood(table: Table, tables: LogTables) -> float:
    """Return the log-likelihood of all known cells if the table is learned by EM, otherwise of the known families."""
    if table.learned_by_em:
        return expected_family_counts(table, tables)[1]
    return tables.log_likelihood(table, incomplete=True)


def grid(name: str, given: Any, paper: Sequence[float]) -> tuple[float, ...]:
    """Return the values to choose from, ascending."""
    if isinstance(given, str) and given == "cv":
        return tuple(paper)
    listed = [given] if isinstance(given, Real | str) else given
    lowest = 0.0 if name == "lam" else sys.float_info.min * sys.float_info.epsilon
    try:
        values = tuple(sorted({float(value) for value in listed if not isinstance(value, str)}))
    except (TypeError, ValueError):
        values = ()
    if not values or not all(lowest <= value < np.inf for value in values):
        least = "that are not negative" if name == "lam" else "above 0"
        raise ValueError(f'{name}={given!r} must be a number, or several, {least}, or "cv"')
    return values
