"""The line search of :mod:`bnplug.gradient._line_search`, compiled: for descents that never return to Python.

A search is one float64 array of ``SIZE`` numbers. A trial is three of them: a step along the line, the function's value
there, and its slope. What the parts are for is said there; the steps are the same.
"""

from __future__ import annotations

import math

import numpy as np

from bnplug.compiling import inner_kernel

# What a step must reach: this share of the decrease that the first slope promises, and a slope of at most this share.
_DECREASE, _CURVATURE = 1e-3, 0.9
# An interval this narrow, relative to its upper end, is given up; so is a step this long.
_NARROW, _LONGEST = 0.1, 1e10
# How far a step may grow, and the share of the interval that must go within two trials.
_LEAST_GROWTH, _MOST_GROWTH, _SHRINK = 1.1, 4.0, 0.66

#: Where the array has the step to try next.
STEP = 0
# The value at 0, what a step of one must gain, the steepest slope to end at; the better end of the interval, the other
# one, and what was tried last, each a trial; whether the interval holds a minimum, whether the search still descends;
# how wide the interval is, and was before; the bounds of the next step.
_START, _PROMISED, _STEEPEST, _BEST, _OTHER, _TRIED, _BRACKETED, _DESCENDING, _WIDTH, _WIDTH_BEFORE, _LOW, _HIGH = (
    1, 2, 3, 4, 7, 10, 13, 14, 15, 16, 17, 18,
)  # fmt: skip
#: The number of numbers.
SIZE = 19


@inner_kernel(allocates=False)
def begin(search, value, slope, step):  # type: ignore[no-untyped-def]
    """Begin at a function's value and slope at 0, the slope being negative; `step` is the first to try."""
    search[STEP], search[_START] = step, value
    search[_PROMISED], search[_STEEPEST] = _DECREASE * slope, -_CURVATURE * slope
    for end in (_BEST, _OTHER):
        search[end], search[end + 1], search[end + 2] = 0.0, value, slope
    search[_BRACKETED], search[_DESCENDING] = 0.0, 1.0
    search[_WIDTH], search[_WIDTH_BEFORE] = _LONGEST, 2.0 * _LONGEST
    search[_LOW], search[_HIGH] = 0.0, step + _MOST_GROWTH * step


@inner_kernel(allocates=False)
def ends_at(search, value, slope):  # type: ignore[no-untyped-def]
    """Return whether the step is the one, given the function there; else the step is now another."""
    step = search[STEP]
    enough = search[_START] + step * search[_PROMISED]
    if search[_DESCENDING] > 0.0 and value <= enough and slope >= 0.0:
        search[_DESCENDING] = 0.0
    flat = value <= enough and abs(slope) <= search[_STEEPEST]
    if flat or _stuck(search) or _at_an_end(search, value, slope, enough):
        return True
    # Of the function less what was promised, whose minimum is then known to be inside; or of the function itself.
    less = search[_PROMISED] if search[_DESCENDING] > 0.0 and enough < value <= search[_BEST + 1] else 0.0
    search[_TRIED], search[_TRIED + 1], search[_TRIED + 2] = step, value, slope
    for trial in (_BEST, _OTHER, _TRIED):
        _take_off(search, trial, less)
    search[STEP] = _next(search)
    for trial in (_BEST, _OTHER):
        _take_off(search, trial, -less)
    _shrink(search)
    return False


@inner_kernel(allocates=False)
def _take_off(search, trial, slope):  # type: ignore[no-untyped-def]
    """Make a trial one of the function less a line through the origin."""
    search[trial + 1] -= search[trial] * slope
    search[trial + 2] -= slope


@inner_kernel(allocates=False)
def _stuck(search):  # type: ignore[no-untyped-def]
    """Whether rounding, or a narrow interval, leaves no better step."""
    low, high = search[_LOW], search[_HIGH]
    return search[_BRACKETED] > 0.0 and (not low < search[STEP] < high or high - low <= _NARROW * high)


@inner_kernel(allocates=False)
def _at_an_end(search, value, slope, enough):  # type: ignore[no-untyped-def]
    if search[STEP] == _LONGEST:
        return value <= enough and slope <= search[_PROMISED]
    return search[STEP] == 0.0 and (value > enough or slope >= search[_PROMISED])


@inner_kernel(allocates=False)
def _shrink(search):  # type: ignore[no-untyped-def]
    """Halve an interval that shrinks slowly, and bound the next step."""
    best, other, step = search[_BEST], search[_OTHER], search[STEP]
    if search[_BRACKETED] > 0.0:
        if abs(other - best) >= _SHRINK * search[_WIDTH_BEFORE]:
            step = best + 0.5 * (other - best)
        search[_WIDTH_BEFORE], search[_WIDTH] = search[_WIDTH], abs(other - best)
        search[_LOW], search[_HIGH] = min(best, other), max(best, other)
    else:
        search[_LOW] = step + _LEAST_GROWTH * (step - best)
        search[_HIGH] = step + _MOST_GROWTH * (step - best)
    search[STEP] = min(max(step, 0.0), _LONGEST)
    if _stuck(search):
        search[STEP] = best


