"""Calibrated evidence of the generative twins: two factors, fitted to the answers of the mixture.

An average of posteriors is less certain than each of them, so twins that are calibrated one by one would be
underconfident together. With Q_m the posterior of twin m by calibrated evidence (:mod:`bnplug.inference.calibration`)
and P_m that of its member, the factors t_1 and t_0, which all twins share, minimize the log loss of the mean over m of
(P_m(c | e) + Q_m(c | e)) / 2, the answer to a row with missing features. The rows are held out, and a quarter, half
and three quarters of their features are hidden. A normal prior of the factors, with mean 1, prevents overfitting to
few rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bnplug import BayesianNetworkClassifier
from bnplug.inference.calibration import known_share, nothing_known
from bnplug.inference.complete import posterior
from bnplug.inference.predicting import predictive_log_joint
from bnplug.model.log_tables import HIGHEST, LOWEST, Calibration
from bnplug.model.wettig import blanket_of
from bnplug.table.folds import split_rows

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import CodeArray, FloatArray, IntArray

# One of so many folds is held out, of so many rows at most; shares of the features are hidden.
_FOLDS, _ROWS, _SHARES = 3, 10_000, (0.25, 0.5, 0.75)

# The standard deviation of the prior of the factors.
_DEVIATION = 0.3

# The least probability of a class, and the change of the mean loss at which the search for its minimum ends.
_LEAST = 1e-300
_PRECISION: Any = {"ftol": 1e-10}


class HeldOutRows(NamedTuple):
    """Held-out rows of a member and its twin.

    Attributes
    ----------
    member : array of shape (rows, classes)
        The posterior of the member.
    joint, nothing : arrays of shape (rows, classes)
        The log joint of the twin, with the known features and without any.
    known : array of shape (rows,)
        The share of the features in the Markov blanket of the twin that are known.
    classes, weights : arrays of shape (rows,)
        The true class and the weight.
    """

    member: FloatArray
    joint: FloatArray
    nothing: FloatArray
    known: FloatArray
    classes: IntArray
    weights: FloatArray


def held_out(
    member: BayesianNetworkClassifier, twin: BayesianNetworkClassifier, table: Table, seed: int
) -> HeldOutRows | None:
    """Return held-out rows of a member and its twin; which rows and which features depends on `seed` alone.

    Structures are kept. None if the parameters of the twin are not generative, or if the networks cannot be fitted to
    a part of the table or predict rows with hidden features.
    """
    if not getattr(twin.parameters_, "generative", False):
        return None
    n = table.n_rows
    chosen = np.arange(n) if n <= _ROWS else np.arange(_ROWS) * n // _ROWS
    labels = table.column(table.target_index)[chosen]
    rows = table.take(chosen[labels != table.missing]).gather()
    labels = rows.column(rows.target_index)
    random = np.random.RandomState(seed)
    if np.bincount(labels).max(initial=0) < _FOLDS:
        return None
    train, test = split_rows(labels, _FOLDS, random)[0]
    part, rest = rows.take(train), rows.take(test)
    try:
        refitted, refitted_twin = (_refitted(network, part) for network in (member, twin))
        parts = [_answers(refitted, refitted_twin, rest, codes) for codes in _hidden(rest, random)]
    except ValueError:
        return None
    return HeldOutRows(*map(np.concatenate, zip(*parts, strict=True)))


def _refitted(network: BayesianNetworkClassifier, part: Table) -> BayesianNetworkClassifier:
    params = {**network.get_params(deep=False), "structure": network.learned_.structure, "calibrate": None}
    with warnings.catch_warnings():
        # Warnings about the columns were given for all rows.
        warnings.simplefilter("ignore", UserWarning)
        return BayesianNetworkClassifier(**params).fit_table(part, network.encoder_)


def _answers(
    member: BayesianNetworkClassifier, twin: BayesianNetworkClassifier, rest: Table, codes: CodeArray
) -> HeldOutRows:
    """Return the answers of both networks to rows with hidden features."""
    of_member, of_twin = (network.engine_.compile(network.tables_, network.target_) for network in (member, twin))
    blanket = np.array([rest.index(name) for name in blanket_of(twin.tables_)], dtype=np.int64)
    return HeldOutRows(
        posterior(predictive_log_joint(of_member, codes, 1)),
        of_twin.log_joint(codes, n_jobs=1),
        np.tile(nothing_known(of_twin, twin.tables_), (rest.n_rows, 1)),
        known_share(codes, blanket),
        rest.column(rest.target_index).astype(np.int64),
        np.ones(rest.n_rows) if rest.weights is None else rest.weights,
    )


def _hidden(table: Table, random: np.random.RandomState) -> list[CodeArray]:
    """Return the codes of rows with random shares of the features hidden, different features in each row."""
    hidden = []
    for share in _SHARES:
        codes = table.codes.copy()
        order = random.random_sample((len(table.features), table.n_rows)).argsort(axis=0)
        n_hidden = max(1, round(share * len(table.features)))
        codes[table.features] = np.where(order < n_hidden, table.missing, codes[table.features])
        hidden.append(codes)
    return hidden


class _Pool(NamedTuple):
    """Held-out rows of several twins, which are the first axis of `start`, `evidence` and `known`.

    `members` is the mean probability of the true class in the members.
    """

    start: FloatArray
    evidence: FloatArray
    known: FloatArray
    members: FloatArray
    classes: IntArray
    weights: FloatArray

    def loss(self, t: FloatArray) -> tuple[float, FloatArray]:
        """Return the weighted log loss of the answers of the mixture, and its gradient by t_1 and t_0."""
        factors = t[0] * self.known + t[1] * (1.0 - self.known)
        logits = self.start + factors[..., None] * self.evidence
        shares = np.exp(logits - logits.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        rows = np.arange(len(self.classes))
        of_class = shares[:, rows, self.classes]
        mean = np.maximum((self.members + of_class.mean(axis=0)) / 2, _LEAST)
        slopes = of_class * (self.evidence[:, rows, self.classes] - (shares * self.evidence).sum(axis=2))
        slopes *= self.weights / mean / (2 * len(slopes))
        gradient = -np.array([(slopes * self.known).sum(), (slopes * (1.0 - self.known)).sum()])
        # Every row occurs once for each share of hidden features.
        precision = len(_SHARES) / (len(self.classes) * _DEVIATION**2)
        penalty = precision * float(((t - 1.0) ** 2).sum()) / 2
        return penalty - float(self.weights @ np.log(mean)), gradient + precision * (t - 1.0)


def fit_factors(parts: Sequence[HeldOutRows | None]) -> Calibration:
    """Return the factors with the least penalized log loss of the mixture's answers; 1 without held-out rows."""
    from scipy.optimize import minimize  # takes long to import

    given = [part for part in parts if part is not None]
    if not given or not (given[0].weights > 0).any():
        return Calibration()
    joint, nothing, known = (np.stack(arrays) for arrays in zip(*(part[1:4] for part in given), strict=True))
    classes, weights = given[0].classes, given[0].weights / given[0].weights.sum()
    possible = np.isfinite(joint) & np.isfinite(nothing)
    # A row that is impossible in a twin has the prior there, as in predictions.
    impossible = ~possible.any(axis=2, keepdims=True)
    start = np.where(possible | (impossible & np.isfinite(nothing)), nothing, -np.inf)
    evidence = np.where(possible, joint - np.where(possible, nothing, 0.0), 0.0)
    members = np.mean([part.member[np.arange(len(classes)), classes] for part in given], axis=0)
    pool = _Pool(start, evidence, known, members, classes, weights)
    # L-BFGS-B calls LAPACK, whose threads take longer to start than such a small problem takes to solve.
    bounds = [(LOWEST, HIGHEST)] * 2
    best = minimize(pool.loss, np.ones(2), jac=True, method="SLSQP", bounds=bounds, options=_PRECISION)
    return Calibration(*map(float, np.clip(best.x, LOWEST, HIGHEST)))
