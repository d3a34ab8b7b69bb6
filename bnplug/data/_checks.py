"""What is odd about data at the door: byte orders, broken text, weights that overflow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.data._whole_numbers import exact_array

_SURROGATE = re.compile("[\ud800-\udfff]")

_LARGEST_SUM = 1e290

#: What a column may hold that nothing is learned from.
CONTAINERS = "lists or other containers"

# What numpy would make numbers of, or say nothing of use about.
_NO_WEIGHTS: list[tuple[tuple[type, ...], str]] = [
    ((complex, np.complexfloating), "complex numbers"),
    ((str, bytes), "text"),
    ((np.datetime64, np.timedelta64), "points in time or durations"),
]


def native(data: Any) -> Any:
    """Return an array as one that every library takes, with the same cells; what is no array or list, as it is.

    It is in the byte order of this machine, numpy's text is of objects, and what a mask hides is missing.

    Raises
    ------
    ValueError
        For complex numbers and records; the message names the columns.

    Examples
    --------
    >>> native(np.array([1, 2], dtype=">i4")).dtype
    dtype('int32')
    >>> native(np.ma.array([1, 2], mask=[True, False]))
    array([None, 2], dtype=object)
    """
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
    """Return what is in a masked array; what the mask hides is None."""
    if not np.ma.is_masked(data):
        return data.data
    cells = data.data.astype(object)
    cells[np.ma.getmaskarray(data)] = None
    return cells


def is_beyond_numpy(dtype: Any) -> bool:
    """Whether a type is one of polars' that numpy has none for: containers, and whole numbers of 128 bits."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(dtype, polars.DataType):
        return False
    return dtype.is_nested() or dtype in (polars.Int128, getattr(polars, "UInt128", polars.Int128))


def unlearnable(names: list[str], kind: str) -> str:
    """Return what is wrong with columns that hold something that nothing is learned from.

    Examples
    --------
    >>> unlearnable(["z"], "complex numbers")
    "columns ['z'] hold complex numbers; turn them into numbers or text, or drop them"
    """
    return f"columns {names} hold {kind}; turn them into numbers or text, or drop them"


def refuse_surrogates(names: Iterable[object], what: str) -> None:
    """Raise a ``ValueError`` for a name with half of a character in it; labels may have one.

    Examples
    --------
    >>> refuse_surrogates(["sky", "wind\\ud83c"], "X")
    Traceback (most recent call last):
    ValueError: X: the name 'wind\\ud83c' has half of a character in it (a lone surrogate); rename it
    """
    for name in names:
        if isinstance(name, str) and is_broken(name):
            raise ValueError(f"{what}: the name {name!r} has half of a character in it (a lone surrogate); rename it")


def is_broken(text: str) -> bool:
    """Whether a text has half of a character in it."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def check_sum(weights: FloatArray, what: str) -> None:
    """Raise a ``ValueError`` where weights are so large that sums of products with their logarithms would overflow."""
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not total <= _LARGEST_SUM:
        raise ValueError(f"the sum of {what} is {total:g}, above {_LARGEST_SUM:g}; divide all by one number")


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
