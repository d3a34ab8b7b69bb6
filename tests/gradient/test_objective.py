"""The pass over the rows that discriminative learners share: its value, its gradient, and what it may not depend on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from strategies import random_parents, tables

from bnplug import gradient, parameter_learner
from bnplug.data.table import Table
from bnplug.gradient import Columns, Objective, _shared_tables, conditional_nll, exponential, minimize, with_values
from bnplug.inference.complete import terms
from bnplug.model.log_tables import LogTables


def random_problem(table, seed):
    """Random log parameters on a random structure, as tables and as terms."""
    rng = np.random.default_rng(seed)
    dag = table.dag(random_parents(rng, len(table.names)))
    ml = parameter_learner("ml").fit(table, dag)
    noise = {name: (own.parents, own.values + rng.normal(size=own.values.shape)) for name, own in ml.tables.items()}
    tables = LogTables(ml.names, ml.states, noise, table.target)
    return tables, terms(tables, table.target)


def slow_nll(tables, table):
    """The NLL row by row; a node that has a missing variable adds nothing."""
    total = 0.0
    c = table.target_index
    for m in range(table.n_rows):
        joint = np.zeros(table.cards[c])
        for name, (parents, values) in tables.tables.items():
            family = [table.index(v) for v in (name, *parents)]
            if c not in family or any(table.codes[v, m] == table.missing for v in family):
                continue
            joint += values[tuple(slice(None) if v == c else table.codes[v, m] for v in family)]
        weight = 1.0 if table.weights is None else table.weights[m]
        total += weight * (logsumexp(joint) - joint[table.codes[c, m]])
    return total


def differences(function, point, step=1e-6):
    """The gradient by central differences."""
    result = np.empty_like(point)
    for i in range(point.size):
        up, down = point.copy(), point.copy()
        up[i] += step
        down[i] -= step
        result[i] = (function(up) - function(down)) / (2 * step)
    return result


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


@given(tables(missing=True, max_rows=60), st.integers(0, 2**32 - 1))
def test_terms_that_share_a_table_give_what_they_give_alone(table, seed):
    _, own = random_problem(table, seed)
    results = []
    with pytest.MonkeyPatch.context() as patch:
        for cells, rows in ((1, 16), (1 << 15, 1)):
            patch.setattr(_shared_tables, "_SHARED_CELLS", cells)
            patch.setattr(_shared_tables, "_ROWS_A_CONFIGURATION", rows)
            results.append(Objective(own, table)(own.values, conditional_nll))
    (value, derivative), (shared_value, shared_derivative) = results
    assert shared_value == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(shared_derivative, derivative, rtol=1e-12, atol=1e-12 * table.n_rows)


def large_table(rows=4000, features=6, classes=3, states=4, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, states, (rows, features))).rename(columns=str)
    frame["c"] = rng.integers(0, classes, rows)
    return Table.from_frame(frame, "c")


def naive_bayes(table):
    return table.dag([[] if v == table.target_index else [table.target_index] for v in range(len(table.names))])


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(gradient.objective, "_BLOCK_CELLS", 512)
    table = large_table()
    own = terms(parameter_learner("ml").fit(table, naive_bayes(table)), "c")
    one = Objective(own, table, n_jobs=1)
    assert len(one._parts) > 3
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


def test_the_exponential_is_that_of_numpy():
    x = np.concatenate([np.linspace(-708, 700, 100_001), -(10.0 ** np.arange(-20, 3)), [0.0]])
    ours = x.copy()
    exponential(ours)
    np.testing.assert_allclose(ours, np.exp(x), rtol=1e-15)
    tiny = np.array([-709.0, -1e300, -np.inf])
    exponential(tiny)
    np.testing.assert_allclose(tiny, np.exp(-708))


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


@given(tables(), st.integers(0, 2**32 - 1))
def test_values_go_back_to_where_they_came_from(table, seed):
    own_tables, own = random_problem(table, seed)
    back = with_values(own_tables, "c", own, own.values)
    moved = with_values(own_tables, "c", own, own.values + 1.0)
    for v, name in enumerate(table.names):
        assert (back.tables[name].values == own_tables.tables[name].values).all()
        assert (moved.tables[name].values == own_tables.tables[name].values + (v in own.nodes)).all()


@given(tables(), st.integers(0, 2**32 - 1))
def test_the_softmax_of_columns_makes_a_network(table, seed):
    own_tables, own = random_problem(table, seed)
    columns = Columns.of(own, own_tables, "c")
    log_theta = columns.log_softmax(own.values)
    network = with_values(own_tables, "c", own, log_theta)
    for node in own.nodes:
        columns_of_node = network.tables[table.names[node]].values
        np.testing.assert_allclose(np.exp(columns_of_node).sum(axis=0), 1.0, rtol=1e-12)
    direction = np.random.default_rng(seed).normal(size=own.values.size)
    chained = columns.chain(direction, log_theta)
    numeric = differences(lambda beta: float(direction @ columns.log_softmax(beta)), own.values)
    np.testing.assert_allclose(chained, numeric, atol=1e-6)


def test_columns_of_large_numbers_do_not_overflow():
    table = large_table(rows=30, features=2)
    own_tables, own = random_problem(table, seed=0)
    columns = Columns.of(own, own_tables, "c")
    shifted = columns.log_softmax(own.values + 1e6)
    np.testing.assert_allclose(shifted, columns.log_softmax(own.values), atol=1e-8)


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
