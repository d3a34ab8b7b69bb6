"""Folds inside the training rows: nothing that is learned in one has seen the rows that it holds out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, ParameterLearner, parameter_learner, structure_learner
from bnplug.classifier._inner_folds import RawRows, splits


class Watching(ParameterLearner):
    """Counts, and keeps the folds that it is given."""

    def __init__(self, n_folds=3):
        self.n_folds = n_folds

    @property
    def n_inner_folds(self):
        return self.n_folds

    def fit(self, table, structure):
        self.folds_ = self.inner_folds_
        return parameter_learner("ml").fit(table, structure)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90), "city": rng.choice(list("pqr"), 90)})
    return X, np.where(X["a"] + rng.normal(size=90) > 0, "yes", "no")


def fitted_folds(X, y, sample_weight=None, **params):
    params = {"structure": "tan", "discretizer": ("quantile", {"n_bins": 4}), **params}
    model = BayesianNetworkClassifier(parameters=Watching(), **params).fit(X, y, sample_weight)
    return model, model.parameters_.folds_


def test_rows_are_held_out_once(data):
    model, folds = fitted_folds(*data)
    assert len(folds) == 3
    assert sum(fold.held_out.n_rows for fold in folds) == 90
    for fold in folds:
        assert fold.train.n_rows + fold.held_out.n_rows == 90
        assert (fold.train.names, fold.train.target) == (model.schema_.names, model.target_)
        assert fold.held_out.states == fold.train.states
        shares = [np.bincount(t.codes[t.target_index]) / t.n_rows for t in (fold.train, fold.held_out)]
        assert shares[0] == pytest.approx(shares[1], abs=0.05)


@pytest.mark.parametrize("discretizer", ["mdl", "quantile", "log2-quantile", "uniform"])
@pytest.mark.parametrize("changed", [0, 1, 2])
def test_no_fold_has_seen_what_it_holds_out(data, changed, discretizer):
    """Rows held out in one fold become something else entirely: what is learned in that fold stays as it is."""
    X, y = data
    _, before = fitted_folds(X, y, discretizer=discretizer)
    rows = RawRows.of(BayesianNetworkClassifier(), X, y, None)
    held_out = [set(test.frame.index) for _, test in splits(rows, 3, None)][changed]
    rows = X.index.isin(held_out)
    other = X.copy()
    other.loc[rows, "a"] = 1000.0 + np.arange(rows.sum())
    other.loc[rows, "b"] = other.loc[rows, "a"]
    other.loc[rows, "city"] = "elsewhere"
    _, after = fitted_folds(other, y, discretizer=discretizer)
    fold, same = before[changed], after[changed]
    assert same.train.states == fold.train.states
    assert (same.train.codes == fold.train.codes).all()
    assert same.structure == fold.structure
    # What the others hold out has not changed, but what they learn from has.
    for i in {0, 1, 2} - {changed}:
        assert after[i].train.states != before[i].train.states
    # A value that no other row has is unknown to the fold.
    city = same.train.index("city")
    assert (same.held_out.codes[city] == same.train.missing).all()


def test_structures_are_learned_inside(data):
    _, folds = fitted_folds(*data, structure=structure_learner("tan"))
    for fold in folds:
        assert fold.structure == structure_learner("tan").learn(fold.train)


def test_weights_go_with_their_rows(data):
    X, y = data
    weights = np.arange(90) % 4 + 0.0
    _, folds = fitted_folds(X, y, weights, class_weight={"yes": 2.0, "no": 1.0})
    total = (weights * np.where(y == "yes", 2.0, 1.0)).sum()
    assert sum(fold.held_out.total_weight for fold in folds) == pytest.approx(total)
    assert sum(fold.held_out.n_rows for fold in folds) == (weights > 0).sum()


def test_rare_classes_are_held_out_where_the_others_have_them(data):
    X, y = data
    y = y.copy()
    y[[5, 6]] = "rare"
    y[7] = "once"
    _, folds = fitted_folds(X, y)
    for fold in folds:
        classes = fold.train.states[fold.train.target]
        assert fold.held_out.codes[fold.held_out.target_index].max() < len(classes)
    assert sum(fold.held_out.n_rows for fold in folds) == 89


def test_there_may_be_no_fold_at_all():
    _, folds = fitted_folds(pd.DataFrame({"a": ["x", "y"]}), ["n", "p"])
    assert folds == []


def test_the_seed_decides_and_the_order_of_a_file_does_not_matter(data):
    X, y = data
    order = np.argsort(y, kind="stable")
    _, folds = fitted_folds(X.iloc[order], y[order])
    assert all(len(np.unique(fold.held_out.codes[fold.held_out.target_index])) == 2 for fold in folds)
    first, again, other = (fitted_folds(X, y, random_state=s)[1] for s in (0, 0, 1))
    assert (first[0].held_out.codes == again[0].held_out.codes).all()
    assert first[0].held_out.codes.tolist() != other[0].held_out.codes.tolist()
    generators = (np.random.RandomState(3), np.random.RandomState(3))
    drawn = [fitted_folds(X, y, random_state=generator)[1][0].held_out.codes.tolist() for generator in generators]
    assert drawn[0] == drawn[1]


def test_a_given_structure_and_missing_cells(data):
    X, y = data
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    _, folds = fitted_folds(X, y, structure=[("class", "a"), ("class", "b"), ("a", "city")])
    assert [fold.structure.parents for fold in folds] == [((3,), (3,), (0,), ())] * 3


def test_who_asks_for_none_gets_none(data):
    model = BayesianNetworkClassifier("nb", Watching(n_folds=0)).fit(*data)
    assert model.parameters_.folds_ is None


def test_a_fitted_learner_keeps_no_rows_of_its_folds(data):
    model, _ = fitted_folds(*data)
    assert "inner_folds_" not in vars(model.parameters_)
