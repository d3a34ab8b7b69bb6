"""Checks of raw data: byte orders, broken text, weights that overflow, whole numbers that floats cannot represent."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.errors import BnplugWarning, warn_outside
from bnplug.typing import FloatArray

#: From this number on, distinct whole numbers may become the same float.
FIRST_INEXACT = 2.0**53

# Whole numbers with up to 300 digits: longer ones may exceed the range of floats, and the digits int() converts.
_WHOLE = r"\s*([+-]?[0-9]{1,300})(?:\.0*)?\s*"

_SURROGATE = re.compile("[\ud800-\udfff]")

_LARGEST_SUM = 1e290

#: A kind of column that is not supported.
CONTAINERS = "lists or other containers"

# Types that numpy would convert to numbers, or reject without a helpful message.
_NOT_WEIGHTS: list[tuple[tuple[type, ...], str]] = [
    ((complex, np.complexfloating), "complex numbers"),
    ((str, bytes), "text"),
    ((np.datetime64, np.timedelta64), "points in time or durations"),
]


def refuse(problems: Sequence[str]) -> None:
    """Raise one ``ValueError`` with all problems, if there are any."""
    if problems:
        raise ValueError(". Also: ".join(problems))


def unlearnable(names: list[str], kind: str) -> str:
    """Return the message about columns of a kind that is not supported."""
    return f"columns {names} hold {kind}; turn them into numbers or text, or drop them"


def native(data: Any) -> Any:
    """Return an array or list as a plain array in native byte order, masked cells as None; other data unchanged."""
    if isinstance(data, list | tuple):
        data = exact_array(data)
    if not isinstance(data, np.ndarray):
        return data
    if data.dtype.kind in "cV":
        kind = "Complex data not supported: {} complex numbers" if data.dtype.kind == "c" else "{} records"
        columns = [f"x{i}" for i in range(data.shape[1])] if data.ndim == 2 else []
        what = f"columns {columns} hold" if columns else "the array holds"
        raise ValueError(f"{kind.format(what)}; turn them into numbers or text, or drop them")
    if isinstance(data, np.ma.MaskedArray):
        data = unmasked(data)
    if data.dtype.kind == "T":
        return data.astype(object)
    return data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))


def unmasked(data: Any) -> Any:
    """Return a masked array as a plain one, with None in masked cells."""
    if not np.ma.is_masked(data):
        return data.data
    cells = data.data.astype(object)
    cells[np.ma.getmaskarray(data)] = None
    return cells


def is_beyond_numpy(dtype: Any) -> bool:
    """Return whether a type is a polars type without a numpy equivalent: a container, or an integer of 128 bits."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(dtype, polars.DataType):
        return False
    return dtype.is_nested() or dtype in (polars.Int128, getattr(polars, "UInt128", polars.Int128))


def refuse_surrogates(names: Iterable[object], what: str) -> None:
    """Raise a ``ValueError`` for a name with half of a character in it; labels may have one."""
    for name in names:
        if isinstance(name, str) and is_broken(name):
            raise ValueError(f"{what}: the name {name!r} has half of a character in it (a lone surrogate); rename it")


