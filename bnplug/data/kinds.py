"""Which columns are discrete, and what numbers a numeric one holds.

The discretisers and the classifier ask here, so that both decide alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray
from bnplug.errors import did_you_mean

#: A column of whole numbers with more distinct values than this is numeric.
MAX_WHOLE_STATES = 10

# Most numeric columns show more distinct values than that in their first rows.
_FIRST_ROWS = 1000

# What pandas calls a column of objects that holds nothing but numbers, or points in time.
_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
_TIMES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"}


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
    discrete, known = _tell_apart(frame, categorical_features, weights)
    refuse_infinities(known)
    return discrete


def split_columns(
    frame: pd.DataFrame, categorical_features: Any = "auto", weights: FloatArray | None = None
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Tell which columns are discrete, as :func:`discrete_columns` does, and return the numbers of the others by name.

    Raises
    ------
    ValueError
        As :func:`discrete_columns`; and where a column, discrete or not, holds infinity.

    Examples
    --------
    >>> split_columns(pd.DataFrame({"sky": ["sun", "rain"], "area": [30.5, None]}))
    (array([ True, False]), {'area': array([30.5,  nan])})
    """
    discrete, known = _tell_apart(frame, categorical_features, weights)
    others = {
        str(name): to_floats(column)
        for name, column in frame.items()
        if str(name) not in known and column.dtype.kind not in "iub" and is_numeric(column)
    }
    refuse_infinities({**known, **others})
    numeric = [str(name) for name in frame.columns[~discrete]]
    known |= others
    return discrete, {name: known[name] if name in known else to_floats(frame[name]) for name in numeric}


def _tell_apart(
    frame: pd.DataFrame, categorical_features: Any, weights: FloatArray | None
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Tell which columns are discrete; return also the numbers of those that had to be looked at."""
    _refuse_unsupported(frame)
    discrete = np.array([not is_numeric(column) for _, column in frame.items()], dtype=bool)
    if categorical_features is None:
        return discrete, {}
    if not isinstance(categorical_features, str):
        return discrete | _listed(list(map(str, frame.columns)), categorical_features), {}
    if categorical_features != "auto":
        raise ValueError(
            f"categorical_features={categorical_features!r}: expected 'auto', None, or a list of "
            "column names, of positions, or of booleans"
        )
    known = {str(name): to_floats(column) for (name, column), no in zip(frame.items(), discrete, strict=True) if not no}
    few = {name: _has_few_whole_numbers(values, weights) for name, values in known.items()}
    return np.array([few.get(str(name), True) for name in frame.columns], dtype=bool), known


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers and nothing else; truth values are none.

    Examples
    --------
    >>> is_numeric(pd.Series([1, None, 2.5], dtype=object)), is_numeric(pd.Series([True, False]))
    (True, False)
    """
    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) in _NUMBERS
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def to_floats(column: pd.Series[Any]) -> FloatArray:
    """Return a column's numbers side by side in memory, NaN where one is missing; infinity is among them.

    Raises
    ------
    ValueError
        If the column holds something else; the message names it.

    Examples
    --------
    >>> to_floats(pd.Series([1, None, 3], dtype="Int64"))
    array([ 1., nan,  3.])
    """
    try:
        return np.ascontiguousarray(column.to_numpy(np.float64, na_value=np.nan))
    except OverflowError:
        raise ValueError(f"column {column.name!r} holds whole numbers too large for a float; make them text") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} is numeric, but not all its values are numbers: {error}") from None


def floats_of(frame: pd.DataFrame) -> dict[str, FloatArray]:
    """Return the columns of floating-point numbers, which alone hold infinity where a column is discrete."""
    return {str(name): to_floats(column) for name, column in frame.items() if column.dtype.kind == "f"}


def refuse_infinities(columns: Mapping[str, FloatArray]) -> None:
    """Raise a ``ValueError`` that names the columns with infinite numbers, if there are any.

    Examples
    --------
    >>> refuse_infinities({"area": np.array([30.5, np.inf]), "rooms": np.array([1.0, np.nan])})
    Traceback (most recent call last):
    ValueError: infinite numbers in columns ['area']; replace them, or make them missing
    """
    infinite = [name for name, values in columns.items() if np.isinf(values).any()]
    if infinite:
        raise ValueError(f"infinite numbers in columns {infinite}; replace them, or make them missing")


def _refuse_unsupported(frame: pd.DataFrame) -> None:
    kinds = {str(name): _unsupported(column) for name, column in frame.items()}
    for kind in ("points in time or durations", "complex numbers", "lists or other containers"):
        names = [name for name, found in kinds.items() if found == kind]
        if names:
            raise ValueError(f"columns {names} hold {kind}; turn them into numbers or text, or drop them")


def _unsupported(column: pd.Series[Any]) -> str | None:
    inferred = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else ""
    if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype) or inferred in _TIMES:
        return "points in time or durations"
    if getattr(column.dtype, "kind", "") == "O" and isinstance(column.dtype, pd.ArrowDtype):
        # Of Arrow's types these are the nested ones, and a few that are text.
        return "lists or other containers" if column.dtype.pyarrow_dtype.num_fields else None
    if column.dtype.kind == "V" or (inferred == "mixed" and not all(isinstance(value, Hashable) for value in column)):
        return "lists or other containers"
    return "complex numbers" if column.dtype.kind == "c" or inferred == "complex" else None


def _has_few_whole_numbers(values: FloatArray, weights: FloatArray | None) -> bool:
    if len(_distinct(values[:_FIRST_ROWS])) > MAX_WHOLE_STATES:
        return False
    distinct = _distinct(values)
    if len(distinct) > MAX_WHOLE_STATES or (distinct != np.rint(distinct)).any():
        return False
    present = ~np.isnan(values)
    n_rows = float(np.count_nonzero(present))
    if weights is not None:
        n_rows = max(n_rows, float(weights[present].sum()))
    return len(distinct) <= n_rows / 2


def _distinct(values: FloatArray) -> FloatArray:
    distinct = np.asarray(pd.unique(values), dtype=np.float64)
    return distinct[~np.isnan(distinct)]


def _listed(names: Sequence[str], features: Any) -> BoolArray:
    """Return which columns `features` lists, by name, by position or as a mask."""
    features = list(features)
    mask = np.zeros(len(names), dtype=bool)
    if all(isinstance(feature, str) for feature in features):
        mask[[_position(name, names) for name in features]] = True
    elif all(isinstance(feature, bool | np.bool_) for feature in features):
        if len(features) != len(names):
            raise ValueError(
                f"categorical_features is a mask of {len(features)} booleans; there are {len(names)} columns"
            )
        mask[:] = features
    elif all(isinstance(feature, int | np.integer) and not isinstance(feature, bool) for feature in features):
        outside = [int(feature) for feature in features if not 0 <= feature < len(names)]
        if outside:
            raise ValueError(
                f"categorical_features lists the positions {outside}; columns are numbered 0 to {len(names) - 1}"
            )
        mask[features] = True
    else:
        raise ValueError("categorical_features must be all names, all positions, or all booleans")
    return mask


def _position(name: str, names: Sequence[str]) -> int:
    if name not in names:
        hint = did_you_mean(name, names)
        raise ValueError(f"categorical_features lists {name!r}, and there is no such column.{hint}")
    return names.index(name)
