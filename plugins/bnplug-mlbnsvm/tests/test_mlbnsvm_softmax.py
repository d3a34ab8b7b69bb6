"""Descents over softmax columns: compiled or not, the same objective goes down the same way."""

import numpy as np
import pandas as pd
import pytest
from bnplug_mlbnsvm import softmax
from bnplug_mlbnsvm.slack import slack_params, soft_slack
from bnplug_mlbnsvm.softmax import SoftmaxProblem

import bnplug
from bnplug import Structure
from bnplug.gradient import Problem, conditional_nll, objective
from bnplug.table.table import Table

PARAMS = slack_params(2.0, 10.0, 1.0)


def interpreted(L, y, weights, params, dL):
    """The loss under another name, which is not compiled into the descent."""
    return soft_slack(L, y, weights, params, dL)


def problem_of(rows=60, classes=3, holes=0.2, weighted=False, seed=0, factor=1.0):
    """A TAN on rows with missing cells: the soft slack, and counts of the estimates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    frame = pd.DataFrame({f"x{v}": np.where(rng.random(rows) < 0.5, y, rng.integers(0, 4, rows)) for v in range(4)})
    frame = frame.astype(float).mask(rng.random(frame.shape) < holes)
    table = Table.from_frame(frame.assign(c=y), "c", rng.integers(1, 4, rows) * 1.0 if weighted else None)
    own = Problem(table, bnplug.structure_learner("tan").learn(table))
    counts = 0.5 + np.exp(own.terms.values)
    made = SoftmaxProblem(own.objective, soft_slack, PARAMS, counts, own.columns, np.sqrt(counts), factor)
    return own, made


@pytest.mark.parametrize(("holes", "weighted", "factor"), [(0.0, False, 1.0), (0.2, True, 3.0), (0.2, False, 0.0)])
def test_compiled_or_not_the_path_is_the_same(holes, weighted, factor):
    own, made = problem_of(holes=holes, weighted=weighted, factor=factor)
    assert own.objective.compact_rows is not None
    start = own.terms.values
    found = made.minimize(start, 1e-7, 40)
    expected = made._replace(loss=interpreted).minimize(start, 1e-7, 40)
    n = min(len(found.path), len(expected.path))
    assert abs(len(found.path) - len(expected.path)) <= 2
    np.testing.assert_allclose(found.path[:n], expected.path[:n], rtol=1e-6)
    np.testing.assert_allclose(found.point, expected.point, atol=1e-2)
    np.testing.assert_allclose(own.columns.log_softmax(found.point), found.point, atol=1e-12)


def test_the_path_is_of_the_objective_as_it_is_defined():
    own, made = problem_of(factor=2.0)
    found = made.minimize(own.terms.values, 0.0, 5)
    loss = own.objective(found.point, soft_slack, PARAMS)[0]
    assert found.path[-1] == pytest.approx(2.0 * loss - made.counts @ found.point, rel=1e-12)
    assert len(found.path) == 6
    assert found.path == sorted(found.path, reverse=True)


def test_at_the_minimum_no_derivative_is_left():
    own, made = problem_of()
    start = made.minimize(own.terms.values, 0.0, 1).optimality
    assert made.minimize(own.terms.values, 1e-15, 500).optimality < 1e-5 * start


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
    np.testing.assert_array_equal(found.point, whole.point)


def test_without_a_loss_it_is_maximum_likelihood():
    """1 and 3 rows give probabilities of a quarter and three quarters."""
    table = Table.from_frame(pd.DataFrame({"x": [0, 0, 0, 1], "c": ["n", "y", "y", "y"]}), "c")
    own, counts = Problem(table, Structure(table.names, [[], []])), np.array([1.0, 3.0])
    problem = SoftmaxProblem(own.objective, soft_slack, PARAMS, counts, own.columns, np.sqrt(counts), 0.0)
    assert np.exp(problem.minimize(np.log([0.5, 0.5]), 1e-12, 50).point) == pytest.approx([0.25, 0.75], abs=1e-4)


def test_any_loss_is_taken():
    own, made = problem_of()
    found = made._replace(loss=conditional_nll).minimize(own.terms.values, 1e-9, 20)
    expected = own.objective(found.point, conditional_nll)[0] - made.counts @ found.point
    assert found.path[-1] == pytest.approx(expected, rel=1e-12)
    assert found.path == sorted(found.path, reverse=True)


def test_rows_in_several_parts_are_left_to_threads(monkeypatch):
    start = problem_of(rows=300)[1].minimize(problem_of(rows=300)[0].terms.values, 1e-9, 3)
    monkeypatch.setattr(objective, "_BLOCK_CELLS", 64)
    own, made = problem_of(rows=300)
    assert own.objective.compact_rows is None
    np.testing.assert_allclose(made.minimize(own.terms.values, 1e-9, 3).path, start.path, rtol=1e-9)
