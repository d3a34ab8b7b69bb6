"""How good a fitted classifier is on rows whose class is known: accuracy, probabilities, confusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import _check_sample_weight

from bnplug.arrays import BoolArray, FloatArray
from bnplug.data.class_labels import label_array
from bnplug.data.coding import MISSING, UNSEEN, Codes, label_index, match_column

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

__all__ = [
    "Evaluation",
    "_check_probabilities",
    "_class_codes",
    "_labelled",
    "area_under_curve",
    "decisions",
    "evaluate",
    "evaluate_probabilities",
]

#: What is wrong where there is nothing to evaluate on.
_NO_ROW = "there is no row to evaluate on"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What :func:`evaluate` found.

    Attributes
    ----------
    n_rows : int
        The rows with a positive weight.
    accuracy : float
        The share of rows whose class is predicted.
    balanced_accuracy : float
        The mean over the classes in the data of the share of their rows that are predicted right.
    auc : float or None
        The area under the ROC curve; of more than two classes, the mean over the classes in the data of each
        one's area against the rest. None where the data holds only one class.
    log_loss : float
        The mean of -log P(true class); a probability of 0 counts as the smallest relative step of a float.
    brier : float
        The mean over rows of the squared errors of all classes' probabilities, summed: from 0 to 2. With two
        classes it is twice the score of one class's probability.
    mean_cost : float or None
        What the predictions cost on average, by the model's ``costs``; None where it has none.
    confusion : pandas frame
        Weights of rows (numbers, where rows have no weights); a row for each true class, a column for each
        predicted one.
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
        """The figures that are one number, by what a reader calls them."""
        figures = {
            "accuracy": self.accuracy,
            "balanced accuracy": self.balanced_accuracy,
            "AUC": self.auc,
            "log loss": self.log_loss,
            "Brier score": self.brier,
        }
        return figures if self.mean_cost is None else {**figures, "mean cost": self.mean_cost}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as what JSON can hold."""
        return {
            "rows": self.n_rows,
            **{name.lower().replace(" ", "_"): value for name, value in self.figures.items()},
            "classes": self.confusion.index.tolist(),
            "confusion": self.confusion.to_numpy().tolist(),
        }


def evaluate(
    model: BayesianNetworkClassifier, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None
) -> Evaluation:
    """Compare what a fitted classifier predicts with the true classes.

    Parameters
    ----------
    model : BayesianNetworkClassifier, or a classifier of a plugin
        Fitted.
    X : frame or array
        The rows; missing features are marginalised.
    y : array-like
        The true class of each row.
    sample_weight : array-like, optional
        A weight of 2 is the row twice, 0 is absence.

    Raises
    ------
    ValueError
        Where `y` has missing labels, or ones that the model does not know; the message names them.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import BayesianNetworkClassifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"]})
    >>> model = BayesianNetworkClassifier("nb").fit(X, ["go", "go", "stay", "stay"])
    >>> found = evaluate(model, X, ["go", "go", "stay", "go"])
    >>> found.accuracy, found.confusion.to_numpy().tolist()
    (0.75, [[2, 1], [0, 1]])
    """
    probabilities = model.predict_proba(X)
    return evaluate_probabilities(model, probabilities, y, sample_weight, decisions(model, X, probabilities))


def decisions(model: Any, X: Any, probabilities: FloatArray) -> Codes:
    """Return what a classifier predicts for rows, as positions in its ``classes_``, where their posterior is known.

    A classifier of a plugin is asked to predict, since it need not take the most probable class.
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
    """Return what :func:`evaluate` does, from what ``model.predict_proba`` returned for the rows.

    `predicted`: what :func:`decisions` returned for them; by default what ``model.decide`` makes of the probabilities.
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
    _check_probabilities(probabilities)
    costs, n_classes = getattr(model, "costs_", None), len(model.classes_)
    confusion = np.bincount(truth * n_classes + predicted, weights, n_classes**2).reshape(n_classes, n_classes)
    of_class = confusion.sum(axis=1)
    present = of_class > 0
    own = np.clip(probabilities[np.arange(len(truth)), truth], np.finfo(np.float64).eps, None)
    errors = ((probabilities - np.eye(n_classes)[truth]) ** 2).sum(axis=1)
    return Evaluation(
        n_rows=len(truth),
        accuracy=float(confusion.trace() / confusion.sum()),
        balanced_accuracy=float((confusion.diagonal()[present] / of_class[present]).mean()),
        auc=area_under_curve(truth, probabilities, weights),
        log_loss=float(np.average(-np.log(own), weights=weights)),
        brier=float(np.average(errors, weights=weights)),
        mean_cost=None if costs is None else float(np.average(costs[truth, predicted], weights=weights)),
        confusion=_labelled(confusion, model.classes_.tolist()),
    )


def _check_probabilities(probabilities: FloatArray) -> None:
    """Raise a ``ValueError`` for numbers that are no probabilities."""
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError(
            "predict_proba of the model returns numbers that are no probabilities, below 0, above 1 or nan"
        )


def _labelled(confusion: npt.NDArray[Any], classes: list[Any]) -> pd.DataFrame:
    """Return a matrix of true and predicted classes as a frame."""
    rows, columns = (pd.Index(classes, dtype=object, name=name) for name in ("true", "predicted"))
    return pd.DataFrame(confusion, rows, columns)


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
        raise ValueError(f"{n_missing} of {len(labels)} rows have no label for {target!r}; drop them")
    unknown = labels[codes == UNSEEN].unique().tolist()
    if unknown:
        shown = f"{unknown[:10]}{f' and {len(unknown) - 10} more' if len(unknown) > 10 else ''}"
        raise ValueError(f"labels {shown} are not among the classes of {target!r}, {model.classes_.tolist()}")
    return codes


def area_under_curve(truth: Codes, probabilities: FloatArray, weights: FloatArray | None) -> float | None:
    """Return the area under the ROC curve, as :class:`Evaluation` has it; `truth` holds positions of classes."""
    present = np.unique(truth)
    if len(present) == 1:
        return None
    if probabilities.shape[1] == 2:
        present = present[1:]
    return float(np.mean([_area(truth == c, probabilities[:, c], weights) for c in present]))


def _area(positive: BoolArray, score: FloatArray, weights: FloatArray | None) -> float:
    """Return the share of pairs of a positive and a negative row that the score puts in order; a tie is half a pair."""
    values, place = np.unique(score, return_inverse=True)
    weights = np.ones(len(score)) if weights is None else weights
    positives = np.bincount(place, weights * positive, len(values))
    negatives = np.bincount(place, weights * ~positive, len(values))
    below = negatives.cumsum() - negatives / 2
    return float((positives * below).sum() / (positives.sum() * negatives.sum()))
