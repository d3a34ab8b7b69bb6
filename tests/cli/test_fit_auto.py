"""`bnplug fit --method auto`."""

import pytest
from commands import run

import bnplug
from bnplug.datasets import iris


def test_the_recommended_classifier_is_saved(files, tmp_path):
    arguments = ["--target", "species", "--method", "auto", "--time-limit", "600", "--random-state", "1"]
    candidates = "candidates=['naive Bayes', 'default']"
    text = run("fit", files / "iris.csv", *arguments, "--set", candidates, "-o", tmp_path / "m").output
    assert len(text.splitlines()) == 4
    assert "naive Bayes 0." in text
    assert "All candidates were compared on all rows." in text
    X, y = iris()
    chosen = bnplug.recommend(X, y, None, candidates=["naive Bayes", "default"], random_state=1, verbose=0)
    assert (bnplug.load(tmp_path / "m").predict_proba(X) == chosen.predict_proba(X)).all()


def test_a_plugins_classifier_predicts_from_files(files, tmp_path):
    candidates = "candidates=['mixture(n_members=1)']"
    fit = ["fit", files / "iris.csv", "--target", "species", "--method", "auto", "--set", candidates]
    assert "Chosen: mixture(n_members=1)" in run(*fit, "-o", tmp_path / "m").output
    assert run("predict", tmp_path / "m", files / "unlabelled.csv.gz").output.startswith("species,P(setosa)")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--time-limit", "5"], 2, "--time-limit needs --method auto"),
        (["--method", "auto", "--time-limit", "0"], 2, "--time-limit"),
        (["--method", "auto", "--structure", "kdb"], 1, "structure: recommend chooses them"),
        (["--method", "auto", "--set", "structure.k=2"], 1, "structure__k"),
    ],
)
def test_what_does_not_go_together(files, tmp_path, options, code, message):
    told = run("fit", files / "iris.csv", "--target", "species", *options, "-o", tmp_path / "m", code=code).stderr
    assert message in told


def test_several_files_are_refused(files, tmp_path):
    rows = [files / "iris.csv", files / "iris.csv"]
    told = run("fit", *rows, "--target", "species", "--method", "auto", "-o", tmp_path / "m", code=1).stderr
    assert "learns from one file" in told
