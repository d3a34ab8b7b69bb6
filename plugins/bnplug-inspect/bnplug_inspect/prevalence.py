"""A model for another prevalence of the classes, given or estimated from rows without classes.

The shift is one of the prevalence alone: P(features | class) stays. The posterior then changes by the ratio of the
prevalences, Q'(c | e) proportional to Q(c | e) new(c) / old(c), for every evidence e (Saerens, Latinne and Decaestecker
2002). In a network, the ratio multiplies the table of the class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.errors import BnplugWarning, NotRepresentableError, article, did_you_mean, warn_outside
from bnplug.hooks.descriptors import Kind
from bnplug.hooks.registry import build
from bnplug.typing import FloatArray

# Steps of EM, and the change of a prevalence at which it ends.
_MOST_STEPS, _PRECISION = 10_000, 1e-10

#: The most cells of a table that is extended by further parents.
MAX_CELLS = 10_000_000


def adjust_prior(
    model: BayesianNetworkClassifier,
    prevalence: Mapping[Any, float] | npt.ArrayLike | None = None,
    X_new: Any = None,
    *,
    trained_on: Mapping[Any, float] | npt.ArrayLike | None = None,
) -> BayesianNetworkClassifier:
    """Return a model for another prevalence of the classes.

    P(features | class) does not change. If the class has no parents, its table is multiplied by the ratio of the new
    prevalence to the old: for generative parameters it becomes the new prevalence, and for discriminative ones the
    posterior is reweighted. If the class has parents, the result is the exact joint distribution as well, for which the
    parents of the class may need edges between them. Predictions, queries, explanations, saved models and network files
    therefore agree.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        A fitted model; it is not changed.
    prevalence : mapping of class to probability, or array
        The new prevalence, in the order of ``classes_`` if it is an array; it must sum to 1.
    X_new : frame or array
        Rows without classes, to estimate the prevalence from (:func:`estimate_prevalence`). Pass either.
    trained_on : mapping of class to probability, or array, optional
        The old prevalence. By default, the one of the network for generative parameters, and that of the training rows
        for discriminative ones.

    Examples
    --------
    >>> X = pd.DataFrame({"test": ["+"] * 8 + ["-"] * 2 + ["+"] * 1 + ["-"] * 9})
    >>> y = ["ill"] * 10 + ["well"] * 10
    >>> model = BayesianNetworkClassifier("nb").fit(X, y)
    >>> adjusted = adjust_prior(model, {"ill": 0.01, "well": 0.99})
    >>> adjusted.predict_proba(pd.DataFrame({"test": ["+"]})).round(3)
    array([[0.033, 0.967]])
    """
    _check(model)
    if (prevalence is None) == (X_new is None):
        raise TypeError("adjust_prior needs either prevalence= or X_new=, rows to estimate it from")
    old = _old_prevalence(model, trained_on)
    new = _estimate(model, X_new, old) if prevalence is None else _probabilities(prevalence, model, "prevalence")
    impossible = (old <= 0) & (new > 0)
    if impossible.any():
        names = model.classes_[impossible].tolist()
        raise ValueError(f"classes {names} have the prevalence 0 in the model, so no factor makes them possible")
    with np.errstate(divide="ignore"):
        ratio = np.log(new) - np.log(np.where(old > 0, old, 1.0))
    return _with_tables(model, _reweighted(model.tables_, ratio), new)


def estimate_prevalence(
    model: BayesianNetworkClassifier, X_new: Any, *, trained_on: Mapping[Any, float] | npt.ArrayLike | None = None
) -> pd.Series[float]:
    """Return the prevalence of the classes in rows without classes, estimated by EM.

    Assumes that only the prevalence differs from training, and that the posteriors of the model are calibrated.

    Parameters
    ----------
    model, trained_on
        As for :func:`adjust_prior`.
    X_new : frame or array
        Rows without classes.

    References
    ----------
    Saerens, Latinne, Decaestecker: Adjusting the outputs of a classifier to new a priori probabilities: a simple
    procedure (2002).

    Examples
    --------
    >>> X = pd.DataFrame({"test": ["+"] * 8 + ["-"] * 2 + ["+"] * 1 + ["-"] * 9})
    >>> model = BayesianNetworkClassifier("nb", "ml", calibrate=None).fit(X, ["ill"] * 10 + ["well"] * 10)
    >>> estimate_prevalence(model, pd.DataFrame({"test": ["+"] * 30 + ["-"] * 70})).round(2)
    ill     0.27
    well    0.73
    Name: prevalence, dtype: float64
    """
    _check(model)
    estimate = _estimate(model, X_new, _old_prevalence(model, trained_on))
    return pd.Series(estimate, index=pd.Index(model.classes_), name="prevalence")


def _check(model: Any) -> None:
    if not isinstance(model, BayesianNetworkClassifier) or not hasattr(model, "tables_"):
        name = article(type(model).__name__)
        raise TypeError(f"adjusting the prevalence needs a fitted BayesianNetworkClassifier, not {name}")


def _probabilities(given: Any, model: BayesianNetworkClassifier, what: str) -> FloatArray:
    """Return probabilities of the classes, in their order."""
    classes = model.classes_.tolist()
    if isinstance(given, pd.Series):
        given = given.to_dict()
    if isinstance(given, Mapping):
        unknown = [label for label in given if label not in classes]
        lacking = [label for label in classes if label not in given]
        if unknown or lacking:
            hint = did_you_mean(str(unknown[0]), map(str, classes)) if unknown else ""
            raise ValueError(
                f"{what} must have a probability for each of the classes {classes}, not {list(given)}.{hint}"
            )
        given = [given[label] for label in classes]
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (len(classes),) or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
        raise ValueError(f"{what}={given!r} must be {len(classes)} probabilities that sum to 1, for {classes}")
    return np.asarray(values / values.sum())


def _old_prevalence(model: BayesianNetworkClassifier, trained_on: Any) -> FloatArray:
    """Return the prevalence that the posteriors of a model assume."""
    if trained_on is not None:
        return _probabilities(trained_on, model, "trained_on")
    training = model.training_summary_
    if training is not None and not _is_generative(model):
        return np.asarray(training.class_weights / training.class_weights.sum())
    if not model.tables_.normalized:
        raise ValueError("the tables of this model do not say which prevalence it was trained for; pass trained_on=")
    return np.asarray(model.query(model.target_)["probability"], dtype=np.float64)


def _is_generative(model: BayesianNetworkClassifier) -> bool:
    """Return whether the parameters estimate the joint distribution, also of a model that was loaded."""
    if model.parameters_ is not None:
        return bool(getattr(model.parameters_, "generative", False))
    try:
        return bool(getattr(build(Kind.PARAMETER_LEARNER, model.parameters), "generative", False))
    except (LookupError, TypeError, ValueError):  # the learner is not installed
        return False


def _estimate(model: BayesianNetworkClassifier, X_new: Any, old: FloatArray) -> FloatArray:
    """Return the prevalence with the largest likelihood, by EM."""
    posterior = model.predict_proba(X_new)
    rows, n = np.unique(posterior.round(12), axis=0, return_counts=True)
    possible, share = old > 0, n / n.sum()
    new = old
    for _ in range(_MOST_STEPS):
        factors = np.divide(new, old, out=np.zeros_like(new), where=possible)
        weighted = rows * factors
        former, new = new, share @ (weighted / weighted.sum(axis=1, keepdims=True))
        if np.abs(new - former).max() < _PRECISION:
            return np.asarray(new / new.sum())
    warn_outside(
        f"EM has not converged after {_MOST_STEPS:,} steps; the features say little about the class", BnplugWarning
    )
    return np.asarray(new / new.sum())


def _with_tables(model: BayesianNetworkClassifier, tables: LogTables, new: FloatArray) -> BayesianNetworkClassifier:
    """Return a copy of a fitted model with other tables."""
    adjusted = BayesianNetworkClassifier.from_tables(tables, model.encoder_, **model.get_params(deep=False))
    if not hasattr(model, "feature_names_in_"):
        del adjusted.feature_names_in_
    adjusted.made_, adjusted.components_ = dict(model.made_), list(model.components_)
    training = model.training_summary_
    if tables.parents == model.tables_.parents:
        adjusted.learned_ = model.learned_
        if training is not None:
            # Likelihoods of held-out rows were those of the former prevalence.
            adjusted.training_summary_ = replace(training, class_weights=new, held_out=None)
    return adjusted


def _reweighted(tables: LogTables, ratio: FloatArray) -> LogTables:
    """Return tables of the joint distribution times exp(ratio) of the class, normalized if `tables` are."""
    target = tables.target
    assert target is not None
    values = {name: table.values for name, table in tables.tables.items()}
    parents = {name: table.parents for name, table in tables.tables.items()}
    values[target] = values[target] + ratio.reshape(-1, *[1] * len(parents[target]))
    if tables[target].normalized:
        _normalize_upwards(target, tables, parents, values)
    result = LogTables(tables.names, tables.states, {n: (parents[n], values[n]) for n in tables.names}, target)
    return result.with_calibration(tables.calibration)


def _normalize_upwards(
    node: str, tables: LogTables, parents: dict[str, tuple[str, ...]], values: dict[str, FloatArray]
) -> None:
    """Normalize the table of a node, and move the sums of its columns to its last parent, and so on.

    The joint distribution does not change. The last parent gets the other parents as its parents.
    """
    place = {tables.names[v]: i for i, v in enumerate(tables.structure.order)}
    while True:
        with np.errstate(divide="ignore"):
            sums = np.logaddexp.reduce(values[node], axis=0)
        possible = np.isfinite(sums)
        uniform = -np.log(len(values[node]))
        values[node] = np.where(possible, values[node] - np.where(possible, sums, 0.0), uniform)
        if not parents[node] or (np.abs(sums[possible]).max(initial=0.0) < 1e-12 and possible.all()):
            return
        axes = parents[node]
        cover = max(axes, key=lambda name: place[name])
        family = {*parents[cover], *axes} - {cover}
        extended = (cover, *(name for name in tables.names if name in family))
        size = prod(len(tables.states[name]) for name in extended)
        if size > MAX_CELLS:
            raise NotRepresentableError(
                f"with another prevalence, {cover!r} would depend on {list(extended[1:])}: a table of {size:,} cells"
            )
        old = _aligned(values[cover], (cover, *parents[cover]), extended)
        values[cover] = old + _aligned(sums, axes, extended)
        parents[cover], node = extended[1:], cover


def _aligned(array: FloatArray, axes: Sequence[str], family: Sequence[str]) -> FloatArray:
    """Return an array with its axes in the order of `family`, of length 1 for other variables."""
    ordered = array.transpose([axes.index(name) for name in family if name in axes])
    return ordered[tuple(slice(None) if name in axes else None for name in family)]
