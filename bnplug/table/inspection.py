"""Checks of single columns that `fit` runs by itself, and that plugins can run before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.typing import FloatArray

# A state in fewer rows may occur with a single class by chance.
_FEWEST_ROWS = 5
# In fewer rows, states may correspond to the classes one to one by chance.
_FEWEST_ROWS_OF_COPY = 20

# Text is mostly numbers if at least this many of its values, and at least this share of its cells, are numbers.
_FEWEST_NUMBERS, _MOSTLY = 10, 0.8
# Other text may be at most this share of the values.
_MOST_OTHERS = 0.2

# Formats of dates: a name, the pattern for pandas, and the dates.
_FORMATS = {
    ("YYYY-MM-DD", "ISO8601"): re.compile(r"[0-9]{4}-[01]?[0-9]-[0-3]?[0-9]([T ][0-9]{2}:[0-9]{2}.*)?"),
    ("YYYY/MM/DD", "%Y/%m/%d"): re.compile(r"[0-9]{4}/[01]?[0-9]/[0-3]?[0-9]"),
    ("YYYY.MM.DD", "%Y.%m.%d"): re.compile(r"[0-9]{4}\.[01]?[0-9]\.[0-3]?[0-9]"),
    ("DD.MM.YYYY", "%d.%m.%Y"): re.compile(r"[0-3]?[0-9]\.[01]?[0-9]\.[0-9]{4}"),
    ("DD.MM.YY", "%d.%m.%y"): re.compile(r"[0-3]?[0-9]\.[01]?[0-9]\.[0-9]{2}"),
    ("DD-MM-YYYY", "%d-%m-%Y"): re.compile(r"[0-3]?[0-9]-[01]?[0-9]-[0-9]{4}"),
    ("DD-Mon-YYYY", "%d-%b-%Y"): re.compile(r"[0-3]?[0-9]-[A-Z][A-Za-z]{2}-[0-9]{4}"),
    ("Mon DD, YYYY", "%b %d, %Y"): re.compile(r"[A-Z][a-z]{2} [0-3]?[0-9], [0-9]{4}"),
    ("DD Mon YYYY", "%d %b %Y"): re.compile(r"[0-3]?[0-9] [A-Z][a-z]{2} [0-9]{4}"),
}
_DAY_FIRST, _MONTH_FIRST = ("DD/MM/YYYY", "%d/%m/%Y"), ("MM/DD/YYYY", "%m/%d/%Y")
_UNCLEAR = ("DD/MM/YYYY or MM/DD/YYYY", "")
_SLASHES = re.compile(r"([0-3]?[0-9])/([0-3]?[0-9])/[0-9]{4}")
_DIGIT_OR_MONTH, _SHORTEST_DATE = re.compile("[0-9JFMASOND]"), 6

_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?\s*")


class NumericText(NamedTuple):
    """A column of text that is mostly numbers.

    Attributes
    ----------
    share : float
        The share of cells that are numbers.
    others : tuple of (str, int)
        The texts that are not numbers and the number of rows of each, frequent ones first.
    comma : str or None
        A number with a decimal comma, if there are any.
    thousands : str or None
        A number with commas between thousands, if all commas can separate thousands.
    """

    share: float
    others: tuple[tuple[str, int], ...]
    comma: str | None
    thousands: str | None


def numeric_text(values: Sequence[object], rows: npt.ArrayLike) -> NumericText | None:
    """Return what else a column of text contains if it is mostly numbers, and None otherwise.

    At least ten distinct values and 80% of the cells are numbers, with a point or a comma, and at most a fifth of the
    distinct values are other text.

    Parameters
    ----------
    values : sequence
        The distinct values.
    rows : array-like
        The number of rows of each.

    Examples
    --------
    >>> numeric_text([*map(str, range(40)), "?"], [2] * 40 + [5])
    NumericText(share=0.94..., others=(('?', 5),), comma=None, thousands=None)
    >>> numeric_text(["sun", "rain", "7"], [1, 1, 1]) is None
    True
    """
    if len(values) < _FEWEST_NUMBERS or not any(isinstance(value, str) for value in values):
        return None
    is_other = np.array([isinstance(value, str) and not _is_number(value) for value in values])
    counts = np.asarray(rows, dtype=np.float64)
    n_others, share = np.count_nonzero(is_other), float(counts[~is_other].sum() / max(counts.sum(), 1))
    if len(values) - n_others < _FEWEST_NUMBERS or n_others > _MOST_OTHERS * len(values) or share < _MOSTLY:
        return None
    commas = [value for value in values if isinstance(value, str) and "," in value and _is_number(value)]
    decimals = [text for text in commas if _THOUSANDS.fullmatch(text) is None]
    if not n_others and not commas:
        return None
    others = [(str(values[i]), int(counts[i])) for i in np.flatnonzero(is_other).tolist()]
    thousands = None if decimals else min(commas, default=None)
    return NumericText(
        share, tuple(sorted(others, key=lambda other: (-other[1], other[0]))), min(decimals, default=None), thousands
    )


class DateFormat(NamedTuple):
    """A format of dates in a column of text.

    Attributes
    ----------
    name : str
        The format in words, such as ``"DD.MM.YYYY"``.
    pattern : str
        The format for :func:`pandas.to_datetime`; empty if days and months cannot be told apart.
    example : str
        A date in this format.
    rows : int
        The number of rows with such a date.
    """

    name: str
    pattern: str
    example: str
    rows: int


def date_formats(values: Sequence[object], rows: npt.ArrayLike) -> list[DateFormat]:
    """Return the formats of the dates in a column of text, frequent ones first; none unless 80% of its cells are dates.

    Parameters
    ----------
    values : sequence
        The distinct values.
    rows : array-like
        The number of rows of each.

    Examples
    --------
    >>> [f.name for f in date_formats(["2021-01-31", "2021-02-03", "14.02.2021"], [4, 5, 3])]
    ['YYYY-MM-DD', 'DD.MM.YYYY']
    """
    if not values or _date_format(values[0]) is None:
        return []
    counts = np.asarray(rows, dtype=np.float64)
    n_rows: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for value, count in zip(values, counts.tolist(), strict=True):
        kind = _date_format(value)
        if kind is not None:
            n_rows[kind] += count
            examples[kind] = min(examples.get(kind, str(value)), str(value))
    if n_rows.total() < _MOSTLY * counts.sum():
        return []
    orders = [kind for kind in (_DAY_FIRST, _MONTH_FIRST) if kind in n_rows]
    if orders:
        unclear = n_rows.pop(_UNCLEAR, 0)
        # With both orders, nothing says which of them the other dates have.
        n_rows[orders[0]] += unclear if len(orders) == 1 else 0
    formats = [DateFormat(*kind, examples[kind], int(n)) for kind, n in n_rows.items()]
    return sorted(formats, key=lambda known: (-known.rows, known.name))


def determines_class(counts: FloatArray) -> bool:
    """Return whether each state of a feature occurs with a single class.

    The number of states is at most the square root of the number of rows, and at least two states with different
    classes are in at least 5 rows each; or states and classes correspond one to one, and there are at least 20 rows
    and twice as many rows as classes.

    Parameters
    ----------
    counts : float64 array of shape (states, classes)
        The number of rows of each state and class.

    Examples
    --------
    >>> determines_class(np.array([[30.0, 0.0], [0.0, 20.0]])), determines_class(np.array([[30.0, 1.0], [0.0, 20.0]]))
    (True, False)
    """
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    n_states, n_classes = counts.shape
    if n_classes < 2 or np.count_nonzero(counts) > n_states:
        return False
    n_rows = counts.sum()
    if n_states == n_classes and n_rows >= max(_FEWEST_ROWS_OF_COPY, 2 * n_classes):
        return True
    frequent = counts[counts.sum(axis=1) >= _FEWEST_ROWS]
    return bool(n_states**2 <= n_rows and np.count_nonzero(frequent.any(axis=0)) > 1)


def _date_format(value: object) -> tuple[str, str] | None:
    """Return the format of a date, its name and its pattern, or None for other values."""
    if not isinstance(value, str) or len(value) < _SHORTEST_DATE or not _DIGIT_OR_MONTH.match(value):
        return None
    slashes = _SLASHES.fullmatch(value)
    if slashes:
        first, second = int(slashes[1]), int(slashes[2])
        if max(first, second) > 31 or min(first, second) > 12:
            return None
        return _DAY_FIRST if first > 12 else _MONTH_FIRST if second > 12 else _UNCLEAR
    return next((kind for kind, written in _FORMATS.items() if written.fullmatch(value)), None)


def _is_number(value: Any) -> bool:
    return any(written.fullmatch(value) for written in (_NUMBER, _COMMA, _THOUSANDS))
