"""Encode columns: their states in order, and the code of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.errors import UnseenValueWarning, warn_outside
from bnplug.table._checks import CONTAINERS, is_broken, unlearnable

#: A state label: a value of the data, as a plain Python value.
State = str | int | float | bool
Codes = npt.NDArray[np.integer[Any]]

#: The code of a missing cell, and of a value that is not among the states, before they enter a table.
MISSING, UNSEEN = -1, -2

# Whole numbers within a range this wide are looked up in an array.
_LOOKUP_RANGE = 1 << 16

# Decimals with a larger exponent are not floats, and as integers they might not fit into memory.
_LARGEST_EXPONENT = 300


class Coded(NamedTuple):
    """An encoded column: signed codes, ``MISSING`` where a cell is missing, and the labels of the states."""

    codes: Codes
    states: tuple[State, ...]


def code_column(column: pd.Series[Any]) -> Coded:
    """Encode a column; states are sorted, but a categorical keeps its order and its unused categories.

    Values other than text, numbers and truth values are labeled by their text. Equal labels raise a ``ValueError``.

    Examples
    --------
    >>> code_column(pd.Series(["no", None, "yes"]))
    Coded(codes=array([ 0, -1,  1]), states=('no', 'yes'))
    """
    return coded(column, *factorize(column))


def factorize(column: pd.Series[Any]) -> tuple[Codes, Any]:
    """Return codes and distinct values of a column, in order of appearance, or in the order of its categories.

    A ``ValueError`` names a column of containers.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return column.array.codes, column.array.categories
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "f":
        # Arrow distinguishes 0.0 from -0.0.
        return pd.factorize(column.to_numpy(np.float64, na_value=np.nan), sort=False)
    # Twice as fast as on the series; not for points in time, whose values would be those of numpy.
    cells = column.array if not isinstance(dtype, np.dtype) else column if dtype.kind in "mM" else column.to_numpy()
    try:
        return pd.factorize(cells, sort=False)
    # pandas raises NotImplementedError for Arrow lists.
    except (TypeError, NotImplementedError) as error:
        raise ValueError(unlearnable([str(column.name)], CONTAINERS)) from error


def coded(column: pd.Series[Any], codes: Codes, values: Any) -> Coded:
    """Return the result of :func:`factorize` with sorted labels, as :func:`code_column` does."""
    labels = _labels(values)
    if len(set(labels)) < len(labels):
        twice = next(label for label, times in Counter(labels).items() if times > 1)
        raise ValueError(
            f"column {column.name!r} has two values that both have the text {twice!r}; give them different "
            "texts, or make them the same value"
        )
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Coded(codes, tuple(labels))
    # Numbers come before text.
    order = sorted(range(len(labels)), key=lambda i: (isinstance(labels[i], str), labels[i]))
    rank = np.empty(len(labels) + 1, dtype=np.int64)
    rank[order] = np.arange(len(labels))
    rank[-1] = MISSING
    return Coded(rank[codes], tuple(labels[i] for i in order))


def match_column(column: pd.Series[Any] | Coded, states: Sequence[State], by_text: bool = False) -> Codes:
    """Encode a column by given states: ``MISSING`` for missing cells, ``UNSEEN`` for values that are not states.

    Values match across numeric types. With `by_text`, a value that is not a state matches a state with the same text:
    True matches ``"True"``. Dask and CSV files convert objects to text.

    Examples
    --------
    >>> match_column(pd.Series([2.0, np.nan, 3.0, 1.0]), (1, 2))
    array([ 1, -1, -2,  0])
    """
    if isinstance(column, Coded):
        return _match_codes(column.codes, list(column.states), states)
    dtype = column.dtype
    if dtype == np.bool_:
        return _match_values([False, True], states, by_text)[column.to_numpy().astype(np.int64)]
    if dtype.kind in "iu" and isinstance(dtype, np.dtype):
        return _match_whole_numbers(column.to_numpy(), states, by_text)
    codes, values = factorize(column)
    return _match_codes(codes, _labels(values), states, by_text)


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


def _same_text(states: Sequence[State]) -> tuple[State, str] | None:
    """Return a number or truth value and its text, if both are states."""
    text = {state for state in states if isinstance(state, str)}
    others = [state for state in states if not isinstance(state, str)] if text else []
    pairs = ((state, written) for state in others for written in (str(state), _text(state)) if written in text)
    return next(pairs, None)


