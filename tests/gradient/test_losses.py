"""Losses, row by row: by hand, and against the library's exponential."""

import numpy as np
import pytest
from gradient_problems import differences
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import log_softmax

from bnplug.gradient import classified, conditional_nll
from bnplug.gradient.losses import exponential

NONE = np.empty(0)


def joints(max_rows=6, max_classes=4):
    shapes = st.tuples(st.integers(1, max_rows), st.integers(1, max_classes))
    return arrays.arrays(np.float64, shapes, elements=st.floats(-300, 300))


@given(joints(), st.integers(0, 2**32 - 1))
def test_the_nll_is_that_of_the_posterior(L, seed):
    rng = np.random.default_rng(seed)
    y, weights, dL = rng.integers(0, L.shape[1], len(L)), rng.random(len(L)) + 0.1, np.empty_like(L)
    total = conditional_nll(L, y, weights, NONE, dL)
    log_posterior = log_softmax(L, axis=1)
    rows = np.arange(len(L))
    assert total == pytest.approx(-weights @ log_posterior[rows, y], rel=1e-12, abs=1e-12)
    expected = np.exp(log_posterior)
    expected[rows, y] -= 1.0
    np.testing.assert_allclose(dL, weights[:, None] * expected, rtol=1e-12, atol=1e-12)


def test_the_derivative_of_the_nll_is_that_of_differences():
    rng = np.random.default_rng(0)
    L, y, weights = rng.normal(size=(4, 3)), np.array([0, 2, 1, 1]), np.array([1.0, 2.0, 0.5, 1.0])
    dL = np.empty_like(L)
    conditional_nll(L, y, weights, NONE, dL)
    scratch = np.empty_like(L)
    numeric = differences(lambda flat: conditional_nll(flat.reshape(4, 3), y, weights, NONE, scratch), L.ravel())
    np.testing.assert_allclose(dL.ravel(), numeric, atol=1e-7)


def test_rows_are_classified_by_the_largest_log_joint_and_the_lowest_of_tied_ones():
    L = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0 + 1e-12], [2.0 + 1e-12, 2.0], [0.0, 1e-6]])
    y, weights, dL = np.array([1, 1, 0, 1, 1]), np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.ones((5, 2))
    assert classified(L, y, weights, NONE, dL) == 1.0 + 4.0 + 16.0
    assert not dL.any()


def test_the_exponential_is_that_of_numpy():
    x = np.concatenate([np.linspace(-708, 700, 100_001), -(10.0 ** np.arange(-20, 3)), [0.0]])
    ours = x.copy()
    exponential(ours)
    np.testing.assert_allclose(ours, np.exp(x), rtol=1e-15)
    tiny = np.array([-709.0, -1e300, -np.inf])
    exponential(tiny)
    np.testing.assert_allclose(tiny, np.exp(-708))
