"""Each fit reports once: categories without training rows, and a structure in which no feature affects the class."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bnplug import (
    AmbiguousValueWarning,
    BayesianNetworkClassifier,
    BnplugWarning,
    ConstantPredictionWarning,
    UnseenValueWarning,
)

RNG = np.random.default_rng(0)
N = 200
Y = pd.Series(np.where(np.arange(N) % 20 == 0, "fraud", "fair"), name="kind")
SHOP = pd.Series(RNG.choice(["A", "B"], N), dtype=pd.CategoricalDtype(["A", "B", "Z"]))
SIZE = pd.Series(RNG.choice(["S", "M"], N), dtype=pd.CategoricalDtype(["S", "M", "L", "XL"]))
X = pd.DataFrame({"shop": SHOP, "price": RNG.normal(10, 2, N)})
ONE = (
    "Column 'shop' has categories without training rows: 'Z'. Their probabilities come from smoothing alone. To treat "
    "them as unseen values, remove them before fit (pandas: .cat.remove_unused_categories()) or convert the column to "
    "text"
)


def warned(category, fit, *args, **params):
    """Return the messages of a category that a call gives; other warnings are errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", category)
        fit(*args, **params)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"unseen": "error"},
        {"calibrate": "temperature"},
        {"parameters": "ccbn-loo"},
        {"missing": "em"},
        {"class_weight": "balanced"},
        {"structure": [("kind", "shop")]},
        {"discretizer": ("uniform", {"n_bins": 40})},  # most bins are empty
    ],
    ids=str,
)
def test_a_category_without_training_rows_is_reported_once(params):
    model = BayesianNetworkClassifier(**{"structure": "nb", **params})
    assert warned(UnseenValueWarning, model.fit, X, Y) == [ONE]
    assert model.schema_.states["shop"] == ("A", "B", "Z")


def test_one_warning_names_all_columns():
    found = warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, X.assign(size=SIZE), Y)
    assert len(found) == 1
    assert found[0].startswith("Columns have categories without training rows: 'shop' ('Z'), 'size' ('L', 'XL'). Their")


def test_columns_with_many_categories_are_checked():
    states = [f"s{i:02}" for i in range(28)]
    wide = pd.Series(RNG.choice(states[:21], N), dtype=pd.CategoricalDtype(states))
    assert len(states) > np.sqrt(N)
    found = warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, X[["price"]].assign(wide=wide), Y)
    assert "'wide' has categories without training rows: 's21', 's22', 's23', 's24', 's25', and 2 more. " in found[0]


@pytest.mark.parametrize(
    "frame",
    [
        X.assign(shop=SHOP.cat.remove_unused_categories()),
        X.assign(shop=SHOP.astype(str)),
        X.assign(shop=SHOP == "A", count=RNG.choice([1, 5], N), day=pd.Timestamp("2026-01-01")),
    ],
    ids=["removed", "text", "others"],
)
def test_other_columns_are_not_reported(frame):
    model = BayesianNetworkClassifier("nb", discretizer=("uniform", {"n_bins": 40}))
    assert warned(UnseenValueWarning, model.fit, frame, Y) == []


def test_rows_that_are_left_out_do_not_count():
    shop = SHOP.copy()
    shop[:3] = "Z"
    weights = np.where(np.arange(N) < 3, 0.0, 1.0)
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, X.assign(shop=shop), Y) == []
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, X.assign(shop=shop), Y, weights) == [ONE]
    text = X.assign(shop=shop.astype(str))
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, text, Y, weights) == []


def test_rows_without_a_class_count():
    shop, y = SHOP.copy(), Y.copy()
    shop[:3], y[:3] = "Z", None
    model = BayesianNetworkClassifier("nb", "ml", missing="em")
    assert warned(UnseenValueWarning, model.fit, X.assign(shop=shop), y) == []


def test_parts_may_announce_later_categories():
    for params in ({}, {"states": {"shop": ["Y"]}}):
        model = BayesianNetworkClassifier("nb")
        assert warned(UnseenValueWarning, model.partial_fit, X, Y, np.unique(Y), **params) == []


def test_polars_enumerations_are_reported():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"shop": polars.Series(SHOP.tolist(), dtype=polars.Enum(["A", "B", "Z"]))})
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit, frame, Y) == [ONE]


def test_dictionaries_of_parquet_files_are_reported(tmp_path):
    X.assign(kind=Y).to_parquet(tmp_path / "rows.parquet")
    X.assign(kind=Y).to_csv(tmp_path / "rows.csv", index=False)
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit_files, tmp_path / "rows.parquet", "kind") == [
        ONE
    ]
    assert warned(UnseenValueWarning, BayesianNetworkClassifier("nb").fit_files, tmp_path / "rows.csv", "kind") == []


