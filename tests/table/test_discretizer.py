"""The discretisers by hand, by their properties, and against scikit-learn's checks; the MDL cuts are in test_mdl."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_validate
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bnplug
from bnplug import MDLDiscretizer, QuantileDiscretizer, UniformDiscretizer
from bnplug.errors import ContractError, UnknownMethodError
from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin
from bnplug.table.discretizer import (
    check_cut_points,
    discretizer_from_json,
    discretizer_to_json,
    unfitted,
)

ALL = [MDLDiscretizer(), QuantileDiscretizer(), UniformDiscretizer()]
DATA = os.environ.get("BNPLUG_DATA")
small_columns = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@parametrize_with_checks(ALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@settings(max_examples=60, deadline=None)
@given(small_columns, st.sampled_from(ALL))
def test_a_weight_of_two_is_the_row_twice(rows, transformer):
    values, classes, weights = map(np.array, zip(*rows, strict=True))
    if not weights.any():
        return
    X = np.column_stack([values / 7, values, np.where(values == 3, np.nan, values)])
    fitted = clone(transformer).fit(X, classes, sample_weight=weights)
    repeated = clone(transformer).fit(np.repeat(X, weights, axis=0), np.repeat(classes, weights))
    for one, other in zip(fitted.cut_points_, repeated.cut_points_, strict=True):
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()


def test_quantiles_by_the_inverted_distribution_function():
    X = np.random.default_rng(0).normal(size=(101, 1))
    expected = np.quantile(X, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert QuantileDiscretizer(4).fit(X).cut_points_[0].tolist() == expected.tolist()
    ties = np.array([0.5] * 90 + [1.5] * 10)[:, None]
    assert QuantileDiscretizer(4).fit(ties).bin_labels_ == [["<=0.5", ">0.5"]]


def test_uniform_bins_are_of_equal_width():
    X = np.array([0.0, 0.1, 0.2, np.nan, 10.0])[:, None]
    assert UniformDiscretizer(4).fit(X).cut_points_[0].tolist() == [2.5, 5.0, 7.5]
    wide = UniformDiscretizer(2).fit(np.array([[-1.7e308], [1.7e308]]))
    assert wide.cut_points_[0].tolist() == [0.0]


@pytest.mark.parametrize("transformer", ALL)
def test_constant_and_empty_columns_have_one_bin(transformer):
    X = np.column_stack([np.full(30, 0.1), np.full(30, np.nan), np.linspace(0, 1, 30)])
    fitted = clone(transformer).set_params(categorical_features=None).fit(X, np.arange(30) % 2)
    assert fitted.bin_labels_[:2] == [["all"], ["all"]]
    assert np.isnan(fitted.transform(X)[:, 1]).all()


@pytest.mark.parametrize("transformer", ALL)
def test_cuts_come_from_training_rows_alone(transformer):
    X, y = load_iris(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    pipeline = make_pipeline(transformer, CategoricalNB(min_categories=20))
    fitted = cross_validate(pipeline, X, y, cv=folds, return_estimator=True)["estimator"]
    whole = clone(transformer).fit(X, y)
    differ = 0
    for model, (train, _) in zip(fitted, folds.split(X), strict=True):
        alone = clone(transformer).fit(X[train], y[train])
        for j, cuts in enumerate(model[0].cut_points_):
            assert cuts.tolist() == alone.cut_points_[j].tolist()
            differ += cuts.tolist() != whole.cut_points_[j].tolist()
    assert differ > 0


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "town": rng.choice(["lima", "oslo"], 60),
            "rooms": rng.integers(1, 5, 60),
            "sold": rng.random(60) < 0.5,
        },
        index=np.arange(60) * 10,
    )
    y = (frame["size"] > 0).to_numpy()
    frame.loc[40, "size"] = np.nan
    return frame, y


@pytest.mark.parametrize("transformer", ALL)
def test_frames_keep_names_index_and_discrete_columns(mixed, transformer):
    X, y = mixed
    binned = clone(transformer).set_output(transform="pandas").fit_transform(X, y)
    assert binned["size"].cat.ordered
    assert binned["size"].isna().tolist() == X["size"].isna().tolist()
    pd.testing.assert_frame_equal(binned.drop(columns="size"), X.drop(columns="size"))
    assert binned.index.equals(X.index)


@pytest.mark.parametrize("transformer", ALL)
def test_polars_in_and_out(mixed, transformer):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    X, y = mixed
    own = polars.DataFrame({name: X[name].to_list() for name in X})
    expected = clone(transformer).set_output(transform="pandas").fit_transform(X, y)["size"]
    fitted = clone(transformer).set_output(transform="polars").fit(own, y)
    for frame in (own, X):
        binned = fitted.transform(frame)
        assert binned["size"].dtype == polars.Enum(fitted.bin_labels_[0])
        assert binned["size"].to_list() == [None if pd.isna(label) else label for label in expected]
        assert binned["town"].to_list() == X["town"].to_list()
        assert binned.columns == list(X.columns)


def test_arrays_hold_bin_numbers(mixed):
    X, y = mixed
    fitted = MDLDiscretizer().fit(X[["size", "rooms"]], y)
    array = fitted.transform(X[["size", "rooms"]])
    assert array.dtype == np.float64
    expected = np.where(X["size"].isna(), np.nan, X["size"] > fitted.cut_points_[0][0])
    np.testing.assert_array_equal(array, np.column_stack([expected, X["rooms"]]))
    everything = MDLDiscretizer().fit_transform(X, y)
    assert everything.dtype == object
    assert everything[0].tolist() == [expected[0], *X.iloc[0, 1:]]


@pytest.mark.parametrize("transformer", ALL)
def test_infinite_numbers_are_refused_by_name(mixed, transformer):
    X, y = mixed
    spoilt = X.assign(size=X["size"].replace(X["size"].iloc[0], np.inf))
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['size'\]"):
        clone(transformer).fit(spoilt, y)
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['size'\]"):
        clone(transformer).fit(X, y).transform(spoilt)
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['x1'\]"):
        clone(transformer).fit(np.array([[0.5, np.inf]] * 4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['rooms'\]"):
        clone(transformer).fit(X, y).transform(X.assign(rooms=-np.inf))


def test_what_fit_and_transform_refuse(mixed):
    X, y = mixed
    with pytest.raises(ValueError, match="requires y to be passed"):
        MDLDiscretizer().fit(X)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        MDLDiscretizer().fit(X, np.linspace(0, 1, len(X)))
    with pytest.raises(ValueError, match="the class is missing"):
        MDLDiscretizer().fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MDLDiscretizer().fit(X, y[1:])
    with pytest.raises(ValueError, match="negative, missing or infinite"):
        MDLDiscretizer().fit(X, y, sample_weight=np.full(len(X), -1))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        MDLDiscretizer().fit(X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="n_bins=1: expected a whole number of at least 2"):
        QuantileDiscretizer(n_bins=1).fit(X)
    with pytest.raises(ValueError, match=r"n_bins=2\.5"):
        UniformDiscretizer(n_bins=2.5).fit(X)
    with pytest.raises(ValueError, match="column 'size' is numeric, but not all its values are numbers"):
        MDLDiscretizer().fit(X, y).transform(X.assign(size="large"))
    with pytest.raises(ValueError, match="feature names should match"):
        MDLDiscretizer().fit(X, y).transform(X[["town", "size", "rooms", "sold"]])
    with pytest.raises(ValueError, match="column 1 has no bins"):
        MDLDiscretizer().fit(X, y).bin_codes(np.zeros(3), 1)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mdl", MDLDiscretizer),
        ("quantile", QuantileDiscretizer),
        ("uniform", UniformDiscretizer),
        (UniformDiscretizer(3), UniformDiscretizer),
        (("quantile", {"n_bins": 3}), QuantileDiscretizer),
        ("none", type(None)),
        (None, type(None)),
    ],
)
def test_a_discretizer_by_name(spec, expected):
    made = unfitted(spec)
    assert type(made) is expected
    assert made is not spec or spec is None
    assert getattr(made, "n_bins", 3) == (5 if isinstance(spec, str) and hasattr(made, "n_bins") else 3)


def test_what_is_no_discretizer():
    with pytest.raises(UnknownMethodError, match=r"there is no discretizer 'mld'.*Did you mean 'mdl'"):
        unfitted("mld")
    with pytest.raises(TypeError, match=r"discretizer: expected a name, .* with the methods fit, transform, .*, got 5"):
        unfitted(5)
    with pytest.raises(UnknownMethodError, match="there is no discretizer 'none'"):
        unfitted(("none", {"n_bins": 4}))
    with pytest.raises(TypeError, match="n_bin"):
        unfitted(("mdl", {"n_bins": 4}))


@pytest.mark.parametrize("transformer", ALL)
def test_json_gives_back_the_same_discretizer(mixed, transformer):
    X, y = mixed
    fitted = clone(transformer).fit(X, y)
    again = discretizer_from_json(json.loads(json.dumps(discretizer_to_json(fitted))), list(X.columns))
    pd.testing.assert_frame_equal(again.transform(X), fitted.set_output(transform="pandas").transform(X))
    assert again.get_params() == fitted.get_params()


def test_what_json_cannot_hold():
    assert discretizer_to_json(None) is None
    assert discretizer_from_json(None, []) is None
    with pytest.raises(ValueError, match="a KFold cannot be saved"):
        discretizer_to_json(KFold())
    good = {"name": "mdl", "params": {}, "cut_points": [[1.0, 2.0]]}
    for damage in (
        {"cut_points": []},
        {"cut_points": [[2.0, 1.0]]},
        {"cut_points": [[1.0, float("inf")]]},
        {"cut_points": [["1.0"]]},
    ):
        with pytest.raises(ValueError, match=r"discretizer|cut points"):
            discretizer_from_json({**good, **damage}, ["a"])
    with pytest.raises(ValueError, match="there is no discretizer for them"):
        discretizer_from_json(None, ["a"])


def test_they_are_public_names():
    assert bnplug.MDLDiscretizer is MDLDiscretizer
    assert {bnplug.QuantileDiscretizer, bnplug.UniformDiscretizer} == {QuantileDiscretizer, UniformDiscretizer}


class Halves(TransformerMixin, BaseEstimator):
    """A plugin's discretiser that derives from none of ours: one cut for each column, left alone where it is told."""

    def __init__(self, share=0.5, alone=None, rule=None):
        self.share = share
        self.alone = alone
        self.rule = rule

    def fit(self, X, y=None, sample_weight=None):
        middle = np.nanquantile(np.asarray(X), self.share, axis=0)
        self.cut_points_ = [None if j == self.alone else [own] for j, own in enumerate(middle)]
        return self

    def transform(self, X):
        raise AssertionError("the cuts say it all")


