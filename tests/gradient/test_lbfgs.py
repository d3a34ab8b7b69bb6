"""L-BFGS takes the steps that it should, and stops where it is told to."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize

from bnplug.gradient import minimize


def quartic(x):
    return float((x**4).sum()), 4 * x**3


def test_minimize_stops_by_its_rule():
    values = [quartic(np.ones(3))[0]]
    point, n_iter = minimize(quartic, np.ones(3), tol=1e-3, max_iter=100, callback=lambda x, f: values.append(f))
    steps = [(a - b) / max(abs(a), abs(b), 1.0) for a, b in pairwise(values)]
    assert len(steps) == n_iter
    assert steps[-1] <= 1e-3
    assert min(steps[:-1]) > 1e-3
    assert quartic(point)[0] == values[-1]


def test_minimize_ends_after_max_iter():
    start = np.ones(2)
    assert minimize(quartic, start, tol=0.0, max_iter=2)[1] == 2
    unmoved, n_iter = minimize(quartic, start, tol=0.0, max_iter=0)
    assert (n_iter, unmoved.tolist()) == (0, [1.0, 1.0])


def logistic(seed, size):
    """A strictly convex function without a closed minimum."""
    rng = np.random.default_rng(seed)
    matrix, offset = rng.normal(size=(2 * size, size)), rng.normal(size=size)

    def objective(x):
        z = matrix @ x
        value = np.logaddexp(0.0, z).sum() + 0.05 * x @ x - offset @ x
        return float(value), matrix.T @ (1.0 / (1.0 + np.exp(-z))) + 0.1 * x - offset

    return objective


@pytest.mark.parametrize(("seed", "size"), [(0, 3), (1, 12), (2, 40)])
@pytest.mark.parametrize("max_iter", [1, 5, 12, 30])
@pytest.mark.parametrize("memory", [5, 20])
def test_the_steps_are_those_of_scipy(seed, size, max_iter, memory):
    objective, start = logistic(seed, size), np.ones(size)
    options = {"ftol": 1e-12, "gtol": 0.0, "maxiter": max_iter, "maxfun": 10**6, "maxcor": memory}
    expected = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    values = []
    point, n_iter = minimize(objective, start, 1e-12, max_iter, lambda _, value: values.append(value), memory)
    assert n_iter == expected.nit == len(values)
    np.testing.assert_allclose(point, expected.x, atol=1e-7)


def test_more_steps_than_are_remembered():
    point, n_iter = minimize(lambda x: (float(optimize.rosen(x)), optimize.rosen_der(x)), np.full(12, -1.2), 1e-15, 500)
    assert n_iter > 40
    np.testing.assert_allclose(point, 1.0, atol=1e-6)


def test_a_callback_may_end_it():
    def stop(_, value):
        if value < 1.0:
            raise StopIteration

    point, n_iter = minimize(quartic, np.full(3, 5.0), 0.0, 100, stop)
    assert n_iter < 100
    assert quartic(point)[0] < 1.0


def test_where_no_step_helps_it_ends():
    """A gradient that points the wrong way, and one that is zero."""
    assert minimize(lambda x: (float(x @ x), -2 * x), np.ones(2), 0.0, 100)[1] == 0
    assert minimize(quartic, np.zeros(2), 0.0, 100)[1] == 0
