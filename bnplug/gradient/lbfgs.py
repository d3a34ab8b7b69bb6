"""L-BFGS, the minimizer of all discriminative learners.

The two-loop recursion (Nocedal and Wright 2006, algorithm 7.4) is computed from inner products of the last steps and
gradient changes. A direction costs one product of their matrix with the gradient and one product back. The line search
is that of Moré and Thuente (1994): it finds a step with a sufficient decrease and a small slope. Trial steps come from
cubics and parabolas through the two ends of an interval; until an interval is known to hold a minimum, the step grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from bnplug.compiling import kernel
from bnplug.typing import FloatArray

_Function = Callable[[FloatArray], tuple[float, FloatArray]]
_Callback = Callable[[FloatArray, float], Any]

# The default number of remembered steps, and the most trials along one line.
_REMEMBERED, _MAX_TRIALS = 20, 20
_ROUNDING = float(np.finfo(np.float64).eps)
# An accepted step has this share of the decrease that the first slope promises, and at most this share of the slope.
_DECREASE, _CURVATURE = 1e-3, 0.9
# The search gives up at an interval this narrow, relative to its upper end, or a step this long.
_NARROW, _LONGEST = 0.1, 1e10
# How far a step may grow, and the share by which the interval must shrink within two trials.
_LEAST_GROWTH, _MOST_GROWTH, _SHRINK = 1.1, 4.0, 0.66


def minimize(
    objective: _Function,
    start: FloatArray,
    tol: float,
    max_iter: int,
    callback: _Callback | None = None,
    memory: int = _REMEMBERED,
) -> tuple[FloatArray, int]:
    """Minimize a function by L-BFGS until the relative improvement of a step is at most `tol`.

    Parameters
    ----------
    objective : function
        Returns the value and the gradient at a point. It must not modify a gradient it has returned.
    start : float64 array
    tol : float
        Stop when (f - f_next) / max(abs(f), abs(f_next), 1) is at most this.
    max_iter : int
        The maximum number of steps.
    callback : function, optional
        Called with the point and its value after every step. It may raise ``StopIteration`` to end the descent.
    memory : int
        The number of steps to remember.

    Returns
    -------
    point, n_iter
        The last point, and the number of steps.

    Examples
    --------
    >>> point, n_iter = minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2), 1e-12, 100)
    >>> point.round(6).tolist()
    [3.0, 3.0]
    """
    if start.size == 0 or max_iter == 0:
        return start, 0
    with _thread_pools().limit(limits=1):
        return _descend(objective, start, tol, max_iter, callback, _Memory(start.size, memory))


@cache
def _thread_pools() -> ThreadpoolController:
    """Find the thread pools of the process once: this takes longer than learning from a small table."""
    return ThreadpoolController()


class _Point(NamedTuple):
    """A point with the value and the gradient of the objective."""

    place: FloatArray
    value: float
    gradient: FloatArray


def _descend(
    objective: _Function, start: FloatArray, tol: float, max_iter: int, callback: _Callback | None, memory: _Memory
) -> tuple[FloatArray, int]:
    at, n_iter = _Point(start, *objective(start)), 0
    # The condition is False if the squared gradient is NaN.
    while n_iter < max_iter and at.gradient @ at.gradient > 0.0:
        direction = memory.direction(at.gradient)
        # The length of the first direction is that of the gradient, which is no guide to the length of a step.
        first = 1.0 if n_iter else 1.0 / math.sqrt(float(direction @ direction))
        following = _search(objective, at, direction, first)
        if following is None and memory.count == 0:
            break  # Even the steepest descent finds nothing lower: only rounding is left.
        if following is None:
            memory.forget()
            continue
        n_iter += 1
        improvement = (at.value - following.value) / max(abs(at.value), abs(following.value), 1.0)
        try:
            if callback is not None:
                callback(following.place, following.value)
        except StopIteration:
            return following.place, n_iter
        if improvement <= tol:
            return following.place, n_iter
        memory.add(following.place - at.place, following.gradient - at.gradient, at.gradient)
        at = following
    return at.place, n_iter


def _search(objective: _Function, at: _Point, direction: FloatArray, first: float) -> _Point | None:
    """Return the end of the line search, or None if the direction leads uphill or no trial is accepted."""
    slope = float(at.gradient @ direction)
    if slope >= 0.0:
        return None
    search = _LineSearch(at.value, slope, first)
    for _ in range(_MAX_TRIALS):
        place = at.place + (direction if search.step == 1.0 else search.step * direction)
        trial = _Point(place, *objective(place))
        with np.errstate(over="ignore", invalid="ignore"):  # the trial is too far away; the next one is nearer
            slope = float(trial.gradient @ direction)
        if search.ends_at(trial.value, slope):
            return trial
    return None


class _Memory:
    """The last steps and then gradient changes, as `_vectors`, with their inner products: see :func:`two_loop`."""

    def __init__(self, size: int, most: int) -> None:
        self._most = most
        self._vectors = np.zeros((2 * most, size))
        self._steps_changes = np.zeros((most, most))
        self._changes = np.zeros((most, most))
        self._shares = np.zeros(2 * most)
        self._order = np.zeros(most, dtype=np.int64)
        self.count = 0

    def forget(self) -> None:
        """Forget all steps."""
        self.count = 0
        self._vectors[:] = 0.0

    def add(self, step: FloatArray, change: FloatArray, gradient: FloatArray) -> None:
        """Remember a step that began at `gradient`, unless the slope did not rise along it."""
        if float(step @ change) <= -_ROUNDING * float(step @ gradient):
            return
        order, most = self._order, self._most
        if self.count < most:
            row = self.count
            self.count += 1
        else:
            row = int(order[0])
            order[:-1] = order[1:]
        order[self.count - 1] = row
        self._vectors[row], self._vectors[most + row] = step, change
        products = self._vectors @ change
        self._steps_changes[:, row] = products[:most]
        self._changes[:, row] = self._changes[row] = products[most:]

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return the L-BFGS direction; the negative gradient if no step is remembered."""
        if self.count == 0:
            return -gradient
        products, order = self._vectors @ gradient, self._order[: self.count]
        scale = float(two_loop(order, products, self._steps_changes, self._changes, self._shares))
        direction = self._shares @ self._vectors
        direction -= scale * gradient
        return np.asarray(direction)


