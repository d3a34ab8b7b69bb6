"""Rows of files as a model takes them."""

import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, BnplugWarning
from bnplug.classifier._rows import answers, as_states, kinds_for, rows_for

X = pd.DataFrame({"zip": ["007", "123"] * 10, "n": [1, 2] * 10, "x": [0.5, 7.5] * 10})
MODEL = BayesianNetworkClassifier("nb").fit(X, pd.Series(["p", "q"] * 9 + ["q", "p"], name="y"))


def test_columns_are_read_as_the_model_knows_them():
    assert kinds_for(MODEL, "y", ["key"]) == {"key": "text", "zip": "text", "n": "number", "x": "number", "y": "text"}


def test_what_training_did_not_have_is_ignored_with_a_warning():
    frame = X.assign(y="p", key=range(20), more=1)
    with pytest.warns(BnplugWarning, match=r"columns \['more'\] were not in the"):
        rows = rows_for(MODEL, frame, "y", ["key"])
    assert list(rows.X) == ["zip", "n", "x"]
    assert rows.y.tolist() == ["p"] * 20
    assert rows.keys["key"].tolist() == list(range(20))


def test_answers_have_keys_class_and_probabilities():
    found = answers(MODEL, rows_for(MODEL, X.assign(key=1)[:2], "y", ["key"]))
    assert list(found) == ["key", "y", "P(p)", "P(q)"]
    assert found["y"].tolist() == ["p", "q"]


def test_numbers_among_text_are_the_states_they_name():
    assert as_states(pd.Series(["1", "2.0", "x", None]), (1, 2)).tolist()[:3] == [1, 2, "x"]


@pytest.mark.parametrize("spell", [str, str.lower, str.upper])
def test_one_odd_cell_leaves_truth_values_what_they_are(spell):
    cells = [spell("True"), spell("False")]
    assert as_states(pd.Series([*cells, "unknown", None]), (False, True)).tolist()[:3] == [True, False, "unknown"]
