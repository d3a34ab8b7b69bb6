"""Answers batch by batch: one file in the end, or none."""

import gzip

import pandas as pd
import pytest
from commands import run

from bnplug import BayesianNetworkClassifier
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


@pytest.mark.parametrize(
    ("csv", "said"),
    [
        ({"missing": "NA"}, r"csv: missing='NA'; expected a list, such as \['NA'\]"),
        ({"text": "zip"}, r"csv: text='zip'; expected a list, such as \['zip'\]"),
        ({"text": ["Zip"]}, "csv: text names 'Zip', and there is no such column. Did you mean 'zip'"),
        ({"dates": ["day"]}, "csv: dates names 'day', and there is no such column"),
    ],
)
def test_options_of_csv_files_are_lists_of_columns_that_exist(tmp_path, csv, said):
    """The text "NA" was read as the list of "N" and "A", so the answer N was a missing cell."""
    rows = pd.DataFrame({"zip": ["01", "02", "03"] * 20, "answer": ["N", "A", "Y"] * 20, "y": ["p", "q"] * 30})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = BayesianNetworkClassifier("nb")
    with pytest.raises(ValueError, match=said):
        model.fit_files(tmp_path / "rows.csv", "y", csv=csv)
    model.fit_files(tmp_path / "rows.csv", "y")
    with pytest.raises(ValueError, match=said):
        model.predict_files(tmp_path / "rows.csv", tmp_path / "out.csv", csv=csv)
    assert not (tmp_path / "out.csv").exists()


def test_predictions_do_not_replace_the_rows(tmp_path):
    rows = pd.DataFrame({"x": ["a", "b", "b"] * 20, "y": ["p", "q"] * 30})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    before = (tmp_path / "rows.csv").read_bytes()
    model = BayesianNetworkClassifier("nb").fit(rows[["x"]], rows["y"])
    model.save(tmp_path / "model")
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    for out in ("rows.csv", "link.csv"):
        with pytest.raises(ValueError, match=f"{out} is the file with the rows: write the predictions to another file"):
            model.predict_files(tmp_path / "rows.csv", tmp_path / out)
    told = run("predict", tmp_path / "model", tmp_path / "rows.csv", "-o", tmp_path / "rows.csv", code=1)
    assert "is the file with the rows" in told.stderr
    assert (tmp_path / "rows.csv").read_bytes() == before
