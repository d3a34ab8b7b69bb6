"""Rare states of a column are pooled, as scikit-learn's encoders do: a state of its own stands for all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaincc

from bnplug.arrays import BoolArray, FloatArray, IntArray
from bnplug.data._cells import rows_by_number
from bnplug.data.coding import MISSING, UNSEEN, Coded, Codes, State, match_column

#: What "auto" means: in a column with more states than this, a state needs as many rows as that; fewer where the
#: column tells the class, which by chance alone a column seems to do so rarely.
MANY_STATES, FEW_ROWS, FEW_TELLING_ROWS, CHANCE = 30, 30, 10, 0.001

#: What the state of the rare values is called; a state that is called so already makes it longer.
OTHER = "other"


def check_limits(max_categories: Any, min_frequency: Any) -> None:
    """Raise a ``ValueError`` for limits that mean nothing."""
    if max_categories is not None and not _is_whole(max_categories, 2):
        raise ValueError(f"max_categories={max_categories!r}: expected a whole number of at least 2, or None")
    if min_frequency is None or (isinstance(min_frequency, str) and min_frequency == "auto"):
        return
    is_share = isinstance(min_frequency, float | np.floating) and 0 < min_frequency < 1
    if not is_share and not _is_whole(min_frequency, 1):
        raise ValueError(
            f"min_frequency={min_frequency!r}: expected a number of rows, a share of them (above 0, below 1), 'auto' "
            "or None"
        )


def pool(
    column: Coded,
    weights: FloatArray | None,
    max_categories: int | None,
    min_frequency: float | None,
    repeats: IntArray | None = None,
) -> Coded | None:
    """Return a column whose last state stands for all that are rare; None where none is.

    Parameters
    ----------
    column : Coded
    weights : float64 array of shape (rows,), optional
        A weight of 2 is the row twice; fractional weights do not make fewer rows than there are.
    max_categories : int, optional
        The most states that are left, the pooled one among them; of equally frequent ones the first stay.
    min_frequency : float, optional
        The rows, or the share of those with a value, that a state needs.
    repeats : int64 array, optional
        How many rows each cell stands for; by default one.

    Examples
    --------
    >>> pool(Coded(np.array([0, 0, 1, 2, -1]), ("a", "b", "c")), None, None, 2)
    Coded(codes=array([ 0,  0,  1,  1, -1]), states=('a', 'other'))
    """
    rows = _rows_of_states(column, weights, repeats)
    kept = np.ones(len(rows), dtype=bool)
    if min_frequency is not None:
        kept = rows >= (min_frequency if min_frequency >= 1 else min_frequency * rows.sum())
    if max_categories is not None and np.count_nonzero(kept) + (not kept.all()) > max_categories:
        order = np.argsort(-rows, kind="stable")
        kept &= np.isin(np.arange(len(rows)), order[kept[order]][: max_categories - 1])
    return None if kept.all() else _pooled(column, kept)


def tells(column: Coded, labels: Codes, repeats: IntArray | None = None) -> bool:
    """Whether chance does not explain how a column and the class go together: Pearson's test of independence.

    Parameters
    ----------
    column : Coded
    labels : int array of shape (rows,)
        The number of each row's class; -1 where it has none.
    repeats : int64 array, optional
        How many rows each cell stands for; by default one.

    Examples
    --------
    >>> codes = np.arange(400) % 40
    >>> tells(Coded(codes, range(40)), codes % 2), tells(Coded(codes, range(40)), np.arange(400) // 200)
    (True, False)
    """
    n_classes = int(labels.max(initial=0)) + 1
    cells = np.where((column.codes >= 0) & (labels >= 0), column.codes.astype(np.int64) * n_classes + labels, -1)
    seen = rows_by_number(cells, repeats, len(column.states) * n_classes).reshape(-1, n_classes)
    seen = seen[seen.any(axis=1)][:, seen.any(axis=0)]
    if min(seen.shape) < 2:
        return False
    expected = seen.sum(axis=1, keepdims=True) * (seen.sum(axis=0) / seen.sum())
    statistic = ((seen - expected) ** 2 / expected).sum()
    # The upper tail of chi-square is one of a gamma distribution.
    return bool(gammaincc((seen.shape[0] - 1) * (seen.shape[1] - 1) / 2, statistic / 2) < CHANCE)


def match_pooled(column: pd.Series[Any], states: Sequence[State]) -> Coded:
    """Number the cells of new rows by the states of a pooled column: whatever is no state is in the last.

    Examples
    --------
    >>> match_pooled(pd.Series(["a", "z", None]), ("a", "other")).codes
    array([ 0,  1, -1])
    """
    codes = match_column(column, states[:-1], by_text=True)
    return Coded(np.where(codes == UNSEEN, len(states) - 1, codes), tuple(states))


def _rows_of_states(column: Coded, weights: FloatArray | None, repeats: IntArray | None) -> FloatArray:
    rows = rows_by_number(column.codes, repeats, len(column.states))
    return rows if weights is None else np.maximum(rows, rows_by_number(column.codes, weights, len(column.states)))


def _pooled(column: Coded, kept: BoolArray) -> Coded:
    states = tuple(state for state, stays in zip(column.states, kept, strict=True) if stays)
    number = np.full(len(kept) + 1, len(states), dtype=np.int64)
    number[:-1][kept] = np.arange(len(states))
    number[MISSING] = MISSING
    return Coded(number[column.codes], (*states, unlike(OTHER, set(map(str, states)))))


def unlike(label: str, taken: set[str]) -> str:
    """Return `label`, made longer until it is none of those that are taken.

    Examples
    --------
    >>> unlike("other", {"other", "red"})
    'other_'
    """
    while label in taken:
        label += "_"
    return label


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least
