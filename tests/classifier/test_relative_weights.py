"""Learners that leave rows out use only the ratios of weights: their scale does not matter."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, PooledStatesWarning, Structure
from bnplug.table.block_table import BlockTable

FACTORS = (3.7, 0.01)


def rows(n_rows=300, seed=0):
    """Return numbers, whole numbers, a column with rare states, missing cells, three classes, and weights."""
    random = np.random.default_rng(seed)
    y = random.choice(["a", "b", "c"], n_rows, p=[0.6, 0.3, 0.1])
    z = np.unique(y, return_inverse=True)[1]
    X = pd.DataFrame(
        {
            "number": random.normal(z, 1.5),
            "whole": random.integers(0, 7, n_rows) + z,
            "letter": random.choice([*"pqrst"], n_rows),
            "code": [f"s{min(int(value), 45)}" for value in random.exponential(12, n_rows) + z],
        }
    )
    X.loc[random.random(n_rows) < 0.1, "letter"] = None
    return X, y, random.exponential(size=n_rows) + 0.05


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PooledStatesWarning)
        return function(*args, **kwargs)


MODELS = {
    "default": BayesianNetworkClassifier(),
    "kdb": BayesianNetworkClassifier("kdb"),
    "em": BayesianNetworkClassifier(missing="em"),
    "ccbn-loo": BayesianNetworkClassifier("tan", "ccbn-loo", random_state=0),
    "skdb": BayesianNetworkClassifier("skdb"),
    "skdb, em": BayesianNetworkClassifier("skdb", missing="em"),
    "calibrated": BayesianNetworkClassifier("nb", calibrate="evidence"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_rows", [40, 300])
def test_the_scale_of_weights_does_not_matter(name, n_rows):
    X, y, weights = rows(n_rows)
    model = MODELS[name]
    plain = quiet(model.fit, X, y).predict_proba(X)
    weighted = quiet(model.fit, X, y, weights).predict_proba(X)
    for factor in FACTORS:
        assert quiet(model.fit, X, y, np.full(n_rows, factor)).predict_proba(X) == pytest.approx(plain, abs=1e-6)
        assert quiet(model.fit, X, y, factor * weights).predict_proba(X) == pytest.approx(weighted, abs=1e-6)


def test_class_weights_are_relative_too():
    X, y, _ = rows()
    one, other = (
        quiet(BayesianNetworkClassifier(class_weight={"a": 1 * k, "b": 2 * k, "c": 6 * k}).fit, X, y).predict_proba(X)
        for k in (1, 5)
    )
    assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("missing", ["ignore", "em"])
def test_files_and_memory_agree(tmp_path, missing):
    X, y, weights = rows()
    model = BayesianNetworkClassifier(missing=missing)
    expected = quiet(model.fit, X, y, weights).predict_proba(X)
    for factor in (1.0, *FACTORS):
        X.assign(kind=y, w=factor * weights).to_csv(tmp_path / "rows.csv", index=False)
        found = quiet(model.fit_files, tmp_path / "rows.csv", "kind", sample_weight="w").predict_proba(X)
        assert found == pytest.approx(expected, abs=1e-6)


def test_rows_in_parts():
    X, y, weights = rows()
    X = X.drop(columns="code")
    states = {"letter": [*"pqrst"]}

    def learned(factor):
        model = BayesianNetworkClassifier("nb", concentration(4.0))
        for part in (slice(150), slice(150, None)):
            model.partial_fit(X[part], y[part], ["a", "b", "c"], factor * weights[part], states)
        return model

    model = learned(1.0)
    for factor in FACTORS:
        assert learned(factor).predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-6)
    # The weights of both parts are divided by their common mean.
    schema, codes = model.schema_, model.encode(X).copy()
    codes[schema.target_index] = np.searchsorted(["a", "b", "c"], y)
    whole = bnplug.Table(codes, schema.names, schema.states, schema.target, weights)
    expected = concentration(4.0).fit(whole, Structure(whole.names, whole.naive_bayes()))
    for name in whole.names:
        assert model.tables_[name].values == pytest.approx(expected[name].values, abs=1e-12)


def concentration(value):
    return bnplug.parameter_learner("backoff", concentration=value)


def test_what_is_decided_by_a_number_of_rows_ignores_relative_weights():
    # 40 states with 4 rows each are pooled, unless a weight of 4 counts them as 16 rows.
    X = pd.DataFrame({"code": [f"s{i % 40}" for i in range(160)]})
    y = np.arange(160) % 40 % 2
    for parameters, n_states in (("backoff", 1), ("ml", 40)):
        model = quiet(BayesianNetworkClassifier("nb", parameters).fit, X, y, np.full(160, 4.0))
        assert len(model.schema_.states["code"]) == n_states


def noisy(random, y):
    """Return eight features with eight states, whose values are smaller in class 1."""
    smaller = (random.random((len(y), 8)) < 0.6) * y[:, None]
    values = random.integers(0, 8, smaller.shape) // (1 + smaller)
    return pd.DataFrame(values.astype(str), columns=[f"x{j}" for j in range(8)])


@pytest.mark.parametrize("structure", ["tan", "kdb"])
def test_balanced_classes_help_a_rare_class(structure):
    random = np.random.default_rng(0)
    y, test_y = (random.random(500) < 0.1).astype(int), np.repeat([0, 1], 1000)
    X, test_X = noisy(random, y), noisy(random, test_y)
    plain, balanced = (
        BayesianNetworkClassifier(structure, class_weight=weight).fit(X, y).score(test_X, test_y)
        for weight in (None, "balanced")
    )
    assert balanced > plain + 0.05


class Remembers(bnplug.StructureLearner):
    def learn(self, table):
        self.weights_ = table.weights
        return Structure(table.names, table.naive_bayes())


class RemembersWithScore(Remembers):
    def __init__(self, score="cr"):
        self.score = score


@pytest.mark.parametrize("learner", [Remembers(), RemembersWithScore()], ids=["measures", "score"])
def test_class_weights_reach_scores_but_not_measures_of_dependence(learner):
    X, y, _ = rows()
    model = quiet(BayesianNetworkClassifier(learner, class_weight={"a": 1.0, "b": 2.0, "c": 6.0}).fit, X, y)
    if isinstance(learner, RemembersWithScore):
        raw = np.select([y == "a", y == "b"], [1.0, 2.0], 6.0)
        assert model.structure_.weights_ == pytest.approx(raw / raw.mean(), rel=1e-6)
    else:
        assert model.structure_.weights_ is None
    # The bins are the same as without weights.
    plain = quiet(BayesianNetworkClassifier("nb").fit, X, y)
    assert model.schema_.states == plain.schema_.states
    # Parameters that do not leave rows out get the weights as they are.
    model.set_params(parameters="ml")
    assert set(quiet(model.fit, X, y).structure_.weights_) == {1.0, 2.0, 6.0}


def test_weights_within_a_class_are_relative_to_its_mean():
    codes = np.array([[0, 1, 0, 1], [0, 0, 1, 255]], dtype=np.uint8)
    table = bnplug.Table(codes, ["x", "c"], {"x": [0, 1], "c": [0, 1]}, "c", [1.0, 3.0, 8.0, 4.0], missing_policy="em")
    blocks = BlockTable.cut(table, [1, 0, 3])
    for own in (table, blocks):
        assert own.mean_weight == 4.0
        assert own.with_relative_weights().gather().weights.tolist() == [0.25, 0.75, 2.0, 1.0]
        assert own.with_relative_weights(by_class=True).gather().weights.tolist() == [0.5, 1.5, 1.0, 1.0]
        assert not own.take([0, 2]).with_relative_weights(by_class=True).weighted
        assert own.take([0, 2]).with_relative_weights().weighted
