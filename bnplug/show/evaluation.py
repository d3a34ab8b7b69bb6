"""Evaluation of a fitted classifier on rows with known classes: accuracy, probabilities, confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import _check_sample_weight

from bnplug.sources._summaries import Distribution
from bnplug.table.class_labels import label_array
from bnplug.table.coding import MISSING, UNSEEN, Codes, label_index, match_column
from bnplug.table.column_summary import Points
from bnplug.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

_NO_ROW = "there is no row to evaluate on"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of :func:`evaluate`.

    Attributes
    ----------
    n_rows : int
        The rows with a positive weight.
    accuracy : float
        The share of rows whose class is predicted correctly.
    balanced_accuracy : float
        The mean recall over the classes in the data.
    auc : float or None
        The area under the ROC curve; for more than two classes, the mean over the classes in the data of the area of
        each class against the rest. None if the data contains only one class.
    log_loss : float
        The mean of -log P(true class); a probability of 0 counts as the smallest relative step of a float.
    brier : float
        The mean over rows of the squared errors of all classes' probabilities, summed: from 0 to 2. With two
        classes it is twice the score of one class's probability.
    mean_cost : float or None
        The mean cost of the predictions under the model's ``costs``; None if the model has no costs.
    confusion : pandas frame
        Total weights of rows (or their numbers, without weights): a row per true class, a column per predicted class.
    """

    n_rows: int
    accuracy: float
    balanced_accuracy: float
    auc: float | None
    log_loss: float
    brier: float
    mean_cost: float | None
    confusion: pd.DataFrame

    @property
    def figures(self) -> dict[str, float | None]:
        """The measures that are one number, by name."""
        figures = {"accuracy": self.accuracy, "balanced accuracy": self.balanced_accuracy, "AUC": self.auc}
        figures |= {"log loss": self.log_loss, "Brier score": self.brier}
        return figures if self.mean_cost is None else {**figures, "mean cost": self.mean_cost}

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON-compatible values."""
        return {
            "rows": self.n_rows,
            **{name.lower().replace(" ", "_"): value for name, value in self.figures.items()},
            "classes": self.confusion.index.tolist(),
            "confusion": self.confusion.to_numpy().tolist(),
        }


def evaluate(
    model: BayesianNetworkClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None
) -> Evaluation:
    """Compare the predictions of a fitted classifier, also of a plugin, for rows with their true classes.

    The model knows all these classes. Missing features are marginalized. A weight of 2 is equivalent to two rows, and 0
    to none.
    """
    probabilities = model.predict_proba(X)
    return evaluate_probabilities(model, probabilities, y, sample_weight, decisions(model, X, probabilities))


def decisions(model: Any, X: Any, probabilities: FloatArray) -> Codes:
    """Return a classifier's predictions as positions in its ``classes_``, given the rows and their posterior.

    The classifier of a plugin need not predict the most probable class, so its ``predict`` is called.
    """
    if hasattr(model, "decide"):
        return np.asarray(model.decide(probabilities))
    return match_column(pd.Series(model.predict(X)), model.classes_.tolist())


def evaluate_probabilities(
    model: BayesianNetworkClassifier,
    probabilities: FloatArray,
    y: Any,
    sample_weight: npt.ArrayLike | None = None,
    predicted: Codes | None = None,
) -> Evaluation:
    """Return what :func:`evaluate` returns, from the result of ``model.predict_proba``.

    `predicted` is the result of :func:`decisions`; by default, ``model.decide`` is applied to the probabilities.
    """
    predicted = model.decide(probabilities) if predicted is None else predicted
    truth = _class_codes(model, y).astype(np.int64)
    if len(truth) != len(probabilities):
        raise ValueError(f"X has {len(probabilities)} rows and y has {len(truth)}")
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, probabilities, dtype=np.float64, ensure_non_negative=True)
        kept = weights > 0
        truth, probabilities, predicted, weights = truth[kept], probabilities[kept], predicted[kept], weights[kept]
    if len(truth) == 0:
        raise ValueError(_NO_ROW)
    losses, errors = _row_losses(probabilities, truth)
    costs = getattr(model, "costs_", None)
    return _result(
        model,
        _confusion(model, truth, predicted, weights),
        n_rows=len(truth),
        auc=area_under_curve(truth, probabilities, weights),
        log_loss=float(np.average(losses, weights=weights)),
        brier=float(np.average(errors, weights=weights)),
        mean_cost=None if costs is None else float(np.average(costs[truth, predicted], weights=weights)),
    )


def _confusion(model: Any, truth: IntArray, predicted: Codes, weights: FloatArray | None = None) -> npt.NDArray[Any]:
    n_classes = len(model.classes_)
    return np.bincount(truth * n_classes + predicted, weights, n_classes**2).reshape(n_classes, n_classes)


def _row_losses(probabilities: FloatArray, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return -log P(true class) and the Brier score of each row; raise if `probabilities` are not probabilities."""
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError("predict_proba returns values that are not probabilities: below 0, above 1 or nan")
    of_truth = np.clip(probabilities[np.arange(len(truth)), truth], np.finfo(np.float64).eps, None)
    errors: FloatArray = ((probabilities - np.eye(probabilities.shape[1])[truth]) ** 2).sum(axis=1)
    return -np.log(of_truth), errors


