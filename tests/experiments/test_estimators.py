"""The methods of a comparison, and how each is made ready for a fold."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from third_party import Majority

from bnplug import BayesianNetworkClassifier, UnknownMethodError, UselessColumnWarning
from bnplug.datasets import Dataset
from bnplug.experiments import compare
from bnplug.experiments._inputs import BASELINES, fitted_network, prepare, resolve_methods
from bnplug.io._parameters import Unavailable


@pytest.fixture
def toy():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": list("xyz") * 10, "b": rng.normal(size=30)})
    return Dataset("toy", X, pd.Series(["p", "q"] * 15, name="c"), "auto", "made up")


def test_methods_by_name_by_parameters_and_as_estimators():
    made = resolve_methods(["tan", ("kdb", {"k": 1}), SVC(), ("mine", LogisticRegression()), "gradient-boosting"])
    assert list(made) == ["tan", "kdb(k=1)", "SVC", "mine", "gradient-boosting"]
    assert made["kdb(k=1)"].structure == ("kdb", {"k": 1})
    assert isinstance(made["mine"], LogisticRegression)


def test_columns_are_prepared_by_kind_for_estimators_that_want_numbers(toy):
    X = toy.X.assign(n=[1, 2, None] * 10)
    model = prepare(LogisticRegression(), X, "auto", "value", 0, False).fit(X, toy.y)
    # a: x, y, z; n: 1, 2, missing; b: one number.
    assert model[-1].n_features_in_ == 7
    model = prepare(LogisticRegression(), X, ["a"], "value", 0, False).fit(X, toy.y)
    # a: x, y, z; b: one number; n: one number and an indicator.
    assert model[-1].n_features_in_ == 6
    unseen = X.assign(a="never seen")
    assert len(model.predict(unseen)) == 30


def test_a_search_over_a_network_gets_the_frame_and_its_settings(toy):
    search = GridSearchCV(BayesianNetworkClassifier(), {"structure": ["nb", "tan"]}, cv=2, n_jobs=2)
    made = prepare(search, toy.X, ("a",), "value", 3, True)
    assert isinstance(made, GridSearchCV)
    assert made.n_jobs == 1
    inner = made.estimator
    assert (inner.missing, inner.categorical_features, inner.random_state, inner.n_jobs) == ("value", ("a",), 3, 1)
    assert search.estimator.missing == "ignore"
    found = compare(
        [("search", GridSearchCV(BayesianNetworkClassifier("nb"), {"missing": ["ignore"]}, cv=2))], [toy], cv=2
    )
    assert found.table("n_parameters").notna().all(axis=None)


def test_a_classifiers_own_categorical_features_stay(toy):
    own = BayesianNetworkClassifier(categorical_features=["a"])
    assert prepare(own, toy.X, ("a", "b"), "ignore", 0, False).categorical_features == ["a"]


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_can_be_made(name):
    assert list(resolve_methods([name])) == [name]


def test_the_network_in_a_fitted_model_is_found(toy):
    network = BayesianNetworkClassifier("nb")
    search = GridSearchCV(network, {"missing": ["ignore"]}, cv=2).fit(toy.X, toy.y)
    assert fitted_network(search) is search.best_estimator_
    assert fitted_network(network) is network
    assert fitted_network(SVC()) is None


@pytest.mark.usefixtures("third")
def test_a_plugins_classifier_gets_the_columns_as_they_come(toy):
    X = toy.X.assign(b=[None, *toy.X["b"][1:]])
    for estimator in (resolve_methods(["majority"])["majority"], GridSearchCV(Majority(), {"alpha": [1.0]}, cv=2)):
        made = prepare(estimator, X, "auto", "ignore", 7, True)
        assert type(made) is type(estimator)
        fitted = made.fit(X, toy.y)
        fitted = getattr(fitted, "best_estimator_", fitted)
        assert (fitted.columns_, fitted.kinds_) == (list(X.columns), [str(kind) for kind in X.dtypes])
        assert fitted.random_state == 7
    assert isinstance(prepare(LogisticRegression(), X, "auto", "ignore", 7, True), Pipeline)


@pytest.mark.usefixtures("rivals")
def test_a_classifier_whose_name_another_plugin_claims_gets_the_columns_too(toy):
    for name, estimator in resolve_methods(["third:majority", "rival:majority"]).items():
        assert type(prepare(estimator, toy.X, "auto", "ignore", 7, True)) is type(estimator), name


def test_a_parameter_that_no_file_held_is_named(toy):
    estimator = Majority(alpha=Unavailable("an alpha", "not saved", None))
    with pytest.raises(ValueError, match="alpha: <an alpha: not saved>"):
        prepare(estimator, toy.X, "auto", "ignore", 7, True)


@pytest.mark.usefixtures("third")
def test_what_has_no_recipe_is_compared_by_an_expression(toy):
    names = [
        "majority",
        "tan+backoff",
        "hill-climb[cost]",
        "+backoff",
        "[cost]",
        "kdb(k=1)+backoff",
        "A+B (I)",
        "svm(C=2)",
    ]
    found = compare([*names, ("majority", {"alpha": 3.0})], [toy], cv=2)
    assert found.methods == [*names, "majority(alpha=3.0)"]
    assert found.failures.empty
    assert found.table().notna().all(axis=None)
    assert (found.table()["tan+backoff"] == found.table()["+backoff"]).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tann", "there is no method 'tann'. Did you mean 'tan'?"),
        ("svmm", "Did you mean 'svm'? logistic-regression"),
        ("svm+ml", "there is no method 'svm'"),
        ("tan+", "'tan+' cannot be read at its end"),
    ],
)
def test_a_name_that_nothing_has_is_told(name, message):
    with pytest.raises((UnknownMethodError, ValueError), match=re.escape(message)):
        resolve_methods([name])


def test_one_baseline_is_the_rival_that_newcomers_should_know():
    assert sum(baseline.featured for baseline in BASELINES.values()) == 1


def test_other_estimators_are_spared_useless_columns_and_get_dates_by_their_parts(toy):
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(range(30), "D")
    X = toy.X.assign(key=[f"u{i}" for i in range(30)], nothing=np.nan, when=days)
    with pytest.warns(UselessColumnWarning):
        model = prepare(LogisticRegression(), X, "auto", "ignore", 0, False).fit(X, toy.y)
    # a: x, y, z; b; of the date the day and, one-hot, the seven weekdays.
    assert model[-1].n_features_in_ == 3 + 1 + 1 + 7
    assert len(model.predict(X.head(3).assign(key="new"))) == 3
    found = compare(["nb", "svm"], [(X, toy.y)], cv=2)
    assert found.failures.empty
