"""The L-BFGS of :mod:`bnplug.gradient.lbfgs`, compiled: for objectives that are compiled, too.

On a small table Python's part of a step takes longer than the rest, and threads wait for each other's. Whoever
evaluates the objective asks :func:`advance` where, without a word to the interpreter. The steps are those of
:func:`~bnplug.gradient.minimize` but for rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.compiling import inner_kernel
from bnplug.gradient._compiled_line_search import SIZE, STEP, begin, ends_at
from bnplug.gradient.lbfgs import _MAX_TRIALS, _REMEMBERED, _ROUNDING, _combine

#: What :func:`advance` says: that the objective is wanted at the place, that a step was made, that there is no more.
WANTED, STEPPED, ENDED = 0, 1, 2

# The rows of ``Progress.vectors``: steps, changes of the gradient, and these.
_DIRECTION, _CHANGE = 2 * _REMEMBERED, 2 * _REMEMBERED + 1
AT, AT_GRADIENT, PLACE, GRADIENT = (2 * _REMEMBERED + k for k in range(2, 6))
# Of ``Progress.numbers``, behind those of the line search.
VALUE = SIZE
# Of ``Progress.whole``; behind them what is remembered, the oldest first.
PHASE, _COUNT, N_ITER, _TRIALS, _NEWEST, _ORDER = range(6)
BEGUN, _AIMING, _SEARCHING, _DONE = range(4)
# Of ``Progress.products``: those of steps with changes, and of changes with changes.
_STEPS_CHANGES, _CHANGES = range(2)
# Of ``Progress.shares``: those of the direction, products with the change, products with the gradient.
_OF_DIRECTION, _WITH_CHANGE, _WITH_GRADIENT = range(3)
# Sums are kept in so many parts, which processors add up side by side; four products are added at once.
_LANES, _AT_ONCE = 32, 4


class Progress:
    """How far a descent is, in arrays: what :func:`advance` is given after `value`, `tol` and `max_iter`.

    Parameters
    ----------
    start : float64 array
        Where to begin; the objective is wanted there first.

    Attributes
    ----------
    vectors : float64 array
        ``PLACE`` is where the objective is wanted, ``GRADIENT`` where its gradient there goes, ``AT`` the best point.
    products, shares, lanes, numbers : float64 arrays
        ``numbers[VALUE]`` is the objective at the best point.
    whole : int64 array
        ``whole[N_ITER]`` is the number of steps.
    """

    def __init__(self, start: FloatArray) -> None:
        self.vectors: FloatArray = np.zeros((GRADIENT + 1, start.size))
        self.vectors[PLACE] = start
        self.products: FloatArray = np.zeros((2, _REMEMBERED, _REMEMBERED))
        self.shares: FloatArray = np.zeros((3, 2 * _REMEMBERED))
        self.lanes: FloatArray = np.zeros((2, _LANES))
        self.numbers: FloatArray = np.zeros(SIZE + 1)
        self.whole: IntArray = np.zeros(_ORDER + _REMEMBERED, dtype=np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All of them, in the order of :func:`advance`."""
        return self.vectors, self.products, self.shares, self.lanes, self.numbers, self.whole


@inner_kernel(allocates=False)
def advance(value, tol, max_iter, vectors, products, shares, lanes, numbers, whole):  # type: ignore[no-untyped-def]
    """Go on, given the objective at the place where it was wanted; return WANTED, STEPPED or ENDED.

    Its gradient is in ``vectors[GRADIENT]``. After STEPPED nothing is wanted, and `value` is not looked at. The arrays
    are those of Progress.
    """
    if whole[PHASE] == _DONE:
        return ENDED
    if whole[PHASE] == _SEARCHING:
        if ends_at(numbers, value, _dot(vectors, GRADIENT, _DIRECTION, lanes)):
            _accept(value, tol, vectors, lanes, numbers, whole)
            return STEPPED
        whole[_TRIALS] += 1
        if whole[_TRIALS] < _MAX_TRIALS:
            _move(vectors, numbers[STEP])
            return WANTED
        if not _forget(vectors, whole):
            return ENDED
    elif whole[PHASE] == BEGUN:
        _arrive(value, vectors, numbers)
    return _aim(max_iter, vectors, products, shares, lanes, numbers, whole)


