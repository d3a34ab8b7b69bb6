"""The room of Dask: imported when asked for, and a clear error where the extra is not installed."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

import bnplug
from bnplug import dask


@pytest.mark.parametrize("absent", ["distributed", "dask.dataframe"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    monkeypatch.delitem(sys.modules, "bnplug.dask")
    with pytest.raises(ImportError, match=r'^bnplug.dask needs dask and distributed.*pip install "bnplug\[dask\]"$'):
        import_module("bnplug.dask")


def test_nothing_else_imports_it():
    root = Path(bnplug.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py") if root / "dask" not in path.parents}
    assert len(texts) > 100
    assert not [path for path, text in texts.items() if "import dask" in text or "bnplug.dask" in text]


def test_its_names():
    assert sorted(dask.__all__) == ["DaskBayesianNetworkClassifier", "DaskStore", "dask_table"]
