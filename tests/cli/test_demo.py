import re

import pytest
from commands import run
from sklearn.svm import SVC

import bnplug
from bnplug.cli import _demo as demo
from bnplug.experiments import BASELINES
from bnplug.hooks import recipes, registry

ROW = re.compile(r"  (\S.*?) +(\d\.\d{3}) +(\d\.\d{3}) ")


@pytest.fixture
def iris_only(monkeypatch):
    monkeypatch.setattr(demo, "DATASETS", ("iris",))
    monkeypatch.setattr(demo, "MORE", ())


@pytest.mark.usefixtures("iris_only")
def test_demo_shows_the_featured_methods_and_keeps_the_best(tmp_path):
    text = run("demo", "--n-jobs", 1, "-o", tmp_path).output
    rows = [ROW.match(line) for line in text.splitlines()]
    shown = [(row[1], float(row[2])) for row in rows if row]
    assert sorted(name for name, _ in shown) == sorted(demo.featured())
    # The best by validation is first, and the best network is kept, whatever the test rows say of others.
    assert [value for _, value in shown] == sorted((value for _, value in shown), reverse=True)
    best = next(name for name, _ in shown if name not in BASELINES)
    assert re.search(rf"best network by validation.*: {re.escape(best)}, on the test rows \d\.\d+", text)
    for suffix in (".png", ".html", ".csv", ".bif"):
        assert (tmp_path / f"iris{suffix}").stat().st_size > 1000
    assert bnplug.load(tmp_path / "iris").classes_.size == 3
    assert "failed" not in text
    told = text.replace(str(tmp_path), "demo-output").replace(demo._command(), ".venv/bin/bnplug")
    assert max(map(len, told.splitlines())) <= 100
    next_command = text.splitlines()[-1].partition(f"{demo._command()} ")[2].split()
    assert run(*next_command[:-1], tmp_path / "mine").output.startswith(str(tmp_path / "mine"))


def test_the_featured_methods_are_ten_of_all_distributions():
    names = demo.featured()
    assert len(names) == 10
    assert sum(name in BASELINES for name in names) == 1
    brought = {registry.provider(registry.find("recipe", name)).distribution for name in names if name not in BASELINES}
    assert brought == {registry.provider(found.recipe).distribution for found in recipes.availabilities()}


@pytest.mark.usefixtures("third")
def test_a_plugins_classifier_is_among_the_featured_methods():
    assert "majority" in demo.featured()


@pytest.mark.usefixtures("iris_only", "third")
def test_demo_of_all_takes_whatever_registers(tmp_path, monkeypatch):
    few = ["majority", "tan+backoff", "hill-climb(max_parents=2)[cost]"]
    everything = demo.expressions.everything
    assert set(few) <= set(everything())
    monkeypatch.setattr(demo.expressions, "everything", lambda: [name for name in everything() if name in few])
    text = run("demo", "--all", "--n-jobs", 1, "-o", tmp_path).output
    assert sorted(row[1] for row in map(ROW.match, text.splitlines()) if row) == sorted(few)


def test_the_test_rows_are_in_no_fold_of_the_validation():
    for n_folds in (1, 3):
        data = demo._split(demo.datasets.load("iris"), n_folds)
        *inner, (train, test) = data.splits.values()
        assert len(inner) == n_folds
        assert len(train) + len(test) == len(data.X)
        assert not set(train) & set(test)
        for fitted, left_out in inner:
            assert not set(fitted) & set(left_out)
            assert {*fitted, *left_out} == set(train)


class Failing(bnplug.BayesianNetworkClassifier):
    def fit(self, X, y):
        raise ArithmeticError("no\nway")


class Interrupted(bnplug.BayesianNetworkClassifier):
    def fit(self, X, y):
        raise KeyboardInterrupt


@pytest.mark.usefixtures("iris_only")
def test_a_method_that_fails_is_told_and_stops_nothing(tmp_path, monkeypatch):
    methods = {"bad": Failing(), "nb": bnplug.BayesianNetworkClassifier("nb"), "svm": SVC()}
    monkeypatch.setattr(demo, "resolve_methods", lambda names: methods)
    lines = []
    demo.run(tmp_path, lines.append, n_jobs=1)
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("  bad  f")] == [
        "failed: ArithmeticError: no way"
    ]
    assert any(re.match(r"  best network by validation.*: nb, ", line) for line in lines)


@pytest.mark.usefixtures("iris_only")
def test_an_interrupt_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "resolve_methods", lambda names: {"stop": Interrupted()})
    with pytest.raises(KeyboardInterrupt):
        demo.run(tmp_path, str, n_jobs=1)


@pytest.mark.parametrize(
    ("found", "called", "command"),
    [
        ("/usr/bin/bnplug", "x", "bnplug"),
        (None, ".venv/bin/bnplug", ".venv/bin/bnplug"),
        (None, "/lib/bnplug/__main__.py", "python -m bnplug"),
    ],
)
def test_what_to_type_next_is_a_command_that_is_there(monkeypatch, found, called, command):
    monkeypatch.setattr(demo.shutil, "which", lambda name: found)
    monkeypatch.setattr(demo.sys, "argv", [called])
    monkeypatch.setattr(demo.sys, "executable", "python")
    assert demo._command() == command
