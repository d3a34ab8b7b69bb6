"""Fewer rows and fewer terms say the same."""

import numpy as np
import pytest
from gradient_problems import large_table, random_problem
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug.gradient import Objective, _rows, conditional_nll
from bnplug.gradient._rows import (
    distinct_rows,
    gather,
    gather_distinct,
    merge,
    refuse_unlabeled,
    scatter,
    share_tables,
    unmerge,
)
from bnplug.table.block_table import BlockTable
from bnplug.table.table import Table


@given(st.booleans().flatmap(lambda weighted: tables(weighted=weighted, missing=True)), st.data())
def test_distinct_rows_weigh_what_their_like_weigh_together(table, data):
    variables = data.draw(st.lists(st.sampled_from(table.features), unique=True))
    rows = distinct_rows(table, np.array(variables, dtype=np.int64))
    read = [table.target_index, *variables]
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    expected = {}
    for state, weight in zip(map(tuple, table.codes[read].T.tolist()), weights, strict=True):
        expected[state] = expected.get(state, 0.0) + weight
    states = table.codes[read][:, rows.places].T.tolist()
    found = dict(zip(map(tuple, states), rows.weights.tolist(), strict=True))
    assert found == pytest.approx(expected)
    assert len(rows.places) == len(expected)
    assert (rows.codes == table.padded()[0][:, rows.places]).all()


def test_rows_that_differ_elsewhere_are_one():
    table = large_table(rows=200, features=3, states=2, classes=2)
    assert distinct_rows(table, np.array([0])).places.shape == (4,)
    assert distinct_rows(table, np.array([], dtype=np.int64)).places.shape == (2,)


def test_a_missing_class_is_refused():
    table = large_table(rows=5)
    codes = table.codes.copy()
    codes[table.target_index, :2] = table.missing
    with pytest.raises(ValueError, match="missing in 2 row"):
        refuse_unlabeled(Table(codes, table.names, table.states, "c"))


@given(tables(missing=True, max_rows=60), st.integers(0, 2**32 - 1))
def test_the_sum_of_a_group_is_that_of_its_terms(table, seed):
    _, own = random_problem(table, seed)
    rows = distinct_rows(table, np.unique(own.variables))
    shared = share_tables(own, rows)
    merged, joint = np.empty((shared.size, own.n_classes)), np.empty((len(rows.places), own.n_classes))
    merge(own.values, shared.members, shared.bounds, merged)
    gather(shared.index, merged, joint)
    expected = np.zeros_like(joint)
    for cells in own.cells(table.codes[:, rows.places]):
        for c in range(own.n_classes):
            expected[cells >= 0, c] += own.values[cells[cells >= 0] + c]
    np.testing.assert_allclose(joint, expected, rtol=1e-12, atol=1e-12)


@given(tables(missing=True, max_rows=60), st.integers(0, 2**32 - 1))
def test_derivatives_go_back_along_the_way_of_the_sums(table, seed):
    """The one way is the transpose of the other: <D, A v> = <A' D, v>."""
    _, own = random_problem(table, seed)
    rows = distinct_rows(table, np.unique(own.variables))
    shared = share_tables(own, rows)
    merged, joint = np.empty((shared.size, own.n_classes)), np.empty((len(rows.places), own.n_classes))
    merge(own.values, shared.members, shared.bounds, merged)
    gather(shared.index, merged, joint)
    derivative = np.random.default_rng(seed).normal(size=joint.shape)
    back, gradient = np.zeros_like(merged), np.zeros_like(own.values)
    scatter(shared.index, derivative, np.empty(own.n_classes, dtype=np.int64), back)
    unmerge(back, shared.members, shared.bounds, gradient)
    assert float(gradient @ own.values) == pytest.approx(float((derivative * joint).sum()), rel=1e-9, abs=1e-9)


@given(tables(missing=True, max_rows=60), st.integers(0, 2**32 - 1))
def test_terms_that_share_a_table_give_what_they_give_alone(table, seed):
    _, own = random_problem(table, seed)
    results = []
    with pytest.MonkeyPatch.context() as patch:
        for cells, rows in ((1, 16), (1 << 15, 1)):
            patch.setattr(_rows, "_SHARED_CELLS", cells)
            patch.setattr(_rows, "_ROWS_A_CONFIGURATION", rows)
            results.append(Objective(own, table)(own.values, conditional_nll))
    (value, derivative), (shared_value, shared_derivative) = results
    assert shared_value == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(shared_derivative, derivative, rtol=1e-12, atol=1e-12 * table.n_rows)


def test_distinct_rows_of_blocks_are_gathered_unless_they_are_too_many():
    codes = np.array([[0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 1, 1]], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c")
    blocks = BlockTable.cut(table, [2, 2, 2])
    found = gather_distinct(blocks, np.array([0]), 6)
    assert found.codes.tolist() == table.codes.tolist()
    assert gather_distinct(blocks, np.array([0]), 5) is blocks
    seen = []
    blocks.each = lambda *args: (seen.append(part) or part for part in BlockTable.each(blocks, *args))
    assert gather_distinct(blocks, np.array([0]), 3) is blocks
    assert len(seen) == 2  # the last block need not be looked at
