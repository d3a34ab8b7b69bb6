"""Missing features in draws: what tasks keep of them, and how a page reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bnplug.arrays import IntArray
from bnplug.datasets import Dataset
from bnplug.experiments.hiding import hide_features
from bnplug.experiments.storage import Record

# Numbers of missing features, up to nine tenths of them: with one that is left all of a paper's networks are the same.
_NUMBERS, _MOST = 7, 0.9


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
        Rows.
    draws, seed : int
        How often which features are missing is drawn for each row, and the seed of that.

    Returns
    -------
    list of dict
        ``method``, the number ``missing``, and ``accuracy``, a list over draws (one where none is missing).
    """
    fitted = {name: model.fit(dataset.X.iloc[train], dataset.y.iloc[train]) for name, model in models.items()}
    counts = np.unique(np.linspace(0, _MOST * dataset.X.shape[1], _NUMBERS).astype(int)).tolist()
    found = hide_features(fitted, dataset.X.iloc[test], dataset.y.iloc[test], counts, draws, random_state=seed)
    lists = found.groupby(["method", "missing"])["accuracy"].apply(list)
    return [{"method": name, "missing": count, "accuracy": lists[name, count]} for name in models for count in counts]


def read_draws(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each draw, numbered through the tasks of a data set, from the results of `hide_draws`.

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
