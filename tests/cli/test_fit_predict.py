"""`bnplug fit` and `bnplug predict`, of the commands in ``bnplug.cli._models``."""

import io

import numpy as np
import pandas as pd
import pytest
import third_party
from commands import run

import bnplug
from bnplug.datasets import iris, tic_tac_toe


@pytest.mark.parametrize("data", ["iris.csv", "iris.parquet"])
def test_fit_and_predict(files, tmp_path, data):
    text = run("fit", files / data, "--target", "species", "--structure", "kdb", "--set", "structure.k=1",
               "-o", tmp_path / "m").output  # fmt: skip
    assert "150 rows, 4 features" in text
    run("predict", tmp_path / "m", files / data, "-o", tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv")
    X, y = iris()
    assert list(out.columns) == ["species", "P(setosa)", "P(versicolor)", "P(virginica)"]
    assert (out["species"] == y).mean() > 0.9
    assert (out["species"] == bnplug.load(tmp_path / "m").predict(X)).all()


def test_predict_writes_to_standard_output(files, model):
    lines = run("predict", model, files / "unlabelled.csv.gz").output.splitlines()
    assert lines[0] == "species,P(setosa),P(versicolor),P(virginica)"
    assert len(lines) == 151


def test_text_that_looks_like_numbers_stays_text(tmp_path):
    frame = pd.DataFrame({"code": ["1", "2", "x", "1", "2", "x"], "c": ["p", "q", "q", "p", "q", "q"]})
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.head(2).to_csv(tmp_path / "test.csv", index=False)
    run("fit", tmp_path / "train.csv", "--target", "c", "-o", tmp_path / "m")
    result = run("predict", tmp_path / "m", tmp_path / "test.csv")
    assert "not seen" not in result.stderr
    assert [line.split(",")[0] for line in result.stdout.splitlines()[1:]] == ["p", "q"]


def test_missing_cells_are_empty_or_told(tmp_path):
    X, y = tic_tac_toe()
    X.assign(c=y).mask(X.assign(c="") == "b", "?").to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "c", "--na", "?", "-o", tmp_path / "m")
    assert bnplug.load(tmp_path / "m").tables_.states["top-left"] == ("o", "x")


def test_missing_cells_and_classes_are_learned_from(tmp_path):
    X, y = tic_tac_toe()
    rows = X.mask(X == "b").assign(c=y.where(np.arange(len(y)) % 2 == 0))
    rows.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", "--target", "c", "--missing", "em", "--structure", "nb", "-o", tmp_path / "m")
    model = bnplug.load(tmp_path / "m")
    assert model.missing == "em"
    assert model.classes_.tolist() == sorted(set(y))
    plain = run("fit", tmp_path / "t.csv", "--target", "c", "-o", tmp_path / "n", code=1)
    assert "Input y contains NaN" in plain.stderr


def test_a_column_has_its_own_way_with_missing_cells(tmp_path):
    X, y = tic_tac_toe()
    X.mask(X == "b").assign(c=y).to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", tmp_path / "t.csv", "--target", "c", "--structure", "nb", "-o", tmp_path / "m"]
    run(*fit, "--missing", "top-left=value", "--missing", "em")
    model = bnplug.load(tmp_path / "m")
    assert model.missing == {"top-left": "value", "*": "em"}
    assert [len(model.tables_.states[name]) for name in ("top-left", "top-middle")] == [3, 2]
    assert "'mean' is not one of 'ignore', 'em'" in run(*fit, "--missing", "top-left=mean", code=2).stderr


