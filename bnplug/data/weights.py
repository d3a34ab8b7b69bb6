"""Row weights: a weight of 2 is the row twice, and a row of weight 0 is absent."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnplug.arrays import BoolArray, FloatArray
from bnplug.data._checks import check_sum

# What numpy would make numbers of, or say nothing of use about.
_NO_WEIGHTS: list[tuple[tuple[type, ...], str]] = [
    ((complex, np.complexfloating), "complex numbers"),
    ((str, bytes), "text"),
    ((np.datetime64, np.timedelta64), "points in time or durations"),
]


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


def weight_numbers(weights: Any, what: str = "sample_weight") -> FloatArray:
    """Return weights as an array of floats.

    Raises
    ------
    ValueError
        If they are no numbers; the message says what they are.

    Examples
    --------
    >>> weight_numbers([1, 2])
    array([1., 2.])
    >>> weight_numbers(["heavy"])
    Traceback (most recent call last):
    ValueError: sample_weight holds text; give a number for every row
    """
    array = np.asarray(weights)
    types = set(map(type, array.flat)) if array.dtype == object else {array.dtype.type}
    found = next((said for kinds, said in _NO_WEIGHTS if any(issubclass(kind, kinds) for kind in types)), None)
    if found is None:
        try:
            return array.astype(np.float64)
        except OverflowError:
            found = "numbers too large for a float"
        except (TypeError, ValueError):
            found = "something else than numbers"
    raise ValueError(f"{what} holds {found}; give a number for every row")


def present_rows(weights: FloatArray | None) -> BoolArray | None:
    """Return which rows have a positive weight; None where all do.

    Examples
    --------
    >>> present_rows(np.array([1.0, 0.0])), present_rows(np.array([1.0, 2.0]))
    (array([ True, False]), None)
    """
    present = None if weights is None else weights > 0
    return None if present is None or present.all() else present
