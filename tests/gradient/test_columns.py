"""Columns of tables: a softmax makes a network of any numbers, and its derivative is that of differences."""

import numpy as np
from gradient_problems import differences, large_table, random_problem
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug.gradient import Columns, with_values


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


def test_a_share_too_small_to_write_is_no_error_wherever_those_are_raised():
    columns = Columns(*(np.array([n], dtype=np.int64) for n in (0, 1, 2, 1)))
    beta = np.array([0.0, -800.0])
    with np.errstate(all="raise"):
        log_theta = columns.log_softmax(beta)
        assert columns.chain(np.array([1.0, 2.0]), log_theta).tolist() == [-2.0, 2.0]
    assert log_theta.tolist() == [0.0, -800.0]
