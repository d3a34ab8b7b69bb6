"""A constraint-based learner that returns its equivalence class, and an ensemble: as third parties write them."""

import numpy as np
import pandas as pd
import pytest
from saboteurs.trying import failing
from whole_methods import A2DE, PeterClark

import bnplug
from bnplug import BayesianNetworkClassifier, ClassifierMethod, Structure, StructureLearnerMethod, Table
from bnplug.datasets import tic_tac_toe

PC = StructureLearnerMethod("pc-style", PeterClark, "Tests of independence.", "Spirtes et al. (2000)")
ENSEMBLE = ClassifierMethod("a2de", A2DE, "All pairs of features as parents.", "Webb et al. (2012)")


def rows(n, seed=0):
    """A collider a -> c <- b with c -> d, and the class e a child of d."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    c = np.where(rng.random(n) < 0.9, a | b, rng.integers(0, 2, n))
    d = np.where(rng.random(n) < 0.85, c, 1 - c)
    e = np.where(rng.random(n) < 0.85, d, 1 - d)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def test_pc_returns_the_equivalence_class_of_the_truth():
    frame = rows(5000)
    model = BayesianNetworkClassifier(PeterClark()).fit(frame.drop(columns="e"), frame["e"])
    truth = Structure([*"abcde"], [[], [], [0, 1], [2], [3]])
    assert model.learned_.pdag == truth.cpdag()
    assert set(model.learned_.structure.edges) == set(truth.edges)
    assert model.learned_.structure.cpdag() == model.learned_.pdag
    assert model.learned_.details["tests"] > 10


def test_what_pc_found_is_saved(tmp_path):
    bnplug.register(PC)
    frame = rows(1000)
    model = BayesianNetworkClassifier("pc-style").fit(frame.drop(columns="e"), frame["e"])
    model.save(tmp_path / "model")
    assert bnplug.load(tmp_path / "model").learned_ == model.learned_


@pytest.mark.parametrize("method", [PC, ENSEMBLE], ids=lambda method: method.name)
def test_the_kit_finds_no_fault(method):
    assert failing(method) == {}


def test_a2de_is_the_mean_over_pairs_of_features():
    rng = np.random.default_rng(1)
    frame = rows(60, 1)
    X, y = frame[["a", "b", "c"]].astype(str), frame["e"].to_numpy()
    ensemble = A2DE().fit(X, y)
    row, expected = X.iloc[rng.integers(0, 60)], []
    for label in ensemble.classes_:
        total = 0.0
        for i, j, k in (("a", "b", "c"), ("a", "c", "b"), ("b", "c", "a")):
            both = (y == label) & (X[i] == row[i]) & (X[j] == row[j])
            total += (both.sum() + 1 / 8) / 61 * ((both & (X[k] == row[k])).sum() + 1) / (both.sum() + 2)
        expected.append(total)
    assert ensemble.predict_proba(X[X.index == row.name])[0] == pytest.approx(np.array(expected) / sum(expected))


def test_a2de_beats_naive_bayes_where_pairs_of_squares_matter():
    X, y = tic_tac_toe()
    assert A2DE().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8
    assert BayesianNetworkClassifier("nb").fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.75


def test_tables_of_counts_need_no_rows_of_the_class():
    """PC runs on any table, whichever variable is the class."""
    frame = rows(2000)
    found = [PeterClark().learn(Table.from_frame(frame, target)).pdag for target in ("a", "e")]
    assert found[0] == found[1]