@kernel(allocates=False)
def two_loop(order, products, steps_changes, changes, shares):  # type: ignore[no-untyped-def]
    """Run the two-loop recursion on inner products; the direction is ``shares @ vectors - result * gradient``.

    order : int64 (remembered,), oldest first. products : float64 (2 m,), steps and changes times the gradient.
    steps_changes, changes : float64 (m, m), inner products of step i and change j (i not newer than j), and of changes.
    shares : float64 (2 m,), filled with the coefficients of the steps and of the changes.
    """
    n, m = order.shape[0], steps_changes.shape[0]
    newest = order[n - 1]
    scale = steps_changes[newest, newest] / changes[newest, newest]
    for i in range(2 * m):
        shares[i] = 0.0
    # First loop, newest first: alpha_i = rho_i s_i q, then q -= alpha_i y_i. The changes' shares hold alpha.
    for k in range(n - 1, -1, -1):
        i = order[k]
        rest = products[i]
        for later in range(k + 1, n):
            rest -= shares[m + order[later]] * steps_changes[i, order[later]]
        shares[m + i] = rest / steps_changes[i, i]
    # Second loop, oldest first: beta_i = rho_i y_i r, then r += (alpha_i - beta_i) s_i.
    for k in range(n):
        i = order[k]
        rest = products[m + i]
        for other in range(n):
            rest -= shares[m + order[other]] * changes[i, order[other]]
        rest *= scale
        for before in range(k):
            rest -= shares[order[before]] * steps_changes[order[before], i]
        shares[i] = rest / steps_changes[i, i] - shares[m + i]
    for k in range(n):
        shares[m + order[k]] *= scale
    return scale


class _Trial(NamedTuple):
    """A step along the line, with the value and the slope there."""

    step: float
    value: float
    slope: float

    def without(self, slope: float) -> _Trial:
        """Subtract a line through the origin from the function."""
        return _Trial(self.step, self.value - self.step * slope, self.slope - slope)


