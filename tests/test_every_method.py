"""Every registered method lives with data as they come: it fits and predicts, with warnings and no errors."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from odd_data import RULES, odd_data
from sklearn.base import clone
from strategies import some

import bnplug
from bnplug import BayesianNetworkClassifier, datasets
from bnplug.hooks import registry
from bnplug.hooks.descriptors import Kind

FOLDER = os.environ.get("BNPLUG_DATA", "")
PUBLISHED = ["annealing", "audiology", "heart-hungarian", "splice"]


def names(kind):
    return [str(registry.name_of(method)) for method in registry.methods(kind)]


#: One estimator for every registered method: what it is called, and how it is made.
METHODS = {
    **{f"recipe {name}": (bnplug.recipe, name) for name in names(Kind.RECIPE)},
    **{f"classifier {name}": (bnplug.make_classifier, name) for name in names(Kind.CLASSIFIER)},
    **{f"structure {name}": (BayesianNetworkClassifier, name) for name in names(Kind.STRUCTURE_LEARNER)},
    **{
        f"score {name}": (BayesianNetworkClassifier, ("hill-climb", {"score": name, "max_parents": 2}))
        for name in names(Kind.SCORE_FUNCTION)
    },
    **{f"parameters {name}": (BayesianNetworkClassifier, "tan", name) for name in names(Kind.PARAMETER_LEARNER)},
    **{f"discretizer {name}": (BayesianNetworkClassifier, "tan", "ml", name) for name in names(Kind.DISCRETIZER)},
}


def check(method, X, y, train):
    make, *arguments = METHODS[method]
    model = clone(make(*arguments))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probabilities = model.fit(X[train], y[train]).predict_proba(X)
        predicted = model.predict(X[~train])
    assert probabilities.shape == (len(X), y[train].nunique())
    assert np.isfinite(probabilities).all()
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert set(predicted) <= set(y[train])


@pytest.mark.parametrize(("method", "name"), some([(m, d) for m in METHODS for d in RULES], 60))
def test_on_data_made_by_rule(method, name):
    X, y = odd_data(name)
    check(method, X, y, np.arange(len(y)) % 3 > 0)


@pytest.mark.skipif(not Path(FOLDER, "splice.csv.gz").is_file(), reason="BNPLUG_DATA names no folder of data sets")
@pytest.mark.parametrize(("method", "name"), some([(m, d) for m in METHODS for d in PUBLISHED], 8))
def test_on_published_data(method, name):
    data = datasets.load(name, data_dir=FOLDER)
    check(method, data.X, data.y, np.arange(len(data.y)) % 5 > 0)
