"""What becomes of missing cells, column by column."""

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, BnplugWarning, encode_training
from bnplug.table.rules import MissingPolicies

X = pd.DataFrame({"a": ["u", None, "v", "u"], "b": ["p", "q", None, "p"], "c": ["k", "l", "k", None]})
Y = [0, 1, 1, 0]


def test_a_dict_has_ways_by_column_and_a_way_for_all_others():
    table, encoder = encode_training(X, Y, missing={"a": "value", "*": "em"})
    assert table.states["a"] == ("u", "v", "missing")
    assert encoder.missing_states == {"a": "missing"}
    assert table.states["b"] == ("p", "q")
    assert table.missing_policy == "em"
    assert table.has_missing.tolist() == [False, True, True, False]


def test_without_a_word_for_the_others_they_are_ignored_or_go_the_way_of_the_whole_table():
    assert MissingPolicies.of({"a": "value"}) == MissingPolicies("ignore", {"a": "value"})
    assert MissingPolicies.of({"a": "em", "b": "value"})["c"] == "em"
    assert encode_training(X, Y, missing={"a": "value"})[0].missing_policy == "ignore"


def test_rows_are_dropped_for_the_columns_that_say_so():
    table, _ = encode_training(X, Y, missing={"a": "drop", "c": "value"})
    assert table.n_rows == 3
    assert table.has_missing.tolist() == [False, True, False, False]


def test_a_column_may_be_refused_alone():
    with pytest.raises(ValueError, match=r"columns \['b'\] have missing cells"):
        encode_training(X, Y, missing={"b": "error"})
    assert encode_training(X.drop(columns="b"), Y, missing={"*": "error", "a": "value", "c": "value"})[0].n_rows == 4


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("mean", r"missing='mean' is not one of"),
        ({"a": "mean"}, r"for 'a', 'mean' is not one of"),
        ({"a": "ignore", "*": "em"}, "concern the whole table"),
        ({"z": "value"}, "names the column 'z', which does not exist"),
        (None, "is not one of"),
    ],
)
def test_what_says_nothing_is_refused(missing, message):
    with pytest.raises(ValueError, match=message):
        encode_training(X, Y, missing=missing)


def test_the_parts_of_a_date_go_the_way_of_their_column():
    when = pd.to_datetime(["2020-01-01", None, "2021-02-01", "2021-03-01"])
    table, _ = encode_training(X.assign(when=when), Y, missing={"when": "value", "*": "em"}, discretizer="none")
    parts = [name for name in table.names if name.startswith("when.")]
    assert parts
    assert all("missing" in table.states[name] for name in parts)


def test_a_model_with_ways_by_column_answers_and_is_cloned():
    from sklearn.base import clone

    model = clone(BayesianNetworkClassifier("nb", missing={"a": "value", "*": "em"})).fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


def _incomplete_rows():
    """30 rows, 11 of them complete, none of these of class 2."""
    frame = pd.DataFrame({"a": ["u", "v"] * 15, "b": ["p", "q", "p"] * 10})
    frame.loc[10:, "b"] = None
    frame.loc[29, "b"] = "p"
    labels = np.array([0, 0, 1, 1, 0] * 6)
    labels[20:23] = 2
    return frame, labels


def test_dropping_most_rows_or_a_whole_class_is_reported():
    frame, labels = _incomplete_rows()
    with pytest.warns(BnplugWarning, match='missing="drop" keeps 11 of 30 rows, and none of class 2'):
        encode_training(frame, labels, missing="drop")
    with pytest.warns(BnplugWarning, match='missing="drop" keeps 11 of 30 rows. missing="ignore"'):
        encode_training(frame, labels % 2, missing="drop")


def test_dropping_is_reported_for_files_too(tmp_path):
    frame, labels = _incomplete_rows()
    frame.assign(y=labels).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(BnplugWarning, match='missing="drop" keeps 11 of 30 rows, and none of class 2'):
        BayesianNetworkClassifier("nb", missing="drop").fit_files(tmp_path / "rows.csv", target="y")


def test_dropping_a_few_rows_is_not_reported():
    frame, labels = _incomplete_rows()
    kept, _ = encode_training(frame.head(12), labels[:12], missing="drop")
    assert kept.n_rows == 10
