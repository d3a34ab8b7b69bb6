"""Projection onto sub-normalized columns, the feasible set of problems (10) and (11) of Peharz et al. (2013).

The nearest point to a column z* with log-sum-exp <= 0, in a metric with a positive weight d for each entry, is z*
itself if it is inside. Otherwise it is z = z* - w, where w is the Wright omega function (Lambert's W of an exponential)
of log(nu / d) + z*, and nu > 0 is the number for which the column sums to one.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.gradient import Columns
from bnplug.typing import FloatArray

# The largest deviation of a projected column's sum from 1; up to ten times that counts as inside.
_ROUNDING = 1e-13
# Newton's method takes a handful of steps, bisection at most a hundred.
_MAX_STEPS = 200


def project(point: FloatArray, weights: FloatArray, columns: Columns) -> FloatArray:
    """Return the nearest point whose columns have a log-sum-exp of at most 0.

    The squared distance is the sum of ``weights * (a - b)**2``, with positive weights.

    Examples
    --------
    >>> one = np.array([1])
    >>> column = Columns(starts=np.array([0]), outer=one, states=np.array([3]), inner=one)
    >>> project(np.array([1.0, 1.0, -50.0]), np.ones(3), column).round(4).tolist()
    [-0.6931, -0.6931, -50.0]
    """
    result = np.empty_like(point)
    project_columns(point, weights, columns.starts, columns.outer, columns.states, columns.inner, result)
    return result


@kernel
def project_columns(point, weights, starts, outer, states, inner, result):  # type: ignore[no-untyped-def]
    """Project every column; `point`, `weights` and `result` are flat, the others as in Columns."""
    most = 0
    for r in states:
        most = max(most, r)
    column, metric, shifted, omega = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    for t in range(starts.shape[0]):
        r, q = states[t], inner[t]
        for o in range(outer[t]):
            for i in range(q):
                first = starts[t] + o * r * q + i
                for j in range(r):
                    column[j], metric[j] = point[first + j * q], weights[first + j * q]
                _project_column(column[:r], metric[:r], shifted[:r], omega[:r])
                for j in range(r):
                    result[first + j * q] = column[j]


@inner_kernel
def _project_column(column, weights, shifted, omega):  # type: ignore[no-untyped-def]
    """Project one column of K entries in place, by Newton's method for log nu within a shrinking bracket.

    The column sums to the sum of weights * omega / nu. shifted, omega : float64 (K,), scratch.
    """
    size = column.shape[0]
    largest, total = column[0], 0.0
    for j in range(1, size):
        largest = max(largest, column[j])
    for j in range(size):
        omega[j] = np.exp(column[j] - largest)
        total += omega[j]
    outside = largest + np.log(total)
    if outside <= 10.0 * _ROUNDING:
        return
    lightest, heaviest, bend = weights[0], weights[0], 0.0
    for j in range(size):
        lightest, heaviest = min(lightest, weights[j]), max(heaviest, weights[j])
        bend += (omega[j] / total) ** 2 / weights[j]
        shifted[j] = column[j] - np.log(weights[j])
    low = np.log(lightest * outside)
    high = np.log(heaviest * size * (outside + np.log(size)))
    # One step of Newton's method for nu from 0: exact for points just outside.
    log_nu = min(max(np.log(outside / bend), low), high)
    step = np.inf
    for _ in range(_MAX_STEPS):
        _move_omega(log_nu, step, shifted, omega)
        total, slope, nu = 0.0, 0.0, np.exp(log_nu)
        for j in range(size):
            part = weights[j] * omega[j] / nu
            total += part
            slope += part * omega[j] / (1.0 + omega[j])
        low, high = (log_nu, high) if total > 1.0 else (low, log_nu)
        step = np.log(total) * total / slope
        if not low < log_nu + step < high:
            step = 0.5 * (low + high) - log_nu
        if abs(total - 1.0) <= _ROUNDING or abs(step) <= _ROUNDING * max(1.0, abs(log_nu)):
            break
        log_nu += step
    for j in range(size):
        # Both are equal; each is exact where the other subtracts large numbers.
        column[j] = column[j] - omega[j] if omega[j] < 1.0 else np.log(omega[j]) + np.log(weights[j]) - log_nu


@inner_kernel
def _move_omega(log_nu, step, shifted, omega):  # type: ignore[no-untyped-def]
    """Set omega to the Wright omega function of log nu + shifted, after log nu has moved by `step`."""
    for j in range(omega.shape[0]):
        if abs(step) > 0.01:
            omega[j] = wright_omega(log_nu + shifted[j])
        else:
            guess = omega[j] * (1.0 + step / (1.0 + omega[j]))
            omega[j] = _refine(guess, log_nu + shifted[j])


@kernel
def wright_omega(x):  # type: ignore[no-untyped-def]
    """Return the solution w > 0 of w + log w = x."""
    if x < -36.0:
        return np.exp(x)
    if x < -2.0:
        power = np.exp(x)
        guess = power * (1.0 - power)
    elif x < 3.0:
        # The series around x = 1, where w = 1.
        d = x - 1.0
        guess = 1.0 + d * (0.5 + d * (0.0625 - d * 0.005208333333333333))
    else:
        log_x = np.log(x)
        guess = x - log_x + log_x / x
    return _refine(_refine(guess, x), x)


@inner_kernel
def _refine(w, x):  # type: ignore[no-untyped-def]
    """One step of fourth order towards w + log w = x (Fritsch, Shafer, Crowley 1973)."""
    if x < -36.0:
        return np.exp(x)
    rest = x - w - np.log(w)
    above = 1.0 + w
    t = above * (above + rest * (2.0 / 3.0))
    return w * (1.0 + rest / above * (t - 0.5 * rest) / (t - rest))
