"""Accelerated projected gradient descent over log parameters whose columns are sub-normalized.

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

# Each search starts with a step this much longer, and halves it until the objective is low enough.
_LONGER, _SHORTER = 1.1, 0.5
_MAX_HALVINGS = 60
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Descent:
    """The end of a descent: the best point, the objective at the start and after each step, and :func:`optimality`.

    The columns of the point are sub-normalized, the path never rises, and the optimality is relative to the objective.
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
    """Minimize a convex function over sub-normalized columns.

    Parameters
    ----------
    objective : function
        Returns a value and its gradient.
    start : float64 array
        Sub-normalized.
    weights : float64 array
        Positive; the metric of the gradient and of the projection.
    columns : Columns
    tol : float
        Stop when the relative optimality is at most this.
    max_iter : int
        The maximum number of steps.
    callback : function, optional
        Called with the number of each step and the objective after it.
    """
    point, ahead = start, start
    value, gradient = objective(point)
    path, momentum, step = [value], 1.0, 1.0
    measure = optimality(point, gradient, columns)
    while measure > tol * abs(value) and len(path) <= max_iter:
        base = (value, gradient) if ahead is point else objective(ahead)
        step, moved, trial = _search(objective, ahead, base, step, weights, columns)
        if trial[0] > value:
            if ahead is point:
                break  # No step helps: only rounding is left.
            ahead, momentum = point, 1.0  # The momentum led uphill: restart without it.
            continue
        if momentum == 1.0 or dot(ahead - moved, weights * (moved - point)) > 0.0:
            ahead, momentum = moved, 0.5 * (1.0 + math.sqrt(5.0))
        else:
            growing = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead, momentum = moved + (momentum - 1.0) / growing * (moved - point), growing
        point, (value, gradient) = moved, trial
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
    """Return a step after which the objective is below the parabola that the step minimizes, its end and objective."""
    value, gradient = base
    for _ in range(_MAX_HALVINGS):
        moved = project(ahead - step * gradient / weights, weights, columns)
        away = moved - ahead
        trial = objective(moved)
        bound = value + dot(gradient, away) + dot(away, weights * away) / (2.0 * step)
        if trial[0] <= bound + _ROUNDING * abs(value):
            break
        step *= _SHORTER
    return step, moved, trial


def dot(one: FloatArray, other: FloatArray) -> float:
    """Return the inner product without BLAS, whose threads would wait for each other."""
    return float(np.einsum("i,i", one, other))


def optimality(point: FloatArray, gradient: FloatArray, columns: Columns) -> float:
    """Return a measure of the distance from the minimum: 0 at the minimum, and positive elsewhere.

    With p = -gradient > 0 and P the sum of p, the duality gap of a column is P KL(p / P || exp(point)). A negative p
    adds |p|, the gain of a move of length one.
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
