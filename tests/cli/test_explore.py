import json
import re

import pytest
from commands import run


def rows_of(path):
    (data,) = re.findall(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"))
    return json.loads(data)["rows"]


def test_a_page_without_rows(model, tmp_path):
    assert run("explore", model, "-o", tmp_path / "e.html").output.startswith(f"{tmp_path / 'e.html'}: ")
    assert rows_of(tmp_path / "e.html") == []


def test_rows_with_their_class_and_without(files, model, tmp_path):
    run("explore", model, files / "iris.csv", "-o", tmp_path / "e.html")
    assert rows_of(tmp_path / "e.html") == []
    run("explore", model, files / "iris.csv", "--rows", "61", "-o", tmp_path / "e.html")
    assert len(rows_of(tmp_path / "e.html")) == 61
    assert rows_of(tmp_path / "e.html")[60]["truth"] == "versicolor"
    run("explore", model, files / "unlabelled.csv.gz", "--rows", "61", "-o", tmp_path / "e.html")
    assert "truth" not in rows_of(tmp_path / "e.html")[60]


@pytest.mark.parametrize(
    ("given", "said"), [(["--features", "9"], "features=9: give a number from 1 to 4"), (["x.csv"], "x.csv")]
)
def test_errors_are_one_line(model, tmp_path, given, said):
    error = run("explore", model, *given, "-o", tmp_path / "e.html", code=1).stderr
    assert said in error
    assert len(error.splitlines()) == 1
