"""Expected counts against enumeration of every completion of every row."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import MISSING, TWO_TREE, enumerated, full_joint, random_rows, random_tables
from strategies import random_parents

from bnplug.inference._flat_tables import in_memory, in_shape
from bnplug.inference.expectation import Expectation, _Part, expected_counts
from bnplug.inference.marginals import Marginalizer


def by_enumeration(tables, codes, weights):
    """Add up P(completion | class, what the row knows) in the cells of every family."""
    joint = np.exp(full_joint(tables))
    target = tables.names.index(tables.target)
    counts = [np.zeros(tables.tables[name].values.shape) for name in tables.names]
    families = [[tables.names.index(u) for u in (name, *tables.tables[name].parents)] for name in tables.names]
    for row, own in zip(codes.T, weights, strict=True):
        for c, weight in enumerate(own):
            choices = [
                [c] if v == target else range(joint.shape[v]) if row[v] == MISSING else [int(row[v])]
                for v in range(joint.ndim)
            ]
            completions = list(itertools.product(*choices))
            total = sum(joint[cell] for cell in completions)
            for cell in completions if total > 0 else []:
                for count, family in zip(counts, families, strict=True):
                    count[tuple(cell[v] for v in family)] += weight * joint[cell] / total
    return counts


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_variables=st.integers(2, 5),
    normalized=st.booleans(),
    zeros=st.sampled_from([0.0, 0.3]),
    missing=st.floats(0.0, 1.0),
)
def test_they_equal_enumeration(seed, n_variables, normalized, zeros, missing):
    rng = np.random.default_rng(seed)
    target = int(rng.integers(n_variables))
    parents = random_parents(rng, n_variables, 3)
    tables = random_tables(rng, parents, rng.integers(1, 4, n_variables).tolist(), target, normalized, zeros)
    codes = random_rows(rng, tables, 6, missing)
    weights = rng.normal(size=(6, len(tables.states[tables.target])))
    counts = Marginalizer(tables, tables.target).expected_counts(codes, weights)
    for count, expected in zip(counts, by_enumeration(tables, codes, weights), strict=True):
        np.testing.assert_allclose(count, expected, rtol=0, atol=1e-10)


def test_they_are_the_derivatives_of_the_log_joint():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, [[], [0], [0, 1], [1, 2]], [2, 3, 2, 2], normalized=False)
    codes = random_rows(rng, tables, 5, 0.5)
    weights = rng.normal(size=(5, 2))
    counts = expected_counts(tables, "v0", codes, weights)
    step = 1e-6
    for count, name in zip(counts, tables.names, strict=True):
        values = tables.tables[name].values
        for cell in np.ndindex(values.shape):
            sums = []
            for sign in (1, -1):
                values[cell] += sign * step
                sums.append((weights * np.log(_measure(tables, codes))).sum())
                values[cell] -= sign * step
            assert count[cell] == pytest.approx((sums[0] - sums[1]) / (2 * step), abs=1e-6)


def _measure(tables, codes):
    joint = np.exp(full_joint(tables))
    rows = []
    for row in codes.T:
        index = tuple(slice(None) if v == 0 or row[v] == MISSING else int(row[v]) for v in range(joint.ndim))
        rows.append(joint[index].reshape(joint.shape[0], -1).sum(axis=1))
    return np.array(rows)


def test_a_weight_for_each_row_and_class_is_asked_for():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, [[], [0]], [2, 2])
    with pytest.raises(ValueError, match=r"weights have the shape \(3,\), not \(3, 2\): one for each row and class"):
        expected_counts(tables, "v0", random_rows(rng, tables, 3, 0.5), np.ones(3))


@pytest.mark.parametrize("seed", range(8))
def test_a_row_that_needs_cliques_of_its_own_is_counted_as_others(seed):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, [[], [0], [1], [2], [1, 3]], [2, 2, 3, 2, 2], seed % 5, True, zeros=0.3)
    codes = random_rows(rng, tables, 8, 0.5)
    weights = rng.normal(size=(8, len(tables.states[tables.target])))
    expectation = Expectation(tables, tables.target)
    part = _Part(expectation, codes, lambda joint, rows: weights[rows])
    counts = in_shape(tables, expectation.flat, sum(part._by_other_cliques(m) for m in range(8)))
    for count, expected in zip(counts, by_enumeration(tables, codes, weights), strict=True):
        np.testing.assert_allclose(count, expected, rtol=0, atol=1e-10)


def test_the_row_that_needs_too_large_a_table_is_named():
    tables = random_tables(np.random.default_rng(5), TWO_TREE, [3, 2, 4, 3, 2, 4])
    codes = np.zeros((6, 4), dtype=np.uint8)
    codes[1:5, 2] = MISSING
    with pytest.raises(ValueError, match=r"row 2: .*more than max_clique_size=2"):
        expected_counts(tables, "v0", codes, np.ones((4, 3)), max_clique_size=2)


def test_weights_may_depend_on_the_log_joint_and_threads_change_nothing():
    rng = np.random.default_rng(9)
    tables = random_tables(rng, TWO_TREE, [3, 2, 4, 3, 2, 4], zeros=0.1)
    codes = random_rows(rng, tables, 5000, 0.4)
    codes[0, ::2] = MISSING
    results = []
    for n_jobs in (1, 2):
        joint = np.full((5000, 3), np.nan)

        def weigh(own, rows, joint=joint):
            joint[rows] = own
            return np.exp(own)

        results.append(Expectation(tables, "v0").counts(codes, weigh, n_jobs))
        np.testing.assert_allclose(joint[:300], enumerated(tables, codes[:, :300]), rtol=0, atol=1e-11)
    for one, two, known in zip(*results, expected_counts(tables, "v0", codes, np.exp(joint), n_jobs=2), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, known)


def test_each_class_on_its_own():
    rng = np.random.default_rng(2)
    tables = random_tables(rng, TWO_TREE, [3, 2, 4, 3, 2, 4])
    codes, weights = random_rows(rng, tables, 30, 0.4), rng.normal(size=(30, 3))
    marginals = Marginalizer(tables, "v0")
    only = np.where([False, True, False], weights, 0.0)
    counts = marginals.expected_counts(codes, only)
    for counted, expected in zip(counts, by_enumeration(tables, codes, only), strict=True):
        np.testing.assert_allclose(counted, expected, rtol=0, atol=1e-10)


def test_no_rows_count_nothing():
    tables = random_tables(np.random.default_rng(0), [[], [0]], [2, 3])
    counts = expected_counts(tables, "v0", np.zeros((2, 0), np.uint8), np.zeros((0, 2)))
    assert [own.tolist() for own in counts] == [[0.0, 0.0], [[0.0, 0.0]] * 3]


def test_other_log_parameters_count_as_a_network_that_has_them():
    rng = np.random.default_rng(2)
    cards = [2, 3, 2, 3, 2, 2]
    first, second = (random_tables(rng, TWO_TREE, cards, normalized=False) for _ in range(2))
    codes = random_rows(rng, first, 40, 0.4)
    expectation = Expectation(first, "v0")
    changed = expectation.with_logs(in_memory(expectation.flat.layouts, [own.values for own in second.tables.values()]))
    found, expected = (
        own.counts(codes, lambda joint, rows: np.exp(joint)) for own in (changed, Expectation(second, "v0"))
    )
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-12)
    for name, table in changed.current_tables().tables.items():
        assert (table.values == second[name].values).all()
    assert expectation.current_tables() is first
