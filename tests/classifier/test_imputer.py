"""The imputer as a transformer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from weather_rows import weather

from bnplug import BayesianNetworkClassifier, BayesianNetworkImputer

X, Y = weather()


@pytest.mark.long
@pytest.mark.parametrize("how", ["most_probable", "sample"])
def test_scikit_learns_own_checks(how):
    results = check_estimator(BayesianNetworkImputer(how=how, random_state=0), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []


def test_it_stands_before_what_takes_no_missing_cells():
    numbers = X[["degrees", "umbrellas"]].astype(float)
    numbers.loc[::4, "degrees"] = np.nan
    model = make_pipeline(BayesianNetworkImputer(), LogisticRegression()).fit(numbers.to_numpy(), Y)
    assert model.score(numbers.to_numpy(), Y) > 0.9


def test_rows_to_come_get_values_of_training():
    imputer = BayesianNetworkImputer(BayesianNetworkClassifier("nb"), "sample", random_state=0).fit(X, Y)
    holed = X.head(6).assign(degrees=np.nan)
    filled = imputer.transform(holed)
    assert filled["degrees"].isin(X["degrees"]).all()
    assert filled.equals(imputer.transform(holed))
    assert imputer.get_feature_names_out().tolist() == list(X.columns)


def test_rows_without_a_class_count():
    y = pd.Series(Y, dtype=object)
    y[10:] = None
    filled = BayesianNetworkImputer().fit(X.mask(X == "sun"), y).transform(X.mask(X == "sun"))
    assert not filled.isna().any().any()


def test_parameters_are_stored_and_checked():
    imputer = clone(BayesianNetworkImputer(how="mean"))
    with pytest.raises(ValueError, match="how='mean'"):
        imputer.fit(X, Y)


def test_without_a_class_the_error_says_that_it_needs_one():
    with pytest.raises(ValueError, match="requires y to be passed"):
        BayesianNetworkImputer().fit_transform(X)


def test_an_estimator_that_is_no_network_is_refused_by_name():
    with pytest.raises(TypeError, match=r"LogisticRegression\(\) is no BayesianNetworkClassifier"):
        BayesianNetworkImputer(LogisticRegression()).fit(X, Y)
