"""Row weights are checked in one place, by every door that takes them."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug.table.weights import check_class_weight, present_rows, row_weights

X = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.5]})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"w has the shape \(2,\); there are 4 rows"),
        ([1, 1, 1, -1], "negative"),
        ([1, 1, 1, np.nan], "missing"),
        ([1, 1, 1, np.inf], "infinite"),
        ([1e308] * 4, "the sum of .* is inf, above 1e.290"),
        ([0, 0, 0, 0], "no rows are left"),
    ],
)
def test_what_no_weights_are(weights, message):
    with pytest.raises(ValueError, match=message):
        row_weights(weights, 4, "w")


def test_no_weights_are_ones():
    assert row_weights(None, 3).tolist() == [1, 1, 1]
    assert present_rows(None) is None


def test_rows_of_weight_zero_are_absent():
    assert present_rows(np.array([0.0, 2.0])).tolist() == [False, True]
    assert present_rows(np.array([1.0, 2.0])) is None


@pytest.mark.parametrize("discretizer", ["mdl", "none"])
def test_weights_whose_sum_is_infinite_are_refused_before_any_work(discretizer):
    with pytest.raises(ValueError, match="sum of the row weights is inf, above"):
        bnplug.encode_training(X.round(), [0, 1, 0, 1], [1e308] * 4, discretizer=discretizer)


WRONG = [(-1.0, "-1.0"), (np.nan, "nan"), (np.inf, "inf"), ("heavy", "'heavy'"), (10**400, "1000"), (1j, "1j")]


@pytest.mark.parametrize(("weight", "shown"), WRONG)
def test_class_weights_are_numbers_from_zero_on(weight, shown):
    with pytest.raises(ValueError, match=f"class_weight: the weight of class 'b' is {shown}.*; give a finite number"):
        check_class_weight({"a": 1.0, "b": weight})


@pytest.mark.parametrize("weights", [None, "balanced", {"a": 0.0, "b": np.float32(2)}, {"a": True, "b": np.array(3)}])
def test_what_class_weights_are(weights):
    check_class_weight(weights)


LABELS = pd.Series(["a", "b", "c", "a", "b", "c"], name="kind")
ROWS = pd.DataFrame({"x": [*"pqpqpq"]})
NEGATIVE = {"a": 1.0, "b": -2.0, "c": 1.0}
REFUSED = "class_weight: the weight of class 'b' is -2"


@pytest.mark.parametrize("calibrate", [None, "evidence"])
def test_a_negative_class_weight_is_refused_in_memory(calibrate):
    with pytest.raises(ValueError, match=REFUSED):
        bnplug.BayesianNetworkClassifier("nb", class_weight=NEGATIVE, calibrate=calibrate).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=REFUSED):
        bnplug.encode_training(ROWS, LABELS, class_weight=NEGATIVE)


def test_a_negative_class_weight_is_refused_in_parts():
    model = bnplug.BayesianNetworkClassifier("nb", class_weight=NEGATIVE)
    with pytest.raises(ValueError, match=REFUSED):
        model.partial_fit(ROWS, LABELS, classes=[*"abc"])
    model.set_params(class_weight=None).partial_fit(ROWS, LABELS, classes=[*"abc"])
    with pytest.raises(ValueError, match=REFUSED):
        model.set_params(class_weight=NEGATIVE).partial_fit(ROWS, LABELS)


def test_a_negative_class_weight_is_refused_in_files(tmp_path):
    ROWS.assign(kind=LABELS).to_csv(tmp_path / "rows.csv", index=False)
    model = bnplug.BayesianNetworkClassifier("nb", class_weight=NEGATIVE)
    with pytest.raises(ValueError, match=REFUSED):
        model.fit_files(tmp_path / "rows.csv", "kind")


@pytest.mark.parametrize("weights", [[1, 5], np.array([1.0, 5.0]), pd.Series([1, 5]), "even", 3], ids=str)
def test_class_weights_of_another_kind_are_refused(weights):
    model = bnplug.BayesianNetworkClassifier("nb", class_weight=weights)
    with pytest.raises(ValueError, match="class_weight: expected None, 'balanced' or a dict"):
        model.fit(ROWS, LABELS)
