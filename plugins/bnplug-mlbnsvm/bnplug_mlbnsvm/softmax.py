"""Descents over networks: every CPT column is the softmax of free numbers.

On a small table Python takes most of the time of an L-BFGS step, and threads wait for each other. There the L-BFGS and
the line search of :func:`bnplug.gradient.minimize` run in one compiled loop, with the same steps up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bnplug.compiling import inner_kernel, kernel
from bnplug.gradient import (
    Columns,
    CompactRows,
    Loss,
    Objective,
    add_gradient,
    exponential,
    fill_log_joint,
    minimize,
    two_loop,
)
from bnplug.typing import FloatArray, IntArray
from bnplug_mlbnsvm.descent import Descent
from bnplug_mlbnsvm.slack import soft_slack
from bnplug_mlbnsvm.trials import BEST, OTHER, SHRINK, TRIAL, next_step, set_trial, subtract_line

# After this many steps Python gets control, to handle Ctrl-C.
_STEPS_AT_ONCE = 100
# The constants of bnplug.gradient.minimize.
_REMEMBERED, _MAX_TRIALS, _ROUNDING = 20, 20, float(np.finfo(np.float64).eps)
_DECREASE, _CURVATURE, _NARROW, _LONGEST, _LEAST_GROWTH, _MOST_GROWTH = 1e-3, 0.9, 0.1, 1e10, 1.1, 4.0
# Rows of `_State.vectors`, and entries of `_State.counters`.
_AT, _AT_GRADIENT, _PLACE, _GRADIENT, _DIRECTION, _CHANGE = range(6)
_N_ITER, _COUNT, _NEWEST = range(3)
# Sums are kept in this many parts, which the processor adds in parallel; four products are added at once.
_LANES, _AT_ONCE = 32, 4


class SoftmaxProblem(NamedTuple):
    """Minimize ``factor * (sum of a loss) - counts @ log theta``, where theta is the softmax of every column of beta.

    `params` are the parameters of the loss; `counts` and the positive `scale` have one number for each entry of the
    terms' values. The descent moves beta * scale: with the square roots of counts, the objective has a similar
    curvature along each entry.
    """

    objective: Objective
    loss: Loss
    params: FloatArray
    counts: FloatArray
    columns: Columns
    scale: FloatArray
    factor: float = 1.0

    def minimize(
        self, start: FloatArray, tol: float, max_iter: int, callback: Callable[[int, float], None] | None = None
    ) -> Descent:
        """Descend by L-BFGS from log parameters; `tol` and `max_iter` are those of :func:`bnplug.gradient.minimize`.

        The callback receives the number of each step and the objective after it. The optimality of the result is the
        largest absolute derivative.
        """
        rows = self.objective.compact_rows if self.loss is soft_slack else None
        if rows is not None and start.size > 0 and max_iter > 0:
            return self._minimize_compiled(rows, start, tol, max_iter, callback)
        scale = self.scale

        def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
            log_theta = self.columns.log_softmax(scaled / scale)
            value, gradient = self.objective(log_theta, self.loss, self.params)
            gradient *= self.factor
            gradient -= self.counts
            gradient = self.columns.chain(gradient, log_theta)
            gradient /= scale
            return self.factor * value - float(np.einsum("i,i", self.counts, log_theta)), gradient

        path = [objective(start * scale)[0]]

        def note(_: FloatArray, value: float) -> None:
            path.append(value)
            if callback is not None:
                callback(len(path) - 1, value)

        scaled, _ = minimize(objective, start * scale, tol, max_iter, note)
        steepest = float(np.abs(objective(scaled)[1]).max(initial=0.0))
        return Descent(self.columns.log_softmax(scaled / scale), path, steepest)

    def _minimize_compiled(
        self,
        rows: CompactRows,
        start: FloatArray,
        tol: float,
        max_iter: int,
        callback: Callable[[int, float], None] | None,
    ) -> Descent:
        columns, path = self.columns, np.empty(max_iter + 1)
        state = _State.at(start * self.scale)
        setting = _Setting(
            columns.starts, columns.outer, columns.states, columns.inner, self.scale, self.counts, float(self.factor),
            self.params, np.empty((3, start.size)), np.empty(rows.joint.shape[1], dtype=np.int64),
        )  # fmt: skip
        at_once, ended, reported = _STEPS_AT_ONCE if callback is None else 1, False, 0
        while not ended:
            ended = _descend(at_once, tol, max_iter, path, state, setting, rows)
            n_iter = int(state.counters[_N_ITER])
            if callback is not None and n_iter > reported:
                callback(n_iter, float(path[n_iter]))
                reported = n_iter
        values = columns.log_softmax(state.vectors[_AT] / self.scale)
        return Descent(values, path[: n_iter + 1].tolist(), float(np.abs(state.vectors[_AT_GRADIENT]).max()))


class _Setting(NamedTuple):
    """The compiled objective: the arrays of Columns and SoftmaxProblem, and room for log theta, theta and sums."""

    starts: IntArray
    outer: IntArray
    states: IntArray
    inner: IntArray
    scale: FloatArray
    counts: FloatArray
    factor: float
    params: FloatArray
    room: FloatArray
    others: IntArray


class _State(NamedTuple):
    """The state of a descent between calls: vectors, remembered steps and changes, their products, and counters."""

    vectors: FloatArray
    memory: FloatArray
    steps_changes: FloatArray
    changes: FloatArray
    shares: FloatArray
    lanes: FloatArray
    trials: FloatArray
    value: FloatArray
    order: IntArray
    counters: IntArray

    @classmethod
    def at(cls, start: FloatArray) -> _State:
        """Return the state before the first evaluation."""
        n, m = start.size, _REMEMBERED
        shapes = ((6, n), (2 * m, n), (m, m), (m, m), (3, 2 * m), (2, _LANES), (3, 3), (2,))
        state = cls._make([*map(np.zeros, shapes), np.zeros(m, dtype=np.int64), np.array([-1, 0, -1])])
        state.vectors[_PLACE] = start
        return state


@kernel
def _descend(n_steps, tol, max_iter, path, state, setting, rows):  # type: ignore[no-untyped-def]
    """Take at most `n_steps` steps and return whether the descent has ended; ``path[k]`` is the value after k steps."""
    vectors, lanes, counters = state.vectors, state.lanes, state.counters
    if counters[_N_ITER] < 0:
        counters[_N_ITER] = 0
        path[0] = _evaluate(vectors, setting, rows)
        _arrive(path[0], state)
    until = min(counters[_N_ITER] + n_steps, max_iter)
    while counters[_N_ITER] < until:
        # The condition is False if the squared gradient is NaN.
        if not _dot(vectors, _AT_GRADIENT, _AT_GRADIENT, lanes) > 0.0:
            return True
        _direct(state)
        slope = _dot(vectors, _AT_GRADIENT, _DIRECTION, lanes)
        first = 1.0 if counters[_N_ITER] > 0 else 1.0 / math.sqrt(_dot(vectors, _DIRECTION, _DIRECTION, lanes))
        if not slope >= 0.0 and _search(slope, first, state, setting, rows):
            before, value = state.value[0], state.value[1]
            _accept(value, state)
            counters[_N_ITER] += 1
            path[counters[_N_ITER]] = value
            if (before - value) / max(abs(before), abs(value), 1.0) <= tol:
                return True
        elif counters[_COUNT] == 0:
            return True  # Even the steepest descent finds nothing lower: only rounding is left.
        else:
            counters[_COUNT], counters[_NEWEST] = 0, -1
            for i in range(2 * _REMEMBERED):
                for j in range(vectors.shape[1]):
                    state.memory[i, j] = 0.0
    return counters[_N_ITER] >= max_iter


@inner_kernel
def _evaluate(vectors, setting, rows):  # type: ignore[no-untyped-def]
    """Return the objective at ``vectors[_PLACE]``, and put its gradient into ``vectors[_GRADIENT]``."""
    log_theta, theta, sums, gradient = setting.room[0], setting.room[1], setting.room[2], vectors[_GRADIENT]
    scale, counts, factor = setting.scale, setting.counts, setting.factor
    for e in range(scale.shape[0]):
        theta[e] = vectors[_PLACE, e] / scale[e]
    _fill_columns(setting, theta, sums, True)
    for e in range(scale.shape[0]):
        theta[e] -= sums[e]
        log_theta[e] = theta[e]
    exponential(theta)
    _fill_columns(setting, theta, sums, False)
    for e in range(scale.shape[0]):
        log_theta[e] -= np.log(sums[e])
        theta[e] /= sums[e]
        gradient[e] = 0.0
    fill_log_joint(log_theta, rows)
    value = factor * soft_slack(rows.joint, rows.y, rows.weights, setting.params, rows.derivative)
    add_gradient(rows, setting.others, gradient)
    for e in range(counts.shape[0]):
        gradient[e] = factor * gradient[e] - counts[e]
        value -= counts[e] * log_theta[e]
    _fill_columns(setting, gradient, sums, False)
    for e in range(counts.shape[0]):
        gradient[e] = (gradient[e] - theta[e] * sums[e]) / scale[e]
    return value


@inner_kernel(allocates=False)
def _fill_columns(setting, values, result, largest):  # type: ignore[no-untyped-def]
    """Set result[e] to the maximum or the sum of e's column, for adjacent columns at once; all arrays are flat."""
    for t in range(setting.starts.shape[0]):
        q, size = setting.inner[t], setting.states[t] * setting.inner[t]
        for start in range(setting.starts[t], setting.starts[t] + setting.outer[t] * size, size):
            for i in range(start, start + q):
                result[i] = values[i]
            for j in range(q, size, q):
                for i in range(start, start + q):
                    if largest:
                        result[i] = values[j + i] if values[j + i] > result[i] else result[i]
                    else:
                        result[i] += values[j + i]
            for j in range(q, size, q):
                for i in range(start, start + q):
                    result[j + i] = result[i]


