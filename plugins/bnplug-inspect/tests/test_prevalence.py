"""A model for another prevalence of the classes: exact, consistent in all answers, and estimated from rows."""

import itertools

import numpy as np
import pandas as pd
import pytest
from bnplug_inspect import adjust_prior, estimate_prevalence

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.inference.sample import sample

NEW = {"c0": 0.1, "c1": 0.6, "c2": 0.3}


def network(parents, seed=0, target="c"):
    """Return a random network; `parents` are those of each variable."""
    random = np.random.default_rng(seed)
    states = {name: [f"{name}{k}" for k in range(3 if name == target else 2)] for name in parents}
    tables = {}
    for name, given in parents.items():
        columns = random.dirichlet(np.ones(len(states[name])), [len(states[p]) for p in given])
        tables[name] = (given, np.log(np.moveaxis(columns, -1, 0)))
    return LogTables(list(parents), states, tables, target)


def joint(tables):
    """Return P(all variables) by brute force, with an axis for each variable."""
    result = np.zeros([len(tables.states[name]) for name in tables.names])
    for cell in itertools.product(*map(range, result.shape)):
        at = dict(zip(tables.names, cell, strict=True))
        result[cell] = sum(
            table.values[tuple(at[v] for v in (n, *table.parents))] for n, table in tables.tables.items()
        )
    return np.exp(result)


