"""No cell of a CSV file is a formula, unless that is asked for; numbers stay numbers."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from bnplug.sources.spreadsheets import to_csv


@pytest.mark.parametrize("cell", ["=cmd|' /C calc'!A0", "+1+1", "-2-3", "@SUM(A1)", "\t=1", "=HYPERLINK(1)"])
def test_what_a_program_would_run_gets_an_apostrophe(cell):
    frame = pd.DataFrame({"class": [cell, "b"], cell: ["x", cell], "n": [-1.0, 2.0]})
    read = pd.read_csv(io.StringIO(to_csv(frame), newline=""), keep_default_na=False)
    assert read.columns.tolist() == ["class", "'" + cell, "n"]
    assert read["class"].tolist() == ["'" + cell, "b"]
    assert read.iloc[:, 1].tolist() == ["x", "'" + cell]
    assert read["n"].tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-1e-3", "a=b", "", "1-2", "+", "-"])
def test_other_text_and_numbers_stay(cell):
    frame = pd.DataFrame({"class": [cell, "b"]})
    assert to_csv(frame) == frame.to_csv(index=False)


def test_formulas_are_written_where_they_are_asked_for():
    frame = pd.DataFrame({"class": pd.Categorical(["=1", "b"])})
    assert to_csv(frame, formulas=True) == "class\n=1\nb\n"
    assert to_csv(frame) == "class\n'=1\nb\n"
