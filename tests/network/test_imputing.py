"""Raw rows with their missing cells filled in."""

import numpy as np
import pandas as pd
import pytest
from weather_rows import weather

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.network._imputing import _number_in_bin
from bnplug.table.bins import in_bins

X, Y = weather()
MODEL = BayesianNetworkClassifier("tan", "ml", "mdl").fit(X, Y)


def test_each_column_gets_values_of_its_own():
    holed = X.copy()
    holed.loc[0, ["sky", "degrees"]] = [None, np.nan]
    holed.loc[1, "wet"] = None
    holed["umbrellas"] = holed["umbrellas"].astype(float)
    holed.loc[2, "umbrellas"] = np.nan
    filled = MODEL.impute(holed)
    assert filled.loc[0, "sky"] == X.loc[0, "sky"]
    assert filled.loc[1, "wet"] == X.loc[1, "wet"]
    assert filled.loc[2, "umbrellas"] == X.loc[2, "umbrellas"]
    assert abs(filled.loc[0, "degrees"] - X.loc[0, "degrees"]) < 5
    assert filled.loc[0, "degrees"] in holed["degrees"].to_numpy()
    assert isinstance(filled["wet"].dtype, pd.CategoricalDtype)
    assert filled["degrees"].dtype == float
    pd.testing.assert_frame_equal(filled.iloc[3:], holed.iloc[3:])


def test_an_absent_column_is_filled_in_and_a_bin_without_a_donor_by_its_ends():
    with pytest.warns(bnplug.MissingColumnWarning):
        filled = MODEL.impute(X.drop(columns="degrees").head(5))
    cut = MODEL.encoder_.cut_points["degrees"]
    assert np.isclose(filled["degrees"].to_numpy()[:, None], [cut[0], cut[-1]], rtol=1e-6).any(axis=1).all()
    assert filled["degrees"].dtype == float


@pytest.mark.parametrize("cuts", [[0.1], [-3.7, 0.0], [1.0, np.nextafter(1.0, 2), 1e8 / 3], [1e300]], ids=str)
def test_a_number_without_a_donor_lies_in_its_bin(cuts):
    numbers = np.array([_number_in_bin(np.array(cuts), state) for state in range(len(cuts) + 1)])
    assert in_bins(numbers, cuts).codes.tolist() == list(range(len(cuts) + 1))
    if cuts[-1] < 1e30:
        assert in_bins(numbers[-1:].astype(np.float32).astype(float), cuts).codes.tolist() == [len(cuts)]


def test_an_imputed_number_is_in_the_most_probable_bin():
    ill = np.arange(400) % 2
    rows = pd.DataFrame({"x": ill * 6 + np.linspace(0, 1, 400), "g": np.where(ill, "hi", "lo")})
    edges = [("class", "g"), ("class", "x"), ("g", "x")]
    model = BayesianNetworkClassifier(edges, "ml", "mdl").fit(rows, np.where(np.arange(400) % 10, ill, 1 - ill))
    filled = model.impute(pd.DataFrame({"x": [np.nan, np.nan], "g": ["lo", "hi"]}))
    assert model.bins(filled)["x"].tolist() == list(model.schema_.states["x"])


def test_draws_follow_the_distribution_and_the_seed():
    holed = pd.concat([X] * 10, ignore_index=True)
    holed["kind"] = None
    filled = MODEL.impute(holed, how="sample", random_state=0)
    assert 0.4 < (filled["kind"] == "k0").mean() < 0.6
    assert filled.equals(MODEL.impute(holed, how="sample", random_state=0))
    assert not filled.equals(MODEL.impute(holed, how="sample", random_state=1))


def test_where_missing_is_a_state_nothing_is_missing():
    holed = X.copy()
    holed.loc[::3, "sky"] = None
    holed.loc[1::3, "wet"] = None
    model = BayesianNetworkClassifier("nb", missing={"sky": "value", "*": "em"}).fit(holed, Y)
    filled = model.impute(holed)
    assert filled["sky"].isna().equals(holed["sky"].isna())
    assert not filled["wet"].isna().any()


def test_a_pooled_state_gets_a_value_that_is_in_it():
    rng = np.random.default_rng(1)
    names = np.array([*["common"] * 150, *(f"rare{i}" for i in range(50))], dtype=object)
    data = X.assign(name=rng.permutation(names))
    with pytest.warns(bnplug.PooledStatesWarning):
        model = BayesianNetworkClassifier("nb", min_frequency=5).fit(data, Y)
    data.loc[:40, "name"] = None
    drawn = model.impute(data, "sample", 0)["name"]
    assert set(drawn[:41]) <= set(data["name"].dropna())
    assert "other" not in set(drawn)


def test_arrays_and_loaded_models_do_it_too(tmp_path):
    numbers = X[["degrees", "umbrellas"]].to_numpy()
    model = BayesianNetworkClassifier("nb").fit(numbers, Y)
    numbers[:5, 0] = np.nan
    filled = model.impute(numbers)
    assert not filled.isna().any().any()
    bnplug.save(model, tmp_path / "m")
    assert bnplug.load(tmp_path / "m").impute(numbers).equals(filled)


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="how='mean' is not one of"):
        MODEL.impute(X, how="mean")
