"""Choosing lam and gamma by cross-validation, along growing lam: each fit starts where the one before ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.gradient import Objective, classified, held_out
from bnplug.typing import FloatArray
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

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
    found = held_out(
        table,
        cv,
        lambda rows: LargeMarginProblem(rows, dag, alpha, n_jobs=1),
        [partial(_held_out, lams=lams, setting=replace(setting, gamma=gamma)) for gamma in gammas],
        random_state,
        n_jobs,
    )
    return np.asarray(found.sums / found.weight)


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


def _held_out(problem: LargeMarginProblem, rows: Objective, lams: Sequence[float], setting: Setting) -> list[float]:
    """Return the weight of the held-out rows that are classified rightly, for each lam."""
    point, result = None, []
    for lam in lams:
        point = problem.solve(replace(setting, lam=lam), point).point
        result.append(rows(point, classified)[0])
    return result
