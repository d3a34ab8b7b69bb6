"""Parameters of maximum conditional likelihood in three parameterizations (Zaidi et al. 2017)."""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from bnplug import Structure
from bnplug.contracts import InnerFold, ParameterLearner
from bnplug.errors import BnplugWarning
from bnplug.gradient import Objective, Problem, conditional_nll, folds, held_out, minimize
from bnplug.hooks.components import check_numbers
from bnplug.inference.complete import Terms
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray
from bnplug_ccbn.parameterizations import Free, Parameterization, Rescaled, Softmax, backing_off, weighted
from bnplug_ccbn.preconditioning import Preconditioner

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

#: What ``l2="cv"`` chooses from: strongest first, and each fit starts where the one before ended.
L2_GRID = tuple(10.0**exponent for exponent in range(4, -4, -1))

# The minimum that a descent begins at need not be exact.
_FIRST_TOL = 1e-5

# Below it, probabilities are at the end of what double precision and other programs' files can hold.
_LOWEST = -700.0


class ConditionalProblem(Problem):
    """Conditional likelihood on some training rows: minimize over the free numbers of a parameterization.

    Attributes
    ----------
    parameterization : Parameterization
    """

    parameterization: Parameterization

    def nll(self, free: FloatArray, ignoring: bool = False) -> tuple[float, FloatArray]:
        """Return the sum of -log P(class | features) over the rows, and its gradient; missing cells may be ignored."""
        values = self.parameterization.values(free)
        nll, gradient = (self.ignoring if ignoring else self.objective)(values, conditional_nll)
        return nll, self.parameterization.chain(gradient, values)

    def penalized(self, free: FloatArray, l2: float, ignoring: bool = False) -> tuple[float, FloatArray]:
        """Return the NLL plus l2 / 2 times the squared distance from the centre, and the gradient."""
        nll, gradient = self.nll(free, ignoring)
        return nll + self.penalty(free, l2), gradient + l2 * (free - self.parameterization.center)

    def penalty(self, free: FloatArray, l2: float) -> float:
        """Return l2 / 2 times the squared distance from the centre."""
        away = free - self.parameterization.center
        return 0.5 * l2 * float(away @ away)


