"""The compiled line search tries the steps of the one in Python."""

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from bnplug.compiling import kernel
from bnplug.gradient import _compiled_line_search as compiled
from bnplug.gradient._line_search import LineSearch

begin, ends_at = kernel(compiled.begin.py_func), kernel(compiled.ends_at.py_func)


def steps_in_python(f, slope_of, step, most):
    line, tried = LineSearch(f(0.0), slope_of(0.0), step), []
    for _ in range(most):
        tried.append(line.step)
        if line.ends_at(f(line.step), slope_of(line.step)):
            break
    return tried


def steps_compiled(f, slope_of, step, most):
    search, tried = np.empty(compiled.SIZE), []
    begin(search, f(0.0), slope_of(0.0), step)
    for _ in range(most):
        tried.append(search[compiled.STEP])
        if ends_at(search, f(tried[-1]), slope_of(tried[-1])):
            break
    return tried


@given(st.floats(0.01, 100.0), st.floats(-3.0, 3.0), st.floats(0.1, 10.0), st.floats(-3.0, 3.0), st.floats(-3.0, 1.5))
def test_the_steps_are_those_of_the_search_in_python(width, height, pace, shift, exponent):
    """A bowl with waves on it, from steps far too short to far too long."""

    def f(x):
        return width * (x - 1.7) ** 2 + height * math.sin(pace * x + shift)

    def slope_of(x):
        return 2.0 * width * (x - 1.7) + height * pace * math.cos(pace * x + shift)

    assume(slope_of(0.0) < -1e-3)
    expected = steps_in_python(f, slope_of, 10.0**exponent, 12)
    found = steps_compiled(f, slope_of, 10.0**exponent, 12)
    # Rounding may decide whether an interval that has become narrow is given up.
    n = min(len(found), len(expected))
    assert max(len(found), len(expected)) - n <= 1
    np.testing.assert_allclose(found[:n], expected[:n], rtol=1e-6, atol=1e-12)


def test_without_an_end_it_stops_at_the_longest_step():
    assert steps_compiled(lambda x: -x, lambda _: -1.0, 1.0, 50)[-1] == 1e10
