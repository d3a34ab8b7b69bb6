"""Cells of a column: rows, or distinct cells that stand for several."""

import numpy as np
import pandas as pd

from bnplug.data._cells import Cells, cells_of, count_rows, rows_by_number


def test_weights_do_not_make_fewer_rows_than_there_are():
    which = np.array([True, True, False])
    column = pd.Series([1, 2, 3])
    assert Cells(column).n_rows(which) == 2
    assert Cells(column, weights=np.array([0.1, 0.2, 9.0])).n_rows(which) == 2
    assert Cells(column, weights=np.array([5.0, 0.5, 9.0])).n_rows(which) == 5.5
    assert Cells(column, weights=np.array([5.0, 0.5, 9.0]), repeats=np.array([3, 4, 5])).n_rows(which) == 7


def test_the_weight_of_a_cell_is_that_of_its_rows():
    column = pd.Series([1, 2])
    assert Cells(column).row_weights().tolist() == [1, 1]
    assert Cells(column, repeats=np.array([3, 4])).row_weights().tolist() == [3, 4]
    assert Cells(column, weights=np.array([0.5, 2.0]), repeats=np.array([3, 4])).row_weights().tolist() == [0.5, 2]


def test_rows_are_counted_as_often_as_a_cell_stands_for_them():
    repeats = np.array([10, 20, 30])
    assert count_rows(np.array([True, False, True]), repeats) == 40
    assert count_rows(np.array([True, False, True]), None) == 2
    assert rows_by_number(np.array([1, -1, 1]), repeats, 3).tolist() == [0, 40, 0]
    assert rows_by_number(np.array([1, -1, 1]), None, 3).tolist() == [0, 2, 0]


def test_cells_of_a_frame_share_its_classes_and_weights():
    labels, weights = np.array([0, 1]), np.array([1.0, 2.0])
    found = cells_of(pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), labels, weights)
    assert list(found) == ["a", "b"]
    assert all(own.labels is labels and own.weights is weights and own.repeats is None for own in found.values())
