"""Rows without a class."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bnplug
from bnplug import BayesianNetworkClassifier, Table, encode_training
from bnplug.classifier._components import check_unlabeled


def two_groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({f"f{j}": np.where(rng.random(n) < 0.8, y, 1 - y) for j in range(6)})
    X["number"] = y + rng.normal(scale=0.8, size=n)
    return X, y


X, Y = two_groups()
FEW = np.arange(len(Y)) < 12


@pytest.mark.parametrize(
    ("y", "unlabeled"),
    [
        (np.where(FEW, Y, -1), -1),
        (np.where(FEW, Y, np.nan), None),
        ([int(c) if few else None for c, few in zip(Y, FEW, strict=True)], None),
        (pd.Series(np.where(FEW, Y, np.nan)), None),
        (pd.Series(np.where(FEW, Y, -1), dtype="Int64").replace(-1, pd.NA), None),
        (pd.Series(np.where(FEW, Y, -1), dtype="Int64").where(np.arange(len(Y)) < 50), -1),
    ],
)
def test_however_they_are_marked_the_classes_are_the_others(y, unlabeled):
    table, encoder = encode_training(X, y, missing="em", unlabeled=unlabeled)
    assert encoder.classes.tolist() == [0, 1]
    column = table.codes[table.target_index]
    assert (column[FEW] == Y[FEW]).all()
    assert (column[~FEW] == table.missing).all()
    assert table.lacks_classes


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([False, True])])
def test_labels_of_every_type_may_be_missing(labels):
    y = [labels[c] if few else None for c, few in zip(Y, FEW, strict=True)]
    for given in (pd.Series(y, dtype=object), [own.item() if own is not None else None for own in y]):
        table, encoder = encode_training(X, given, missing="em")
        assert encoder.classes.tolist() == labels.tolist()
        assert (table.codes[table.target_index][FEW] == Y[FEW]).all()


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_they_help_where_few_rows_have_a_class():
    test_X, test_y = two_groups(2000, seed=1)
    alone = BayesianNetworkClassifier("nb").fit(X[FEW], Y[FEW])
    both = BayesianNetworkClassifier("nb", missing="em", unlabeled=-1).fit(X, np.where(FEW, Y, -1))
    assert both.score(test_X, test_y) > alone.score(test_X, test_y)


def test_numbers_are_cut_by_the_rows_that_have_a_class():
    wanted = encode_training(X[FEW], Y[FEW], discretizer=("quantile", {"n_bins": 3}))[1].cut_points["number"]
    found = encode_training(
        X, np.where(FEW, Y, -1), missing="em", unlabeled=-1, discretizer=("quantile", {"n_bins": 3})
    )[1]
    assert found.cut_points["number"].tolist() == wanted.tolist()


def test_class_weights_are_of_the_rows_that_have_a_class():
    y = np.where(FEW, Y, -1)
    table, _ = encode_training(X, y, np.full(len(y), 2.0), missing="em", unlabeled=-1, class_weight={0: 3.0, 1: 1.0})
    assert (table.weights[~FEW] == 2.0).all()
    assert (table.weights[FEW] == np.where(Y[FEW] == 0, 6.0, 2.0)).all()


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_learners_that_cannot_say_which_can():
    y = np.where(FEW, Y, -1)
    with pytest.raises(ValueError, match=r"parameters='ccbn-w' do not learn from such rows.*'ml'"):
        BayesianNetworkClassifier("nb", "ccbn-w", missing="em", unlabeled=-1).fit(X, y)


def test_what_does_not_derive_from_the_contract_is_asked_too():
    class Plain:
        takes_unlabeled = True

    table = Table(np.array([[0, 1], [0, 255]], dtype=np.uint8), ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c")
    check_unlabeled(table, Plain(), Plain())
    with pytest.raises(ValueError, match="no class"):
        check_unlabeled(table, object(), "other")


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"missing": "em"}, np.full(len(Y), np.nan), "no row has a class"),
        ({"missing": "em", "unlabeled": -1}, np.full(len(Y), -1), "no row has a class"),
        ({"unlabeled": -1}, np.where(FEW, Y, -1), 'with missing="em" alone'),
        ({}, np.where(FEW, Y, np.nan), "Input y contains NaN"),
        ({"missing": "em", "unlabeled": 1}, Y, "only one class"),
    ],
)
def test_what_cannot_be_learned_from_is_one_clear_error(params, y, message):
    for data in (X, X.to_numpy()):
        with pytest.raises(ValueError, match=message):
            BayesianNetworkClassifier("nb", **params).fit(data, y)


def test_weights_that_leave_no_class_are_refused():
    with pytest.raises(ValueError, match="no row has a class"):
        BayesianNetworkClassifier("nb", missing="em", unlabeled=-1).fit(X, np.where(FEW, Y, -1), (~FEW).astype(float))


def test_calibration_and_inner_folds_hold_out_rows_with_a_class_alone():
    some = np.arange(len(Y)) < 120
    y = np.where(some, Y, -1)
    params = {"missing": "em", "unlabeled": -1, "class_weight": "balanced"}
    model = BayesianNetworkClassifier("nb", calibrate="evidence", **params).fit(X, y)
    assert 0.02 < model.calibration_.observed < 3
    assert model.score(X, Y) > 0.9


def test_parts_are_refused_and_a_class_seen_once_is_learned():
    y = np.where(FEW, Y, -1)
    with pytest.raises(ValueError, match="needs several passes over all rows"):
        BayesianNetworkClassifier("nb", missing="em").partial_fit(X, Y, [0, 1])
    y[FEW] = 0
    y[0] = 1
    assert BayesianNetworkClassifier("nb", missing="em", unlabeled=-1).fit(X, y).classes_.tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_saved_model_is_learned_again_alike(tmp_path):
    y = np.where(FEW, Y, -1)
    model = BayesianNetworkClassifier("tan", missing={"number": "value", "*": "em"}, unlabeled=-1).fit(X, y)
    bnplug.save(model, tmp_path / "model")
    again = clone(bnplug.load(tmp_path / "model"))
    assert again.get_params()["unlabeled"] == -1
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", [np.str_, object, "string", "category"])
def test_a_number_that_became_text_among_text_still_marks(kind):
    marked = np.array(["no" if few and own == 0 else "yes" if few else -1 for own, few in zip(Y, FEW, strict=True)])
    y = marked if kind is np.str_ else pd.Series(marked).astype(kind)
    _, encoder = encode_training(X, y, missing="em", unlabeled=-1)
    assert encoder.classes.tolist() == ["no", "yes"]


def test_what_marks_is_one_label():
    with pytest.raises(ValueError, match=r"unlabeled=\[-1\] is not one label"):
        encode_training(X, np.where(FEW, Y, -1), missing="em", unlabeled=[-1])


@pytest.mark.parametrize("parameters", ["ml", "backoff", "mm"])
def test_without_em_there_is_no_path_and_the_error_says_when_there_is(parameters):
    model = BayesianNetworkClassifier("nb", parameters, missing="em").fit(X, Y)
    assert not hasattr(model, "log_likelihood_path_")
    with pytest.raises(AttributeError, match="after EM alone"):
        _ = model.log_likelihood_path_
