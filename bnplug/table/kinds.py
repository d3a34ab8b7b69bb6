"""Kinds of columns: which hold numbers, which of those are discrete, and which cannot be learned from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnplug.errors import did_you_mean
from bnplug.table._cells import Cells, cells_of
from bnplug.table._checks import CONTAINERS, number_of, refuse, unlearnable
from bnplug.table.coding import Coded, coded, factorize
from bnplug.typing import BoolArray, FloatArray

#: A column of whole numbers with more distinct values than this is numeric.
MAX_WHOLE_STATES = 10

#: What a column may contain, as :func:`column_kind` returns it.
NUMBERS, STATES = "numbers", "states"
TIMES, COMPLEX = "points in time or durations", "complex numbers"

# Most numeric columns have more distinct values than MAX_WHOLE_STATES in their first rows.
_FIRST_ROWS = 1000

# What pandas calls a column of objects that contains only numbers, or only points in time.
_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
_TIMES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"}


def discrete_columns(
    frame: pd.DataFrame, categorical_features: Any = "auto", weights: FloatArray | None = None
) -> BoolArray:
    """Return which columns of `frame` are discrete, a boolean array; the others are numeric.

    Text, categories and truth values are always discrete. A column of objects that contains only numbers and missing
    cells is a column of numbers. A ``ValueError`` reports columns of points in time, complex numbers or containers.

    Parameters
    ----------
    frame : pandas.DataFrame
    categorical_features : "auto", None, or sequence of names, positions or booleans
        Which columns of numbers are discrete. ``"auto"``: columns of whole numbers (floats and missing cells included)
        with at most ten distinct values, unless more than half of the known values are distinct. None: no column.
        Otherwise: the listed columns.
    weights : float64 array of shape (rows,), optional
        Row weights: for ``"auto"``, a weight of 2 counts as two rows. Fractional weights do not reduce the number of
        rows.

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
    """Return which columns are discrete, as :func:`discrete_columns` does, and the numbers of the others by name.

    Infinite numbers are errors, too; one message lists all problems.
    """
    kinds = {str(name): column_kind(column) for name, column in frame.items()}
    listed = _listed_columns(list(kinds), categorical_features)
    numbers, _, problems = _inspect(cells_of(frame, weights=weights), kinds, listed)
    refuse([*_unsupported(kinds), *problems])
    return np.array([name not in numbers for name in kinds], dtype=bool), numbers


