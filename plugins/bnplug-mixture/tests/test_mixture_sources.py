"""A mixture from rows in memory, in files and on Dask; its parameters, nested ones included; recorded posteriors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.datasets import corral, iris, tic_tac_toe

FIXED = {"member__parameters": ("ccbn-loo", {"lam": 3.0, "temperature": 1.0}), "n_members": 2, "random_state": 0}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    X, y = iris()
    X = X.assign(size=np.where(X.iloc[:, 0] > 5.8, "large", "small"))
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    path = tmp_path_factory.mktemp("rows") / "iris.parquet"
    X.assign(species=y.astype(str)).to_parquet(path)
    return X, y.astype(str), path


@pytest.fixture(scope="module")
def expected(rows):
    return bnplug.make_classifier("mixture", **FIXED).fit(*rows[:2])


def test_files_give_the_same_mixture(rows, expected, tmp_path):
    X, _, path = rows
    model = bnplug.make_classifier("mixture", **FIXED).fit_files(path, "species", cache=tmp_path / "codes")
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert len(list((tmp_path / "codes").iterdir())) == 4
    assert [twin.calibration_ for twin in model.generative_] == [twin.calibration_ for twin in expected.generative_]


def test_on_files_a_cross_validation_keeps_the_cuts(rows):
    _X, _, path = rows
    model = bnplug.make_classifier("mixture", n_members=1, random_state=0).fit_files(path, "species")
    assert list(model.chosen_) == ["lam"]
    assert {member.parameters_.lam for member in model.members_} == {model.chosen_["lam"]}


def test_discrete_files_are_encoded_once(tmp_path, monkeypatch):
    X, y = corral()
    frame = X.astype(str).assign(y=np.where(y, "yes", "no"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    texts = {"text": list(frame)}
    encode, calls = BayesianNetworkClassifier.encode_training, []

    def counted(self, *args, **options):
        calls.append(self)
        return encode(self, *args, **options)

    monkeypatch.setattr(BayesianNetworkClassifier, "encode_training", counted)
    params = {**FIXED, "structures": "tan"}
    model = bnplug.make_classifier("mixture", **params).fit_files(tmp_path / "rows.csv", "y", csv=texts)
    assert len(calls) == 1
    again = bnplug.make_classifier("mixture", **params).fit(frame.drop(columns="y"), frame["y"])
    assert np.array_equal(model.predict_proba(frame[list(X)]), again.predict_proba(frame[list(X)]))


@pytest.mark.parametrize("as_array", [False, True])
def test_dask_gives_the_same_mixture(rows, expected, as_array, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    from bnplug_mixture.dask import DaskNetworkMixture
    from distributed import Client

    X, y, _ = rows
    if as_array:
        X = X.drop(columns="size")
        expected = bnplug.make_classifier("mixture", **FIXED).fit(X.to_numpy(), y)
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with Client(**options) as client:
        table = dd.from_pandas(X.assign(species=y), npartitions=3)
        features, classes = table[list(X)], table["species"]
        if as_array:
            features, classes = features.to_dask_array(lengths=True), classes.to_dask_array(lengths=True)
        model = clone(DaskNetworkMixture(client=client).set_params(**FIXED)).fit(features, classes)
        lazy = model.predict_proba(features)
        found = np.asarray(lazy.compute())
        assert model.score(features, classes) == pytest.approx(expected.score(X.to_numpy() if as_array else X, y))
    raw = X.to_numpy() if as_array else X
    assert np.array_equal(found, expected.predict_proba(raw))
    model.save(tmp_path / "model")
    assert np.array_equal(bnplug.load(tmp_path / "model").predict_proba(raw), found)


def test_nested_parameters_reach_the_default_member_and_the_twins():
    model = bnplug.make_classifier("mixture").set_params(
        member__missing="value", generative="ml", generative__alpha=2.0
    )
    assert (model.member.missing, model.member.parameters[0], model.generative.alpha) == ("value", "ccbn-loo", 2.0)
    assert bnplug.make_classifier("mixture").member is None
    copy = clone(model)
    assert copy.get_params()["member__missing"] == "value"
    with pytest.raises(TypeError, match="is not a BayesianNetworkClassifier"):
        bnplug.make_classifier("mixture", member="tan").fit(*iris())
    with pytest.raises(TypeError, match="has no parameter 'parameters'"):
        bnplug.make_classifier("mixture", parameters="ml")


def test_parameters_of_the_member_can_be_searched_for():
    X, y = tic_tac_toe()
    model = bnplug.make_classifier("mixture", member__parameters="ml", generative=None, n_members=1, random_state=0)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(
        model, {"member__parameters__alpha": [0.5, 5.0], "structures": ["nb", "tan"]}, cv=folds, error_score="raise"
    )
    assert search.fit(X, y).best_estimator_.members_[0].parameters_.alpha in (0.5, 5.0)


def test_a_saved_mixture_has_its_member_and_can_be_fitted_again(rows, tmp_path):
    X, y, _ = rows
    member = BayesianNetworkClassifier(parameters=("ml", {"alpha": 2.0}), missing={"size": "value"}, calibrate=None)
    model = bnplug.make_classifier("mixture", member=member, n_members=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert repr(loaded.member) == repr(member)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.sample(5, random_state=0).equals(model.sample(5, random_state=0))
    assert np.array_equal(loaded.fit(X, y).predict_proba(X), model.predict_proba(X))


def test_complete_rows_have_the_recorded_posteriors():
    # Recorded before the evidence of twins was calibrated, which complete rows do not depend on.
    for (X, y), rows, recorded in ((iris(), [0, 70, 106], IRIS), (tic_tac_toe(), [0, 400, 957], TIC_TAC_TOE)):
        model = bnplug.make_classifier("mixture", random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[rows], recorded, rtol=1e-9)


IRIS = [
    [0.9992245058350626, 0.000489653541457485, 0.000285840623479833],
    [0.0008148706597054577, 0.5868729585218828, 0.41231217081841176],
    [0.0003824012965108221, 0.18000473701673597, 0.8196128616867533],
]
TIC_TAC_TOE = [
    [0.0005583851911887379, 0.9994416148088113],
    [0.00010442775457133821, 0.9998955722454287],
    [0.00011439035880695291, 0.9998856096411931],
]
