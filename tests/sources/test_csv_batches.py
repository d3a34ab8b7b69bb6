"""CSV files in batches: each column has the type that it would have if the file were read at once."""

import gzip

import pandas as pd
import pytest

from bnplug.sources._streaming import CsvRows, DataFiles, are_dates
from bnplug.sources.files import read_data

FILES = {
    "types": "a,b,c,d\n1,0.5,x,True\n2,,y,False\n3,2,z,True\n4,1.5,,False\n",
    "text late": "a,b\n1,1.0\n2,2\n3,3\nn,4\n5,5\n",
    "text early": "a\nn\n2\n3\n4\n",
    "zeros first": "zip,n\n1,1\n22,2\n007,3\n4,4\n",
    "zeros in fractions": "a\n1\n007\n0.5\n",
    "truth or not": "a\nTrue\nFalse\nmaybe\nTrue\n",
    "truth with gaps": "a,b\nTrue,1\n,2\nFalse,3\n",
    "truth and numbers": "a\nTrue\nFalse\n1\n0\n",
    "gaps": "a,b\n,1\n,2\n3,\n4,\n",
    "nothing": "a,b\n,1\n,2\n,3\n",
    "delimiter at the end": "a,b,\n1,2,\n3,4,\n5,6,\n",
    "without a name": "a,,b\n1,2,3\n4,5,6\n",
    "quoted": 'a,b\n"x,y",1\n"z\nw",2\n',
    "other missing": "a,b\n?,1\n2,?\n3,4\n",
    "nan": "a,b,c,d,e\n1,x,True,nan,007\nnan,nan,nan,NaN,1\n2.5,NaN,False,nan,nan\n",
    "large beside nan": "a,b\n9007199254740993,123456789012345678901234\nnan,NaN\n1,2\n",
}


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
@pytest.mark.parametrize("name", FILES)
def test_a_file_in_batches_is_the_file(tmp_path, name, batch_rows):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(FILES[name].encode()))
    expected = read_data(path, missing=["?"])
    rows = CsvRows(path, missing=["?"], batch_rows=batch_rows)
    assert rows.names == list(expected.columns)
    assert rows.n_rows == len(expected)
    found = pd.concat(list(rows.batches(rows.names)), ignore_index=True)
    for column in expected:
        given, read = expected[column], found[column]
        assert [None if pd.isna(own) else own for own in read] == [None if pd.isna(own) else own for own in given]
        assert pd.api.types.is_numeric_dtype(given) == pd.api.types.is_numeric_dtype(read) or given.isna().all()


def test_columns_are_read_as_is_said(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n1;007;2026-01-31\n2;008;2026-02-28\n")
    rows = CsvRows(path, text=["a"], numbers=["b"], sep=";", dates=["c"])
    (frame,) = rows.batches(["c", "b", "a"])
    assert list(frame) == ["c", "b", "a"]
    assert frame["a"].tolist() == ["1", "2"]
    assert frame["b"].tolist() == [7, 8]
    assert frame["c"].dt.month.tolist() == [1, 2]


def test_nan_is_text_in_columns_of_text_and_missing_in_others(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(FILES["nan"])
    frame = read_data(path)
    assert frame["b"].tolist() == ["x", "nan", "NaN"]
    assert frame["e"].tolist() == ["007", "1", "nan"]
    assert frame[["a", "c", "d"]].isna().to_numpy().tolist() == [[0, 0, 1], [1, 1, 1], [0, 0, 1]]
    assert read_data(path, missing=["nan"])["b"].isna().tolist() == [False, True, False]
    path.write_text("a,b\nmany,nan\nnan,nan\n")
    for frame in (read_data(path, numbers=["a"], text=["b"]), *CsvRows(path, ["b"], (), ["a"]).batches(["a", "b"])):
        assert frame["a"].isna().tolist() == [False, True]
        assert frame["b"].tolist() == ["nan", "nan"]
    path.write_text("a\n2026-01-31\nnan\n")
    assert are_dates(read_data(path)["a"])
    (frame,) = CsvRows(path, dates=None).batches(["a"])
    assert frame["a"].isna().tolist() == [False, True]
    assert frame["a"].dt.month.tolist()[0] == 1


def test_dates_are_found_where_that_is_wanted(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n2026-01-31,2026-01-31\n2026-02-28,soon\n,2026-01-31\n")
    (plain,) = CsvRows(path).batches(["a", "b"])
    assert plain["a"].tolist()[:2] == ["2026-01-31", "2026-02-28"]
    found = pd.concat(list(CsvRows(path, dates=None, batch_rows=1).batches(["a", "b"])))
    assert found["a"].dt.day.tolist()[:2] == [31, 28]
    assert found["b"].tolist() == ["2026-01-31", "soon", "2026-01-31"]
    (text,) = CsvRows(path, text=["a"], dates=None).batches(["a"])
    assert text["a"].tolist()[:2] == ["2026-01-31", "2026-02-28"]


def test_a_row_that_is_too_long_is_told_by_its_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6,7\n")
    with pytest.raises(ValueError, match="line 4 has 3 fields, but the header has 2"):
        CsvRows(path)
    path.write_text("a,b\n1,2,3\n")
    with pytest.raises(ValueError, match="line 2 has 3 fields"):
        CsvRows(path)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2026-01-31", None], True),
        (["2026-01-31T10:20", "2026-01-31 10:20:30.5"], True),
        (["2026-02-31"], False),
        (["2026-01-31", "soon"], False),
        ([None], False),
        ([20260131], False),
    ],
)
def test_what_looks_like_dates(cells, expected):
    assert are_dates(pd.Series(cells, dtype=object)) == expected


def test_dates_that_are_not_in_iso_8601_are_refused_not_guessed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("when\n2026-01-02\n01.02.2026\n")
    with pytest.raises(ValueError, match=r"rows\.csv.*column 'when': '01\.02\.2026' is not a date in ISO 8601"):
        list(DataFiles(path, dates=["when"]).batches())
