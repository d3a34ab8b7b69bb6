"""The line search ends where Moré and Thuente's two conditions hold."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bnplug.gradient.lbfgs import _LineSearch, _Trial


def search(f, slope_of, step, most=50):
    """Return the steps tried."""
    line, tried = _LineSearch(f(0.0), slope_of(0.0), step), []
    for _ in range(most):
        tried.append(line.step)
        if line.ends_at(f(line.step), slope_of(line.step)):
            return tried
    raise AssertionError(tried)


@given(st.floats(0.01, 100.0), st.floats(-3.0, 3.0), st.floats(0.1, 10.0), st.floats(-3.0, 3.0), st.floats(-3.0, 1.5))
def test_the_last_step_descends_enough_and_is_flat_enough(width, height, pace, shift, exponent):
    """A bowl with waves on it, from steps far too short to far too long."""

    def f(x):
        return width * (x - 1.7) ** 2 + height * math.sin(pace * x + shift)

    def slope_of(x):
        return 2.0 * width * (x - 1.7) + height * pace * math.cos(pace * x + shift)

    assume(slope_of(0.0) < -1e-3)
    tried = search(f, slope_of, 10.0**exponent)
    found = tried[-1]
    if len(tried) < 12:
        assert f(found) <= f(0.0) + 1e-3 * found * slope_of(0.0) + 1e-12 * abs(f(0.0))
    assert f(found) <= f(0.0)
    assert min(tried) >= 0.0


def test_a_step_that_is_too_short_grows_by_hand():
    """(x - 3)^2 from 0: at 0.01 the slope is -5.98, steeper than 0.9 x 6; the parabola's minimum is too far to go."""
    tried = search(lambda x: (x - 3.0) ** 2, lambda x: 2.0 * (x - 3.0), 0.01)
    assert tried[:2] == [0.01, pytest.approx(0.05)]
    assert abs(2.0 * (tried[-1] - 3.0)) <= 0.9 * 6.0


def test_a_step_too_far_comes_back_to_the_minimum():
    """Cubic and parabola through two points of a parabola have its minimum."""
    assert search(lambda x: (x - 3.0) ** 2, lambda x: 2.0 * (x - 3.0), 10.0) == [10.0, pytest.approx(3.0)]


def test_a_trial_less_a_line():
    assert _Trial(2.0, 5.0, 3.0).without(1.0) == _Trial(2.0, 3.0, 2.0)


def test_without_an_end_it_stops_at_the_longest_step():
    tried = search(lambda x: -x, lambda _: -1.0, 1.0)
    assert tried[-1] == 1e10
