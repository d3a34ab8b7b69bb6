"""Values for missing cells and sampled rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from bnplug import BayesianNetworkClassifier
    from bnplug.typing import FloatArray
    from bnplug_mixture.cells import Intervals


def numbers_drawn(
    intervals: Intervals, network: BayesianNetworkClassifier, sampled: pd.Series[Any], random: np.random.RandomState
) -> FloatArray:
    """Return a number for each sampled bin of a network: of an interval drawn in the bin, NaN for a missing cell."""
    labels = list(network.schema_.states[intervals.name])
    bins, shares = intervals.bins_of(network), intervals.shares_of(network)
    numbers = intervals.numbers()
    uniform, values = random.random_sample(len(sampled)), np.full(len(sampled), np.nan)
    cells = sampled.to_numpy(dtype=object)
    for number, label in enumerate(labels[: len(network.encoder_.cut_points[intervals.name]) + 1]):
        rows, inside = np.flatnonzero(cells == label), np.flatnonzero(bins == number)
        ends = shares[inside].cumsum()
        values[rows] = numbers[inside[np.searchsorted(ends[:-1], uniform[rows], side="right")]]
    return values


def most_common(completed: Sequence[pd.DataFrame], numeric: Collection[str]) -> pd.DataFrame:
    """Return the most common value of each cell, the first of tied ones; of a numeric column the lower median.

    Examples
    --------
    >>> frames = [pd.DataFrame({"a": [a], "b": [b]}) for a, b in [("x", 1.0), ("y", 5.0), ("y", 2.0), ("z", 4.0)]]
    >>> most_common(frames, ["b"])
       a    b
    0  y  2.0
    """
    result = completed[0].copy()
    for name in result.columns:
        columns = [frame[name] for frame in completed]
        joined = pd.concat([column.astype(object) for column in columns], ignore_index=True)
        places, values = pd.factorize(joined, sort=name in numeric)
        codes = np.asarray(places).reshape(len(columns), -1)
        if (codes == codes[0]).all():
            continue
        # -1 is a cell that stays missing.
        if name in numeric:
            known = (codes >= 0).sum(axis=0)
            last = np.sort(np.where(codes < 0, len(values), codes), axis=0)
            best = np.take_along_axis(last, np.maximum(known - 1, 0)[None] // 2, axis=0)[0]
            best = np.where(known > 0, best, -1)
        else:
            votes = np.stack([(codes == codes[number]).sum(axis=0) for number in range(len(codes))])
            best = np.take_along_axis(codes, np.where(codes < 0, 0, votes).argmax(axis=0)[None], axis=0)[0]
        cells = np.append(np.asarray(values, dtype=object), np.nan)[best]
        result[name] = _typed(pd.Series(cells, result.index, name=name), columns)
    return result


def _typed(cells: pd.Series[Any], columns: Sequence[pd.Series[Any]]) -> pd.Series[Any]:
    """Return cells with the type of the columns that they come from, if one of them holds all values."""
    if isinstance(columns[0].dtype, pd.CategoricalDtype):
        categories = dict.fromkeys(state for column in columns for state in column.cat.categories)
        return cells.astype(pd.CategoricalDtype(list(categories), columns[0].cat.ordered))
    try:
        return cells.astype(columns[0].dtype)
    except (TypeError, ValueError):
        return cells
