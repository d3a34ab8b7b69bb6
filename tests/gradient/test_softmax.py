"""Descents over softmax columns: compiled or not, the same objective goes down the same way."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug.compiling import kernel
from bnplug.data.table import Table
from bnplug.gradient import Problem, SoftmaxProblem, conditional_nll, objective, softmax


def problem_of(rows=60, classes=3, holes=0.2, weighted=False, seed=0, factor=1.0):
    """A TAN on rows with missing cells: the conditional log-likelihood, and counts of the estimates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    frame = pd.DataFrame({f"x{v}": np.where(rng.random(rows) < 0.5, y, rng.integers(0, 4, rows)) for v in range(4)})
    frame = frame.astype(float).mask(rng.random(frame.shape) < holes)
    table = Table.from_frame(frame.assign(c=y), "c", rng.integers(1, 4, rows) * 1.0 if weighted else None)
    own = Problem(table, bnplug.structure_learner("tan").learn(table))
    counts = 0.5 + np.exp(own.terms.values)
    made = SoftmaxProblem(own.objective, conditional_nll, np.empty(0), counts, own.columns, np.sqrt(counts), factor)
    return own, made


@pytest.mark.parametrize(("holes", "weighted", "factor"), [(0.0, False, 1.0), (0.2, True, 3.0), (0.2, False, 0.0)])
def test_compiled_or_not_the_path_is_the_same(holes, weighted, factor):
    own, made = problem_of(holes=holes, weighted=weighted, factor=factor)
    assert own.objective.few_rows is not None
    start = own.terms.values
    found = made._minimize_compiled(start, 1e-7, 40, None)
    expected = made._minimize(start, 1e-7, 40, None)
    n = min(len(found.path), len(expected.path))
    assert abs(len(found.path) - len(expected.path)) <= 2
    np.testing.assert_allclose(found.path[:n], expected.path[:n], rtol=1e-6)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-2)
    np.testing.assert_allclose(own.columns.log_softmax(found.values), found.values, atol=1e-12)


def test_the_path_is_of_the_objective_as_it_is_defined():
    own, made = problem_of(factor=2.0)
    found = made.minimize(own.terms.values, 0.0, 5)
    loss = own.objective(found.values, conditional_nll)[0]
    assert found.path[-1] == pytest.approx(2.0 * loss - made.counts @ found.values, rel=1e-12)
    assert len(found.path) == 6
    assert found.path == sorted(found.path, reverse=True)


def test_at_the_minimum_no_derivative_is_left():
    own, made = problem_of()
    start = made.minimize(own.terms.values, 0.0, 1).steepest
    assert made.minimize(own.terms.values, 1e-15, 500).steepest < 1e-5 * start


@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_each_step_is_told(max_iter):
    own, made = problem_of()
    told = []
    found = made.minimize(own.terms.values, 0.0, max_iter, lambda number, value: told.append((number, value)))
    assert told == list(enumerate(found.path))[1:]
    assert len(told) == max_iter


def test_being_told_changes_nothing(monkeypatch):
    """Python has its turn after every step, or after many."""
    own, made = problem_of()
    found = made.minimize(own.terms.values, 1e-9, 30, lambda *_: None)
    whole = made.minimize(own.terms.values, 1e-9, 30)
    monkeypatch.setattr(softmax, "_STEPS_AT_ONCE", 4)
    assert found.path == whole.path == made.minimize(own.terms.values, 1e-9, 30).path
    np.testing.assert_array_equal(found.values, whole.values)


def surprise(L, y, weights, params, dL):
    """The conditional log-likelihood, in Python."""
    joint = L - L.max(axis=1, keepdims=True)
    dL[:] = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    total = -(weights * np.log(dL[rows, y])).sum()
    dL[rows, y] -= 1.0
    dL *= weights[:, None]
    return float(total)


def test_a_loss_that_is_not_compiled_is_taken():
    own, made = problem_of()
    found = made._replace(loss=surprise).minimize(own.terms.values, 1e-9, 20)
    np.testing.assert_allclose(found.path, made.minimize(own.terms.values, 1e-9, 20).path, rtol=1e-9)


@kernel
def nothing(L, y, weights, params, dL):
    for m in range(L.shape[0]):
        for c in range(L.shape[1]):
            dL[m, c] = 0.0
    return params[0]


def test_another_loss_is_called_with_its_params():
    own, made = problem_of()
    found = made._replace(loss=nothing, params=np.array([5.0])).minimize(own.terms.values, 0.0, 1)
    assert found.path[0] == pytest.approx(5.0 - made.counts @ own.terms.values)


def test_rows_in_several_parts_are_left_to_threads(monkeypatch):
    start = problem_of(rows=300)[1].minimize(problem_of(rows=300)[0].terms.values, 1e-9, 3)
    monkeypatch.setattr(objective, "_BLOCK_CELLS", 64)
    own, made = problem_of(rows=300)
    assert own.objective.few_rows is None
    np.testing.assert_allclose(made.minimize(own.terms.values, 1e-9, 3).path, start.path, rtol=1e-9)
