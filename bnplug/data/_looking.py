"""A look at the columns of a frame: what each holds, which columns of numbers are discrete, and what is wrong."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bnplug.arrays import BoolArray, FloatArray
from bnplug.data._cells import Cells
from bnplug.data._checks import CONTAINERS, unlearnable
from bnplug.data.coding import Coded, State, coded, factorize
from bnplug.errors import did_you_mean

#: A column of whole numbers with more distinct values than this is numeric.
MAX_WHOLE_STATES = 10

#: What a column may hold.
NUMBERS, STATES = "numbers", "states"
TIMES, COMPLEX = "points in time or durations", "complex numbers"

# Most numeric columns show more distinct values than that in their first rows.
_FIRST_ROWS = 1000

# What pandas calls a column of objects that holds nothing but numbers, or points in time.
_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
_TIMES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"}


class Look(NamedTuple):
    """What a look at the columns of numbers found.

    Attributes
    ----------
    numbers : dict of str to float64 array
        Of the numeric columns.
    few : dict of str to Coded
        The whole numbers with few values: they are discrete, and coded to find that out.
    problems : list of str
        What is wrong with the columns.
    """

    numbers: dict[str, FloatArray]
    few: dict[str, Coded]
    problems: list[str]


def look(columns: Mapping[str, Cells], kinds: Mapping[str, str], listed: set[str] | None) -> Look:
    """Tell numeric columns from discrete ones, among those of numbers; every cell is looked at once.

    Parameters
    ----------
    columns : mapping of str to Cells
    kinds : mapping of str to str
        As :func:`column_kinds` gives them.
    listed : set of str, or None
        The columns of numbers that are discrete. None: those of few whole numbers.
    """
    found = Look({}, {}, [])
    infinite = []
    for name, cells in ((name, cells) for name, cells in columns.items() if kinds[name] == NUMBERS):
        try:
            few = few_whole_numbers(cells) if listed is None else None
            values = _floats_among(few.states) if few is not None else to_floats(cells.column)
        except ValueError as error:
            found.problems.append(str(error))
            continue
        if cells.column.dtype.kind not in "iu" and np.isinf(values).any():
            infinite.append(name)
        if few is not None:
            found.few[name] = few
        elif listed is None or name not in listed:
            found.numbers[name] = values
    return found._replace(problems=[*_infinities(infinite), *found.problems])


def listed_columns(names: Sequence[str], categorical_features: Any) -> set[str] | None:
    """Return which of these columns are said to be discrete; None where the data decide.

    Raises
    ------
    ValueError
        For `categorical_features` that do not fit the columns.

    Examples
    --------
    >>> names = ["sky", "rooms"]
    >>> listed_columns(names, [1]), listed_columns(names, None), listed_columns(names, "auto")
    ({'rooms'}, set(), None)
    """
    if categorical_features is None:
        return set()
    if not isinstance(categorical_features, str):
        return {names[j] for j in np.flatnonzero(_listed(names, categorical_features)).tolist()}
    if categorical_features != "auto":
        raise ValueError(
            f"categorical_features={categorical_features!r}: expected 'auto', None, or a list of "
            "column names, of positions, or of booleans"
        )
    return None


def refuse(problems: Sequence[str]) -> None:
    """Raise one ``ValueError`` that tells all problems, if there are any.

    Examples
    --------
    >>> refuse(["columns ['z'] hold complex numbers", "infinite numbers in columns ['x']"])
    Traceback (most recent call last):
    ValueError: columns ['z'] hold complex numbers. Also: infinite numbers in columns ['x']
    """
    if problems:
        raise ValueError(". Also: ".join(problems))


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers and nothing else; truth values are none.

    Examples
    --------
    >>> is_numeric(pd.Series([1, None, 2.5], dtype=object)), is_numeric(pd.Series([True, False]))
    (True, False)
    """
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iufc" or (dtype.kind == "O" and pd.api.types.infer_dtype(column, skipna=True) in _NUMBERS)
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


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
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return np.array(column.to_numpy(), dtype=np.float64)
    try:
        return np.ascontiguousarray(column.to_numpy(np.float64, na_value=np.nan))
    except OverflowError:
        raise ValueError(f"column {column.name!r} holds whole numbers too large for a float; make them text") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r} is numeric, but not all its values are numbers: {error}") from None


def floats_of(columns: pd.DataFrame | Mapping[str, pd.Series[Any]]) -> dict[str, FloatArray]:
    """Return the columns of floating-point numbers, which alone hold infinity where a column is discrete."""
    return {str(name): to_floats(column) for name, column in columns.items() if column.dtype.kind == "f"}


