"""Rows are sorted by fold and class, and what cannot be scored is named."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scoring import slow
from sklearn.model_selection import PredefinedSplit

from bnplug.builtin.scores import HitRate
from bnplug.scoring._layout import describe_rows, sort_rows
from bnplug.table.table import Table


def arrange(table, folds, alpha, floor):
    fold, header = describe_rows(table, folds, alpha, floor)
    return sort_rows(table, fold, header)


def test_bad_classes_are_named():
    table = slow.random_table(np.random.default_rng(17), 20, (3, 2), 1)
    codes = table.codes.copy()
    codes[1, :2] = table.missing
    with pytest.raises(ValueError, match="'v1' is missing in 2 row"):
        HitRate().evaluator(Table(codes, table.names, table.states, table.target))
    with pytest.raises(ValueError, match="'v1' has one state only"):
        HitRate().evaluator(Table(np.zeros_like(codes), table.names, {"v0": range(3), "v1": [0]}, table.target))
    with pytest.raises(ValueError, match="no rows"):
        HitRate().evaluator(table.take([]))
    labels = table.codes[1]
    with pytest.raises(ValueError, match="outside fold 0 have the same class"):
        HitRate(cv=PredefinedSplit(np.where(labels == 0, 0, 1))).evaluator(table)


def test_folds_of_a_subclass_are_checked():
    class Short(HitRate):
        def folds(self, table, random):
            return np.zeros(3)

    table = slow.random_table(np.random.default_rng(18), 20, (3, 2), 1)
    with pytest.raises(ValueError, match=r"folds have shape \(3,\)"):
        Short().evaluator(table)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_in_the_order_of_fold_and_class(weighted):
    rng = np.random.default_rng(1)
    table = slow.random_table(rng, 60, (3, 4, 2), 1, weighted=weighted, missing=0.1)
    folds = rng.integers(-1, 3, 60) * 5  # numbers with gaps; -5 is never tested
    rows = arrange(table, folds, 1.0, 0.0)
    assert (rows.n_folds, rows.n_classes, rows.resubstitution) == (3, 4, False)
    assert rows.n_tested == (folds >= 0).sum()
    labels = table.codes[1]
    for fold, number in enumerate([0, 5, 10, -5]):
        for c in range(4):
            segment = slice(*rows.bounds[fold * 4 + c : fold * 4 + c + 2])
            mine = (folds == number) & (labels == c)
            expected = np.minimum(table.codes, table.cards.astype(np.uint8)[:, None])[:, mine]
            assert np.array_equal(rows.codes[:, segment], expected)
            if weighted:
                assert rows.weights[segment] * rows.unit == pytest.approx(table.weights[mine])
    assert rows.sizes.tolist() == [card + (table.codes[v] == table.missing).any() for v, card in enumerate(table.cards)]


def test_sums_of_weights_are_exact_in_any_order():
    rng = np.random.default_rng(2)
    table = slow.random_table(rng, 500, (3, 2), 1, weighted=True)
    rows = arrange(table, None, 1.0, 0.0)
    total = rows.weights.sum()
    assert total < 2**53
    assert float(sum(float(w) for w in rng.permutation(rows.weights))) == float(total) == rows.tested_weight


def test_a_row_that_is_always_tested_trains_too():
    rows = arrange(slow.random_table(np.random.default_rng(3), 20, (3, 2), 1), None, 0.0, 0.01)
    assert (rows.resubstitution, rows.n_folds, rows.n_tested, rows.finite) == (True, 1, 20, True)
    assert not arrange(slow.random_table(np.random.default_rng(3), 20, (3, 2), 1), None, 0.0, 0.0).finite


def test_rows_are_rearranged_within_their_segments():
    table = slow.random_table(np.random.default_rng(0), 30, (3, 2, 4), 1, weighted=True)
    evaluator = HitRate(cv=PredefinedSplit(np.arange(30) % 4 - 1)).evaluator(table)
    evaluator.start(table.naive_bayes())
    block = evaluator._block
    rows, n = block.rows, block.rows.n_tested
    columns = np.vstack([rows.codes, rows.weights, np.append(block.joint.gap, np.zeros(30 - n))]).T.copy()
    block.tidy()
    after = np.vstack([rows.codes, rows.weights, np.append(block.joint.gap, np.zeros(30 - n))]).T
    for low, high in pairwise(rows.bounds[: rows.n_folds * 2 + 1]):
        assert sorted(map(tuple, after[low:high])) == sorted(map(tuple, columns[low:high]))
        assert (np.diff(block.joint.gap[low:high]) >= 0).all()
    assert np.array_equal(after[n:], columns[n:])
