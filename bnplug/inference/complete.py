"""Complete rows: the log joint of every row with every class, and the posterior it gives.

Only the class and its children matter for a posterior: the terms of all other nodes are the same for every class. Each
node that matters becomes one table [configuration without the class, class].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from bnplug.compiling import kernel
from bnplug.model.log_tables import LogTables
from bnplug.table._counting import find_cells, index_rows
from bnplug.typing import CodeArray, FloatArray, IntArray

#: Log joints this close to a row's largest are tied with it; the lowest class index wins.
TIE = 1e-9

_BLOCK = 512


@dataclass(frozen=True)
class Terms:
    """The nodes that the posterior depends on, as flat arrays for kernels.

    Attributes
    ----------
    variables, strides, bounds : int64 arrays
        Term t reads ``variables[i]`` with ``strides[i]`` for i in ``bounds[t]:bounds[t + 1]``.
    starts : int64 array of shape (terms,)
        The position of the term's table in `values`; strides and starts count floats.
    values : float64 array
        The concatenated tables, each with axes (configuration without the class, class).
    n_classes, nodes : int, tuple of int
        The number of classes; the node of each term, as a position in the tables' names.
    """

    variables: IntArray
    strides: IntArray
    bounds: IntArray
    starts: IntArray
    values: FloatArray
    n_classes: int
    nodes: tuple[int, ...]

    def cells(self, codes: CodeArray, which: Sequence[int] | None = None) -> IntArray:
        """Return the positions of rows in `values`: the entry of the first class, followed by those of the others.

        The result has the shape (terms, rows), and is -1 if one of the term's variables is missing. `codes` have the
        shape (variables, rows), in the order of the tables' names; `which` are some of the terms, by default all.
        """
        # A kernel is compiled for each kind of array; tables have this one.
        codes = np.ascontiguousarray(codes).view()
        codes.flags.writeable = False
        chosen = range(len(self.starts)) if which is None else which
        result = np.empty((len(chosen), codes.shape[1]), dtype=np.int64)
        for t, cells in zip(chosen, result, strict=True):
            axes = slice(self.bounds[t], self.bounds[t + 1])
            index_rows(codes, self.variables[axes], self.strides[axes], np.iinfo(codes.dtype).max, cells)
            cells[cells >= 0] += self.starts[t]
        return result


def terms(tables: LogTables, target: str) -> Terms:
    """Return the terms of the class and its children, in the order of the tables' names."""
    position = {name: v for v, name in enumerate(tables.names)}
    n_classes = len(tables.states[target])
    variables: list[int] = []
    strides: list[int] = []
    bounds, values, nodes = [0], [], []
    for node, (name, (parents, table)) in enumerate(tables.tables.items()):
        family = (name, *parents)
        if target not in family:
            continue
        others = [variable for variable in family if variable != target]
        cards = [len(tables.states[variable]) for variable in others]
        variables += [position[variable] for variable in others]
        strides += [prod(cards[i + 1 :]) * n_classes for i in range(len(cards))]
        bounds.append(len(variables))
        values.append(np.moveaxis(table, family.index(target), -1).ravel())
        nodes.append(node)
    return Terms(
        variables=np.array(variables, dtype=np.int64),
        strides=np.array(strides, dtype=np.int64),
        bounds=np.array(bounds, dtype=np.int64),
        starts=np.cumsum([0, *(table.size for table in values[:-1])], dtype=np.int64),
        values=np.concatenate(values),
        n_classes=n_classes,
        nodes=tuple(nodes),
    )


def with_values(tables: LogTables, target: str, terms: Terms, values: FloatArray) -> LogTables:
    """Return `tables` with flat `values` for the class and its children: the inverse of :func:`terms`."""
    changed = {}
    ends = [*terms.starts[1:], values.size]
    for node, start, end in zip(terms.nodes, terms.starts, ends, strict=True):
        name = tables.names[node]
        family = (name, *tables.tables[name].parents)
        cards = [len(tables.states[variable]) for variable in family if variable != target]
        table = values[start:end].reshape(*cards, terms.n_classes)
        changed[name] = np.moveaxis(table, -1, family.index(target))
    return tables._with_arrays(changed)


def log_joint(terms: Terms, codes: CodeArray) -> FloatArray:
    """Return L[m, c], the log joint of row m and class c, up to a constant for each row.

    Cells that a term reads must not be missing, except that a term of a single missing feature is skipped: on naive
    Bayes this is exact marginalization.
    """
    result = np.zeros((codes.shape[1], terms.n_classes))
    missing = np.iinfo(codes.dtype).max
    _add_terms(codes, terms.variables, terms.strides, terms.bounds, terms.starts, terms.values, missing, result)
    return result


def log_rest(tables: LogTables, target: str, codes: CodeArray) -> FloatArray:
    """Return for each row the sum of the tables without the class and without missing cells."""
    result, missing = np.zeros(codes.shape[1]), np.iinfo(codes.dtype).max
    for name, (parents, values) in tables.tables.items():
        if target != name and target not in parents:
            cells = codes[[tables.names.index(u) for u in (name, *parents)]]
            known = (cells != missing).all(axis=0)
            result[known] += values[tuple(cells[:, known])]
    return result


def posterior(joint: FloatArray) -> FloatArray:
    """Return P(class | row) from log joints; tied classes get exactly equal probabilities.

    A row that is impossible under every class gets equal probabilities; for prediction, start from
    :func:`bnplug.inference.predicting.predictive_log_joint`, which gives such a row the class prior.
    """
    result = np.empty_like(joint)
    _normalize_rows(joint, TIE, False, result)
    return result


def log_posterior(joint: FloatArray) -> FloatArray:
    """Return log P(class | row) from log joints, without underflow."""
    result = np.empty_like(joint)
    _normalize_rows(joint, TIE, True, result)
    return result


@kernel
def _add_terms(codes, variables, strides, bounds, starts, values, missing, joint):  # type: ignore[no-untyped-def]
    """Add the terms of every row to joint[m, :], in blocks that stay in cache; shapes as in Terms."""
    n_rows, n_classes = joint.shape
    cells = np.empty(_BLOCK, np.int64)
    for low in range(0, n_rows, _BLOCK):
        high = min(low + _BLOCK, n_rows)
        block = codes[:, low:high]
        for t in range(starts.shape[0]):
            axes = slice(bounds[t], bounds[t + 1])
            find_cells(block, variables[axes], strides[axes], missing, cells[: high - low])
            table = values[starts[t] :]
            for m in range(high - low):
                if cells[m] >= 0:
                    for c in range(n_classes):
                        joint[low + m, c] += table[cells[m] + c]


@kernel
def _normalize_rows(joint, tie, logs, result):  # type: ignore[no-untyped-def]
    """Set result[m, :] to the softmax of joint[m, :], or its log; classes within `tie` of the largest equal it."""
    n_rows, n_classes = joint.shape
    for m in range(n_rows):
        # numpy's max takes a second to compile.
        largest = joint[m, 0]
        for value in joint[m]:
            largest = max(largest, value)
        total = 0.0
        for c in range(n_classes):
            below = joint[m, c] - largest
            below = 0.0 if not below < -tie else below
            share = np.exp(below)
            result[m, c] = below if logs else share
            total += share
        log_total = np.log(total)
        for c in range(n_classes):
            result[m, c] = result[m, c] - log_total if logs else result[m, c] / total
