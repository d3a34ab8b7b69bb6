"""Row weights are checked in one place, by every door that takes them."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug.data.weights import present_rows, row_weights

X = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.5]})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"w has the shape \(2,\); there are 4 rows"),
        ([1, 1, 1, -1], "negative"),
        ([1, 1, 1, np.nan], "missing"),
        ([1, 1, 1, np.inf], "infinite"),
        ([1e308] * 4, "the sum of .* is inf, above 1e.290"),
        ([0, 0, 0, 0], "no rows are left"),
    ],
)
def test_what_no_weights_are(weights, message):
    with pytest.raises(ValueError, match=message):
        row_weights(weights, 4, "w")


def test_no_weights_are_ones():
    assert row_weights(None, 3).tolist() == [1, 1, 1]
    assert present_rows(None) is None


def test_rows_of_weight_zero_are_absent():
    assert present_rows(np.array([0.0, 2.0])).tolist() == [False, True]
    assert present_rows(np.array([1.0, 2.0])) is None


@pytest.mark.parametrize("discretizer", ["mdl", "none"])
def test_weights_whose_sum_is_infinite_are_refused_before_any_work(discretizer):
    with pytest.raises(ValueError, match="sum of the row weights is inf, above"):
        bnplug.code(X.round(), [0, 1, 0, 1], [1e308] * 4, discretizer=discretizer)
