"""Whole numbers too large for floats: from 2^53 on, adjacent numbers become the same float."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.errors import BnplugWarning, warn_outside

#: From this number on, distinct whole numbers may become the same float.
FIRST_INEXACT = 2.0**53

# Whole numbers with up to 300 digits: longer ones may exceed the range of floats, and the digits int() converts.
_WHOLE = r"\s*[+-]?[0-9]{1,300}\s*"


def has_inexact(values: npt.NDArray[Any]) -> bool:
    """Return whether some numbers are so large that floats cannot represent all whole numbers.

    Examples
    --------
    >>> has_inexact(np.array([1.0, np.nan])), has_inexact(np.array([2**53]))
    (False, True)
    """
    if not len(values):
        return False
    # Do not use the absolute value, which overflows for the smallest integer.
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    return bool(high >= FIRST_INEXACT or low <= -FIRST_INEXACT)


def are_merged(column: pd.Series[Any], values: npt.NDArray[Any]) -> bool:
    """Return whether distinct whole numbers of a column are equal in `values`, the column as floats.

    Examples
    --------
    >>> are_merged(pd.Series([2**53, 2**53 + 1]), np.array([2.0**53, 2.0**53]))
    True
    """
    if column.dtype.kind == "f" or not has_inexact(values):
        return False
    return int(column.nunique()) > len(pd.unique(values[~np.isnan(values)]))


def are_inexact(column: pd.Series[Any]) -> bool:
    """Return whether a column contains only whole numbers, as floats, some of which may have lost digits.

    Examples
    --------
    >>> are_inexact(pd.Series([2.0**53, None])), are_inexact(pd.Series([2.0**53, 0.5]))
    (True, False)
    """
    is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
    numbers = column.cat.categories.to_series() if is_categorical else column
    if numbers.dtype.kind != "f":
        return False
    is_plain = isinstance(numbers.dtype, np.dtype)
    values = numbers.to_numpy() if is_plain else numbers.to_numpy(np.float64, na_value=np.nan)
    return has_inexact(values) and bool((np.isnan(values) | (values == np.rint(values))).all())


def is_large(state: object) -> bool:
    """Return whether a state is a whole number, or the text of one, that floats may merge with another.

    Examples
    --------
    >>> is_large(2**53), is_large("9007199254740993"), is_large("9"), is_large("sun")
    (True, True, False, False)
    """
    if isinstance(state, str):
        return re.fullmatch(_WHOLE, state) is not None and abs(int(state)) >= FIRST_INEXACT
    return isinstance(state, int | float) and abs(state) >= FIRST_INEXACT


def report_inexact(names: Sequence[str]) -> None:
    """Warn about discrete columns of large whole numbers that are floats, if there are any."""
    if names:
        dtypes = dict.fromkeys(names, "Int64")
        warn_outside(
            f"Columns {list(names)} hold whole numbers from 2^53 on as floats, which cannot tell adjacent numbers "
            f"apart. Read them as integers or text: pd.read_csv(..., dtype={dtypes})",
            BnplugWarning,
        )


def exact_array(cells: Any) -> npt.NDArray[Any]:
    """Convert lists to an array, of objects if floats could not represent their whole numbers.

    Examples
    --------
    >>> exact_array([1, None]).dtype, exact_array([2**53, 0.5]).tolist()
    (dtype('O'), [9007199254740992, 0.5])
    """
    array = np.asarray(cells)
    if array.dtype.kind != "f" or not has_inexact(array.ravel()):
        return array
    objects = np.array(cells, dtype=object)
    is_whole = any(isinstance(cell, int) and abs(cell) >= FIRST_INEXACT for cell in objects.flat)
    return objects if is_whole else array


def is_read_inexactly(column: pd.Series[Any], missing: Collection[str]) -> bool:
    """Return whether pandas read a CSV column of large whole numbers as floats or text.

    pandas reads whole numbers as floats if a cell is missing, and as text if they need 64 bits without a sign. In that
    text, missing cells are not marked as missing.

    Parameters
    ----------
    column : pandas.Series
        A column that was not requested as text.
    missing : collection of str
        The strings that mark missing cells.
    """
    if column.dtype.kind == "f":
        return has_inexact(column.to_numpy())
    if not isinstance(column.dtype, pd.StringDtype) and column.dtype != object:
        return False
    first = next((cell for cell in column if isinstance(cell, str | int) and cell not in missing), "")
    if re.fullmatch(_WHOLE, str(first)) is None:
        return False
    present = column[~column.isin(list(missing))].dropna()
    return bool(present.astype(str).str.fullmatch(_WHOLE).all())


def corrected(column: pd.Series[Any], text: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column that was read inexactly with its exact numbers, unless floats lose nothing.

    Parameters
    ----------
    column : pandas.Series
        The column as pandas read it: floats, or text without missing cells.
    text : pandas.Series
        The same column read as text.

    Examples
    --------
    >>> corrected(pd.Series([2.0**53, 0.5]), pd.Series(["9007199254740992", "0.5"])).dtype
    dtype('float64')
    """
    numbers = as_written(text)
    is_float = column.dtype.kind == "f" and numbers.dtype == object
    return column if is_float and numbers.nunique() == column.nunique() else numbers


def as_written(text: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a column of text to numbers, whole numbers exactly.

    Returns
    -------
    pandas.Series
        Nullable integers if all numbers are whole and fit into 64 bits; otherwise objects, integers and floats.

    Examples
    --------
    >>> as_written(pd.Series(["9007199254740993", None, "2.0"])).tolist()
    [9007199254740993, <NA>, 2]
    """
    codes, values = pd.factorize(text)
    numbers = [number_of(value) for value in values]
    dtype = _integer_type(numbers)
    if dtype is None:
        cells = np.array([*numbers, None], dtype=object)[codes]
        return pd.Series(cells, text.index, dtype=object, name=text.name)
    whole = np.array([*numbers, 0], dtype=dtype)[codes]
    return pd.Series(pd.arrays.IntegerArray(whole, codes < 0), text.index, name=text.name)


def number_of(text: str) -> int | float:
    """Convert text to a number: an integer if it is whole and represented exactly, otherwise a float.

    Raises
    ------
    ValueError
        If the text is not a number.

    Examples
    --------
    >>> number_of("9007199254740993"), number_of("1e3"), number_of("0.5")
    (9007199254740993, 1000, 0.5)
    """
    if re.fullmatch(_WHOLE, text):
        return int(text)
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < FIRST_INEXACT else number


def _integer_type(numbers: Sequence[int | float]) -> type[np.int64 | np.uint64] | None:
    """Return the integer type that represents all numbers exactly, or None if there is none."""
    if not all(isinstance(number, int) for number in numbers):
        return None
    low, high = min(numbers, default=0), max(numbers, default=0)
    return next(
        (kind for kind in (np.int64, np.uint64) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max), None
    )
