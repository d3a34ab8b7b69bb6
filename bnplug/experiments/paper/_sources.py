"""The data of a paper: which are there, and each read once in a process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from bnplug import datasets


def find_data(wanted: Iterable[str], folder: str | os.PathLike[str] | None) -> tuple[list[str], list[str]]:
    """Return which data sets of a paper are there, and which are not, each in the order given.

    Parameters
    ----------
    wanted : iterable of str
        Names of data sets.
    folder : path, optional
        A folder of data files; what ships or is generated is there without one.

    Returns
    -------
    there, lacking : list of str

    Examples
    --------
    >>> find_data(["iris", "timit", "corral"], None)
    (['iris', 'corral'], ['timit'])
    """
    names = list(wanted)
    there = set(datasets.names(None if folder is None else Path(folder)))
    return [name for name in names if name in there], [name for name in names if name not in there]


def load_data(name: str, folder: str | os.PathLike[str] | None) -> datasets.Dataset:
    """Return a data set, read once in a process: a task gets the name, not the rows.

    It is shared by all tasks of the process, so it must not be changed.

    Examples
    --------
    >>> load_data("iris", None) is load_data("iris", None)
    True
    """
    return _read(name, None if folder is None else Path(folder).resolve())


@lru_cache(maxsize=6)
def _read(name: str, folder: Path | None) -> datasets.Dataset:
    return datasets.load(name, folder)