ERRORS = {
    "no file": (["fit", "nowhere.csv", "--target", "c", "-o", "m"], 1, "nowhere.csv: there is no such file"),
    "no target": (["fit", "{iris}", "--target", "c", "-o", "m"], 1, "target 'c' is not a column"),
    "unknown structure": (
        ["fit", "{iris}", "--target", "species", "--structure", "tann", "-o", "m"], 1, "Did you mean 'tan'"),
    "unknown setting": (
        ["fit", "{iris}", "--target", "species", "--structure", "kdb", "--set", "structure.kk=1", "-o", "m"], 1,
        "there is no parameter 'structure.kk'. Did you mean 'k'? There are: structure.correction, "),
    "unknown setting of a classifier": (
        ["fit", "{iris}", "--target", "species", "--method", "aode", "--set", "min_cont=1", "-o", "m"], 1,
        "there is no parameter 'min_cont'. Did you mean 'min_count'? There are: "),
    "unknown component": (
        ["fit", "{iris}", "--target", "species", "--set", "structur.k=1", "-o", "m"], 1,
        "there is no parameter 'structur'. Did you mean 'structure'?"),
    "setting of no component": (
        ["fit", "{iris}", "--target", "species", "--set", "verbose.k=1", "-o", "m"], 1, "has no nested parameters"),
    "no setting": (["fit", "{iris}", "--target", "species", "--set", "structure", "-o", "m"], 2, "NAME=VALUE"),
    "no output": (["fit", "{iris}", "--target", "species"], 2, "--output"),
    "no model": (["predict", "nowhere", "{iris}"], 1, "it has no model.json"),
    "unknown command": (["fitt"], 2, "fitt"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_with_an_exit_code(case, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args, code, message = ERRORS[case]
    result = run(*[arg.format(iris=files / "iris.csv") for arg in args], code=code)
    assert message in result.stderr
    assert "Traceback" not in result.output
    if code == 1:
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("bnplug: ")


def test_unreadable_files_are_named(files, tmp_path, model):
    (tmp_path / "bad.parquet").write_text("not parquet")
    (tmp_path / "empty.csv").write_text("")
    for name in ("bad.parquet", "empty.csv"):
        assert name in run("predict", model, tmp_path / name, code=1).stderr
    (tmp_path / "twice.csv").write_text("a,a,c\n1,2,3\n")
    assert "duplicate" in run("fit", tmp_path / "twice.csv", "--target", "c", "-o", tmp_path / "m", code=1).stderr


@pytest.mark.usefixtures("third")
def test_a_plugins_classifier_is_fitted_saved_and_asked(files, tmp_path):
    data, folder = files / "iris.csv", tmp_path / "model"
    made = run("fit", data, "--target", "species", "--method", "majority(alpha=2.0)", "-o", folder).output
    assert "Majority(alpha=2.0), classifier 'majority' of bnplug-third 1.0" in made
    predicted = pd.read_csv(io.StringIO(run("predict", folder, data).stdout))
    frame = pd.read_csv(data)
    X, y = frame.drop(columns="species"), frame["species"]
    expected = third_party.Majority(alpha=2.0).fit(X, y)
    assert list(predicted["species"]) == list(expected.predict(X))
    assert np.allclose(predicted.iloc[:, 1:], expected.predict_proba(X))
    evaluated = run("evaluate", folder, data).output
    assert f"accuracy           {expected.score(X, y):.4f}" in evaluated
    assert "classes: setosa, versicolor, virginica" in run("show", folder).output
    again = bnplug.load(folder)
    bnplug.save(again, folder)
    assert run("evaluate", folder, data).output == evaluated
    bnplug.save(expected, folder)
    assert "the model does not say which column is its class" in run("evaluate", folder, data, code=1).stderr
    assert run("evaluate", folder, data, "--target", "species").output == evaluated
    commands = [["show", folder, "--plot", tmp_path / "a.png"], ["export", folder, tmp_path / "a.bif"]]
    for command in (*commands, *([name, folder, "-o", tmp_path / "a.html"] for name in ("report", "explore"))):
        error = run(*command, code=1).stderr
        assert "which is not a Bayesian network; use predict or evaluate" in error
        assert len(error.splitlines()) == 1


def test_a_composition_is_fitted_by_its_expression(files, tmp_path):
    run("fit", files / "iris.csv", "--target", "species", "--method", "kdb(k=1)+ml(alpha=0.5)", "-o", tmp_path / "m")
    made = bnplug.load(tmp_path / "m").made_
    assert (made["structure"], made["parameters"]) == ("kdb(k=1)", "ml(alpha=0.5)")
    error = run("fit", files / "iris.csv", "--target", "species", "--method", "kdb(k=1", "-o", tmp_path / "n", code=1)
    assert "cannot be read at character 4: the parenthesis is not closed" in error.stderr
