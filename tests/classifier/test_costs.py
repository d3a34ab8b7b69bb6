"""Where mistakes do not cost the same, the decision is the one that costs least, everywhere."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from scoring.third_party import NegativeCost
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
)

import bnplug
from bnplug import BayesianNetworkClassifier, UnseenValueWarning, datasets, make_classifier
from bnplug.classifier._predicting import cost_matrix, least_expected_cost
from bnplug.experiments import compare
from bnplug.show.evaluation import decisions, evaluate

#: To overlook an illness costs ten times as much as to suspect one.
COSTS = {"ill": {"well": 10}, "well": {"ill": 1}}
FORMS = [COSTS, {("ill", "well"): 10, ("well", "ill"): 1}, [[0, 10], [1, 0]], np.array([[0, 10], [1, 0]])]


def made(rows=200, seed=0):
    """Rows of whom few are ill, and of whom a symptom tells a little."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.2, "ill", "well")
    fever = np.where(rng.random(rows) < np.where(y == "ill", 0.6, 0.2), "yes", "no")
    return pd.DataFrame({"fever": fever, "spots": rng.integers(0, 3, rows).astype(str)}), pd.Series(y, name="state")


@pytest.mark.parametrize("costs", FORMS)
def test_every_form_says_the_same(costs):
    X, y = made()
    model = BayesianNetworkClassifier("nb", costs=costs).fit(X, y)
    np.testing.assert_array_equal(model.costs_, [[0, 10], [1, 0]])
    # Of 10 P(ill) and P(well) the larger decides.
    probabilities = model.predict_proba(X)
    assert (model.predict(X) == np.where(10 * probabilities[:, 0] >= probabilities[:, 1], "ill", "well")).all()
    plain = BayesianNetworkClassifier("nb").fit(X, y)
    assert plain.costs_ is None
    np.testing.assert_array_equal(plain.predict_proba(X), probabilities)
    assert (plain.predict(X) != model.predict(X)).any()


def test_a_decision_by_hand():
    # Of three classes: 0.5*4 + 0.3*0 + 0.2*1 = 2.2 for the first, then 0.5*2 + 0.2*8 = 2.6, and 0.5*3 + 0.3*1 = 1.8.
    costs = np.array([[4.0, 2.0, 3.0], [0.0, 0.0, 1.0], [1.0, 8.0, 0.0]])
    assert least_expected_cost(np.array([[0.5, 0.3, 0.2]]), costs).tolist() == [2]
    # Tied costs: the first.
    assert least_expected_cost(np.array([[0.1, 0.2, 0.7]]), np.ones((3, 3))).tolist() == [0]
    assert least_expected_cost(np.array([[0.4, 0.4, 0.2]]), None).tolist() == [0]


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_no_decision_costs_less_and_rows_do_not_matter_to_each_other(seed, classes):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(classes), 20)
    costs = rng.normal(size=(classes, classes))
    chosen = least_expected_cost(probabilities, costs)
    expected = np.array(
        [[sum(p * costs[i, j] for i, p in enumerate(row)) for j in range(classes)] for row in probabilities]
    )
    assert (expected[np.arange(20), chosen] <= expected.min(axis=1) + 1e-12).all()
    assert [int(least_expected_cost(row[None], costs)[0]) for row in probabilities] == chosen.tolist()
    # What a true class costs whatever is said of it changes nothing; all mistakes alike is the most probable class.
    np.testing.assert_array_equal(least_expected_cost(probabilities, costs + 7 * rng.random((classes, 1))), chosen)
    alike = least_expected_cost(probabilities, 3 * (1 - np.eye(classes)))
    np.testing.assert_array_equal(alike, probabilities.argmax(axis=1))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1]], r"shape \(1, 2\); the 2 classes \['ill', 'well'\] need a row for each true class"),
        ([[0, 1, 2], [1, 0, 2], [1, 1, 0]], r"shape \(3, 3\)"),
        (5, r"shape \(\)"),
        ([[0, "much"], [1, 0]], "is neither a matrix of numbers"),
        ("free", "is neither a matrix of numbers"),
        ([[0, np.nan], [1, 0]], "a true 'ill' predicted as 'well' costs nan"),
        ({"ill": {"well": np.inf}, "well": {"ill": 1}}, "a true 'ill' predicted as 'well' costs inf"),
        ({"ill": {"well": "much"}, "well": {"ill": 1}}, "a true 'ill' predicted as 'well' costs 'much', not a number"),
        ({"ill": {"well": 10}}, "lack the cost of predicting 'ill' if the class is 'well'"),
        ({"ill": 10, "well": 1}, "'ill': 10 is neither true: {predicted: cost} nor"),
        (pd.DataFrame([[0, 1], [1, 0]], ["ill", "well"], ["ill", "well"]), r"frame\.T\.to_dict"),
    ],
)
def test_a_bad_matrix_is_said_before_anything_is_learned(costs, message, monkeypatch):
    monkeypatch.setattr(BayesianNetworkClassifier, "_learn", None)
    with pytest.raises(ValueError, match=message):
        BayesianNetworkClassifier("nb", costs=costs).fit(*made())


