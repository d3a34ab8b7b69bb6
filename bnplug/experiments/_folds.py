"""Folds: what ``cv`` means for a data set, settled once so that every method sees the same rows."""

from __future__ import annotations

import copy
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from bnplug.arrays import BoolArray, IntArray

#: The training and the test rows of a fold, as positions.
Split = tuple[IntArray, IntArray]

_REPEATED = re.compile(r"(\d+)x(\d+)")


def make_splits(cv: Any, X: Any, y: Any, kept: BoolArray, random_state: int) -> list[Split]:
    """Return the training and test rows of every fold.

    Parameters
    ----------
    cv : str, int, splitter, or sequence of (train, test)
        ``"10x5"``: ten repetitions of a shuffled, stratified 5-fold cross validation (a class with fewer rows than
        folds is a warning; where all have fewer, folds are not stratified); an int: one such repetition; a
        scikit-learn splitter, which gets `random_state` if it has None; or positions of rows.
    X, y : frame and series
        All rows of the data set.
    kept : boolean array
        The rows that may be used. Positions always count all rows.
    random_state : int
        The seed of the shuffling.

    Raises
    ------
    ValueError
        If `cv` is none of these, or a fold has no rows, rows that are not there, or rows in both parts.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y = pd.DataFrame({"a": range(6)}), pd.Series(list("ppqqpq"))
    >>> len(make_splits("2x3", X, y, np.ones(6, dtype=bool), 0))
    6
    """
    splitter = _splitter(cv, y[kept], random_state)
    if splitter is None:
        splits = [_given(fold, kept) for fold in cv]
    else:
        rows = np.flatnonzero(kept)
        if not len(rows):
            raise ValueError("no row is left: all have a missing cell")
        with warnings.catch_warnings():
            # Of classes with few rows the caller tells, by name.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = [(rows[train], rows[test]) for train, test in splitter.split(X.iloc[rows], y.iloc[rows])]
    if not splits:
        raise ValueError("cv gives no fold")
    for number, split in enumerate(splits):
        _check(number, split, len(kept))
    return splits


def rare_classes(cv: Any, y: Any) -> dict[Any, int]:
    """Return the classes that have fewer rows than a stratified cross validation has folds, and how many rows.

    Examples
    --------
    >>> import pandas as pd
    >>> rare_classes("10x5", pd.Series(list("pqpqprpqpqpq"))), rare_classes([([0], [1])], pd.Series(list("pq")))
    ({'r': 1}, {})
    """
    repeated = _repeated(cv)
    return {} if repeated is None else {label: n for label, n in Counter(y.tolist()).items() if n < repeated[1]}


def describe_cv(cv: Any) -> str:
    """Say in a few words what `cv` is.

    Examples
    --------
    >>> describe_cv("10x5"), describe_cv([([0], [1])])
    ('10x5', '1 given split')
    """
    if isinstance(cv, str | int):
        return str(cv)
    if hasattr(cv, "split"):
        return type(cv).__name__
    return f"{len(cv)} given split{'s' if len(cv) > 1 else ''}"


def _repeated(cv: Any) -> tuple[int, int] | None:
    """Return the repetitions and the folds of each that `cv` says; None where it is something else."""
    written = _REPEATED.fullmatch(cv) if isinstance(cv, str) else None
    if written:
        return int(written[1]), int(written[2])
    return (1, int(cv)) if isinstance(cv, int | np.integer) else None


def _splitter(cv: Any, y: Any, random_state: int) -> Any:
    """Return what splits rows of the classes `y`, or None where the splits themselves are given."""
    repeated = _repeated(cv)
    if repeated:
        n_repeats, n_splits = repeated
        if n_repeats < 1 or n_splits < 2:
            raise ValueError(f"cv={cv!r}: there must be at least one repetition of at least two folds")
        # scikit-learn stratifies where at least one class has a row for every fold.
        all_rare = max(Counter(y.tolist()).values(), default=0) < n_splits
        kind = RepeatedKFold if all_rare else RepeatedStratifiedKFold
        return kind(n_splits=n_splits, n_repeats=n_repeats, random_state=random_state)
    if hasattr(cv, "split") and not isinstance(cv, str):
        splitter = copy.deepcopy(cv)
        if getattr(splitter, "random_state", 0) is None:
            splitter.random_state = random_state
        return splitter
    pairs = isinstance(cv, Sequence) and not isinstance(cv, str) and all(_is_pair(fold) for fold in cv)
    if not pairs:
        raise ValueError(
            f"cv={cv!r}: expected '10x5' (repetitions x folds), a number of folds, a scikit-learn splitter, "
            "or a list of (training rows, test rows)"
        )
    return None


def _is_pair(fold: Any) -> bool:
    return isinstance(fold, Sequence) and not isinstance(fold, str) and len(fold) == 2


def _given(fold: Any, kept: BoolArray) -> Split:
    """Return a given fold without the rows that are not used."""
    train, test = (np.asarray(part, dtype=np.int64).ravel() for part in fold)
    for part in (train, test):
        if ((part < 0) | (part >= len(kept))).any():
            raise ValueError(f"cv lists rows that are not there: rows are numbered 0 to {len(kept) - 1}")
    return train[kept[train]], test[kept[test]]


def _check(number: int, split: Split, n_rows: int) -> None:
    train, test = split
    if not len(train) or not len(test):
        raise ValueError(f"cv: fold {number} has no {'test' if len(train) else 'training'} rows")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"cv: fold {number} has {len(both)} of {n_rows} rows both in training and in test")
