"""Counts of a block of rows, against a dictionary's."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from strategies import tables

from bnplug import Table
from bnplug.compiling import kernel
from bnplug.table import _counting
from bnplug.table._counting import index_rows, strides

find_cells = kernel(_counting.find_cells.py_func)


@st.composite
def coded(draw, max_rows=30):
    rows = draw(st.integers(0, max_rows))
    return np.stack([draw(arrays.arrays(np.uint8, rows, elements=st.integers(0, size))) for size in (2, 1, 3, 0)])


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


def test_strides_are_those_of_c_order():
    assert strides([2, 3, 4]).tolist() == [12, 4, 1]
    assert strides([]).tolist() == []


@given(tables(missing=True, weighted=True), st.data())
def test_families_are_counted_as_a_dictionary_counts_them(table, data):
    numbers = st.permutations(range(len(table.names)))
    families = [data.draw(numbers)[: data.draw(st.integers(0, 3))] for _ in range(2)]
    folds = data.draw(arrays.arrays(np.int64, table.n_rows, elements=st.integers(-1, 2)))
    for family, counts, by_fold in zip(families, table.counts(families), table.counts(families, folds), strict=True):
        expected: Counter = Counter()
        for m, row in enumerate(table.codes[family].T.tolist() if family else [[]] * table.n_rows):
            if table.missing not in row:
                weight = 1.0 if table.weights is None else table.weights[m]
                expected[tuple(row), folds[m] if folds[m] >= 0 else folds.max() + 1] += weight
        assert by_fold.shape == (max(folds.max(initial=-1), -1) + 2, *table.cards[list(family)])
        for cell in product(*map(range, counts.shape)):
            own = [expected[cell, fold] for fold in range(len(by_fold))]
            assert [by_fold[(fold, *cell)] for fold in range(len(by_fold))] == pytest.approx(own)
            assert counts[cell] == pytest.approx(sum(own))


def test_rows_of_a_table_without_any_are_counted_too():
    table = Table.empty(["a", "c"], {"a": [0, 1], "c": [0, 1]}, "c")
    assert table.counts([[0, 1]])[0].tolist() == [[0, 0], [0, 0]]