def refuse_complex(columns: pd.DataFrame | Mapping[str, pd.Series[Any]]) -> None:
    """Raise a ``ValueError`` that names the columns of complex numbers, if there are any.

    Examples
    --------
    >>> refuse_complex(pd.DataFrame({"z": [1 + 2j], "area": [30.5]}))
    Traceback (most recent call last):
    ValueError: columns ['z'] hold complex numbers; turn them into numbers or text, or drop them
    """
    names = [str(name) for name, column in columns.items() if column.dtype.kind == "c"]
    refuse(unsupported(dict.fromkeys(names, COMPLEX)))


def refuse_infinities(columns: Mapping[str, FloatArray]) -> None:
    """Raise a ``ValueError`` that names the columns with infinite numbers, if there are any.

    Examples
    --------
    >>> refuse_infinities({"area": np.array([30.5, np.inf]), "rooms": np.array([1.0, np.nan])})
    Traceback (most recent call last):
    ValueError: infinite numbers in columns ['area']; replace them, or make them missing
    """
    refuse(_infinities([name for name, values in columns.items() if np.isinf(values).any()]))


def column_kinds(columns: pd.DataFrame | Mapping[str, pd.Series[Any]]) -> dict[str, str]:
    """Return what each column holds: numbers, times, something that is discrete, or something that cannot be learned.

    Examples
    --------
    >>> column_kinds(pd.DataFrame({"area": [30.5], "sky": ["sun"], "when": [pd.Timestamp("2026-01-31")]}))
    {'area': 'numbers', 'sky': 'states', 'when': 'points in time or durations'}
    """
    return {str(name): column_kind(column) for name, column in columns.items()}


def unsupported(kinds: Mapping[str, str]) -> list[str]:
    """Return what is wrong with columns of these kinds: those of times are, unless somebody makes numbers of them.

    Examples
    --------
    >>> unsupported({"z": COMPLEX, "area": NUMBERS})
    ["columns ['z'] hold complex numbers; turn them into numbers or text, or drop them"]
    """
    odd = {kind: [name for name, own in kinds.items() if own == kind] for kind in (TIMES, COMPLEX, CONTAINERS)}
    return [unlearnable(names, kind) for kind, names in odd.items() if names]


def few_whole_numbers(cells: Cells) -> Coded | None:
    """Return a column of numbers as codes, if they are whole, and few; else None.

    Examples
    --------
    >>> few_whole_numbers(Cells(pd.Series([3, 1, 1, 3]))), few_whole_numbers(Cells(pd.Series([0.5, 1.0, 0.5, 1.0])))
    (Coded(codes=array([1, 0, 0, 1]), states=(1, 3)), None)
    """
    column = cells.column
    if column.dtype == np.float64:
        # Most often the first ones tell, without a look at all of them.
        first = column.to_numpy()[:_FIRST_ROWS]
        if (first != np.rint(first))[~np.isnan(first)].any():
            return None
    if len(column) > _FIRST_ROWS and len(_distinct(to_floats(column.iloc[:_FIRST_ROWS]))) > MAX_WHOLE_STATES:
        return None
    codes, values = factorize(column)
    if len(values) > MAX_WHOLE_STATES:
        return None
    is_plain = isinstance(values, np.ndarray) and values.dtype != object
    distinct = values.astype(np.float64) if is_plain else to_floats(pd.Series(values, name=column.name))
    if (distinct != np.rint(distinct)).any() or len(distinct) > cells.n_rows(codes >= 0) / 2:
        return None
    return coded(column, codes, values)


def column_kind(column: pd.Series[Any]) -> str:
    """Return what a column holds, as :func:`column_kinds` tells it."""
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
        # Of Arrow's types these are the nested ones, dates and times of day, and a few that are text.
        return _arrow_kind(dtype)
    if dtype.kind == "V" or (inferred == "mixed" and not all(isinstance(value, Hashable) for value in column)):
        return CONTAINERS
    return COMPLEX if inferred == "complex" else STATES


def _arrow_kind(dtype: Any) -> str:
    if dtype.pyarrow_dtype.num_fields:
        return CONTAINERS
    return TIMES if str(dtype.pyarrow_dtype).startswith(("date", "time", "duration")) else STATES


def _floats_among(states: Iterable[State]) -> FloatArray:
    return np.array([state for state in states if isinstance(state, float)])


def _infinities(names: list[str]) -> list[str]:
    return [f"infinite numbers in columns {names}; replace them, or make them missing"] if names else []


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