@inner_kernel(allocates=False)
def _arrive(value, vectors, numbers):  # type: ignore[no-untyped-def]
    """Make the place the best point."""
    numbers[VALUE] = value
    for j in range(vectors.shape[1]):
        vectors[AT, j], vectors[AT_GRADIENT, j] = vectors[PLACE, j], vectors[GRADIENT, j]


@inner_kernel(allocates=False)
def _move(vectors, step):  # type: ignore[no-untyped-def]
    """Make the place that which a step leads to."""
    for j in range(vectors.shape[1]):
        vectors[PLACE, j] = vectors[AT, j] + step * vectors[_DIRECTION, j]


@inner_kernel(allocates=False)
def _forget(vectors, whole):  # type: ignore[no-untyped-def]
    """Remember nothing; return whether anything was: else not even downhill is lower, and what is left is rounding."""
    remembered = whole[_COUNT] > 0
    whole[_COUNT], whole[_NEWEST] = 0, -1
    for i in range(2 * _REMEMBERED):
        for j in range(vectors.shape[1]):
            vectors[i, j] = 0.0
    return remembered


@inner_kernel(allocates=False)
def _accept(value, tol, vectors, lanes, numbers, whole):  # type: ignore[no-untyped-def]
    """Remember the step to the place, unless the slope did not rise along it, and make the place the best point."""
    before = numbers[VALUE]
    whole[N_ITER] += 1
    whole[PHASE] = _DONE if (before - value) / max(abs(before), abs(value), 1.0) <= tol else _AIMING
    for j in range(vectors.shape[1]):
        vectors[_DIRECTION, j] = vectors[PLACE, j] - vectors[AT, j]
        vectors[_CHANGE, j] = vectors[GRADIENT, j] - vectors[AT_GRADIENT, j]
    rise, slope = _dot(vectors, _DIRECTION, _CHANGE, lanes), _dot(vectors, _DIRECTION, AT_GRADIENT, lanes)
    _arrive(value, vectors, numbers)
    whole[_NEWEST] = -1
    if rise <= -_ROUNDING * slope:
        return
    own = whole[_COUNT]
    if own < _REMEMBERED:
        whole[_COUNT] += 1
    else:
        own = whole[_ORDER]
        for k in range(_ORDER, _ORDER + _REMEMBERED - 1):
            whole[k] = whole[k + 1]
    whole[_ORDER + whole[_COUNT] - 1] = whole[_NEWEST] = own
    for j in range(vectors.shape[1]):
        vectors[own, j], vectors[_REMEMBERED + own, j] = vectors[_DIRECTION, j], vectors[_CHANGE, j]


@inner_kernel(allocates=False)
def _aim(max_iter, vectors, products, shares, lanes, numbers, whole):  # type: ignore[no-untyped-def]
    """Begin to search along a direction that leads downhill."""
    slope = 1.0
    # A gradient whose square is no number any more is none.
    while whole[N_ITER] < max_iter and _dot(vectors, AT_GRADIENT, AT_GRADIENT, lanes) > 0.0:
        _direct(vectors, products, shares, lanes, whole)
        slope = _dot(vectors, AT_GRADIENT, _DIRECTION, lanes)
        if not slope >= 0.0:
            break
        if not _forget(vectors, whole):
            return ENDED
    if slope >= 0.0:
        return ENDED
    # The first direction is as long as the gradient, which says nothing about the step.
    first = 1.0 if whole[N_ITER] > 0 else 1.0 / math.sqrt(_dot(vectors, _DIRECTION, _DIRECTION, lanes))
    begin(numbers, numbers[VALUE], slope, first)
    whole[PHASE], whole[_TRIALS] = _SEARCHING, 0
    _move(vectors, first)
    return WANTED


