"""Maximum-margin parameters (Pernkopf and Wohlmayr 2013, section 5.2), with a smooth objective.

With ``s = lam (L[class] - (1 / eta) log sum over other classes of exp(eta L))`` for each row, the sum over rows of H(s)
is maximized, where H is s below ``1 - kappa``, 1 above ``1 + kappa``, and a parabola between them. The parameters are
theta = softmax(beta) in each CPT column; the result is always a Bayesian network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from itertools import product
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug import Structure
from bnplug.compiling import kernel
from bnplug.contracts import InnerFold, ParameterLearner
from bnplug.gradient import Objective, Problem, classified, folds, held_out, minimize
from bnplug.hooks.components import check_numbers
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray
from bnplug_margin.conjugate import minimize_by_conjugate_gradients
from bnplug_margin.score import LAM_GRID

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

#: What ``kappa="cv"`` chooses from (Peharz, Tschiatschek and Pernkopf 2013, section 5.3).
KAPPA_GRID: tuple[float, ...] = tuple(np.linspace(0.01, 0.5, 10).round(3).tolist())

# Early stopping ends when the held-out rows have seen nothing better for so many steps.
_PATIENCE = 10


@kernel(allocates=False)
def negative_margin(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """-H(s): a :data:`~bnplug.gradient.Loss` with the parameters lam, kappa, eta."""
    lam, kappa, eta = params[0], params[1], params[2]
    n_rows, n_classes = L.shape
    total = 0.0
    for m in range(n_rows):
        label = y[m]
        largest = -np.inf
        for c in range(n_classes):
            if c != label and L[m, c] > largest:
                largest = L[m, c]
        normalizer = 0.0
        for c in range(n_classes):
            dL[m, c] = 0.0 if c == label else np.exp(eta * (L[m, c] - largest))
            normalizer += dL[m, c]
        s = lam * (L[m, label] - largest - np.log(normalizer) / eta)
        value, slope = s, 1.0
        if s >= 1.0 + kappa:
            value, slope = 1.0, 0.0
        elif s > 1.0 - kappa:
            value = 1.0 - (1.0 + kappa - s) * (1.0 + kappa - s) / (4.0 * kappa)
            slope = (1.0 + kappa - s) / (2.0 * kappa)
        total -= weights[m] * value
        scale = weights[m] * lam * slope
        for c in range(n_classes):
            dL[m, c] *= scale / normalizer
        dL[m, label] = -scale
    return total


class MarginProblem(Problem):
    """The smoothed margins of some training rows, to be maximized over beta."""

    def negative(self, beta: FloatArray, params: FloatArray, ignoring: bool = False) -> tuple[float, FloatArray]:
        """Return minus the sum of H(s) over the rows, and its gradient by beta; missing cells may be ignored."""
        log_theta = self.columns.log_softmax(beta)
        value, gradient = (self.ignoring if ignoring else self.objective)(log_theta, negative_margin, params)
        return value, self.columns.chain(gradient, log_theta)


class MaximumMarginParameters(ParameterLearner):
    """`mm`: the parameters of largest soft margin, by L-BFGS from the maximum-likelihood ones.

    The terms of the class and its children are learned; every other node keeps its estimates, which no posterior
    of the class depends on. In a row with missing cells, terms of a missing variable are left out in training. With
    ``missing="em"`` the classifier uses the margin of log P(class, known cells), marginalizing missing cells, and
    the estimates of EM; without early stopping it begins where the terms left out led it, if that is better.

    Parameters
    ----------
    lam : float, "cv" or sequence of float
        How strongly a log margin counts: rows want one of 1 / lam. "cv" chooses from ``LAM_GRID``, a sequence is a grid
        of one's own: by the classification rate on held-out folds, the smallest of tied ones.
    kappa : float, "cv" or sequence of float
        Half the width of the parabola that rounds off the hinge, above 0 and at most 1; "cv" chooses from
        ``KAPPA_GRID``, together with `lam` where that is chosen too.
    eta : float
        How closely the maximum over the other classes is approached.
    early_stopping : bool
        Whether to stop before the maximum: after the number of steps at which held-out rows have the largest margins.
        On data that are few for the structure, this is what keeps the parameters from fitting noise.
    optimizer : {"lbfgs", "cg"}
        How to climb. Conjugate gradients are what the paper used; L-BFGS takes fewer steps.
    max_iter : int
        The largest number of steps.
    tol : float
        Stop where the relative improvement of a step is at most this.
    alpha, floor : float
        The smoothing of the maximum-likelihood estimates, as in ``ml``; one must be positive.
    cv : int or splitter
        What is held out for "cv" and early stopping: stratified folds, or the test rows of any splitter of
        scikit-learn; ``StratifiedShuffleSplit(1, test_size=0.2)`` is a single part.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, optional
        Shuffles the folds; None always in the same way.
    verbose : int, optional
        1 reports the result, 2 every step.
    nested : bool
        Whether the classifier learns cuts and structure again in each fold. `cv` is then a number, and the classifier
        shuffles its folds. If :meth:`fit` is called with a table alone, its rows are split and the structure is kept.

    Attributes
    ----------
    objective_path_ : list of float
        The sum of H(s) over the training rows at the start and after each step; it never falls.
    n_iter_ : int
        The number of steps.
    lam_, kappa_ : float
        The values that were used.
    cv_rates_ : float array
        Where something was chosen, or with early stopping, the classification rate on held-out rows, of shape (lams,
        kappas).

    References
    ----------
    Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 1], "c": ["n", "n", "y", "y", "n"]})
    >>> table = Table.from_frame(frame, "c")
    >>> learner = MaximumMarginParameters(lam=0.5)
    >>> learner.fit(table, Structure(table.names, [[2], [2], []])).normalized
    True
    >>> learner.objective_path_[-1] > learner.objective_path_[0]
    True
    """

    def __init__(
        self,
        lam: Any = 0.1,
        kappa: Any = 0.5,
        eta: float = 10.0,
        early_stopping: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        optimizer: str = "lbfgs",
        nested: bool = False,
    ) -> None:
        self.lam = lam
        self.kappa = kappa
        self.eta = eta
        self.early_stopping = early_stopping
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.floor = floor
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.optimizer = optimizer
        self.nested = nested

    @property
    def n_inner_folds(self) -> int:  # type: ignore[override]
        """The number of inner folds: 0 unless something is chosen and `nested` is True."""
        if not self.nested:
            return 0
        self._check()
        chooses = self.early_stopping or len(self._grid("lam")) * len(self._grid("kappa")) > 1
        return int(self.cv) if chooses else 0

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the parameters of largest soft margin on the rows of `table`."""
        self._check()
        self.lam_, self.kappa_, steps = self._choose(table, structure)
        params = np.array([self.lam_, self.kappa_, self.eta])
        problem = self.problem(table, structure, self.n_jobs)
        start = self._first(problem, params)
        self.objective_path_ = [-problem.negative(start, params)[0]]
        beta, self.n_iter_ = self._ascend(problem, params, steps, start, self._note)
        if self.verbose:
            self._say(f"{self.n_iter_} steps, {self.objective_path_[0]:.4f} -> {self.objective_path_[-1]:.4f}")
        return problem.tables(problem.columns.log_softmax(beta))

    def problem(self, table: Table, structure: Structure, n_jobs: int | None) -> MarginProblem:
        """Return the problem on the rows of `table`."""
        return MarginProblem(table, structure, self.alpha, self.floor, n_jobs)

    def _first(self, problem: MarginProblem, params: FloatArray) -> FloatArray:
        """Return where to begin: at the estimates, or where the margins lead that ignore missing cells."""
        start = problem.terms.values
        if not problem.marginal or self.early_stopping or self.max_iter == 0:
            return start
        ignoring, _ = minimize(partial(problem.negative, params=params, ignoring=True), start, self.tol, self.max_iter)
        return min((start, ignoring), key=lambda beta: problem.negative(beta, params)[0])

    def _ascend(
        self, problem: MarginProblem, params: FloatArray, max_iter: int, start: FloatArray, callback: Any = None
    ) -> tuple[Any, int]:
        climb = minimize if self.optimizer == "lbfgs" else minimize_by_conjugate_gradients
        return climb(partial(problem.negative, params=params), start, self.tol, max_iter, callback)

    def _note(self, beta: FloatArray, value: float) -> None:
        self.objective_path_.append(-value)
        if (self.verbose or 0) > 1:
            self._say(f"step {len(self.objective_path_) - 1}, {-value:.4f}")

    def _say(self, what: str) -> None:
        print(f"mm: {what}", file=sys.stderr, flush=True)

    def _grid(self, name: str) -> tuple[float, ...]:
        """Return the values of lam or kappa to choose from, ascending."""
        given = getattr(self, name)
        if isinstance(given, str):
            return LAM_GRID if name == "lam" else KAPPA_GRID
        return tuple(sorted(map(float, [given] if isinstance(given, Real) else given)))

    def _choose(self, table: Table, structure: Structure) -> tuple[float, float, int]:
        """Return lam, kappa and the number of steps: as given, or what held-out rows say."""
        lams, kappas = self._grid("lam"), self._grid("kappa")
        grid = list(product(lams, kappas))
        if len(grid) == 1 and not self.early_stopping:
            return (*grid[0], self.max_iter)
        parts = [fold for fold in self.inner_folds_ or () if fold.held_out.n_rows > 0] or self._split(table, structure)
        measure = partial(self._held_out, grid=grid)
        margins, right = held_out(parts, partial(self.problem, n_jobs=1), measure, self.n_jobs)
        # Margins say when to stop; they are not comparable between lams, so the rate chooses among those.
        steps = margins.argmax(axis=1) if self.early_stopping else np.full(len(grid), self.max_iter)
        rates = right[np.arange(len(grid)), steps] / sum(part.held_out.total_weight for part in parts)
        self.cv_rates_: FloatArray = rates.reshape(len(lams), len(kappas))
        best = int(rates.argmax())
        return (*grid[best], int(steps[best]))

    def _split(self, table: Table, structure: Structure) -> list[InnerFold]:
        """Return the folds of a table, all with its structure."""
        # The folds must differ from those of a score with the same random_state, to which the structure was fitted.
        random = check_random_state(0 if self.random_state is None else self.random_state)
        seed = random.randint(2**31 - 1) if isinstance(self.cv, Integral) else None
        return [InnerFold(train, structure, test) for train, test in folds(table, self.cv, seed)]

    def _held_out(self, problem: MarginProblem, rows: Objective, grid: list[tuple[float, float]]) -> FloatArray:
        """Return the sums of H(s) and of correct predictions over held-out rows, of shape (2, grid, steps + 1)."""
        paths = [self._held_out_path(problem, rows, np.array([*pair, self.eta])) for pair in grid]
        return np.stack(paths, axis=1)

    def _held_out_path(self, problem: MarginProblem, rows: Objective, params: FloatArray) -> FloatArray:
        """Return both sums at the start and after each step; where the search has ended, they stay as they are."""
        path: list[tuple[float, float]] = []

        def watch(beta: FloatArray, value: float | None = None) -> None:
            values = problem.columns.log_softmax(beta)
            path.append((-rows(values, negative_margin, params)[0], rows(values, classified)[0]))
            if self.early_stopping and len(path) - 1 - int(np.argmax(path, axis=0)[0]) >= _PATIENCE:
                raise StopIteration

        watch(problem.terms.values)
        self._ascend(problem, params, self.max_iter, problem.terms.values, watch)
        return np.array(path + path[-1:] * (self.max_iter + 1 - len(path))).T

    def _check(self) -> None:
        for name, most in (("lam", np.inf), ("kappa", 1.0)):
            value = getattr(self, name)
            listed = [value] if isinstance(value, Real) else value if isinstance(value, Iterable) else []
            numbers = [isinstance(one, Real) and 0 < float(one) <= most and one < np.inf for one in listed]
            chosen = isinstance(value, str) and value == "cv"
            if not chosen and not (numbers and all(numbers)):
                limit = "" if most == np.inf else f" of at most {most:g}"
                raise ValueError(f'{name}={value!r} must be a positive number{limit}, several to choose from, or "cv"')
        if self.nested and not isinstance(self.cv, Integral):
            raise ValueError(f"nested=True needs a number of folds, which the classifier makes, not cv={self.cv!r}")
        if self.optimizer not in ("lbfgs", "cg"):
            raise ValueError(f"optimizer={self.optimizer!r} is not 'lbfgs' or 'cg'")
        check_numbers(self, "eta", positive=True)
        check_numbers(self, "alpha", "floor", "max_iter", "tol")
        if self.alpha == self.floor == 0:
            raise ValueError(f"alpha={self.alpha}, floor={self.floor}: one must be positive, for finite logarithms")
