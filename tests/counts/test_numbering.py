"""Joint states as numbers: as a dictionary numbers them, whatever their number, and by strides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bnplug.compiling import kernel
from bnplug.counts import _numbering
from bnplug.counts._numbering import index_rows, number_occurring

find_cells = kernel(_numbering.find_cells.py_func)

SIZES = np.array([3, 2, 4, 1])


@st.composite
def coded(draw, max_rows=30):
    rows = draw(st.integers(0, max_rows))
    columns = [draw(arrays.arrays(np.uint8, rows, elements=st.integers(0, int(size) - 1))) for size in SIZES]
    return np.stack(columns)


@given(coded(), st.permutations(range(4)), st.integers(0, 4))
def test_numbers_are_the_places_among_sorted_joint_states(codes, order, size):
    variables = order[:size]
    seen = [tuple(row) for row in codes[variables].T.tolist()]
    place = {state: i for i, state in enumerate(sorted(set(seen)))}
    numbers, examples = number_occurring(codes, SIZES, variables)
    assert numbers.tolist() == [place[state] for state in seen]
    assert [seen[m] for m in examples] == sorted(place)


@given(coded(), st.permutations(range(4)))
def test_numbers_that_would_outgrow_64_bits_are_made_smaller_on_the_way(codes, order):
    expected = number_occurring(codes, SIZES, order)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numbering, "_LARGEST_NUMBER", 5)
        assert (number_occurring(codes, SIZES, order)[0] == expected).all()


def test_seventy_variables_of_four_states():
    codes = np.random.default_rng(0).integers(0, 4, (70, 20), dtype=np.uint8)
    codes[:, 10:] = codes[:, :10]
    numbers, examples = number_occurring(codes, np.full(70, 4), range(70))
    assert len(examples) == 10
    assert (numbers[:10] == numbers[10:]).all()
    assert len(set(numbers[:10].tolist())) == 10


@given(coded(), st.sets(st.integers(0, 3)))
def test_rows_find_their_cell_unless_one_of_its_variables_is_missing(codes, missing_in):
    for v in missing_in:
        codes[v, ::3] = 255
    variables, strides = np.array([2, 0]), np.array([7, 100])
    index = np.empty(codes.shape[1], dtype=np.int64)
    index_rows(codes, variables, strides, 255, index)
    for m, found in enumerate(index):
        own = codes[variables, m].astype(int)
        assert found == (-1 if 255 in own else own @ strides)
    cells = np.empty_like(index)
    find_cells(codes, variables, strides, 255, cells)
    assert (cells == index).all()


def test_blocks_of_rows_leave_none_out():
    codes = np.random.default_rng(1).integers(0, 9, (2, 5000), dtype=np.uint8)
    index = np.empty(5000, dtype=np.int64)
    index_rows(codes, np.array([0, 1]), np.array([9, 1]), 255, index)
    assert (index == codes[0] * 9 + codes[1]).all()
