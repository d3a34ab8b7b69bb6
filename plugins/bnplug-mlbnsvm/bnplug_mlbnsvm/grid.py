"""Choose lam and gamma by cross-validation along growing lam; each fit starts at the previous solution.

The first half of the lams is tried on all folds. The other half, which takes longer, is tried fold by fold, up to the
last lam that can still win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from bnplug.compiling import run_in_threads
from bnplug.contracts import InnerFold
from bnplug.gradient import classified, folds
from bnplug.typing import FloatArray, IntArray
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting

if TYPE_CHECKING:
    from bnplug import Structure
    from bnplug.table.table import Table

#: The paper's grids.
GAMMAS = (0.1, 1.0, 5.0, 10.0, 15.0, 20.0)
LAMS = (0.0, *(2.0**exponent for exponent in range(-2, 11)))

# Accuracies that differ by less are tied.
_TIE = 1e-12


def cross_validate(
    table: Table,
    structure: Structure,
    lams: Sequence[float],
    gammas: Sequence[float],
    setting: Setting,
    alpha: float,
    cv: Any,
    random_state: Any,
    n_jobs: int | None,
    given: Sequence[InnerFold] | None = None,
) -> FloatArray:
    """Return the accuracy on held-out rows, one row for each of `gammas`, one column for each of `lams`, ascending.

    A setting that can no longer win keeps its accuracy on the folds so far, which is below the best.

    Parameters
    ----------
    setting : Setting
        Its ``lam`` and ``gamma`` are ignored.
    cv, random_state
        As in :func:`bnplug.gradient.folds`.
    n_jobs : int, optional
        Threads over folds and gammas; the result does not depend on it.
    given : sequence of InnerFold, optional
        Folds with their own cuts and structures, instead of folds of `table`.
    """
    parts = given or [InnerFold(train, structure, test) for train, test in folds(table, cv, random_state)]
    settings = [replace(setting, gamma=gamma) for gamma in gammas]
    paths = [[_Path(part, alpha, lams, each) for each in settings] for part in parts]
    weights = np.array([part.held_out.total_weight for part in parts])
    # The limit holds for the whole process; set here, the first path to end does not lift it.
    with threadpool_limits(1):
        half = np.full(len(gammas), (len(lams) + 1) // 2)
        _follow([path for fold in paths for path in fold], np.tile(half, len(parts)), n_jobs)
        for k, fold in enumerate(paths):
            right = _right(paths, len(lams))
            _follow(fold, np.maximum(half, reach(right, weights, k)), n_jobs)
    right = _right(paths, len(lams))
    return np.asarray(np.nansum(right, axis=0) / np.tensordot(weights, ~np.isnan(right), 1))


def reach(right: FloatArray, weights: FloatArray, n_done: int) -> IntArray:
    """Return for each gamma the number of lams up to the last one that can still win.

    Parameters
    ----------
    right : float64 array of shape (folds, gammas, lams)
        The weight of correctly classified rows, NaN if unknown.
    weights : float64 array of shape (folds,)
        The weight of all held-out rows.
    n_done : int
        The number of folds on which all settings are known or given up.

    Examples
    --------
    With one fold of ten rows left, 5 of 10 cannot reach the 16 of lam 0, but 7 of 10 can.

    >>> right = np.array([[[8.0, 7.0, 5.0]], [[8.0, np.nan, np.nan]]])
    >>> reach(right, np.array([10.0, 10.0]), 1).tolist()
    [2]
    """
    best = np.max(right.sum(axis=0), initial=0.0, where=~np.isnan(right).any(axis=0))
    most = np.nansum(right[:n_done], axis=0) + weights[n_done:].sum()
    given_up = np.isnan(right[:n_done]).any(axis=0)
    alive = ~given_up & (most >= best - _TIE * weights.sum())
    return np.asarray(np.max(np.where(alive, np.arange(1, right.shape[2] + 1), 0), axis=1))


class _Path:
    """The fits of one fold and one gamma along growing lam; `right` holds the weight of correct rows for each lam."""

    def __init__(self, fold: InnerFold, alpha: float, lams: Sequence[float], setting: Setting):
        self._fold, self._alpha, self._lams, self._setting = fold, alpha, lams, setting
        self.gamma = setting.gamma
        self._point: FloatArray | None = None
        self.right: list[float] = []

    def follow(self, length: int) -> None:
        """Continue until the first `length` lams are fitted."""
        if len(self.right) >= length:
            return
        problem = LargeMarginProblem(self._fold.train, self._fold.structure, self._alpha, n_jobs=1)
        rows = problem.over(self._fold.held_out, n_jobs=1)
        for lam in self._lams[len(self.right) : length]:
            self._point = problem.solve(replace(self._setting, lam=lam), self._point).point
            self.right.append(rows(self._point, classified)[0])


def _follow(paths: Sequence[_Path], lengths: IntArray, n_jobs: int | None) -> None:
    # Large margins take longest, so they start first.
    ahead = sorted(zip(paths, lengths.tolist(), strict=True), key=lambda path: -path[0].gamma)
    run_in_threads(lambda path, length: path.follow(length), *zip(*ahead, strict=True), n_jobs=n_jobs)


def _right(paths: Sequence[Sequence[_Path]], n_lams: int) -> FloatArray:
    """Return the weights of correct rows, of shape (folds, gammas, lams); NaN if unknown."""
    result = np.full((len(paths), len(paths[0]), n_lams), np.nan)
    for fold, rows in zip(paths, result, strict=True):
        for path, row in zip(fold, rows, strict=True):
            row[: len(path.right)] = path.right
    return result


def choose(accuracy: FloatArray, lams: Sequence[float], gammas: Sequence[float]) -> tuple[float, float]:
    """Return the lam and gamma of the best accuracy; ties go to the smallest lam, then the smallest gamma."""
    best = accuracy >= accuracy.max() - _TIE
    column, row = np.argwhere(best.T)[0]
    return float(lams[column]), float(gammas[row])
