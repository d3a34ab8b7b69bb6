"""As many quantiles as log2 of the rows, at values that occur."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnplug import Log2QuantileDiscretizer, QuantileDiscretizer, discretizer


@parametrize_with_checks([Log2QuantileDiscretizer()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("rows", "bins"), [(3, 3), (15, 3), (16, 4), (1023, 9), (1024, 10)])
def test_the_number_of_bins_follows_the_rows(rows, bins):
    values = np.random.default_rng(rows).normal(size=(rows, 1))
    own = Log2QuantileDiscretizer(categorical_features=None).fit(values)
    same = QuantileDiscretizer(bins, categorical_features=None).fit(values)
    assert own.cut_points_[0].tolist() == same.cut_points_[0].tolist()
    assert set(own.cut_points_[0]) <= set(values[:, 0])


def test_rows_count_as_often_as_they_weigh_and_missing_ones_not():
    values = np.array([*np.arange(20.0), *[np.nan] * 1000])[:, None]
    own = discretizer("log2-quantile", categorical_features=None)
    assert len(own.fit(values).cut_points_[0]) == 3
    weights = np.full(len(values), 2.0)
    assert len(own.fit(values, sample_weight=weights).cut_points_[0]) == 4
