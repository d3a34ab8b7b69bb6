"""One factor of all log parameters, by rows that were held out of everything."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.classifier._inner_folds import RawRows, splits, tempered
from bnplug.datasets import tic_tac_toe
from bnplug.inference.complete import log_joint, posterior, terms
from bnplug.show.report import to_html
from bnplug.show.summary import to_text


@pytest.fixture(scope="module")
def repeated():
    """Each feature twice or more: naive Bayes counts what it says as often, and is far too sure."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    seen = np.where(rng.random((300, 2)) < 0.65, y[:, None], 1 - y[:, None])
    X = pd.DataFrame({f"x{i}": np.where(rng.random(300) < 0.03, 1, seen[:, i % 2]) for i in range(12)}).astype(str)
    return X, np.where(y == 1, "yes", "no")


def test_the_factor_is_the_best_for_rows_held_out(repeated):
    X, y = repeated
    model = BayesianNetworkClassifier("nb", calibrate="temperature").fit(X, y)
    assert 0.05 < model.temperature_ < 0.5
    joints = []
    for train, test in splits(RawRows.of(BayesianNetworkClassifier(), X, y, None), 3, None):
        fold = BayesianNetworkClassifier("nb").fit(train.frame, train.labels)
        joints.append((fold._marginalizer.log_joint(fold.encode(test.frame)), fold.classes_.searchsorted(test.labels)))

    def nll(factor):
        return sum(-np.log(posterior(factor * L))[np.arange(len(c)), c].sum() for L, c in joints)

    assert nll(model.temperature_) <= min(nll(model.temperature_ * f) for f in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0))


def test_probabilities_are_better_and_winners_the_same(repeated):
    X, y = repeated
    found = {None: [], "temperature": []}
    for train, test in StratifiedKFold(3, shuffle=True, random_state=1).split(X, y):
        for calibrate, losses in found.items():
            model = BayesianNetworkClassifier("nb", calibrate=calibrate).fit(X.iloc[train], y[train])
            losses.append(log_loss(y[test], model.predict_proba(X.iloc[test])))
            losses.append(model.predict(X.iloc[test]))
    assert sum(found["temperature"][::2]) < 0.8 * sum(found[None][::2])
    assert all((a == b).all() for a, b in zip(found[None][1::2], found["temperature"][1::2], strict=True))


@pytest.mark.parametrize("structure", ["nb", "tan", ("kdb", {"k": 2})])
@pytest.mark.parametrize("parameters", ["ml", ("ml", {"alpha": 0.0}), "backoff"])
def test_every_log_joint_is_so_many_times_as_large(structure, parameters):
    X, y = tic_tac_toe()
    plain = BayesianNetworkClassifier(structure, parameters).fit(X, y)
    codes = plain.encode(X)
    for factor in (0.3, 2.0):
        made = tempered(plain.tables_, factor)
        expected = posterior(factor * log_joint(terms(plain.tables_, plain.target_), codes))
        np.testing.assert_allclose(posterior(log_joint(terms(made, plain.target_), codes)), expected, atol=1e-9)
        assert made.normalized or structure not in ("nb", "tan")


def test_it_stays_in_files(repeated, tmp_path):
    X, y = repeated
    model = BayesianNetworkClassifier("tan", calibrate="temperature", random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.calibrate == "temperature"
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    model.to_bif(tmp_path / "model.bif")
    np.testing.assert_allclose(
        bnplug.read_bif(tmp_path / "model.bif").predict_proba(X), model.predict_proba(X), atol=1e-9
    )
    again = clone(loaded).fit(X, y)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_named_classes_given_structures_weights_and_missing_cells(repeated):
    X, y = repeated
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    edges = [("answer", name) for name in X.columns]
    weights = np.arange(len(y)) % 3
    model = BayesianNetworkClassifier(edges, calibrate="temperature", class_weight="balanced")
    model.fit(X, pd.Series(y, name="answer"), weights)
    assert model.temperature_ < 1
    assert model.tables_.normalized


def test_without_folds_nothing_changes():
    X, y = pd.DataFrame({"a": ["x", "y"]}), ["n", "p"]
    model = BayesianNetworkClassifier("nb", calibrate="temperature").fit(X, y)
    assert model.temperature_ == 1.0
    np.testing.assert_allclose(model.predict_proba(X), BayesianNetworkClassifier("nb").fit(X, y).predict_proba(X))


def test_what_is_no_way_to_calibrate():
    with pytest.raises(ValueError, match="calibrate='platt' is not"):
        BayesianNetworkClassifier(calibrate="platt").fit([[0], [1]], ["a", "b"])


def test_a_temperature_moves_the_class_prior_and_the_report_says_so(repeated, tmp_path):
    X, y = repeated
    kept = (y == "no") | (np.arange(len(y)) % 3 == 0)
    X, y = X[kept], y[kept]
    plain = BayesianNetworkClassifier("nb", "ml").fit(X, y)
    calibrated = BayesianNetworkClassifier("nb", "ml", calibrate="temperature").fit(X, y)
    share = (y == "no").mean()
    assert plain.query("class")["probability"][0] == pytest.approx(share, abs=0.002)
    assert abs(calibrated.query("class")["probability"][0] - share) > 0.01
    calibrated.save(tmp_path / "model")
    for model in (calibrated, bnplug.load(tmp_path / "model")):
        page = to_html(model)
        assert "Class prior" not in page
        assert "Class probabilities without evidence" in page
        assert "differs from the class frequencies of the training rows" in page
        assert "differs from the class frequencies of the training rows" in to_text(model)
    for text in (to_html(plain), to_text(plain)):
        assert "frequencies of the training rows" not in text
    assert "Class prior" in to_html(plain)