def _result(model: Any, confusion: npt.NDArray[Any], **measures: Any) -> Evaluation:
    """Return an evaluation from the confusion matrix and the measures that need more than the matrix."""
    of_class = confusion.sum(axis=1)
    present = of_class > 0
    rows, columns = (pd.Index(model.classes_.tolist(), dtype=object, name=name) for name in ("true", "predicted"))
    return Evaluation(
        accuracy=float(confusion.trace() / confusion.sum()),
        balanced_accuracy=float((confusion.diagonal()[present] / of_class[present]).mean()),
        confusion=pd.DataFrame(confusion, rows, columns),
        **measures,
    )


def _class_codes(model: BayesianNetworkClassifier, y: Any) -> Codes:
    """Return each label's position among the model's classes."""
    if not isinstance(y, pd.Series):
        given = label_index(label_array(y).tolist())
        y = pd.Series(given, dtype=given.dtype)
    labels: pd.Series[Any] = y
    target = getattr(model, "target_", labels.name)
    codes = match_column(labels, model.classes_.tolist())
    n_missing = int((codes == MISSING).sum())
    if n_missing:
        raise ValueError(f"{n_missing} of {len(labels)} rows have no label for {target!r}; drop these rows")
    unknown = labels[codes == UNSEEN].unique().tolist()
    if unknown:
        shown = f"{unknown[:10]}{f' and {len(unknown) - 10} more' if len(unknown) > 10 else ''}"
        raise ValueError(f"labels {shown} are not among the classes of {target!r}, {model.classes_.tolist()}")
    return codes


def area_under_curve(truth: Codes, probabilities: FloatArray, weights: FloatArray | None) -> float | None:
    """Return the area under the ROC curve as defined in :class:`Evaluation`; `truth` contains positions of classes."""
    present = np.unique(truth)
    if len(present) == 1:
        return None
    if probabilities.shape[1] == 2:
        present = present[1:]
    return float(np.mean([_area(truth == c, probabilities[:, c], weights) for c in present]))


def _area(positive: BoolArray, score: FloatArray, weights: FloatArray | None) -> float:
    """Return the share of pairs of a positive and a negative row that the score ranks correctly; ties count half."""
    values, place = np.unique(score, return_inverse=True)
    weights = np.ones(len(score)) if weights is None else weights
    positives = np.bincount(place, weights * positive, len(values))
    negatives = np.bincount(place, weights * ~positive, len(values))
    below = negatives.cumsum() - negatives / 2
    return float((positives * below).sum() / (positives.sum() * negatives.sum()))


class RunningEvaluation:
    """Accumulates the results of :func:`evaluate` of a fitted classifier over batches of rows.

    The area under the ROC curve is exact if each class has at most 65,536 distinct probabilities. Beyond that, ranks
    are approximate: at most 0.16% too low for 100 million rows.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        n_classes = len(model.classes_)
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.log_loss = self.brier = 0.0
        # With two classes, both have the same curve.
        self.scores = {c: Distribution() for c in range(1 if n_classes == 2 else 0, n_classes)}

    def add(self, X: Any, y: Any) -> None:
        """Add rows with true classes `y`."""
        probabilities = self.model.predict_proba(X)
        truth = _class_codes(self.model, y).astype(np.int64)
        losses, errors = _row_losses(probabilities, truth)
        self.confusion += _confusion(self.model, truth, decisions(self.model, X, probabilities))
        self.log_loss += float(losses.sum())
        self.brier += float(errors.sum())
        for c, scores in self.scores.items():
            positive = (truth == c).astype(np.int64)
            order = np.argsort(positive, kind="stable")
            scores.add(Points.of(probabilities[order, c], positive[order]))

    def result(self) -> Evaluation:
        """Return the evaluation of all rows so far; raise a ``ValueError`` if there are none."""
        of_class = self.confusion.sum(axis=1)
        n_rows = int(of_class.sum())
        if not n_rows:
            raise ValueError(_NO_ROW)
        curves = [scores.points() for c, scores in self.scores.items() if 0 < of_class[c] < n_rows]
        areas = [_area(curve.classes == 1, curve.values, curve.rows.astype(np.float64)) for curve in curves]
        costs = getattr(self.model, "costs_", None)
        return _result(
            self.model,
            self.confusion,
            n_rows=n_rows,
            auc=float(np.mean(areas)) if areas else None,
            log_loss=self.log_loss / n_rows,
            brier=self.brier / n_rows,
            mean_cost=None if costs is None else float((costs * self.confusion).sum() / n_rows),
        )
