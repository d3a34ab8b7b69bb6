"""Files in batches: all their rows in order, with columns that are of one type in all files."""

import numpy as np
import pandas as pd
import pytest

import bnplug.sources._streaming as streaming
from bnplug.sources._streaming import DataFiles, find_files

pytest.importorskip("pyarrow")
FRAME = pd.DataFrame(
    {
        "t": ["u", None, "v", "u", "w"],
        "x": [0.5, 1.5, np.nan, 3.5, 4.5],
        "k": [1, 2, 3, 4, 5],
        "b": [True, False, True, False, True],
        "c": pd.Categorical(list("abbab"), categories=["b", "a"]),
        "when": pd.to_datetime(["2026-01-31"] * 4 + [None]),
    }
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streaming, "BATCH_ROWS", 2)


def parts(folder, frame, ending="parquet", sizes=(2, 3)):
    start = 0
    for i, size in enumerate(sizes):
        path, rows = folder / f"rows-{i}.{ending}", frame.iloc[start : start + size]
        if ending == "parquet":
            rows.to_parquet(path, index=False, row_group_size=2)
        else:
            rows.to_csv(path, index=False)
        start += size
    return folder


def rows_of(files, columns=None):
    return pd.concat([batch.frame.astype(object) for batch in files.batches(columns)], ignore_index=True)


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])
def test_all_rows_come_in_order(tmp_path, ending):
    files = DataFiles(str(parts(tmp_path, FRAME, ending) / f"*.{ending}"))
    assert files.names == list(FRAME)
    assert files.n_rows == 5
    assert [len(batch.frame) for batch in files.batches()] == [2, 2, 1]
    found = rows_of(files).drop(columns="when")
    pd.testing.assert_frame_equal(
        found, FRAME.drop(columns="when").astype(object).where(found.notna(), np.nan), check_dtype=False
    )
    assert list(rows_of(files, ["k", "t"])) == ["t", "k"]


def test_what_columns_hold_is_told(tmp_path):
    files = DataFiles(str(parts(tmp_path, FRAME) / "*.parquet"))
    batch = next(files.batches())
    assert batch.kinds == {
        "t": "text", "x": "numbers", "k": "numbers", "b": "truth values", "c": "categories",
        "when": "points in time or durations",
    }  # fmt: skip
    assert batch.path == tmp_path / "rows-0.parquet"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_numbers_in_one_file_and_text_in_another_are_an_error_that_names_both(tmp_path, ending):
    parts(tmp_path, FRAME[["t", "k"]], ending)
    path = tmp_path / f"rows-1.{ending}"
    other = FRAME[["t"]].assign(k="n")[2:]
    other.to_parquet(path, index=False) if ending == "parquet" else other.to_csv(path, index=False)
    with pytest.raises(
        ValueError, match=rf"'k' contains numbers in .*rows-0\.{ending}, but text in .*rows-1\.{ending}"
    ):
        list(DataFiles(str(tmp_path / "*")).batches())


def test_a_column_may_be_empty_in_one_file(tmp_path):
    parts(tmp_path, FRAME[["t", "k"]].assign(k=[None, None, 1, 2, 3], t=["u", "v", None, None, None]))
    assert rows_of(DataFiles(str(tmp_path / "*")))["k"].tolist()[2:] == [1, 2, 3]


def test_files_must_have_the_same_columns_in_any_order(tmp_path):
    FRAME[["t", "k"]].to_parquet(tmp_path / "a.parquet", index=False)
    FRAME[["k", "t"]].to_parquet(tmp_path / "b.parquet", index=False)
    assert list(rows_of(DataFiles([tmp_path / "a.parquet", tmp_path / "b.parquet"]))) == ["t", "k"]
    FRAME[["k", "x"]].to_parquet(tmp_path / "c.parquet", index=False)
    with pytest.raises(ValueError, match=r"c\.parquet has the columns \['x'\] more and lacks the columns \['t'\].*a\."):
        DataFiles(str(tmp_path / "*.parquet"))


def test_names_of_rows_are_no_column(tmp_path):
    FRAME[["t"]].set_axis(list("pqrst")).to_parquet(tmp_path / "a.parquet")
    assert DataFiles(tmp_path / "a.parquet").names == ["t"]


def test_patterns_lists_and_paths(tmp_path, monkeypatch):
    for name in ("b.csv", "a.csv", "c[1].csv", "d.txt"):
        (tmp_path / name).write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in find_files("*.csv")] == ["a.csv", "b.csv", "c[1].csv"]
    assert [path.name for path in find_files(["b.csv", tmp_path / "a.csv"])] == ["b.csv", "a.csv"]
    assert [path.name for path in find_files("c[1].csv")] == ["c[1].csv"]
    with pytest.raises(ValueError, match="no file matches this pattern"):
        find_files("*.parquet")
    with pytest.raises(ValueError, match="list of paths is empty"):
        find_files([])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"no parquet", "a.parquet: not readable as Parquet"),
        ("a.csv.gz", b"no gzip", "a.csv.gz: not readable as .gz"),
        ("a.csv", b"x\n\xff\xfe\n", "a.csv: no text in utf-8"),
        ("a.csv", b"x,y\n1,2,3\n", "a.csv: not readable as .csv: line 2 has 3 fields"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(DataFiles(tmp_path / name).batches())


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        DataFiles(tmp_path / "gone.csv")
    with pytest.raises(ValueError, match="not a regular file"):
        DataFiles(tmp_path)


def test_files_agree_on_what_is_a_date(tmp_path):
    for i, text in enumerate(
        ["a,b,e,c\n2026-01-31,2026-01-31,,2026-01-01\n", "a,b,e,c\n2026-02-28,soon,2026-03-01,2026-01-02\n"]
    ):
        (tmp_path / f"{i}.csv").write_text(text)
    files = DataFiles(f"{tmp_path}/*.csv", dates=None, labels=["c"])
    one, other = (batch.frame for batch in files.batches())
    assert [frame["a"].dt.day.tolist() for frame in (one, other)] == [[31], [28]]
    assert [frame["b"].tolist() for frame in (one, other)] == [["2026-01-31"], ["soon"]]
    assert other["e"].dt.month.tolist() == [3]
    assert one["c"].tolist() == ["2026-01-01"]
