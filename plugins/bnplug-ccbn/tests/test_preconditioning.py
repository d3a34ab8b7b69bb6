"""The change of variables before L-BFGS: what it is made of, and that it only changes the way to the minimum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_ccbn import preconditioning
from bnplug_ccbn.preconditioning import Preconditioner

import bnplug
from bnplug.table.table import Table


def draw(rows=400, seed=0, weights=None):
    """Four classes, features that depend on the class and on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, rows)
    frame = pd.DataFrame({"a": (y + rng.integers(0, 3, rows)) % 4, "b": rng.integers(0, 2, rows)})
    frame["d"] = np.where(rng.random(rows) < 0.8, frame["a"], rng.integers(0, 4, rows))
    return Table.from_frame(frame.assign(c=y), "c", weights)


def naive_bayes(table):
    return bnplug.structure_learner("nb").learn(table)


def made(table, letter="w", l2=0.3):
    learner = bnplug.parameter_learner(f"ccbn-{letter}", precondition=True, l2=l2)
    problem = learner.problem(table, naive_bayes(table))
    return problem, Preconditioner.of(problem.terms, table, problem.parameterization.scale, l2)


def with_holes(table):
    codes = table.codes.copy()
    codes[0, ::3] = table.missing
    return Table(codes, table.names, table.states, "c")


TABLES = {
    "plain": draw(),
    "weighted": draw(weights=np.random.default_rng(1).uniform(0.5, 3.0, 400)),
    "with missing cells": with_holes(draw()),
}


@pytest.mark.parametrize("letter", ["d", "w"])
@pytest.mark.parametrize("kind", TABLES)
def test_blocks_are_those_of_the_hessian(letter, kind):
    table = TABLES[kind]
    problem, found = made(table, letter)
    start, n_classes = problem.parameterization.generative, problem.terms.n_classes
    size = len(start) // n_classes
    for k in range(n_classes):
        own = np.arange(size) * n_classes + k
        numeric = np.empty((size, size))
        for i, place in enumerate(own):
            step = np.zeros_like(start)
            step[place] = 1e-5
            numeric[i] = (problem.penalized(start + step, 0.3)[1] - problem.penalized(start - step, 0.3)[1])[own] / 2e-5
        numeric += 1e-4 * table.total_weight * np.eye(size)
        whitened = found.inverse[k] @ numeric @ found.inverse[k].T
        np.testing.assert_allclose(whitened, np.eye(size), atol=1e-5)


def test_variables_go_there_and_back():
    _, found = made(draw())
    rng = np.random.default_rng(0)
    z, gradient = rng.normal(size=(2, found.inverse.shape[0] * found.inverse.shape[1]))
    np.testing.assert_allclose(found.from_free(found.to_free(z)), z, atol=1e-9)
    assert found.chain(gradient) @ z == pytest.approx(gradient @ found.to_free(z))


@pytest.mark.parametrize("letter", ["d", "w"])
@pytest.mark.parametrize("init", ["generative", "zeros"])
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_the_minimum_is_the_same(letter, init, l2):
    table = draw(rows=1500)
    ends = []
    for precondition in (False, True):
        learner = bnplug.parameter_learner(f"ccbn-{letter}", init=init, l2=l2, precondition=precondition, tol=1e-12)
        assert learner.fit(table, naive_bayes(table)).normalized
        assert (np.diff(learner.nll_path_) <= 1e-9).all() or l2
        ends.append((learner.nll_path_[0], learner.nll_path_[-1], learner.n_iter_))
    assert ends[0][0] == pytest.approx(ends[1][0])
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-6)


def test_it_takes_fewer_steps():
    table = draw(rows=1500)
    steps = {}
    for precondition in (False, True):
        learner = bnplug.parameter_learner("ccbn-d", init="zeros", l2=0.01, precondition=precondition, tol=1e-10)
        learner.fit(table, naive_bayes(table))
        steps[precondition] = learner.n_iter_
    assert steps[True] < steps[False]


def test_large_tables_and_shared_weights_stay_as_they_are(monkeypatch):
    table = draw()
    plain = bnplug.parameter_learner("ccbn-w", l2=0.0, level=2)
    asked = bnplug.parameter_learner("ccbn-w", l2=0.0, level=2, precondition=True)
    extended = [bnplug.parameter_learner("ccbn-e", l2=0.0, precondition=p) for p in (False, True)]
    for learner in (plain, asked, *extended):
        learner.fit(table, naive_bayes(table))
    assert plain.nll_path_ == asked.nll_path_
    assert extended[0].nll_path_ == extended[1].nll_path_
    monkeypatch.setattr(preconditioning, "_CELLS", 10)
    assert made(table)[1] is None
