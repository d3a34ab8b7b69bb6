"""Settings that cannot win are given up; what is chosen is what the whole grid would choose."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bnplug_mlbnsvm import grid
from bnplug_mlbnsvm.grid import choose, cross_validate, reach
from bnplug_mlbnsvm.problem import LargeMarginProblem, Setting
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

import bnplug
from bnplug import Structure, datasets
from bnplug.gradient import Objective, classified, folds
from bnplug.table.table import Table


def make_table(rows, classes, holes, seed, weighted=False):
    """Four features that follow the class in a part of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    columns = {f"x{v}": np.where(rng.random(rows) < 0.5, y, rng.integers(0, 3, rows)).astype(float) for v in range(4)}
    frame = pd.DataFrame(columns)
    frame = frame.mask(rng.random(frame.shape) < holes)
    return Table.from_frame(frame.assign(c=y), "c", rng.integers(1, 4, rows) * 1.0 if weighted else None)


def whole_grid(table, dag, lams, gammas, setting, cv):
    """The accuracies of all settings, none given up."""
    right, total = np.zeros((len(gammas), len(lams))), 0.0
    for train, test in folds(table, cv, 0):
        total += test.total_weight
        for g, gamma in enumerate(gammas):
            problem, point = LargeMarginProblem(train, dag, 1.0), None
            for i, lam in enumerate(lams):
                point = problem.solve(replace(setting, lam=lam, gamma=gamma), point).point
                right[g, i] += Objective(problem.terms, test)(point, classified)[0]
    return right / total


@pytest.mark.parametrize(
    ("rows", "classes", "holes", "weighted"), [(60, 2, 0.0, False), (70, 3, 0.0, True), (60, 3, 0.1, False)]
)
@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_the_choice_is_that_of_the_whole_grid(rows, classes, holes, weighted, structure):
    table = make_table(rows, classes, holes, rows + classes, weighted)
    dag = bnplug.structure_learner(structure).learn(table)
    setting = Setting(0.0, 0.0, tol=1e-3, max_iter=100, normalized=False)
    lams, gammas = (0.0, 0.5, 2.0, 16.0, 256.0), (0.1, 1.0, 10.0)
    found = cross_validate(table, dag, lams, gammas, setting, 1.0, 5, 0, None)
    expected = whole_grid(table, dag, lams, gammas, setting, 5)
    assert choose(found, lams, gammas) == choose(expected, lams, gammas)
    assert found.max() == expected.max()
    np.testing.assert_array_equal(found[:, :3], expected[:, :3])


class Known:
    """A path of which the outcome is known beforehand, by fold and gamma."""

    outcomes = np.empty(0)
    fits = 0

    def __init__(self, fold, alpha, lams, setting):
        self.gamma, self.right = setting.gamma, []
        self._own = self.outcomes[alpha.index(fold.held_out.total_weight), int(setting.gamma)]

    def follow(self, length):
        type(self).fits += max(0, length - len(self.right))
        self.right = [float(value) for value in self._own[: max(length, len(self.right))]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6), st.floats(0.0, 1.0))
