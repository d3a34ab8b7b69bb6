"""A temperature for the answers of a classifier: one factor of all log joints, chosen by rows that it has not seen."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from bnplug.arrays import FloatArray, IntArray
from bnplug.classifier._inner_folds import RawRows, splits
from bnplug.errors import BnplugWarning
from bnplug.inference.complete import posterior, terms, with_values
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import is_c1

_FOLDS = 3


class HeldOutJoint(NamedTuple):
    """What a model says of rows that it has not seen.

    Attributes
    ----------
    joint : float64 array of shape (rows, classes)
        Their log joint, finite with the class that they have.
    y : int array of shape (rows,)
        That class, by position.
    weights : float64 array of shape (rows,)
    """

    joint: FloatArray
    y: IntArray
    weights: FloatArray


def check_calibrate(calibrate: Any) -> None:
    """Raise a ``ValueError`` unless this is a way to calibrate."""
    if calibrate not in (None, "temperature"):
        raise ValueError(f"calibrate={calibrate!r} is not 'temperature' or None")


def best_temperature(model: Any, rows: RawRows, target: str) -> float:
    """Return the factor of the log joint under which the classes of rows held out are most likely.

    All is learned again in each fold, by a clone of `model`. Where there is no fold the factor is 1.
    """
    # What learns by gradients is loaded when it is first needed.
    from bnplug.gradient.tempering import temperature

    found = [_held_out(model, train, test, target) for train, test in splits(rows, _FOLDS, model.random_state)]
    return temperature(lambda factor: sum(_slope(own, factor) for own in found)) if found else 1.0


def _held_out(model: Any, train: RawRows, test: RawRows, target: str) -> HeldOutJoint:
    with warnings.catch_warnings():
        # What there is to say about the columns was said about all rows.
        warnings.simplefilter("ignore", BnplugWarning)
        fold = clone(model).set_params(calibrate=None, class_weight=None, costs=None, unlabeled=None)
        fold.set_params(on_useless="drop", unseen="missing")
        fold.fit(train.frame, pd.Series(train.y, name=target), train.weights)
        joint = fold._log_joint(test.frame)
    y = pd.Index(fold.classes_).get_indexer(pd.Index(test.labels))
    weights = np.ones(len(y)) if test.weights is None else test.weights
    # No factor makes a class possible that the others rule out, or do not have.
    usable = (y >= 0) & np.isfinite(joint[np.arange(len(y)), y])
    return HeldOutJoint(joint[usable], y[usable], weights[usable])


def _slope(rows: HeldOutJoint, factor: float) -> float:
    """Return the derivative of the NLL of rows by the factor: E[L] under the posterior, less L of the class."""
    shares = posterior(factor * rows.joint)
    expected = np.where(shares > 0, shares * np.where(np.isfinite(rows.joint), rows.joint, 0.0), 0.0).sum(axis=1)
    return float(rows.weights @ (expected - rows.joint[np.arange(len(rows.y)), rows.y]))


def tempered(tables: LogTables, factor: float) -> LogTables:
    """Return log parameters whose log joint of complete rows is `factor` times as large: a network on C1 structures.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["x", "c"], {"x": [0, 1], "c": ["n", "p"]},
    ...     {"x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])), "c": ((), np.log([0.5, 0.5]))}, "c")
    >>> np.exp(tempered(tables, 0.5)["x"].values).round(3).tolist()  # 3 : 1 and 1 : 2
    [[0.75, 0.333], [0.25, 0.667]]
    """
    assert tables.target is not None
    own = terms(tables, tables.target)
    scaled = with_values(tables, tables.target, own, factor * own.values)
    return scaled.normalize() if is_c1(scaled.parents, tables.target) else scaled
