"""The discretisers against an oracle in exact arithmetic, against FImdlp, and against scikit-learn's checks."""

import json
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
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import KFold, cross_validate
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import bnplug
from bnplug.data.discretize import (
    MDLDiscretizer,
    QuantileDiscretizer,
    UniformDiscretizer,
    bin_labels,
    discretizer,
    discretizer_from_json,
    discretizer_to_json,
)
from bnplug.data.mdl import ClassColumn, mdl_cuts

ALL = [MDLDiscretizer(), QuantileDiscretizer(), UniformDiscretizer()]
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
    return mdl_cuts(np.asarray(values, dtype=float), ClassColumn.of(np.asarray(classes), weights)).tolist()


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


# all three


@parametrize_with_checks(ALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@settings(max_examples=60, deadline=None)
@given(small_columns, st.sampled_from(ALL))
def test_a_weight_of_two_is_the_row_twice(rows, transformer):
    values, classes, weights = map(np.array, zip(*rows, strict=True))
    if not weights.any():
        return
    X = np.column_stack([values / 7, values, np.where(values == 3, np.nan, values)])
    fitted = clone(transformer).fit(X, classes, sample_weight=weights)
    repeated = clone(transformer).fit(np.repeat(X, weights, axis=0), np.repeat(classes, weights))
    for one, other in zip(fitted.cut_points_, repeated.cut_points_, strict=True):
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()


def test_quantiles_by_the_inverted_distribution_function():
    X = np.random.default_rng(0).normal(size=(101, 1))
    expected = np.quantile(X, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert QuantileDiscretizer(4).fit(X).cut_points_[0].tolist() == expected.tolist()
    ties = np.array([0.5] * 90 + [1.5] * 10)[:, None]
    assert QuantileDiscretizer(4).fit(ties).bin_labels_ == [["<=0.5", ">0.5"]]


def test_uniform_bins_are_of_equal_width():
    X = np.array([0.0, 0.1, 0.2, np.nan, 10.0])[:, None]
    assert UniformDiscretizer(4).fit(X).cut_points_[0].tolist() == [2.5, 5.0, 7.5]
    wide = UniformDiscretizer(2).fit(np.array([[-1.7e308], [1.7e308]]))
    assert wide.cut_points_[0].tolist() == [0.0]


@pytest.mark.parametrize("transformer", ALL)
def test_constant_and_empty_columns_have_one_bin(transformer):
    X = np.column_stack([np.full(30, 0.1), np.full(30, np.nan), np.linspace(0, 1, 30)])
    fitted = clone(transformer).set_params(categorical_features=None).fit(X, np.arange(30) % 2)
    assert fitted.bin_labels_[:2] == [["all"], ["all"]]
    assert np.isnan(fitted.transform(X)[:, 1]).all()


@pytest.mark.parametrize("transformer", ALL)
def test_cuts_come_from_training_rows_alone(transformer):
    X, y = load_iris(return_X_y=True)
    folds = KFold(5, shuffle=True, random_state=0)
    pipeline = make_pipeline(transformer, CategoricalNB(min_categories=20))
    fitted = cross_validate(pipeline, X, y, cv=folds, return_estimator=True)["estimator"]
    whole = clone(transformer).fit(X, y)
    differ = 0
    for model, (train, _) in zip(fitted, folds.split(X), strict=True):
        alone = clone(transformer).fit(X[train], y[train])
        for j, cuts in enumerate(model[0].cut_points_):
            assert cuts.tolist() == alone.cut_points_[j].tolist()
            differ += cuts.tolist() != whole.cut_points_[j].tolist()
    assert differ > 0


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "town": rng.choice(["lima", "oslo"], 60),
            "rooms": rng.integers(1, 5, 60),
            "sold": rng.random(60) < 0.5,
        },
        index=np.arange(60) * 10,
    )
    y = (frame["size"] > 0).to_numpy()
    frame.loc[40, "size"] = np.nan
    return frame, y


@pytest.mark.parametrize("transformer", ALL)
def test_frames_keep_names_index_and_discrete_columns(mixed, transformer):
    X, y = mixed
    binned = clone(transformer).set_output(transform="pandas").fit_transform(X, y)
    assert binned["size"].cat.ordered
    assert binned["size"].isna().tolist() == X["size"].isna().tolist()
    pd.testing.assert_frame_equal(binned.drop(columns="size"), X.drop(columns="size"))
    assert binned.index.equals(X.index)


@pytest.mark.parametrize("transformer", ALL)
def test_polars_in_and_out(mixed, transformer):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    X, y = mixed
    own = polars.DataFrame({name: X[name].to_list() for name in X})
    expected = clone(transformer).set_output(transform="pandas").fit_transform(X, y)["size"]
    fitted = clone(transformer).set_output(transform="polars").fit(own, y)
    for frame in (own, X):
        binned = fitted.transform(frame)
        assert binned["size"].dtype == polars.Enum(fitted.bin_labels_[0])
        assert binned["size"].to_list() == [None if pd.isna(label) else label for label in expected]
        assert binned["town"].to_list() == X["town"].to_list()
        assert binned.columns == list(X.columns)


def test_arrays_hold_bin_numbers(mixed):
    X, y = mixed
    fitted = MDLDiscretizer().fit(X[["size", "rooms"]], y)
    array = fitted.transform(X[["size", "rooms"]])
    assert array.dtype == np.float64
    expected = np.where(X["size"].isna(), np.nan, X["size"] > fitted.cut_points_[0][0])
    np.testing.assert_array_equal(array, np.column_stack([expected, X["rooms"]]))
    everything = MDLDiscretizer().fit_transform(X, y)
    assert everything.dtype == object
    assert everything[0].tolist() == [expected[0], *X.iloc[0, 1:]]


