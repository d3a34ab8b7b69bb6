"""The cuts are where they should be."""

import numpy as np
import pytest

import bnplug
from bnplug.datasets import iris


def cuts(values, rows, weights=None):
    made = bnplug.discretizer("my-discretizer", rows=rows)
    return made.fit(np.array(values, dtype=float)[:, None], None, weights).cut_points_[0].tolist()


def test_bins_hold_as_many_rows_as_asked_for():
    assert cuts(range(1, 10), 3) == [3.0, 6.0]
    assert cuts(range(1, 12), 3) == [4.0, 8.0]  # two rows more, which are not enough for a fourth bin
    assert cuts(range(1, 6), 3) == []


def test_equal_values_stay_together():
    assert cuts([1, 1, 1, 1, 2, 3], 2) == [1.0]
    assert cuts([1, 2, 2, 2, 2, 2], 2) == []


def test_a_row_counts_by_its_weight_and_what_is_missing_for_nothing():
    assert cuts([1, 2, 3, np.nan], 2, [2.0, 0.0, 2.0, 5.0]) == [1.0]


def test_bins_of_new_values():
    made = bnplug.discretizer("my-discretizer", rows=3).fit(np.arange(1.0, 10.0)[:, None])
    assert made.transform([[0.0], [3.0], [3.1], [99.0]]).ravel().tolist() == [0, 0, 1, 2]
    assert np.isnan(made.transform([[np.nan]])).all()


def test_a_size_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="rows=0 must be a finite positive number"):
        cuts([1, 2], 0)


def test_a_classifier_takes_it_by_name():
    X, y = iris()
    model = bnplug.BayesianNetworkClassifier("nb", discretizer=("my-discretizer", {"rows": 20})).fit(X, y)
    assert model.score(X, y) > 0.9
