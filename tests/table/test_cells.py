"""Cells of a column, and the pooling of its rare states; scikit-learn is the oracle in test_columns.py."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from bnplug import BayesianNetworkClassifier, ColumnRules, PooledStatesWarning
from bnplug.table._cells import Cells, cells_of, count_rows, rows_by_number, unlike
from bnplug.table._columns import pool, tells
from bnplug.table.coding import Coded


@given(
    st.lists(st.integers(-1, 6), min_size=1, max_size=40),
    st.none() | st.integers(2, 8),
    st.none() | st.integers(1, 10) | st.floats(0.01, 0.9),
)
def test_no_row_changes_its_state_but_for_rare_ones(codes, most, least):
    column = Coded(np.array(codes), tuple("abcdefg"))
    rows = np.bincount(np.array([c for c in codes if c >= 0], dtype=int), minlength=7)
    found = pool(column, None, most, least)
    if found is None:
        assert most is None or most >= 7
        assert least is None or rows.min() >= (least if least >= 1 else least * rows.sum())
        return
    before = [None if c < 0 else column.states[c] for c in codes]
    after = [None if c < 0 else found.states[c] for c in found.codes]
    kept = set(found.states[:-1])
    assert found.states[-1] == "other"
    assert after == [x if x is None or x in kept else "other" for x in before]
    assert most is None or len(found.states) <= most
    fewest_kept = min((rows["abcdefg".index(x)] for x in kept), default=np.inf)
    assert least is None or fewest_kept >= (least if least >= 1 else least * rows.sum())


def test_of_equally_frequent_states_the_first_stay():
    found = pool(Coded(np.array([0, 1, 2, 3] * 2), tuple("abcd")), None, 3, None)
    assert found.states == ("a", "b", "other")


@pytest.mark.parametrize("limits", [(None, None), (2, 1), (np.int64(5), np.float64(0.5)), (None, "auto")])
def test_limits_that_mean_something(limits):
    ColumnRules(max_categories=limits[0], min_frequency=limits[1])


@pytest.mark.parametrize(
    "limits", [(0, None), (True, None), (2.0, None), (None, 0), (None, 1.0), (None, True), (None, "x")]
)
def test_limits_that_mean_nothing(limits):
    with pytest.raises(ValueError, match="expected a"):
        ColumnRules(max_categories=limits[0], min_frequency=limits[1])


def test_a_label_is_made_unlike_all_others():
    assert unlike("other", {"other", "other_"}) == "other__"


def test_what_goes_with_the_class_by_chance_alone_tells_nothing():
    rng = np.random.default_rng(0)
    codes = rng.integers(40, size=800)
    said = [tells(Coded(codes, range(40)), rng.integers(3, size=800)) for _ in range(300)]
    assert sum(said) <= 3
    assert tells(Coded(codes, range(40)), np.where(rng.random(800) < 0.3, rng.integers(3, size=800), codes % 3))


def test_the_test_of_independence_is_the_usual_one():
    rng = np.random.default_rng(1)
    for strength in np.linspace(0, 0.5, 30):
        codes = rng.integers(-1, 12, size=300)
        labels = np.where(rng.random(300) < strength, codes % 2, rng.integers(2, size=300))
        known = codes >= 0
        p = chi2_contingency(pd.crosstab(codes[known], labels[known]), correction=False).pvalue
        assert tells(Coded(codes, range(12)), labels) == (p < 0.001)


def test_one_state_or_one_class_tells_nothing():
    assert not tells(Coded(np.zeros(9, int), ("a",)), np.arange(9) % 2)
    assert not tells(Coded(np.arange(9), range(9)), np.zeros(9, int))
    assert not tells(Coded(np.full(9, -1), ("a", "b")), np.arange(9) % 2)


@pytest.mark.filterwarnings("ignore:99% of the cells of 'code' are numbers")
def test_whole_numbers_that_became_floats_are_in_the_state_of_their_text():
    rng = np.random.default_rng(3)
    number = rng.choice(80, 3000, p=np.r_[np.full(40, 0.95 / 40), np.full(40, 0.05 / 40)])
    label = np.where(rng.random(3000) < np.where(number % 2, 0.9, 0.1), "p", "q")
    text = pd.DataFrame({"code": [f"{1000 + i}" for i in number]})
    text.loc[0, "code"] = "V12"
    floats = pd.DataFrame({"code": 1000.0 + number})
    floats.loc[0, "code"] = np.nan
    with pytest.warns(PooledStatesWarning):
        model = BayesianNetworkClassifier("nb").fit(text, label)
    np.testing.assert_array_equal(model.predict_proba(floats[1:]), model.predict_proba(text[1:]))


def test_weights_do_not_make_fewer_rows_than_there_are():
    which = np.array([True, True, False])
    column = pd.Series([1, 2, 3])
    assert Cells(column).n_rows(which) == 2
    assert Cells(column, weights=np.array([0.1, 0.2, 9.0])).n_rows(which) == 2
    assert Cells(column, weights=np.array([5.0, 0.5, 9.0])).n_rows(which) == 5.5
    assert Cells(column, weights=np.array([5.0, 0.5, 9.0]), repeats=np.array([3, 4, 5])).n_rows(which) == 7


def test_a_summary_has_the_rows_that_have_a_class():
    cells = Cells(pd.Series([2.0, 1.0, 2.0, 9.0, 2.0]), np.array([0, 1, 0, -1, 1]), np.array([0.5, 1, 2, 4, 8]))
    by_class, whole = (cells.summary("x", cells.column.to_numpy(), supervised) for supervised in (True, False))
    assert by_class.values.tolist() == whole.values.tolist() == [1.0, 2.0]
    assert by_class.weights_by_class.tolist() == [[0, 1], [2.5, 8]]
    assert whole.weights_by_class.tolist() == [[1], [10.5]]
    assert (by_class.name, by_class.n_classes, whole.n_classes) == ("x", 2, 1)


def test_rows_are_counted_as_often_as_a_cell_stands_for_them():
    repeats = np.array([10, 20, 30])
    assert count_rows(np.array([True, False, True]), repeats) == 40
    assert count_rows(np.array([True, False, True]), None) == 2
    assert rows_by_number(np.array([1, -1, 1]), repeats, 3).tolist() == [0, 40, 0]
    assert rows_by_number(np.array([1, -1, 1]), None, 3).tolist() == [0, 2, 0]


def test_cells_of_a_frame_share_its_classes_and_weights():
    labels, weights = np.array([0, 1]), np.array([1.0, 2.0])
    cells = cells_of(pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), labels, weights)
    assert list(cells) == ["a", "b"]
    assert all(cell.labels is labels and cell.weights is weights and cell.repeats is None for cell in cells.values())
