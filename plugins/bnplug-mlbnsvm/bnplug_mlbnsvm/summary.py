"""Tables from the records of the protocol: accuracies, likelihoods relative to ML, curves of missing features."""

from __future__ import annotations

import numpy as np
import pandas as pd

_FOLD = ["dataset", "structure", "fold"]


def title(structure: str, method: str) -> str:
    """Return what a classifier is called in tables.

    Examples
    --------
    >>> title("TAN", "ML"), title("", "SVM")
    ('TAN ML', 'SVM')
    """
    return f"{structure} {method}".strip()


def mean_accuracy(records: pd.DataFrame, value: str = "accuracy", scale: float = 100.0) -> pd.DataFrame:
    """Return the mean over folds, in per cent: a row for each data set, a column for each classifier.

    Examples
    --------
    >>> records = pd.DataFrame({"dataset": "iris", "structure": "NB", "method": "ML", "accuracy": [0.9, 1.0]})
    >>> mean_accuracy(records)
             NB ML
    dataset
    iris      95.0
    """
    named = records.assign(title=[title(*pair) for pair in zip(records["structure"], records["method"], strict=True)])
    means = scale * named.groupby(["dataset", "title"], sort=False)[value].mean().unstack()
    return means.reindex(columns=list(dict.fromkeys(named["title"]))).rename_axis(columns=None)


def relative_likelihoods(records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each fold of each network: LL(ML) / LL(its own) of training and of test rows, in per cent.

    Examples
    --------
    >>> records = pd.DataFrame({"dataset": "iris", "structure": "NB", "fold": 0, "method": ["ML", "MM"],
    ...                         "train_ll": [-2.0, -4.0], "test_ll": [-3.0, -4.0]})
    >>> relative_likelihoods(records)[["method", "train", "test"]].values.tolist()
    [['ML', 100.0, 100.0], ['MM', 50.0, 75.0]]
    """
    own = records.dropna(subset=["train_ll"])
    generative = own[own["method"] == "ML"].set_index(_FOLD)[["train_ll", "test_ll"]]
    both = own.join(generative.add_suffix("_ml"), on=_FOLD).dropna(subset=["train_ll_ml"])
    return both.assign(
        train=100 * both["train_ll_ml"] / both["train_ll"], test=100 * both["test_ll_ml"] / both["test_ll"]
    )


def likelihoods(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of :func:`relative_likelihoods` over folds, then over data sets and structures."""
    found = relative_likelihoods(records)
    each = found.groupby(["method", "structure", "dataset"], sort=False)[["train", "test"]].mean()
    return each.groupby("method", sort=False).mean()


def hidden_curve(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy, in per cent, for each percentage of missing features (rows) and classifier (columns).

    Over folds, then over the data sets that all classifiers have.
    """
    own = records[records["hidden"].map(lambda value: isinstance(value, dict))] if "hidden" in records else records[:0]
    if not len(own):
        return pd.DataFrame()
    parts = pd.DataFrame(list(own["hidden"]), index=pd.MultiIndex.from_frame(own[["method", "dataset"]]))
    means = 100 * parts.groupby(level=[0, 1], sort=False).mean()
    sets = [set(group.index.get_level_values("dataset")) for _, group in means.groupby(level=0)]
    shared = sorted(set.intersection(*sets))
    kept = means[means.index.get_level_values("dataset").isin(shared)]
    curve = kept.groupby(level=0, sort=False).mean().T
    curve.index = pd.Index(curve.index.astype(int), name="missing (%)")
    curve.attrs["datasets"] = shared
    return curve.rename_axis(columns=None).astype(np.float64)
