"""Choosing lam and gamma by cross-validation, along growing lam: each fit starts where the one before ended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from bnplug.gradient import Objective, classified
from bnplug.scoring import draw_folds
from bnplug.typing import FloatArray, IntArray
from bnplug_mlbnsvm.problem import Problem, Setting

if TYPE_CHECKING:
    from bnplug.data.table import Table
    from bnplug.typing import DAG

#: The paper's grids.
GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)
LAMS = (0.0, *(2.0**exponent for exponent in range(-2, 11)))


def cross_validate(
    table: Table,
    dag: DAG,
    lams: Sequence[float],
    gammas: Sequence[float],
    setting: Setting,
    alpha: float,
    cv: Any,
    random_state: Any,
    n_jobs: int | None,
) -> FloatArray:
    """Return the accuracy on held-out rows, one row for each of `gammas`, one column for each of `lams`, ascending.

    Parameters
    ----------
    setting : Setting
        All but its ``lam`` and ``gamma`` is used.
    cv : int or splitter
        A number is that of stratified folds, shuffled where `random_state` is given.
    n_jobs : int, optional
        Threads, each for a fold and a gamma; the result does not depend on it.
    """
    random = None if random_state is None else check_random_state(random_state)
    with warnings.catch_warnings():
        # A class with fewer rows than folds is absent from some of them, which an accuracy can bear.
        warnings.simplefilter("ignore", UserWarning)
        folds = draw_folds(table, cv, random)
    if folds is None:
        raise ValueError("cv=None: lam and gamma are chosen on held-out rows; give a number of folds or a splitter")
    run = Parallel(n_jobs=n_jobs, require="sharedmem")
    # The limit holds for the process; set here, it is not lifted by whichever fold ends first.
    with threadpool_limits(1):
        found = run(
            delayed(_held_out)(table, dag, folds, fold, lams, replace(setting, gamma=gamma), alpha)
            for fold in range(folds.max() + 1)
            for gamma in gammas
        )
    right = np.array(found).reshape(-1, len(gammas), len(lams)).sum(axis=0)
    tested = folds >= 0
    return np.asarray(right / (tested.sum() if table.weights is None else table.weights[tested].sum()))


def choose(accuracy: FloatArray, lams: Sequence[float], gammas: Sequence[float]) -> tuple[float, float]:
    """Return the lam and gamma of the best accuracy; of tied ones the smallest lam, then the smallest gamma.

    So of settings that classify alike the most generative one is taken.

    Examples
    --------
    >>> choose(np.array([[0.7, 0.9], [0.7, 0.9]]), lams=(0.0, 1.0), gammas=(1.0, 5.0))
    (1.0, 1.0)
    """
    best = accuracy >= accuracy.max() - 1e-12
    column, row = np.argwhere(best.T)[0]
    return float(lams[column]), float(gammas[row])


def _held_out(
    table: Table, dag: DAG, folds: IntArray, fold: int, lams: Sequence[float], setting: Setting, alpha: float
) -> list[float]:
    """Return the weight of the rows of a fold that are classified rightly, for each lam."""
    problem = Problem.of(table.take(np.flatnonzero(folds != fold)), dag, alpha, n_jobs=1)
    test = Objective(problem.terms, table.take(np.flatnonzero(folds == fold)), n_jobs=1)
    point, result = None, []
    for lam in lams:
        point = problem.solve(replace(setting, lam=lam), point).point
        result.append(test(point, classified)[0])
    return result