@pytest.fixture
def halves(monkeypatch):
    """A plugin `bnplug-halves` that brings it."""
    method = bnplug.DiscretizerMethod("halves", Halves, summary="Two bins.", reference="Me (2026)")
    plugin = SimpleNamespace(bnplug_discretizers=bnplug.hookimpl(lambda: [method]))
    found = [*discovery.find_plugins(), FoundPlugin("halves", "bnplug-halves", "1.0", lambda: plugin)]
    monkeypatch.setattr(discovery, "find_plugins", lambda: found)
    discovery.refresh()
    yield
    monkeypatch.undo()
    discovery.refresh()


@pytest.mark.parametrize("spec", ["halves", "halves:halves", ("halves", {"share": 0.5}), Halves()])
def test_a_discretizer_of_a_plugin_goes_by_name_pair_or_instance(halves, spec):
    X, y = load_iris(return_X_y=True, as_frame=True)
    middle = X.median()
    expected = X.gt(middle, axis=1).to_numpy()
    table, encoder = bnplug.encode_training(X, y, discretizer=spec)
    np.testing.assert_array_equal(table.codes[:4].T, expected)
    np.testing.assert_array_equal(encoder.encode(X[:9], table)[:4].T, expected[:9])
    model = bnplug.BayesianNetworkClassifier(discretizer=spec).fit(X, y)
    assert type(model.discretizer_) is Halves
    assert model.tables_.states[X.columns[0]] == ("<=5.8", ">5.8")
    assert model.predict(X).shape == y.shape


