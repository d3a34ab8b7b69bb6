"""Maximum conditional likelihood of what incomplete rows know: what is learned is what the model then says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from incomplete_tables import STRUCTURES, incomplete_table, nll_of

import bnplug
from bnplug import Structure
from bnplug.datasets import iris

LETTERS = ("d", "e", "w")


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_model_answers_what_was_optimised(letter, structure):
    table = incomplete_table()
    dag = Structure(table.names, STRUCTURES[structure])
    learner = bnplug.parameter_learner(f"ccbn-{letter}", l2=0.1)
    fitted = learner.fit(table, dag)
    assert learner.nll_path_[-1] == pytest.approx(nll_of(fitted, table), rel=1e-9)
    assert learner.nll_path_[-1] < learner.nll_path_[0]
    # What ignores missing cells was trained for another likelihood, and has a lower one of what is known.
    ignoring = bnplug.parameter_learner(f"ccbn-{letter}", l2=0.1).fit(table.ignoring(), dag)
    assert nll_of(fitted, table) < nll_of(ignoring, table)


@pytest.mark.parametrize("letter", LETTERS)
def test_complete_rows_give_the_same_bits(letter):
    table = incomplete_table(missing=0.0)
    dag = Structure(table.names, STRUCTURES["tree"])
    found = [bnplug.parameter_learner(f"ccbn-{letter}").fit(own, dag) for own in (table, table.ignoring())]
    for name in table.names:
        assert (found[0][name].values == found[1][name].values).all()


def test_the_end_is_a_minimum_and_threads_do_not_move_it():
    table = incomplete_table(rows=2500)
    dag = Structure(table.names, STRUCTURES["tree"])
    learners = [bnplug.parameter_learner("ccbn-d", l2=1.0, tol=1e-12, n_jobs=n_jobs) for n_jobs in (1, 2)]
    first, second = (own.fit(table, dag) for own in learners)
    assert all((first[name].values == second[name].values).all() for name in table.names)
    problem = learners[0].problem(table, dag)
    assert problem.marginal
    assert np.abs(problem.penalized(problem.terms.values, 1.0)[1]).max() > 1.0
    free = learners[0]._descend(problem)
    assert np.abs(problem.penalized(free, 1.0)[1]).max() < 1e-2


def test_a_strength_is_chosen_by_what_held_out_rows_know():
    table = incomplete_table(rows=90)
    learner = bnplug.parameter_learner("ccbn-w", l2="cv", cv=3, max_iter=30)
    learner.fit(table, Structure(table.names, STRUCTURES["tree"]))
    assert np.isfinite(learner.cv_nll_).all()


def test_rows_without_a_class_are_refused_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.integers(0, 3, 60)}).astype(str)
    y = pd.Series(rng.integers(0, 2, 60)).astype(object)
    y.iloc[:10] = None
    model = bnplug.BayesianNetworkClassifier("nb", ("ccbn-d", {"l2": 1.0}), missing="em")
    with pytest.raises(ValueError, match=r"ccbn-d.*'ml-bn-svm'"):
        model.fit(X, y)


def test_through_the_classifier_training_rows_have_the_nll_that_was_reached():
    X, y = iris()
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    for parameters in (("ccbn-w", {"l2": 0.1}), ("ccbn-d", {"l2": 0.1})):
        model = bnplug.BayesianNetworkClassifier("tan", parameters, missing="em").fit(holes, y)
        own = model.predict_log_proba(holes)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        assert -own.sum() == pytest.approx(model.parameters_.nll_path_[-1], rel=1e-9)
