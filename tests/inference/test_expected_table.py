"""The counts that a network expects, against enumeration of all completions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, full_joint, random_rows, random_tables
from scipy.special import logsumexp
from strategies import LONG

from bnplug import Table
from bnplug.counts import class_information, conditional_information, count_occurring, count_with_each
from bnplug.counts.information import pairwise_information
from bnplug.inference import expected_table as module
from bnplug.inference import sample
from bnplug.inference.expected_table import ExpectedTable
from bnplug.table.block_table import BlockTable

CARDS = [2, 3, 2, 2, 2, 3]


def rows_and_network(seed=0, parents=TREE, missing=0.35, weighted=False):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, parents, CARDS, spread=1.5)
    codes = random_rows(rng, tables, 40, missing)
    weights = rng.integers(1, 4, 40) / 2 if weighted else None
    return Table(codes, tables.names, tables.states, tables.target, weights, missing_policy="em"), tables


def enumerated_total(table, tables):
    """How often each joint state of all variables is expected."""
    joint = full_joint(tables)
    total = np.zeros_like(joint)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights
    for row, weight in zip(table.codes.T, weights, strict=True):
        place = tuple(slice(None) if state == table.missing else int(state) for state in row)
        total[place] += weight * np.exp(joint[place] - logsumexp(joint[place]))
    return total


def summed(total, family):
    kept = total.sum(axis=tuple(v for v in range(total.ndim) if v not in family))
    return kept.transpose(np.argsort(np.argsort(family)))


@settings(max_examples=100 if LONG else 6)
@given(
    st.integers(0, 10**6),
    st.sampled_from([TREE, TWO_TREE, CLASS_WITH_PARENTS]),
    st.lists(st.permutations(range(6)).map(lambda p: p[:3]), min_size=1, max_size=3),
    st.booleans(),
)
def test_counts_are_what_enumeration_says(seed, parents, families, weighted):
    table, tables = rows_and_network(seed, parents, weighted=weighted)
    total = enumerated_total(table, tables)
    for own, found in zip(families, ExpectedTable(table, lambda: tables).counts(families), strict=True):
        np.testing.assert_allclose(found, summed(total, own), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("few", [1, 4, 4096])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_by_fold(monkeypatch, few, weighted):
    """Rows without a class, which is the first variable, are in no fold; few completions or many, it is the same."""
    monkeypatch.setattr(sample, "_FEW", few)
    table, tables = rows_and_network(3, TWO_TREE, weighted=weighted)
    known = np.flatnonzero(table.codes[0] != table.missing)
    folds = np.arange(len(known)) % 3 - 1
    wanted = [enumerated_total(table.take(known[folds == f]), tables) for f in range(2)]
    wanted.append(enumerated_total(table, tables) - wanted[0] - wanted[1])
    expected = ExpectedTable(table, lambda: tables)
    for family in ([0, 1, 4], [5, 3], [2], [1, 2, 3, 4, 5]):
        found = expected.counts([family], folds)[0]
        for own, total in zip(found, wanted, strict=True):
            np.testing.assert_allclose(own, summed(total, family), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(expected.counts([family])[0], summed(sum(wanted), family), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_expanded_rows_weigh_what_enumeration_says(weighted):
    table, tables = rows_and_network(4, TWO_TREE, weighted=weighted)
    total = enumerated_total(table, tables)
    for rows in (table, BlockTable.cut(table, [15, 25])):
        expanded = ExpectedTable(rows, lambda: tables).expand([4, 0]).expand([2])
        assert not expanded.has_missing[[0, 2, 4]].any()
        assert expanded.has_missing[1]
        np.testing.assert_allclose(expanded.counts([[0, 2, 4]])[0], summed(total, [0, 2, 4]), rtol=1e-9)
        half = expanded.take(np.arange(expanded.n_rows) % 2 == 0)
        other = expanded.take(np.arange(expanded.n_rows) % 2 == 1)
        both = half.expand([1]).counts([[1, 2]])[0] + other.expand([1]).counts([[1, 2]])[0]
        np.testing.assert_allclose(both, summed(total, [1, 2]), rtol=1e-9)
    assert expanded.take([]).expand([1]).n_rows == 0


def test_expanded_rows_of_a_table_that_expects_nothing_are_those_that_know():
    table, _ = rows_and_network(4)
    for rows in (table, BlockTable.cut(table, [15, 25])):
        known = (table.codes[[1, 3]] != table.missing).all(axis=0)
        assert np.array_equal(rows.expand([1, 3]).gather().codes, table.codes[:, known])


def test_states_are_drawn_where_there_would_be_too_many_rows(monkeypatch):
    table, tables = rows_and_network(4, TREE)
    monkeypatch.setattr(module, "MOST_ROWS", 45)
    expected = ExpectedTable(table, lambda: tables, seed=1)
    drawn = expected.expand([1, 2, 3])
    assert drawn.n_rows <= 45
    assert not drawn.has_missing[[1, 2, 3]].any()
    assert drawn.total_weight == pytest.approx(table.n_rows)
    assert np.array_equal(drawn.codes, expected.expand([1, 2, 3]).codes)
    many = [
        ExpectedTable(table, lambda: tables, seed=s).expand([1, 2, 3]).counts([[1, 2, 3]])[0]
        for s in range(0, 1000, 10)
    ]
    wanted = summed(enumerated_total(table, tables), [1, 2, 3])
    np.testing.assert_allclose(np.mean(many, axis=0), wanted, atol=4 * 3 / np.sqrt(len(many)))


def test_taken_rows_are_expected_by_the_same_network():
    table, tables = rows_and_network(2)
    known = np.flatnonzero(table.codes[0] != table.missing)
    taken = ExpectedTable(table, lambda: tables).take(np.arange(5))
    assert taken.n_rows == 5
    wanted = summed(enumerated_total(table.take(known[:5]), tables), [1, 2])
    np.testing.assert_allclose(taken.counts([[1, 2]])[0], wanted)
    assert "store" not in vars(taken)
    assert not taken.has_missing.any()
    assert np.array_equal(taken.column(0), table.codes[0, known[:5]])


def test_information_measures_are_of_the_expected_counts():
    table, tables = rows_and_network(weighted=True)
    expected, total = ExpectedTable(table, lambda: tables), enumerated_total(table, tables)

    def entropy(*family):
        shares = summed(total, list(family)).ravel() / total.sum()
        return -(shares * np.log(shares)).sum()

    c = table.target_index
    between, to_class = pairwise_information(expected), class_information(expected)
    for a in table.features:
        assert to_class[a] == pytest.approx(entropy(a) + entropy(c) - entropy(a, c))
        for b in table.features:
            wanted = entropy(a, c) + entropy(b, c) - entropy(c) - entropy(a, b, c) if a != b else 0.0
            assert between[a, b] == pytest.approx(wanted, abs=1e-12)
    assert conditional_information(expected, 1, 2, [3]) == pytest.approx(
        entropy(1, 3) + entropy(2, 3) - entropy(3) - entropy(1, 2, 3)
    )


def test_what_counts_in_its_own_way_takes_them_too():
    table, tables = rows_and_network()
    expected, total = ExpectedTable(table, lambda: tables), enumerated_total(table, tables)
    np.testing.assert_allclose(count_occurring(expected, 1, [0, 2])[0], summed(total, [1, 0, 2]).reshape(3, -1))
    for own, u in zip(count_with_each(expected, 1, [0], [3, 5]), [3, 5], strict=True):
        np.testing.assert_allclose(own, summed(total, [1, 0, u]).reshape(3, -1))


def test_blocks_count_the_same():
    table, tables = rows_and_network()
    blocks = ExpectedTable(BlockTable.cut(table, [15, 25]), lambda: tables)
    whole = ExpectedTable(table, lambda: tables)
    np.testing.assert_allclose(blocks.counts([[0, 1, 4]])[0], whole.counts([[0, 1, 4]])[0])
    assert blocks.block_sizes == tuple(len(own) for own in np.split(np.zeros(whole.n_rows), [blocks.block_sizes[0]]))
    assert (blocks.gather().codes != table.missing).all()


def test_rows_are_those_with_a_class_completed_and_nothing_is_done_before_it_is_asked_for():
    table, tables = rows_and_network()
    asked = []
    expected = ExpectedTable(table, lambda: asked.append(1) or tables, seed=3)
    known = table.codes[0] != table.missing
    assert expected.n_rows == known.sum()
    assert expected.total_weight == table.n_rows
    assert not asked
    codes = expected.codes
    there = table.codes[:, known] != table.missing
    assert (codes[there] == table.codes[:, known][there]).all()
    assert (codes != table.missing).all()
    assert asked == [1]
    assert np.array_equal(codes, ExpectedTable(table, lambda: tables, seed=3).codes)
