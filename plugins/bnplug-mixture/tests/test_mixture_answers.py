"""What a mixture says: the means that it promises, whatever is missing, and the same whoever asks."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from bnplug_mixture.averaging import AVERAGING

import bnplug
from bnplug import MissingColumnWarning, UnseenValueWarning
from bnplug.datasets import corral, iris
from bnplug.experiments import compare
from bnplug.inference.explain import PRIOR


@pytest.fixture(scope="module")
def rows():
    X, y = iris()
    X = X.assign(size=np.where(X.iloc[:, 0] > 5.8, "large", "small"))
    return X, y, X.mask(np.random.default_rng(0).random(X.shape) < 0.3)


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, _ = rows
    params = {"member__parameters": ("ml", {"alpha": 20.0}), "generative": "ml", "n_members": 2}
    return bnplug.make_classifier("mixture", random_state=0, **params).fit(X, y)


def mean(networks, X):
    return np.mean([network.predict_proba(X) for network in networks], axis=0)


def test_complete_rows_get_the_mean_of_the_members(fitted, rows):
    assert np.allclose(fitted.predict_proba(rows[0]), mean(fitted.members_, rows[0]), atol=1e-12)


def test_incomplete_rows_get_half_of_it_from_the_twins(fitted, rows):
    X, _, holes = rows
    expected = mean(fitted.members_, holes)
    incomplete = holes.isna().any(axis=1).to_numpy()
    expected[incomplete] = (expected + mean(fitted.generative_, holes))[incomplete] / 2
    assert 0 < incomplete.sum() < len(X)
    assert np.allclose(fitted.predict_proba(holes), expected, atol=1e-12)


def test_threads_change_nothing(fitted, rows):
    X, y, holes = rows
    again = bnplug.make_classifier("mixture").set_params(**{**fitted.get_params(deep=False), "n_jobs": 3}).fit(X, y)
    assert np.array_equal(again.predict_proba(holes), fitted.predict_proba(holes))


def test_weights_of_zero_are_absence(rows):
    X, y, _ = rows
    params = {"member__parameters": "ml", "generative": None, "n_members": 1, "random_state": 0}
    kept = np.arange(len(X)) % 3 > 0
    model = bnplug.make_classifier("mixture", **params)
    weighted = model.fit(X, y, sample_weight=kept.astype(float)).predict_proba(X)
    assert np.allclose(weighted, model.fit(X[kept], y[kept]).predict_proba(X))


@pytest.mark.parametrize("constant", [True, False])
def test_the_scale_of_weights_does_not_matter(rows, constant):
    X, y, holes = rows
    weights = np.ones(len(X)) if constant else np.random.default_rng(1).exponential(size=len(X)) + 0.1
    model = bnplug.make_classifier("mixture", n_members=1, random_state=0)
    expected = model.fit(X, y, sample_weight=weights).predict_proba(holes)
    for factor in (3.7, 0.01):
        found = model.fit(X, y, sample_weight=factor * weights).predict_proba(holes)
        assert np.abs(found - expected).max() < 1e-6


def test_contributions_are_means_and_add_up(fitted, rows):
    holes = rows[2].head(7)
    found = fitted.explain(holes)
    values = found.pivot_table("contribution", ["row", "class"], "feature", sort=False)
    shares = fitted.predict_proba(holes)
    odds = np.log(shares / (1 - shares)).ravel()
    assert np.allclose(values.sum(axis=1).to_numpy(), odds)
    incomplete = holes.isna().any(axis=1).to_numpy()
    everyone = [*fitted.members_, *fitted.generative_]
    for row, networks in [(incomplete.argmax(), everyone), (incomplete.argmin(), fitted.members_)]:
        own = np.mean([one.explain(holes.iloc[[row]])["contribution"] for one in networks], axis=0)
        listed = found[(found["row"] == holes.index[row]) & (found["feature"] != AVERAGING)]
        assert np.allclose(listed["contribution"], own)
    assert set(found["feature"]) == {PRIOR, AVERAGING, *holes.columns}


def test_a_feature_that_is_missing_contributes_nothing(fitted, rows):
    row = rows[0].head(1).assign(size=None)
    found = fitted.explain(row)
    assert (found[found["feature"] == "size"]["contribution"] == 0).all()


def test_queries_are_means(fitted):
    evidence = {"petal length (cm)": 4.8}
    answer = fitted.query(["species", "size"], evidence)
    networks = [*fitted.members_, *fitted.generative_]
    own = np.mean([one.query(["species", "size"], evidence)["probability"] for one in networks], axis=0)
    assert np.allclose(answer["probability"], own)
    assert answer["probability"].sum() == pytest.approx(1.0)


def test_a_query_that_knows_every_feature_is_the_prediction(fitted, rows):
    row = rows[0].iloc[[70]]
    answer = fitted.query("species", row.iloc[0].to_dict())
    assert np.allclose(answer["probability"], fitted.predict_proba(row)[0])


def test_columns_go_by_name_and_what_is_odd_is_told_once(fitted, rows):
    X = rows[0].head(4)
    usual = fitted.predict_proba(X)
    assert np.array_equal(fitted.predict_proba(X[X.columns[::-1]]), usual)
    with pytest.warns(UnseenValueWarning) as told:
        fitted.predict_proba(X.assign(size="tiny"))
    assert len(told) == 1
    with pytest.warns(MissingColumnWarning) as told:
        fitted.predict_proba(X.drop(columns="size"))
    assert len(told) == 1


def test_costs_decide():
    X, y = corral()
    params = {"member__parameters": "ml", "generative": None, "n_members": 1, "random_state": 0}
    dear = bnplug.make_classifier("mixture", member__costs=[[0, 1], [100, 0]], **params).fit(X, y)
    usual = bnplug.make_classifier("mixture", **params).fit(X, y)
    assert (dear.predict(X) == 1).sum() > (usual.predict(X) == 1).sum()
    assert dear.costs_.tolist() == [[0.0, 1.0], [100.0, 0.0]]


def test_logarithms_are_those_of_the_probabilities(fitted, rows):
    assert np.allclose(np.exp(fitted.predict_log_proba(rows[0])), fitted.predict_proba(rows[0]))


def test_it_is_saved_with_its_twins(fitted, rows, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(rows[2]), fitted.predict_proba(rows[2]))
    pd.testing.assert_frame_equal(loaded.explain(rows[2].head(2)), fitted.explain(rows[2].head(2)))
    assert loaded.chosen_ == fitted.chosen_


def test_a_folder_with_an_impossible_n_jobs_is_refused(fitted, tmp_path):
    forged = copy(fitted).set_params(n_jobs="two")
    forged.save(tmp_path / "model")
    with pytest.raises(bnplug.ModelFileError, match="n_jobs='two' must be a whole number or None"):
        bnplug.load(tmp_path / "model")


def test_a_mixture_that_lost_a_twin_is_refused(fitted):
    state, arrays = fitted.saved_state()
    state["networks"]["generative"].pop()
    with pytest.raises(ValueError, match="4 members with 3 generative twins"):
        bnplug.make_classifier("mixture").restore_state(state, arrays)


def test_it_is_compared_by_name():
    found = compare(["mixture(member__parameters='ml', generative=None, n_members=1)", "aode"], ["corral"], cv=2)
    assert found.table("accuracy").notna().all(axis=None)


@pytest.mark.parametrize("generative", [None, ("ml", {"alpha": 0.0})])
def test_a_row_that_is_impossible_for_all_members_gets_the_class_prior(generative):
    X = pd.DataFrame({"sky": ["sun", "sun", "hail", "rain"] * 3, "wind": ["calm", "calm", "gale", "gale"] * 3})
    member = bnplug.BayesianNetworkClassifier(parameters=("ml", {"alpha": 0.0}), calibrate=None)
    params = {"member": member, "generative": generative, "n_members": 1, "random_state": 0}
    model = bnplug.make_classifier("mixture", **params).fit(X, ["stay", "stay", "stay", "go"] * 3)
    row = pd.DataFrame({"sky": ["rain"], "wind": ["calm"]})  # "rain" only with "go", "calm" only with "stay"
    np.testing.assert_allclose(model.predict_proba(row), [[0.25, 0.75]])
    total = model.explain(row).groupby("class")["contribution"].sum()
    assert total["go"] == pytest.approx(np.log(0.25 / 0.75))


def test_a_query_takes_a_dict_a_series_or_a_frame(fitted, rows):
    evidence = {"size": "small"}
    expected = fitted.query("species", evidence)
    assert fitted.query("species", pd.Series(evidence)).equals(expected)
    found = fitted.query("species", pd.DataFrame([evidence, evidence]))
    np.testing.assert_allclose(found["probability"], np.tile(expected["probability"], 2), atol=1e-12)
    shown = rows[2].head(9)
    found = fitted.query("species", shown)["probability"].to_numpy().reshape(9, -1)
    np.testing.assert_allclose(found, fitted.predict_proba(shown), atol=1e-12)
