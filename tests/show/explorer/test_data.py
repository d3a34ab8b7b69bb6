import base64

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris
from bnplug.show.explorer import _texts, page_data


@pytest.fixture(scope="module")
def model():
    X, y = iris()
    return BayesianNetworkClassifier("tan").fit(X, y)


def test_labels_are_told_apart():
    assert _texts([True, "True", 1, "1", "a"]) == ["True", "'True'", "1", "'1'", "a"]
    assert _texts([0.0, -0.0, "x"]) == ["0.0", "-0.0", "x"]
    assert _texts(["\x00", "\x01"]) == ["'\\x00'", "'\\x01'"]
    assert _texts(["a", "'1'", 1, "1"]) == ["a", "'1'", "1", "'1' (2)"]


def test_tables_are_the_models_to_the_last_bit(model):
    data = page_data(model, model.tables_)
    values = np.frombuffer(base64.b64decode(data["tables"]), dtype="<f8")
    np.testing.assert_array_equal(values, np.concatenate([t.values.ravel() for t in model.tables_.tables.values()]))
    assert [v["name"] for v in data["variables"]] == list(model.tables_.names)
    assert data["variables"][data["target"]]["name"] == model.target_


def test_numeric_features_have_cuts_and_short_intervals(model):
    data = page_data(model, model.tables_)
    petal = next(v for v in data["variables"] if v["name"] == "petal length (cm)")
    assert len(petal["cuts"]) + 1 == len(petal["states"]) == len(petal["intervals"])
    assert petal["intervals"][0] == f"≤ {petal['cuts'][0]:.3g}"
    assert petal["intervals"][1] == f"{petal['cuts'][0]:.3g} – {petal['cuts'][1]:.3g}"
    assert data["variables"][data["target"]]["cuts"] is None


def test_missing_as_a_state_stands_behind_the_intervals():
    X, y = iris()
    X.iloc[::5, 2] = None
    model = BayesianNetworkClassifier("nb", missing="value").fit(X, y)
    petal = page_data(model, model.tables_)["variables"][2]
    assert petal["intervals"][-1] == petal["states"][-1] == "missing"
    assert len(petal["intervals"]) == len(petal["states"]) == len(petal["cuts"]) + 2


def test_a_feature_that_was_not_cut_still_takes_numbers():
    X, y = iris()
    model = BayesianNetworkClassifier("nb", "ml").fit(X.assign(noise=np.random.default_rng(0).normal(size=len(X))), y)
    assert model.tables_.states["noise"] == ("all",)
    noise = page_data(model, model.tables_)["variables"][4]
    assert (noise["states"], noise["intervals"], noise["cuts"]) == (["all"], None, [])


def test_labels_and_rows_are_as_many(model):
    X, y = iris()
    with pytest.raises(ValueError, match="y has 10 labels, X has 150 rows"):
        page_data(model, model.tables_, X, y[:10], rows=5)


def test_rows_have_codes_numbers_and_truth(model):
    X, y = iris()
    X = X.set_axis([f"plant {i}" for i in range(len(X))]).assign(**{"petal length (cm)": [None, *X.iloc[1:, 2]]})
    rows = page_data(model, model.tables_, X, y, rows=150)["rows"]
    assert len(rows) == 150
    codes = model.encode(X)
    v = model.tables_.names.index("petal width (cm)")
    assert rows[7]["name"] == "plant 7"
    assert rows[7]["states"][v] == codes[v, 7]
    assert rows[7]["numbers"][v] == X.iloc[7, 3]
    assert rows[7]["truth"] == y[7]
    assert rows[0]["states"][model.tables_.names.index("petal length (cm)")] == -1
    assert all(row["states"][model.tables_.names.index(model.target_)] == -1 for row in rows)


def test_no_row_is_in_the_page_unless_asked_for(model):
    X, y = iris()
    assert page_data(model, model.tables_, X, y)["rows"] == []


def test_of_many_rows_the_first_are_shown(model):
    X, _ = iris()
    rows = page_data(model, model.tables_, pd.concat([X, X, X], ignore_index=True), rows=200)["rows"]
    assert [row["name"] for row in rows] == [str(i) for i in range(200)]
    assert "truth" not in rows[0]


def test_rows_of_an_array_go_by_position():
    X, y = iris()
    model = BayesianNetworkClassifier("nb").fit(X.to_numpy(), y)
    rows = page_data(model, model.tables_, X.to_numpy(), rows=3)["rows"]
    assert [row["numbers"][0] for row in rows] == X.iloc[:3, 0].tolist()
