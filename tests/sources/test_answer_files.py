"""Answers batch by batch: one file in the end, or none."""

import gzip

import pandas as pd
import pytest

from bnplug.sources.spreadsheets import _answer_file

FRAMES = [
    pd.DataFrame({"key": [None, None], "y": ["p", "=q"], "P": [0.5, 0.25]}),
    pd.DataFrame({"key": ["a"], "y": ["r"], "P": [1.0]}),
]


def write(path, **options):
    with _answer_file(path, **options) as file:
        for frame in FRAMES:
            file.write(frame)
            assert not path.exists()


def test_csv_has_one_header(tmp_path):
    write(tmp_path / "a.csv", formulas=True)
    assert (tmp_path / "a.csv").read_text() == "key,y,P\n,p,0.5\n,=q,0.25\na,r,1.0\n"
    write(tmp_path / "b.csv.gz")
    assert gzip.decompress((tmp_path / "b.csv.gz").read_bytes()).decode() == "key,y,P\n,p,0.5\n,'=q,0.25\na,r,1.0\n"


def test_parquet_has_the_types_of_the_first_batch(tmp_path):
    pytest.importorskip("pyarrow")
    write(tmp_path / "a.parquet")
    found = pd.read_parquet(tmp_path / "a.parquet")
    assert found["key"].tolist()[2] == "a"
    assert found["key"].isna().tolist() == [True, True, False]
    assert found["P"].tolist() == [0.5, 0.25, 1.0]


def test_the_same_answers_are_the_same_bytes(tmp_path):
    write(tmp_path / "a.csv.gz")
    write(tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_where_it_fails_nothing_is_left(tmp_path, name):
    pytest.importorskip("pyarrow")
    with pytest.raises(AttributeError), _answer_file(tmp_path / name) as file:
        [file.write(frame) for frame in (FRAMES[0], "no frame")]
    assert not list(tmp_path.iterdir())
