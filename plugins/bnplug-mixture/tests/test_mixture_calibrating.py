"""The factors of evidence of the twins: the minimum of the log loss of the mixture on held-out rows."""

import numpy as np
import pytest
from bnplug_mixture.calibrating import HeldOutRows, fit_factors, held_out

import bnplug
from bnplug import BayesianNetworkClassifier, encode_training
from bnplug.datasets import iris, tic_tac_toe
from bnplug.inference.calibration import tempered
from bnplug.model.log_tables import Calibration


def part(seed, n=400):
    """Rows of a twin that counts all evidence three times."""
    random, rows = np.random.default_rng(seed), np.random.default_rng(0)
    evidence = 1.5 * rows.normal(size=(n, 3))
    posterior = np.exp(np.log([0.2, 0.5, 0.3]) + evidence)
    posterior /= posterior.sum(axis=1, keepdims=True)
    classes = (rows.random((n, 1)) > posterior.cumsum(axis=1)).sum(axis=1)
    weights, known = rows.random(n) + 0.5, rows.integers(1, 4, size=n) / 4
    nothing = np.tile(np.log([0.2, 0.5, 0.3]), (n, 1))
    joint = nothing + 3.0 * (evidence + 0.3 * random.normal(size=(n, 3)))
    return HeldOutRows(posterior, joint, nothing, known, classes, weights)


def loss_of_mixture(parts, t):
    shares = []
    for own in parts:
        factors = t[0] * own.known + t[1] * (1 - own.known)
        logits = tempered(own.joint, own.nothing[0], factors)
        shares += [own.member, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)]
    chosen = np.mean(shares, axis=0)[np.arange(len(parts[0].classes)), parts[0].classes]
    loss = -np.average(np.log(chosen), weights=parts[0].weights)
    # Each row occurs three times; the prior of the factors has mean 1 and standard deviation 0.3.
    return loss + (np.subtract(t, 1) ** 2).sum() / (2 * 0.3**2 * len(chosen) / 3)


def test_no_other_factors_have_a_lower_loss():
    parts = [part(seed) for seed in range(1, 5)]
    best = fit_factors(parts)
    assert all(0.03 < factor < 2.5 for factor in best)
    least = loss_of_mixture(parts, best)
    for step in ([0.02, 0], [-0.02, 0], [0, 0.02], [0, -0.02], [0.3, -0.3], [-0.3, 0.3]):
        assert loss_of_mixture(parts, np.add(best, step)) > least


def test_twins_without_held_out_rows_are_not_used():
    assert fit_factors([part(1), None]) == fit_factors([part(1)]) != Calibration()
    assert fit_factors([None, None]) == fit_factors([]) == Calibration()


def test_a_row_that_a_twin_rules_out_has_the_prior_there():
    own = part(1)
    own.joint[:50] = -np.inf
    assert np.isfinite(fit_factors([own, part(2)])).all()
    own.joint[:] = -np.inf
    assert np.isfinite(fit_factors([own])).all()


def test_rows_and_hidden_features_are_the_same_for_all_twins():
    X, y = tic_tac_toe()
    table, encoder = encode_training(X, y)
    twins = [BayesianNetworkClassifier(structure, calibrate=None) for structure in ("nb", "tan")]
    first, second = (held_out(twin.fit_table(table, encoder), twin, table, 5) for twin in twins)
    assert np.array_equal(first.classes, second.classes)
    assert len(first.classes) == pytest.approx(len(X), abs=3)
    # Every feature is in the blanket of both.
    assert np.array_equal(first.known, second.known)
    assert sorted(set(first.known)) == [2 / 9, 5 / 9, 7 / 9]
    np.testing.assert_allclose(first.member.sum(axis=1), 1.0)
    discriminative = BayesianNetworkClassifier("nb", "ccbn-w", calibrate=None).fit_table(table, encoder)
    assert held_out(twins[0], discriminative, table, 5) is None


def test_all_twins_have_the_same_factors_and_none_without_calibration():
    X, y = iris()
    model = bnplug.make_classifier("mixture", n_members=2, random_state=0).fit(X, y)
    (factors,) = {twin.calibration_ for twin in model.generative_}
    assert factors != Calibration()
    assert {member.calibration_ for member in model.members_} == {Calibration()}
    plain = bnplug.make_classifier("mixture", member__calibrate=None, n_members=2, random_state=0).fit(X, y)
    assert {twin.calibration_ for twin in plain.generative_} == {Calibration()}
    assert np.array_equal(plain.predict_proba(X), model.predict_proba(X))
