"""The factors of evidence of the twins: the minimum of the log loss of their mean posterior on held-out rows."""

import numpy as np
import pytest
from bnplug_mixture.calibrating import fit_factors, held_out

import bnplug
from bnplug import BayesianNetworkClassifier, encode_training
from bnplug.datasets import iris, tic_tac_toe
from bnplug.inference.calibration import HeldOut, fit_calibration, tempered
from bnplug.model.log_tables import Calibration


def part(seed, n=400):
    random = np.random.default_rng(seed)
    rows = np.random.default_rng(0)
    classes, weights, known = rows.integers(3, size=n), rows.random(n) + 0.5, rows.integers(0, 5, size=n) / 4
    nothing = np.tile(np.log([0.2, 0.5, 0.3]), (n, 1))
    joint = nothing + 3.0 * random.normal(size=(n, 3)) + 2.0 * np.eye(3)[classes]
    return HeldOut(joint, nothing, classes, weights, known)


def loss_of_mean(parts, t):
    shares = []
    for own in parts:
        factors = t[0] * own.known + t[1] * (1 - own.known)
        logits = tempered(own.joint, own.nothing[0], factors)
        shares.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    chosen = np.mean(shares, axis=0)[np.arange(len(parts[0].classes)), parts[0].classes]
    return -np.average(np.log(chosen), weights=parts[0].weights)


def test_no_other_factors_have_a_lower_loss():
    parts = [part(seed) for seed in range(1, 5)]
    best = fit_factors(parts)
    least = loss_of_mean(parts, best)
    for step in ([0.02, 0], [-0.02, 0], [0, 0.02], [0, -0.02], [0.3, -0.3], [-0.3, 0.3]):
        assert loss_of_mean(parts, np.add(best, step)) > least


def test_one_twin_is_calibrated_as_a_network_is():
    assert fit_factors([part(1)]) == pytest.approx(fit_calibration([part(1)]), abs=1e-3)
    assert fit_factors([part(1), None]) == fit_factors([part(1)])
    assert fit_factors([None, None]) == fit_factors([]) == Calibration()


def test_a_row_that_a_twin_rules_out_has_the_prior_there():
    own = part(1)
    own.joint[:50] = -np.inf
    parts = [own, part(2)]
    assert np.isfinite(fit_factors(parts)).all()
    own.joint[:] = -np.inf
    assert np.isfinite(fit_factors(parts)).all()


def test_folds_and_hidden_features_are_the_same_for_all_twins():
    X, y = tic_tac_toe()
    table, encoder = encode_training(X, y)
    twins = [BayesianNetworkClassifier(structure, calibrate=None) for structure in ("nb", "tan")]
    first, second = (held_out(twin.fit_table(table, encoder), table, 5) for twin in twins)
    assert np.array_equal(first.classes, second.classes)
    assert len(first.classes) == 2 * len(X)
    # Every feature is in the blanket of both.
    assert np.array_equal(first.known, second.known)
    assert sorted(set(first.known)) == [5 / 9, 1.0]
    discriminative = BayesianNetworkClassifier("nb", "ccbn-w", calibrate=None).fit_table(table, encoder)
    assert held_out(discriminative, table, 5) is None


def test_all_twins_have_the_same_factors_and_none_without_calibration():
    X, y = iris()
    model = bnplug.make_classifier("mixture", n_members=2, random_state=0).fit(X, y)
    (factors,) = {twin.calibration_ for twin in model.generative_}
    assert factors != Calibration()
    assert {member.calibration_ for member in model.members_} == {Calibration()}
    plain = bnplug.make_classifier("mixture", member__calibrate=None, n_members=2, random_state=0).fit(X, y)
    assert {twin.calibration_ for twin in plain.generative_} == {Calibration()}
    assert np.array_equal(plain.predict_proba(X), model.predict_proba(X))
