"""What wrong decisions cost, and the decision that costs least (Elkan 2001)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import FloatArray, IntArray
from bnplug.errors import UnseenValueWarning, warn_outside

# Relative to the largest cost: what the order of summation makes of equal costs.
_TIE = 8 * np.finfo(np.float64).eps


def cost_matrix(costs: Any, classes: npt.ArrayLike, warn: bool = False) -> FloatArray | None:
    """Return costs as a matrix [true class, predicted class]; None where there are none.

    Parameters
    ----------
    costs : array-like of shape (classes, classes), dict of dicts, dict of pairs, or None
        Of a dict, what a right prediction costs is 0 where it is not said.
    classes : array-like
        The labels, in the order of the matrix.
    warn : bool
        Whether to warn of labels that are no classes: a rare class may be absent from a part of the data.

    Raises
    ------
    ValueError
        If they are none of these, of another shape, not finite, or a dict leaves a wrong prediction out.

    Examples
    --------
    >>> cost_matrix({"ill": {"well": 10}, "well": {"ill": 1}}, ["ill", "well"]).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
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
    """Return which class to predict for each row: that of least expected cost, the first of tied ones.

    Parameters
    ----------
    probabilities : float array of shape (rows, classes)
    costs : float array of shape (classes, classes), or None
        As :func:`cost_matrix` returns them. None: all mistakes cost the same, and the most probable class wins.

    Examples
    --------
    >>> least_expected_cost(np.array([[0.2, 0.8], [0.05, 0.95]]), np.array([[0.0, 10.0], [1.0, 0.0]])).tolist()
    [0, 1]
    """
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
            f"costs={costs!r} is no matrix of numbers, nor a dict; rows are true classes, columns predicted ones"
        ) from None
    if matrix.shape != (len(labels), len(labels)):
        raise ValueError(
            f"costs have the shape {matrix.shape}; the {len(labels)} classes {labels} need a row for each true class "
            "and a column for each predicted one, in this order"
        )
    return matrix


def _from_dict(costs: Mapping[Any, Any], labels: list[Any], warn: bool) -> FloatArray:
    position = {label: i for i, label in enumerate(labels)}
    matrix = np.full((len(labels), len(labels)), np.nan)
    np.fill_diagonal(matrix, 0.0)
    said, unknown = ~np.isnan(matrix), {}
    for true, predicted, cost in _pairs(costs):
        odd = [label for label in (true, predicted) if label not in position]
        unknown.update(dict.fromkeys(odd))
        if odd:
            continue
        try:
            matrix[position[true], position[predicted]] = cost
        except (TypeError, ValueError):
            raise ValueError(f"costs: a true {true!r} predicted as {predicted!r} costs {cost!r}, no number") from None
        said[position[true], position[predicted]] = True
    if unknown and warn:
        message = f"costs name {list(unknown)}, which training has not among the classes {labels}; ignored"
        warn_outside(message, UnseenValueWarning)
    for i, j in np.argwhere(~said).tolist():
        raise ValueError(
            f"costs do not say what a true {labels[i]!r} predicted as {labels[j]!r} costs"
            + (f"; they name {list(unknown)}, and the classes are {labels}" if unknown else "")
        )
    return matrix


def _pairs(costs: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the true class, the predicted one and the cost."""
    for key, value in costs.items():
        if isinstance(value, Mapping):
            for predicted, cost in value.items():
                yield key, predicted, cost
        elif isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        else:
            raise ValueError(
                f"costs: {key!r}: {value!r} is neither true: {{predicted: cost}} nor (true, predicted): cost"
            )
