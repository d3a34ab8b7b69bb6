"""The maximum-margin score of a structure (Pernkopf and Wohlmayr 2013, section 3.2).

How strongly a log margin counts, `lam`, is given, or chosen by cross-validation: trees found with each value of a
grid are compared by their classification rate on rows that neither the search nor the parameters have seen.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import check_random_state

from bnplug.builtin.scores import HitRate
from bnplug.compiling import run_in_threads
from bnplug.counts.information import by_falling, class_information, pairwise_information
from bnplug.scoring import Bounds, PredictiveScore
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.contracts import Evaluator
    from bnplug.table.folds import Splitter
    from bnplug.table.table import Table

#: What ``lam="cv"`` chooses from: ten values from 0.01 to 1 (Peharz, Tschiatschek and Pernkopf 2013, section 5.3), here
#: with equal ratios, since evenly spaced ones leave out all between 0.01 and 0.12, where the best is on digit images.
LAM_GRID: tuple[float, ...] = tuple(np.geomspace(0.01, 1.0, 10).round(3).tolist())

# The folds of lam="cv" where the score itself tests on the training rows.
_FOLDS = 5
# How many parents the search of lam="cv" tries for a feature.
_CANDIDATES = 5


def margin(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    """min(1, lam x the log margin): the log joint of the row's class minus the largest of another."""
    lam = params[0]
    for m in range(L.shape[0]):
        rival = -np.inf
        for c in range(L.shape[1]):
            if c != y[m] and L[m, c] > rival:
                rival = L[m, c]
        out[m] = min(1.0, lam * (L[m, y[m]] - rival))


class MaximumMargin(PredictiveScore):
    """`mm`: the sum over tested rows of min(1, lam x log margin).

    The log margin of a row is the log joint of its class minus the largest of another class. Rows that are
    clearly right count 1 each, which focuses a search on rows near the boundary and beyond it.

    Parameters
    ----------
    lam : float or "cv"
        How strongly a log margin counts; from a log margin of 1 / lam on, a row is clearly right. "cv" chooses from
        ``LAM_GRID``. Each fold is left out in turn; on the others, each value finds a tree: features by falling
        I(X; C) take that one of the 5 earlier features with the largest I(Xi; Xj | C) which raises the score most.
        The value whose trees classify most rows of the folds left out is taken, the smallest of tied ones.
    alpha, floor : float
        The smoothing of the parameters, as in ``ml``; one must be positive.
    cv : int, splitter or None
        The resampling, as in :class:`~bnplug.scoring.PredictiveScore`.
    random_state : int, RandomState or None
        What the folds are drawn from, where they are shuffled.

    Attributes
    ----------
    lam_ : float
        The value that was used last.
    cv_rates_ : float array
        With ``lam="cv"``, the classification rate for each value in ``LAM_GRID``.

    References
    ----------
    Pernkopf, Wohlmayr: Stochastic margin-based structure learning of Bayesian network classifiers (2013).

    Examples
    --------
    >>> from bnplug import Structure
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "c": ["n", "n", "n", "y", "y", "n"]})
    >>> table = Table.from_frame(frame, "c")
    >>> MaximumMargin(lam=0.5, alpha=1.0, cv=None).score(table, Structure(table.names, [[1], []]))
    3.293...
    """

    gain = margin
    needs_finite = True

    def __init__(
        self,
        lam: Any = 0.3,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: int | Splitter | None = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.lam = lam

    def gain_params(self, table: Table) -> npt.ArrayLike:
        """Return lam."""
        return [self.lam]

    def gain_bounds(self, table: Table) -> Bounds:
        """Return that a row is worth 1 from a log margin of 1 / lam on, and below it lam times its margin."""
        return Bounds(maximum=1.0, high_gap=1.0 / self.lam, slope=self.lam)

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        """Return an evaluator that keeps the log joint of every row; chooses `lam` first where it is "cv"."""
        return PredictiveScore.evaluator(self._fixed(table, n_jobs), table, n_jobs)

    def choose_parameters(self, table: Table) -> MaximumMargin:
        """Return this score with the `lam` that "cv" chooses on `table`."""
        return self._fixed(table, None) if self.lam == "cv" else self

    def _fixed(self, table: Table, n_jobs: int | None) -> MaximumMargin:
        """Return a copy whose `lam` is a number."""
        self._check()
        self.lam_ = self.choose_lam(table, n_jobs) if self.lam == "cv" else float(self.lam)
        fixed: MaximumMargin = clone(self).set_params(lam=self.lam_)
        return fixed

    def choose_lam(self, table: Table, n_jobs: int | None = 1) -> float:
        """Return what ``lam="cv"`` chooses on `table`, and leave the rates in ``cv_rates_``."""
        folds = self._cv_folds(table)
        tested = np.bincount(folds[folds >= 0])
        rates = run_in_threads(partial(self._rates, table, folds), range(len(tested)), n_jobs=n_jobs)
        self.cv_rates_: FloatArray = np.average(rates, axis=0, weights=tested)
        return LAM_GRID[int(self.cv_rates_.argmax())]

    def _cv_folds(self, table: Table) -> IntArray:
        random = None if self.random_state is None else check_random_state(self.random_state)
        score: MaximumMargin = self if self.cv is not None else clone(self).set_params(cv=_FOLDS)
        folds = score.folds(table, random)
        assert folds is not None
        least = 2 if self.cv is None else 3
        if folds.max(initial=-1) + 1 < least:
            raise ValueError(f'lam="cv" leaves a fold out and needs {least - 1} others; cv={self.cv!r} gives fewer')
        return folds

    def _rates(self, table: Table, folds: IntArray, left_out: int) -> list[float]:
        """Return for each lam the classification rate, on one fold, of a tree found on the others."""
        kept = folds != left_out
        rows = table.take(kept)
        # The folds that are left may be numbered with a gap, which a splitter does not mind.
        inner = None if self.cv is None else PredefinedSplit(folds[kept])
        families = _candidates(rows)
        holdout = PredefinedSplit(np.where(kept, -1, 0))
        rate = HitRate(alpha=self.alpha, floor=self.floor, cv=holdout).evaluator(table)
        score = clone(self).set_params(cv=inner)
        return [
            rate.start(_grow(PredictiveScore.evaluator(score.set_params(lam=lam), rows), families, rows))
            for lam in LAM_GRID
        ]

    def _check(self) -> None:
        super()._check()
        if self.lam != "cv" and not (isinstance(self.lam, Real) and 0 < float(self.lam) < np.inf):
            raise ValueError(f'lam={self.lam!r} must be a positive number, or "cv"')


def _candidates(table: Table) -> dict[int, list[int]]:
    """Return, for features by falling I(X; C), the earlier features with the largest I(Xi; Xj | C)."""
    order = by_falling(class_information(table), table.features)
    information = pairwise_information(table, 1)
    return {v: sorted(order[:i], key=lambda u: -information[u, v])[:_CANDIDATES] for i, v in enumerate(order)}


def _grow(evaluator: Evaluator, candidates: dict[int, list[int]], table: Table) -> list[list[int]]:
    """Return the parents of a tree: each feature takes the best of its candidates if that raises the score."""
    c = table.target_index
    parents = table.naive_bayes()
    value = evaluator.start(parents)
    for v, tried in candidates.items():
        if not tried:
            continue
        scores = evaluator.propose_many([{v: [c, u]} for u in tried], at_least=value)
        best = int(scores.argmax())
        if scores[best] > value:
            parents[v] = [c, tried[best]]
            value = evaluator.commit({v: parents[v]})
    return parents
