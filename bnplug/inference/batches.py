"""Questions about many rows at once, through an engine's compiled pass.

An engine answers P(class | what is known) for whole blocks of rows. Any variable may take the part of the class, and
the joint distribution of several is the product of one's and the next one's given the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bnplug.arrays import BoolArray, CodeArray, FloatArray, IntArray
from bnplug.contracts import Marginals
from bnplug.model.log_tables import LogTables

#: Gives the marginals of a network whose class is the variable that it is told.
Compile = Callable[[str], Marginals]

# Bytes that are worked on at a time; of each number of an answer there are up to four at once.
_BYTES, _NUMBER = 2**23, 32


def query_rows(
    tables: LogTables, variables: Sequence[str], compiled: Compile, codes: CodeArray, n_jobs: int | None = None
) -> FloatArray:
    """Return P(variables | what a row knows) for every row.

    Parameters
    ----------
    tables : LogTables
    variables : sequence of str
        What is asked about, jointly; what `codes` say about them is not read.
    compiled : callable
        Gives the :class:`~bnplug.Marginals` of `tables` whose class is a variable that it is told.
    codes : unsigned array of shape (variables, rows)
        In the order of ``tables.names``; the largest value of the type is missing.
    n_jobs : int, optional
        Threads, as joblib counts them.

    Returns
    -------
    float64 array of shape (rows, joint states)
        The last of `variables` changes fastest. A row that is impossible has NaN.

    Examples
    --------
    >>> from bnplug.inference import Marginalizer
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))})
    >>> codes = np.array([[255, 1], [255, 255]], dtype=np.uint8)  # nothing is known, and c is 1
    >>> query_rows(tables, ["x"], lambda name: Marginalizer(tables, name), codes)
    array([[0.55, 0.45],
           [0.2 , 0.8 ]])
    """
    asked = [tables.names.index(name) for name in variables]
    marginals = [compiled(name) for name in variables]
    rows, places = distinct(codes, *asked)
    n_joint = int(np.prod([len(tables.states[name]) for name in variables]))
    result = np.empty((rows.shape[1], n_joint))
    for own in blocks(np.arange(rows.shape[1]), n_joint * row_bytes(rows, 1)):
        result[own] = _joint(tables, variables, marginals, rows.take(own, axis=1), n_jobs)
    result[_all_impossible(tables, compiled, rows, n_jobs)] = np.nan
    return result[places]


def _joint(
    tables: LogTables, variables: Sequence[str], marginals: Sequence[Marginals], rows: CodeArray, n_jobs: int | None
) -> FloatArray:
    joint = np.ones((rows.shape[1], 1))
    for name, own in zip(variables, marginals, strict=True):
        given = conditional(own, rows, n_jobs).reshape(*joint.shape, -1)
        joint = np.where(joint[..., None] == 0, 0.0, joint[..., None] * given).reshape(len(joint), -1)
        if name != variables[-1]:
            rows = with_states(rows, tables.names.index(name), given.shape[-1])
    return joint


def conditional(marginals: Marginals, codes: CodeArray, n_jobs: int | None = None) -> FloatArray:
    """Return P(class | what a row knows), of shape (rows, classes); NaN in rows that no class allows."""
    joint = marginals.log_joint(codes, n_jobs)
    with np.errstate(invalid="ignore", under="ignore"):
        share = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def distinct(codes: CodeArray, *hidden: int) -> tuple[CodeArray, IntArray]:
    """Return the rows that differ, not knowing the variables `hidden`, and which of them each row is."""
    rows = codes.copy()
    rows[list(hidden)] = np.iinfo(codes.dtype).max
    found, places = np.unique(rows, axis=1, return_inverse=True)
    return np.ascontiguousarray(found), places.ravel()


def with_states(rows: CodeArray, variable: int, n_states: int) -> CodeArray:
    """Return every row once for each state of a variable."""
    each = rows.repeat(n_states, axis=1)
    each[variable] = np.tile(np.arange(n_states, dtype=rows.dtype), rows.shape[1])
    return each


def blocks(rows: IntArray, size: int) -> Iterator[IntArray]:
    """Give rows in blocks of a few megabytes, at `size` bytes a row."""
    step = max(1, _BYTES // max(1, size))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def row_bytes(rows: CodeArray, n_numbers: int) -> int:
    """Return the bytes that a row takes, with the numbers that are made for it."""
    return rows.itemsize * len(rows) + _NUMBER * n_numbers


def impossible_rows(tables: LogTables, rows: CodeArray) -> BoolArray:
    """Say which rows know the states of a whole family that never occur together."""
    result = np.zeros(rows.shape[1], dtype=np.bool_)
    for name, (parents, values) in tables.tables.items():
        if np.isneginf(values).any():
            family = [tables.names.index(u) for u in (name, *parents)]
            known = np.flatnonzero((rows[family] != np.iinfo(rows.dtype).max).all(axis=0))
            result[known] |= np.isneginf(values[tuple(rows[v, known] for v in family)])
    return result


def _all_impossible(tables: LogTables, compiled: Compile, rows: CodeArray, n_jobs: int | None) -> BoolArray:
    """Say which rows have probability 0, also where what is asked about does not depend on that.

    An engine need not look at what a row separates from the class; so every variable that is not known is it once.
    """
    result = impossible_rows(tables, rows)
    if not any(np.isneginf(table.values).any() for table in tables.tables.values()):
        return result
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero((rows[v] == np.iinfo(rows.dtype).max) & ~result)
        marginals = compiled(name) if len(lacking) > 0 else None
        for own in blocks(lacking, row_bytes(rows, len(tables.states[name]))):
            assert marginals is not None
            result[own] |= np.isneginf(marginals.log_joint(rows.take(own, axis=1), n_jobs)).all(axis=1)
    return result
