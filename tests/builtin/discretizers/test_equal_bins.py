"""Cuts into bins of equal weight and of equal width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug import ColumnSummary, QuantileDiscretizer, UniformDiscretizer

KINDS = (QuantileDiscretizer, UniformDiscretizer)


@pytest.mark.parametrize("kind", KINDS)
@given(pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=30), n=st.integers(2, 6))
def test_a_weight_is_the_value_as_often(kind, pairs, n):
    values, weights = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    weighted = ColumnSummary.of(values, weights=weights)
    repeated = ColumnSummary.of(np.repeat(values, weights.astype(int)))
    assert kind(n).cuts(weighted).tolist() == kind(n).cuts(repeated).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [[np.nan], [3.0, 3.0, np.nan]])
def test_values_that_do_not_differ_have_no_cuts(kind, values):
    fitted = kind(4, categorical_features=None).fit(np.array(values)[:, None])
    assert fitted.cut_points_[0].tolist() == []


def test_widths_that_overflow():
    assert UniformDiscretizer(2).cuts(ColumnSummary.of([-1.7e308, 1.7e308])).tolist() == [0.0]
