"""The projection onto sub-normalised columns: exact, whatever the values."""

import numpy as np
import pytest
from bnplug_mlbnsvm.projection import project, wright_omega
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, wrightomega

from bnplug.gradient import Columns


def one_column(size):
    one = np.array([1])
    return Columns(starts=np.array([0]), outer=one, states=np.array([size]), inner=one)


def points(lowest=-1e6, highest=1e6):
    return st.lists(st.floats(lowest, highest), min_size=2, max_size=20).map(np.array)


def by_solver(point, weights):
    """The smallest distance that a general solver finds."""
    constraint = {
        "type": "ineq",
        "fun": lambda z: -logsumexp(z),
        "jac": lambda z: -softmax(z),
    }
    start = point - max(0.0, logsumexp(point))
    found = minimize(
        lambda z: float(weights @ (z - point) ** 2),
        start,
        jac=lambda z: 2 * weights * (z - point),
        method="SLSQP",
        constraints=[constraint],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    # It leaves the constraint by a little.
    inside = found.x - max(0.0, logsumexp(found.x))
    return float(weights @ (inside - point) ** 2)


@pytest.mark.parametrize("size", [2, 3, 5, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_nearest_point_by_brute_force(size, weighted):
    rng = np.random.default_rng(size)
    for _ in range(4):
        point = rng.normal(0.0, 2.0, size) + 0.5
        weights = rng.uniform(0.2, 5.0, size) if weighted else np.ones(size)
        found = project(point, weights, one_column(size))
        distance = float(weights @ (found - point) ** 2)
        assert distance <= by_solver(point, weights) + 1e-7
        # No sub-normalised point in any direction is nearer.
        for other in found + rng.normal(0.0, 0.3, (50, size)):
            other -= max(0.0, logsumexp(other))
            assert distance <= float(weights @ (other - point) ** 2) + 1e-12


@given(points())
def test_it_is_feasible_and_idempotent(point):
    weights, column = np.ones(len(point)), one_column(len(point))
    found = project(point, weights, column)
    assert np.isfinite(found).all()
    assert logsumexp(found) <= 1e-12
    np.testing.assert_array_equal(project(found, weights, column), found)


@given(points(), st.integers(0, 1000))
def test_the_conditions_of_optimality_hold_at_extreme_values_and_weights(point, seed):
    weights = np.exp(np.random.default_rng(seed).normal(0.0, 3.0, len(point)))
    found = project(point, weights, one_column(len(point)))
    if logsumexp(point) <= 0:
        np.testing.assert_array_equal(found, point)
        return
    assert logsumexp(found) == pytest.approx(0.0, abs=1e-11)
    # weights (point - found) = nu exp(found) with one nu for all entries, in logarithms.
    moved = point - found
    clear = moved > 1e-6 * (1.0 + np.abs(point))
    log_nu = np.log(weights[clear] * moved[clear]) - found[clear]
    assert not clear.any() or np.ptp(log_nu) <= 1e-4


@pytest.mark.parametrize(
    "point", [[700.0, -700.0], [1e8, 1e8, -1e8], [1e-14, -1e9], [0.0, 0.0], [5.0], [-5.0], [1e5] * 20]
)
def test_extreme_points(point):
    point = np.array(point)
    found = project(point, np.ones(len(point)), one_column(len(point)))
    assert logsumexp(found) <= 1e-12
    assert (found <= point).all()
    low = point < -100
    np.testing.assert_allclose(found[low], point[low], rtol=1e-12)


def test_columns_lie_along_the_middle_axis():
    rng = np.random.default_rng(0)
    values = rng.normal(0.0, 1.0, 7 + 2 * 3 * 4)
    weights = rng.uniform(0.5, 2.0, values.size)
    columns = Columns(*(np.array(part) for part in ([0, 7], [1, 2], [7, 3], [1, 4])))
    found = project(values, weights, columns)
    np.testing.assert_allclose(found[:7], project(values[:7], weights[:7], one_column(7)))
    cube, cube_weights, cube_found = (part[7:].reshape(2, 3, 4) for part in (values, weights, found))
    for o in range(2):
        for i in range(4):
            expected = project(cube[o, :, i].copy(), cube_weights[o, :, i].copy(), one_column(3))
            np.testing.assert_allclose(cube_found[o, :, i], expected)


def test_wright_omega_is_scipys():
    x = np.concatenate([np.linspace(-50, 50, 5001), [-700.0, 1e3, 1e8, 1e12]])
    np.testing.assert_allclose([wright_omega(value) for value in x], wrightomega(x), rtol=1e-12)
