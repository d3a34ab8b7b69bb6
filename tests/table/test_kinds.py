"""Which columns count as discrete."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bnplug.table._cells import Cells
from bnplug.table._checks import CONTAINERS
from bnplug.table.kinds import (
    COMPLEX,
    NUMBERS,
    STATES,
    TIMES,
    _few_whole_numbers,
    column_kind,
    discrete_columns,
    is_numeric,
    refuse_infinities,
    to_floats,
)

DISCRETE = {
    "text": ["a", "b"] * 10,
    "text and numbers": pd.Series(["a", 1] * 10, dtype=object),
    "categories": pd.Categorical(["a", "b"] * 10),
    "categories of numbers": pd.Categorical([0.5, 1.5] * 10),
    "booleans": [True, False] * 10,
    "booleans with missing": pd.array([True, None] * 10, dtype="boolean"),
    "boolean objects": pd.Series([True, None] * 10, dtype=object),
    "nothing but objects that are missing": pd.Series([None] * 20, dtype=object),
}
FEW_WHOLE_NUMBERS = {
    "whole numbers": [3, 7] * 10,
    "ten of them": list(range(10)) * 2,
    "as floats": [0.0, 1.0] * 10,
    "with missing": [0.0, np.nan, 1.0, 1.0] * 5,
    "nullable": pd.array([0, None, 1, 1] * 5, dtype="Int64"),
    "as objects": pd.Series([0, None, 1, 1.0] * 5, dtype=object),
    "negative": [-1, 1] * 10,
}
NUMERIC = {
    "fractions": [0.5, 1.0] * 10,
    "eleven whole numbers": [*range(11), *[0] * 9],
    "fractional objects": pd.Series([0.5, None] * 10, dtype=object),
    "decimals": pd.Series([Decimal("0.5"), Decimal(1)] * 10, dtype=object),
    "single precision": np.linspace(0, 1, 20, dtype=np.float32),
}


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("features", ["auto", None, []])
def test_what_is_not_a_number_is_always_discrete(name, features):
    assert discrete_columns(pd.DataFrame({"x": DISCRETE[name]}), features).tolist() == [True]


@pytest.mark.parametrize("name", FEW_WHOLE_NUMBERS)
def test_few_whole_numbers_are_discrete_unless_said_otherwise(name):
    frame = pd.DataFrame({"x": FEW_WHOLE_NUMBERS[name]})
    assert discrete_columns(frame).tolist() == [True]
    assert discrete_columns(frame, None).tolist() == [False]
    assert discrete_columns(frame, []).tolist() == [False]


@pytest.mark.parametrize("name", NUMERIC)
def test_other_numbers_are_numeric_unless_said_otherwise(name):
    frame = pd.DataFrame({"x": NUMERIC[name]})
    assert discrete_columns(frame).tolist() == [False]
    assert discrete_columns(frame, ["x"]).tolist() == [True]


def test_more_distinct_values_than_half_the_rows_are_numeric():
    assert discrete_columns(pd.DataFrame({"x": [1, 2, 3, 1, 2, 3]})).tolist() == [True]
    assert discrete_columns(pd.DataFrame({"x": [1, 2, 3, 1, 2]})).tolist() == [False]
    # Rows without a value do not count.
    assert discrete_columns(pd.DataFrame({"x": [1, 2, 3, 1, 2, np.nan]})).tolist() == [False]


def test_a_weight_of_two_is_two_rows():
    frame = pd.DataFrame({"x": [1, 2, 3]})
    assert discrete_columns(frame, weights=np.array([1.0, 1.0, 3.0])).tolist() == [False]
    assert discrete_columns(frame, weights=np.array([2.0, 2.0, 2.0])).tolist() == [True]
    assert discrete_columns(pd.DataFrame({"x": [1, 1]}), weights=np.array([0.1, 0.1])).tolist() == [True]


def test_a_late_value_counts():
    column = np.tile([0.0, 1.0], 5000)
    assert discrete_columns(pd.DataFrame({"x": column})).tolist() == [True]
    column[-1] = 0.5
    assert discrete_columns(pd.DataFrame({"x": column})).tolist() == [False]
    column[-11:] = range(11)
    assert discrete_columns(pd.DataFrame({"x": column})).tolist() == [False]


@pytest.mark.parametrize(
    "features", [["c", "a"], [0, 2], np.array([2, 0]), [True, False, True], np.array([1, 0, 1]) > 0]
)
def test_listed_columns(features):
    frame = pd.DataFrame(np.linspace(0, 1, 30).reshape(10, 3), columns=list("abc"))
    assert discrete_columns(frame, features).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["lenght"], "lists 'lenght', which is not a column. Did you mean 'length'?"),
        ([0, 2], r"positions \[2\]; columns are numbered 0 to 1"),
        ([-1], r"positions \[-1\]"),
        ([True], "a mask of 1 booleans, but there are 2 columns"),
        (["length", 1], "all names, all positions, or all booleans"),
        ([1.0], "all names, all positions, or all booleans"),
        ("length", "expected 'auto', None, or a list"),
    ],
)
def test_lists_that_do_not_fit(features, message):
    frame = pd.DataFrame({"length": [0.5, 1.5], "width": [1.5, 2.5]})
    with pytest.raises(ValueError, match=message):
        discrete_columns(frame, features)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2020", periods=3),
        pd.date_range("2020", periods=3, tz="UTC"),
        pd.period_range("2020", periods=3, freq="D"),
        pd.timedelta_range("1h", periods=3),
        pd.Series(pd.date_range("2020", periods=3).date, dtype=object),
        pd.Series(list(pd.date_range("2020", periods=3)), dtype=object),
    ],
)
@pytest.mark.parametrize("features", ["auto", None, ["when"]])
def test_points_in_time_are_refused_by_name(column, features):
    with pytest.raises(ValueError, match=r"columns \['when'\] hold points in time or durations"):
        discrete_columns(pd.DataFrame({"x": [1.0, 2.0, 3.0], "when": column}), features)


def test_complex_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match=r"columns \['z'\] hold complex numbers"):
        discrete_columns(pd.DataFrame({"z": [1j, 2.0]}))


def test_numbers_of_a_column():
    for column in ([1, None, 3], pd.array([1, None, 3], dtype="Int64"), np.array([1, np.nan, 3], dtype=object)):
        series = pd.Series(column, name="x")
        assert is_numeric(series)
        np.testing.assert_array_equal(to_floats(series), [1.0, np.nan, 3.0])
    with pytest.raises(ValueError, match=r"infinite numbers in columns \['x'\]"):
        refuse_infinities({"x": to_floats(pd.Series([1.0, -np.inf], name="x"))})
    with pytest.raises(ValueError, match="column 'x' is numeric, but not all its values are numbers"):
        to_floats(pd.Series(["1", "one"], name="x"))


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", object])
def test_the_numbers_of_a_column_are_a_copy(dtype):
    frame = pd.DataFrame({"x": pd.Series([1, 2, 3], dtype=dtype), "y": [4, 5, 6]})
    for column in (frame["x"], frame["x"].iloc[::-1]):
        numbers = to_floats(column)
        assert numbers.flags.c_contiguous
        numbers[:] = 0.0
    assert frame["x"].tolist() == [1, 2, 3]


def test_kinds_of_columns():
    frame = pd.DataFrame(
        {
            "text": ["a", "b"],
            "truth": [True, False],
            "category": pd.Categorical([1, 2]),
            "whole": [1, 2],
            "objects": pd.Series([1, 2.5], dtype=object),
            "nothing": [None, None],
            "time": pd.to_datetime(["2026-01-01", None]),
            "span": pd.to_timedelta(["1h", None]),
            "complex": [1j, 2],
            "box": [[1], [2]],
        }
    )
    kinds = [STATES, STATES, STATES, NUMBERS, NUMBERS, STATES, TIMES, TIMES, COMPLEX, CONTAINERS]
    assert [column_kind(column) for _, column in frame.items()] == kinds
    with pytest.raises(ValueError, match="hold points in time") as refused:
        discrete_columns(frame)
    assert [problem.split(";")[0] for problem in str(refused.value).split(". Also: ")] == [
        "columns ['time', 'span'] hold points in time or durations",
        "columns ['complex'] hold complex numbers",
        "columns ['box'] hold lists or other containers",
    ]


def test_few_whole_numbers_are_coded_as_they_are_found():
    coded = _few_whole_numbers(Cells(pd.Series([3.0, np.nan, 1.0, 3.0, 1.0])))
    assert coded.codes.tolist() == [1, -1, 0, 1, 0]
    assert coded.states == (1, 3)
    assert _few_whole_numbers(Cells(pd.Series(np.arange(22) // 2))) is None
    assert _few_whole_numbers(Cells(pd.Series([*[0] * 2000, *range(20)]))) is None
    assert _few_whole_numbers(Cells(pd.Series([np.nan] * 3))).states == ()


def test_all_problems_of_numbers_are_reported():
    far = [np.inf, 1, 1, 2]
    frame = pd.DataFrame({"a": [0.5, -np.inf, 0, 0], "few": far, "big": pd.Series([10**400] * 4, dtype=object)})
    for features in ("auto", ["few"], None):
        with pytest.raises(
            ValueError, match=r"infinite numbers in columns \['a', 'few'\].*\. Also: column 'big' holds"
        ):
            discrete_columns(frame, features)
