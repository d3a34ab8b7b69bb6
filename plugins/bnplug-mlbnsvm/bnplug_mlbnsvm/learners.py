"""The maximum-likelihood BN-SVM (Peharz, Tschiatschek, Pernkopf 2013) as a parameter learner."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.contracts import InnerFold, ParameterLearner
from bnplug.errors import BnplugWarning
from bnplug.hooks.components import check_numbers
from bnplug.inference.em import expected_family_counts
from bnplug.model.log_tables import LogTables
from bnplug_mlbnsvm.descent import Descent
from bnplug_mlbnsvm.grid import GAMMAS, LAMS, choose, cross_validate
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG

# Cross-validation stops so much earlier: it looks at who wins, not at probabilities.
_COARSER = 10.0


class MaximumLikelihoodSVM(ParameterLearner):
    """Large margins at the highest likelihood: ``ml-bn-svm`` (Peharz et al. 2013).

    Minimises -n' omega + lam * (sum of slacks) over log parameters omega, where n' omega is the (smoothed)
    log-likelihood, and the slack of a row is how much its log joint with its own class falls short of being `gamma`
    above that of every other class. ``lam=0`` is maximum likelihood. On a C1 structure (naive Bayes, TAN, KDB-1 and
    others) this is convex, and the result is a Bayesian network; on others theta = softmax(beta) per column keeps
    it one, convexity is lost, and the result may be a local minimum. In a row with missing cells, terms of a missing
    variable are left out in training, and the problem is solved in this other way, too.

    With ``missing="em"`` the likelihood and the margins are those of log P(class, what the row knows), missing cells
    summed out exactly, from the estimates of EM on. A row without a class adds log P(what the row knows) to the
    likelihood, and has no margin; it is never held out to choose by.

    Parameters
    ----------
    lam : float, "cv" or sequence of float
        The weight of the slacks. "cv" chooses from the paper's grid, 0 and 2^-2 to 2^10, by accuracy in
        cross-validation; a sequence is a grid of one's own.
    gamma : float, "cv" or sequence of float
        The margin, a difference of log joints. The paper's grid is 0.1, 1, 5, 10, 15, 20.
    eta : float
        The sharpness of the soft maximum over the other classes.
    refine : bool
        Go on to a hinge and a maximum that are a hundred times sharper, in stages: the exact problem (10) to about
        a thousandth.
    solver : {"gradient", "conic"}
        "conic" solves problem (10) by a conic solver, for small data; needs ``pip install bnplug-mlbnsvm[conic]``,
        and a C1 structure.
    max_iter : int
        The largest number of steps, of each stage where there are several.
    tol : float
        Stop where the optimality measure is at most this, relative to the objective; cross-validation stops at ten
        times that. Where the structure is not C1: where the relative improvement of a step is at most ``tol / 1e4``.
    alpha : float
        The virtual sample size of the counts n, as in ``ml``; positive.
    cv : int or splitter
        The folds for choosing `lam` and `gamma`.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, optional
        Shuffles the folds; None takes them in order.
    verbose : int, optional
        1 tells about the result, 2 about every step.
    nested : bool
        Whether a classifier is to learn cuts and structure anew in each fold, so that nothing of the rows held out is
        in what `lam` and `gamma` are chosen by; `cv` is a number then, and the classifier shuffles its folds. Called
        with a table alone, this splits its rows and keeps the structure, as it does without `nested`.

    Attributes
    ----------
    lam_, gamma_ : float
        What was used.
    objective_path_ : list of float
        The objective of problem (11) at the start and after each step; with ``refine``, of its stages one after the
        other. For ``solver="conic"`` the one value of problem (10).
    objective_ : float
        The objective of problem (10) at the result, of the terms of the class and its children.
    slack_ : float
        The sum over rows of max(0, gamma - margin) at the result.
    likelihood_ratio_ : float
        The log-likelihood of the training rows under maximum likelihood over that under the result: 1 where they are
        equal, and the smaller the less generative the result is.
    optimality_ : float
        The optimality measure at the end, relative to the objective. On other than C1 structures the
        largest absolute derivative.
    n_iter_ : int
        The number of steps.
    is_c1_ : bool
        Whether the structure is C1.
    cv_accuracy_ : float array of shape (gammas, lams)
        Where one was chosen, the held-out accuracies; ``cv_gammas_`` and ``cv_lams_`` are the grids. A setting that
        can no longer win is given up before the last fold: its accuracy is that of the folds so far.

    References
    ----------
    Peharz, Tschiatschek, Pernkopf: The most generative maximum margin Bayesian networks (2013).

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
    def inner_folds(self) -> int:
        """How many folds the classifier is to make: none but where something is chosen and `nested` asks for it."""
        return int(self.cv) if self.nested and isinstance(self.cv, Integral) and self._n_settings > 1 else 0

    @property
    def _n_settings(self) -> int:
        return len(grid("lam", self.lam, LAMS)) * len(grid("gamma", self.gamma, GAMMAS))

    def fit(self, table: Table, dag: DAG, folds: Sequence[InnerFold] | None = None) -> LogTables:
        """Return the parameters of the classifier on the rows of `table`."""
        self.check()
        lams, gammas = grid("lam", self.lam, LAMS), grid("gamma", self.gamma, GAMMAS)
        self.lam_, self.gamma_ = lams[0], gammas[0]
        if self._n_settings > 1:
            self._choose(table, dag, lams, gammas, folds)
        problem = LargeMarginProblem(table, dag, self.alpha, n_jobs=self.n_jobs)
        self.is_c1_ = problem.is_c1
        setting = Setting(self.lam_, self.gamma_, self.eta, self.refine, self.tol, self.max_iter)
        found = self._solve(problem, table, setting)
        tables = problem.generative if self.lam_ == 0.0 else problem.network(found.point)
        self._keep(problem, setting, found, tables)
        return tables

    def _choose(
        self,
        table: Table,
        dag: DAG,
        lams: Sequence[float],
        gammas: Sequence[float],
        folds: Sequence[InnerFold] | None,
    ) -> None:
        given = None if folds is None else [fold for fold in folds if fold.held_out.n_rows > 0]
        setting = Setting(0.0, 0.0, self.eta, False, _COARSER * self.tol, self.max_iter, normalized=False)
        self.cv_lams_, self.cv_gammas_ = np.array(lams), np.array(gammas)
        self.cv_accuracy_ = cross_validate(
            table, dag, lams, gammas, setting, self.alpha, self.cv, self.random_state, self.n_jobs, given
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
        found = problem.solve(setting, callback=self._tell)
        if problem.convex and found.optimality > setting.tol:
            warnings.warn(
                f"ml-bn-svm: after {len(found.path) - 1} steps (max_iter={self.max_iter}) the optimality measure is "
                f"{found.optimality:.1e}, above tol={self.tol:g}; a larger max_iter goes on, a larger tol accepts it",
                BnplugWarning,
                stacklevel=3,
            )
        return found

    def _keep(self, problem: LargeMarginProblem, setting: Setting, found: Descent, tables: LogTables) -> None:
        """Leave what was learned in attributes."""
        values = problem.values(tables)
        self.objective_path_ = found.path
        self.optimality_ = found.optimality
        self.n_iter_ = len(found.path) - 1
        self.slack_ = problem.slack(values, setting.gamma)
        self.objective_ = setting.lam * self.slack_ + problem.negative_log_likelihood(values)
        likelihood, own = (log_likelihood(problem.table, each) for each in (problem.generative, tables))
        self.likelihood_ratio_ = likelihood / own
        if self.verbose:
            self._say(
                f"{self.n_iter_} steps, objective {found.path[0]:.4f} -> {found.path[-1]:.4f}, "
                f"slack {self.slack_:.4f}, likelihood relative to ML {self.likelihood_ratio_:.4f}"
            )

    def _tell(self, number: int, value: float) -> None:
        if (self.verbose or 0) > 1:
            self._say(f"step {number}, objective {value:.6f}")

    def _say(self, what: str) -> None:
        print(f"ml-bn-svm: {what}", file=sys.stderr, flush=True)

    def check(self) -> None:
        """Raise a ``ValueError`` for a parameter that cannot be."""
        if self.solver not in ("gradient", "conic"):
            raise ValueError(f'solver={self.solver!r} must be "gradient" or "conic"')
        check_numbers(self, "eta", "alpha", positive=True)
        check_numbers(self, "max_iter", "tol")
        if self.nested and not isinstance(self.cv, Integral):
            raise ValueError(f"nested=True needs a number of folds, which the classifier makes, not cv={self.cv!r}")


def log_likelihood(table: Table, tables: LogTables) -> float:
    """Return that of the rows: of all that each knows where the table says so, or of the families that it knows."""
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
