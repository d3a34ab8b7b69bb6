"""What a discretizer knows of a column, against counting by hand and row by row."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bnplug import ColumnSummary
from bnplug.table import column_summary

CELLS = st.tuples(st.sampled_from([np.nan, -1.5, -0.0, 0.0, 2.0, 1e300]), st.integers(0, 4), st.integers(1, 5))


def test_a_column_by_hand():
    column = ColumnSummary.of([3.0, np.nan, 1.0, 3.0], [0, 2, 1, 1], weights=[0.5, 9.0, 2.0, 4.0], name="x")
    assert (column.name, column.n_classes) == ("x", 3)
    assert column.values.tolist() == [1, 3]
    assert column.rows.tolist() == [1, 2]
    assert column.weights.tolist() == [2, 4.5]
    assert column.rows_by_class.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert column.weights_by_class.tolist() == [[0, 2, 0], [0.5, 4, 0]]
    assert repr(column) == "ColumnSummary('x': 2 values, 3 classes)"


def test_a_column_without_values():
    column = ColumnSummary.of([np.nan, np.nan], [0, 1])
    assert len(column.values) == len(column.rows) == len(column.weights) == 0
    assert column.weights_by_class.shape == (0, 2)


@pytest.mark.parametrize("many", [0, 1 << 20])
@settings(max_examples=100, deadline=None)
@given(cells=st.lists(CELLS, min_size=1, max_size=30), as_rows=st.sampled_from(["weights", "rows", "repeated"]))
def test_every_number_is_counted_in_its_class(many, cells, as_rows):
    """Rows sorted class by class or all at once, weighted, in cells of several rows, or one by one."""
    values, classes, numbers = map(np.array, zip(*cells, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_summary, "_MANY_ROWS", many)
        if as_rows == "repeated":
            column = ColumnSummary.of(np.repeat(values, numbers), np.repeat(classes, numbers))
        else:
            column = ColumnSummary.of(values, classes, **{as_rows: numbers})
    expected = Counter()
    for value, c, number in cells:
        if not np.isnan(value):
            expected[value, c] += number
    assert column.values.tolist() == sorted({value for value, _ in expected})
    found = {
        (value, c): column.weights_by_class[i, c]
        for i, value in enumerate(column.values.tolist())
        for c in range(column.n_classes)
        if column.weights_by_class[i, c]
    }
    assert found == expected
    assert column.weights.tolist() == column.weights_by_class.sum(axis=1).tolist()
    assert column.rows.tolist() == column.rows_by_class.sum(axis=1).tolist()
    assert not np.signbit(column.values[column.values == 0]).any()
    if as_rows != "weights":
        assert column.weights.tolist() == column.rows.tolist()