def _match_whole_numbers(values: npt.NDArray[Any], states: Sequence[State], by_text: bool = False) -> Codes:
    """Match whole numbers through an array indexed by value."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= _LOOKUP_RANGE:
        distinct, inverse = np.unique(values, return_inverse=True)
        return _match_values(distinct.tolist(), states, by_text)[inverse]
    lookup = _match_values(list(range(low, high + 1)), states, by_text)
    # Numbers above 2**63 need the unsigned type, negative numbers the signed one.
    steps = values - values.min() if values.dtype.kind == "u" else values.astype(np.int64) - low
    return lookup[steps]


def plain_label(value: object) -> State | None:
    """Return a label as an equal plain Python value; None if it is not text, a number or a truth value."""
    if isinstance(value, np.longdouble):
        value = float(value) if float(value) == value else None
    elif isinstance(value, np.generic):
        # For numpy, durations are integers.
        is_plain = isinstance(value, np.bool_ | np.integer | np.floating | np.str_)
        value = value.item() if is_plain and not isinstance(value, np.timedelta64) else None
    if isinstance(value, str):
        # The text of an enumeration may differ from its value.
        return str.__str__(value)
    kinds: tuple[type[State], ...] = (bool, int, float)
    return next((kind(value) for kind in kinds if isinstance(value, kind)), None)


def as_array(labels: Sequence[State]) -> npt.NDArray[Any]:
    """Return labels as an array, of objects if no other type of numpy preserves them."""
    wanted = list(labels)
    dtypes = (None, np.uint64) if len({type(label) for label in wanted}) == 1 else ()
    for dtype in dtypes:
        with suppress(OverflowError, TypeError, ValueError):
            array = np.array(wanted, dtype=dtype)
            if repr(array.tolist()) == repr(wanted):
                return array
    return np.array(wanted, dtype=object)


def label_index(labels: Sequence[State]) -> pd.Index[Any]:
    """Return labels as a pandas index that preserves them: of objects if types are mixed or text is broken."""
    odd = len(set(map(type, labels))) > 1 or any(isinstance(label, str) and is_broken(label) for label in labels)
    index: pd.Index[Any] = pd.Index(as_array(labels), dtype=object if odd else None)
    return index


def as_label(value: Any) -> State:
    """Return a value as text, a number or a truth value; any other value becomes its text."""
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() <= _LARGEST_EXPONENT:
        return int(value) if value == value.to_integral_value() else float(value)
    label = plain_label(value)
    return str(value) if label is None else label


def _is_plain(dtype: Any, kinds: str) -> bool:
    """Return whether a dtype is of these kinds of numpy numbers, and not longer than Python numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in kinds and dtype.itemsize <= 8


def _labels(values: Any) -> list[State]:
    """Return values as plain Python values."""
    if isinstance(values, np.ndarray) and _is_plain(values.dtype, "iufb"):
        plain: list[State] = values.tolist()
        return plain
    return [value if type(value) is str else as_label(value) for value in values]


def checked_label(label: object) -> State:
    """Return a label as a plain Python value; a ``TypeError`` if it is not text, a number or a truth value."""
    plain = plain_label(label)
    if plain is None:
        raise TypeError(f"state label {label!r} is of type {type(label).__name__}, not text, number or truth value")
    return plain


def checked_labels(name: str, labels: Iterable[object]) -> list[State]:
    """Return a variable's labels as plain Python values; the ``TypeError`` names the variable."""
    try:
        return [checked_label(label) for label in labels]
    except TypeError as error:
        raise TypeError(f"variable {name!r}: {error}") from None


def check_unseen(unseen: str) -> None:
    """Raise a ``ValueError`` unless `unseen` is "missing" or "error"."""
    if unseen not in ("missing", "error"):
        raise ValueError(f"unseen={unseen!r} is not 'missing' or 'error'")


def _report_unseen(name: str, column: pd.Series[Any], codes: Codes, unseen: str, states: Sequence[State]) -> None:
    """Warn about values that are not states, or raise an error that lists the states if `unseen` is "error"."""
    where = codes == UNSEEN
    if not where.any():
        return
    message = f"column {name!r}: {_first(column[where].drop_duplicates().tolist(), 3)} not seen in training"
    if unseen == "error":
        raise ValueError(f"{message}; the states are {_first(states, 10)}")
    warn_outside(f"{message}; treated as missing", UnseenValueWarning)


def _first(values: Sequence[Any], n: int) -> str:
    return ", ".join(repr(value) for value in values[:n]) + (", ..." if len(values) > n else "")


def smallest_dtype(cards: npt.ArrayLike) -> np.dtype[Any]:
    """Return the smallest unsigned dtype whose largest value is free to mean missing."""
    return np.min_scalar_type(int(np.max(cards, initial=0)))
