"""The pass over the rows that discriminative learners share: its value, its gradient, and what it may not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_problems import differences, large_table, naive_bayes, random_problem, slow_nll
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from strategies import tables

from bnplug import gradient, parameter_learner
from bnplug.gradient import Objective, conditional_nll
from bnplug.inference.complete import terms
from bnplug.table.table import Table


@given(st.booleans().flatmap(lambda weighted: tables(weighted=weighted, missing=True)), st.integers(0, 2**32 - 1))
def test_the_sum_is_that_of_a_slow_loop(table, seed):
    own_tables, own = random_problem(table, seed)
    value, _ = Objective(own, table)(own.values, conditional_nll)
    assert value == pytest.approx(slow_nll(own_tables, table), rel=1e-12, abs=1e-12)


@settings(max_examples=25)
@given(tables(weighted=True, missing=True), st.integers(0, 2**32 - 1))
def test_the_gradient_is_that_of_finite_differences(table, seed):
    _, own = random_problem(table, seed)
    objective = Objective(own, table)
    _, exact = objective(own.values, conditional_nll)
    numeric = differences(lambda values: objective(values, conditional_nll)[0], own.values)
    np.testing.assert_allclose(exact, numeric, rtol=1e-6, atol=1e-6 * table.total_weight)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(gradient.objective, "_BLOCK_CELLS", 512)
    table = large_table()
    own = terms(parameter_learner("ml").fit(table, naive_bayes(table)), "c")
    one = Objective(own, table, n_jobs=1)
    assert one._blocks.call("__getattribute__", "_parts")[0][3:]
    value, derivative = one(own.values, conditional_nll)
    for n_jobs in (2, 3):
        other, other_derivative = Objective(own, table, n_jobs=n_jobs)(own.values, conditional_nll)
        assert other == value
        assert (other_derivative == derivative).all()


def test_a_weight_of_two_is_the_row_twice_and_equal_rows_are_one():
    table = large_table(rows=300, features=3, states=2)
    _, own = random_problem(table, seed=2)
    once = Objective(own, table)
    assert once.n_rows <= 2**3 * 3
    twice = Table(table.codes, table.names, table.states, "c", np.full(table.n_rows, 2.0))
    repeated = table.take(np.repeat(np.arange(table.n_rows), 2))
    value, derivative = Objective(own, twice)(own.values, conditional_nll)
    for other, other_derivative in (
        Objective(own, repeated)(own.values, conditional_nll),
        (2 * once(own.values, conditional_nll)[0], 2 * once(own.values, conditional_nll)[1]),
    ):
        assert value == pytest.approx(other, rel=1e-13)
        np.testing.assert_allclose(derivative, other_derivative, rtol=1e-11, atol=1e-11)


def test_many_variables_outgrow_one_key():
    """70 features of 4 states have more configurations than a 64-bit number can tell."""
    table = large_table(rows=50, features=70)
    own_tables = parameter_learner("ml").fit(table, naive_bayes(table))
    own = terms(own_tables, "c")
    assert Objective(own, table)(own.values, conditional_nll)[0] == pytest.approx(slow_nll(own_tables, table))


def brier(L, y, weights, params, dL):
    """A loss of one's own, not even compiled: params[0] times the squared distance of the posterior from the truth."""
    posterior = np.exp(L - logsumexp(L, axis=1, keepdims=True))
    away = posterior - np.eye(L.shape[1])[y]
    scale = 2 * params[0] * weights[:, None]
    dL[:] = scale * posterior * (away - (away * posterior).sum(axis=1, keepdims=True))
    return float(params[0] * weights @ (away**2).sum(axis=1))


def test_any_loss_can_be_given():
    table = large_table(rows=60, features=3)
    _, own = random_problem(table, seed=3)
    objective, params = Objective(own, table), np.array([0.7])
    _, exact = objective(own.values, brier, params)
    numeric = differences(lambda values: objective(values, brier, params)[0], own.values)
    np.testing.assert_allclose(exact, numeric, atol=1e-5)


def test_a_missing_class_is_refused():
    table = large_table(rows=5)
    codes = table.codes.copy()
    codes[table.target_index, 2] = table.missing
    _, own = random_problem(table, seed=0)
    with pytest.raises(ValueError, match="the class 'c' is missing in 1 row"):
        Objective(own, Table(codes, table.names, table.states, "c"))


def slow_joint(layout, values, table):
    """The log joint of every row and class, without sharing anything."""
    cells = layout.cells(table.codes)
    padded = np.append(values, np.zeros(layout.n_classes))
    places = np.where(cells < 0, len(values), cells)
    return sum(padded[own[:, None] + np.arange(layout.n_classes)] for own in places)


@settings(max_examples=25)
@given(tables(weighted=True, missing=True), st.integers(0, 2**32 - 1))
def test_the_class_that_a_row_has_may_find_other_values(table, seed):
    _, layout = random_problem(table, seed)
    values = layout.values
    own = np.random.default_rng(seed).normal(size=values.size)
    objective = Objective(layout, table)
    value, gradient_of_values, gradient_of_own = objective.with_own(values, own, conditional_nll)
    y = table.codes[table.target_index].astype(int)
    rows = np.arange(table.n_rows)
    joint = slow_joint(layout, values, table)
    joint[rows, y] += slow_joint(layout, own, table)[rows, y]
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    assert value == pytest.approx(weights @ (logsumexp(joint, axis=1) - joint[rows, y]), rel=1e-10, abs=1e-10)
    tolerance = {"rtol": 1e-6, "atol": 1e-6 * table.total_weight}
    numeric = differences(lambda point: objective.with_own(point, own, conditional_nll)[0], values)
    np.testing.assert_allclose(gradient_of_values, numeric, **tolerance)
    numeric = differences(lambda point: objective.with_own(values, point, conditional_nll)[0], own)
    np.testing.assert_allclose(gradient_of_own, numeric, **tolerance)


def test_other_values_for_the_own_class_change_no_bit_by_threads(monkeypatch):
    monkeypatch.setattr(gradient.objective, "_BLOCK_CELLS", 512)
    table = large_table()
    layout = terms(parameter_learner("ml").fit(table, naive_bayes(table)), "c")
    own = np.random.default_rng(0).normal(size=layout.values.size)
    first, *others = (
        Objective(layout, table, n_jobs=n_jobs).with_own(layout.values, own, conditional_nll) for n_jobs in (1, 2, 3)
    )
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    # Nothing is kept of it: a plain call answers as ever.
    plain, both = Objective(layout, table), Objective(layout, table)
    both.with_own(layout.values, own, conditional_nll)
    assert plain(layout.values, conditional_nll)[0] == both(layout.values, conditional_nll)[0]