def is_broken(text: str) -> bool:
    """Return whether a text has half of a character in it."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def check_sum(weights: FloatArray, what: str) -> None:
    """Raise a ``ValueError`` for weights so large that sums of products with their logarithms would overflow."""
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= _LARGEST_SUM:
        raise ValueError(f"the sum of {what} is {total:g}, above {_LARGEST_SUM:g}; divide all by one number")


def weight_numbers(weights: Any, what: str = "sample_weight") -> FloatArray:
    """Return weights as an array of floats; a ``ValueError`` says what they are if they are not numbers."""
    array = np.asarray(weights)
    types = set(map(type, array.flat)) if array.dtype == object else {array.dtype.type}
    problem = next((text for kinds, text in _NOT_WEIGHTS if any(issubclass(kind, kinds) for kind in types)), None)
    if problem is None:
        try:
            return array.astype(np.float64)
        except OverflowError:
            problem = "numbers too large for a float"
        except (TypeError, ValueError):
            problem = "values that are not numbers"
    raise ValueError(f"{what} contains {problem}; give a number for every row")


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view: learners cannot change data, and kernels see one type of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def to_decimals(values: npt.NDArray[Any]) -> FloatArray:
    """Return a 1-D array as float64; short floats become the decimals they stand for: 37.6, not 37.599998."""
    wide: FloatArray = values.astype(np.float64, copy=False)
    left = np.flatnonzero(np.isfinite(wide) & (values.dtype.itemsize < wide.itemsize))
    # Numbers without a decimal of 16 places stay as they are.
    for digits in range(17):
        if not len(left):
            break
        short = np.round(wide[left], digits)
        exact = short.astype(values.dtype) == values[left]
        wide[left[exact]] = short[exact]
        left = left[~exact]
    return wide


def has_inexact(values: npt.NDArray[Any]) -> bool:
    """Return whether some numbers are so large that floats cannot represent all whole numbers."""
    if not len(values):
        return False
    # Do not use the absolute value, which overflows for the smallest integer.
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    return bool(high >= FIRST_INEXACT or low <= -FIRST_INEXACT)


def are_merged(column: pd.Series[Any], values: npt.NDArray[Any]) -> bool:
    """Return whether distinct whole numbers of a column are equal in `values`, the column as floats."""
    if column.dtype.kind == "f" or not has_inexact(values):
        return False
    return int(column.nunique()) > len(pd.unique(values[~np.isnan(values)]))


def are_inexact(column: pd.Series[Any]) -> bool:
    """Return whether a column contains floats that may have lost digits of a whole number."""
    is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
    numbers = column.cat.categories.to_series() if is_categorical else column
    if numbers.dtype == object:
        return any(map(is_inexact, numbers))
    return numbers.dtype.kind == "f" and has_inexact(numbers.to_numpy(np.float64, na_value=np.nan))


def is_inexact(value: object) -> bool:
    """Return whether a value is a float that may have lost digits of a whole number."""
    return isinstance(value, float) and abs(value) >= FIRST_INEXACT


def is_large(state: object) -> bool:
    """Return whether a state is a whole number, or the text of one, that floats may merge with another."""
    if isinstance(state, str):
        whole = re.fullmatch(_WHOLE, state)
        return whole is not None and abs(int(whole[1])) >= FIRST_INEXACT
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
    """Convert lists to an array, of objects if floats could not represent their whole numbers."""
    array = np.asarray(cells)
    if array.dtype.kind != "f" or not has_inexact(array.ravel()):
        return array
    objects = np.array(cells, dtype=object)
    is_whole = any(isinstance(cell, int) and abs(cell) >= FIRST_INEXACT for cell in objects.flat)
    return objects if is_whole else array


def is_read_inexactly(column: pd.Series[Any], missing: Collection[str]) -> bool:
    """Return whether pandas read a CSV column of large whole numbers as floats (beside missing cells) or as text."""
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
    """Return the exact numbers of a column that was read inexactly, given its text, unless floats lose nothing."""
    numbers = as_written(text)
    is_float = column.dtype.kind == "f" and numbers.dtype == object
    return column if is_float and numbers.nunique() == column.nunique() else numbers


def as_written(text: pd.Series[Any]) -> pd.Series[Any]:
    """Convert text to numbers: nullable integers if all are whole and fit into 64 bits, otherwise objects."""
    codes, values = pd.factorize(text)
    numbers = [number_of(value) for value in values]
    if all(isinstance(number, int) for number in numbers):
        low, high = min(numbers, default=0), max(numbers, default=0)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                whole = pd.arrays.IntegerArray(np.array([*numbers, 0], dtype=dtype)[codes], codes < 0)
                return pd.Series(whole, text.index, name=text.name)
    return pd.Series(np.array([*numbers, None], dtype=object)[codes], text.index, dtype=object, name=text.name)


def number_of(text: str) -> int | float:
    """Convert text to an integer if it is whole and exact, otherwise to a float; other text is a ``ValueError``."""
    if "_" in text or not text.isascii():
        # Python reads 1_0 as 10, and digits of all scripts.
        raise ValueError(f"{text!r} is not a number")
    whole = re.fullmatch(_WHOLE, text)
    if whole:
        return int(whole[1])
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < FIRST_INEXACT else number
