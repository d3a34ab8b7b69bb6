"""A look at columns: their kinds, few whole numbers, all that is wrong with them. Which are discrete: test_kinds.py."""

import numpy as np
import pandas as pd
import pytest

from bnplug.data._cells import Cells, cells_of
from bnplug.data._looking import (
    COMPLEX,
    CONTAINERS,
    NUMBERS,
    STATES,
    TIMES,
    column_kinds,
    few_whole_numbers,
    look,
    refuse,
    unsupported,
)


def test_kinds():
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
    assert list(column_kinds(frame).values()) == kinds
    assert [problem.split(";")[0] for problem in unsupported(column_kinds(frame))] == [
        "columns ['time', 'span'] hold points in time or durations",
        "columns ['complex'] hold complex numbers",
        "columns ['box'] hold lists or other containers",
    ]


def test_few_whole_numbers_are_coded_as_they_are_found():
    found = few_whole_numbers(Cells(pd.Series([3.0, np.nan, 1.0, 3.0, 1.0])))
    assert found.codes.tolist() == [1, -1, 0, 1, 0]
    assert found.states == (1, 3)
    assert few_whole_numbers(Cells(pd.Series(np.arange(22) // 2))) is None
    assert few_whole_numbers(Cells(pd.Series([*[0] * 2000, *range(20)]))) is None
    assert few_whole_numbers(Cells(pd.Series([np.nan] * 3))).states == ()


def test_all_problems_of_numbers_are_found():
    far = [np.inf, 1, 1, 2]
    frame = pd.DataFrame({"a": [0.5, -np.inf, 0, 0], "few": far, "big": pd.Series([10**400] * 4, dtype=object)})
    for listed in (None, {"few"}, set()):
        found = look(cells_of(frame), column_kinds(frame), listed)
        assert found.problems[0].startswith("infinite numbers in columns ['a', 'few']")
        assert "'big' holds whole numbers too large" in found.problems[1]
    with pytest.raises(ValueError, match=r"'few'\].*\. Also: column 'big'"):
        refuse(found.problems)
    refuse([])
