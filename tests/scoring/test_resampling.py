"""Splitters become one fold per row, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from scoring import slow
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from bnplug.scoring.resampling import draw_folds


@pytest.fixture
def table():
    return slow.random_table(np.random.default_rng(0), 24, (3, 2), 1)


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