@pytest.mark.parametrize("transformer", ALL)
def test_infinite_numbers_are_refused_by_name(mixed, transformer):
    X, y = mixed
    spoilt = X.assign(size=X["size"].replace(X["size"].iloc[0], np.inf))
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['size'\]"):
        clone(transformer).fit(spoilt, y)
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['size'\]"):
        clone(transformer).fit(X, y).transform(spoilt)
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['x1'\]"):
        clone(transformer).fit(np.array([[0.5, np.inf]] * 4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['rooms'\]"):
        clone(transformer).fit(X, y).transform(X.assign(rooms=-np.inf))


def test_what_fit_and_transform_refuse(mixed):
    X, y = mixed
    with pytest.raises(ValueError, match="requires y to be passed"):
        MDLDiscretizer().fit(X)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        MDLDiscretizer().fit(X, np.linspace(0, 1, len(X)))
    with pytest.raises(ValueError, match="the class is missing"):
        MDLDiscretizer().fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MDLDiscretizer().fit(X, y[1:])
    with pytest.raises(ValueError, match="negative, missing or infinite"):
        MDLDiscretizer().fit(X, y, sample_weight=np.full(len(X), -1))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        MDLDiscretizer().fit(X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="n_bins=1: expected a whole number of at least 2"):
        QuantileDiscretizer(n_bins=1).fit(X)
    with pytest.raises(ValueError, match=r"n_bins=2\.5"):
        UniformDiscretizer(n_bins=2.5).fit(X)
    with pytest.raises(ValueError, match="column 'size' is numeric, but not all its values are numbers"):
        MDLDiscretizer().fit(X, y).transform(X.assign(size="large"))
    with pytest.raises(ValueError, match="feature names should match"):
        MDLDiscretizer().fit(X, y).transform(X[["town", "size", "rooms", "sold"]])
    with pytest.raises(ValueError, match="column 1 has no bins"):
        MDLDiscretizer().fit(X, y).bin_codes(np.zeros(3), 1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8, unique=True))
@example([1.0, np.nextafter(1.0, 2)])
@example([0.1 + 0.2, 0.4])
@example([1600000000.5, 1600000001.5])
def test_labels_are_distinct_and_plain(cuts):
    labels = bin_labels(sorted(cuts))
    assert len(set(labels)) == len(labels) == len(cuts) + 1
    assert not any(set(label) & set(" ,;'\"()[]{}/") for label in labels)


def test_labels_print_few_digits():
    assert bin_labels([-0.0, 0.1 + 0.2, 1e20]) == ["<=0", "0..0.3", "0.3..1e+20", ">1e+20"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mdl", MDLDiscretizer),
        ("quantile", QuantileDiscretizer),
        ("uniform", UniformDiscretizer),
        (UniformDiscretizer(3), UniformDiscretizer),
        (("quantile", {"n_bins": 3}), QuantileDiscretizer),
        ("none", type(None)),
        (None, type(None)),
    ],
)
def test_a_discretizer_by_name(spec, expected):
    made = discretizer(spec)
    assert type(made) is expected
    assert made is not spec or spec is None
    assert getattr(made, "n_bins", 3) == (5 if isinstance(spec, str) and hasattr(made, "n_bins") else 3)


def test_what_is_no_discretizer():
    with pytest.raises(ValueError, match=r"there is no discretizer 'mld'.*Did you mean 'mdl'"):
        discretizer("mld")
    with pytest.raises(ValueError, match="there is no discretizer 5"):
        discretizer(5)
    with pytest.raises(ValueError, match=r"parameters \['n_bins'\] go with the name"):
        discretizer("none", n_bins=4)
    with pytest.raises(TypeError, match="n_bin"):
        discretizer("mdl", n_bins=4)


@pytest.mark.parametrize("transformer", ALL)
def test_json_gives_back_the_same_discretizer(mixed, transformer):
    X, y = mixed
    fitted = clone(transformer).fit(X, y)
    again = discretizer_from_json(json.loads(json.dumps(discretizer_to_json(fitted))), list(X.columns))
    pd.testing.assert_frame_equal(again.transform(X), fitted.set_output(transform="pandas").transform(X))
    assert again.get_params() == fitted.get_params()


def test_what_json_cannot_hold():
    assert discretizer_to_json(None) is None
    assert discretizer_from_json(None, []) is None
    with pytest.raises(ValueError, match="a KFold cannot be saved"):
        discretizer_to_json(KFold())
    good = {"name": "mdl", "params": {}, "cut_points": [[1.0, 2.0]]}
    for damage in (
        {"name": "mld"},
        {"cut_points": []},
        {"cut_points": [[2.0, 1.0]]},
        {"cut_points": [[1.0, float("inf")]]},
        {"cut_points": [["1.0"]]},
    ):
        with pytest.raises(ValueError, match=r"discretizer|cut points"):
            discretizer_from_json({**good, **damage}, ["a"])
    with pytest.raises(ValueError, match="there is no discretizer for them"):
        discretizer_from_json(None, ["a"])


def test_they_are_public_names():
    assert bnplug.MDLDiscretizer is MDLDiscretizer
    assert {bnplug.QuantileDiscretizer, bnplug.UniformDiscretizer} == {QuantileDiscretizer, UniformDiscretizer}