STRUCTURES = {
    "root": {"c": (), "x": ("c",), "y": ("c", "x")},
    "one parent": {"a": (), "c": ("a",), "x": ("c",)},
    "unmarried parents": {"a": (), "b": (), "d": ("b",), "c": ("a", "d"), "x": ("a", "c")},
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_joint_distribution_is_that_of_the_new_prevalence(structure):
    model = BayesianNetworkClassifier.from_tables(network(STRUCTURES[structure]))
    before, after = (joint(m.tables_) for m in (model, adjust_prior(model, NEW)))
    axis = model.tables_.names.index("c")
    others = tuple(i for i in range(before.ndim) if i != axis)
    shape = [-1 if i == axis else 1 for i in range(before.ndim)]
    expected = before / before.sum(axis=others, keepdims=True) * np.reshape(list(NEW.values()), shape)
    np.testing.assert_allclose(after, expected, atol=1e-12)


def test_queries_saved_models_and_files_agree(tmp_path):
    model = BayesianNetworkClassifier.from_tables(network(STRUCTURES["unmarried parents"]))
    adjusted = adjust_prior(model, NEW)
    row = pd.DataFrame({"a": ["a1"], "b": [None], "d": [None], "x": ["x0"]})
    answer = adjusted.predict_proba(row)[0]
    np.testing.assert_allclose(adjusted.query("c", {"a": "a1", "x": "x0"})["probability"], answer)
    adjusted.save(tmp_path / "model")
    adjusted.to_bif(tmp_path / "model.bif")
    np.testing.assert_allclose(bnplug.load(tmp_path / "model").predict_proba(row)[0], answer)
    np.testing.assert_allclose(bnplug.read_bif(tmp_path / "model.bif").predict_proba(row)[0], answer)
    assert adjusted.query("c")["probability"].tolist() == pytest.approx([0.1, 0.6, 0.3])


@pytest.fixture(scope="module")
def data():
    tables = network({"c": (), "x": ("c",), "y": ("c",), "z": ("c", "y"), "w": ("c",), "v": ("c", "w")}, 3)
    frame = sample(tables, 3000, 0).astype(object)
    return frame.drop(columns="c"), frame["c"]


@pytest.mark.parametrize("parameters", ["backoff", "ml", "ccbn-w"])
@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_posteriors_are_reweighted(data, structure, parameters):
    pytest.importorskip("bnplug_ccbn")
    X, y = data
    model = BayesianNetworkClassifier(structure, parameters, calibrate="evidence").fit(X, y)
    rows = X.head(50).mask(np.random.default_rng(0).random((50, X.shape[1])) < 0.3)
    old = y.value_counts(normalize=True).sort_index().to_numpy()
    if parameters != "ccbn-w":
        old = model.query("c")["probability"].to_numpy()
    expected = model.predict_proba(rows) * (np.array([0.1, 0.6, 0.3]) / old)
    expected /= expected.sum(axis=1, keepdims=True)
    adjusted = adjust_prior(model, NEW)
    np.testing.assert_allclose(adjusted.predict_proba(rows), expected, atol=1e-9)
    assert adjusted.calibration_ == model.calibration_
    there_and_back = adjust_prior(adjusted, old)
    np.testing.assert_allclose(there_and_back.predict_proba(rows), model.predict_proba(rows), atol=1e-9)
    if parameters != "ccbn-w":
        row = pd.DataFrame({name: [None] for name in X}, dtype=object)
        np.testing.assert_allclose(adjusted.predict_proba(row)[0], [0.1, 0.6, 0.3])
        contributions = adjusted.explain(rows.head(1)).groupby("class")["contribution"].sum()
        posterior = adjusted.predict_proba(rows.head(1))[0]
        np.testing.assert_allclose(contributions, np.log(posterior / (1 - posterior)), atol=1e-8)


@pytest.mark.parametrize("parameters", ["backoff", "ccbn-w"])
def test_em_finds_a_shifted_prevalence(data, parameters):
    pytest.importorskip("bnplug_ccbn")
    X, y = data
    model = BayesianNetworkClassifier("tan", parameters, calibrate="evidence").fit(X, y)
    tables = network({"c": (), "x": ("c",), "y": ("c",), "z": ("c", "y"), "w": ("c",), "v": ("c", "w")}, 3)
    shifted = {name: (table.parents, table.values) for name, table in tables.tables.items()}
    shifted["c"] = ((), np.log([0.1, 0.6, 0.3]))
    later = sample(LogTables(tables.names, tables.states, shifted, "c"), 5000, 1).astype(object)
    estimate = estimate_prevalence(model, later.drop(columns="c"))
    np.testing.assert_allclose(estimate, [0.1, 0.6, 0.3], atol=0.06)
    adjusted = adjust_prior(model, X_new=later.drop(columns="c"))
    truth = later["c"].map({label: i for i, label in enumerate(model.classes_)}).to_numpy()
    losses = [-m.predict_log_proba(later.drop(columns="c"))[np.arange(5000), truth].mean() for m in (model, adjusted)]
    assert losses[1] < losses[0] - 0.01


def test_models_of_arrays_and_without_training_rows(tmp_path):
    model = BayesianNetworkClassifier("nb").fit([[0], [1], [1], [0]], ["no", "yes", "yes", "yes"])
    adjusted = adjust_prior(model, [0.5, 0.5])
    assert adjusted.predict([[0]]).shape == (1,)
    assert adjusted.training_summary_.held_out is None
    with pytest.raises(TypeError, match="either prevalence= or X_new="):
        adjust_prior(model)
    with pytest.raises(ValueError, match="Did you mean 'yes'"):
        adjust_prior(model, {"no": 0.5, "yess": 0.5})
    with pytest.raises(ValueError, match="sum to 1"):
        adjust_prior(model, [0.5, 0.6])
    odd = LogTables(["c", "x"], {"c": "ny", "x": "ab"}, {"c": ((), [0.0, 0.0]), "x": (("c",), [[1.0, 2], [3, 1]])}, "c")
    with pytest.raises(ValueError, match="trained_on"):
        adjust_prior(BayesianNetworkClassifier.from_tables(odd), [0.5, 0.5])
    reweighted = adjust_prior(BayesianNetworkClassifier.from_tables(odd), [0.2, 0.8], trained_on=[0.5, 0.5])
    before = BayesianNetworkClassifier.from_tables(odd).predict_proba(pd.DataFrame({"x": ["a"]}))[0] * [0.4, 1.6]
    np.testing.assert_allclose(reweighted.predict_proba(pd.DataFrame({"x": ["a"]}))[0], before / before.sum())
