"""Training and test rows of a paper, made discrete."""

import numpy as np
import pandas as pd

from bnplug import BayesianNetworkClassifier, parameter_learner
from bnplug.datasets import Dataset, load
from bnplug.experiments.paper import code_split


def test_the_accuracy_is_that_of_the_classifier():
    data, rows = load("wine"), np.arange(178)
    train, test = rows[rows % 4 > 0], rows[rows % 4 == 0]
    split = code_split(data, train, test)
    naive = split.train.dag(split.train.naive_bayes())
    found = split.accuracy(parameter_learner("ml").fit(split.train, naive))
    model = BayesianNetworkClassifier("nb", "ml", categorical_features=data.categorical_features)
    usual = model.fit(data.X.iloc[train], data.y.iloc[train]).score(data.X.iloc[test], data.y.iloc[test])
    assert found == 100 * usual


def test_a_class_that_no_training_row_has_is_never_right():
    X = pd.DataFrame({"a": list("pqpqpq")})
    data = Dataset("toy", X, pd.Series(list("yzyzww")), "auto", "")
    split = code_split(data, np.arange(4), np.arange(2, 6))
    assert split.labels.tolist() == [0, 1, -1, -1]
    naive = split.train.dag(split.train.naive_bayes())
    assert split.accuracy(parameter_learner("ml").fit(split.train, naive)) == 50.0
