"""Splitters become one fold per row, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from bnplug.table.folds import draw_folds, stratified_folds


@pytest.fixture
def table():
    return slow.random_table(np.random.default_rng(0), 24, (3, 2), 1)


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_stratified_folds_are_those_of_scikit_learn(n_folds, seed):
    rng = np.random.default_rng(n_folds)
    for labels in (rng.integers(0, 4, 50), rng.choice(list("zaq"), 31, p=[0.1, 0.2, 0.7]), np.arange(24) % 2):
        ours, theirs = (None if seed is None else np.random.RandomState(seed) for _ in range(2))
        splitter = StratifiedKFold(n_folds, shuffle=theirs is not None, random_state=theirs)
        folds = stratified_folds(labels, n_folds, ours)
        for number, (_, test) in enumerate(splitter.split(labels, labels)):
            assert np.flatnonzero(folds == number).tolist() == test.tolist()
        assert seed is None or ours.randint(99) == theirs.randint(99)


def test_folds_that_cannot_be_stratified_are_refused():
    with pytest.raises(ValueError, match="at least 2 folds, not 1"):
        stratified_folds([0, 1, 0, 1], 1)
    with pytest.raises(ValueError, match="every class has fewer rows"):
        stratified_folds([0, 1, 0, 1], 3)
    with pytest.warns(UserWarning, match="The least populated class has only 1 rows, fewer than the 2 folds"):
        stratified_folds([0, 1, 0], 2)


def test_rows_that_are_never_tested_only_train(table):
    folds = draw_folds(table, PredefinedSplit([0] * 6 + [-1] * 12 + [4] * 6), None)
    assert folds.tolist() == [0] * 6 + [-1] * 12 + [1] * 6


def test_one_split_is_a_hold_out(table):
    folds = draw_folds(table, ShuffleSplit(1, test_size=6, random_state=0), None)
    assert sorted(folds) == [-1] * 18 + [0] * 6


def test_a_splitter_needs_no_classes(table):
    assert draw_folds(table, KFold(3), None).tolist() == [0] * 8 + [1] * 8 + [2] * 8


@pytest.mark.parametrize("splitter", [RepeatedKFold(n_splits=3, n_repeats=2), ShuffleSplit(2, test_size=20)])
def test_test_sets_must_not_overlap(table, splitter):
    with pytest.raises(ValueError, match="overlaps an earlier one"):
        draw_folds(table, splitter, None)


@pytest.mark.parametrize("splitter", [TimeSeriesSplit(3), ShuffleSplit(1, test_size=6, train_size=6)])
def test_training_sets_must_be_the_rest(table, splitter):
    with pytest.raises(ValueError, match="is not all the rows outside its test set"):
        draw_folds(table, splitter, None)


def test_anything_else_is_refused(table):
    with pytest.raises(ValueError, match="cv='four'"):
        draw_folds(table, "four", None)
