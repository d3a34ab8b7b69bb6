"""Row weights: a weight of 2 is equivalent to repeating the row, 0 to omitting it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.table._checks import check_sum, read_only, weight_numbers
from bnplug.table.coding import Codes
from bnplug.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.table.table import Table


def row_weights(weights: Any, n_rows: int, what: str = "sample_weight") -> FloatArray:
    """Return the weights of `n_rows` rows, given for each row or as one number; ones if `weights` is None.

    Negative, missing or infinite weights are errors; so is a sum that is zero or too large.
    """
    if weights is None:
        return np.ones(n_rows)
    checked = weight_numbers(weights, what)
    if checked.ndim == 0:
        checked = np.full(n_rows, checked)
    if checked.shape != (n_rows,):
        raise ValueError(f"{what} has the shape {checked.shape}; there are {n_rows} rows")
    if not np.isfinite(checked).all() or (checked < 0).any():
        raise ValueError(f"{what} holds negative, missing or infinite numbers")
    check_sum(checked, what)
    if n_rows > 0 and not checked.any():
        raise ValueError(f"{what} is zero everywhere, so that no rows are left; give at least one a weight")
    return checked


def check_class_weight(class_weight: Any) -> None:
    """Raise a ``ValueError`` unless `class_weight` is None, "balanced" or a dict of finite numbers, at least 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    what = "class_weight:"
    if not isinstance(class_weight, Mapping):
        is_text = isinstance(class_weight, str)
        given = repr(class_weight) if is_text else f"an object of type {type(class_weight).__name__}"
        raise ValueError(f"{what} expected None, 'balanced' or a dict from each class to its weight; got {given}")
    for label, weight in class_weight.items():
        if not _is_weight(weight):
            raise ValueError(f"{what} the weight of class {label!r} is {weight!r}; give a finite number of at least 0")


def _is_weight(weight: Any) -> bool:
    try:
        return not isinstance(weight, str | bytes) and 0 <= float(weight) < np.inf
    except (TypeError, ValueError, OverflowError):
        return False


def present_rows(weights: FloatArray | None) -> BoolArray | None:
    """Return which rows have a positive weight; None if all do."""
    present = None if weights is None else weights > 0
    return None if present is None or present.all() else present


def _divided_by_class_mean(
    weights: FloatArray | None, labels: Codes | None, repeats: IntArray | None = None
) -> FloatArray | None:
    """Return weights divided by the mean weight of their class; None if all weights within each class are equal."""
    if weights is None:
        return None
    # Rows without a class are in the first group.
    groups = np.zeros(len(weights), dtype=np.int64) if labels is None else labels.astype(np.int64) + 1
    rows = np.ones(len(weights)) if repeats is None else repeats.astype(np.float64)
    total, number = np.bincount(groups, weights), np.bincount(groups, rows)
    scaled = weights * np.divide(number, total, out=np.ones_like(total), where=total > 0)[groups]
    return None if np.allclose(scaled, rows, rtol=1e-9, atol=0.0) else np.asarray(scaled)


def _divided(block: Table, divisors: FloatArray) -> FloatArray:
    """Return weights divided by the mean of their group, in 24 bits: proportional weights become exactly equal."""
    weights, groups, _ = _weight_groups(block, len(divisors) > 1)
    return read_only((weights / divisors[groups]).astype(np.float32).astype(np.float64))


def _summarize_weights(block: Table, by_class: bool) -> FloatArray:
    """Return the total weight of each group, its number of rows with a positive weight, and its extreme weights."""
    weights, groups, n_groups = _weight_groups(block, by_class)
    totals, rows = (np.bincount(groups, cells, n_groups) for cells in (weights, weights > 0))
    least, most = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(least, groups, weights)
    np.maximum.at(most, groups, weights)
    return np.stack([totals, rows, least, most])


def _weight_groups(block: Table, by_class: bool) -> tuple[FloatArray, IntArray, int]:
    """Return the weights of the rows of a block, the group of each row (its class, or 0), and the number of groups."""
    assert block.weights is not None
    if not by_class:
        return block.weights, np.zeros(block.n_rows, dtype=np.int64), 1
    n_classes = int(block.cards[block.target_index])
    return block.weights, np.minimum(block.codes[block.target_index].astype(np.int64), n_classes), n_classes + 1
