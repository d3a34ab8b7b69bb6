"""Training rows as a table and test rows as codes, for protocols that learn several things from the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bnplug.arrays import IntArray
from bnplug.data.intake import code
from bnplug.data.table import Table
from bnplug.datasets import Dataset
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.predicting import predictive_log_joint
from bnplug.model.log_tables import LogTables

_TARGET = "(class)"


@dataclass(frozen=True, eq=False)
class CodedSplit:
    """Training and test rows, made discrete by what the training rows say.

    Attributes
    ----------
    train : Table
    test : array of codes
        In the layout of ``train.codes``.
    labels : int64 array
        The class of each test row, as a state of the table; -1 for one that no training row has.
    """

    train: Table
    test: Any
    labels: IntArray

    def accuracy(self, tables: LogTables) -> float:
        """Return how many test rows a network classifies right, in per cent."""
        joint = predictive_log_joint(Marginalizer(tables, self.train.target), self.test, n_jobs=1)
        return 100 * float((posterior(joint).argmax(axis=1) == self.labels).mean())


def code_split(dataset: Dataset, train: IntArray, test: IntArray, **options: Any) -> CodedSplit:
    """Make rows of a data set discrete: numeric columns are cut by MDL on the training rows.

    Parameters
    ----------
    dataset : Dataset
    train, test : int array
        Rows.
    **options
        Others than the defaults of :func:`bnplug.code`, such as ``missing="value"``.

    Examples
    --------
    >>> from bnplug import datasets, parameter_learner
    >>> import numpy as np
    >>> iris, rows = datasets.load("iris"), np.arange(150)
    >>> split = code_split(iris, rows[rows % 3 > 0], rows[rows % 3 == 0])
    >>> naive = split.train.dag(split.train.naive_bayes())
    >>> split.accuracy(parameter_learner("ml").fit(split.train, naive))
    94.0
    """
    y = dataset.y.astype(str).to_numpy()
    settings = {"discretizer": "mdl", "categorical_features": dataset.categorical_features, "target": _TARGET}
    table, intake = code(dataset.X.iloc[train], y[train], **{**settings, **options})
    states = {label: number for number, label in enumerate(table.states[_TARGET])}
    labels = np.array([states.get(label, -1) for label in y[test]], dtype=np.int64)
    return CodedSplit(table, intake.encode(dataset.X.iloc[test], table), labels)
