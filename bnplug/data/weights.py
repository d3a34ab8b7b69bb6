"""Row weights: a weight of 2 is the row twice, and a row of weight 0 is absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bnplug.arrays import BoolArray, FloatArray
from bnplug.data._checks import check_sum, weight_numbers


def row_weights(weights: Any, n_rows: int, what: str = "sample_weight") -> FloatArray:
    """Return the weights of `n_rows` rows, ones where `weights` is None.

    Raises
    ------
    ValueError
        Unless there is one for every row or one for all, none is negative, and their sum is a finite positive number.

    Examples
    --------
    >>> row_weights([1, 2, 0], 3), row_weights(None, 2)
    (array([1., 2., 0.]), array([1., 1.]))
    """
    if weights is None:
        return np.ones(n_rows)
    checked = weight_numbers(weights, what)
    if checked.ndim == 0:
        checked = np.full(n_rows, checked)
    if checked.shape != (n_rows,):
        raise ValueError(f"{what} has the shape {checked.shape}; there are {n_rows} rows")
    if not np.isfinite(checked).all() or (checked < 0).any():
        raise ValueError(f"{what} holds negative, missing or infinite numbers")
    check_sum(checked, what)
    if n_rows > 0 and not checked.any():
        raise ValueError(f"{what} is zero everywhere, so that no rows are left; give at least one a weight")
    return checked


def check_class_weight(class_weight: Any) -> None:
    """Raise a ``ValueError`` unless `class_weight` is None, "balanced" or a dict of finite numbers, at least 0.

    Examples
    --------
    >>> check_class_weight({"ill": 5, "well": -1})
    Traceback (most recent call last):
    ValueError: class_weight: the weight of class 'well' is -1; give a finite number of at least 0
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        given = (
            repr(class_weight) if isinstance(class_weight, str) else f"an object of type {type(class_weight).__name__}"
        )
        raise ValueError(
            f"class_weight: expected None, 'balanced' or a dict from each class to its weight; got {given}"
        )
    for label, weight in class_weight.items():
        if not _is_weight(weight):
            raise ValueError(
                f"class_weight: the weight of class {label!r} is {weight!r}; give a finite number of at least 0"
            )


def _is_weight(weight: Any) -> bool:
    try:
        return not isinstance(weight, str | bytes) and 0 <= float(weight) < np.inf
    except (TypeError, ValueError, OverflowError):
        return False


def present_rows(weights: FloatArray | None) -> BoolArray | None:
    """Return which rows have a positive weight; None where all do.

    Examples
    --------
    >>> present_rows(np.array([1.0, 0.0])), present_rows(np.array([1.0, 2.0]))
    (array([ True, False]), None)
    """
    present = None if weights is None else weights > 0
    return None if present is None or present.all() else present
