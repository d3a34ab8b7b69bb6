"""The MDL cuts against an oracle in exact arithmetic, and against FImdlp."""

import os
from collections import Counter
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

from bnplug import ColumnSummary, MDLDiscretizer
from bnplug.builtin.discretizers.mdl_cuts import mdl_cuts

DATA = os.environ.get("BNPLUG_DATA")


# An oracle: every cut between two distinct values is tried, with logarithms of 50 digits.


@cache
def log(n):
    with localcontext(prec=50):
        return Decimal(n).ln()


def entropy(counts):
    n = sum(counts.values())
    return (n * log(n) - sum(k * log(k) for k in counts.values())) / n


def pays(left, right):
    total = left + right
    n, n1, n2 = (sum(counts.values()) for counts in (total, left, right))
    e, e1, e2 = entropy(total), entropy(left), entropy(right)
    gain = e - (n1 * e1 + n2 * e2) / n
    delta = log(3 ** len(total) - 2) - (len(total) * e - len(left) * e1 - len(right) * e2)
    return gain > (log(n - 1) + delta) / n


def oracle(values, classes):
    rows = {value: Counter() for value in sorted(set(values))}
    for value, c in zip(values, classes, strict=True):
        rows[value][c] += 1
    with localcontext(prec=50):
        return _oracle(list(rows.items()))


def _oracle(rows):
    best = None
    left, right = Counter(), sum((counts for _, counts in rows), Counter())
    for i, (_, counts) in enumerate(rows[:-1], start=1):
        left, right = left + counts, right - counts
        rest = sum(left.values()) * entropy(left) + sum(right.values()) * entropy(right)
        if best is None or rest < best[0] - Decimal("1e-35"):
            best = rest, i, left, right
    if best is None or not pays(*best[2:]):
        return []
    i = best[1]
    return [*_oracle(rows[:i]), (rows[i - 1][0] + rows[i][0]) / 2, *_oracle(rows[i:])]


def mdl(values, classes, weights=None):
    return mdl_cuts(ColumnSummary.of(values, np.unique(classes, return_inverse=True)[1], weights)).tolist()


# MDL


def test_the_oracle_on_a_case_by_hand():
    # Four and four: the gain is 1 bit, its price (log2 7 + log2 7 - 2) / 8 = 0.45 bits.
    assert oracle([1, 2, 3, 4, 5, 6, 7, 8], "aaaabbbb") == [4.5]
    # One and one: 1 bit against (0 + log2 7 - 2) / 2. Two and one: .918 bits against (1 + 2.807 - 1.837) / 3.
    assert oracle([1, 2], "ab") == [1.5]
    assert oracle([1, 2, 3], "aab") == [2.5]
    # a b a b: the best cut gains .311 bits, which costs (1.585 + 2.807 - 2 + .918 * 2) / 4 = 1.06.
    assert oracle([1, 2, 3, 4], "abab") == []


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_mdl_cuts_of_real_data_are_exact(load):
    X, y = load(return_X_y=True)
    found = MDLDiscretizer(categorical_features=None).fit(X, y).cut_points_
    assert [cuts.tolist() for cuts in found] == [oracle(column, y) for column in X.T.tolist()]


@pytest.mark.skipif(not DATA or not Path(DATA).is_dir(), reason="BNPLUG_DATA names no folder of data sets")
@pytest.mark.parametrize("name", ["iris", "wine", "vehicle", "letter"])
def test_mdl_cuts_of_data_sets_on_disk_are_exact(name):
    frame = pd.read_csv(Path(DATA) / f"{name}.csv.gz")
    y = pd.factorize(frame.pop("class"))[0]
    found = MDLDiscretizer(categorical_features=None).fit(frame, y).cut_points_
    assert [cuts.tolist() for cuts in found] == [oracle(frame[name].tolist(), y.tolist()) for name in frame]


@pytest.mark.parametrize("n_classes", [2, 3, 7, 30])
@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("shift", [0.0, 0.7, 3.0])
def test_mdl_cuts_of_generated_data_are_exact(n_classes, digits, shift):
    rng = np.random.default_rng(n_classes)
    for n in (1, 2, 3, 10, 100, 600):
        y = rng.integers(0, n_classes, n)
        x = np.round(rng.normal(size=n) + shift * rng.permutation(n_classes)[y], digits)
        assert mdl(x, y) == oracle(x.tolist(), y.tolist())


small_columns = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@settings(max_examples=300, deadline=None)
@given(small_columns)
@example([(0, 0, 1)] * 5)
@example([(0, 0, 2), (1, 1, 2), (2, 0, 2), (3, 1, 2)])
def test_mdl_cuts_of_ties_constants_and_weights_are_exact(rows):
    repeated = [(value, c) for value, c, weight in rows for _ in range(weight)]
    values, classes, weights = map(np.array, zip(*rows, strict=True))
    if not repeated:
        return
    expected = oracle(*zip(*repeated, strict=True))
    assert mdl(*zip(*repeated, strict=True)) == expected
    kept = weights > 0
    assert mdl(values[kept], classes[kept], weights[kept].astype(float)) == expected


@settings(max_examples=100, deadline=None)
@given(small_columns, st.randoms(use_true_random=False))
def test_mdl_cuts_depend_on_neither_the_order_of_rows_nor_the_names_of_classes(rows, random):
    values, classes, weights = (list(column) for column in zip(*rows, strict=True))
    weights = [weight + random.random() for weight in weights]
    cuts = mdl(values, classes, np.array(weights))
    order = random.sample(range(len(rows)), len(rows))
    shuffled = [[column[i] for i in order] for column in (values, classes, weights)]
    assert mdl(shuffled[0], [{0: "d", 1: "a", 2: "c", 3: "b"}[c] for c in shuffled[1]], np.array(shuffled[2])) == cuts


