"""The scores of Kelner and Lerner (2012): the hit rate on rows that were held out, by three ways of holding out.

Each is the share of held-out rows whose class is predicted: one minus the risk of the paper's equations 10 and 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.builtin.scores import HitRate
from bnplug.table.folds import draw_folds
from bnplug.table.table import Table
from bnplug.typing import IntArray


class CrossValidatedHitRate(HitRate):
    """`rmcv`: K folds, each predicted from the others; the folds stay the same for a whole search (eq. 10).

    Parameters
    ----------
    alpha, floor : float
        How parameters are smoothed (:func:`bnplug.model.log_tables.estimate`). The paper's are not: ``alpha=0``.
    cv : int or splitter
        The number K of stratified folds, which are shuffled if `random_state` is given, or any splitter of
        scikit-learn whose test sets do not overlap.
    random_state : int, RandomState or None
        What the folds are drawn from, where they are shuffled.

    References
    ----------
    Kelner, Lerner: Learning Bayesian network classifiers by risk minimization (2012).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 0, 1, 1, 1, 1], "c": list("nnnyyyyy")})
    >>> table = Table.from_frame(frame, "c")
    >>> CrossValidatedHitRate(cv=2).score(table, Structure(table.names, [[1], []]))  # c -> x: one y looks like an n
    0.875
    """

    def __init__(self, alpha: float = 1.0, floor: float = 0.0, cv: Any = 4, random_state: Any = None) -> None:
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray:
        """Return each row's fold."""
        folds = draw_folds(table, self.cv, random)
        if folds is None:
            raise ValueError("cv=None holds no row out: give a number of folds or a splitter, or use the score 'cr'")
        return folds


class HoldOutHitRate(CrossValidatedHitRate):
    """`rmho-f`: one K-th of the rows is predicted from the others, the same for a whole search (eq. 11).

    Its parameters are those of :class:`CrossValidatedHitRate`; the first of the folds is held out.

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 0, 1, 1, 1, 1], "c": list("nnnyyyyy")})
    >>> table = Table.from_frame(frame, "c")
    >>> HoldOutHitRate(cv=2).score(table, Structure(table.names, [[1], []]))  # of four rows
    0.75
    """

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray:
        """Return 0 for the rows that are held out, -1 for the others."""
        folds = super().folds(table, random)
        return np.where(folds == 0, 0, -1)


class RedrawnHoldOutHitRate(HoldOutHitRate):
    """`rmho`: as `rmho-f`, but each step of a search holds other rows out, at random.

    Without `random_state` every run draws other rows.

    Parameters
    ----------
    alpha, floor : float
        As for :class:`CrossValidatedHitRate`.
    cv : int or splitter
        As for :class:`CrossValidatedHitRate`.
    random_state : int, RandomState or None
        As for :class:`CrossValidatedHitRate`.
    keep : bool
        Whether the current graph keeps the score of the rows on which it won. That is the best of many, so it is too
        good, and a search stops early: the reading that leads to the paper's figures. Otherwise the current graph is
        scored on each draw as its neighbors are.
    """

    resamples = True

    def __init__(
        self, alpha: float = 1.0, floor: float = 0.0, cv: Any = 4, random_state: Any = None, keep: bool = True
    ) -> None:
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.keep = keep

    @property
    def keeps(self) -> bool:
        """What `keep` says."""
        return self.keep

    def folds(self, table: Table, random: np.random.RandomState | None) -> IntArray:
        """Return 0 for the rows that are held out this time, -1 for the others."""
        return super().folds(table, check_random_state(random))
