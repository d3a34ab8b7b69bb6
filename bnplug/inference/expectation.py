"""Expected counts: how often each cell of a family occurs, given a class and what a row knows.

They are the derivatives of the log joint by the log parameters, and what the expectation step of EM counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from bnplug.arrays import BoolArray, CodeArray, FloatArray
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference.complete import full_log_joint
from bnplug.inference.queries import log_measure
from bnplug.model.log_tables import LogTables


def expected_counts(
    tables: LogTables, target: str, codes: CodeArray, weights: FloatArray, max_clique_size: int = MAX_CLIQUE_SIZE
) -> list[FloatArray]:
    """Return for each family the sum over rows m and classes c of ``weights[m, c] P(cell | c, what row m knows)``.

    Rows that know the same are taken together; a family without a hole is counted, any other is summed by elimination.

    Parameters
    ----------
    tables : LogTables
    target : str
        The class; what `codes` say about it is not read.
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.
    weights : float64 array of shape (rows, classes)
        They may be negative. A class that is impossible for a row adds nothing.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> codes = np.array([[255, 255], [1, 255]], dtype=np.uint8)  # x is 1 in one row, and missing in the other
    >>> expected_counts(tables, "c", codes, np.array([[0.0, 1.0], [0.0, 1.0]]))[1]
    array([[0. , 0.2],
           [0. , 1.8]])
    """
    if weights.shape != (codes.shape[1], len(tables.states[target])):
        shape = (codes.shape[1], len(tables.states[target]))
        raise ValueError(f"weights have the shape {weights.shape}, not {shape}: one for each row and class")
    rows, summed = _distinct(codes, tables.names.index(target), weights)
    known = rows != np.iinfo(codes.dtype).max
    complete = ~_holes(tables, tables.names, target, known)
    summed[complete] *= np.isfinite(full_log_joint(tables, rows[:, complete], target))
    evidence = {m: _known(tables, rows[:, m], known[:, m]) for m in np.flatnonzero(~complete)}
    for m, own in evidence.items():
        summed[m] *= np.isfinite(log_measure(tables, [target], own, {}, max_clique_size))
    counts = []
    for name in tables.names:
        family = (name, *tables.tables[name].parents)
        holes = _holes(tables, family, target, known)
        total = _counted(tables, family, target, rows[:, ~holes], summed[~holes])
        for m in np.flatnonzero(holes):
            total += _expected(tables, family, target, evidence[m], summed[m], max_clique_size)
        counts.append(total)
    return counts


def _distinct(codes: CodeArray, target: int, weights: FloatArray) -> tuple[CodeArray, FloatArray]:
    """Return the rows that differ in their features, without a class, and the sum of the weights of each."""
    features = codes.copy()
    features[target] = np.iinfo(codes.dtype).max
    rows, places = np.unique(features, axis=1, return_inverse=True)
    summed = np.zeros((rows.shape[1], weights.shape[1]))
    np.add.at(summed, places.ravel(), weights)
    return rows, summed


def _known(tables: LogTables, row: CodeArray, there: BoolArray) -> dict[str, int]:
    return {name: int(code) for name, code, known in zip(tables.names, row, there, strict=True) if known}


def _holes(tables: LogTables, family: Sequence[str], target: str, known: BoolArray) -> BoolArray:
    """Say which rows miss any of these features."""
    features = [tables.names.index(name) for name in family if name != target]
    return np.asarray(~known[features].all(axis=0))


def _counted(
    tables: LogTables, family: tuple[str, ...], target: str, rows: CodeArray, weights: FloatArray
) -> FloatArray:
    """Return the weighted counts of a family whose features every row knows."""
    classes = np.arange(weights.shape[1])[None, :]
    cells = [classes if name == target else rows[tables.names.index(name)].astype(np.intp)[:, None] for name in family]
    counts = np.zeros(tables.tables[family[0]].values.shape)
    np.add.at(counts, tuple(np.broadcast_arrays(*cells, weights)[:-1]), weights)
    return counts


def _expected(
    tables: LogTables,
    family: tuple[str, ...],
    target: str,
    known: dict[str, int],
    weights: FloatArray,
    max_clique_size: int,
) -> FloatArray:
    """Return the share of one row in the counts of a family of which it misses a feature."""
    counts = np.zeros(tables.tables[family[0]].values.shape)
    possible = np.flatnonzero(weights)
    if len(possible) == 0:
        return counts
    axes = [target, *(name for name in family if name not in known and name != target)]
    measure = log_measure(tables, axes, known, {}, max_clique_size)
    inner = tuple(range(1, measure.ndim))
    shares = np.zeros_like(measure)
    shares[possible] = np.exp(measure[possible] - logsumexp(measure[possible], axis=inner, keepdims=True))
    shares *= np.expand_dims(weights, inner)
    if target not in family:
        shares, axes = shares.sum(axis=0), axes[1:]
    ordered = shares.transpose([axes.index(name) for name in family if name not in known])
    counts[tuple(known.get(name, slice(None)) for name in family)] = ordered
    return counts
