"""AODE by its definition, and by enumeration where features are missing."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug.datasets import tic_tac_toe


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.choice([*"pqr"], 90) for name in "abc"})
    return X, np.where(rng.random(90) < 0.7, (X["a"] == X["b"]) | (X["c"] == "p"), rng.random(90) < 0.5)


def joint(member, row, label):
    """P(class, row) of a network, as the product of its cells."""
    values = {**row, "class": label}
    total = 0.0
    for name, table in member.tables_.tables.items():
        states = member.tables_.states
        cell = tuple(list(states[own]).index(values[own]) for own in (name, *table.parents))
        total += table.values[cell]
    return np.exp(total)


def averaged(model, X, known, label):
    """The sum of joints over estimators with a frequent parent that is known, and over what is not known."""
    total = 0.0
    for member, name in zip(model.members_, X.columns, strict=True):
        if name in known and (X[name] == known[name]).sum() >= model.min_count:
            free = [other for other in X.columns if other not in known]
            for values in product("pqr", repeat=len(free)):
                total += joint(member, {**known, **dict(zip(free, values, strict=True))}, label)
    return total


@pytest.mark.parametrize("hidden", [[], ["b"], ["a", "c"]])
def test_it_is_the_mean_of_joints(rows, hidden):
    X, y = rows
    model = bnplug.make_classifier("aode", min_count=25).fit(X, y)
    shown = X.head(8).assign(**dict.fromkeys(hidden))
    for (_, row), found in zip(shown.iterrows(), model.predict_proba(shown), strict=True):
        known = row.dropna().to_dict()
        expected = np.array([averaged(model, X, known, label) for label in (False, True)])
        if expected.sum() == 0:
            expected = model.naive_.predict_proba(row.to_frame().T)[0]
        assert np.allclose(found, expected / expected.sum())


def test_without_a_frequent_value_it_is_naive_bayes(rows):
    X, y = rows
    model = bnplug.make_classifier("aode", min_count=1000).fit(X, y)
    assert np.array_equal(model.predict_proba(X), model.naive_.predict_proba(X))
    assert model.query("class", {"a": "p"}).equals(model.naive_.query("class", {"a": "p"}))


def test_contributions_add_up(rows):
    X, y = rows
    model = bnplug.make_classifier("aode", min_count=25).fit(X, y)
    shares = model.predict_proba(X.head(5))
    total = model.explain(X.head(5)).groupby(["row", "class"])["contribution"].sum().to_numpy().reshape(5, 2)
    assert np.allclose(total, np.log(shares / (1 - shares)))


def test_queries_are_those_of_the_mean(rows):
    X, y = rows
    model = bnplug.make_classifier("aode", min_count=1).fit(X, y)
    known = {"a": "p", "c": "q"}
    assert np.allclose(
        model.query("class", known)["probability"], model.predict_proba(pd.DataFrame([known]).assign(b=None))[0]
    )
    both = np.array([[averaged(model, X, {**known, "b": b}, c) for c in (False, True)] for b in "pqr"])
    # The estimator whose parent is b is none of those that answer where b is asked about.
    third = np.array([[joint(model.members_[1], {**known, "b": b}, c) for c in (False, True)] for b in "pqr"])
    expected = (both - third) / (both - third).sum()
    assert np.allclose(model.query(["b", "class"], known)["probability"], expected.ravel())
    given_class = model.query("b", {**known, "class": True})["probability"]
    assert np.allclose(given_class, expected[:, 1] / expected[:, 1].sum())


def test_each_feature_is_a_parent_of_all_others():
    X, y = tic_tac_toe()
    model = bnplug.make_classifier("aode").fit(X, y)
    for member, name in zip(model.members_, X.columns, strict=True):
        assert {tuple(own) for other, own in member.tables_.parents.items() if other not in (name, "class")} in (
            {("class", name)},
            {(name, "class")},
        )
    assert model.edge_frequencies()["either"].iloc[-1] == pytest.approx(2 / 9)


def test_arrays_and_limits():
    X, y = tic_tac_toe()
    model = bnplug.make_classifier("aode").fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.members_[0].encode(X.to_numpy()), model.naive_.encode(X.to_numpy()))
    with pytest.raises(ValueError, match="max_parameters"):
        bnplug.make_classifier("aode", member__max_parameters=100).fit(X, y)
    with pytest.raises(ValueError, match="min_count"):
        bnplug.make_classifier("aode", min_count=-1).fit(X, y)


def test_an_impossible_row_gets_the_class_prior():
    X = pd.DataFrame({"sky": ["sun", "sun", "hail", "rain"] * 3, "wind": ["calm", "calm", "gale", "gale"] * 3})
    model = bnplug.make_classifier("aode", min_count=1, member__parameters__alpha=0.0)
    model = model.fit(X, ["stay", "stay", "stay", "go"] * 3)
    row = pd.DataFrame({"sky": ["rain"], "wind": ["calm"]})  # "rain" only with "go", "calm" only with "stay"
    np.testing.assert_allclose(model.predict_proba(row), [[0.25, 0.75]])
    assert model.predict(row).tolist() == ["stay"]
    total = model.explain(row).groupby("class")["contribution"].sum()
    assert total["go"] == pytest.approx(np.log(0.25 / 0.75))


@pytest.mark.parametrize("name", ["aode", "mixture"])
def test_a_negative_class_weight_is_refused(rows, name):
    X, y = rows
    model = bnplug.make_classifier(name, member__class_weight={False: 1.0, True: -2.0})
    with pytest.raises(ValueError, match="class_weight: the weight of class True is -2"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("name", "params"),
    [("aode", {}), ("mixture", {"n_members": 2}), ("mixture", {"member__parameters": "ml", "n_best": 2})],
)
def test_a_feature_that_determines_the_class_is_named_once(rows, name, params):
    X, y = rows
    model = bnplug.make_classifier(name, **params)
    with pytest.warns(bnplug.TargetLeakageWarning, match="feature 'won' determines the class") as caught:
        model.fit(X.assign(won=np.where(y, "yes", "no")), y)
    assert len(caught) == 1


@pytest.mark.parametrize("name", ["aode", "mixture"])
def test_the_class_among_the_features_is_refused(rows, name):
    X, y = rows
    frame = X.assign(won=y)
    with pytest.raises(ValueError, match="X contains the class: column 'won'"):
        bnplug.make_classifier(name).fit(frame, frame["won"])
