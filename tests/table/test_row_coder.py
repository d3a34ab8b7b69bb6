"""Codes from an array of numbers are those that its frame has."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bnplug
from bnplug.table.frames import to_frame


def numbers(seed, rows, columns):
    """Columns that are continuous, few whole numbers, or constant."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    kinds = [
        rng.normal(size=rows) + y,
        rng.integers(0, 4, rows) * 3.0,
        np.full(rows, 7.0),
        rng.normal(size=rows) * 1e9,
    ]
    return np.column_stack([kinds[rng.integers(0, 4)] for _ in range(columns - 1)] + [kinds[0]]), y


def by_frame(model, X):
    frame = to_frame(pd.DataFrame(X, columns=list(model.encoder_.columns)))
    return model.encoder_.encode(frame, model.schema_, model.unseen)


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["mdl", "quantile"]), st.booleans())
def test_the_fast_way_and_the_slow_way_agree(seed, columns, discretizer, single):
    X, y = numbers(seed, 60, columns)
    model = bnplug.BayesianNetworkClassifier("nb", discretizer=discretizer, on_useless="drop").fit(X, y)
    rng = np.random.default_rng(seed + 1)
    new = np.where(rng.random(X.shape) < 0.2, np.nan, X * rng.choice([1.0, -2.0, 0.5, 1e-3], X.shape))
    new = np.vstack([new, X])[: 1 if single else None].astype(rng.choice([np.float32, np.float64]))
    new[~np.isfinite(new)] = np.nan
    with np.errstate(all="ignore"):
        expected = by_frame(model, new)
    np.testing.assert_array_equal(model.encode(new), expected)
    assert not model.encode(new).flags.writeable
    named = to_frame(pd.DataFrame(new, columns=list(model.encoder_.columns)))
    np.testing.assert_array_equal(model.encoder_.coder(model.schema_).code_plain(named), expected)


def test_numbers_on_a_cut_are_below_it():
    X, y = numbers(1, 200, 3)
    model = bnplug.BayesianNetworkClassifier("nb").fit(X, y)
    cuts = model.discretizer_.cut_points_[-1]
    on = np.full((len(cuts), 3), np.nan)
    on[:, -1] = cuts
    np.testing.assert_array_equal(model.encoder_.coder(model.schema_).code_plain(on)[-2], range(len(cuts)))
    np.testing.assert_array_equal(model.encode(on), by_frame(model, on))


@pytest.mark.filterwarnings("ignore::bnplug.errors.PooledStatesWarning")
@pytest.mark.parametrize("what", ["text", "missing", "pooled", "whole"])
def test_what_takes_a_frame_gets_one(what):
    X, y = numbers(2, 60, 3)
    params = {}
    if what == "missing":
        X[::7, 0] = np.nan
        params["missing"] = "value"
    frame = pd.DataFrame(X)
    if what == "text":
        frame[0] = np.where(X[:, -1] > 0, "a", "b")
    if what == "pooled":
        frame[0] = np.arange(60) % 29
        params |= {"max_categories": 3, "categorical_features": [0]}
    model = bnplug.BayesianNetworkClassifier("nb", **params).fit(frame.to_numpy(), y)
    array = X.astype(int) if what == "whole" else X
    assert model.encoder_.coder(model.schema_).code_plain(array) is None
    if what == "missing":
        assert model.encode(X)[0, 0] == model.schema_.states[model.schema_.names[0]].index("missing")


def test_infinities_and_other_widths_are_refused():
    X, y = numbers(3, 60, 3)
    model = bnplug.BayesianNetworkClassifier("nb").fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 3), np.inf))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_a_frame_of_other_columns_or_types_is_not_taken_for_an_array():
    X, y = numbers(4, 60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = bnplug.BayesianNetworkClassifier("nb", on_useless="drop").fit(frame, y)
    coder = model.encoder_.coder(model.schema_)
    assert coder.code_plain(frame) is not None
    for other in (
        frame[["b", "a", "c"]],
        frame[["a", "b"]],
        frame.astype({"c": object}),
        frame.head(0),
        frame.to_dict(),
    ):
        assert coder.code_plain(other) is None
    np.testing.assert_array_equal(model.encode(frame[["c", "b", "a"]]), model.encode(frame))
    frame.loc[3, "c"] = np.inf
    with pytest.raises(ValueError, match="'c'"):
        model.predict(frame)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_a_few_rows_of_numbers_and_text_are_coded_as_many_are(seed, rows, categories):
    X, y = numbers(seed, 80, 3)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(1, "sky", rng.choice(["sun", "rain", None], 80))
    frame["rooms"] = rng.integers(0, 30, 80)
    frame["old"] = rng.choice(["yes", "no"], 80).astype(object)
    model = bnplug.BayesianNetworkClassifier("nb", on_useless="drop").fit(frame, y)
    new = frame.sample(rows, random_state=seed)
    new[["a", "c"]] = new[["a", "c"]].mask(rng.random((rows, 2)) < 0.3)
    if categories:
        new["sky"] = new["sky"].astype("category")
    expected = model.encoder_.encode(new, model.schema_, model.unseen)
    found = model.encoder_.coder(model.schema_).code_plain(new)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert not found.flags.writeable
    assert model.encoder_.coder(model.schema_).code_plain(frame) is None


def test_a_row_with_anything_else_takes_a_frame():
    X, y = numbers(5, 60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sky=np.where(y > 0, "sun", "rain"))
    model = bnplug.BayesianNetworkClassifier("nb", on_useless="drop").fit(frame, y)
    coder, row = model.encoder_.coder(model.schema_), frame.head(1)
    assert coder.code_plain(row) is not None
    for other in (row.assign(sky=1), row.assign(sky=pd.NA), row.astype({"c": object}), row.astype({"c": "Float64"})):
        assert coder.code_plain(other) is None
    with pytest.warns(bnplug.errors.UnseenValueWarning, match="'sky': 'snow'"):
        model.predict(row.assign(sky="snow"))
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['c'\]"):
        model.predict(row.assign(c=np.inf))
