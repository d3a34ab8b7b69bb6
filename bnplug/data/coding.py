"""Columns to codes: which states a column has, in which order, and each cell's number among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.data._checks import CONTAINERS, is_broken, unlearnable

#: A state label: what the user's data holds, as a plain Python value.
State = str | int | float | bool
Codes = npt.NDArray[np.integer[Any]]

#: The code of a missing cell, and of a value that is not among the states, before they enter a table.
MISSING, UNSEEN = -1, -2

# Whole numbers within a range this wide are looked up in an array rather than searched for.
_LOOKUP_RANGE = 1 << 16

# A longer number of numpy's is none of Python's.
_PLAIN_BYTES = 8


class Coded(NamedTuple):
    """A column as numbers.

    Attributes
    ----------
    codes : signed integer array
        The position of each cell's label; ``MISSING`` where the cell is missing.
    states : tuple
        The labels, as plain Python values.
    """

    codes: Codes
    states: tuple[State, ...]


def code_column(column: pd.Series[Any]) -> Coded:
    """Number the cells of `column`; states are sorted, but a categorical keeps its order and its unused categories.

    Raises
    ------
    ValueError
        If two values that are no text, number or truth value have the same text, or that of another.

    Examples
    --------
    >>> code_column(pd.Series(["no", None, "yes"]))
    Coded(codes=array([ 0, -1,  1]), states=('no', 'yes'))
    """
    return coded(column, *factorize(column))


def factorize(column: pd.Series[Any]) -> tuple[Codes, Any]:
    """Number the cells of `column` by its values as they come, or as its categories stand; return the values too.

    Examples
    --------
    >>> codes, values = factorize(pd.Series(["no", None, "yes", "no"]))
    >>> codes.tolist(), list(values)
    ([0, -1, 1, 0], ['no', 'yes'])
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.array.codes, column.array.categories
    return _distinct_values(column)


