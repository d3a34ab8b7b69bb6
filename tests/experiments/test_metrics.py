"""Figures of a fold against values worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from bnplug.experiments._runner import answers, measure
from bnplug.experiments._tables import find_metric


def test_two_classes_by_hand():
    P = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    found = measure(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 0]), P, P)
    assert found["accuracy"] == 0.75
    assert found["zero_one_loss"] == 0.25
    # Errors of the true class: 0.1, 0.6, 0.2, 0.3.
    assert found["rmse"] == pytest.approx(np.sqrt((0.01 + 0.36 + 0.04 + 0.09) / 4))
    assert found["cll"] == pytest.approx((np.log(0.9) + np.log(0.4) + np.log(0.8) + np.log(0.7)) / 4)
    assert found["auc"] == 1.0


def test_three_classes_by_hand():
    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    found = measure(np.array([0, 1]), np.array([0, 2]), P, P)
    squares = 0.25 + 0.09 + 0.04 + 0.01 + 0.64 + 0.49
    assert found["rmse"] == pytest.approx(np.sqrt(squares / 6))
    # Class 0 ranks its row first; class 1 ranks the other row first. Class 2 is not there.
    assert found["auc"] == 0.5


def test_auc_of_many_classes_is_the_mean_against_the_rest():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 40)
    truth = rng.integers(0, 3, 40)
    found = measure(truth, P.argmax(axis=1), P, P)
    assert found["auc"] == pytest.approx(roc_auc_score(truth, P, multi_class="ovr"))


def test_impossible_and_undefined():
    P = np.array([[1.0, 0.0]])
    found = measure(np.array([1]), np.array([0]), P, P)
    assert found["cll"] == pytest.approx(np.log(np.finfo(float).eps))
    assert np.isnan(found["auc"])
    without = measure(np.array([1]), np.array([1]), None, None)
    assert without["accuracy"] == 1.0
    assert np.isnan([without["rmse"], without["auc"], without["cll"]]).all()


def test_a_model_without_probabilities_still_ranks():
    X = pd.DataFrame({"a": np.arange(12.0)})
    model = SVC().fit(X, list("pppqqq" * 2))
    probabilities, scores = answers(model, X, ["p", "q"])
    assert probabilities is None
    np.testing.assert_array_equal(scores[:, 1], model.decision_function(X))
    three = SVC().fit(X, list("ppppqqqqssss"))
    _, scores = answers(three, X, ["p", "q", "r", "s"])
    np.testing.assert_array_equal(scores[:, [0, 1, 3]], three.decision_function(X))
    assert (scores[:, 2] < scores.min(axis=1) + 1e-9).all()
    _, pairwise = answers(SVC(decision_function_shape="ovo").fit(X, list("pppqqqrrrsss")), X, ["p", "q", "r", "s"])
    assert pairwise is None


def test_metrics_by_name():
    assert find_metric("accuracy").higher_is_better
    assert not find_metric("rmse").higher_is_better
    with pytest.raises(ValueError, match="Did you mean 'rmse'"):
        find_metric("rsme")
