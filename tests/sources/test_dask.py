"""The room of Dask: imported when asked for, and a clear error where the extra is not installed."""

import re
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
    folder = root / "sources" / "dask"
    texts = {path: path.read_text() for path in root.rglob("*.py") if folder not in path.parents}
    del texts[root / "dask.py"]
    assert len(texts) > 100
    imports = re.compile(
        r"^\s*(from|import) (bnplug\.)?(dask|distributed)\b|from bnplug import .*\bdask\b", re.MULTILINE
    )
    assert not [path for path, text in texts.items() if imports.search(text)]


def test_its_names():
    assert sorted(dask.__all__) == ["DaskBayesianNetworkClassifier", "DaskClassifier", "DaskStore"]
