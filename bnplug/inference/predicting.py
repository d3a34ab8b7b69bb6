"""Answers for many rows at once, by an engine's compiled pass.

An engine computes P(class | known cells) for whole blocks of rows. Any variable may take the part of the class, and the
joint distribution of several variables is the product of one distribution and the next one given the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bnplug.contracts import CompiledNetwork
from bnplug.model.log_tables import LogTables
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray


def predictive_log_joint(marginals: CompiledNetwork, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
    """Return the log joint of every row and class; a row impossible under every class gets the log prior of the class.

    Otherwise the order of the labels would decide. Parameters are as in :meth:`bnplug.CompiledNetwork.log_joint`.
    """
    joint = marginals.log_joint(codes, n_jobs=n_jobs)
    ruled_out = np.isneginf(joint)
    impossible = ruled_out.all(axis=1, keepdims=True) if ruled_out.any() else ruled_out
    if not impossible.any():
        return joint
    nothing_known = np.full((len(codes), 1), np.iinfo(codes.dtype).max, dtype=codes.dtype)
    return np.where(impossible, marginals.log_joint(nothing_known, n_jobs=n_jobs), joint)


#: Returns the compiled network whose class is the given variable.
Compile = Callable[[str], CompiledNetwork]

# The bytes of a block, and of each number of an answer, of which up to four copies exist at once.
_BYTES, _NUMBER = 2**23, 32


def query_rows(
    tables: LogTables, variables: Sequence[str], compiled: Compile, codes: CodeArray, n_jobs: int | None = None
) -> FloatArray:
    """Return P(variables | known cells) for every row, of shape (rows, joint states); NaN in impossible rows.

    The last of `variables` changes fastest; their `codes` are not read. `compiled` returns the
    :class:`~bnplug.CompiledNetwork` of `tables` whose class is the given variable.
    """
    asked = [tables.names.index(name) for name in variables]
    # The class first: calibrated evidence concerns its posterior alone.
    order = sorted(range(len(variables)), key=lambda i: variables[i] != tables.target)
    marginals = [(variables[i], compiled(variables[i])) for i in order]
    rows, places = distinct(codes, *asked)
    n_joint = int(np.prod([len(tables.states[name]) for name in variables]))
    result = np.empty((rows.shape[1], n_joint))
    for block in blocks(np.arange(rows.shape[1]), n_joint * row_bytes(rows, 1)):
        result[block] = _joint(tables, marginals, rows.take(block, axis=1), n_jobs)
    result[_all_impossible(tables, compiled, rows, n_jobs)] = np.nan
    shape = [len(tables.states[variables[i]]) for i in order]
    in_order = result.reshape(-1, *shape).transpose([0, *(1 + np.argsort(order))])
    return in_order.reshape(len(result), n_joint)[places]


def _joint(
    tables: LogTables, marginals: Sequence[tuple[str, CompiledNetwork]], rows: CodeArray, n_jobs: int | None
) -> FloatArray:
    joint = np.ones((rows.shape[1], 1))
    for name, compiled in marginals:
        given = conditional(compiled, rows, n_jobs).reshape(*joint.shape, -1)
        joint = np.where(joint[..., None] == 0, 0.0, joint[..., None] * given).reshape(len(joint), -1)
        if name != marginals[-1][0]:
            rows = with_states(rows, tables.names.index(name), given.shape[-1])
    return joint


def conditional(marginals: CompiledNetwork, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
    """Return P(class | known cells), of shape (rows, classes); NaN in rows impossible under every class."""
    joint = marginals.log_joint(codes, n_jobs=n_jobs)
    with np.errstate(invalid="ignore", under="ignore"):
        share = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def distinct(codes: CodeArray, *hidden: int) -> tuple[CodeArray, IntArray]:
    """Hide some variables; return the distinct rows, and the index of each row among them."""
    rows = codes.copy()
    rows[list(hidden)] = np.iinfo(codes.dtype).max
    unique, places = np.unique(rows, axis=1, return_inverse=True)
    return np.ascontiguousarray(unique), places.ravel()


def with_states(rows: CodeArray, variable: int, n_states: int) -> CodeArray:
    """Repeat every row for each state of a variable."""
    each = rows.repeat(n_states, axis=1)
    each[variable] = np.tile(np.arange(n_states, dtype=rows.dtype), rows.shape[1])
    return each


def blocks(rows: IntArray, size: int) -> Iterator[IntArray]:
    """Yield rows in blocks of a few megabytes, at `size` bytes per row."""
    step = max(1, _BYTES // max(1, size))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def row_bytes(rows: CodeArray, n_numbers: int) -> int:
    """Return the bytes of a row and of the numbers computed for it."""
    return rows.itemsize * len(rows) + _NUMBER * n_numbers


def impossible_rows(tables: LogTables, rows: CodeArray) -> BoolArray:
    """Return which rows have a complete family with probability 0."""
    result = np.zeros(rows.shape[1], dtype=np.bool_)
    for name, (parents, values) in tables.tables.items():
        if np.isneginf(values).any():
            family = [tables.names.index(u) for u in (name, *parents)]
            known = np.flatnonzero((rows[family] != np.iinfo(rows.dtype).max).all(axis=0))
            result[known] |= np.isneginf(values[tuple(rows[v, known] for v in family)])
    return result


def _all_impossible(tables: LogTables, compiled: Compile, rows: CodeArray, n_jobs: int | None) -> BoolArray:
    """Return which rows have probability 0."""
    result = impossible_rows(tables, rows)
    if not any(np.isneginf(table.values).any() for table in tables.tables.values()):
        return result
    # An engine may ignore variables separated from the class, so every unknown variable is the class once.
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero((rows[v] == np.iinfo(rows.dtype).max) & ~result)
        if len(lacking) == 0:
            continue
        marginals = compiled(name)
        for block in blocks(lacking, row_bytes(rows, len(tables.states[name]))):
            joint = marginals.log_joint(rows.take(block, axis=1), n_jobs=n_jobs)
            result[block] |= np.isneginf(joint).all(axis=1)
    return result