def test_labels_that_are_no_classes():
    X, y = made()
    # A rare class that this part of the data lacks.
    with pytest.warns(UnseenValueWarning, match=r"costs name \['worse'\], which the classes"):
        model = BayesianNetworkClassifier("nb", costs={**COSTS, ("worse", "well"): 99}).fit(X, y)
    np.testing.assert_array_equal(model.costs_, [[0, 10], [1, 0]])
    # A misspelled one: what is missing is said, and what was not understood.
    with pytest.warns(UnseenValueWarning), pytest.raises(ValueError, match=r"class is 'ill'; they name \['il'\]"):
        BayesianNetworkClassifier("nb", costs={("il", "well"): 10, ("well", "ill"): 1}).fit(X, y)
    # Whole numbers and truth values are found as numpy has them.
    assert cost_matrix({True: {False: 2}, False: {True: 3}}, np.array([False, True])).tolist() == [[0, 3], [2, 0]]
    assert cost_matrix({(np.int64(1), 2): 4, (2, 1): 5}, np.array([1, 2])).tolist() == [[0, 4], [5, 0]]


@pytest.mark.parametrize("costs", FORMS)
def test_a_saved_model_decides_as_it_did(costs, tmp_path):
    X, y = made()
    model = BayesianNetworkClassifier("nb", costs=costs).fit(X, y)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict(X), model.predict(X))
    # They play no part in learning: other costs decide at once.
    np.testing.assert_array_equal(
        loaded.set_params(costs=None).predict(X), BayesianNetworkClassifier("nb").fit(X, y).predict(X)
    )


def test_costs_that_do_not_fit_the_classes_of_a_file_are_damage(tmp_path):
    X, y = made()
    model = BayesianNetworkClassifier("nb", costs=[[0, 1], [1, 0]]).fit(X, y)
    state, arrays = model.saved_state()
    with pytest.raises(bnplug.ModelFileError, match="damaged"):
        BayesianNetworkClassifier("nb", costs=[[0]]).restore_state(state, arrays)


def test_the_command_line_decides_by_costs(tmp_path):
    X, y = made()
    X.assign(state=y).to_csv(tmp_path / "data.csv", index=False)
    paths = [str(tmp_path / "model"), str(tmp_path / "data.csv")]
    assert run("fit", paths[1], "--target", "state", "--set", f"costs={COSTS}", "-o", paths[0]).exit_code == 0
    found = pd.read_csv(_written(tmp_path, run("predict", *paths).stdout))
    model = BayesianNetworkClassifier(costs=COSTS).fit(X, y)
    assert found["state"].tolist() == model.predict(X).tolist()
    figures = json.loads(run("evaluate", *paths, "--json").stdout)
    confusion = confusion_matrix(y, model.predict(X))
    assert figures["confusion"] == confusion.tolist()
    assert figures["mean_cost"] == pytest.approx((10 * confusion[0, 1] + confusion[1, 0]) / len(y))
    assert "mean cost" in run("evaluate", *paths).stdout
    page = tmp_path / "report.html"
    assert run("report", *paths, "-o", str(page)).exit_code == 0
    assert "mean cost" in page.read_text()
    assert f"true well, predicted ill: {confusion[1, 0]}," in page.read_text()


def _written(folder, text):
    path = folder / "predicted.csv"
    path.write_text(text)
    return path


