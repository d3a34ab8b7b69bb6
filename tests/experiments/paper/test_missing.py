"""Missing features in draws: what is kept of them is what was measured, one draw for all classifiers."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from bnplug import datasets
from bnplug.experiments import hide_features
from bnplug.experiments.paper import Results, hide_draws, read_draws


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
