"""Numeric columns by the labels of their bins, beside numbers, or mixed with them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, MissingColumnWarning, UnseenValueWarning, read_bif
from bnplug.table._columns import with_given_states
from bnplug.table.bins import _named_bins
from bnplug.table.kinds import to_floats

CUTS = [0.5, 2.0]
LABELS = ["<=0.5", "0.5..2", ">2"]


@pytest.mark.parametrize("dtype", [object, "string", "category", pd.CategoricalDtype([*LABELS[::-1], "1.5"])])
def test_labels_and_numbers_are_put_into_bins(dtype):
    column = pd.Series([LABELS[2], None, LABELS[0], "1.5"], dtype=dtype)
    assert _named_bins(column, CUTS).codes.tolist() == [2, -1, 0, 1]
    mixed = pd.Series([LABELS[1], 0.5, 7, np.nan], dtype=object)
    assert _named_bins(mixed, CUTS).codes.tolist() == [1, 0, 2, -1]


def test_numbers_alone_are_left_to_the_discretizer():
    for column in (pd.Series([1.0, None]), pd.Series([1, 2]), pd.Series([1, None], dtype=object), pd.Series([True])):
        assert _named_bins(column, CUTS) is None


@pytest.mark.parametrize("value", ["<=0.6", "inf", "all", ("a",)])
def test_what_is_neither_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"column 'x' is numeric, and .* is neither a number nor one of its bins"):
        _named_bins(pd.Series([LABELS[0], value], name="x", dtype=object), CUTS)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
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


ROWS = pd.DataFrame({"sky": ["sun", "rain", None, "sun"] * 20, "n": [1, 2, None, 5] * 20, "x": np.arange(80) / 7})
LABELS_OF_ROWS = ["go", "stay", "go", "stay"] * 19 + ["stay", "go", "stay", "go"]


@pytest.mark.parametrize("missing", ["ignore", "value"])
@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_bins_are_predicted_as_the_rows_that_they_are_of(missing, structure, tmp_path):
    model = BayesianNetworkClassifier(structure, missing=missing).fit(ROWS, LABELS_OF_ROWS)
    model.to_bif(tmp_path / "model.bif")
    rows = pd.DataFrame(
        {"sky": ["sun", None, "hail", "missing"], "n": [1, None, 9, "many"], "x": [0.5, None, 3.5, 99.0]}
    )
    with pytest.warns(UnseenValueWarning):
        bins = model.bins(rows)
    assert bins.isna().sum().tolist() == ([1, 1, 1] if missing == "value" else [3, 2, 1])
    for own in (model, read_bif(tmp_path / "model.bif")):
        with pytest.warns(UnseenValueWarning):
            expected = own.predict_proba(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenValueWarning)
            assert own.predict_proba(bins).tolist() == expected.tolist()
            assert (own.encode(bins) == own.encode(rows)).all()


def test_unseen_values_get_a_label_that_is_not_a_state():
    X = pd.DataFrame({"sky": ["unseen", "sun", None, "sun"] * 20})
    model = BayesianNetworkClassifier("nb", missing="value").fit(X, LABELS_OF_ROWS)
    with pytest.warns(UnseenValueWarning):
        bins = model.bins(pd.DataFrame({"sky": ["hail", "unseen", None]}))
    assert bins["sky"].astype(object).where(bins["sky"].notna(), None).tolist() == ["unseen_", "unseen", None]


GIVEN = {
    "integers": pd.Series([0, 2, 4, 9]),
    "floats": pd.Series([0.0, 2.4, 3.6, 9.5]),
    "objects": pd.Series([0, 2, 4, 9], dtype=object),
    "categories": pd.Series([0, 2, 4, 9], dtype="category"),
    "categories of floats": pd.Series([0.0, 2.4, 3.6, 9.5], dtype="category"),
    "categories of text": pd.Series(["0", "2", "4", "9"], dtype="category"),
    "text": pd.Series(["0", "2.0", "4", "9"]),
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("column", ["n", "x"])
def test_numbers_of_every_type_are_in_the_same_state(name, column):
    model = BayesianNetworkClassifier("nb").fit(ROWS, LABELS_OF_ROWS)
    rows = ROWS[:4].assign(**{column: GIVEN[name]})
    codes = model.encode(rows)[model.schema_.index(column)]
    if column == "n":
        # The nearest of 1, 2 and 5.
        assert codes.tolist() == [0, 1, 2, 2]
        assert model.bins(rows)["n"].tolist() == [1, 2, 5, 5]
    else:
        assert codes.tolist() == model.encode(rows.assign(x=rows["x"].astype(float)))[2].tolist()


def test_one_word_does_not_change_the_states_of_the_other_rows():
    model = BayesianNetworkClassifier("nb").fit(ROWS, LABELS_OF_ROWS)
    with pytest.warns(UnseenValueWarning, match="column 'n': 'many' not seen"):
        codes = model.encode(ROWS[:4].assign(n=["9", "many", 4, None]))
    assert codes[1].tolist() == [2, model.schema_.missing, 2, model.schema_.missing]


@pytest.mark.parametrize("text", ["1_0", "1٠"])
def test_text_that_only_python_reads_as_a_number_is_other_text(text, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(10, 5, 200), "k": rng.choice([0, 10], 200)})
    model = BayesianNetworkClassifier("nb").fit(X, rng.choice(["a", "b"], 200))
    with pytest.raises(ValueError, match=rf"column 'x' is numeric, and '{text}' is neither a number nor"):
        model.predict(pd.DataFrame({"x": [text], "k": [0]}))
    rows = pd.DataFrame({"x": [1.5, 2.5], "k": [text, "10"]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(UnseenValueWarning, match=f"column 'k': '{text}'"):
        in_memory = model.predict_proba(rows)
    with pytest.warns(UnseenValueWarning, match=f"column 'k': '{text}'"):
        model.predict_files(tmp_path / "rows.csv", tmp_path / "out.csv")
    assert np.allclose(pd.read_csv(tmp_path / "out.csv")[["P(a)", "P(b)"]], in_memory)
    with pytest.raises(ValueError, match=f"column 'x' is numeric, but not all its values are numbers: '{text}'"):
        to_floats(pd.Series(["1", text], name="x"))