def test_evaluation_and_comparison_decide_by_costs(tmp_path):
    X, y = made()
    model = BayesianNetworkClassifier("nb", "ml", costs=COSTS, calibrate=None).fit(X, y)
    found = evaluate(model, X, y)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, model.predict(X)))
    assert found.accuracy == pytest.approx(model.score(X, y))
    weights = np.arange(len(y)) % 3
    costs = np.where(model.predict(X) == y, 0, np.where(y == "ill", 10, 1))
    assert evaluate(model, X, y, weights).mean_cost == pytest.approx(np.average(costs, weights=weights))
    plain = evaluate(BayesianNetworkClassifier("nb").fit(X, y), X, y)
    assert plain.mean_cost is None
    assert "mean cost" not in plain.figures
    text = "NB(costs={('ill', 'well'): 10, ('well', 'ill'): 1})"
    methods = ["NB", text, ("by hand", make_classifier("nb+ml", costs=COSTS, calibrate=None))]
    found = compare(methods, [(X, y)], cv=3)
    accuracy = found.results.groupby("method")["accuracy"].mean()
    assert accuracy[text] == accuracy["by hand"] < accuracy["NB"]
    by_text = make_classifier(text).fit(X, y)
    np.testing.assert_array_equal(by_text.predict(X), model.predict(X))


def test_a_classifier_of_a_plugin_is_asked_what_it_predicts():
    X, y = made()

    class Pessimist(BayesianNetworkClassifier):
        """Not the most probable class."""

        decide = property()

        def predict(self, X):
            return np.full(len(X), "ill")

    model = Pessimist("nb").fit(X, y)
    assert set(decisions(model, X, model.predict_proba(X))) == {0}
    assert evaluate(model, X, y).confusion["well"].sum() == 0


def test_the_explained_class_is_the_predicted_one():
    X, y = made()
    model = BayesianNetworkClassifier("nb", costs=COSTS).fit(X, y)
    row = X[(model.predict(X) == "ill") & (model.predict_proba(X)[:, 0] < 0.5)].head(1)
    assert "state = ill" in model.plot_explanation(row).get_title()


def test_thresholds_of_scikit_learn():
    X, y = datasets.corral()
    model = BayesianNetworkClassifier("nb").fit(X, y)
    label = model.classes_[1]
    fixed = FixedThresholdClassifier(model, threshold=0.9, pos_label=label, response_method="predict_proba").fit(X, y)
    expected = np.where(model.predict_proba(X)[:, 1] >= 0.9, label, model.classes_[0])
    np.testing.assert_array_equal(fixed.predict(X), expected)


def test_a_threshold_that_cross_validation_tunes():
    X, y = made(400)

    def gain(truth, predicted):
        return -float(np.where(truth == predicted, 0, np.where(truth == "ill", 10, 1)).sum())

    scorer = make_scorer(gain)
    tuned = TunedThresholdClassifierCV(
        BayesianNetworkClassifier("nb"), scoring=scorer, cv=3, response_method="predict_proba"
    ).fit(X, y)
    # The class of the threshold is the last one, "well"; Elkan's threshold for it is 10 / 11.
    assert tuned.best_threshold_ > 0.6
    plain = BayesianNetworkClassifier("nb").fit(X, y)
    by_costs = BayesianNetworkClassifier("nb", costs=COSTS).fit(X, y)
    assert gain(y, tuned.predict(X)) > gain(y, plain.predict(X))
    assert gain(y, by_costs.predict(X)) > gain(y, plain.predict(X))
    # Costs are a parameter like others: here they are found to be better than none.
    grid = GridSearchCV(BayesianNetworkClassifier("nb"), {"costs": [None, COSTS]}, scoring=scorer, cv=3).fit(X, y)
    assert grid.best_params_ == {"costs": COSTS}
    assert (cross_val_predict(by_costs, X, y, cv=3) == "ill").sum() > (
        cross_val_predict(plain, X, y, cv=3) == "ill"
    ).sum()


def test_a_model_that_is_trained_by_costs_decides_by_them():
    X, y = made()
    matrix = [[0, 10], [1, 0]]
    search = bnplug.structure_learner("hill-climb", score=NegativeCost(matrix))
    model = BayesianNetworkClassifier(search, costs=matrix).fit(X, y)
    assert (model.predict(X) == "ill").sum() > (y == "ill").sum()