def test_parameters_of_a_discretizer_by_name_are_reached(halves):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = bnplug.BayesianNetworkClassifier(discretizer="halves").set_params(discretizer__share=0.9).fit(X, y)
    assert model.discretizer_.share == 0.9
    model = bnplug.BayesianNetworkClassifier(discretizer="quantile").set_params(discretizer__n_bins=3)
    assert model.discretizer.n_bins == 3


def test_a_discretizer_of_a_plugin_in_json(halves):
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = Halves(share=0.25, alone=1, rule=max).fit(X, y)
    data = json.loads(json.dumps(discretizer_to_json(fitted)))
    assert (data["distribution"], data["name"]) == ("bnplug-halves", "halves")
    assert data["params"] == {"share": 0.25, "alone": 1}
    again = discretizer_from_json(data, list(X.columns))
    assert type(again) is Halves
    assert again.share == 0.25
    assert [None if own is None else own.tolist() for own in again.cut_points_] == fitted.cut_points_


@pytest.mark.parametrize("name", ["gone", None])
def test_cuts_of_a_discretizer_that_is_not_here_are_applied(name):
    data = {"name": name, "params": {"share": 0.25}, "cut_points": [[1.0], None]}
    again = discretizer_from_json(data, ["a", "b"])
    frame = pd.DataFrame({"a": [0.5, 1.0, 2.0], "b": [1.5, 2.5, 3.5]})
    assert again.transform(frame)["a"].tolist() == ["<=1", "<=1", ">1"]
    with pytest.raises(ValueError, match="not at hand: they can be applied, not found again"):
        again.fit(frame)


