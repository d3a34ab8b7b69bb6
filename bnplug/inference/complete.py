"""Complete rows: the log joint of every row with every class, and the posterior it gives.

For a posterior only the class and its children matter: the terms of all other nodes are the same for every class
and drop out. Each node that matters becomes one table [configuration without the class, class].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.compiling import inner_kernel, kernel
from bnplug.data._counting import find_cells, index_rows
from bnplug.model.log_tables import LogTables

#: Log joints this close to a row's largest are tied with it; the lowest class index wins.
TIE = 1e-9

_BLOCK = 512


@dataclass(frozen=True)
class Terms:
    """The nodes that the posterior depends on, flat, as kernels take them.

    Attributes
    ----------
    variables, strides : int64 arrays
        Term t reads ``variables[i]`` with ``strides[i]`` for i in ``bounds[t]:bounds[t + 1]``.
    bounds : int64 array of shape (terms + 1,)
    starts : int64 array of shape (terms,)
        Where the term's table begins in `values`; strides and starts count floats.
    values : float64 array
        The tables, one behind the other, each with axes (configuration without the class, class).
    n_classes : int
    nodes : tuple of int
        The node that each term comes from, as a position in the tables' names.
    """

    variables: IntArray
    strides: IntArray
    bounds: IntArray
    starts: IntArray
    values: FloatArray
    n_classes: int
    nodes: tuple[int, ...]

    def cells(self, codes: CodeArray, which: Sequence[int] | None = None) -> IntArray:
        """Return where terms find rows in `values`: the entry of the first class, which those of others follow.

        Parameters
        ----------
        codes : unsigned array of shape (variables, rows)
            In the order of the tables' names; the dtype's largest value is missing.
        which : sequence of int, optional
            Some of the terms; by default all.

        Returns
        -------
        int64 array of shape (terms, rows)
            -1 where one of the term's variables is missing.

        Examples
        --------
        >>> tables = LogTables(
        ...     ["x", "c"], {"x": [0, 1], "c": ["n", "p"]},
        ...     {"x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]])), "c": ((), np.log([0.5, 0.5]))})
        >>> own = terms(tables, "c")
        >>> own.cells(np.array([[1, 255], [0, 0]], dtype=np.uint8)).tolist()
        [[2, -1], [4, 4]]
        >>> np.exp(own.values[2:4]).round(3).tolist()  # x = 1, with each class
        [0.1, 0.8]
        """
        # A kernel is compiled for each kind of array; tables have this one.
        codes = np.ascontiguousarray(codes).view()
        codes.flags.writeable = False
        chosen = range(len(self.starts)) if which is None else which
        result = np.empty((len(chosen), codes.shape[1]), dtype=np.int64)
        for t, found in zip(chosen, result, strict=True):
            own = slice(self.bounds[t], self.bounds[t + 1])
            index_rows(codes, self.variables[own], self.strides[own], np.iinfo(codes.dtype).max, found)
            found[found >= 0] += self.starts[t]
        return result


def terms(tables: LogTables, target: str) -> Terms:
    """Return the terms of the class and its children, in the order of the tables' names."""
    position = {name: v for v, name in enumerate(tables.names)}
    n_classes = len(tables.states[target])
    variables: list[int] = []
    strides: list[int] = []
    bounds, starts, values, nodes = [0], [], [], []
    start = 0
    for node, (name, (parents, table)) in enumerate(tables.tables.items()):
        family = (name, *parents)
        if target not in family:
            continue
        others = [variable for variable in family if variable != target]
        cards = [len(tables.states[variable]) for variable in others]
        flat = np.moveaxis(table, family.index(target), -1).ravel()
        variables += [position[variable] for variable in others]
        strides += [prod(cards[i + 1 :]) * n_classes for i in range(len(cards))]
        bounds.append(len(variables))
        starts.append(start)
        values.append(flat)
        nodes.append(node)
        start += flat.size
    return Terms(
        variables=np.array(variables, dtype=np.int64),
        strides=np.array(strides, dtype=np.int64),
        bounds=np.array(bounds, dtype=np.int64),
        starts=np.array(starts, dtype=np.int64),
        values=np.concatenate(values),
        n_classes=n_classes,
        nodes=tuple(nodes),
    )


def with_values(tables: LogTables, target: str, terms: Terms, values: FloatArray) -> LogTables:
    """Return `tables` with the tables of the class and its children taken from flat `values`.

    The inverse of :func:`terms`, which `terms` comes from.
    """
    changed = {name: (table.parents, table.values) for name, table in tables.tables.items()}
    ends = [*terms.starts[1:], values.size]
    for node, start, end in zip(terms.nodes, terms.starts, ends, strict=True):
        name = tables.names[node]
        family = (name, *tables.tables[name].parents)
        cards = [len(tables.states[variable]) for variable in family if variable != target]
        own = values[start:end].reshape(*cards, terms.n_classes)
        changed[name] = (tables.tables[name].parents, np.moveaxis(own, -1, family.index(target)))
    return LogTables(tables.names, tables.states, changed, tables.target)


def log_joint(terms: Terms, codes: CodeArray) -> FloatArray:
    """Return L[m, c], the log joint of row m and class c, up to what is the same for all classes.

    Cells that a term reads must not be missing, except that a term of one feature alone is skipped where
    that feature is: on naive Bayes this is exact marginalisation.
    """
    result = np.zeros((codes.shape[1], terms.n_classes))
    missing = np.iinfo(codes.dtype).max
    _add_terms(codes, terms.variables, terms.strides, terms.bounds, terms.starts, terms.values, missing, result)
    return result


def full_log_joint(tables: LogTables, codes: CodeArray, target: str | None = None) -> FloatArray:
    """Return L[m, c] = log P(c, x_m), the sum of the log parameters of all nodes, for every row and class.

    :func:`log_joint` leaves out the nodes that are the same for every class, which is enough for a posterior; here they
    are in, so that ``logsumexp(L, axis=1)`` is the log probability of the row's features.

    Parameters
    ----------
    tables : LogTables
        The log parameters of a network.
    codes : unsigned array of shape (variables, rows)
        Complete rows, in the order of the tables' names. What they say about the class is not read.
    target : str, optional
        The class; by default that of the tables.

    Returns
    -------
    float64 array of shape (rows, classes)

    Raises
    ------
    ValueError
        If there is no class, or a feature is missing in some row.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {"c": ["n", "p"], "x": [0, 1], "y": [0, 1]},
    ...     {"c": (("x",), np.log([[0.9, 0.2], [0.1, 0.8]])),
    ...      "x": ((), np.log([0.5, 0.5])), "y": (("x",), np.log([[0.3, 0.6], [0.7, 0.4]]))}, "c")
    >>> np.exp(full_log_joint(tables, np.array([[0], [1], [0]], dtype=np.uint8))).round(3)
    array([[0.06, 0.24]])
    """
    chosen = tables.target if target is None else target
    if chosen is None:
        raise ValueError("full_log_joint needs the class: give target, or LogTables(..., target=...)")
    missing = np.iinfo(codes.dtype).max
    holes = [name for name, own in zip(tables.names, codes, strict=True) if name != chosen and (own == missing).any()]
    if holes:
        raise ValueError(f"columns {holes} have missing cells; give complete rows, or sum them out by a Marginalizer")
    joint = log_joint(terms(tables, chosen), codes)
    position = {name: v for v, name in enumerate(tables.names)}
    for name, (parents, values) in tables.tables.items():
        family = (name, *parents)
        if chosen not in family:
            joint += values[tuple(codes[position[variable]] for variable in family)][:, None]
    return joint


def posterior(joint: FloatArray) -> FloatArray:
    """Return P(class | row) from log joints; tied classes get exactly equal probabilities.

    A row that is impossible under every class gets equal probabilities; for prediction, start from
    :func:`bnplug.inference.predicting.predictive_log_joint`, which gives such a row the class prior.
    """
    result = np.empty_like(joint)
    _normalize_rows(joint, TIE, result)
    return result


def log_posterior(joint: FloatArray) -> FloatArray:
    """Return log P(class | row) from log joints, without a detour through probabilities that underflow."""
    result = np.empty_like(joint)
    _log_normalize_rows(joint, TIE, result)
    return result


@kernel
def _add_terms(codes, variables, strides, bounds, starts, values, missing, joint):  # type: ignore[no-untyped-def]
    """joint[m, :] += the table row that each term finds for row m; shapes as in Terms.

    Rows are taken in blocks, so that a block of `joint` stays in cache while all terms are added.
    """
    n_rows, n_classes = joint.shape
    cells = np.empty(_BLOCK, np.int64)
    for low in range(0, n_rows, _BLOCK):
        high = min(low + _BLOCK, n_rows)
        block = codes[:, low:high]
        for t in range(starts.shape[0]):
            own = slice(bounds[t], bounds[t + 1])
            find_cells(block, variables[own], strides[own], missing, cells[: high - low])
            table = values[starts[t] :]
            for m in range(high - low):
                if cells[m] >= 0:
                    for c in range(n_classes):
                        joint[low + m, c] += table[cells[m] + c]


@inner_kernel
def _largest(row):  # type: ignore[no-untyped-def]
    """The largest value; numpy's max takes a second to compile."""
    largest = row[0]
    for value in row[1:]:
        largest = max(largest, value)
    return largest


@kernel
def _normalize_rows(joint, tie, result):  # type: ignore[no-untyped-def]
    """result[m, :] = softmax of joint[m, :], classes within `tie` of the largest being equal to it."""
    n_rows, n_classes = joint.shape
    for m in range(n_rows):
        largest = _largest(joint[m])
        total = 0.0
        for c in range(n_classes):
            below = joint[m, c] - largest
            result[m, c] = 1.0 if not below < -tie else np.exp(below)
            total += result[m, c]
        for c in range(n_classes):
            result[m, c] /= total


@kernel
def _log_normalize_rows(joint, tie, result):  # type: ignore[no-untyped-def]
    """The logarithm of what _normalize_rows gives."""
    n_rows, n_classes = joint.shape
    for m in range(n_rows):
        largest = _largest(joint[m])
        total = 0.0
        for c in range(n_classes):
            below = joint[m, c] - largest
            result[m, c] = 0.0 if not below < -tie else below
            total += np.exp(result[m, c])
        for c in range(n_classes):
            result[m, c] -= np.log(total)
