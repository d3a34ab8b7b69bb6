"""Tables of many blocks: the same rows as in memory, never all of them at once unless asked for."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug import Table
from bnplug.errors import NotInMemoryError
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Block


@st.composite
def cut_tables(draw):
    table = draw(tables(missing=True, weighted=True))
    bounds = sorted(draw(st.lists(st.integers(0, table.n_rows), max_size=4)))
    return table, BlockTable.cut(table, np.diff([0, *bounds, table.n_rows]).tolist())


def same(one, other):
    assert (one.codes == other.codes).all()
    assert (one.weights is None) == (other.weights is None)
    assert one.weights is None or (one.weights == other.weights).all()
    for name in ("names", "states", "target", "left_out", "missing"):
        assert getattr(one, name) == getattr(other, name)


@given(cut_tables(), st.data())
def test_blocks_have_the_rows_of_the_table(pair, data):
    table, blocks = pair
    same(blocks.gather(), table)
    same(table.gather(), table)
    assert blocks.n_rows == table.n_rows
    assert blocks.total_weight == pytest.approx(table.total_weight)
    assert blocks.weighted == table.weighted
    assert (blocks.has_missing == table.has_missing).all()
    assert (blocks.column(0) == table.column(0)).all()
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_rows, max_size=table.n_rows)), dtype=bool)
    same(blocks.take(mask).gather(), table.take(mask))
    same(blocks.take(np.flatnonzero(mask)).take([]).gather(), table.take([]))
    for one, other in zip(blocks.counts([[0, 1], [1]]), table.counts([[0, 1], [1]]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@given(cut_tables())
def test_what_is_known_of_all_rows_is_split_as_they_are(pair):
    table, blocks = pair
    found = blocks.map(lambda block, own: (block.codes[0] == own).all(), blocks.split(table.codes[0]))
    assert all(found)
    assert len(found) == blocks.n_blocks
    with pytest.raises(ValueError, match="cannot be split"):
        blocks.split(np.zeros(table.n_rows + 1))


@pytest.fixture
def blocks():
    codes = np.array([[0, 1, 1, 0], [0, 0, 1, 1]], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c", [1, 2, 3, 4])
    return BlockTable.cut(table, [1, 3])


def test_all_rows_at_once_are_refused_with_what_to_do(blocks):
    for read in (lambda: blocks.codes, lambda: blocks.weights, blocks.padded):
        with pytest.raises(NotInMemoryError, match=r"4 rows .* 2 blocks.*table.counts, table.map .*table.gather"):
            read()
    with pytest.raises(AttributeError, match="no attribute 'code'"):
        blocks.code  # noqa: B018


def test_rows_stay_in_the_order_of_the_blocks(blocks):
    taken = blocks.take([3, 0, 1])
    assert taken.gather().weights.tolist() == [1, 4, 2]
    with pytest.raises(IndexError, match="0 to 3"):
        blocks.take([4])


def test_it_is_copied_and_pickled(blocks):
    for other in (copy.copy(blocks), pickle.loads(pickle.dumps(blocks))):
        same(other.gather(), blocks.gather())


def test_objects_are_spawned_on_blocks(blocks):
    kept = blocks.spawn(lambda block, factor: [block.n_rows * factor], 10)
    kept.call("append", 7)
    assert kept.call("copy") == [[10, 7], [30, 7]]


def test_codes_of_every_block_are_looked_through():
    codes = np.array([[0, 1], [0, 0]], dtype=np.uint8)
    arguments = ["x", "c"], {"x": [0], "c": [0, 1]}, "c"
    with pytest.raises(ValueError, match="codes of 'x' must be below 1"):
        BlockTable([codes[:, :1], codes[:, 1:]], *arguments)
    assert BlockTable([codes[:, :1]], *arguments).weights is None
    with pytest.raises(ValueError, match="codes have dtype uint16"):
        BlockTable([codes.astype(np.uint16)], *arguments)
    with pytest.raises(ValueError, match="weights have shape"):
        BlockTable([Block(codes[:, :1], np.ones(2))], *arguments)


def test_sizes_must_be_those_of_the_rows(blocks):
    with pytest.raises(ValueError, match="3; the table has 4"):
        BlockTable.cut(blocks.gather(), [1, 2])


def test_new_rows_are_coded_without_looking_at_any(blocks):
    import pandas as pd

    assert blocks.encode(pd.DataFrame({"x": [1, 0]})).tolist() == [[1, 0], [255, 255]]
    assert blocks.naive_bayes() == [[1], []]
    assert repr(blocks) == "BlockTable(4 rows in 2 blocks, 1 features, target 'c')"


def test_the_arrays_of_one_block_are_those_of_the_table():
    table = Table.from_frame(pd.DataFrame({"a": [0, 1, 1], "c": [0, 0, 1]}), "c", [1, 2, 3])
    one = BlockTable.cut(table, [3])
    assert (one.codes == table.codes).all()
    assert one.weights.tolist() == [1, 2, 3]
