"""Rows that are impossible under every class are predicted by the class prior, whatever the classes are called."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier

ML = ("ml", {"alpha": 0.0})
RENAMED = {"a": "z", "m": "b", "z": "a"}


@pytest.fixture(scope="module")
def rows():
    """Few rows with many states: most of the last rows are impossible under all three classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": rng.integers(0, 12, 120).astype(str) for i in range(6)})
    return X, rng.choice(["a", "m", "z"], 120, p=[0.2, 0.55, 0.25])


def weather():
    """P(go) = 0.25; "hail" with "calm" was seen with no class."""
    X = pd.DataFrame({"sky": ["sun", "sun", "hail", "rain"] * 3, "wind": ["calm", "calm", "gale", "gale"] * 3})
    return X, ["stay", "stay", "stay", "go"] * 3


IMPOSSIBLE = pd.DataFrame({"sky": ["hail", "rain"], "wind": ["calm", "calm"]})


@pytest.mark.parametrize("structure", ["nb", "tan", ("kdb", {"k": 2})])
@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_renaming_classes_does_not_change_which_class_is_predicted(rows, structure, engine):
    X, y = rows
    renamed = np.array([RENAMED[label] for label in y])
    model = BayesianNetworkClassifier(structure, ML, engine=engine).fit(X[:60], y[:60])
    other = BayesianNetworkClassifier(structure, ML, engine=engine).fit(X[:60], renamed[:60])
    impossible = np.isneginf(model._marginalizer.log_joint(model.encode(X[60:]))).all(axis=1)
    assert impossible.sum() > 10
    assert [RENAMED[label] for label in model.predict(X[60:])] == other.predict(X[60:]).tolist()
    counts = pd.Series(y[:60]).value_counts(normalize=True)[model.classes_]
    np.testing.assert_allclose(model.predict_proba(X[60:])[impossible], np.tile(counts, (impossible.sum(), 1)))


def test_all_predictions_agree():
    X, y = weather()
    model = BayesianNetworkClassifier("nb", ML).fit(X, y)
    # nb: P(gale | go) = 1, so "rain" with "calm" is impossible under "go", and under "stay" for "rain".
    np.testing.assert_allclose(model.predict_proba(IMPOSSIBLE[1:]), [[0.25, 0.75]])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(IMPOSSIBLE[1:])), [[0.25, 0.75]])
    assert model.predict(IMPOSSIBLE[1:]).tolist() == ["stay"]


def test_costs_are_weighed_by_the_prior():
    X, y = weather()
    for cost, wanted in ((2.0, "stay"), (4.0, "go")):
        costs = {"go": {"stay": cost}, "stay": {"go": 1.0}}
        # Predicting "stay" costs 0.25 cost, predicting "go" 0.75.
        model = BayesianNetworkClassifier("nb", ML, costs=costs).fit(X, y)
        assert model.predict(IMPOSSIBLE[1:]).tolist() == [wanted]


def test_contributions_add_up_to_the_prior_log_odds():
    X, y = weather()
    model = BayesianNetworkClassifier("nb", ML).fit(X, y)
    explained = model.explain(IMPOSSIBLE[1:])
    total = explained.groupby("class")["contribution"].sum()
    assert total["go"] == pytest.approx(np.log(0.25 / 0.75))
    assert total["stay"] == pytest.approx(np.log(0.75 / 0.25))


def test_files_and_loaded_models_agree(tmp_path):
    X, y = weather()
    model = BayesianNetworkClassifier("nb", ML).fit(X, y)
    IMPOSSIBLE.to_csv(tmp_path / "rows.csv", index=False)
    model.save(tmp_path / "model")
    bnplug.load(tmp_path / "model").predict_files(tmp_path / "rows.csv", tmp_path / "answers.csv")
    answers = pd.read_csv(tmp_path / "answers.csv")
    np.testing.assert_allclose(answers.loc[1, ["P(go)", "P(stay)"]].to_numpy(dtype=float), [0.25, 0.75])
    assert answers.loc[1, "class"] == "stay"


def test_queries_still_refuse_impossible_evidence():
    X, y = weather()
    model = BayesianNetworkClassifier("nb", ML).fit(X, y)
    with pytest.raises(ValueError, match="is impossible"):
        model.query("class", {"sky": "rain", "wind": "calm"})
    assert model.query("class", IMPOSSIBLE[1:])["probability"].isna().all()
