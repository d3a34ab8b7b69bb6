"""Predictions of a fitted classifier, and the decision of least expected cost (Elkan 2001)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug.errors import UnseenValueWarning, warn_outside
from bnplug.inference.complete import log_posterior, posterior
from bnplug.inference.predicting import predictive_log_joint
from bnplug.network._questions import QueryMixin
from bnplug.table.class_labels import class_labels
from bnplug.table.weights import row_weights
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Relative to the largest cost: what the order of summation makes of equal costs.
_TIE = 8 * np.finfo(np.float64).eps


class PredictMixin(ClassifierMixin, QueryMixin):  # type: ignore[misc]
    """The class of rows by a fitted network."""

    costs: Any

    @property
    def costs_(self) -> FloatArray | None:
        """The costs of decisions, as a matrix [true class, predicted class]; None if all mistakes cost the same."""
        check_is_fitted(self)
        return cost_matrix(self.costs, self.classes_)

    def decide(self, probabilities: FloatArray) -> IntArray:
        """Return the positions in ``classes_`` that are predicted for rows of :meth:`predict_proba`.

        With `costs`, these are the classes with the least expected cost, otherwise the most probable ones. The first
        of tied classes wins.
        """
        return least_expected_cost(probabilities, self.costs_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row: the most probable, or of least expected cost; the first of tied ones."""
        winners = self.decide(self.predict_proba(X))
        return np.asarray(self.classes_[winners])

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows, by weight, for which :meth:`predict` returns the class in `y`.

        Rows whose label is not among ``classes_`` count as errors, with a warning.
        """
        check_is_fitted(self)
        labels = class_labels(y)
        known = set(self.classes_.tolist())
        unknown = [label for label in np.unique(labels).tolist() if label not in known]
        if unknown:
            warn_outside(
                f"y has the labels {unknown[:5]}, which are not among the classes of the model, "
                f"{self.classes_.tolist()[:5]}; their rows count as errors",
                UnseenValueWarning,
            )
        weights = None if sample_weight is None else row_weights(sample_weight, len(labels))
        return float(super().score(X, labels, weights))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``.

        Missing features are marginalized exactly, with a warning if the parameters are not a Bayesian network. Tied
        classes get equal probabilities. A row that is impossible under every class gets the class prior, P(class).
        """
        return posterior(self._predictive_log_joint(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`, accurate for tiny probabilities."""
        return log_posterior(self._predictive_log_joint(X))

    def _predictive_log_joint(self, X: Any) -> FloatArray:
        """Return the log joint of rows and classes; impossible rows get the log prior of the class."""
        codes = self.encode(X)
        self._warn_where_missing(codes)
        return predictive_log_joint(self._marginalizer, codes, self.n_jobs)

    def plot_explanation(self, X: Any, label: Any = None, ax: Axes | None = None) -> Axes:
        """Draw :meth:`explain` for the one row in `X` as bars; return the axes.

        The log odds are those of the class `label`, by default the predicted one.
        """
        from bnplug.show.drawing import plot_explanation

        probabilities = self.predict_proba(X)
        if len(probabilities) != 1:
            raise ValueError(f"X has {len(probabilities)} rows; an explanation is drawn for one")
        label = self.classes_[self.decide(probabilities)[0]] if label is None else label
        if label not in self.classes_:
            raise ValueError(f"{label!r} is not one of the classes {self.classes_.tolist()}")
        share = probabilities[0][list(self.classes_).index(label)]
        return plot_explanation(self.explain(X), label, f"{self.target_} = {label}: P = {share:.3f}", ax)


def cost_matrix(costs: Any, classes: npt.ArrayLike, warn: bool = False) -> FloatArray | None:
    """Return costs as a matrix [true class, predicted class], None without costs; `warn` of labels without a class."""
    if costs is None:
        return None
    labels = np.asarray(classes).tolist()
    if isinstance(costs, pd.DataFrame):
        raise ValueError("costs: give a frame, whose rows are true classes, as frame.T.to_dict()")
    matrix = _from_dict(costs, labels, warn) if isinstance(costs, Mapping) else _from_array(costs, labels)
    for i, j in np.argwhere(~np.isfinite(matrix)).tolist():
        raise ValueError(f"costs: a true {labels[i]!r} predicted as {labels[j]!r} costs {matrix[i, j]}; give a number")
    return matrix


def least_expected_cost(probabilities: FloatArray, costs: FloatArray | None) -> IntArray:
    """Return the class of least expected cost for each row, the first of tied ones; without costs the most probable."""
    if costs is None:
        return np.asarray(probabilities.argmax(axis=1))
    expected = np.zeros(probabilities.shape)
    # One class after the other, so that a row's sum does not depend on which rows stand beside it.
    for share, row in zip(probabilities.T, costs, strict=True):
        expected += share[:, None] * row
    least = expected.min(axis=1, keepdims=True, initial=np.inf) + _TIE * np.abs(costs).max()
    return np.asarray((expected <= least).argmax(axis=1))


def _from_array(costs: Any, labels: list[Any]) -> FloatArray:
    try:
        matrix = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"costs={costs!r} is neither a matrix of numbers nor a dict; rows are true classes, columns predicted ones"
        ) from None
    if matrix.shape != (len(labels), len(labels)):
        raise ValueError(
            f"costs have the shape {matrix.shape}; the {len(labels)} classes {labels} need a row for each true class "
            "and a column for each predicted one, in this order"
        )
    return matrix


def _from_dict(costs: Mapping[Any, Any], labels: list[Any], warn: bool) -> FloatArray:
    given = {(label, label): 0.0 for label in labels} | dict(_pairs(costs))
    unknown = list(dict.fromkeys(label for pair in given for label in pair if label not in labels))
    if unknown and warn:
        message = f"costs name {unknown}, which the classes {labels} do not contain; they are ignored"
        warn_outside(message, UnseenValueWarning)
    matrix = np.empty((len(labels), len(labels)))
    for cell, (true, predicted) in zip(np.ndindex(matrix.shape), product(labels, labels), strict=True):
        if (true, predicted) not in given:
            raise ValueError(
                f"costs lack the cost of predicting {predicted!r} if the class is {true!r}"
                + (f"; they name {unknown}, but the classes are {labels}" if unknown else "")
            )
        cost = given[true, predicted]
        try:
            matrix[cell] = cost
        except (TypeError, ValueError):
            raise ValueError(
                f"costs: a true {true!r} predicted as {predicted!r} costs {cost!r}, not a number"
            ) from None
    return matrix


def _pairs(costs: Mapping[Any, Any]) -> Iterator[tuple[tuple[Any, Any], Any]]:
    """Yield the true class with the predicted one, and the cost."""
    for key, value in costs.items():
        if isinstance(value, Mapping):
            yield from (((key, predicted), cost) for predicted, cost in value.items())
        elif isinstance(key, tuple) and len(key) == 2:
            yield key, value
        else:
            raise ValueError(
                f"costs: {key!r}: {value!r} is neither true: {{predicted: cost}} nor (true, predicted): cost"
            )