@inner_kernel(allocates=False)
def _next(search):  # type: ignore[no-untyped-def]
    """Return the next step, by the ends of the interval and what was tried; move the ends (section 4 of the paper)."""
    best, tried = search[_BEST], search[_TRIED]
    if search[_TRIED + 1] > search[_BEST + 1]:
        cubic, parabola = _cubic(search, _BEST, _TRIED), _parabola(search, _BEST, _TRIED)
        search[_BRACKETED] = 1.0
        _copy(search, _TRIED, _OTHER)
        return cubic if abs(cubic - best) <= abs(parabola - best) else cubic + 0.5 * (parabola - cubic)
    if search[_TRIED + 2] * math.copysign(1.0, search[_BEST + 2]) < 0.0:
        cubic, secant = _cubic(search, _TRIED, _BEST), _secant(search, _TRIED, _BEST)
        search[_BRACKETED] = 1.0
        _copy(search, _BEST, _OTHER)
        _copy(search, _TRIED, _BEST)
        return cubic if abs(cubic - tried) > abs(secant - tried) else secant
    if abs(search[_TRIED + 2]) < abs(search[_BEST + 2]):
        step = _flatter(search)
    elif search[_BRACKETED] > 0.0:
        step = _cubic(search, _TRIED, _OTHER)
    else:
        step = _bound(search)
    _copy(search, _TRIED, _BEST)
    return step


@inner_kernel(allocates=False)
def _flatter(search):  # type: ignore[no-untyped-def]
    """The third case: the value is lower, the slope has the same sign and is smaller."""
    best, tried, slope = search[_BEST], search[_TRIED], search[_TRIED + 2]
    theta = _theta(search, _TRIED, _BEST)
    root = math.copysign(_root(search, _TRIED, _BEST, theta, 0.0), best - tried)
    ratio = ((root - slope) + theta) / ((root + (search[_BEST + 2] - slope)) + root)
    cubic = tried + ratio * (best - tried) if ratio < 0.0 and root != 0.0 else _bound(search)
    secant = _secant(search, _TRIED, _BEST)
    nearer = abs(cubic - tried) < abs(secant - tried)
    if search[_BRACKETED] == 0.0:
        return min(max(secant if nearer or cubic == secant else cubic, search[_LOW]), search[_HIGH])
    limit = tried + _SHRINK * (search[_OTHER] - tried)
    step = cubic if nearer else secant
    return min(limit, step) if tried > best else max(limit, step)


@inner_kernel(allocates=False)
def _bound(search):  # type: ignore[no-untyped-def]
    return search[_HIGH] if search[_TRIED] > search[_BEST] else search[_LOW]


@inner_kernel(allocates=False)
def _copy(search, source, goal):  # type: ignore[no-untyped-def]
    for i in range(3):
        search[goal + i] = search[source + i]


@inner_kernel(allocates=False)
def _theta(search, one, two):  # type: ignore[no-untyped-def]
    """What the minimum of the cubic through two trials is made of, with :func:`_root`."""
    rise = search[two + 1] - search[one + 1]
    return 3.0 * rise / (search[one] - search[two]) + search[one + 2] + search[two + 2]


@inner_kernel(allocates=False)
def _root(search, one, two, theta, at_least):  # type: ignore[no-untyped-def]
    scale = max(abs(theta), abs(search[one + 2]), abs(search[two + 2]))
    inside = (theta / scale) ** 2 - (search[one + 2] / scale) * (search[two + 2] / scale)
    return scale * np.sqrt(max(inside, at_least))


@inner_kernel(allocates=False)
def _cubic(search, one, two):  # type: ignore[no-untyped-def]
    """The minimum of the cubic with the values and slopes of two trials."""
    theta, slope, way = _theta(search, one, two), search[one + 2], search[two] - search[one]
    root = _root(search, one, two, theta, -math.inf)
    if way < 0.0:
        root = -root
    return search[one] + ((root - slope) + theta) / (((root - slope) + root) + search[two + 2]) * way


@inner_kernel(allocates=False)
def _parabola(search, one, two):  # type: ignore[no-untyped-def]
    """The minimum of the parabola with two values and the slope of the first."""
    way = search[two] - search[one]
    chord = (search[one + 1] - search[two + 1]) / way + search[one + 2]
    return search[one] + search[one + 2] / chord / 2.0 * way


@inner_kernel(allocates=False)
def _secant(search, one, two):  # type: ignore[no-untyped-def]
    """Where the slope vanishes, by the slopes of two trials."""
    return search[one] + search[one + 2] / (search[one + 2] - search[two + 2]) * (search[two] - search[one])
