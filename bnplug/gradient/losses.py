"""Losses of the log joint of rows, and the temperature that minimizes one."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, factorial, log

import numpy as np

from bnplug.compiling import kernel
from bnplug.inference.complete import TIE
from bnplug.typing import FloatArray, IntArray

#: ``loss(L, y, weights, params, dL)`` returns the weighted sum of the losses of a block of rows and fills `dL` with
#: its derivative by the log joint `L`, weights included. `L` and `dL` have shape (rows, classes), `y` (int64) and
#: `weights` shape (rows,); `params` is a float64 array with the parameters of the loss. In a row without a class `y`
#: is -1, which occurs only if :class:`Objective` was created with ``unlabeled=True``. Compile a loss with
#: :data:`bnplug.compiling.kernel`. Its result must not depend on which rows share a block.
Loss = Callable[[FloatArray, IntArray, FloatArray, FloatArray, FloatArray], float]

_LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has few enough digits for an exact product with n.
_LOG_2_HIGH, _LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_SHIFT = 1.5 * 2.0**52
_F2, _F3, _F4, _F5, _F6, _F7, _F8, _F9, _F10, _F11, _F12, _F13 = (1.0 / factorial(k) for k in range(2, 14))


@kernel
def conditional_nll(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The negative conditional log-likelihood, -log P(class | features): a :data:`Loss` without parameters."""
    n_rows, n_classes = L.shape
    largest = np.empty(n_rows)
    for m in range(n_rows):
        largest[m] = L[m, 0]
        for c in range(1, n_classes):
            largest[m] = L[m, c] if L[m, c] > largest[m] else largest[m]
        for c in range(n_classes):
            dL[m, c] = L[m, c] - largest[m]
    exponential(dL.reshape(-1))
    total = 0.0
    for m in range(n_rows):
        normalizer = 0.0
        for c in range(n_classes):
            normalizer += dL[m, c]
        scale = weights[m] / normalizer
        for c in range(n_classes):
            dL[m, c] *= scale
        dL[m, y[m]] -= weights[m]
        total += weights[m] * (np.log(normalizer) + largest[m] - L[m, y[m]])
    return total


@kernel
def classified(L, y, weights, params, dL):  # type: ignore[no-untyped-def]
    """The weight of the correctly classified rows; the first of tied classes wins. A :data:`Loss` without gradient."""
    dL[:] = 0.0
    total = 0.0
    for m in range(L.shape[0]):
        largest = L[m, 0]
        for value in L[m]:
            largest = max(largest, value)
        winner = 0
        while L[m, winner] < largest - TIE:
            winner += 1
        if winner == y[m]:
            total += weights[m]
    return total


@kernel
def exponential(x):  # type: ignore[no-untyped-def]
    """Replace each x <= 700 by exp(x), up to the last two bits, and each x below -708 by exp(-708).

    These loops are vectorized, unlike calls of the library's function, with which a pass over 200,000 rows took 1.3 to
    1.6 times as long (``benchmarks/exponential.py``). With x = n log 2 + r for an integer n, exp(x) = 2^n exp(r), and
    14 terms of the series of exp(r) suffice. Adding _SHIFT rounds to an integer, which ends up in the lowest bits of
    the sum and is shifted to those of the exponent.
    """
    power = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        above = x[i] if x[i] > -708.0 else -708.0
        power[i] = above * _LOG2_E + _SHIFT
        n = power[i] - _SHIFT
        r = above - n * _LOG_2_HIGH - n * _LOG_2_LOW
        q = r * r
        first = (1.0 + r) + q * (_F2 + _F3 * r)
        second = (_F4 + _F5 * r) + q * (_F6 + _F7 * r)
        third = (_F8 + _F9 * r) + q * (_F10 + _F11 * r)
        x[i] = first + q * q * (second + q * q * (third + q * q * (_F12 + _F13 * r)))
    bits = power.view(np.int64)
    for i in range(x.shape[0]):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(x.shape[0]):
        x[i] *= power[i]


# A temperature differs from 1 by at most this factor; the number of bisections.
_FURTHEST, _HALVINGS = 32.0, 18


def temperature(slope: Callable[[float], float]) -> float:
    """Return the factor for all log joints, between 1/32 and 32, that minimizes a loss.

    `slope` returns the derivative of the loss at a factor, or any number of the same sign, which suffices because the
    conditional NLL is convex in this factor.
    """
    low, high = -log(_FURTHEST), log(_FURTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if slope(exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return exp((low + high) / 2)
