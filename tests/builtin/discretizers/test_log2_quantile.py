"""As many quantiles as log2 of the rows, at values that occur."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnplug import Log2QuantileDiscretizer, QuantileDiscretizer, discretizer

NOT_REPEATED = {
    "check_sample_weight_equivalence_on_dense_data": "the number of bins follows the number of rows, not their weight"
}


@parametrize_with_checks([Log2QuantileDiscretizer()], expected_failed_checks=lambda estimator: NOT_REPEATED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("rows", "bins"), [(3, 3), (15, 3), (16, 4), (1023, 9), (1024, 10)])
def test_the_number_of_bins_follows_the_rows(rows, bins):
    values = np.random.default_rng(rows).normal(size=(rows, 1))
    own = Log2QuantileDiscretizer(categorical_features=None).fit(values)
    same = QuantileDiscretizer(bins, categorical_features=None).fit(values)
    assert own.cut_points_[0].tolist() == same.cut_points_[0].tolist()
    assert set(own.cut_points_[0]) <= set(values[:, 0])


def test_missing_values_and_weights_do_not_change_the_number_of_bins():
    values = np.array([*np.arange(20.0), *[np.nan] * 1000])[:, None]
    own = discretizer("log2-quantile", categorical_features=None)
    assert len(own.fit(values).cut_points_[0]) == 3
    for weight in (0.01, 2.0, 1000.0):
        assert len(own.fit(values, sample_weight=np.full(len(values), weight)).cut_points_[0]) == 3
    # Weights move the cuts: the last value has nine tenths of the weight.
    weights = np.where(np.arange(len(values)) == 19, 171.0, 1.0)
    assert own.fit(values, sample_weight=weights).cut_points_[0].tolist() == []
    # Rows of weight 0 are ignored.
    weights = np.where(np.arange(len(values)) < 8, 1.0, 0.0)
    assert own.fit(values, sample_weight=weights).cut_points_[0].tolist() == [2.0, 5.0]


@pytest.mark.parametrize("factor", [3.7, 0.1, 1 / 3, 1e6])
@pytest.mark.parametrize("rows", [64, 1000])
def test_the_scale_of_weights_does_not_matter(rows, factor):
    random = np.random.default_rng(rows)
    values, weights = random.normal(size=(rows, 5)), random.exponential(size=rows)
    own = Log2QuantileDiscretizer(categorical_features=None)
    plain = [cuts.tolist() for cuts in own.fit(values).cut_points_]
    assert [cuts.tolist() for cuts in own.fit(values, sample_weight=np.full(rows, factor)).cut_points_] == plain
    weighted = [cuts.tolist() for cuts in own.fit(values, sample_weight=weights).cut_points_]
    assert [cuts.tolist() for cuts in own.fit(values, sample_weight=factor * weights).cut_points_] == weighted
