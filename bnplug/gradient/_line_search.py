"""The line search of Moré and Thuente (1994): a step of sufficient decrease whose slope is small.

Trial steps come from cubics and parabolas through what is known of the two ends of an interval; while no interval is
known to hold a minimum, the step grows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# What a step must reach: this share of the decrease that the first slope promises, and a slope of at most this share.
_DECREASE, _CURVATURE = 1e-3, 0.9
# An interval this narrow, relative to its upper end, is given up; so is a step this long.
_NARROW, _LONGEST = 0.1, 1e10
# How far a step may grow, and the share of the interval that must go within two trials.
_LEAST_GROWTH, _MOST_GROWTH, _SHRINK = 1.1, 4.0, 0.66


class Trial(NamedTuple):
    """A step along the line, with the function's value and slope there."""

    step: float
    value: float
    slope: float

    def without(self, slope: float) -> Trial:
        """Return the trial of the function less a line through the origin."""
        return Trial(self.step, self.value - self.step * slope, self.slope - slope)


class LineSearch:
    """Steps to try along a line, one after the other.

    Parameters
    ----------
    value, slope : float
        The function and its slope at 0; the slope is negative.
    step : float
        The first step to try.

    Attributes
    ----------
    step : float
        The step to try next.

    Examples
    --------
    >>> search = LineSearch(value=9.0, slope=-6.0, step=0.5)  # of (x - 3)^2
    >>> search.ends_at(6.25, -5.0), search.step
    (True, 0.5)
    """

    def __init__(self, value: float, slope: float, step: float) -> None:
        self.step = step
        self._promised, self._steepest = _DECREASE * slope, -_CURVATURE * slope
        self._start = self._best = self._other = Trial(0.0, value, slope)
        self._bracketed, self._descending = False, True
        self._width, self._width_before = _LONGEST, 2.0 * _LONGEST
        self._low, self._high = 0.0, step + _MOST_GROWTH * step

    def ends_at(self, value: float, slope: float) -> bool:
        """Return whether `step` is the one, given the function there; else `step` is now another."""
        trial = Trial(self.step, value, slope)
        enough = self._start.value + self.step * self._promised
        if self._descending and value <= enough and slope >= 0.0:
            self._descending = False
        if self._stuck() or self._at_an_end(value, slope, enough) or (value <= enough and abs(slope) <= self._steepest):
            return True
        if self._descending and enough < value <= self._best.value:
            # Of the function less what was promised, whose minimum is known to be inside.
            line = self._promised
            best, other = self._best.without(line), self._other.without(line)
            best, other, self.step = self._next(best, other, trial.without(line))
            self._best, self._other = best.without(-line), other.without(-line)
        else:
            self._best, self._other, self.step = self._next(self._best, self._other, trial)
        self._shrink()
        return False

    def _stuck(self) -> bool:
        """Whether rounding, or a narrow interval, leaves no better step."""
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

    def _next(self, best: Trial, other: Trial, trial: Trial) -> tuple[Trial, Trial, float]:
        """Return the ends of the next interval, the better one first, and the next step (section 4 of the paper)."""
        turned = trial.slope * math.copysign(1.0, best.slope) < 0.0
        if trial.value > best.value:
            cubic, parabola = _cubic(best, trial), _parabola(best, trial)
            near = abs(cubic - best.step) <= abs(parabola - best.step)
            step, self._bracketed = cubic if near else cubic + 0.5 * (parabola - cubic), True
            return best, trial, step
        if turned:
            cubic, secant = _cubic(trial, best), _secant(trial, best)
            self._bracketed = True
            return trial, best, cubic if abs(cubic - trial.step) > abs(secant - trial.step) else secant
        if abs(trial.slope) < abs(best.slope):
            return trial, other, self._flatter(best, other, trial)
        if self._bracketed:
            return trial, other, _cubic(trial, other)
        return trial, other, self._bound(best, trial)

    def _flatter(self, best: Trial, other: Trial, trial: Trial) -> float:
        """The third case: the value is lower, the slope has the same sign and is smaller."""
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

    def _bound(self, best: Trial, trial: Trial) -> float:
        return self._high if trial.step > best.step else self._low


def _theta(one: Trial, two: Trial, at_least: float = -math.inf) -> tuple[float, float]:
    """Return what the minimum of the cubic through two trials is made of: theta, and the size of the root."""
    theta = 3.0 * (two.value - one.value) / (one.step - two.step) + one.slope + two.slope
    scale = max(abs(theta), abs(one.slope), abs(two.slope))
    inside = (theta / scale) ** 2 - (one.slope / scale) * (two.slope / scale)
    return theta, scale * math.sqrt(max(inside, at_least))


def _cubic(one: Trial, two: Trial) -> float:
    """The minimum of the cubic with the values and slopes of two trials."""
    theta, root = _theta(one, two)
    root = math.copysign(root, two.step - one.step)
    ratio = ((root - one.slope) + theta) / (((root - one.slope) + root) + two.slope)
    return one.step + ratio * (two.step - one.step)


def _parabola(one: Trial, two: Trial) -> float:
    """The minimum of the parabola with two values and the slope of the first."""
    chord = (one.value - two.value) / (two.step - one.step) + one.slope
    return one.step + one.slope / chord / 2.0 * (two.step - one.step)


def _secant(one: Trial, two: Trial) -> float:
    """Where the slope vanishes, by the slopes of two trials."""
    return one.step + one.slope / (one.slope - two.slope) * (two.step - one.step)