class ConditionalLikelihood(ParameterLearner):
    """Base class of the three parameterizations.

    The terms of the class and its children are learned; every other node keeps its generative estimates, which
    no posterior of the class depends on. On a C1 structure (naive Bayes, TAN, KDB-1 and others) the result is
    normalized into a network with the same posterior (Wettig); on others ``ccbn-e`` gives a network,
    while ``ccbn-d`` and ``ccbn-w`` predict rightly but cannot be exported.

    In a row with missing cells, terms of a missing variable are left out in training. With ``missing="em"`` the
    classifier minimizes -log P(class | known cells) instead, marginalizing missing cells exactly, and the
    generative estimates are those of EM. The NLL is not convex then: the descent begins where the terms left out led
    it, or at `init` where that is lower, and may end in a local minimum.

    Parameters
    ----------
    init : {"generative", "zeros"}
        Where to start: at the generative estimates or at zeros.
    l2 : float or "cv"
        The strength of the penalty l2 / 2 times the squared free numbers (log parameters; in ``ccbn-e``, beta);
        "cv" chooses it by cross-validation, and is 1 where no class has rows for two folds. The paper has 0.
    max_iter : int
        The largest number of steps.
    tol : float
        Stop where the relative improvement of a step is at most this.
    alpha, floor : float
        The smoothing of the generative estimates, as in ``ml``.
    cv : int
        The number of folds for ``l2="cv"``; no more than the largest class has rows.
    precondition : bool
        Take steps in variables in which the objective is rounder at the start: about half as many steps on naive
        Bayes with many classes, but other steps than the paper's. Only where tables are small (naive Bayes, mostly),
        and for ``ccbn-d`` and ``ccbn-w`` with ``level=4`` and no back-off; else nothing changes.
    memory : int
        How many steps L-BFGS remembers. More help ``ccbn-d`` most; the paper is taken to have 5.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, optional
        Shuffles the folds of ``l2="cv"``; None takes them in order.
    verbose : int, optional
        1 reports the result, 2 every step.

    Attributes
    ----------
    nll_path_ : list of float
        The sum of -log P(class | features) over the training rows at the start and after each step.
    n_iter_ : int
        The number of steps.
    is_c1_ : bool
        Whether the structure is C1; the result is then a Bayesian network.
    l2_ : float
        The strength that was used.
    cv_nll_ : float array
        With ``l2="cv"``, the held-out NLL for each strength in ``L2_GRID``; not there where there were no two folds.
    """

    #: What messages call it.
    label: ClassVar[str]

    def __init__(
        self,
        init: str = "generative",
        l2: Any = "cv",
        max_iter: int = 500,
        tol: float = 1e-8,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: int = 5,
        precondition: bool = False,
        memory: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.init = init
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha
        self.floor = floor
        self.cv = cv
        self.precondition = precondition
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def parameterization(self, problem: Problem) -> Parameterization:
        """Return how the log parameters are written as free numbers."""

    def fit(self, table: Table, structure: Structure) -> LogTables:
        """Return the parameters of maximum conditional likelihood on the rows of `table`."""
        self._check()
        self.l2_ = self._choose_l2(table, structure) if self.l2 == "cv" else float(self.l2)
        problem = self.problem(table, structure)
        self.is_c1_ = problem.is_c1
        free = self._descend(problem)
        tables = problem.network(problem.parameterization.values(free))
        self._warn_of_underflow(tables, problem.terms)
        self._keep(problem, free)
        return tables

    def problem(self, table: Table, structure: Structure, n_jobs: int | None = None) -> ConditionalProblem:
        """Return the problem on the rows of `table`."""
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        problem = ConditionalProblem(table, structure, self.alpha, self.floor, n_jobs)
        problem.parameterization = self.parameterization(problem)
        return problem

    def start(self, problem: ConditionalProblem) -> FloatArray:
        """Return the free numbers that ``init`` asks for."""
        generative = problem.parameterization.generative
        return generative.copy() if self.init == "generative" else np.zeros_like(generative)

    def _first(self, problem: ConditionalProblem) -> FloatArray:
        """Return the free numbers to begin with: of a problem that is not convex, the minimum of one that mostly is."""
        free = self.start(problem)
        if not problem.marginal or self.max_iter == 0:
            return free
        objective = partial(problem.penalized, l2=self.l2_, ignoring=True)
        ignoring, _ = minimize(objective, free, _FIRST_TOL, self.max_iter, memory=self.memory)
        return min((free, ignoring), key=lambda point: problem.penalized(point, self.l2_)[0])

    def _descend(self, problem: ConditionalProblem) -> FloatArray:
        free = self._first(problem)
        self.nll_path_ = [problem.nll(free)[0]]

        def note(point: FloatArray, value: float) -> None:
            self.nll_path_.append(value - problem.penalty(point, self.l2_))
            if (self.verbose or 0) > 1:
                self._say(f"step {len(self.nll_path_) - 1}, NLL {self.nll_path_[-1]:.6f}")

        free, self.n_iter_ = self._minimize(problem, free, note)
        if self.verbose:
            self._say(f"{self.n_iter_} steps, NLL {self.nll_path_[0]:.6f} -> {self.nll_path_[-1]:.6f}")
        return free

    def _minimize(
        self, problem: ConditionalProblem, free: FloatArray, note: Callable[[FloatArray, float], None]
    ) -> tuple[FloatArray, int]:
        """Minimise from `free` on, in other variables if that is asked for and can be done."""
        penalized = partial(problem.penalized, l2=self.l2_)
        scale = problem.parameterization.scale
        rounder = None
        if self.precondition and scale is not None and self.max_iter > 0:
            point = replace(problem.terms, values=problem.parameterization.values(free))
            with threadpool_limits(1):
                rounder = Preconditioner.of(point, problem.table, scale, self.l2_)
        if rounder is None:
            return minimize(penalized, free, self.tol, self.max_iter, note, self.memory)

        def changed(z: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = penalized(rounder.to_free(z))
            return value, rounder.chain(gradient)

        def note_free(z: FloatArray, value: float) -> None:
            note(rounder.to_free(z), value)

        z, n_iter = minimize(changed, rounder.from_free(free), self.tol, self.max_iter, note_free, self.memory)
        return rounder.to_free(z), n_iter

    def _say(self, what: str) -> None:
        print(f"{self.label}: {what}", file=sys.stderr, flush=True)

    def _choose_l2(self, table: Table, structure: Structure) -> float:
        """Return the strength from ``L2_GRID`` with the smallest NLL on held-out folds; the larger of tied ones."""
        most = int(np.bincount(table.column(table.target_index)).max())
        cv: Any = self.cv
        n_folds = min(cv, most) if isinstance(cv, Integral) else cv
        if n_folds == 1:
            return 1.0
        parts = [InnerFold(train, structure, test) for train, test in folds(table, n_folds, self.random_state)]
        self.cv_nll_ = held_out(parts, partial(self.problem, n_jobs=1), self._held_out, self.n_jobs)
        return L2_GRID[int(self.cv_nll_.argmin())]

    def _held_out(self, problem: ConditionalProblem, rows: Objective) -> list[float]:
        """Return the NLL on held-out rows for each strength, learned on the others."""
        free, result = self.start(problem), []
        for l2 in L2_GRID:
            objective = partial(problem.penalized, l2=l2)
            free, _ = minimize(objective, free, self.tol, self.max_iter, memory=self.memory)
            result.append(rows(problem.parameterization.values(free), conditional_nll)[0])
        return result

    def _keep(self, problem: ConditionalProblem, free: FloatArray) -> None:
        """Store further results in attributes."""

    def _check(self) -> None:
        if self.init not in ("generative", "zeros"):
            raise ValueError(f'init={self.init!r} must be "generative" or "zeros"')
        if self.l2 != "cv" and not (isinstance(self.l2, Real) and 0 <= float(self.l2) < np.inf):
            raise ValueError(f'l2={self.l2!r} must be a number that is not negative, or "cv"')
        check_numbers(self, "alpha", "floor", "max_iter", "tol")
        memory: Any = self.memory
        if not isinstance(memory, Integral) or memory < 1:
            raise ValueError(f"memory={memory!r} must be a whole number from 1 on")
        if self.alpha == self.floor == 0:
            raise ValueError(f"alpha={self.alpha}, floor={self.floor}: one must be positive, for finite logarithms")

    def _warn_of_underflow(self, tables: LogTables, terms: Terms) -> None:
        lowest = min((tables.tables[tables.names[node]].values.min(), tables.names[node]) for node in terms.nodes)
        if lowest[0] < _LOWEST:
            warnings.warn(
                f"{self.label}: log parameters of {lowest[1]!r} go down to {lowest[0]:.0f}, and probabilities below "
                f"exp({_LOWEST:.0f}) are lost in files and other programs; a small l2, such as l2=0.01, prevents it",
                BnplugWarning,
                stacklevel=3,
            )


class Discriminative(ConditionalLikelihood):
    """``ccbn-d``: free log parameters (Zaidi et al. 2017, section 3). On naive Bayes this is logistic regression.

    Its parameters and attributes are those of :class:`ConditionalLikelihood`.
    """

    label = "ccbn-d"

    def parameterization(self, problem: Problem) -> Parameterization:
        """Return the log parameters as they are."""
        return Free(problem.terms.values)


class Extended(ConditionalLikelihood):
    """``ccbn-e``: theta = softmax(beta) in each column, so always a network (section 4; ELR).

    On a structure that is not C1 its minimum can be above that of ``ccbn-d``, and it may find a local one.
    Its parameters and attributes are those of :class:`ConditionalLikelihood`; ``l2`` draws beta to zero.
    """

    label = "ccbn-e"

    def parameterization(self, problem: Problem) -> Parameterization:
        """Return the softmax of each column."""
        return Softmax(problem.terms.values, problem.columns)


class Weighted(ConditionalLikelihood):
    """``ccbn-w``: generative log parameters, fixed, each times a free weight (section 5).

    Parameters
    ----------
    init : {"generative", "zeros"}
        Where to start: with weights of 1, which is the generative classifier, or of 0.
    level : int
        4: a weight for each value, class and parent value; 3: for each value and class; 2: for each value; 1: for each
        attribute. The higher, the more the generative classifier can be corrected.
    l2 : float or "cv"
        The strength of the penalty l2 / 2 times the squared distance of the weights from `l2_center`;
        "cv" chooses it by cross-validation. The paper has 0.
    l2_center : {0, 1}
        What weights are drawn to: 1 is the generative classifier.
    backoff : bool
        Where a value and parent value never occur together in training, use P(value | class) with a weight
        for the value and class, learned from all rows with that value.
    max_iter, tol, alpha, floor, cv, precondition, memory, n_jobs, random_state, verbose
        See :class:`ConditionalLikelihood`.

    Attributes
    ----------
    weights_ : dict of str to float array
        For the class and each of its children: axes (node, *parents) at level 4, (node, class) at level 3, (node,)
        at level 2 and () at level 1; those of the class are (class,) at level 3, and () below.
    backoff_weights_ : dict of str to float array
        With `backoff` at level 4: the weights of P(value | class), with axes (node, class).
    nll_path_, n_iter_, is_c1_, l2_, cv_nll_
        See :class:`ConditionalLikelihood`.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug.table.table import Table
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1, 1], "c": [0, 0, 1, 1, 0]}), "c")
    >>> learner = Weighted(level=1)
    >>> learner.fit(table, Structure(table.names, [[1], []])).normalized
    True
    >>> sorted(learner.weights_), learner.nll_path_[-1] < learner.nll_path_[0]
    (['c', 'x'], True)
    """

    label = "ccbn-w"

    def __init__(
        self,
        init: str = "generative",
        level: int = 4,
        l2: Any = "cv",
        l2_center: float = 1.0,
        backoff: bool = False,
        max_iter: int = 500,
        tol: float = 1e-8,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: int = 5,
        precondition: bool = False,
        memory: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        super().__init__(init, l2, max_iter, tol, alpha, floor, cv, precondition, memory, n_jobs, random_state, verbose)
        self.level = level
        self.l2_center = l2_center
        self.backoff = backoff

    def parameterization(self, problem: Problem) -> Parameterization:
        """Return the weights of the generative estimates."""
        terms, table = problem.terms, problem.table
        if self.backoff:
            return backing_off(terms, problem.generative, table, self.level, self.l2_center, self.alpha, self.floor)
        return weighted(terms, table, self.level, self.l2_center)

    def _check(self) -> None:
        super()._check()
        if self.level not in (1, 2, 3, 4):
            raise ValueError(f"level={self.level!r} must be 1, 2, 3 or 4")
        if self.l2_center not in (0, 1):
            raise ValueError(f"l2_center={self.l2_center!r} must be 0 or 1")

    def _keep(self, problem: ConditionalProblem, free: FloatArray) -> None:
        assert isinstance(problem.parameterization, Rescaled)
        (table, weights), *lower = problem.parameterization.split(free)
        self.weights_ = _by_node(problem, weights[table.number], self.level)
        if lower:
            table, weights = lower[0]
            self.backoff_weights_ = _by_node(problem, weights[table.number], level=3)


def _by_node(problem: Problem, entries: FloatArray, level: int) -> dict[str, FloatArray]:
    """Return the weights of each node, given for every entry of the terms' values, with the axes that `level` has."""
    target = problem.table.target
    expanded = problem.tables(entries)
    result = {}
    for node in problem.terms.nodes:
        name = expanded.names[node]
        parents, values = expanded.tables[name]
        kept = [level == 4 or (level >= 3 if v == target else level >= 2 and v == name) for v in (name, *parents)]
        result[name] = values[tuple(slice(None) if keep else 0 for keep in kept)]
    return result
