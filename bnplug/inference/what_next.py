"""What to ask next: how much each unknown feature of a row is expected to tell of the class.

For a row that knows e, a feature X is worth the mutual information

    I(C; X | e) = H(C | e) - sum over x of P(x | e) H(C | x, e),

the expected fall of the class's entropy, in nats. It is never negative, and 0 where X tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import rel_entr

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.contracts import Marginals
from bnplug.counts.information import INFORMATION_TIE
from bnplug.errors import did_you_mean
from bnplug.inference._shown import rows_display
from bnplug.inference.batches import Compile, blocks, conditional, distinct, impossible_rows, row_bytes, with_states
from bnplug.model.log_tables import LogTables
from bnplug.notebook._frames import with_display


def expected_information(
    tables: LogTables, target: str, compiled: Compile, codes: CodeArray, n_jobs: int | None = None
) -> FloatArray:
    """Return I(class; feature | what a row knows) for every row and feature, in nats.

    Rows that know the same are taken together, and a feature at a time: P(feature | class, what is known) is asked for
    the rows that lack it, block by block.

    Parameters
    ----------
    tables : LogTables
    target : str
        The class; what `codes` say about it is not read.
    compiled : callable
        Gives the :class:`~bnplug.Marginals` of `tables` whose class is a variable that it is told.
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.
    n_jobs : int, optional
        Threads, as joblib counts them.

    Returns
    -------
    float64 array of shape (rows, variables)
        NaN for the class, for what a row knows, and in rows that are impossible.

    Examples
    --------
    >>> from bnplug.inference import Marginalizer
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> codes = np.array([[255, 255], [255, 1]], dtype=np.uint8)  # x is missing in one row, and 1 in the other
    >>> expected_information(tables, "c", lambda name: Marginalizer(tables, name), codes).round(3)
    array([[  nan, 0.275],
           [  nan,   nan]])
    """
    missing, c = np.iinfo(codes.dtype).max, tables.names.index(target)
    rows, places = distinct(codes, c)
    result = np.full((rows.shape[1], len(tables.names)), np.nan)
    classes = conditional(compiled(target), rows, n_jobs)
    wrong = impossible_rows(tables, rows) | np.isnan(classes[:, 0])
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero((rows[v] == missing) & ~wrong) if v != c else np.zeros(0, dtype=np.int64)
        marginals = compiled(name) if len(lacking) > 0 else None
        for own in blocks(lacking, classes.shape[1] * row_bytes(rows, len(tables.states[name]))):
            assert marginals is not None
            result[own, v] = _information(classes[own], marginals, rows.take(own, axis=1), c, n_jobs)
            wrong[own] |= np.isnan(result[own, v])
    result[wrong] = np.nan
    return result[places]


def _information(
    classes: FloatArray, marginals: Marginals, rows: CodeArray, target: int, n_jobs: int | None
) -> FloatArray:
    """Return I(class; feature | row) from P(class | row) and the marginals of the feature."""
    each = with_states(rows, target, classes.shape[1])
    given = conditional(marginals, each, n_jobs).reshape(*classes.shape, -1)
    # What an impossible class would say of the feature is nothing.
    joint = np.where(classes[..., None] > 0, classes[..., None] * given, 0.0)
    apart = classes[..., None] * joint.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(rel_entr(joint, apart).sum(axis=(1, 2)), 0.0))


def ranked(worth: FloatArray) -> IntArray:
    """Return for each row the columns by falling worth; of tied ones the lowest comes first, NaN comes last.

    Examples
    --------
    >>> ranked(np.array([[0.1, 0.3, np.nan, 0.3 + 1e-12]]))
    array([[1, 3, 0, 2]])
    """
    left = np.where(np.isnan(worth), -1.0, worth)
    order = np.empty(worth.shape, dtype=np.int64)
    rows = np.arange(len(worth))
    for place in range(worth.shape[1]):
        largest = left.max(axis=1, keepdims=True)
        order[:, place] = (left >= largest - INFORMATION_TIE).argmax(axis=1)
        left[rows, order[:, place]] = -np.inf
    return order


def check_costs(costs: Mapping[str, float] | None, features: list[str]) -> FloatArray | None:
    """Return what each of `features` costs.

    Raises
    ------
    ValueError
        Unless there is a positive number for each of them, and for nothing else.
    """
    if costs is None:
        return None
    given = dict(costs)
    for name in given:
        if name not in features:
            raise ValueError(f"costs: there is no feature {name!r}.{did_you_mean(str(name), features)}")
    absent = [name for name in features if name not in given]
    if absent:
        raise ValueError(f"costs: say what each feature costs; {absent} are not told")
    for name, cost in given.items():
        if not isinstance(cost, int | float | np.integer | np.floating) or not 0 < cost < np.inf:
            raise ValueError(f"costs: {name!r} costs {cost!r}, which is no positive number")
    return np.array([float(given[name]) for name in features])


def next_frame(
    information: FloatArray, unknown: Any, features: list[str], rows: pd.Index[Any], costs: FloatArray | None = None
) -> pd.DataFrame:
    """Return what to ask as a frame: for each row its unknown features, what is worth most first.

    Parameters
    ----------
    information : float64 array of shape (rows, features)
    unknown : bool array of shape (rows, features)
    features : list of str
    rows : pandas index
        The labels of the rows.
    costs : float64 array of shape (features,), optional
        What each costs: features are then ranked by information per cost.
    """
    worth = information if costs is None else information / costs
    order = ranked(np.where(unknown, worth, np.nan))
    # What is known is behind what is worth 0, and so is, in its order, what is asked in vain.
    listed = np.take_along_axis(unknown, order, axis=1)
    m, place = np.nonzero(listed)
    v = order[m, place]
    frame = pd.DataFrame({"row": rows.take(m), "feature": np.array(features, dtype=object)[v]})
    frame = frame.assign(information=information[m, v])
    ranking = frame if costs is None else frame.assign(cost=costs[v], per_cost=worth[m, v])
    return with_display(ranking, rows_display)
