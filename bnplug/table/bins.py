"""Bins between ascending cuts: their labels, and the bin of a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.table._checks import number_of
from bnplug.table.coding import MISSING, Coded, State, factorize
from bnplug.table.kinds import is_numeric
from bnplug.typing import FloatArray

#: Significant digits of a bin label; more if labels would be equal.
_DIGITS = 10


def in_bins(values: FloatArray, cuts: npt.ArrayLike) -> Coded:
    """Return the bin of each value, and the labels of the bins; a value is at most the upper cut of its bin.

    Examples
    --------
    >>> in_bins(np.array([0.3, 0.5, 7.0, np.nan]), [0.5])
    Coded(codes=array([ 0,  0,  1, -1]), states=('<=0.5', '>0.5'))
    """
    codes = np.searchsorted(np.asarray(cuts, dtype=np.float64), values, side="left")
    codes[np.isnan(values)] = MISSING
    return Coded(codes, tuple(bin_labels(cuts)))


def nearest(values: FloatArray, states: Sequence[State]) -> Coded:
    """Return the nearest of ascending numbers for each value, the lower one if two are equally near."""
    codes = np.searchsorted(middles(states), values, side="left")
    codes[np.isnan(values)] = MISSING
    return Coded(codes, tuple(states))


def middles(states: Sequence[State]) -> FloatArray:
    """Return the midpoints between neighboring ascending numbers."""
    numbers = np.asarray(states, dtype=np.float64)
    return (numbers[:-1] + numbers[1:]) / 2


def bin_labels(cuts: npt.ArrayLike) -> list[str]:
    """Return labels of the bins between ascending cuts: distinct, without commas and brackets."""
    # Adding zero turns -0.0 into 0.0.
    values = [float(cut) + 0.0 for cut in np.asarray(cuts, dtype=np.float64)]
    if not values:
        return ["all"]
    texts = [f"{value:.{_DIGITS}g}" for value in values]
    if len(set(texts)) < len(texts):
        texts = [repr(value) for value in values]
    inner = [f"{low}..{high}" for low, high in pairwise(texts)]
    return [f"<={texts[0]}", *inner, f">{texts[-1]}"]


def _named_bins(column: pd.Series[Any], cuts: npt.ArrayLike) -> Coded | None:
    """Return the bins of a column that contains labels of bins, among numbers; None for numbers alone."""
    if is_numeric(column) or column.dtype.kind == "b":
        return None
    codes, values = factorize(column)
    position = {label: number for number, label in enumerate(bin_labels(cuts))}
    numbers = [position[v] if isinstance(v, str) and v in position else _bin(v, cuts, column.name) for v in values]
    return Coded(np.array([*numbers, MISSING], dtype=np.int64)[codes], tuple(position))


def _bin(value: Any, cuts: npt.ArrayLike, name: Any) -> int:
    number = _number(value)
    if number is None:
        raise ValueError(
            f"column {name!r} is numeric, and {value!r} is neither a number nor one of its bins {bin_labels(cuts)}"
        )
    return int(in_bins(np.array([number]), cuts).codes[0])


def _with_nearest_states(frame: pd.DataFrame, whole: Mapping[str, Sequence[State]]) -> pd.DataFrame:
    """Return a frame in which numbers given as categories or text are replaced by the nearest number in `whole`."""
    changed = {}
    for name in [str(name) for name, dtype in frame.dtypes.items() if name in whole and dtype.kind not in "biuf"]:
        if not is_numeric(frame[name]):
            codes, values = factorize(frame[name])
            cells = np.array([*(_nearest_state(value, whole[name]) for value in values), None], dtype=object)
            changed[name] = pd.Series(cells[codes], frame.index, dtype=object)
    return frame.assign(**changed) if changed else frame


def _nearest_state(value: Any, states: Sequence[State]) -> Any:
    """Return the state nearest to a number, which may be given as text; return other values unchanged."""
    number = None if isinstance(value, bool | np.bool_) else _number(value)
    return value if number is None else states[int(nearest(np.array([number]), states).codes[0])]


def _number(value: Any) -> float | None:
    """Return a value, which may be text, as a finite number; None if it is not one."""
    try:
        number = float(number_of(value) if isinstance(value, str) else value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
