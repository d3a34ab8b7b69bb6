"""What is measured, and how it is shown: the figures of a fold, and bias and variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnplug.arrays import FloatArray, IntArray
from bnplug.errors import did_you_mean
from bnplug.show.evaluation import area_under_curve


@dataclass(frozen=True)
class Metric:
    """A figure: its name, what readers call it, its direction, and how it is shown.

    Shown is the value times `scale`, with `digits` decimals.
    """

    name: str
    label: str
    higher_is_better: bool = False
    scale: float = 1.0
    digits: int = 4


_METRICS = (
    Metric("accuracy", "accuracy (%)", higher_is_better=True, scale=100.0, digits=2),
    Metric("zero_one_loss", "0-1 loss"),
    Metric("rmse", "RMSE"),
    Metric("auc", "AUC", higher_is_better=True),
    Metric("cll", "CLL per row", higher_is_better=True),
    Metric("fit_seconds", "fit (s)"),
    Metric("predict_seconds", "predict (s)"),
    Metric("n_parameters", "parameters", digits=1),
    Metric("markov_blanket", "Markov blanket", digits=1),
)

#: The figures of a fold, by name.
FOLD_METRICS = {metric.name: metric for metric in _METRICS}

#: All figures, by name; the last two are of a data set, not of a fold.
METRICS = FOLD_METRICS | {name: Metric(name, name) for name in ("bias", "variance")}


def find_metric(name: str) -> Metric:
    """Return a metric by name, or raise a ``ValueError`` that lists them.

    Examples
    --------
    >>> find_metric("acuracy")
    Traceback (most recent call last):
    ValueError: there is no metric 'acuracy'. Did you mean 'accuracy'? There are: accuracy, zero_one_loss, ...
    """
    if name not in METRICS:
        raise ValueError(f"there is no metric {name!r}.{did_you_mean(name, METRICS)} There are: {', '.join(METRICS)}")
    return METRICS[name]


def measure(truth: IntArray, predicted: IntArray, probabilities: FloatArray | None, scores: Any) -> dict[str, float]:
    """Return the figures of one fold that predictions decide; NaN where the model does not give what one needs.

    Parameters
    ----------
    truth, predicted : int arrays of shape (rows,)
        Positions among the classes of the data set.
    probabilities : float array of shape (rows, classes) or None
        ``rmse`` is the root of the mean, over rows and classes, of (P(c | x) - [c is the true class])^2, as in
        Weka; of two classes, the root of the mean of (1 - P(true class | x))^2. ``cll`` is the mean over rows of
        log P(true class | x); a probability of 0 counts as the smallest relative step of a float.
    scores : float array of shape (rows, classes) or None
        What ``auc`` ranks rows by: of more than two classes, the mean over the classes in `truth` of each one's
        area against the rest. NaN where `truth` holds one class only.

    Examples
    --------
    >>> P = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    >>> found = measure(np.array([0, 1, 1]), np.array([0, 1, 0]), P, P)
    >>> {name: round(value, 4) for name, value in found.items()}
    {'accuracy': 0.6667, 'zero_one_loss': 0.3333, 'rmse': 0.4796, 'auc': 1.0, 'cll': -0.646}
    """
    accuracy = float(np.mean(truth == predicted))
    figures = {"accuracy": accuracy, "zero_one_loss": 1.0 - accuracy, "rmse": np.nan, "auc": np.nan, "cll": np.nan}
    if probabilities is not None:
        true_class = probabilities[np.arange(len(truth)), truth]
        errors = probabilities - np.eye(probabilities.shape[1])[truth]
        figures["rmse"] = float(np.sqrt(np.mean(errors**2)))
        figures["cll"] = float(np.mean(np.log(np.maximum(true_class, np.finfo(np.float64).eps))))
    if scores is not None:
        area = area_under_curve(truth, scores, None)
        figures["auc"] = np.nan if area is None else area
    return figures


def answers(model: Any, X: pd.DataFrame, classes: Sequence[Any]) -> tuple[FloatArray | None, FloatArray | None]:
    """Return a fitted model's probabilities and what it ranks by, one column for each of `classes`.

    A class that training did not see has probability 0. A model without probabilities may still rank, by its
    ``decision_function``.
    """
    if hasattr(model, "predict_proba"):
        found = _spread(model.predict_proba(X), model.classes_, classes, 0.0)
        return found, found
    if not hasattr(model, "decision_function"):
        return None, None
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if scores.shape[1] != len(model.classes_):
        return None, None
    return None, _spread(scores, model.classes_, classes, scores.min() - 1.0)


def _spread(values: Any, found: Any, classes: Sequence[Any], absent: float) -> FloatArray:
    """Place a model's columns, one for each class in `found`, among those of all `classes`."""
    placed = np.full((len(values), len(classes)), absent)
    placed[:, pd.Index(classes).get_indexer(list(found))] = values
    return placed