@inner_kernel(allocates=False)
def _arrive(value, state):  # type: ignore[no-untyped-def]
    """Move to the trial."""
    state.value[0] = value
    for j in range(state.vectors.shape[1]):
        state.vectors[_AT, j], state.vectors[_AT_GRADIENT, j] = state.vectors[_PLACE, j], state.vectors[_GRADIENT, j]


@inner_kernel(allocates=False, called_once=True)
def _accept(value, state):  # type: ignore[no-untyped-def]
    """Move to the trial, and remember the step unless the slope did not rise along it."""
    vectors, lanes, counters = state.vectors, state.lanes, state.counters
    for j in range(vectors.shape[1]):
        vectors[_DIRECTION, j] = vectors[_PLACE, j] - vectors[_AT, j]
        vectors[_CHANGE, j] = vectors[_GRADIENT, j] - vectors[_AT_GRADIENT, j]
    rise, slope = _dot(vectors, _DIRECTION, _CHANGE, lanes), _dot(vectors, _DIRECTION, _AT_GRADIENT, lanes)
    _arrive(value, state)
    counters[_NEWEST] = -1
    if rise <= -_ROUNDING * slope:
        return
    row = counters[_COUNT]
    if row < _REMEMBERED:
        counters[_COUNT] += 1
    else:
        row = state.order[0]
        for k in range(_REMEMBERED - 1):
            state.order[k] = state.order[k + 1]
    state.order[counters[_COUNT] - 1] = counters[_NEWEST] = row
    for j in range(vectors.shape[1]):
        state.memory[row, j], state.memory[_REMEMBERED + row, j] = vectors[_DIRECTION, j], vectors[_CHANGE, j]


