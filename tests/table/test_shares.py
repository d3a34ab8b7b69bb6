"""Shares of cells between states: part of a table, of its blocks, and of every copy of them."""

import pickle

import numpy as np
import pytest

from bnplug import NotInMemoryError, Table
from bnplug.table.block_table import BlockTable, missing_as_state

CODES = np.array([[0, 1, 255, 1, 0, 0], [0, 1, 0, 1, 1, 0]], dtype=np.uint8)
SHARES = np.array([[0.0, 0.5, 0.0, 0.25, 0.75, 0.125], [0.0] * 6])
STATES = {"x": [0, 1], "c": ["n", "y"]}


def table(shares=SHARES, weights=None):
    return Table(CODES, ["x", "c"], STATES, "c", weights, shares=shares)


def test_shares_are_aligned_with_codes():
    assert table().shares.dtype == np.float32
    assert table().shares.tolist() == SHARES.tolist()
    assert table(None).shares is None
    assert not table().shares.flags.writeable


@pytest.mark.parametrize("wrong", [1.0, -0.1, np.nan])
def test_a_share_is_below_one(wrong):
    with pytest.raises(ValueError, match="shares must be at least 0 and below 1"):
        table(np.where(SHARES == 0.5, wrong, SHARES))


def test_shares_have_the_shape_of_codes():
    with pytest.raises(ValueError, match=r"shares have shape \(2, 5\); codes have shape \(2, 6\)"):
        table(SHARES[:, :5])


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 7.0)])
def test_shares_go_where_codes_go(weights):
    whole = table(weights=weights)
    blocks = BlockTable.cut(whole, [1, 3, 2])
    rows = [0, 3, 4]
    for same in (whole, blocks, pickle.loads(pickle.dumps(blocks)), whole.with_relative_weights(), whole.ignoring()):
        assert same.gather().shares.tolist() == SHARES.tolist()
        assert same.take(rows).gather().shares.tolist() == SHARES[:, rows].tolist()
    assert [shares.shape[1] for shares in blocks.map(lambda block: block.shares)] == [1, 3, 2]
    assert blocks.with_relative_weights().gather().shares.tolist() == SHARES.tolist()
    for named in (missing_as_state(whole), missing_as_state(blocks)):
        assert named.gather().shares.tolist() == SHARES.tolist()
    assert BlockTable.cut(table(None, weights), [2, 4]).shares is None
    assert blocks.take([]).shares.shape == (2, 0)


def test_shares_of_many_blocks_are_in_no_array():
    with pytest.raises(NotInMemoryError, match=r"table\.shares: the 6 rows of this table are in 2 blocks"):
        _ = BlockTable.cut(table(), [3, 3]).shares


def test_all_blocks_have_shares_or_none():
    one, other = BlockTable.cut(table(), [6]), BlockTable.cut(table(None), [6])
    with pytest.raises(ValueError, match="some blocks have shares, and others have none"):
        BlockTable([*one.store.blocks, *other.store.blocks], ["x", "c"], STATES, "c")