class _LineSearch:
    """Trial steps along a line, given the value and the negative slope at 0; `step` is the next one to try."""

    def __init__(self, value: float, slope: float, step: float) -> None:
        self.step = step
        self._promised, self._steepest = _DECREASE * slope, -_CURVATURE * slope
        self._start = self._best = self._other = _Trial(0.0, value, slope)
        self._bracketed, self._descending = False, True
        self._width, self._width_before = _LONGEST, 2.0 * _LONGEST
        self._low, self._high = 0.0, step + _MOST_GROWTH * step

    def ends_at(self, value: float, slope: float) -> bool:
        """Return whether `step`, where the function has this value and slope, is accepted; otherwise change `step`."""
        trial = _Trial(self.step, value, slope)
        enough = self._start.value + self.step * self._promised
        if self._descending and value <= enough and slope >= 0.0:
            self._descending = False
        if self._stuck() or self._at_an_end(value, slope, enough) or (value <= enough and abs(slope) <= self._steepest):
            return True
        if self._descending and enough < value <= self._best.value:
            # Use the function minus the promised decrease, whose minimum is known to be inside.
            line = self._promised
            best, other = self._best.without(line), self._other.without(line)
            best, other, self.step = self._next(best, other, trial.without(line))
            self._best, self._other = best.without(-line), other.without(-line)
        else:
            self._best, self._other, self.step = self._next(self._best, self._other, trial)
        self._shrink()
        return False

    def _stuck(self) -> bool:
        """Return whether rounding or a narrow interval rules out a better step."""
        narrow = self._high - self._low <= _NARROW * self._high
        return self._bracketed and (not self._low < self.step < self._high or narrow)

    def _at_an_end(self, value: float, slope: float, enough: float) -> bool:
        if self.step == _LONGEST:
            return value <= enough and slope <= self._promised
        return self.step == 0.0 and (value > enough or slope >= self._promised)

    def _shrink(self) -> None:
        """Halve an interval that shrinks slowly, and bound the next step."""
        best, other = self._best.step, self._other.step
        if self._bracketed:
            if abs(other - best) >= _SHRINK * self._width_before:
                self.step = best + 0.5 * (other - best)
            self._width_before, self._width = self._width, abs(other - best)
            self._low, self._high = min(best, other), max(best, other)
        else:
            self._low = self.step + _LEAST_GROWTH * (self.step - best)
            self._high = self.step + _MOST_GROWTH * (self.step - best)
        self.step = min(max(self.step, 0.0), _LONGEST)
        if self._stuck():
            self.step = best

    def _next(self, best: _Trial, other: _Trial, trial: _Trial) -> tuple[_Trial, _Trial, float]:
        """Return the ends of the next interval, the better one first, and the next step (section 4 of the paper)."""
        if trial.value > best.value:
            cubic, parabola = _cubic(best, trial), _parabola(best, trial)
            near = abs(cubic - best.step) <= abs(parabola - best.step)
            self._bracketed = True
            return best, trial, cubic if near else cubic + 0.5 * (parabola - cubic)
        if trial.slope * math.copysign(1.0, best.slope) < 0.0:
            cubic, secant = _cubic(trial, best), _secant(trial, best)
            self._bracketed = True
            return trial, best, cubic if abs(cubic - trial.step) > abs(secant - trial.step) else secant
        if abs(trial.slope) < abs(best.slope):
            return trial, other, self._flatter(best, other, trial)
        if self._bracketed:
            return trial, other, _cubic(trial, other)
        return trial, other, self._bound(best, trial)

    def _flatter(self, best: _Trial, other: _Trial, trial: _Trial) -> float:
        """Handle the third case: a lower value, and a smaller slope of the same sign."""
        theta, root = _theta(trial, best, at_least=0.0)
        root = math.copysign(root, best.step - trial.step)
        ratio = ((root - trial.slope) + theta) / ((root + (best.slope - trial.slope)) + root)
        beyond = ratio < 0.0 and root != 0.0
        cubic = trial.step + ratio * (best.step - trial.step) if beyond else self._bound(best, trial)
        secant = _secant(trial, best)
        nearer = abs(cubic - trial.step) < abs(secant - trial.step)
        if not self._bracketed:
            return min(max(secant if nearer or cubic == secant else cubic, self._low), self._high)
        limit = trial.step + _SHRINK * (other.step - trial.step)
        step = cubic if nearer else secant
        return min(limit, step) if trial.step > best.step else max(limit, step)

    def _bound(self, best: _Trial, trial: _Trial) -> float:
        return self._high if trial.step > best.step else self._low


def _theta(one: _Trial, two: _Trial, at_least: float = -math.inf) -> tuple[float, float]:
    """Return theta and the size of the root, which determine the minimum of the cubic through two trials."""
    theta = 3.0 * (two.value - one.value) / (one.step - two.step) + one.slope + two.slope
    scale = max(abs(theta), abs(one.slope), abs(two.slope))
    inside = (theta / scale) ** 2 - (one.slope / scale) * (two.slope / scale)
    return theta, scale * math.sqrt(max(inside, at_least))


def _cubic(one: _Trial, two: _Trial) -> float:
    """Return the minimum of the cubic with the values and slopes of two trials."""
    theta, root = _theta(one, two)
    root = math.copysign(root, two.step - one.step)
    ratio = ((root - one.slope) + theta) / (((root - one.slope) + root) + two.slope)
    return one.step + ratio * (two.step - one.step)


def _parabola(one: _Trial, two: _Trial) -> float:
    """Return the minimum of the parabola with two values and the slope of the first."""
    chord = (one.value - two.value) / (two.step - one.step) + one.slope
    return one.step + one.slope / chord / 2.0 * (two.step - one.step)


def _secant(one: _Trial, two: _Trial) -> float:
    """Return where the slope vanishes, by the slopes of two trials."""
    return one.step + one.slope / (one.slope - two.slope) * (two.step - one.step)
