"""Text that is mostly numbers or dates: what it is, what else is in it, and what `fit` says about it."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.sources.files import read_data
from bnplug.table.inspection import date_formats, determines_class, numeric_text

NUMBERS = [f"{i / 4}" for i in range(100)]


@pytest.mark.parametrize(
    ("values", "rows", "expected"),
    [
        ([*NUMBERS, "?", "n/a"], [3] * 100 + [2, 5], (300 / 307, (("n/a", 5), ("?", 2)), None, None)),
        ([*NUMBERS, "b", "a"], [1] * 102, (100 / 102, (("a", 1), ("b", 1)), None, None)),
        ([n.replace(".", ",") for n in NUMBERS], [1] * 100, (1.0, (), "0,0", None)),
        ([f"{i:,}" for i in range(990, 1020)], [1] * 30, (1.0, (), None, "1,000")),
        ([*(f"{i:,}" for i in range(990, 1020)), "3,5"], [1] * 31, (1.0, (), "3,5", None)),
        ([*range(12), "?"], [5] * 13, (12 / 13, (("?", 5),), None, None)),
        (["-1e3", *NUMBERS, " 7 ", "+.5", "x"], [1] * 104, (103 / 104, (("x", 1),), None, None)),
    ],
    ids=["markers", "ties", "commas", "thousands", "both", "numbers and text", "forms"],
)
def test_text_that_is_mostly_numbers(values, rows, expected):
    assert tuple(numeric_text(values, rows)) == (pytest.approx(expected[0]), *expected[1:])


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (NUMBERS, [1] * 100),
        (list(range(100)), [1] * 100),
        ([*NUMBERS[:9], "?"], [1] * 10),
        ([*NUMBERS, "?"], [1] * 100 + [26]),
        ([*NUMBERS, *(f"w{i}" for i in range(26))], [9] * 100 + [1] * 26),
        ([], []),
    ],
    ids=["numbers alone", "no text", "few numbers", "few cells", "many words", "nothing"],
)
def test_other_columns(values, rows):
    assert numeric_text(values, rows) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2021-01-31", "2021-02-03T10:00", "31.01.2021"], [("YYYY-MM-DD", 2), ("DD.MM.YYYY", 1)]),
        (["13/01/2021", "02/03/2021", "04/03/2021"], [("DD/MM/YYYY", 3)]),
        (["01/13/2021", "02/03/2021"], [("MM/DD/YYYY", 2)]),
        (["01/13/2021", "13/01/2021", "02/03/2021"], [("DD/MM/YYYY", 1), ("MM/DD/YYYY", 1)]),
        (["01/02/2021", "03/04/2021"], [("DD/MM/YYYY or MM/DD/YYYY", 2)]),
        (["Jan 31, 2021", "1 Feb 2021", "Mar 3, 2021"], [("Mon DD, YYYY", 2), ("DD Mon YYYY", 1)]),
        (["2021-01-31", "none", "unknown"], []),
        (["32/32/2021", "13/13/2021"], []),
        (["word", "2021-01-31"], []),
    ],
)
def test_formats_of_dates(values, expected):
    assert [(known.name, known.rows) for known in date_formats(values, [1] * len(values))] == expected


def test_a_format_is_one_that_pandas_reads():
    values = ["2021-01-31", "31.01.2021", "31.01.21", "31-01-2021", "31-Jan-2021", "Jan 31, 2021", "31 Jan 2021"]
    values += ["2021/01/31", "2021.01.31", "31/01/2021"]
    known = date_formats(values, [1] * len(values))
    assert len(known) == len(values)
    for found in known:
        assert pd.to_datetime(found.example, format=found.pattern) == pd.Timestamp("2021-01-31")


def test_states_that_determine_the_class():
    assert determines_class(np.array([[9.0, 0], [0, 9], [7, 0]]))
    assert not determines_class(np.array([[9.0, 0], [0, 9], [7, 1]]))
    assert not determines_class(np.array([[9.0, 0], [7, 0]]))
    # Of three states in 15 rows, each with one class, two may be chance.
    assert not determines_class(np.array([[4.0, 0], [0, 4], [4, 0]]))


def test_fit_names_both_formats_of_dates(tmp_path):
    days = pd.date_range("2021-01-13", periods=40)
    text = [day.strftime("%d.%m.%Y" if i % 4 == 0 else "%Y-%m-%d") for i, day in enumerate(days)]
    X, y = pd.DataFrame({"day": text, "x": [1, 2] * 20}), pd.Series([*"pqqp"] * 10, name="y")
    said = r"column 'day' has dates in several formats: YYYY-MM-DD \('2021-01-14', 30 rows\) and DD.MM.YYYY \('02.02"
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    for fit in (lambda model: model.fit(X, y), lambda model: model.fit_files(tmp_path / "rows.csv", "y")):
        with (
            pytest.warns(bnplug.AmbiguousValueWarning, match=said),
            pytest.warns(bnplug.UselessColumnWarning, match="like an identifier"),
        ):
            fit(BayesianNetworkClassifier("nb"))


def test_fit_names_the_other_text_of_a_column_that_it_leaves_out():
    x = pd.Series(np.random.default_rng(0).normal(size=200)).map(str).where(np.arange(200) % 20 > 0, "?")
    X = pd.DataFrame({"pr": x, "sex": ["f", "m"] * 100})
    with (
        pytest.warns(bnplug.AmbiguousValueWarning, match=r"^95% of .* 'pr' are numbers; the others: '\?' \(10 rows\)"),
        pytest.warns(bnplug.UselessColumnWarning, match="'pr'"),
    ):
        BayesianNetworkClassifier("nb").fit(X, [*"pqqp"] * 50)


def test_decimal_commas_are_read_from_memory_and_in_batches(tmp_path):
    numbers = np.random.default_rng(1).normal(20, 5, 300).round(2)
    y = np.where(numbers > 20, "p", "q")
    y[:30] = "p"
    for sep in ",;":
        rows = pd.DataFrame({"x": [str(x).replace(".", ",") for x in numbers], "n": np.arange(300) % 3, "y": y})
        rows.to_csv(tmp_path / "rows.csv", index=False, sep=sep)
        frame = read_data(tmp_path / "rows.csv", sep=sep, decimal=",")
        assert frame["x"].tolist() == numbers.tolist()
        expected = BayesianNetworkClassifier("nb").fit(frame[["x", "n"]], frame["y"])
        model = BayesianNetworkClassifier("nb")
        model.fit_files(tmp_path / "rows.csv", "y", csv={"sep": sep, "decimal": ","})
        assert (model.predict_proba(frame[["x", "n"]]) == expected.predict_proba(frame[["x", "n"]])).all()


def test_a_wrong_separator_suggests_the_right_one_for_files(tmp_path):
    pd.DataFrame({"x": [1, 2], "y": ["p", "q"]}).to_csv(tmp_path / "rows.csv", index=False, sep="\t")
    with pytest.raises(ValueError, match=r"separated by '\\t': --sep"):
        BayesianNetworkClassifier("nb").fit_files(tmp_path / "rows.csv", "y")
