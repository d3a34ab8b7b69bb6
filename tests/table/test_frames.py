"""Frames at the door: whatever comes, one pandas frame with distinct names goes on."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import dok_matrix
from sklearn.exceptions import DataConversionWarning

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.table.class_labels import class_labels
from bnplug.table.frames import is_frame, is_polars, to_frame


def test_a_frame_with_string_names_goes_through_untouched():
    frame = pd.DataFrame({"a": [1, 2]})
    assert to_frame(frame) is frame


def test_names_become_strings_and_the_given_frame_keeps_its_own():
    frame = pd.DataFrame({0: [1], 1: [2]})
    assert to_frame(frame).columns.tolist() == ["0", "1"]
    assert frame.columns.tolist() == [0, 1]


def test_arrays_and_dicts():
    assert to_frame([[1, 2, 3]]).columns.tolist() == ["x0", "x1", "x2"]
    assert to_frame({"a": [1], "b": ["u"]}).iloc[0].tolist() == [1, "u"]


def test_names_that_become_the_same_are_refused():
    with pytest.raises(ValueError, match=r"X: duplicate column names \['1'\]"):
        to_frame(pd.DataFrame([[1, 2]], columns=[1, "1"]), "X")


@pytest.mark.parametrize("data", [[1, 2], np.zeros((1, 1, 1)), 3], ids=str)
def test_what_has_not_two_dimensions_is_refused(data):
    with pytest.raises(ValueError, match="X: expected a frame or a 2D array"):
        to_frame(data, "X")


def test_who_has_named_columns():
    frames = [pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), {"a": [1]}]
    assert all(map(is_frame, frames))
    assert [is_polars(frame) for frame in frames] == [False, True, False]
    assert not any(map(is_frame, [np.zeros((1, 1)), [[1]], dok_matrix((1, 1))]))


def test_polars_columns_keep_what_they_are():
    frame = to_frame(
        pl.DataFrame(
            {
                "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a", "z"])),
                "categorical": pl.Series(["v", "u", None], dtype=pl.Categorical),
                "truth": [True, None, False],
                "whole": [1, None, 3],
                "large": pl.Series([2**63, None, 1], dtype=pl.UInt64),
                "text": ["x", None, "y"],
            }
        )
    )
    assert frame["enum"].cat.categories.tolist() == ["b", "a", "z"]
    assert frame["categorical"].cat.categories.tolist() == ["u", "v"]
    assert frame.isna().sum().tolist() == [1] * 6
    assert [frame[name].dtype.name for name in ("truth", "whole", "large")] == ["boolean", "Int64", "UInt64"]
    assert frame["large"].iloc[0] == 2**63


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_lazy_frame_of_polars_is_collected_wherever_a_frame_is_taken():
    frame = pl.DataFrame({"a": ["u", "v", "u", "v"] * 10, "x": [0.5, 1.5, 2.5, 9.5] * 10})
    y = ["p", "q"] * 20
    model, lazily = (BayesianNetworkClassifier("nb").fit(X, y) for X in (frame, frame.lazy()))
    assert lazily.feature_names_in_.tolist() == ["a", "x"]
    assert lazily.predict_proba(frame.lazy()).tolist() == model.predict_proba(frame).tolist()
    assert lazily.score(frame.lazy(), y) == 1
    assert lazily.explain(frame.lazy().head(2)).equals(model.explain(frame.head(2)))
    assert bnplug.encode_training(frame.lazy(), y)[0].names == ("a", "x", "class")
    bins = bnplug.MDLDiscretizer().set_output(transform="polars")
    assert bins.fit(frame.lazy(), y).transform(frame.lazy()).equals(bins.fit(frame, y).transform(frame))
    with pytest.warns(DataConversionWarning):
        assert class_labels(pl.DataFrame({"y": y}).lazy()).tolist() == y


@pytest.mark.parametrize("make", [pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_arrow_tables_keep_names_types_and_time_zones(make):
    when = pd.date_range("2026-01-01", periods=3, freq="h", tz="Asia/Tokyo").as_unit("us")
    given = pd.DataFrame({"when": when, "key": pd.array([2**53 + 1, None, 1], dtype="Int64"), "sky": ["a", "b", None]})
    rows = make(given)
    assert is_frame(rows)
    assert to_frame(rows)["when"].dtype == when.dtype
    assert to_frame(rows)["key"].tolist() == given["key"].tolist()
    assert to_frame(rows)["sky"].tolist()[:2] == ["a", "b"]


@pytest.mark.parametrize("make", [pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_columns_of_arrow_tables_go_by_name(make):
    y = np.arange(200) % 2
    X = pd.DataFrame({"age": y * 3.0 + np.linspace(0, 1, 200), "pulse": np.linspace(2, 1, 200) - y * 3.0})
    y[::20] = 1
    model = BayesianNetworkClassifier("nb", discretizer="mdl").fit(make(X), y)
    assert model.encoder_.names == ("age", "pulse")
    assert (model.predict(make(X[["pulse", "age"]])) == model.predict(X)).all()


class _Foreign:
    """A frame of a library that is not known here."""

    columns, dtypes = ["a"], ["float64"]

    def __array__(self, dtype=None, copy=None):
        return np.zeros((4, 1))


def test_frames_of_other_libraries_are_refused_rather_than_taken_for_arrays():
    dask = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"a": [0.0, 1, 0, 1]})
    model = BayesianNetworkClassifier("nb").fit(rows, [0, 1, 0, 1])
    lazy = dask.from_pandas(rows, npartitions=1)
    for ask in (model.predict, lambda X: BayesianNetworkClassifier("nb").fit(X, [0, 1, 0, 1])):
        with pytest.raises(ValueError, match=r"X: .*DataFrame of dask.*compute\(\).*DaskBayesianNetworkClassifier"):
            ask(lazy)
        with pytest.raises(ValueError, match=r"X: .*_Foreign of .*convert it"):
            ask(_Foreign())


TEMPERATURES = np.round(np.random.default_rng(0).normal(37.5, 0.7, 400), 1)


@pytest.mark.parametrize(
    "narrow",
    [
        lambda X: X.astype("float32"),
        lambda X: X.astype("Float32"),
        lambda X: X.astype("float32[pyarrow]"),
        lambda X: X.astype("float32")[:5],
        lambda X: X.astype("float16"),
        lambda X: X.astype(">f4"),
        lambda X: X.to_numpy(np.float32),
        lambda X: pl.from_pandas(X.astype("float32")),
        lambda X: pa.Table.from_pandas(X.astype("float32")),
    ],
    ids=["32", "nullable", "arrow type", "few rows", "16", "byte order", "array", "polars", "arrow"],
)
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
def test_numbers_of_less_precision_are_in_the_same_bins(narrow):
    X = pd.DataFrame({"x": TEMPERATURES})
    X.loc[3, "x"] = np.nan
    y = TEMPERATURES + np.random.default_rng(1).normal(0, 0.7, len(X)) > 37.5
    model = BayesianNetworkClassifier("nb").fit(X, y)
    expected = model.predict_proba(X)
    # Cuts are at values of the training rows, so many rows are exactly on one.
    assert X["x"].isin(model.encoder_.cut_points["x"]).sum() > 50
    rows = narrow(X)
    np.testing.assert_array_equal(model.predict_proba(rows), expected[: len(rows)])
    if len(rows) == len(X):
        other = BayesianNetworkClassifier("nb").fit(rows, y)
        np.testing.assert_array_equal(other.predict_proba(X), expected)


def test_short_floats_without_a_short_decimal_keep_their_value():
    values = np.array([1e-30, 3.4e38, np.inf, -np.inf, np.nan, 0.0, -0.0, 2.0**24, np.pi], dtype=np.float32)
    wide = to_frame(pd.DataFrame({"x": values}))["x"].to_numpy()
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide.astype(np.float32), values)
    np.testing.assert_array_equal(wide[:-1], values[:-1].astype(np.float64))
    assert wide[-1] == 3.1415927
