"""From Dask collections to tables: what is decided about columns is what all rows in memory would decide."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import cluster
from sklearn.preprocessing import KBinsDiscretizer

import bnplug
from bnplug import datasets, encode_training
from bnplug.sources.dask import _tables as tables


@pytest.fixture(scope="module")
def client():
    with cluster(2) as found:
        yield found


def mixed(n=400):
    """Columns of all kinds, some cells missing; classes that not every partition has."""
    random = np.random.RandomState(0)
    y = np.repeat(["rain", "snow", "sun"], [n // 8, n // 4, n - n // 8 - n // 4])
    frame = pd.DataFrame(
        {
            "heat": np.where(y == "sun", 20, 5) + random.normal(size=n).round(2) * 6,
            "sky": np.where(random.random_sample(n) < 0.3, "grey", np.where(y == "sun", "blue", "white")),
            "days": random.randint(0, 5, n),
            "code": random.choice([f"c{i}" for i in range(60)], n),
            "wind": pd.Categorical(random.choice(["low", "high"], n), categories=["low", "high", "storm"]),
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(random.randint(0, 300, n), unit="D"),
            "nothing": np.full(n, np.nan),
            "windy": random.random_sample(n) < 0.5,
        }
    )
    frame.loc[random.random_sample(n) < 0.1, "heat"] = np.nan
    frame.loc[random.random_sample(n) < 0.1, "sky"] = None
    return frame, pd.Series(y, name="weather")


def same(actual, expected):
    (table, encoder), (expected_table, expected_encoder) = actual, expected
    assert table.names == expected_table.names
    assert table.states == expected_table.states
    assert table.gather().codes.tolist() == expected_table.codes.tolist()
    assert encoder.left_out == expected_encoder.left_out
    assert {name: cuts.tolist() for name, cuts in encoder.cut_points.items()} == {
        name: cuts.tolist() for name, cuts in expected_encoder.cut_points.items()
    }
    if expected_table.weights is not None:
        np.testing.assert_allclose(table.gather().weights, expected_table.weights, rtol=1e-13)
    assert table.target == expected_table.target


@pytest.mark.filterwarnings("ignore::bnplug.BnplugWarning")
@pytest.mark.parametrize(
    "options",
    [{}, {"missing": "drop"}, {"missing": "value", "class_weight": "balanced"}, {"discretizer": "quantile"}],
)
def test_a_table_is_that_of_all_rows(client, options):
    X, y = mixed()
    rows = dd.from_pandas(X.assign(weather=y), npartitions=7)
    same(encode_training(rows[list(X)], rows["weather"], **options), bnplug.encode_training(X, y, **options))


@pytest.mark.filterwarnings("ignore::bnplug.BnplugWarning")
def test_weights_and_rows_that_have_none(client):
    X, y = mixed()
    weights = pd.Series(np.random.RandomState(1).choice([0.0, 0.3, 2.0], len(X)), name="w")
    weights[:60] = 0.0  # so that a partition has no rows
    rows = dd.from_pandas(X.assign(weather=y, w=weights), npartitions=7)
    table, encoder = encode_training(rows[list(X)], rows["weather"], rows["w"], class_weight={"sun": 2.0, "snow": 1.0})
    assert table.n_blocks == 6
    same((table, encoder), bnplug.encode_training(X, y, weights, class_weight={"sun": 2.0, "snow": 1.0}))


def test_arrays(client):
    X, y = datasets.load("iris").X.to_numpy(float), datasets.load("iris").y.to_numpy().astype(str)
    found = encode_training(da.from_array(X, chunks=(40, 2)), da.from_array(y, chunks=30))
    same(found, bnplug.encode_training(X, y))
    assert found[0].block_sizes == (40, 40, 40, 30)


def test_unknown_categories_of_partitions_are_states_together(client):
    parts = [pd.DataFrame({"sky": pd.Categorical([*letters]), "play": [*"ynyn"]}) for letters in ("aabb", "ccbb")]
    rows = dd.from_delayed([dask.delayed(own) for own in parts], verify_meta=False)
    table, _ = encode_training(rows[["sky"]], rows["play"])
    assert table.states["sky"] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ({"a": [1.5, 2.5] * 4}, ["x"] * 8, "y has only one class, 'x'"),
        ({"a": [1.5, np.inf] * 4}, ["x", "y"] * 4, "infinite numbers in columns"),
        ({"a": [1.5, 2.5] * 4}, ["x", None] * 4, r"partition \d: Input y contains NaN"),
        ({"a": [1j, 2j] * 4}, ["x", "y"] * 4, "complex"),
    ],
)
def test_data_that_cannot_be_learned_from(client, X, y, message):
    rows = dd.from_pandas(pd.DataFrame({**X, "c": y}), npartitions=2)
    with pytest.raises(ValueError, match=message):
        encode_training(rows[["a"]], rows["c"])


def test_a_column_of_two_kinds_names_the_partitions(client):

    parts = [pd.DataFrame({"a": own, "c": [*"xyxy"]}) for own in ([1, 2, 3, 4], [*"abcd"])]
    rows = dd.from_delayed([dask.delayed(own) for own in parts], meta=parts[1], verify_meta=False)
    with pytest.raises(ValueError, match=r"column 'a' contains numbers in partition 0, but text in partition 1"):
        encode_training(rows[["a"]], rows["c"])


def test_names(client):
    rows = dd.from_pandas(pd.DataFrame({"sample_weight": [*"abab"], "c": [*"xyxy"]}), npartitions=1)
    table, _ = encode_training(rows[["sample_weight"]], rows["c"].rename(None), name="kind")
    assert table.target == "kind"
    with pytest.raises(ValueError, match="a feature has the same name"):
        encode_training(rows[["sample_weight"]], rows["c"], name="sample_weight")
    with pytest.raises(ValueError, match="X has no columns"):
        encode_training(rows[[]], rows["c"])
    with pytest.raises(ValueError, match="takes whole rows"):
        encode_training(rows[["sample_weight"]], rows["c"], discretizer=KBinsDiscretizer())


def test_many_partitions_are_merged_in_their_order(client, monkeypatch):
    monkeypatch.setattr(tables, "_MERGED", 2)
    X, y = datasets.load("iris").X, datasets.load("iris").y.rename("kind")
    rows = dd.from_pandas(X.assign(kind=y.astype(str)), npartitions=9)
    same(encode_training(rows[list(X)], rows["kind"]), bnplug.encode_training(X, y.astype(str)))


def test_a_negative_class_weight_is_refused_before_anything_is_read(client):
    rows = dd.from_pandas(pd.DataFrame({"x": [*"pqpqpq"], "kind": [*"abcabc"]}), npartitions=2)
    with pytest.raises(ValueError, match="class_weight: the weight of class 'b' is -2"):
        encode_training(rows[["x"]], rows["kind"], class_weight={"a": 1.0, "b": -2.0, "c": 1.0})


@pytest.mark.parametrize("recode", [{"p": "p", "q": "q"}, {"p": 0, "q": 1}])
def test_the_class_among_the_features_is_refused(client, recode):
    frame = pd.DataFrame({"x": [*"uvuvvu"], "kind": [*"ppppqq"]})
    rows = dd.from_pandas(frame, npartitions=3)
    y = dd.from_pandas(frame["kind"].map(recode), npartitions=3)
    with pytest.raises(ValueError, match="X contains the class: column 'kind'"):
        encode_training(rows, y)
    with pytest.raises(ValueError, match="X contains the class: column 'kind'"):
        encode_training(rows, rows[["kind"]])


def test_another_column_may_have_the_name_of_the_class(client):
    frame = pd.DataFrame({"x": [*"uvuvvu"], "kind": [*"ppqpqq"]})
    rows, y = (dd.from_pandas(own, npartitions=3) for own in (frame, pd.Series([*"pqppqq"], name="kind")))
    assert encode_training(rows, y)[0].target == "kind_"
