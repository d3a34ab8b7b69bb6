"""Pairs of features over many blocks of rows: what rows in memory tell, in one pass or many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tables

from bnplug.counts import _numbering, class_information, information, pairwise_information
from bnplug.table.block_table import BlockTable


@st.composite
def cut_tables(draw):
    table = draw(tables(missing=True, weighted=True, min_features=2))
    bounds = sorted(draw(st.lists(st.integers(0, table.n_rows), min_size=1, max_size=3)))
    return table, BlockTable.cut(table, np.diff([0, *bounds, table.n_rows]).tolist())


@given(cut_tables(), st.sampled_from([1, 20, 1 << 24]), st.sampled_from([None, "expected", 0.9]), st.integers(1, 2))
def test_blocks_tell_what_rows_in_memory_tell(pair, at_once, correction, n_jobs):
    table, blocks = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numbering, "_CELLS_AT_ONCE", at_once)
        found = pairwise_information(blocks, n_jobs, correction)
    np.testing.assert_allclose(found, pairwise_information(table, 1, correction), atol=1e-12)
    np.testing.assert_allclose(class_information(blocks, correction), class_information(table, correction), atol=1e-12)


@given(cut_tables())
def test_whole_numbers_tell_the_same_to_the_last_bit(pair):
    table, blocks = (own.take(np.arange(own.n_rows)) for own in pair)
    if table.weights is None:
        assert (pairwise_information(blocks) == pairwise_information(table)).all()


@given(cut_tables())
def test_pairs_with_many_states_are_counted_by_those_that_occur(pair):
    table, blocks = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(information, "_DENSE_CELLS", 0)
        found = pairwise_information(blocks)
    np.testing.assert_allclose(found, pairwise_information(table), atol=1e-12)
