"""Accelerated projected gradient descent over log parameters whose columns are sub-normalised.

FISTA (Beck and Teboulle 2009) with a line search for the step and adaptive restart of its momentum (O'Donoghue and
Candès 2015), in a metric with a weight for each entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnplug.compiling import kernel
from bnplug.gradient import Columns
from bnplug.typing import FloatArray
from bnplug_mlbnsvm.projection import project

# The step is tried this much longer each time, and shortened by half while the line search fails.
_LONGER, _SHORTER = 1.1, 0.5
_MAX_HALVINGS = 60
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Descent:
    """Where a descent ended.

    Attributes
    ----------
    point : float64 array
        The best point; its columns are sub-normalised.
    path : list of float
        The objective at the start and after each step; it never rises.
    optimality : float
        What :func:`optimality` says about the point, relative to the objective.
    """

    point: FloatArray
    path: list[float]
    optimality: float


def descend(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    weights: FloatArray,
    columns: Columns,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], None] | None = None,
) -> Descent:
    """Minimise a convex function over sub-normalised columns.

    Parameters
    ----------
    objective : function
        Returns a value and its gradient.
    start : float64 array
        Sub-normalised.
    weights : float64 array
        Positive; the metric in which the gradient is taken, and in which points are projected.
    columns : Columns
    tol : float
        Stop where the relative optimality is at most this.
    max_iter : int
        The largest number of steps.
    callback : function, optional
        Is given the number of each step and the objective after it.

    Examples
    --------
    Maximum likelihood: counts of 1 and 3 give probabilities of a quarter and three quarters.

    >>> one, counts = np.array([1]), np.array([1.0, 3.0])
    >>> column = Columns(starts=np.array([0]), outer=one, states=np.array([2]), inner=one)
    >>> start = np.log([0.5, 0.5])
    >>> found = descend(lambda x: (-float(counts @ x), -counts), start, counts, column, 1e-9, 100)
    >>> np.exp(found.point).round(4).tolist()
    [0.25, 0.75]
    """
    point, ahead = start, start
    value, gradient = objective(point)
    path, momentum, step = [value], 1.0, 1.0
    measure = optimality(point, gradient, columns)
    while measure > tol * abs(value) and len(path) <= max_iter:
        base = (value, gradient) if ahead is point else objective(ahead)
        step, moved, found = _search(objective, ahead, base, step, weights, columns)
        if found[0] > value:
            if ahead is point:
                break  # No step helps: what is left is rounding.
            ahead, momentum = point, 1.0  # The momentum led uphill: start again without it.
            continue
        if momentum == 1.0 or dot(ahead - moved, weights * (moved - point)) > 0.0:
            ahead, momentum = moved, 0.5 * (1.0 + math.sqrt(5.0))
        else:
            growing = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead, momentum = moved + (momentum - 1.0) / growing * (moved - point), growing
        point, (value, gradient) = moved, found
        step *= _LONGER
        measure = optimality(point, gradient, columns)
        path.append(value)
        if callback is not None:
            callback(len(path) - 1, value)
    return Descent(point, path, measure / max(abs(value), np.finfo(np.float64).tiny))


def _search(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    ahead: FloatArray,
    base: tuple[float, FloatArray],
    step: float,
    weights: FloatArray,
    columns: Columns,
) -> tuple[float, FloatArray, tuple[float, FloatArray]]:
    """Return a step short enough, where it leads, and the objective there.

    Short enough: the objective is below the parabola that the step is the minimum of.
    """
    value, gradient = base
    for _ in range(_MAX_HALVINGS):
        moved = project(ahead - step * gradient / weights, weights, columns)
        away = moved - ahead
        found = objective(moved)
        bound = value + dot(gradient, away) + dot(away, weights * away) / (2.0 * step)
        if found[0] <= bound + _ROUNDING * abs(value):
            break
        step *= _SHORTER
    return step, moved, found


def dot(one: FloatArray, other: FloatArray) -> float:
    """Return the inner product, in this thread: those of BLAS wait for each other for longer than this takes."""
    return float(np.einsum("i,i", one, other))


def optimality(point: FloatArray, gradient: FloatArray, columns: Columns) -> float:
    """Return how far a point is from the minimum, by the objective's gradient: 0 there, and positive elsewhere.

    With forces p = -gradient, a column of positive forces gains P KL(p / P || exp(point)) by moving to its best place,
    P the sum of p; this is its duality gap. A negative force, which no place balances, counts as |p|: what is gained
    by a move of length one.
    """
    return float(_optimality(point, gradient, columns.starts, columns.outer, columns.states, columns.inner))


@kernel
def _optimality(point, gradient, starts, outer, states, inner):  # type: ignore[no-untyped-def]
    """The sum over columns; shapes as in Columns."""
    result = 0.0
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        for o in range(outer[t]):
            for i in range(q):
                first = starts[t] + o * r * q + i
                total = 0.0
                for j in range(r):
                    total += max(0.0, -gradient[first + j * q])
                for j in range(r):
                    force = -gradient[first + j * q]
                    if force > 0.0:
                        result += force * (np.log(force / total) - point[first + j * q])
                    else:
                        result -= force
    return result