def test_whatever_the_folds_hold_the_choice_is_that_of_the_whole_grid(seed, n_folds, n_gammas, n_lams, rate):
    rng = np.random.default_rng(seed)
    weights = [float(number) for number in rng.permutation(12)[:n_folds] + 3]
    rates = np.clip(rng.normal(rate, 0.4, (1, n_gammas, n_lams)), 0.0, 1.0)
    outcomes = np.stack([rng.binomial(int(weight), rates[0]) for weight in weights]).astype(float)
    table = make_table(3, 2, 0.0, 0)
    parts = [(table, Table(table.codes[:, :1], table.names, table.states, "c", np.array([w]))) for w in weights]
    gammas, lams = tuple(map(float, range(n_gammas))), tuple(map(float, range(n_lams)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "folds", lambda *_: parts)
        patch.setattr(grid, "_Path", Known)
        patch.setattr(Known, "outcomes", outcomes)
        found = cross_validate(table, None, lams, gammas, Setting(0.0, 0.0), weights, n_folds, None, None)
    whole = outcomes.sum(axis=0) / sum(weights)
    assert choose(found, lams, gammas) == choose(whole, lams, gammas)
    assert found.max() == whole.max()


def test_the_end_of_a_path_is_left_out_where_it_cannot_win(monkeypatch):
    """Lam 0 has 9 of 10 in both folds; lam 2 none in the first, and so at most 10 of 20."""
    table = make_table(3, 2, 0.0, 0)
    parts = [(table, Table(table.codes[:, :1], table.names, table.states, "c", np.array([w]))) for w in (10.0, 10.5)]
    monkeypatch.setattr(grid, "folds", lambda *_: parts)
    monkeypatch.setattr(grid, "_Path", Known)
    monkeypatch.setattr(Known, "outcomes", np.array([[[9.0, 9.0, 0.0]], [[9.0, 9.0, 8.0]]]))
    monkeypatch.setattr(Known, "fits", 0)
    found = cross_validate(table, None, (0.0, 1.0, 2.0), (0.0,), Setting(0.0, 0.0), [10.0, 10.5], 2, None, None)
    assert Known.fits == 5
    np.testing.assert_allclose(found, [[18 / 20.5, 18 / 20.5, 0.0]])


def test_what_was_given_up_does_not_come_back():
    right = np.array([[[5.0, 0.0]], [[5.0, np.nan]], [[5.0, np.nan]]])
    assert reach(right, np.array([5.0, 100.0, 100.0]), 2).tolist() == [1]


def test_nested_folds_have_cuts_and_a_structure_of_their_own():
    """The accuracies are those of folds that are coded, and given a tree, without the rows held out."""
    X, y = datasets.iris()
    lams, gammas = (0.0, 2.0, 64.0), (1.0, 10.0)
    learner = bnplug.parameter_learner("ml-bn-svm", lam=lams, gamma=gammas, cv=3, nested=True)
    model = bnplug.BayesianNetworkClassifier("tan", learner, "mdl").fit(X, y)
    parts = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        table, encoder = bnplug.encode_training(X.iloc[train], y.iloc[train], discretizer="mdl", name="c")
        codes = encoder.encode(X.iloc[test], table).copy()
        codes[table.target_index] = pd.Index(encoder.classes).get_indexer(y.iloc[test])
        held_out = Table(codes, table.names, table.states, "c")
        parts.append(bnplug.InnerFold(table, bnplug.structure_learner("tan").learn(table), held_out))
    setting = Setting(0.0, 0.0, 10.0, False, 1e-3, 1000, normalized=False)
    expected = cross_validate(None, None, lams, gammas, setting, 1.0, None, None, None, parts)
    np.testing.assert_array_equal(model.parameters_.cv_accuracy_, expected)
    usual = bnplug.parameter_learner("ml-bn-svm", lam=lams, gamma=gammas, cv=3, random_state=0)
    outer = bnplug.BayesianNetworkClassifier("tan", usual, "mdl").fit(X, y)
    assert (outer.parameters_.cv_accuracy_ != expected).any()


def test_folds_are_asked_for_where_there_is_a_choice():
    asked = {
        lam: bnplug.parameter_learner("ml-bn-svm", lam=lam, nested=nested).n_inner_folds
        for lam, nested in (("cv", True), (1.0, True), ((0.0, 1.0), False))
    }
    assert asked == {"cv": 5, 1.0: 0, (0.0, 1.0): 0}
    table = make_table(20, 2, 0.0, 0)
    learner = bnplug.parameter_learner("ml-bn-svm", lam="cv", nested=True, cv=StratifiedKFold(2))
    with pytest.raises(ValueError, match="nested=True needs a number of folds"):
        learner.fit(table, Structure(table.names, table.naive_bayes()))