@inner_kernel(allocates=False, called_once=True)
def _direct(state):  # type: ignore[no-untyped-def]
    """Find the L-BFGS direction; the negative gradient if no step is remembered."""
    vectors, memory, shares, scale = state.vectors, state.memory, state.shares, 1.0
    direction, of_direction, with_change = vectors[_DIRECTION], shares[0], shares[1]
    for j in range(vectors.shape[1]):
        direction[j] = 0.0
    n, newest = state.counters[_COUNT], state.counters[_NEWEST]
    if n > 0:
        for k in range(n):
            _multiply(memory, state.order[k], vectors, state.lanes, shares)
            _multiply(memory, _REMEMBERED + state.order[k], vectors, state.lanes, shares)
        for k in range(n if newest >= 0 else 0):
            i = state.order[k]
            state.steps_changes[i, newest] = with_change[i]
            state.changes[i, newest] = state.changes[newest, i] = with_change[_REMEMBERED + i]
        scale = two_loop(state.order[:n], shares[2], state.steps_changes, state.changes, of_direction)
        for i in range(0, 2 * _REMEMBERED, _AT_ONCE):
            a, b, c, d = of_direction[i], of_direction[i + 1], of_direction[i + 2], of_direction[i + 3]
            if a == b == c == d == 0.0:
                continue
            for j in range(vectors.shape[1]):
                direction[j] += (a * memory[i, j] + b * memory[i + 1, j]) + (
                    c * memory[i + 2, j] + d * memory[i + 3, j]
                )
    for j in range(vectors.shape[1]):
        direction[j] -= scale * vectors[_AT_GRADIENT, j]


