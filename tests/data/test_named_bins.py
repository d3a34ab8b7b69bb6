"""Numeric columns by the labels of their bins, beside numbers, or mixed with them."""

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, MissingColumnWarning
from bnplug.data._named_bins import named_bins, with_given_states

CUTS = [0.5, 2.0]
LABELS = ["<=0.5", "0.5..2", ">2"]


@pytest.mark.parametrize("dtype", [object, "string", "category", pd.CategoricalDtype([*LABELS[::-1], "1.5"])])
def test_labels_and_numbers_are_put_into_bins(dtype):
    column = pd.Series([LABELS[2], None, LABELS[0], "1.5"], dtype=dtype)
    assert named_bins(column, CUTS).codes.tolist() == [2, -1, 0, 1]
    mixed = pd.Series([LABELS[1], 0.5, 7, np.nan], dtype=object)
    assert named_bins(mixed, CUTS).codes.tolist() == [1, 0, 2, -1]


def test_numbers_alone_are_left_to_the_discretizer():
    for column in (pd.Series([1.0, None]), pd.Series([1, 2]), pd.Series([1, None], dtype=object), pd.Series([True])):
        assert named_bins(column, CUTS) is None


@pytest.mark.parametrize("value", ["<=0.6", "inf", "all", ("a",)])
def test_what_is_neither_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"column 'x' is numeric, and .* is neither a number nor one of its bins"):
        named_bins(pd.Series([LABELS[0], value], name="x", dtype=object), CUTS)


def test_the_bins_of_any_mixed_frame():
    X = pd.DataFrame({"heat": [3.5, 30.5] * 20, "sky": ["rain", "sun"] * 20, "n": [1, 2] * 20}, index=range(5, 45))
    y = ["stay", "go"] * 20
    model = BayesianNetworkClassifier("tan", discretizer="mdl").fit(X, y)
    bins = model.bins(X)
    assert bins.index.equals(X.index)
    assert bins["heat"].tolist() == ["<=17", ">17"] * 20
    assert list(bins["sky"].cat.categories) == ["rain", "sun"]
    assert bins["n"].tolist() == X["n"].tolist()
    assert list(model.bins(X.assign(heat=np.nan))["heat"].cat.categories) == ["<=17", ">17"]
    half = model.bins(X.drop(columns="heat").assign(heat="<=17"))
    assert half["heat"].tolist() == ["<=17"] * 40
    array = BayesianNetworkClassifier("nb").fit(X.to_numpy(), y)
    assert list(array.bins(X.to_numpy()).columns) == ["x0", "x1", "x2"]
    with pytest.warns(MissingColumnWarning):
        assert list(model.bins(X[["sky"]]).columns) == ["sky"]


@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_what_is_drawn_can_be_predicted(structure):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.integers(0, 4, 200), "c": rng.choice(["p", "q"], 200)})
    y = pd.Series(X["a"] > 0, name="y")
    model = BayesianNetworkClassifier(structure).fit(X, y)
    drawn = model.sample(300, random_state=0)
    assert (model.predict(drawn.drop(columns="y")) == drawn["y"]).mean() > 0.9
    assert model.query("y", {"a": drawn["a"].iloc[0]})["probability"].sum() == pytest.approx(1)


def test_states_that_do_not_occur_come_in_their_order():
    frame = pd.DataFrame({"t": ["b", None], "n": [2, 2], "c": pd.Categorical(["lo", "hi"], categories=["lo", "hi"])})
    found = with_given_states(frame, {"t": ["c", "a"], "n": [3, 1], "c": ["top", "lo"]})
    assert found["t"].cat.categories.tolist() == ["a", "b", "c"]
    assert found["t"].cat.codes.tolist() == [1, -1]
    assert found["n"].cat.categories.tolist() == [1, 2, 3]
    assert found["c"].cat.categories.tolist() == ["lo", "hi", "top"]
    with pytest.raises(ValueError, match="states names 'T'"):
        with_given_states(frame, {"T": ["a"]})
