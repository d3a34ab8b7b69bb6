"""The data sets of a comparison: loaded, checked, and split into the folds that all methods share."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bnplug import datasets as library
from bnplug.arrays import BoolArray, IntArray
from bnplug.data.frames import to_frame
from bnplug.data.kinds import discrete_columns, is_numeric
from bnplug.errors import BnplugWarning
from bnplug.experiments._folds import Split, describe_cv, make_splits, rare_classes


@dataclass(frozen=True, eq=False)
class SplitData:
    """A data set with its folds by number; ``truth`` are the classes of all rows, as positions in ``classes``."""

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    categorical_features: Any
    classes: Sequence[Any]
    truth: IntArray
    splits: Mapping[int, Split]
    cv: str

    def only(self, fold: int) -> SplitData:
        """Return the data set with one of its folds, to be sent where that is run."""
        return replace(self, splits={fold: self.splits[fold]})

    def digest(self) -> str:
        """Return what tells the rows, the kinds of columns and the folds from any others."""
        digest = hashlib.sha256(repr((list(self.X.columns), self.categorical_features, self.classes)).encode())
        digest.update(pd.util.hash_pandas_object(self.X, index=False).to_numpy().tobytes())
        digest.update(self.truth.tobytes())
        for part in (part for split in self.splits.values() for part in split):
            digest.update(part.astype(np.int64).tobytes() + b"|")
        return digest.hexdigest()


def split_data(
    datasets: Iterable[Any],
    cv: Any,
    missing: str,
    random_state: int,
    data_dir: str | os.PathLike[str] | None,
    categorical_features: str = "auto",
) -> list[SplitData]:
    """Load data sets and settle their folds; the parameters are those of :func:`bnplug.experiments.compare`.

    Examples
    --------
    >>> corral = split_data(["corral"], "2x5", "ignore", 0, None)[0]
    >>> corral.classes, len(corral.splits)
    ([0, 1], 10)
    """
    if isinstance(datasets, str):
        raise TypeError(f"datasets is a list of data sets, not the text {datasets!r}")
    found: dict[str, SplitData] = {}
    for number, item in enumerate(datasets, start=1):
        data = _load(item, number, data_dir)
        if data.name in found:
            raise ValueError(f"two data sets are called {data.name!r}")
        kinds = data if categorical_features == "declared" else as_the_classifier_takes(data)
        found[data.name] = _split(kinds, cv, missing, random_state)
    if not found:
        raise ValueError("there is no data set to compare on")
    return list(found.values())


def as_the_classifier_takes(data: library.Dataset) -> library.Dataset:
    """Return a data set whose columns `BayesianNetworkClassifier` tells apart by itself, as it does for anybody.

    Numbers that the data set lists as categories, and that the classifier would take for numbers, become text.

    Examples
    --------
    >>> X, y = pd.DataFrame({"zip": [10115, 20095, 80331] * 4, "age": range(12)}), pd.Series(list("pq") * 6)
    >>> data = as_the_classifier_takes(library.Dataset("toy", X, y, ("zip",), ""))
    >>> discrete_columns(data.X, data.categorical_features).tolist()
    [True, False]
    """
    listed = [] if isinstance(data.categorical_features, str) else list(data.categorical_features)
    numbers = data.X[[name for name in listed if is_numeric(data.X[name])]]
    texts = {name: numbers[name].map(str, na_action="ignore") for name in numbers.columns[~discrete_columns(numbers)]}
    return replace(data, X=data.X.assign(**texts), categorical_features="auto")


def _load(item: Any, number: int, data_dir: Any) -> library.Dataset:
    found = library.load(item, data_dir) if isinstance(item, str) else item
    if isinstance(found, library.Dataset):
        return found
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise TypeError(f"a data set is a name, a Dataset or a pair (X, y), not {type(found).__name__}")
    name = f"data{number}"
    X, y = to_frame(found[0], name), found[1]
    if len(X) != len(y):
        raise ValueError(f"data set {name!r}: X has {len(X)} rows and y has {len(y)}")
    y = y if isinstance(y, pd.Series) else pd.Series(np.asarray(y), name="class")
    return library.Dataset(name, X, y, "auto", "given")


def _split(data: library.Dataset, cv: Any, missing: str, random_state: int) -> SplitData:
    try:
        own_cv, kept = _own_cv(data, cv), _kept(data.X, missing)
        splits = make_splits(own_cv, data.X, data.y, kept, random_state)
    except ValueError as error:
        raise ValueError(f"data set {data.name!r}: {error}") from error
    rare = ", ".join(f"{label!r} ({n})" for label, n in rare_classes(own_cv, data.y[kept]).items())
    if rare:
        warnings.warn(
            f"data set {data.name!r}: classes with fewer rows than there are folds: {rare}",
            BnplugWarning,
            stacklevel=4,
        )
    classes, truth = np.unique(data.y.to_numpy(), return_inverse=True)
    described = describe_cv(own_cv)
    folds = dict(enumerate(splits))
    return SplitData(data.name, data.X, data.y, data.categorical_features, classes.tolist(), truth, folds, described)


def _own_cv(data: library.Dataset, cv: Any) -> Any:
    """Return what `cv` means for one data set."""
    if isinstance(cv, Mapping):
        if data.name not in cv:
            raise ValueError(f"cv has nothing for it, only for {list(cv)}")
        cv = cv[data.name]
    if isinstance(cv, str) and cv == "split":
        if data.split is None:
            raise ValueError("cv='split', and it comes without training and test rows of its own")
        return [data.split]
    return cv


def _kept(X: pd.DataFrame, missing: str) -> BoolArray:
    """Return which rows are used."""
    if missing != "drop":
        return np.ones(len(X), dtype=bool)
    return ~X.isna().any(axis=1).to_numpy()
