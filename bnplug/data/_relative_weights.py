"""Weights divided by their mean, for methods that use only the ratios of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray, IntArray
from bnplug.data._views import read_only
from bnplug.data.coding import Codes

if TYPE_CHECKING:
    from bnplug.data.table import Table


def divided_by_class_mean(
    weights: FloatArray | None, labels: Codes | None, repeats: IntArray | None = None
) -> FloatArray | None:
    """Return weights divided by the mean weight of their class; None if all weights within each class are equal.

    Examples
    --------
    >>> divided_by_class_mean(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([0.5, 1.5, 1. ])
    >>> divided_by_class_mean(np.array([2.0, 4.0, 5.0]), np.array([0, 0, 1]), np.array([1, 2, 1]))
    """
    if weights is None:
        return None
    # Rows without a class are in the first group.
    groups = np.zeros(len(weights), dtype=np.int64) if labels is None else labels.astype(np.int64) + 1
    rows = np.ones(len(weights)) if repeats is None else repeats.astype(np.float64)
    total, number = np.bincount(groups, weights), np.bincount(groups, rows)
    scaled = weights * np.divide(number, total, out=np.ones_like(total), where=total > 0)[groups]
    return None if np.allclose(scaled, rows, rtol=1e-9, atol=0.0) else np.asarray(scaled)


def divided(block: Table, divisors: FloatArray) -> FloatArray:
    """Return weights divided by the mean weight of their group.

    The result is rounded to 24 bits, so weights that differ by a constant factor become exactly equal.
    """
    weights, groups = _weight_groups(block, len(divisors) > 1)
    return read_only((weights / divisors[groups]).astype(np.float32).astype(np.float64))


def weights_and_rows(block: Table, by_class: bool) -> list[FloatArray]:
    """Return the total weight of each group, and its number of rows with a positive weight."""
    weights, groups = _weight_groups(block, by_class)
    n_groups = _n_groups(block, by_class)
    rows = np.bincount(groups, weights > 0, n_groups)
    return [np.bincount(groups, weights, n_groups).astype(np.float64), rows.astype(np.float64)]


def weight_ranges(block: Table, by_class: bool) -> FloatArray:
    """Return the smallest and the largest weight of each group."""
    weights, groups = _weight_groups(block, by_class)
    ranges = np.array([[np.inf], [-np.inf]]) * np.ones(_n_groups(block, by_class))
    np.minimum.at(ranges[0], groups, weights)
    np.maximum.at(ranges[1], groups, weights)
    return ranges


def _weight_groups(block: Table, by_class: bool) -> tuple[FloatArray, IntArray]:
    """Return the weights of the rows of a block, and the group of each row: its class, or 0."""
    assert block.weights is not None
    if not by_class:
        return block.weights, np.zeros(block.n_rows, dtype=np.int64)
    return block.weights, np.minimum(block.codes[block.target_index].astype(np.int64), block.cards[block.target_index])


def _n_groups(block: Table, by_class: bool) -> int:
    return int(block.cards[block.target_index]) + 1 if by_class else 1
