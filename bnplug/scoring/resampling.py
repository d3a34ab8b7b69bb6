"""Which rows train the parameters that a row is tested with: resubstitution, folds, any splitter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from bnplug.arrays import IntArray
from bnplug.data.table import Table


class Splitter(Protocol):
    """What scikit-learn's splitters have in common."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield the numbers of training rows and of test rows."""


def draw_folds(table: Table, cv: int | Splitter | None, random: np.random.RandomState | None) -> IntArray | None:
    """Return each row's fold, -1 for one that is never tested; None stands for resubstitution.

    Parameters
    ----------
    table : Table
    cv : int, splitter or None
        A number is that of stratified folds, shuffled where `random` is given.
    random : RandomState, optional

    Raises
    ------
    ValueError
        If a splitter's test sets overlap, or a training set is not all the rows outside its test set.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.model_selection import PredefinedSplit
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 1, 1, 0], "c": [0, 1, 0, 1]}), "c")
    >>> draw_folds(table, 2, None)
    array([0, 0, 1, 1])
    >>> draw_folds(table, PredefinedSplit([3, -1, 3, 5]), None)
    array([ 0, -1,  0,  1])
    """
    if cv is None:
        return None
    if not (isinstance(cv, int | np.integer) or hasattr(cv, "get_n_splits")):
        raise ValueError(f"cv={cv!r} is not a number of folds, a splitter or None")
    splitter = _stratified(cv, random) if isinstance(cv, int | np.integer) else cv
    labels = table.column(table.target_index)
    folds = np.full(table.n_rows, -1, dtype=np.int64)
    rows = np.zeros((table.n_rows, 1))
    for number, (train, test) in enumerate(splitter.split(rows, labels)):
        if (folds[test] >= 0).any():
            raise ValueError(
                f"test set {number} of {splitter!r} overlaps an earlier one; a row can be tested only once"
            )
        folds[test] = number
        outside = np.ones(table.n_rows, dtype=bool)
        outside[test] = False
        if not np.array_equal(np.sort(train), np.flatnonzero(outside)):
            raise ValueError(
                f"training set {number} of {splitter!r} is not all the rows outside its test set; "
                "drop the rows that are to stay out of both beforehand"
            )
    return folds


def _stratified(n_folds: int, random: np.random.RandomState | None) -> Splitter:
    from sklearn.model_selection import StratifiedKFold

    splitter: Splitter = StratifiedKFold(n_folds, shuffle=random is not None, random_state=random)
    return splitter
