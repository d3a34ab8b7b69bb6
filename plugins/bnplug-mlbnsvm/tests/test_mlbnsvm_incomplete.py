"""ml-bn-svm on incomplete rows, and on rows without a class, which count in the likelihood alone."""

import numpy as np
import pytest
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting
from bnplug_mlbnsvm.slack import slack_and_surprise, slack_params, soft_slack
from incomplete_tables import STRUCTURES, incomplete_table, joint_of
from scipy.special import logsumexp

import bnplug
from bnplug import Structure
from bnplug.inference.em import expected_family_counts


def test_the_loss_of_a_row_with_and_without_a_class():
    rng = np.random.default_rng(0)
    joint, y, weights = rng.normal(size=(6, 3)), np.array([0, 2, -1, 1, -1, 0]), rng.random(6)
    params, derivative = slack_params(1.0, 10.0, 0.5), np.empty((6, 3))
    labeled = y >= 0
    slack = soft_slack(joint[labeled], y[labeled], weights[labeled], params, np.empty((4, 3)))
    known = np.where(labeled, joint[np.arange(6), y], logsumexp(joint, axis=1))
    for lam in (0.0, 0.7):
        value = slack_and_surprise(joint, y, weights, np.append(params, lam), derivative)
        assert value == pytest.approx(lam * slack - weights @ known)
        for cell in np.ndindex(joint.shape):
            at = []
            for step in (-1e-6, 1e-6):
                moved = joint.copy()
                moved[cell] += step
                at.append(slack_and_surprise(moved, y, weights, np.append(params, lam), np.empty((6, 3))))
            assert derivative[cell] == pytest.approx((at[1] - at[0]) / 2e-6, abs=1e-6)


def by_definition(tables, table, learner):
    """lam times the slack, less the log-likelihood of what is known and of the virtual rows, all nodes included."""
    joint, y = joint_of(tables, table), table.codes[table.target_index].astype(int)
    slack = 0.0
    for m in np.flatnonzero(y != table.missing):
        rival = np.delete(joint[m], y[m]).max()
        slack += max(0.0, learner.gamma_ - joint[m, y[m]] + rival)
    virtual = sum(learner.alpha / own.values.size * own.values.sum() for own in tables.tables.values())
    return learner.lam_ * slack, slack, expected_family_counts(table, tables)[1] + virtual


@pytest.mark.parametrize("unlabeled", [0.0, 0.3])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_network_has_the_objective_that_was_reached(structure, unlabeled):
    table = incomplete_table(unlabeled=unlabeled)
    dag = Structure(table.names, STRUCTURES[structure])
    learner = bnplug.parameter_learner("ml-bn-svm", lam=2.0, gamma=1.0)
    fitted = learner.fit(table, dag)
    assert fitted.normalized
    weighted, slack, likelihood = by_definition(fitted, table, learner)
    assert learner.slack_ == pytest.approx(slack, rel=1e-8)
    generative = bnplug.parameter_learner("ml").fit(table, dag)
    other, other_slack, other_likelihood = by_definition(generative, table, learner)
    # Up to what other nodes add, which no parameter here moves.
    problem = LargeMarginProblem(table, dag)
    moved = learner.objective_ - problem.exact(problem.values(generative), Setting(2.0, 1.0))
    assert moved == pytest.approx(weighted - likelihood - other + other_likelihood, rel=1e-6)
    assert slack < other_slack
    assert likelihood < other_likelihood + 1e-6
    assert learner.likelihood_ratio_ < 1.0


def test_without_slack_it_is_em():
    table = incomplete_table(unlabeled=0.2)
    dag = Structure(table.names, STRUCTURES["tree"])
    fitted = bnplug.parameter_learner("ml-bn-svm", lam=0.0).fit(table, dag)
    expected = bnplug.parameter_learner("ml").fit(table, dag)
    assert all((fitted[name].values == expected[name].values).all() for name in table.names)


def test_complete_rows_give_the_same_bits():
    table = incomplete_table(missing=0.0)
    dag = Structure(table.names, STRUCTURES["tree"])
    first, second = (bnplug.parameter_learner("ml-bn-svm").fit(own, dag) for own in (table, table.ignoring()))
    assert all((first[name].values == second[name].values).all() for name in table.names)


def test_rows_without_a_class_are_never_held_out():
    table = incomplete_table(rows=120, unlabeled=0.4)
    learner = bnplug.parameter_learner("ml-bn-svm", lam=(0.0, 1.0), gamma=1.0, cv=3)
    learner.fit(table, Structure(table.names, STRUCTURES["tree"]))
    labeled = int((table.codes[-1] != table.missing).sum())
    right = learner.cv_accuracy_ * labeled
    np.testing.assert_allclose(right, right.round(), atol=1e-9)


def test_conic_solving_needs_complete_rows_with_a_class():
    table = incomplete_table(missing=0.0, unlabeled=0.2)
    with pytest.raises(ValueError, match="complete rows"):
        bnplug.parameter_learner("ml-bn-svm", solver="conic").fit(table, Structure(table.names, STRUCTURES["tree"]))
