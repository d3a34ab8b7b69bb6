"""The data of a paper: found, loaded once, encoded, and with features of test rows hidden."""

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Results, code_split, find_data, hide_draws, is_copy, load_data, read_draws
from sklearn.tree import DecisionTreeClassifier

from bnplug import BayesianNetworkClassifier, Structure, datasets, parameter_learner
from bnplug.datasets import Dataset, load
from bnplug.experiments import hide_features


def test_data_are_found_and_read_once():
    assert find_data(["iris", "none"], None) == (["iris"], ["none"])
    assert load_data("corral", None) is load_data("corral", None)


def test_the_accuracy_is_that_of_the_classifier():
    data, rows = load("wine"), np.arange(178)
    train, test = rows[rows % 4 > 0], rows[rows % 4 == 0]
    split = code_split(data, train, test)
    naive = Structure(split.train.names, split.train.naive_bayes())
    found = split.accuracy(parameter_learner("ml").fit(split.train, naive))
    model = BayesianNetworkClassifier("nb", "ml", categorical_features=data.categorical_features)
    usual = model.fit(data.X.iloc[train], data.y.iloc[train]).score(data.X.iloc[test], data.y.iloc[test])
    assert found == 100 * usual


def test_a_class_that_no_training_row_has_is_never_right():
    X = pd.DataFrame({"a": list("pqpqpq")})
    data = Dataset("toy", X, pd.Series(list("yzyzww")), "auto", "")
    split = code_split(data, np.arange(4), np.arange(2, 6))
    assert split.labels.tolist() == [0, 1, -1, -1]
    naive = Structure(split.train.names, split.train.naive_bayes())
    assert split.accuracy(parameter_learner("ml").fit(split.train, naive)) == 50.0


def test_draws_are_kept_as_lists_and_read_back():
    iris, rows = datasets.load("iris"), np.arange(150)
    train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
    models = {"deep": DecisionTreeClassifier(random_state=0), "stump": DecisionTreeClassifier(max_depth=1)}
    kept = [hide_draws(models, iris, train, test, 2, seed) for seed in (0, 1)]
    assert [record["method"] for record in kept[0]] == ["deep"] * 4 + ["stump"] * 4
    assert [(record["missing"], len(record["accuracy"])) for record in kept[0][:4]] == [(0, 1), (1, 2), (2, 2), (3, 2)]
    assert "deep" in models
    records = [
        {"part": "figure", "key": {"dataset": "iris", "draws": seed}, "seconds": 0.0, "value": value}
        for seed, value in enumerate(kept)
    ]
    long = read_draws(Results(records).frame("figure"))
    own = long[(long["method"] == "stump") & (long["missing"] == 2)]
    assert own["draw"].tolist() == [0, 1, 2, 3]
    usual = hide_features(models, iris.X.iloc[test], iris.y.iloc[test], [2], draws=2, random_state=1)
    expected = usual[usual["method"] == "stump"]["accuracy"].tolist()
    assert own["accuracy"].tolist()[2:] == pytest.approx(expected)


def test_copies_are_rows_of_the_same_features_under_another_class():
    X, y = pd.DataFrame({"a": [1, 1, 2, np.nan, np.nan]}), pd.Series(list("ppqpq"), name="c")
    assert is_copy(Dataset("toy", X, y, "auto", "made up")).tolist() == [False, False, False, False, True]
    assert not is_copy(Dataset("toy", X.assign(b=range(5)), y, "auto", "made up")).any()
