"""What pages say about their contents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnplug.html._kit import check_rows, contents, without_folders

ROWS = pd.DataFrame({"x": [1, 2]})


@pytest.mark.parametrize("rows", [0, 5, np.int64(2)])
def test_numbers_of_rows(rows):
    check_rows(rows, ROWS)


@pytest.mark.parametrize("rows", [-1, 1.0, "2", None, True])
def test_other_values_are_refused(rows):
    with pytest.raises(ValueError, match="must be a whole number of at least 0"):
        check_rows(rows, ROWS)


def test_rows_are_taken_from_data():
    check_rows(0, None)
    with pytest.raises(ValueError, match="rows=2 needs X"):
        check_rows(2, None)


@pytest.mark.parametrize(
    ("given", "end"),
    [
        ((0, True), "It contains no rows of data."),
        ((1, False), "1 row of data: its label and values. Share it only with people who may see it."),
        ((1, True), "1 row of data: its label, values and true class. Share it only with people who may see it."),
        (
            (30, True),
            "30 rows of data: their labels, values and true classes. Share it only with people who may see them.",
        ),
    ],
)
def test_sentences(given, end):
    n_rows, has_truth = given
    said = contents(n_rows=n_rows, has_truth=has_truth)
    assert said.startswith("This page contains the model: the names of columns")
    assert said.endswith(end)
    assert "computed from" not in said
    assert "computed from 1,234 rows." in contents(n_rows=n_rows, has_truth=has_truth, n_evaluated=1234)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tan", "tan"),
        ("sa(checkpoint='/home/a b/x.json', k=1)", "sa(checkpoint='x.json', k=1)"),
        (r"SA(checkpoint=WindowsPath('C:\\Users\\a\\x.json'))", "SA(checkpoint=WindowsPath('x.json'))"),
        ("PosixPath('a/x'), \"b/y\"", "PosixPath('x'), \"y\""),
        ("'a/b/'", "''"),
        ("1/2, 'a', 3/4, 'b'", "1/2, 'a', 3/4, 'b'"),
    ],
)
def test_paths_become_names_of_files(text, shown):
    assert without_folders(text) == shown