@inner_kernel(allocates=False)
def _direct(vectors, products, shares, lanes, whole):  # type: ignore[no-untyped-def]
    """Find the direction of L-BFGS: less the gradient, where nothing is remembered."""
    scale = 1.0
    for j in range(vectors.shape[1]):
        vectors[_DIRECTION, j] = 0.0
    if whole[_COUNT] > 0:
        for k in range(_ORDER, _ORDER + whole[_COUNT]):
            _multiply(vectors, whole[k], lanes, shares)
            _multiply(vectors, _REMEMBERED + whole[k], lanes, shares)
        _keep(whole, products, shares)
        order = whole[_ORDER : _ORDER + whole[_COUNT]]
        with_all, own = shares[_WITH_GRADIENT], shares[_OF_DIRECTION]
        scale = _combine(order, with_all, products[_STEPS_CHANGES], products[_CHANGES], own)
        _mix(vectors, shares)
    for j in range(vectors.shape[1]):
        vectors[_DIRECTION, j] -= scale * vectors[AT_GRADIENT, j]


@inner_kernel(allocates=False)
def _keep(whole, products, shares):  # type: ignore[no-untyped-def]
    """Note the products of the newest change of the gradient with all that is remembered."""
    own = whole[_NEWEST]
    if own < 0:
        return
    for k in range(_ORDER, _ORDER + whole[_COUNT]):
        i = whole[k]
        products[_STEPS_CHANGES, i, own] = shares[_WITH_CHANGE, i]
        products[_CHANGES, i, own] = products[_CHANGES, own, i] = shares[_WITH_CHANGE, _REMEMBERED + i]


@inner_kernel(allocates=False)
def _dot(vectors, one, two, lanes):  # type: ignore[no-untyped-def]
    """The inner product of two rows."""
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
def _multiply(vectors, i, lanes, shares):  # type: ignore[no-untyped-def]
    """The inner products of row i with the newest change and with the gradient, in one pass over it."""
    n, at_once = vectors.shape[1], 2 * _LANES
    together = n // at_once * at_once
    for k in range(_LANES):
        lanes[0, k] = lanes[1, k] = 0.0
    for low in range(0, together, at_once):
        for k in range(low, low + _LANES):
            one, two, more = vectors[i, k], vectors[i, k + _LANES], k + _LANES
            lanes[0, k - low] += one * vectors[_CHANGE, k] + two * vectors[_CHANGE, more]
            lanes[1, k - low] += one * vectors[AT_GRADIENT, k] + two * vectors[AT_GRADIENT, more]
    with_change, with_gradient = 0.0, 0.0
    for j in range(together, n):
        with_change += vectors[i, j] * vectors[_CHANGE, j]
        with_gradient += vectors[i, j] * vectors[AT_GRADIENT, j]
    for k in range(_LANES):
        with_change += lanes[0, k]
        with_gradient += lanes[1, k]
    shares[_WITH_CHANGE, i], shares[_WITH_GRADIENT, i] = with_change, with_gradient


@inner_kernel(allocates=False)
def _mix(vectors, shares):  # type: ignore[no-untyped-def]
    """Add to the direction the shares of what is remembered, four rows in a pass."""
    for i in range(0, 2 * _REMEMBERED, _AT_ONCE):
        a, b = shares[_OF_DIRECTION, i], shares[_OF_DIRECTION, i + 1]
        c, d = shares[_OF_DIRECTION, i + 2], shares[_OF_DIRECTION, i + 3]
        if a == b == c == d == 0.0:
            continue
        for j in range(vectors.shape[1]):
            vectors[_DIRECTION, j] += (a * vectors[i, j] + b * vectors[i + 1, j]) + (
                c * vectors[i + 2, j] + d * vectors[i + 3, j]
            )
