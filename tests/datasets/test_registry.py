"""Data sets by name: what ships, what is generated, OpenML, and the command that lists them."""

import socket
from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets
from click.testing import CliRunner
from sklearn.utils import Bunch

from bnplug import datasets
from bnplug.cli.datasets import datasets_command
from bnplug.data.kinds import discrete_columns


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("iris", 150, 4, 3), ("wine", 178, 13, 3), ("breast_cancer", 569, 30, 2), ("digits", 1797, 64, 10)],
)
def test_sets_that_scikit_learn_ships(name, rows, features, classes):
    X, y = getattr(datasets, name)()
    assert X.shape == (rows, features)
    assert y.nunique() == classes
    assert y.name
    assert datasets.load(name.replace("_", "-")).categorical_features == "auto"


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("entry", datasets.entries(), ids=lambda entry: entry.name)
def test_every_name_loads_without_network_and_is_as_its_summary_says(entry):
    found = datasets.load(entry.name)
    n, k, c = len(found.X), found.X.shape[1], found.y.nunique()
    told = entry.summary.replace(" (n)", "").split(":")[0]
    assert told == f"{n} rows, {k} features, {c} classes"
    assert found.name == entry.name
    assert found.X.index.equals(found.y.index)
    discrete_columns(found.X, found.categorical_features)


def test_bits_are_categories_and_weights_are_numbers():
    assert datasets.load("corral").categorical_features == tuple(datasets.corral()[0].columns)
    assert datasets.load("balance-scale").categorical_features == ()


def test_parameters_reach_the_function_that_makes_the_set():
    X, y = datasets.led(30, noise=0.3, random_state=7)
    loaded = datasets.load("led", n=30, noise=0.3, random_state=7)
    pd.testing.assert_frame_equal(loaded.X, X)
    pd.testing.assert_series_equal(loaded.y, y)
    assert datasets.load("waveform-40", n=10).X.shape == (10, 40)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("iris", {"n": 10}, "no parameter 'n'; it takes none"),
        ("led", {"rows": 10}, "no parameter 'rows'; it takes only n, noise, random_state"),
        ("monks-1", {"problem": 2}, "no parameter 'problem'"),
        ("openml:iris", {"n": 10}, "only version, data_home"),
    ],
)
def test_unknown_parameters_are_refused(name, parameters, message):
    with pytest.raises(TypeError, match=message):
        datasets.load(name, **parameters)


def test_an_unknown_name_gets_a_hint(tmp_path):
    (tmp_path / "letter.csv").write_text("a,class\n1,x\n2,y\n")
    with pytest.raises(ValueError, match=r"'breast_cancer'\. Did you mean 'breast-cancer'"):
        datasets.load("breast_cancer")
    with pytest.raises(ValueError, match=r"'leter', nor in .*Did you mean 'letter'"):
        datasets.load("leter", tmp_path)


def test_openml_by_name(monkeypatch):
    asked = {}

    def fetch(name, **options):
        asked.update(options, name=name)
        X = pd.DataFrame({"size": [1.0, 2.0], "shape": pd.Categorical(["o", "x"])})
        return Bunch(data=X, target=pd.Series(["a", "b"], dtype="category", name="kind"), details={"version": "3"})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    found = datasets.load("openml:toy", version=3)
    assert (asked["name"], asked["version"]) == ("toy", 3)
    assert found.name == "openml:toy"
    assert found.categorical_features == ("shape",)
    assert found.y.tolist() == ["a", "b"]
    assert found.y.dtype == object
    assert "version 3" in found.source


@pytest.mark.parametrize("error", [URLError("Name or service not known"), ValueError("No active\ndataset toy found.")])
def test_openml_out_of_reach_is_one_clear_line(monkeypatch, error):
    def fetch(*_, **__):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(ValueError, match="openml:toy: not to be had from OpenML") as caught:
        datasets.load("openml:toy")
    assert "\n" not in str(caught.value)


def test_openml_without_a_single_class_is_refused(monkeypatch):
    several = Bunch(data=pd.DataFrame({"a": [1]}), target=pd.DataFrame({"b": [1], "c": [2]}), target_names=["b", "c"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **__: several)
    with pytest.raises(ValueError, match=r"one class column, got \['b', 'c'\]"):
        datasets.load("openml:toy")


@pytest.mark.usefixtures("offline")
def test_the_command_lists_every_name_once(tmp_path):
    (tmp_path / "toy.csv").write_text("a,class\n1,x\n2,y\n")
    result = CliRunner().invoke(datasets_command, ["--data-dir", str(tmp_path)])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == datasets.names(tmp_path)
    assert "toy.csv" in result.output


def test_the_command_refuses_a_folder_that_is_not_there(tmp_path):
    result = CliRunner().invoke(datasets_command, ["--data-dir", str(tmp_path / "nowhere")])
    assert result.exit_code == 1
    assert result.output.strip().splitlines() == [f"bnplug: {tmp_path / 'nowhere'}: there is no such folder"]
