"""The next trial step of the line search of Moré and Thuente (1994, section 4), compiled.

Trials are the rows of a float64 array of shape (3, 3): the better end of the interval, the other end and the last
trial, each with its step, value and slope.
"""

from __future__ import annotations

import math

import numpy as np

from bnplug.compiling import inner_kernel

BEST, OTHER, TRIAL = range(3)

#: The share by which the interval must shrink within two trials.
SHRINK = 0.66


@inner_kernel(allocates=False)
def set_trial(trials, i, step, value, slope):  # type: ignore[no-untyped-def]
    """Set trial i."""
    trials[i, 0], trials[i, 1], trials[i, 2] = step, value, slope


@inner_kernel(allocates=False)
def subtract_line(trials, i, slope):  # type: ignore[no-untyped-def]
    """Subtract a line through the origin from the function at trial i."""
    set_trial(trials, i, trials[i, 0], trials[i, 1] - trials[i, 0] * slope, trials[i, 2] - slope)


@inner_kernel(allocates=False)
def next_step(trials, turned, bracketed, low, high):  # type: ignore[no-untyped-def]
    """Return the next step, and move the ends of the interval."""
    best, other, trial = trials[BEST], trials[OTHER], trials[TRIAL]
    secant = trial[0] + trial[2] / (trial[2] - best[2]) * (best[0] - trial[0])
    bound = high if trial[0] > best[0] else low
    if trial[1] > best[1]:
        step, way = _cubic(best, trial), trial[0] - best[0]
        parabola = best[0] + best[2] / ((best[1] - trial[1]) / way + best[2]) / 2.0 * way
        if not abs(step - best[0]) <= abs(parabola - best[0]):
            step += 0.5 * (parabola - step)
        set_trial(trials, OTHER, trial[0], trial[1], trial[2])
        return step
    if turned:
        step = _cubic(trial, best)
        step = step if abs(step - trial[0]) > abs(secant - trial[0]) else secant
        set_trial(trials, OTHER, best[0], best[1], best[2])
    elif abs(trial[2]) < abs(best[2]):
        step = _flatter(best, other, trial, secant, bracketed, bound, low, high)
    else:
        step = _cubic(trial, other) if bracketed else bound
    set_trial(trials, BEST, trial[0], trial[1], trial[2])
    return step


@inner_kernel(allocates=False)
def _flatter(best, other, trial, secant, bracketed, bound, low, high):  # type: ignore[no-untyped-def]
    """Handle the third case: a lower value, and a smaller slope of the same sign."""
    theta = _theta(trial, best)
    root = math.copysign(_root(trial, best, theta, 0.0), best[0] - trial[0])
    ratio = ((root - trial[2]) + theta) / ((root + (best[2] - trial[2])) + root)
    cubic = trial[0] + ratio * (best[0] - trial[0]) if ratio < 0.0 and root != 0.0 else bound
    nearer = abs(cubic - trial[0]) < abs(secant - trial[0])
    if not bracketed:
        return min(max(secant if nearer or cubic == secant else cubic, low), high)
    limit = trial[0] + SHRINK * (other[0] - trial[0])
    step = cubic if nearer else secant
    return min(limit, step) if trial[0] > best[0] else max(limit, step)


@inner_kernel(allocates=False)
def _theta(one, two):  # type: ignore[no-untyped-def]
    """Return theta, which determines the minimum of the cubic through two trials, with :func:`_root`."""
    return 3.0 * (two[1] - one[1]) / (one[0] - two[0]) + one[2] + two[2]


@inner_kernel(allocates=False)
def _root(one, two, theta, at_least):  # type: ignore[no-untyped-def]
    scale = max(abs(theta), abs(one[2]), abs(two[2]))
    inside = (theta / scale) ** 2 - (one[2] / scale) * (two[2] / scale)
    return scale * np.sqrt(max(inside, at_least))


@inner_kernel(allocates=False)
def _cubic(one, two):  # type: ignore[no-untyped-def]
    """Return the minimum of the cubic with the values and slopes of two trials."""
    theta, way = _theta(one, two), two[0] - one[0]
    root = _root(one, two, theta, -math.inf)
    if way < 0.0:
        root = -root
    return one[0] + ((root - one[2]) + theta) / (((root - one[2]) + root) + two[2]) * way