def column_kind(column: pd.Series[Any]) -> str:
    """Return what a column contains: numbers, states, or a kind that is not supported.

    Examples
    --------
    >>> column_kind(pd.Series([30.5])), column_kind(pd.Series(["sun"])), column_kind(pd.Series([pd.Timestamp(0)]))
    ('numbers', 'states', 'points in time or durations')
    """
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return NUMBERS
    is_object = isinstance(dtype, np.dtype) and dtype.kind == "O"
    inferred = pd.api.types.infer_dtype(column, skipna=True) if is_object else ""
    if inferred in _NUMBERS or (not is_object and is_numeric(column)):
        return COMPLEX if dtype.kind == "c" else NUMBERS
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype) or inferred in _TIMES:
        return TIMES
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "O":
        # These are nested types, dates and times of day, and some kinds of text.
        if dtype.pyarrow_dtype.num_fields:
            return CONTAINERS
        return TIMES if str(dtype.pyarrow_dtype).startswith(("date", "time", "duration")) else STATES
    if dtype.kind == "V" or (inferred == "mixed" and not all(isinstance(value, Hashable) for value in column)):
        return CONTAINERS
    return COMPLEX if inferred == "complex" else STATES


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains only numbers; truth values are not numbers."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iufc" or (dtype.kind == "O" and pd.api.types.infer_dtype(column, skipna=True) in _NUMBERS)
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def to_floats(column: pd.Series[Any]) -> FloatArray:
    """Return a column's numbers as a contiguous array, NaN where missing; a ``ValueError`` for other values."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return np.array(column.to_numpy(), dtype=np.float64)
    try:
        if dtype.kind == "O" and not is_numeric(column):
            column = column.astype(object).map(lambda v: number_of(v) if isinstance(v, str) else v, na_action="ignore")
        return np.ascontiguousarray(column.to_numpy(np.float64, na_value=np.nan))
    except OverflowError:
        raise ValueError(f"column {column.name!r} holds whole numbers too large for a float; make them text") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} is numeric, but not all its values are numbers: {error}") from None


def floats_of(columns: pd.DataFrame | Mapping[str, pd.Series[Any]]) -> dict[str, FloatArray]:
    """Return the columns of a floating-point type: the only discrete columns that may contain infinity."""
    return {str(name): to_floats(column) for name, column in columns.items() if column.dtype.kind == "f"}


def refuse_infinities(columns: Mapping[str, FloatArray]) -> None:
    """Raise a ``ValueError`` that names the columns with infinite numbers, if there are any."""
    refuse(_infinities([name for name, values in columns.items() if np.isinf(values).any()]))


def _unsupported(kinds: Mapping[str, str]) -> list[str]:
    """Return the problems with columns of these kinds; points in time are a problem unless converted to numbers."""
    names = {kind: [name for name in kinds if kinds[name] == kind] for kind in (TIMES, COMPLEX, CONTAINERS)}
    return [unlearnable(columns, kind) for kind, columns in names.items() if columns]


def _infinities(names: list[str]) -> list[str]:
    return [f"infinite numbers in columns {names}; replace them, or make them missing"] if names else []


def _inspect(
    columns: Mapping[str, Cells], kinds: Mapping[str, str], listed: set[str] | None
) -> tuple[dict[str, FloatArray], dict[str, Coded], list[str]]:
    """Return the numeric columns, the encoded columns of few whole numbers, and the problems of columns of numbers.

    Discrete are `listed` columns or, if that is None, those of few whole numbers.
    """
    numbers: dict[str, FloatArray] = {}
    few_numbers: dict[str, Coded] = {}
    infinite, problems = [], []
    for name in (name for name in columns if kinds[name] == NUMBERS):
        column = columns[name].column
        try:
            few = _few_whole_numbers(columns[name]) if listed is None else None
            values = to_floats(column) if few is None else np.array([x for x in few.states if isinstance(x, float)])
        except ValueError as error:
            problems.append(str(error))
            continue
        if column.dtype.kind not in "iu" and np.isinf(values).any():
            infinite.append(name)
        if few is not None:
            few_numbers[name] = few
        elif listed is None or name not in listed:
            numbers[name] = values
    return numbers, few_numbers, [*_infinities(infinite), *problems]


def _few_whole_numbers(cells: Cells) -> Coded | None:
    """Return a column of few whole numbers as codes; None for other columns of numbers."""
    column = cells.column
    if column.dtype == np.float64:
        # The first rows often suffice.
        first = column.to_numpy()[:_FIRST_ROWS]
        if (first != np.rint(first))[~np.isnan(first)].any():
            return None
    if len(column) > _FIRST_ROWS:
        distinct = pd.unique(to_floats(column.iloc[:_FIRST_ROWS]))
        if np.count_nonzero(~np.isnan(distinct)) > MAX_WHOLE_STATES:
            return None
    codes, values = factorize(column)
    if len(values) > MAX_WHOLE_STATES:
        return None
    is_plain = isinstance(values, np.ndarray) and values.dtype != object
    distinct = values.astype(np.float64) if is_plain else to_floats(pd.Series(values, name=column.name))
    if (distinct != np.rint(distinct)).any() or len(distinct) > cells.n_rows(codes >= 0) / 2:
        return None
    return coded(column, codes, values)


def _listed_columns(names: Sequence[str], categorical_features: Any) -> set[str] | None:
    """Return the columns listed by name, by position or as a mask; None for "auto"."""
    if categorical_features is None:
        return set()
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return None
        raise ValueError(
            f"categorical_features={categorical_features!r}: expected 'auto', None, or a list of "
            "column names, of positions, or of booleans"
        )
    features = list(categorical_features)
    if all(isinstance(feature, str) for feature in features):
        for name in features:
            if name not in names:
                hint = did_you_mean(name, names)
                raise ValueError(f"categorical_features lists {name!r}, which is not a column.{hint}")
        return set(features)
    if all(isinstance(feature, bool | np.bool_) for feature in features):
        if len(features) != len(names):
            raise ValueError(
                f"categorical_features is a mask of {len(features)} booleans, but there are {len(names)} columns"
            )
        return {name for name, is_listed in zip(names, features, strict=True) if is_listed}
    if not all(isinstance(feature, int | np.integer) and not isinstance(feature, bool) for feature in features):
        raise ValueError("categorical_features must be all names, all positions, or all booleans")
    outside = [int(feature) for feature in features if not 0 <= feature < len(names)]
    if outside:
        raise ValueError(
            f"categorical_features lists the positions {outside}; columns are numbered 0 to {len(names) - 1}"
        )
    return {names[feature] for feature in features}