def test_cuts_of_many_rows_are_those_of_weighted_ones():
    """Many rows, which are sorted class by class, against the same rows with weights that differ."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 20_000)
    values = np.where(rng.random(len(y)) < 0.01, np.nan, (rng.normal(size=len(y)) + y).round(2))
    twice = np.concatenate([values, values[:10]]), np.concatenate([y, y[:10]])
    weighted = np.where(np.arange(len(y)) < 10, 2.0, 1.0)
    cuts = mdl(*twice)
    assert cuts == mdl(values, y, weighted)
    assert len(cuts) > 3


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-300])
def test_the_smallest_weights_are_weights(weight):
    assert mdl([1.0, 2.0, 3.0], [0, 1, 1], np.array([weight, weight, 2 * weight])) == []


def test_of_equally_good_cuts_the_lowest_is_taken():
    # Cutting off either end leaves the same entropy; then the rest is cut.
    y = ["a"] * 20 + ["b"] * 20 + ["a"] * 20
    assert mdl(range(60), y) == [19.5, 39.5]
    # Here only one of the two is worth its price.
    values, y = [0] * 4 + [1] * 8 + [2] * 4, ["a"] * 4 + ["a", "b"] * 4 + ["b"] * 4
    assert mdl(values, y) == oracle(values, y)
    assert mdl([-v for v in values], y) == oracle([-v for v in values], y)


def test_long_stretches_are_passed_without_missing_the_best_cut():
    rng = np.random.default_rng(0)
    for n_classes in (2, 5):
        y = rng.integers(0, n_classes, 40_000)
        x = rng.normal(size=len(y)) + 0.2 * y
        assert mdl(x, y) == _cuts_by_numpy(x, y)


def _cuts_by_numpy(x, y):
    """Every cut between two rows is tried, by cumulative counts."""
    order = np.argsort(x)
    return _cut_by_numpy(x[order], np.eye(y.max() + 1)[y[order]])


def _cut_by_numpy(x, indicator):
    def weighted_entropy(counts):
        n = counts.sum(axis=-1)
        logs = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
        return n * np.log2(np.maximum(n, 1)) - (counts * logs).sum(axis=-1)

    left, total = indicator.cumsum(axis=0)[:-1], indicator.sum(axis=0)
    if len(left) == 0:
        return []
    i = int(np.argmin(weighted_entropy(left) + weighted_entropy(total - left)))
    as_counter = [Counter({c: int(k) for c, k in enumerate(part) if k}) for part in (left[i], total - left[i])]
    if not pays(*as_counter):
        return []
    cut = float((x[i] + x[i + 1]) / 2)
    return [*_cut_by_numpy(x[: i + 1], indicator[: i + 1]), cut, *_cut_by_numpy(x[i + 1 :], indicator[i + 1 :])]


def test_many_cuts_one_after_the_other():
    y = np.arange(30_000) // 30 % 2
    assert mdl(np.arange(30_000), y) == [30 * i - 0.5 for i in range(1, 1000)]


def test_mdl_agrees_with_fimdlp_where_no_values_are_equal():
    """FImdlp cuts inside runs of equal values, and never an interval of two rows: both are kept out here."""
    fimdlp = pytest.importorskip("fimdlp.mdlp", reason="FImdlp is not installed")
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 7):
        for shift in (0.0, 0.5, 2.0):
            y = rng.integers(0, n_classes, 500)
            # Whole numbers are exact in FImdlp's single precision.
            x = np.argsort(np.argsort(rng.normal(size=len(y)) + shift * y)).astype(float)
            theirs = fimdlp.FImdlp(n_jobs=1).fit(x[:, None], y).get_cut_points()[0][1:-1]
            assert mdl(x, y) == [float(cut) for cut in theirs]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2)),
        (-np.nextafter(1.0, 2), -1.0),
        (0.0, 5e-324),
        (-5e-324, 0.0),
        (1.6e308, 1.7e308),
        (-1.7e308, 1.7e308),
    ],
)
def test_a_cut_separates_its_neighbours_in_floating_point(low, high):
    X = np.repeat([low, high], 10)[:, None]
    fitted = MDLDiscretizer(categorical_features=None).fit(X, np.repeat([0, 1], 10))
    assert fitted.transform(X).ravel().tolist() == [0.0] * 10 + [1.0] * 10
    assert len(set(fitted.bin_labels_[0])) == 2


def test_weights_count_evidence():
    x, y = np.arange(100.0), np.repeat([0, 1], 50) ^ (np.arange(100) % 5 == 0)
    assert mdl(x, y) == oracle(x.tolist(), y.tolist()) == [50.5]
    assert mdl(x, y, np.full(100, 0.5)) == [50.5]
    assert mdl(x, y, np.full(100, 0.01)) == []


@pytest.mark.parametrize(("weight", "cuts"), [(1e-9, []), (1.0, [9.5]), (1e17, [9.5]), (1e300, [9.5])])
def test_weights_of_any_size(weight, cuts):
    assert mdl(range(20), [0] * 10 + [1] * 10, np.full(20, weight)) == cuts


def test_a_thousand_classes():
    y = np.repeat(np.arange(1000), 2)
    assert mdl(np.arange(2000.0), y) == mdl(np.arange(2000.0), y[::-1])
