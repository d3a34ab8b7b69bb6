"""Which columns are discrete, and what numbers a numeric one holds.

The discretisers and the classifier ask here, so that both decide alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray
from bnplug.data._cells import cells_of
from bnplug.data._looking import (
    MAX_WHOLE_STATES,
    column_kinds,
    floats_of,
    is_numeric,
    listed_columns,
    look,
    refuse,
    refuse_complex,
    refuse_infinities,
    to_floats,
    unsupported,
)

__all__ = [
    "MAX_WHOLE_STATES",
    "discrete_columns",
    "floats_of",
    "is_numeric",
    "refuse_complex",
    "refuse_infinities",
    "split_columns",
    "to_floats",
]


def discrete_columns(
    frame: pd.DataFrame, categorical_features: Any = "auto", weights: FloatArray | None = None
) -> BoolArray:
    """Tell which columns of `frame` are discrete; the others are numeric.

    Text, categories and truth values are always discrete. A column of objects that holds nothing but
    numbers, or missing, is one of numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
    categorical_features : "auto", None, or sequence of names, positions or booleans
        Which columns of numbers are discrete. ``"auto"``: those of whole numbers (floats and missing
        cells included) with at most ten distinct values, unless there are more distinct values than
        half the rows that have one. None: none of them. Else: the columns that are listed.
    weights : float64 array of shape (rows,), optional
        Row weights: for ``"auto"``, a weight of 2 is two rows. Fractional weights do not
        make fewer rows than there are.

    Returns
    -------
    boolean array of shape (columns,)

    Raises
    ------
    ValueError
        For columns of points in time, of complex numbers or of containers, and for `categorical_features` that do
        not fit the frame.

    Examples
    --------
    >>> frame = pd.DataFrame({"sky": ["sun", "rain"] * 3, "rooms": [1, 2, 2] * 2, "area": [30.5, 41, 52] * 2})
    >>> discrete_columns(frame)
    array([ True,  True, False])
    >>> discrete_columns(frame, ["area"])
    array([ True, False,  True])
    """
    return split_columns(frame, categorical_features, weights)[0]


def split_columns(
    frame: pd.DataFrame, categorical_features: Any = "auto", weights: FloatArray | None = None
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Tell which columns are discrete, as :func:`discrete_columns` does, and return the numbers of the others by name.

    Raises
    ------
    ValueError
        As :func:`discrete_columns`; and where a column, discrete or not, holds infinity. One message has all.

    Examples
    --------
    >>> split_columns(pd.DataFrame({"sky": ["sun", "rain"], "area": [30.5, None]}))
    (array([ True, False]), {'area': array([30.5,  nan])})
    """
    kinds = column_kinds(frame)
    listed = listed_columns(list(kinds), categorical_features)
    found = look(cells_of(frame, weights=weights), kinds, listed)
    refuse([*unsupported(kinds), *found.problems])
    return np.array([str(name) not in found.numbers for name in frame.columns], dtype=bool), found.numbers
