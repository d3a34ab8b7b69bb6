"""What is odd about data at the door: byte orders, broken text, weights that overflow."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from bnplug.arrays import FloatArray

_SURROGATE = re.compile("[\ud800-\udfff]")

_LARGEST_SUM = 1e290


def native(data: Any) -> Any:
    """Return an array in the byte order of this machine, and one of numpy's text as one of objects; all else as it is.

    Examples
    --------
    >>> native(np.array([1, 2], dtype=">i4")).dtype
    dtype('int32')
    """
    if not isinstance(data, np.ndarray):
        return data
    if data.dtype.kind == "T":
        return data.astype(object)
    return data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))


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
