"""The compiled L-BFGS makes the steps of the one in Python, whoever evaluates the objective."""

import numpy as np
import pytest
from scipy import optimize

from bnplug.compiling import kernel
from bnplug.gradient import _compiled_lbfgs as compiled
from bnplug.gradient import minimize

advance = kernel(compiled.advance.py_func)


def descend(objective, start, tol, max_iter):
    """Return the values after each step, and the last point."""
    progress, values, found, value = compiled.Progress(start), [], compiled.WANTED, 0.0
    while found != compiled.ENDED:
        if found == compiled.WANTED:
            value, progress.vectors[compiled.GRADIENT] = objective(progress.vectors[compiled.PLACE].copy())
        else:
            values.append(float(progress.numbers[compiled.VALUE]))
        found = advance(value, tol, max_iter, *progress.arrays)
    assert len(values) == progress.whole[compiled.N_ITER]
    return values, progress.vectors[compiled.AT]


def rosen(x):
    return float(optimize.rosen(x)), optimize.rosen_der(x)


def bowl(x):
    """A convex function of any number of variables, which bend it by very different amounts."""
    bend = np.linspace(0.01, 10.0, len(x))
    return float((bend * x * x).sum() + (x**4).sum()), 2 * bend * x + 4 * x**3


@pytest.mark.parametrize(
    ("objective", "size", "max_iter"), [(rosen, 12, 30), (bowl, 3, 50), (bowl, 130, 60), (bowl, 700, 60)]
)
def test_the_steps_are_those_in_python(objective, size, max_iter):
    """Sizes below and above what is multiplied at once; more steps than are remembered."""
    expected = []
    start = np.full(size, -1.2)
    point, n_iter = minimize(objective, start, 1e-9, max_iter, lambda _, value: expected.append(value))
    values, found = descend(objective, start, 1e-9, max_iter)
    assert abs(len(values) - n_iter) <= 1
    n = min(n_iter, len(values))
    np.testing.assert_allclose(values[:n], expected[:n], rtol=1e-4)
    np.testing.assert_allclose(found, point, atol=1e-3)


def test_it_reaches_the_minimum():
    assert descend(rosen, np.full(12, -1.2), 1e-15, 500)[1] == pytest.approx(np.ones(12), abs=1e-6)


def test_where_no_step_helps_it_ends():
    """A gradient that points the wrong way, and one that is zero."""
    assert descend(lambda x: (float(x @ x), -2 * x), np.ones(2), 0.0, 100)[0] == []
    assert descend(bowl, np.zeros(2), 0.0, 100)[0] == []


def test_it_ends_after_the_largest_number_of_steps():
    values, _ = descend(rosen, np.full(5, -1.2), 0.0, 7)
    assert len(values) == 7
    assert values == sorted(values, reverse=True)