def coded(column: pd.Series[Any], codes: Codes, values: Any) -> Coded:
    """Return the codes that :func:`factorize` gave, by sorted labels; categories keep their order.

    Raises
    ------
    ValueError
        As :func:`code_column`.
    """
    labels = _distinct_labels(column, values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Coded(codes, tuple(labels))
    order = sorted(range(len(labels)), key=lambda i: _sort_key(labels[i]))
    rank = np.empty(len(labels) + 1, dtype=np.int64)
    rank[order] = np.arange(len(labels))
    rank[-1] = MISSING
    return Coded(rank[codes], tuple(labels[i] for i in order))


def match_column(column: pd.Series[Any] | Coded, states: Sequence[State], by_text: bool = False) -> Codes:
    """Number the cells of `column` by given `states`: ``MISSING`` or ``UNSEEN`` where there is none.

    Values match across numeric types: a column of whole numbers that became floats because
    of a missing cell still matches.

    Parameters
    ----------
    column : pandas.Series or Coded
    states : sequence of states
    by_text : bool
        Whether a value that is not a state matches a state with the same text: True matches ``"True"``. Dask and CSV
        files convert objects to text.

    Examples
    --------
    >>> match_column(pd.Series([2.0, np.nan, 3.0, 1.0]), (1, 2))
    array([ 1, -1, -2,  0])
    >>> match_column(pd.Series([True, None, 3]), ("False", "True"), by_text=True)
    array([ 1, -1, -2])
    >>> match_column(pd.Series([1003.0, np.nan]), ("1003", "V12"), by_text=True)
    array([ 0, -1])
    """
    if isinstance(column, Coded):
        return _match_codes(column.codes, list(column.states), states)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _match_codes(column.array.codes, _labels(column.array.categories), states, by_text)
    if dtype == np.bool_:
        return _match_values([False, True], states, by_text)[column.to_numpy().astype(np.int64)]
    if dtype.kind in "iu" and isinstance(dtype, np.dtype):
        return _match_whole_numbers(column.to_numpy(), states, by_text)
    codes, values = _distinct_values(column)
    known = np.append(_match_values(_labels(values), states, by_text), MISSING)
    return known[codes]


def _distinct_values(column: pd.Series[Any]) -> tuple[Codes, Any]:
    """Return the number of each cell's value, and the values; a ``ValueError`` names a column of containers."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "f":
        # Arrow distinguishes 0.0 from -0.0.
        return pd.factorize(column.to_numpy(np.float64, na_value=np.nan), sort=False)
    # Of what is inside a series, in half the time; but for times, whose values would be numpy's.
    cells = column.array if not isinstance(dtype, np.dtype) else column if dtype.kind in "mM" else column.to_numpy()
    try:
        return pd.factorize(cells, sort=False)
    # Of lists in Arrow's columns, pandas says that it is not implemented.
    except (TypeError, NotImplementedError) as error:
        raise ValueError(unlearnable([str(column.name)], CONTAINERS)) from error


def _match_codes(codes: Codes, labels: list[State], states: Sequence[State], by_text: bool = False) -> Codes:
    return codes if labels == list(states) else np.append(_match_values(labels, states, by_text), MISSING)[codes]


def _match_values(values: list[State], states: Sequence[State], by_text: bool = False) -> Codes:
    number = {state: code for code, state in enumerate(states)}
    codes = [number.get(value, UNSEEN) for value in values]
    if by_text and UNSEEN in codes and {isinstance(value, str) for value in (*values, *states)} == {True, False}:
        written = {_text(state): code for state, code in number.items() if not isinstance(state, str)}
        for i, value in enumerate(values):
            if codes[i] == UNSEEN:
                codes[i] = written.get(value, UNSEEN) if isinstance(value, str) else number.get(_text(value), UNSEEN)
    return np.array(codes, dtype=np.int64)


def _text(value: State) -> str:
    """Return a value as text; whole numbers that became floats beside a missing cell are written without a point."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _match_whole_numbers(values: npt.NDArray[Any], states: Sequence[State], by_text: bool = False) -> Codes:
    """Match whole numbers through an array indexed by value: one gather a cell."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= _LOOKUP_RANGE:
        distinct, inverse = np.unique(values, return_inverse=True)
        return _match_values(distinct.tolist(), states, by_text)[inverse]
    lookup = _match_values(list(range(low, high + 1)), states, by_text)
    # In its own type, a number above 2**63 stays what it is; in the other, one below zero does.
    steps = values - values.min() if values.dtype.kind == "u" else values.astype(np.int64) - low
    return lookup[steps]


def plain_label(value: object) -> State | None:
    """Return a label as a plain Python value of the same worth; None where it is no text, number or truth value.

    Examples
    --------
    >>> plain_label(np.int8(3)), plain_label(np.datetime64("2026-01-01")), plain_label(np.longdouble(1) / 3)
    (3, None, None)
    """
    if isinstance(value, np.longdouble):
        value = float(value) if float(value) == value else None
    elif isinstance(value, np.generic):
        # numpy counts durations among the whole numbers.
        is_plain = isinstance(value, np.bool_ | np.integer | np.floating | np.str_)
        value = value.item() if is_plain and not isinstance(value, np.timedelta64) else None
    if isinstance(value, str):
        # An enumeration may have a text of its own, which is not its value.
        return str.__str__(value)
    kinds: tuple[type[State], ...] = (bool, int, float)
    return next((kind(value) for kind in kinds if isinstance(value, kind)), None)


def as_array(labels: Sequence[State]) -> npt.NDArray[Any]:
    """Return labels as an array that gives them back: of objects where numpy has no type that does.

    Examples
    --------
    >>> as_array([1, 2**63]).dtype, as_array(["a\\0"]).dtype, as_array([1, "a"]).dtype
    (dtype('uint64'), dtype('O'), dtype('O'))
    """
    wanted = list(labels)
    dtypes = (None, np.uint64) if len({type(label) for label in wanted}) == 1 else ()
    for dtype in dtypes:
        with suppress(OverflowError, TypeError, ValueError):
            array = np.array(wanted, dtype=dtype)
            if repr(array.tolist()) == repr(wanted):
                return array
    return np.array(wanted, dtype=object)


def label_index(labels: Sequence[State]) -> pd.Index[Any]:
    """Return labels as a pandas index that keeps them: of objects where they are mixed, or broken text.

    Examples
    --------
    >>> label_index((1, 2)).dtype, label_index((1, 2.5)).tolist()
    (dtype('int64'), [1, 2.5])
    """
    odd = len(set(map(type, labels))) > 1 or any(isinstance(label, str) and is_broken(label) for label in labels)
    index: pd.Index[Any] = pd.Index(as_array(labels), dtype=object if odd else None)
    return index


def as_label(value: Any) -> State:
    """Return `value` as a plain Python value; what is not text, number or truth value becomes its text.

    Examples
    --------
    >>> as_label(np.int8(3)), as_label(("a", "b"))
    (3, "('a', 'b')")
    """
    label = plain_label(value)
    return str(value) if label is None else label


def _labels(values: Any) -> list[State]:
    """Return values as plain Python values; numpy makes numbers such by itself."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb" and values.dtype.itemsize <= _PLAIN_BYTES:
        plain: list[State] = values.tolist()
        return plain
    return [value if type(value) is str else as_label(value) for value in values]


def _distinct_labels(column: pd.Series[Any], values: Any) -> list[State]:
    labels = _labels(values)
    if len(set(labels)) < len(labels):
        twice = next(label for label, times in Counter(labels).items() if times > 1)
        raise ValueError(
            f"column {column.name!r} has two values that both have the text {twice!r}; give them different "
            "texts, or make them the same value"
        )
    return labels


def _sort_key(label: State) -> tuple[int, Any]:
    """Numbers before text, so that a column of mixed types still has one order."""
    return (1, label) if isinstance(label, str) else (0, label)
