"""Cuts into bins of equal weight and of equal width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug.builtin.discretizers.equal_bins import _quantile_cuts, _uniform_cuts


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=30), st.integers(2, 6))
def test_a_weight_is_the_value_as_often(pairs, n_bins):
    values, weights = (np.array(own, dtype=np.float64) for own in zip(*pairs, strict=True))
    repeated = np.repeat(values, weights.astype(int))
    assert (
        _quantile_cuts(values, weights, n_bins).tolist()
        == _quantile_cuts(repeated, np.ones(len(repeated)), n_bins).tolist()
    )
    assert _uniform_cuts(values, n_bins).tolist() == _uniform_cuts(repeated, n_bins).tolist()


@pytest.mark.parametrize("values", [[], [np.nan], [3.0, 3.0, np.nan]])
def test_values_that_do_not_differ_have_no_cuts(values):
    assert len(_quantile_cuts(np.array(values), np.ones(len(values)), 4)) == 0
    assert len(_uniform_cuts(np.array(values), 4)) == 0


def test_widths_that_overflow():
    assert _uniform_cuts(np.array([-1.7e308, 1.7e308]), 2).tolist() == [0.0]
