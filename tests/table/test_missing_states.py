"""Missing as a state: in memory and in blocks, of all variables that lack cells or of some."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug import Table
from bnplug.table.block_table import BlockTable, missing_as_state


@given(tables(missing=True, weighted=True), st.data())
def test_rows_are_the_same_but_for_missing_cells(table, data):
    chosen = data.draw(st.none() | st.lists(st.booleans(), min_size=len(table.names), max_size=len(table.names)))
    found = missing_as_state(table, chosen)
    where = table.has_missing if chosen is None else np.array(chosen)
    for v, name in enumerate(table.names):
        here, there = table.codes[v] == table.missing, found.codes[v]
        assert found.states[name] == (*table.states[name], *(["missing"] if where[v] else []))
        assert (there[here] == (table.cards[v] if where[v] else found.missing)).all()
        assert (there[~here] == table.codes[v][~here]).all()
    blocks = missing_as_state(BlockTable.cut(table, [1, table.n_rows - 1]), chosen)
    assert blocks.states == found.states
    assert (blocks.gather().codes == found.codes).all()
    assert (blocks.gather().weights == found.weights).all() if table.weighted else blocks.weights is None


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_a_state_more_than_a_byte_has_takes_two(n_blocks):
    codes = np.array([np.arange(256) % 255, np.arange(256) % 2, np.zeros(256)], dtype=np.uint8)
    codes[0, 255] = codes[1, 3] = 255
    table = Table(codes, ["x", "z", "c"], {"x": range(255), "z": range(2), "c": [0]}, "c")
    rows = table if n_blocks == 1 else BlockTable.cut(table, [4, 240, 12])
    found = missing_as_state(rows, [True, False, False])
    assert found.dtype == np.uint16
    assert found.column(0)[255] == 255
    assert found.column(1)[3] == 65535 == found.missing
    assert found.take([3, 255]).column(1).tolist() == [65535, 1]


def test_sums_and_objects_of_blocks_see_the_new_state():
    codes = np.array([[0, 255, 1, 255], [0, 0, 1, 1]], dtype=np.uint8)
    table = BlockTable.cut(Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c"), [1, 3])
    found = missing_as_state(table)
    assert found.counts([[0, 1]])[0].tolist() == [[1, 0], [0, 1], [1, 1]]
    assert found.sum(lambda block: [(block.codes[0] == 2).sum()]) == [2]
    assert [block.n_rows for block in found.each(lambda block: block)] == [1, 3]
    assert found.spawn(lambda block: block.codes[0].tolist()).call("count", 2) == [0, 2]
