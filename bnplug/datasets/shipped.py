"""The classification sets that scikit-learn ships, as frames and with class names for labels."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bnplug.datasets.dataset import Data


def iris() -> Data:
    """Return Fisher's iris data: 150 rows, 4 numeric features, 3 classes."""
    from sklearn.datasets import load_iris

    return _named(load_iris(as_frame=True), "species")


def wine() -> Data:
    """Return the wine recognition data: 178 rows, 13 numeric features, 3 classes."""
    from sklearn.datasets import load_wine

    return _named(load_wine(as_frame=True), "cultivar")


def breast_cancer() -> Data:
    """Return the Wisconsin diagnostic breast cancer data: 569 rows, 30 numeric features, 2 classes."""
    from sklearn.datasets import load_breast_cancer

    return _named(load_breast_cancer(as_frame=True), "diagnosis")


def digits() -> Data:
    """Return the handwritten digits: 1797 rows, 64 features of 17 grey levels, 10 classes."""
    from sklearn.datasets import load_digits

    return _named(load_digits(as_frame=True), "digit")


def _named(bunch: Any, target: str) -> Data:
    labels = pd.Series([bunch.target_names[code] for code in bunch.target], name=target)
    return bunch.data, labels
