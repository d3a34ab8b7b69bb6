"""Data sets by name."""

import socket

import pandas as pd
import pytest

from bnplug import datasets
from bnplug.table.kinds import discrete_columns


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


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