def test_files_do_not_report_text_of_rows_that_are_left_out(tmp_path):
    rows = X.assign(kind=Y, weight=np.where(np.arange(N) < 3, 0.0, 1.0), shop=["Q"] * 3 + SHOP.tolist()[3:])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    fit = BayesianNetworkClassifier("nb").fit_files
    assert warned(UnseenValueWarning, fit, tmp_path / "rows.csv", "kind", sample_weight="weight") == []
    rows.assign(price=rows["price"].mask(rows["shop"] == "Q")).to_csv(tmp_path / "holes.csv", index=False)
    fit = BayesianNetworkClassifier("nb", missing="drop").fit_files
    assert warned(UnseenValueWarning, fit, tmp_path / "holes.csv", "kind") == []


COIN = pd.DataFrame({"a": np.arange(N) % 2, "b": np.arange(N) // 2 % 2})  # independent of the class and of each other
LUCK = pd.Series(np.where(np.arange(N) // 4 % 2, "yes", "no"), name="won")


@pytest.mark.parametrize("params", [{}, {"parameters": "ml"}, {"missing": "em"}, {"calibrate": "temperature"}], ids=str)
def test_a_class_without_neighbors_is_reported_once(params):
    model = BayesianNetworkClassifier(**{"structure": ("hill-climb", {"score": "bdeu", "start": "empty"}), **params})
    found = warned(ConstantPredictionWarning, model.fit, COIN, LUCK)
    assert len(found) == 1
    assert found[0].startswith(
        "No feature affects the prediction: in the learned structure, the class 'won' has neither parents nor children"
    )
    assert "start='nb'" in found[0]
    assert model.markov_blanket() == []
    assert len(np.unique(model.predict_proba(COIN), axis=0)) == 1


@pytest.mark.parametrize("structure", ["nb", "tan", []], ids=["nb", "tan", "given"])
def test_other_structures_are_not_reported(structure):
    assert warned(ConstantPredictionWarning, BayesianNetworkClassifier(structure).fit, COIN, LUCK) == []


def test_both_are_given_at_the_users_line():
    with pytest.warns(UnseenValueWarning) as caught:
        BayesianNetworkClassifier("nb").fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(ConstantPredictionWarning) as caught:
        BayesianNetworkClassifier(("hill-climb", {"score": "bdeu", "start": "empty"})).fit(COIN, LUCK)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("label", ["", "nan", "?", "NA"])
def test_a_class_that_looks_like_a_missing_label(label, tmp_path):
    rows = X.assign(shop=X["shop"].astype(str), kind=Y.mask(np.arange(N) % 7 == 0, label))
    fit = BayesianNetworkClassifier("nb", "ml").fit
    (message,) = warned(AmbiguousValueWarning, fit, rows[["shop", "price"]], rows["kind"])
    assert message.startswith(f"y has the labels ['{label}'], which usually stand for a missing class")
    unlabeled = BayesianNetworkClassifier("nb", "ml", missing="em", unlabeled=label)
    assert warned(AmbiguousValueWarning, unlabeled.fit, rows[["shop", "price"]], rows["kind"]) == []
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    fit_files = BayesianNetworkClassifier("nb", "ml").fit_files
    assert warned(AmbiguousValueWarning, fit_files, tmp_path / "rows.parquet", "kind") == [message]


@pytest.mark.parametrize("index", [None, list("ab" * 100), pd.MultiIndex.from_product([range(20), range(10)])])
def test_labels_and_weights_in_another_order_than_the_rows_are_reported(index):
    fit, rows = BayesianNetworkClassifier("nb").fit, X[["price"]]
    rows = rows if index is None else rows.set_axis(index, axis=0)
    y, weights = Y.set_axis(rows.index), pd.Series(1.0, rows.index)
    assert warned(BnplugWarning, fit, rows, y, weights) == []
    expected = [f"{what} has the row labels of X in another order" for what in ("y", "sample_weight")]
    # Repeated labels do not identify rows.
    expected = expected if rows.index.is_unique else []
    found = warned(BnplugWarning, fit, rows, y[::-1], weights[::-1])
    assert [message.split(". ")[0] for message in found] == expected


@pytest.mark.parametrize("y", [Y.set_axis(Y.index + 1), Y.tolist(), Y.to_numpy(), pd.Series(Y.tolist())])
def test_labels_that_do_not_name_the_rows_of_x_are_not_reported(y):
    assert warned(BnplugWarning, BayesianNetworkClassifier("nb").fit, X[["price"]], y) == []


def test_labels_that_are_not_classes_are_reported_by_score():
    model = BayesianNetworkClassifier("nb").fit(X[["price"]], Y)
    assert warned(UnseenValueWarning, model.score, X[["price"]], Y) == []
    odd = Y.mask(np.arange(N) < 3, Y + " ")
    (message,) = warned(UnseenValueWarning, model.score, X[["price"]], odd)
    assert message.startswith("y has the labels ['fair ', 'fraud '], which are not among the classes of the model, ")
    for of_numbers in (bool, int, float):
        won = Y == "fraud"
        model.fit(X[["price"]], won.astype(int))
        assert warned(UnseenValueWarning, model.score, X[["price"]], won.astype(of_numbers)) == []
