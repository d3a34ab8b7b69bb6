"""Data sets of OpenML, whose answers stand in here."""

from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from bnplug import datasets


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
    with pytest.raises(ValueError, match="openml:toy: cannot be loaded from OpenML") as caught:
        datasets.load("openml:toy")
    assert "\n" not in str(caught.value)


def test_openml_without_a_single_class_is_refused(monkeypatch):
    several = Bunch(data=pd.DataFrame({"a": [1]}), target=pd.DataFrame({"b": [1], "c": [2]}), target_names=["b", "c"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *_, **__: several)
    with pytest.raises(ValueError, match=r"one class column, got \['b', 'c'\]"):
        datasets.load("openml:toy")
