from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug.counts import configurations, count, count_occurring, count_with_each, counting, tally
from bnplug.table.block_table import BlockTable
from bnplug.table.table import Table


def slow_count(table, child, parents):
    family = [child, *parents]
    counts = np.zeros([table.cards[v] for v in family])
    for m in range(table.n_rows):
        cell = tuple(table.codes[v, m] for v in family)
        if table.missing in cell:
            continue
        counts[cell] += 1 if table.weights is None else table.weights[m]
    return counts


@given(st.booleans().flatmap(lambda weighted: tables(missing=True, weighted=weighted)), st.data())
def test_counts_equal_a_loop_over_rows(table, data):
    family = data.draw(st.permutations(range(len(table.names))))
    size = data.draw(st.integers(1, len(family)))
    assert (count(table, family[0], family[1:size]) == slow_count(table, family[0], family[1:size])).all()


@given(tables(weighted=True))
def test_a_weight_of_two_is_the_row_twice(table):
    repeated = table.take(np.repeat(np.arange(table.n_rows), table.weights.astype(int)))
    repeated.weights = None
    assert (count(table, 0, [1]) == count(repeated, 0, [1])).all()


@given(tables(missing=True, max_features=3, min_features=2))
def test_occurring_configurations_hold_the_same_counts(table):
    parents = [1, 2]
    dense = configurations(table, parents)
    sparse = configurations(table, parents, limit=0)
    assert dense.states is None
    assert sparse.size <= table.n_rows
    assert ((dense.index < 0) == (sparse.index < 0)).all()
    for m in np.flatnonzero(dense.index >= 0):
        assert sparse.states[sparse.index[m]].tolist() == table.codes[parents, m].tolist()


def test_many_parents_are_counted_by_what_occurs():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 10, (500, 9)), columns=[*"abdefghi", "c"])
    table = Table.from_frame(frame, "c")
    counts, parent = count_occurring(table, 8, range(8))
    assert counts.shape == (10, parent.size)
    assert parent.size <= 500 < 10**8
    assert counts.sum() == 500
    seen = {tuple(row) for row in table.codes[:8].T.tolist()}
    assert {tuple(row) for row in parent.states.tolist()} == seen


def test_few_parents_are_numbered_in_order():
    frame = pd.DataFrame(list(product([0, 1], [0, 1, 2], [0, 1])), columns=["a", "b", "c"])
    table = Table.from_frame(frame, "c")
    counts, parent = count_occurring(table, 2, [0, 1])
    assert parent.states is None
    assert (counts.reshape(2, 2, 3) == count(table, 2, [0, 1])).all()


@given(st.booleans().flatmap(lambda weighted: tables(missing=True, weighted=weighted, min_features=3)), st.data())
def test_families_counted_together_are_those_counted_alone(table, data):
    child, parent, *others = data.draw(st.permutations(range(len(table.names))))
    together = count_with_each(table, child, [parent], others)
    assert len(together) == len(others)
    for other, found in zip(others, together, strict=True):
        assert (found == slow_count(table, child, [parent, other]).reshape(found.shape)).all()


@pytest.mark.parametrize("limit", [0, 1 << 20])
@given(tables(missing=True, max_features=3, min_features=2))
def test_a_part_of_the_rows_is_numbered_as_all_are(limit, table):
    every = configurations(table, [1, 2], limit)
    some = np.arange(0, table.n_rows, 2)
    found = configurations(table.take(some), [1, 2], like=every)
    assert found.index.tolist() == every.index[some].tolist()
    assert found.size == every.size


@pytest.mark.parametrize("limit", [0, 1 << 20])
@given(tables(missing=True, weighted=True, max_features=3, min_features=2))
def test_blocks_count_what_rows_in_memory_do(limit, table):
    blocks = BlockTable.cut(table, [table.n_rows // 3, table.n_rows - table.n_rows // 3, 0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_most_numbered", lambda _: limit)
        (one, of_one), (other, of_other) = (count_occurring(own, 0, [1, 2]) for own in (table, blocks))
    np.testing.assert_allclose(other, one, rtol=1e-13)
    assert of_one.size == of_other.size
    assert (of_one.states is None) == (of_other.states is None) == (limit > 0)
    assert limit or (of_one.states == of_other.states).all()


def test_a_tally_passes_over_what_has_no_number():
    index = np.array([2, -1, 0, 2])
    assert tally(index, 4).tolist() == [1.0, 0.0, 2.0, 0.0]
    assert tally(index, 4, np.array([0.5, 9.0, 1.0, 0.25])).tolist() == [1.0, 0.0, 0.75, 0.0]