@inner_kernel(allocates=False)
def _dot(vectors, one, two, lanes):  # type: ignore[no-untyped-def]
    """Return the inner product of two rows."""
    n, at_once = vectors.shape[1], _AT_ONCE * _LANES
    together, total = n // at_once * at_once, 0.0
    for k in range(_LANES):
        lanes[0, k] = 0.0
    for low in range(0, together, at_once):
        for k in range(low, low + _LANES):
            first = vectors[one, k] * vectors[two, k] + vectors[one, k + _LANES] * vectors[two, k + _LANES]
            third, fourth = k + 2 * _LANES, k + 3 * _LANES
            first += vectors[one, third] * vectors[two, third] + vectors[one, fourth] * vectors[two, fourth]
            lanes[0, k - low] += first
    for j in range(together, n):
        total += vectors[one, j] * vectors[two, j]
    for k in range(_LANES):
        total += lanes[0, k]
    return total


@inner_kernel(allocates=False)
def _multiply(memory, i, vectors, lanes, shares):  # type: ignore[no-untyped-def]
    """Set shares[1, i] and shares[2, i] to row i times the newest change and times the gradient, in one pass."""
    n, at_once = vectors.shape[1], 2 * _LANES
    together = n // at_once * at_once
    for k in range(_LANES):
        lanes[0, k] = lanes[1, k] = 0.0
    for low in range(0, together, at_once):
        for k in range(low, low + _LANES):
            one, two, more = memory[i, k], memory[i, k + _LANES], k + _LANES
            lanes[0, k - low] += one * vectors[_CHANGE, k] + two * vectors[_CHANGE, more]
            lanes[1, k - low] += one * vectors[_AT_GRADIENT, k] + two * vectors[_AT_GRADIENT, more]
    with_change, with_gradient = 0.0, 0.0
    for j in range(together, n):
        with_change += memory[i, j] * vectors[_CHANGE, j]
        with_gradient += memory[i, j] * vectors[_AT_GRADIENT, j]
    for k in range(_LANES):
        with_change += lanes[0, k]
        with_gradient += lanes[1, k]
    shares[1, i], shares[2, i] = with_change, with_gradient


@inner_kernel(called_once=True)
def _search(slope, step, state, setting, rows):  # type: ignore[no-untyped-def]
    """Search along the direction; return whether a trial was accepted, and put its value into ``state.value[1]``.

    The line search of :func:`bnplug.gradient.minimize`, which explains its parts.
    """
    vectors, trials, start = state.vectors, state.trials, state.value[0]
    promised, steepest = _DECREASE * slope, -_CURVATURE * slope
    set_trial(trials, BEST, 0.0, start, slope)
    set_trial(trials, OTHER, 0.0, start, slope)
    bracketed, descending = False, True
    width, width_before = _LONGEST, 2.0 * _LONGEST
    low, high = 0.0, step + _MOST_GROWTH * step
    for _ in range(_MAX_TRIALS):
        for j in range(vectors.shape[1]):
            vectors[_PLACE, j] = vectors[_AT, j] + step * vectors[_DIRECTION, j]
        value = _evaluate(vectors, setting, rows)
        slope = _dot(vectors, _GRADIENT, _DIRECTION, state.lanes)
        enough = start + step * promised
        if descending and value <= enough and slope >= 0.0:
            descending = False
        stuck = bracketed and (not low < step < high or high - low <= _NARROW * high)
        at_an_end = step == 0.0 and (value > enough or slope >= promised)
        if step == _LONGEST:
            at_an_end = value <= enough and slope <= promised
        if stuck or at_an_end or (value <= enough and abs(slope) <= steepest):
            state.value[1] = value
            return True
        line = promised if descending and enough < value <= trials[BEST, 1] else 0.0
        set_trial(trials, TRIAL, step, value, slope)
        for i in range(3):
            subtract_line(trials, i, line)
        turned = trials[TRIAL, 2] * math.copysign(1.0, trials[BEST, 2]) < 0.0
        bracketed = bracketed or trials[TRIAL, 1] > trials[BEST, 1] or turned
        step = next_step(trials, turned, bracketed, low, high)
        for i in range(3):
            subtract_line(trials, i, -line)
        best, other = trials[BEST, 0], trials[OTHER, 0]
        if bracketed:
            if abs(other - best) >= SHRINK * width_before:
                step = best + 0.5 * (other - best)
            width_before, width = width, abs(other - best)
            low, high = min(best, other), max(best, other)
        else:
            low, high = step + _LEAST_GROWTH * (step - best), step + _MOST_GROWTH * (step - best)
        step = min(max(step, 0.0), _LONGEST)
        if bracketed and (not low < step < high or high - low <= _NARROW * high):
            step = best
    return False
