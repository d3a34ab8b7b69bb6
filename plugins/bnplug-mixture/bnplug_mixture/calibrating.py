"""Calibrated evidence of the generative twins: two factors, fitted to the mean of the posteriors of all twins.

An average of posteriors is less certain than each of them, so factors that calibrate every twin alone make their mean
underconfident. With Q_m the posterior of twin m by calibrated evidence (:mod:`bnplug.inference.calibration`), the
factors t_1 and t_0, which all twins share, minimize the log loss of the mean over m of Q_m(c | e) on held-out rows,
complete and with half of their features hidden.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bnplug import BayesianNetworkClassifier
from bnplug.inference.calibration import HeldOut, known_share, nothing_known
from bnplug.model.log_tables import HIGHEST, LOWEST, Calibration
from bnplug.model.wettig import blanket_of
from bnplug.table.folds import split_rows

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import CodeArray, FloatArray, IntArray

# The number of folds, and the largest number of rows that are used.
_FOLDS, _ROWS = 3, 10_000

# The least probability of a class, and the change of the mean loss at which the search for its minimum ends.
_LEAST = 1e-300
_PRECISION: Any = {"ftol": 1e-10}


def held_out(twin: BayesianNetworkClassifier, table: Table, seed: int) -> HeldOut | None:
    """Return the held-out rows of one twin, in folds and with hidden features that depend only on `seed`.

    The structure of the twin is kept. None if its parameters are not generative or rows with hidden features need
    tables that are too large.
    """
    if not getattr(twin.parameters_, "generative", False):
        return None
    n = table.n_rows
    chosen = np.arange(n) if n <= _ROWS else np.arange(_ROWS) * n // _ROWS
    labels = table.column(table.target_index)[chosen]
    rows = table.take(chosen[labels != table.missing]).gather()
    labels = rows.column(rows.target_index)
    random = np.random.RandomState(seed)
    n_folds = min(_FOLDS, int(np.bincount(labels).max(initial=0)))
    params = {**twin.get_params(deep=False), "calibrate": None}
    parts: list[HeldOut] = []
    for train, test in split_rows(labels, n_folds, random) if n_folds > 1 else []:
        part, rest = rows.take(train), rows.take(test)
        with warnings.catch_warnings():
            # Warnings about the columns were given for all rows.
            warnings.simplefilter("ignore", UserWarning)
            network = BayesianNetworkClassifier(**params).fit_table(part, twin.encoder_)
        compiled = network.engine_.compile(network.tables_, network.target_)
        blanket = np.array([rows.index(name) for name in blanket_of(network.tables_)], dtype=np.int64)
        nothing = np.tile(nothing_known(compiled, network.tables_), (rest.n_rows, 1))
        weights = np.ones(rest.n_rows) if rest.weights is None else rest.weights
        for codes in (rest.codes, _half_hidden(rest, random)):
            try:
                joint = compiled.log_joint(codes, n_jobs=1)
            except ValueError:
                return None
            parts.append(HeldOut(joint, nothing, labels[test].astype(np.int64), weights, known_share(codes, blanket)))
    return HeldOut(*map(np.concatenate, zip(*parts, strict=True))) if parts else None


def _half_hidden(table: Table, random: np.random.RandomState) -> CodeArray:
    """Return the codes of rows with a random half of the features hidden, a different half in each row."""
    codes = table.codes.copy()
    order = random.random_sample((len(table.features), table.n_rows)).argsort(axis=0)
    codes[table.features] = np.where(order < len(table.features) // 2, table.missing, codes[table.features])
    return codes


class _Pool(NamedTuple):
    """Held-out rows of several twins: the first axis of all arrays but the last two is that of the twins."""

    start: FloatArray
    evidence: FloatArray
    known: FloatArray
    classes: IntArray
    weights: FloatArray

    def loss(self, t: FloatArray) -> tuple[float, FloatArray]:
        """Return the weighted log loss of the mean posterior, and its gradient by t_1 and t_0."""
        factors = t[0] * self.known + t[1] * (1.0 - self.known)
        logits = self.start + factors[..., None] * self.evidence
        posterior = np.exp(logits - logits.max(axis=2, keepdims=True))
        posterior /= posterior.sum(axis=2, keepdims=True)
        rows = np.arange(len(self.classes))
        of_class = posterior[:, rows, self.classes]
        mean = np.maximum(of_class.mean(axis=0), _LEAST)
        slopes = of_class * (self.evidence[:, rows, self.classes] - (posterior * self.evidence).sum(axis=2))
        slopes *= self.weights / mean / len(slopes)
        gradient = -np.array([(slopes * self.known).sum(), (slopes * (1.0 - self.known)).sum()])
        return -float(self.weights @ np.log(mean)), gradient


def fit_factors(parts: Sequence[HeldOut | None]) -> Calibration:
    """Return the factors with the least log loss of the mean posterior of the twins; 1 without held-out rows."""
    from scipy.optimize import minimize  # takes long to import

    given = [part for part in parts if part is not None]
    if not given:
        return Calibration()
    joint, nothing, known = (
        np.stack([getattr(part, name) for part in given]) for name in ("joint", "nothing", "known")
    )
    possible = np.isfinite(joint) & np.isfinite(nothing)
    used = (given[0].weights > 0) & possible.any(axis=(0, 2))
    if not used.any():
        return Calibration()
    # A row that is impossible in a twin has the prior there, as in predictions.
    impossible = ~possible.any(axis=2, keepdims=True)
    start = np.where(possible | (impossible & np.isfinite(nothing)), nothing, -np.inf)
    evidence = np.where(possible, joint - np.where(possible, nothing, 0.0), 0.0)
    weights = given[0].weights[used] / given[0].weights[used].sum()
    pool = _Pool(start[:, used], evidence[:, used], known[:, used], given[0].classes[used], weights)
    # L-BFGS-B calls LAPACK, whose threads take longer to start than such a small problem takes to solve.
    bounds = [(LOWEST, HIGHEST)] * 2
    best = minimize(pool.loss, np.ones(2), jac=True, method="SLSQP", bounds=bounds, options=_PRECISION)
    return Calibration(*map(float, np.clip(best.x, LOWEST, HIGHEST)))
