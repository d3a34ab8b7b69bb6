"""Data sets of OpenML by name, downloaded and cached by scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from bnplug.datasets.dataset import Dataset
from bnplug.errors import one_line


def fetch(name: str, version: int | str = "active", data_home: str | None = None) -> Dataset:
    """Return the data set that OpenML has under `name`; this uses the network unless it is in the cache.

    Parameters
    ----------
    name : str
    version : int or "active"
        The version; by default the oldest one that is still active.
    data_home : str, optional
        The folder of the cache; by default scikit-learn's.

    Raises
    ------
    ValueError
        If OpenML cannot be reached or has no such data set, and if the data set has no single class.
    """
    bunch = _download(name, version, data_home)
    if not isinstance(bunch.target, pd.Series):
        raise ValueError(f"openml:{name}: expected one class column, got {bunch.target_names}")
    categorical = bunch.data.dtypes[[isinstance(dtype, pd.CategoricalDtype) for dtype in bunch.data.dtypes]]
    labels = bunch.target.astype(object) if isinstance(bunch.target.dtype, pd.CategoricalDtype) else bunch.target
    return Dataset(
        name=f"openml:{name}",
        X=bunch.data,
        y=labels,
        categorical_features=tuple(map(str, categorical.index)),
        source=f"OpenML, {bunch.details.get('name', name)} version {bunch.details.get('version', version)}",
    )


def _download(name: str, version: int | str, data_home: str | None) -> Any:
    from http.client import HTTPException

    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # The error below says it, once.
            warnings.filterwarnings("ignore", message="A network error occurred")
            return fetch_openml(name, version=version, data_home=data_home, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError, HTTPException) as error:
        cause = one_line(error) or type(error).__name__
        raise ValueError(
            f"openml:{name}: cannot be loaded from OpenML (no network, or no such data set): {cause}"
        ) from error
