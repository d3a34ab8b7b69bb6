"""The data of a paper: find and load data sets, encode training and test rows, hide features of test rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnplug import datasets, encode_training
from bnplug.datasets import Dataset
from bnplug.experiments import hide_features
from bnplug.experiments.storage import Record
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.predicting import predictive_log_joint
from bnplug.model.log_tables import LogTables
from bnplug.table.table import Table
from bnplug.typing import BoolArray, IntArray

_TARGET = "(class)"

# Numbers of missing features, up to nine tenths of them: with one that is left all of a paper's networks are the same.
_NUMBERS, _MOST = 7, 0.9


def find_data(wanted: Iterable[str], folder: str | os.PathLike[str] | None) -> tuple[list[str], list[str]]:
    """Return which data sets of a paper are available and which are not, each in the order given.

    Parameters
    ----------
    wanted : iterable of str
        Names of data sets.
    folder : path, optional
        A folder of data files, in addition to the data sets that ship or are generated.

    Returns
    -------
    available, lacking : list of str

    Examples
    --------
    >>> find_data(["iris", "timit", "corral"], None)
    (['iris', 'corral'], ['timit'])
    """
    names = list(wanted)
    available = set(datasets.names(None if folder is None else Path(folder)))
    return [name for name in names if name in available], [name for name in names if name not in available]


def load_data(name: str, folder: str | os.PathLike[str] | None) -> Dataset:
    """Return a data set, read once per process: a task gets the name, not the rows.

    All tasks of the process share it, so it must not be changed.

    Examples
    --------
    >>> load_data("iris", None) is load_data("iris", None)
    True
    """
    return _read(name, None if folder is None else Path(folder).resolve())


@lru_cache(maxsize=6)
def _read(name: str, folder: Path | None) -> Dataset:
    return datasets.load(name, folder)


@dataclass(frozen=True, eq=False)
class CodedSplit:
    """Training and test rows, encoded by an encoder fitted on the training rows.

    Attributes
    ----------
    train : Table
    test : array of codes
        In the layout of ``train.codes``.
    labels : int64 array
        The class of each test row, as a state of the table; -1 for a class that no training row has.
    """

    train: Table
    test: Any
    labels: IntArray

    def accuracy(self, tables: LogTables) -> float:
        """Return the accuracy of a network on the test rows, in per cent."""
        joint = predictive_log_joint(Marginalizer(tables, self.train.target), self.test, n_jobs=1)
        return 100 * float((posterior(joint).argmax(axis=1) == self.labels).mean())


def code_split(dataset: Dataset, train: IntArray, test: IntArray, **options: Any) -> CodedSplit:
    """Encode rows of a data set; MDL chooses the cuts of numeric columns on the training rows.

    Parameters
    ----------
    dataset : Dataset
    train, test : int array
        Positions of rows.
    **options
        Further arguments of :func:`bnplug.encode_training`, such as ``missing="value"``.

    Examples
    --------
    >>> from bnplug import Structure, datasets, parameter_learner
    >>> import numpy as np
    >>> iris, rows = datasets.load("iris"), np.arange(150)
    >>> split = code_split(iris, rows[rows % 3 > 0], rows[rows % 3 == 0])
    >>> naive = Structure(split.train.names, split.train.naive_bayes())
    >>> split.accuracy(parameter_learner("ml").fit(split.train, naive))
    94.0
    """
    y = dataset.y.astype(str).to_numpy()
    settings = {"discretizer": "mdl", "categorical_features": dataset.categorical_features, "name": _TARGET}
    table, encoder = encode_training(dataset.X.iloc[train], y[train], **{**settings, **options})
    states = {label: number for number, label in enumerate(table.states[_TARGET])}
    labels = np.array([states.get(label, -1) for label in y[test]], dtype=np.int64)
    return CodedSplit(table, encoder.encode(dataset.X.iloc[test], table), labels)


def hide_draws(
    models: Mapping[str, Any], dataset: Dataset, train: IntArray, test: IntArray, draws: int, seed: int
) -> list[Record]:
    """Fit classifiers, and measure each with features missing in test rows, in the same draws for all.

    Parameters
    ----------
    models : dict of str to classifier
        By the paper's names.
    dataset : Dataset
    train, test : int array
        Positions of rows.
    draws, seed : int
        How many times the missing features of each row are drawn, and the seed.

    Returns
    -------
    list of dict
        ``method``, the number ``missing``, and ``accuracy``, a list over draws (of length one if none is missing).
    """
    fitted = {name: model.fit(dataset.X.iloc[train], dataset.y.iloc[train]) for name, model in models.items()}
    counts = np.unique(np.linspace(0, _MOST * dataset.X.shape[1], _NUMBERS).astype(int)).tolist()
    measured = hide_features(fitted, dataset.X.iloc[test], dataset.y.iloc[test], counts, draws, random_state=seed)
    lists = measured.groupby(["method", "missing"])["accuracy"].apply(list)
    return [{"method": name, "missing": count, "accuracy": lists[name, count]} for name in models for count in counts]


def read_draws(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per draw, numbered across the tasks of a data set, from the results of `hide_draws`.

    Parameters
    ----------
    frame : frame
        ``dataset``, ``method``, ``missing`` and ``accuracy``, a list over draws.

    Examples
    --------
    >>> kept = pd.DataFrame({"dataset": "iris", "method": "NB", "missing": 1, "accuracy": [[0.5, 0.75], [1.0]]})
    >>> read_draws(kept)[["draw", "accuracy"]].to_numpy().tolist()
    [[0.0, 0.5], [1.0, 0.75], [2.0, 1.0]]
    """
    long = frame.explode("accuracy").astype({"accuracy": float})
    return long.assign(draw=long.groupby(["dataset", "method", "missing"]).cumcount())


def is_copy(dataset: Dataset) -> BoolArray:
    """Return which rows have the features of an earlier row whose class is another one.

    A widely used file of the USPS digits has the same images in the classes 5, 6 and 7.

    Examples
    --------
    >>> X, y = pd.DataFrame({"p": [1, 1, 1, 2, 2]}), pd.Series(["5", "6", "6", "1", "1"])
    >>> is_copy(Dataset("usps", X, y, "auto", "")).tolist()
    [False, True, True, False, False]
    """
    same = dataset.X.groupby(list(dataset.X), sort=False, dropna=False).ngroup().to_numpy()
    return np.asarray(dataset.y != dataset.y.groupby(same).transform("first"))