def test_one_that_is_not_registered_is_saved_without_a_name():
    data = discretizer_to_json(Halves().fit(np.arange(6.0).reshape(3, 2)))
    params = {"share": 0.5, "alone": None, "rule": None}
    assert data == {"name": None, "distribution": None, "params": params, "cut_points": [[2.0], [3.0]]}


@pytest.mark.parametrize(
    ("cut_points", "message"),
    [
        ([[1.0]], "Halves: its cut_points_ are for 1 columns, not 2"),
        ([[1.0], [2.0, 2.0]], "cut_points_ of column 1 are not finite and ascending"),
        ([[np.nan], None], "cut_points_ of column 0 are not finite and ascending"),
    ],
)
def test_cut_points_are_checked_at_the_door(cut_points, message):
    transformer = Halves()
    transformer.cut_points_ = cut_points
    with pytest.raises(ContractError, match=message):
        check_cut_points(transformer, 2)


def test_bad_cut_points_are_refused_in_training():
    class Descending(Halves):
        def fit(self, X, y=None):
            self.cut_points_ = [[2.0, 1.0]] * X.shape[1]
            return self

    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ContractError, match=r"Descending: its cut_points_ of column 0"):
        bnplug.encode_training(X, y, discretizer=Descending())
    with pytest.raises(ValueError, match="Descending takes no sample_weight, and rows are weighted"):
        bnplug.encode_training(X, y, np.full(len(y), 2.0), discretizer=Descending())
