"""Columns to codes and labels to arrays, each way back to what the data hold."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnplug import BayesianNetworkClassifier
from bnplug.table.coding import (
    MISSING,
    UNSEEN,
    Coded,
    as_array,
    as_label,
    code_column,
    label_index,
    match_column,
    plain_label,
)

LABELS = st.lists(st.text(max_size=3) | st.integers(-5, 5) | st.floats(-2, 2) | st.booleans(), min_size=1, max_size=8)


def distinct(labels):
    """Labels that pandas tells apart: 1, 1.0 and True are one."""
    return [label for i, label in enumerate(labels) if label not in labels[:i]]


@given(LABELS, st.data())
def test_codes_say_what_the_cells_were(labels, data):
    labels = distinct(labels)
    cells = data.draw(st.lists(st.sampled_from([*labels, None]), min_size=1, max_size=20))
    codes, states = code_column(pd.Series(cells, dtype=object))
    assert [None if code == MISSING else states[code] for code in codes] == cells
    assert set(states) == set(cells) - {None}
    again = pd.Series([*cells, "nobody has seen this"], dtype=object)
    assert match_column(again, states).tolist() == [*codes.tolist(), UNSEEN]


def test_numbers_come_before_text_whatever_the_order_of_rows():
    for cells in (["b", 2, "a", 1], [1, "a", 2, "b"]):
        assert code_column(pd.Series(cells, dtype=object)).states == (1, 2, "a", "b")


def test_a_categorical_keeps_its_order_and_its_unused_categories():
    column = pd.Series(pd.Categorical(["u", None, "v"], categories=["v", "w", "u"]))
    codes, states = code_column(column)
    assert (codes.tolist(), states) == ([2, MISSING, 0], ("v", "w", "u"))
    assert match_column(column, ("u", "v")).tolist() == [0, MISSING, 1]


@pytest.mark.parametrize("states", [("a", "b"), ("b", "a"), ("b",), ("a", "b", "missing")], ids=str)
def test_a_coded_column_matches_as_the_same_labels_do(states):
    coded = Coded(np.array([0, 1, MISSING, 1]), ("a", "b"))
    assert match_column(coded, states).tolist() == match_column(pd.Series(["a", "b", None, "b"]), states).tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, bool])
def test_whole_numbers_match_in_their_own_type(dtype):
    values = np.array([0, 1, 1, 0], dtype=dtype)
    assert match_column(pd.Series(values), (0, 1)).tolist() == [0, 1, 1, 0]
    assert match_column(pd.Series(values[:0]), (0, 1)).tolist() == []


def test_whole_numbers_far_apart_and_beyond_int64():
    assert match_column(pd.Series([2**63, 5], dtype=np.uint64), (5, 2**63)).tolist() == [1, 0]
    assert match_column(pd.Series([-(2**40), 2**40, 3]), (-(2**40), 2**40)).tolist() == [0, 1, UNSEEN]


def test_values_of_one_text_are_refused_by_name():
    day = datetime.date(2026, 1, 1)
    column = pd.Series([day, "2026-01-01"], name="when", dtype=object)
    with pytest.raises(ValueError, match="column 'when' has two values that both have the text '2026-01-01'"):
        code_column(column)


@given(LABELS)
def test_an_array_and_an_index_give_labels_back_with_their_types(labels):
    labels = distinct(labels)
    for back in (as_array(labels).tolist(), label_index(labels).tolist()):
        assert [(type(label), repr(label)) for label in back] == [(type(label), repr(label)) for label in labels]


def test_plain_labels():
    assert plain_label(np.str_("a")) == "a"
    assert plain_label(np.float32(0.5)) == 0.5
    assert plain_label(np.True_) is True
    assert plain_label(datetime.date(2026, 1, 1)) is None
    assert plain_label(np.timedelta64(3, "s")) is None


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "bool", "Int64", "Float32", "longdouble"])
def test_states_are_plain_values_of_python(dtype):
    codes, states = code_column(pd.Series([1, 0, 1], dtype=dtype))
    assert codes.tolist() == [1, 0, 1]
    assert {type(state) for state in states} <= {int, float, bool}
    assert list(states) == [0, 1]


def test_a_point_in_time_has_the_text_that_pandas_gives_it():
    days = pd.Series(pd.to_datetime(["2026-02-28", None, "2026-01-31"]))
    assert code_column(days).states == ("2026-01-31 00:00:00", "2026-02-28 00:00:00")
    assert match_column(days, code_column(days).states).tolist() == [1, -1, 0]


@pytest.mark.parametrize("dtype", ["float32[pyarrow]", "double[pyarrow]", "Float64", "float64", object])
def test_zero_has_no_sign(dtype):
    pytest.importorskip("pyarrow")
    column = pd.Series([0.0, -0.0, None, 1.5], dtype=dtype)
    assert code_column(column).codes.tolist() == [0, 0, MISSING, 1]
    assert match_column(column, (0.0, 1.5)).tolist() == [0, 0, MISSING, 1]
    X = pd.DataFrame({"x": pd.Series([0.0, -0.0, 1.0, None] * 10, dtype=dtype)})
    model = BayesianNetworkClassifier("nb").fit(X, ["a", "b", "b", "a"] * 5 + ["b", "a", "a", "b"] * 5)
    assert model.schema_.states["x"] == (0.0, 1.0)


def test_values_match_states_that_are_written_alike_if_asked():
    column = pd.Series([True, False, None, 2, "a"], dtype=object)
    assert match_column(column, ("2", "False", "True", "a")).tolist() == [UNSEEN, UNSEEN, MISSING, UNSEEN, 3]
    assert match_column(column, ("2", "False", "True", "a"), by_text=True).tolist() == [2, 1, MISSING, 0, 3]
    assert match_column(pd.Series(["True", "2", "x"]), (2, True), by_text=True).tolist() == [1, 0, UNSEEN]
    # A state that equals the value takes precedence over one with the same text.
    assert match_column(pd.Series([1, "1"], dtype=object), ("1", 1), by_text=True).tolist() == [1, 0]
    for dtype in (bool, "boolean", object, "category"):
        truth = pd.Series([True, False], dtype=dtype)
        assert match_column(truth, ("False", "True"), by_text=True).tolist() == [1, 0]
        assert match_column(truth, (0, 1)).tolist() == [1, 0]
    assert match_column(pd.Series([7, 9]), ("9",), by_text=True).tolist() == [UNSEEN, 0]


def test_decimals_are_the_numbers_that_they_stand_for(tmp_path):
    column = pd.Series([Decimal("2.00"), Decimal("0.5"), None, Decimal("1E+3")] * 20)
    assert code_column(column).states == (0.5, 2, 1000)
    assert [type(state) for state in code_column(column).states] == [float, int, int]
    assert match_column(pd.Series([2, 0.5, 1000.0]), code_column(column).states).tolist() == [1, 0, 2]
    assert as_label(Decimal("1E+999999999")) == "1E+999999999"
    X = pd.DataFrame({"rooms": [Decimal("1.00"), Decimal("2.00"), Decimal("3.00")] * 20})
    y = pd.Series(["p", "q"] * 30, name="y")
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = BayesianNetworkClassifier("nb").fit(X, y)
    files = BayesianNetworkClassifier("nb").fit_files(tmp_path / "rows.parquet", "y")
    assert model.schema_.states["rooms"] == files.schema_.states["rooms"] == (1, 2, 3)
    for kind in (int, float, str):
        assert (model.predict_proba(X.astype({"rooms": kind})) == model.predict_proba(X)).all()
