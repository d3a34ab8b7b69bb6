"""Row weights: a weight of 2 is the row twice, and a row of weight 0 is absent."""

from __future__ import annotations

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


def present_rows(weights: FloatArray | None) -> BoolArray | None:
    """Return which rows have a positive weight; None where all do.

    Examples
    --------
    >>> present_rows(np.array([1.0, 0.0])), present_rows(np.array([1.0, 2.0]))
    (array([ True, False]), None)
    """
    present = None if weights is None else weights > 0
    return None if present is None or present.all() else present
