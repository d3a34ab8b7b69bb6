"""L-BFGS, as all discriminative learners call it.

The two-loop recursion (Nocedal and Wright 2006, algorithm 7.4) needs the products of the last steps and changes of the
gradient only: a direction is one product of their matrix with the gradient, arithmetic over their number, and one
product back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from bnplug.arrays import FloatArray
from bnplug.compiling import kernel
from bnplug.gradient._line_search import LineSearch

_Function = Callable[[FloatArray], tuple[float, FloatArray]]

# How many steps are remembered unless told, and how many places are tried along one line.
_REMEMBERED, _MAX_TRIALS = 20, 20
_ROUNDING = float(np.finfo(np.float64).eps)


def minimize(
    objective: _Function,
    start: FloatArray,
    tol: float,
    max_iter: int,
    callback: Callable[[FloatArray, float], Any] | None = None,
    memory: int = _REMEMBERED,
) -> tuple[FloatArray, int]:
    """Minimise by L-BFGS until the relative improvement of a step is at most `tol`.

    Parameters
    ----------
    objective : function
        Returns a value and its gradient, which it does not change any more.
    start : float64 array
    tol : float
        Stop where (f - f_next) / max(abs(f), abs(f_next), 1) is at most this.
    max_iter : int
        The largest number of steps.
    callback : function, optional
        Is given the point and its value after every step; a ``StopIteration`` that it raises ends the descent there.
    memory : int
        How many steps are remembered.

    Returns
    -------
    point : float64 array
        The minimum, or the last point.
    n_iter : int
        The number of steps.

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
    """Find the process's thread pools, once: that takes longer than learning from a small table."""
    return ThreadpoolController()


def _descend(
    objective: _Function,
    start: FloatArray,
    tol: float,
    max_iter: int,
    callback: Callable[[FloatArray, float], Any] | None,
    memory: _Memory,
) -> tuple[FloatArray, int]:
    at, n_iter = _Point(start, *objective(start)), 0
    # A gradient whose square is no number any more is none.
    while n_iter < max_iter and at.gradient @ at.gradient > 0.0:
        direction = memory.direction(at.gradient)
        # The first direction is as long as the gradient, which says nothing about the step.
        first = 1.0 if n_iter else 1.0 / sqrt(float(direction @ direction))
        found = _search(objective, at, direction, first)
        if found is None and memory.count == 0:
            break  # Not even downhill is lower: what is left is rounding.
        if found is None:
            memory.forget()
            continue
        n_iter += 1
        if _told_to_stop(callback, found) or _improvement(at.value, found.value) <= tol:
            return found.place, n_iter
        memory.add(found.place - at.place, found.gradient - at.gradient, at.gradient)
        at = found
    return at.place, n_iter


def _improvement(before: float, after: float) -> float:
    return (before - after) / max(abs(before), abs(after), 1.0)


class _Point:
    """A place, and the objective there."""

    __slots__ = ("gradient", "place", "value")

    def __init__(self, place: FloatArray, value: float, gradient: FloatArray) -> None:
        self.place, self.value, self.gradient = place, value, gradient


def _told_to_stop(callback: Callable[[FloatArray, float], Any] | None, at: _Point) -> bool:
    try:
        if callback is not None:
            callback(at.place, at.value)
    except StopIteration:
        return True
    return False


def _search(objective: _Function, at: _Point, direction: FloatArray, first: float) -> _Point | None:
    """Return where the line search ends; None if the direction leads uphill, or no trial will do."""
    slope = float(at.gradient @ direction)
    if slope >= 0.0:
        return None
    search = LineSearch(at.value, slope, first)
    for _ in range(_MAX_TRIALS):
        place = at.place + (direction if search.step == 1.0 else search.step * direction)
        trial = _Point(place, *objective(place))
        with np.errstate(over="ignore", invalid="ignore"):  # such a trial is too far away, and the next one is nearer
            slope = float(trial.gradient @ direction)
        if search.ends_at(trial.value, slope):
            return trial
    return None


class _Memory:
    """The last steps s and changes of the gradient y, with their products.

    ``_vectors`` holds the steps, then the changes; ``_steps_changes[i, j]`` is s_i y_j where i is not newer than j,
    ``_changes[i, j]`` is y_i y_j, and ``_order`` lists what is remembered, the oldest first.
    """

    def __init__(self, size: int, most: int) -> None:
        self._most = most
        self._vectors = np.zeros((2 * most, size))
        self._steps_changes = np.zeros((most, most))
        self._changes = np.zeros((most, most))
        self._shares = np.zeros(2 * most)
        self._order = np.zeros(most, dtype=np.int64)
        self.count = 0

    def forget(self) -> None:
        """Remember nothing."""
        self.count = 0
        self._vectors[:] = 0.0

    def add(self, step: FloatArray, change: FloatArray, gradient: FloatArray) -> None:
        """Remember a step from where the gradient was `gradient`, unless the slope did not rise along it."""
        if float(step @ change) <= -_ROUNDING * float(step @ gradient):
            return
        order, most = self._order, self._most
        if self.count < most:
            own = self.count
            self.count += 1
        else:
            own = int(order[0])
            order[:-1] = order[1:]
        order[self.count - 1] = own
        self._vectors[own], self._vectors[most + own] = step, change
        products = self._vectors @ change
        self._steps_changes[:, own] = products[:most]
        self._changes[:, own] = self._changes[own] = products[most:]

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return the direction of L-BFGS: less the gradient, where nothing is remembered."""
        if self.count == 0:
            return -gradient
        products, order = self._vectors @ gradient, self._order[: self.count]
        scale = float(_combine(order, products, self._steps_changes, self._changes, self._shares))
        direction = self._shares @ self._vectors
        direction -= scale * gradient
        return np.asarray(direction)


@kernel(allocates=False)
def _combine(order, products, steps_changes, changes, shares):  # type: ignore[no-untyped-def]
    """Return g, the direction being ``shares @ vectors - g * gradient``: the two-loop recursion over products alone.

    order : int64 (remembered,), the oldest first. products : float64 (2 m,), steps and changes times the gradient.
    steps_changes, changes : float64 (m, m), as in _Memory. shares : float64 (2 m,), filled.
    """
    n, m = order.shape[0], steps_changes.shape[0]
    newest = order[n - 1]
    scale = steps_changes[newest, newest] / changes[newest, newest]
    for i in range(2 * m):
        shares[i] = 0.0
    # The first loop, from the newest: alpha_i = rho_i s_i q, q less alpha_i y_i; kept in the changes' shares.
    for k in range(n - 1, -1, -1):
        i = order[k]
        rest = products[i]
        for later in range(k + 1, n):
            rest -= shares[m + order[later]] * steps_changes[i, order[later]]
        shares[m + i] = rest / steps_changes[i, i]
    # The second, from the oldest: beta_i = rho_i y_i r, r plus (alpha_i - beta_i) s_i.
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
