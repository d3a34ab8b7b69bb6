"""Folds of cross-validation: stratified, or of any scikit-learn splitter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from bnplug.table.table import Table
from bnplug.typing import IntArray

#: The positions of the training rows and of the test rows of a fold.
Split = tuple[IntArray, IntArray]


class Splitter(Protocol):
    """The interface of scikit-learn's splitters."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield the positions of training rows and of test rows."""


def stratified_folds(labels: npt.ArrayLike, n_folds: int, random: np.random.RandomState | None = None) -> IntArray:
    """Return the fold of each row, those of scikit-learn's ``StratifiedKFold``, which takes longer to import.

    Parameters
    ----------
    labels : array of shape (rows,)
        The classes. One of them needs at least `n_folds` rows.
    n_folds : int
    random : RandomState, optional
        Shuffles the rows of each class; by default they stay in order.

    Examples
    --------
    >>> stratified_folds([0, 0, 0, 1, 1, 1, 1], 3)
    array([0, 1, 2, 0, 0, 1, 2])
    """
    if n_folds < 2:
        raise ValueError(f"cross-validation needs at least 2 folds, not {n_folds}")
    labels = np.asarray(labels)
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    # Classes are numbered by their first occurrence.
    codes = np.argsort(np.argsort(first))[codes]
    counts = np.bincount(codes)
    if not (counts >= n_folds).any():
        raise ValueError(f"{n_folds} folds: every class has fewer rows than that; use fewer folds")
    if (counts < n_folds).any():
        warnings.warn(
            f"The least populated class has only {counts.min()} rows, fewer than the {n_folds} folds.",
            UserWarning,
            stacklevel=2,
        )
    in_order = np.sort(codes)
    sizes = np.array([np.bincount(in_order[i::n_folds], minlength=len(counts)) for i in range(n_folds)])
    folds = np.empty(len(labels), dtype=np.int64)
    for c in range(len(counts)):
        of_class = np.repeat(np.arange(n_folds), sizes[:, c])
        if random is not None:
            random.shuffle(of_class)
        folds[codes == c] = of_class
    return folds


def draw_folds(table: Table, cv: int | Splitter | None, random: np.random.RandomState | None) -> IntArray | None:
    """Return the fold of each row, -1 for a row that is never tested; None stands for resubstitution.

    Parameters
    ----------
    table : Table
    cv : int, splitter or None
        An int is the number of stratified folds, shuffled if `random` is given. The test sets of a splitter must not
        overlap, and each training set must be all the rows outside its test set.
    random : RandomState, optional

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
    labels = table.column(table.target_index)
    if isinstance(cv, int | np.integer):
        return stratified_folds(labels, int(cv), random)
    if not hasattr(cv, "get_n_splits"):
        raise ValueError(f"cv={cv!r} is not a number of folds, a splitter or None")
    folds = np.full(table.n_rows, -1, dtype=np.int64)
    for number, (train, test) in enumerate(cv.split(np.zeros((table.n_rows, 1)), labels)):
        if (folds[test] >= 0).any():
            raise ValueError(f"test set {number} of {cv!r} overlaps an earlier one; a row can be tested only once")
        folds[test] = number
        outside = np.ones(table.n_rows, dtype=bool)
        outside[test] = False
        if not np.array_equal(np.sort(train), np.flatnonzero(outside)):
            raise ValueError(
                f"training set {number} of {cv!r} is not all the rows outside its test set; "
                "drop the rows that are to stay out of both beforehand"
            )
    return folds


def split_rows(labels: Any, cv: Any, random_state: Any = None, *, n_repeats: int = 1, X: Any = None) -> list[Split]:
    """Return the training rows and the test rows of each fold.

    Classes with fewer rows than folds, which are absent from some test sets, give no warning.

    Parameters
    ----------
    labels : array or series
        The class of each row.
    cv : int or splitter
        The number of stratified folds, or a splitter of scikit-learn.
    random_state : int or RandomState, optional
        Shuffles stratified folds; by default the rows stay in order. A splitter has its own.
    n_repeats : int
        How many times to draw stratified folds, one draw after the other.
    X : frame, optional
        The features, for splitters that use them.

    Examples
    --------
    >>> [test.tolist() for _, test in split_rows(list("nnyy"), 2)]
    [[0, 2], [1, 3]]
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        if hasattr(cv, "split"):
            return list(cv.split(np.zeros((len(labels), 1)) if X is None else X, labels))
        random = None if random_state is None else check_random_state(random_state)
        draws = [stratified_folds(labels, int(cv), random) for _ in range(n_repeats)]
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for folds in draws for k in range(int(cv))]
