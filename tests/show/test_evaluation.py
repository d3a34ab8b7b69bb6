import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.datasets import breast_cancer, iris
from bnplug.show.evaluation import area_under_curve, evaluate, evaluate_probabilities


def coin(prior=(0.5, 0.5), given=((0.8, 0.4), (0.2, 0.6)), classes=("n", "y")):
    """A classifier with one feature; P(y | x=0) = 1/3 and P(y | x=1) = 3/4 by default."""
    tables = LogTables(
        ["c", "x"], {"c": classes, "x": [0, 1]}, {"c": ((), np.log(prior)), "x": (("c",), np.log(given))}, target="c"
    )
    return BayesianNetworkClassifier.from_tables(tables)


def test_every_figure_by_hand():
    X = pd.DataFrame({"x": [0, 0, 1, 1, 1]})
    found = evaluate(coin(), X, ["n", "y", "y", "y", "n"])
    assert found.n_rows == 5
    assert found.accuracy == pytest.approx(3 / 5)
    assert found.balanced_accuracy == pytest.approx((1 / 2 + 2 / 3) / 2)
    # Of 6 pairs (n, y): 2 in order, 3 tied, 1 reversed.
    assert found.auc == pytest.approx((2 + 3 / 2) / 6)
    assert found.log_loss == pytest.approx(-np.log([2 / 3, 1 / 3, 3 / 4, 3 / 4, 1 / 4]).mean())
    assert found.brier == pytest.approx(2 * np.mean([1 / 9, 4 / 9, 1 / 16, 1 / 16, 9 / 16]))
    assert found.confusion.to_numpy().tolist() == [[1, 1], [1, 2]]
    assert found.confusion.index.tolist() == found.confusion.columns.tolist() == ["n", "y"]
    assert (found.confusion.index.name, found.confusion.columns.name) == ("true", "predicted")


@pytest.mark.parametrize("load", [iris, breast_cancer])
def test_equals_scikit_learn(load):
    X, y = load()
    model = BayesianNetworkClassifier("nb").fit(X[::2], y[::2])
    found = evaluate(model, X, y)
    P = model.predict_proba(X)
    binary = len(model.classes_) == 2
    assert found.accuracy == pytest.approx(model.score(X, y))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, model.predict(X)))
    assert found.auc == pytest.approx(roc_auc_score(y, P[:, 1] if binary else P, multi_class="ovr"))
    assert found.log_loss == pytest.approx(log_loss(y, P))
    one_vs_rest = [brier_score_loss(y == label, P[:, c]) for c, label in enumerate(model.classes_)]
    assert found.brier == pytest.approx(sum(one_vs_rest))
    assert found.confusion.to_numpy().sum() == len(y)


def test_a_weight_of_two_is_the_row_twice_and_zero_is_absence():
    X, y = iris()
    model = BayesianNetworkClassifier("nb").fit(X[::3], y[::3])
    weights = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted, plain = evaluate(model, X, y, weights), evaluate(model, X.iloc[repeated], y.iloc[repeated])
    assert weighted.n_rows == (weights > 0).sum()
    assert weighted.figures == pytest.approx(plain.figures)
    assert (weighted.confusion == plain.confusion).all(axis=None)


def test_areas_with_ties_and_weights_equal_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(20):
        truth, scores, weights = rng.integers(2, size=30), rng.integers(8, size=30) / 8, rng.exponential(size=30)
        both = np.column_stack([1 - scores, scores])
        assert area_under_curve(truth, both, weights) == pytest.approx(
            roc_auc_score(truth, scores, sample_weight=weights)
        )
        assert area_under_curve(truth, both, None) == pytest.approx(roc_auc_score(truth, scores))


def test_many_classes_are_told_apart():
    # More pairs of classes than a byte counts.
    classes = [f"c{i}" for i in range(40)]
    tables = LogTables(["c"], {"c": classes}, {"c": ((), np.log(np.full(40, 1 / 40)))}, target="c")
    model = BayesianNetworkClassifier.from_tables(tables)
    found = evaluate_probabilities(model, np.eye(40), classes)
    assert found.confusion.to_numpy().tolist() == np.eye(40).tolist()


@pytest.mark.parametrize("wrong", [np.nan, -0.1, 1.1])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(ValueError, match="not probabilities"):
        evaluate_probabilities(coin(), np.array([[wrong, 0.5]]), ["n"])


def test_classes_that_the_data_lacks():
    X, y = iris()
    model = BayesianNetworkClassifier("nb").fit(X, y)
    alone = y == "virginica"
    found = evaluate(model, X[alone], y[alone])
    assert found.auc is None
    assert found.balanced_accuracy == found.accuracy
    assert found.confusion.shape == (3, 3)
    two = y != "setosa"
    P = model.predict_proba(X[two])
    areas = [roc_auc_score(y[two] == model.classes_[c], P[:, c]) for c in (1, 2)]
    assert evaluate(model, X[two], y[two]).auc == pytest.approx(np.mean(areas))


def test_a_class_ruled_out_has_a_finite_loss():
    found = evaluate(coin(given=((1.0, 0.4), (1e-300, 0.6))), pd.DataFrame({"x": [1]}), ["n"])
    assert 30 < found.log_loss < 800


def test_labels_match_across_numeric_types_and_containers():
    X = pd.DataFrame({"x": [0, 1, 1]})
    model = coin(classes=(0, 1))
    for y in ([0, 1, 0], [0.0, 1.0, 0.0], np.array([0, 1, 0], dtype=np.int8), pd.Series([0, 1, 0], index=[7, 8, 9])):
        assert evaluate(model, X, y).accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["n", "maybe", "no"], r"labels \['maybe', 'no'\] are not among the classes of 'c', \['n', 'y'\]"),
        (["n", None, "y"], "1 of 3 rows have no label for 'c'"),
        (["n", "y"], "X has 3 rows and y has 2"),
    ],
    ids=["unknown", "missing", "short"],
)
def test_bad_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        evaluate(coin(), pd.DataFrame({"x": [0, 1, 1]}), y)


def test_no_row_is_an_error():
    with pytest.raises(ValueError, match="no row"):
        evaluate(coin(), pd.DataFrame({"x": []}), [])


def test_as_json():
    found = evaluate(coin(), pd.DataFrame({"x": [0, 1]}), ["y", "y"]).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {
        "rows", "accuracy", "balanced_accuracy", "auc", "log_loss", "brier_score", "classes", "confusion"
    }  # fmt: skip
    assert found["auc"] is None
    assert found["confusion"] == [[0, 0], [1, 1]]
