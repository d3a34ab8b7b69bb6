"""Log joints of training rows, each left out of the estimates, with some of its features hidden.

Leaving a row out changes one column of each table: that of the row's own class and parents. All rows are summed
together, as one more axis of every factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from bnplug.inference._cliques import Factor, Factors, MoralGraph
from bnplug.inference.queries import relevant
from bnplug.model.log_tables import LogTables
from bnplug.typing import BoolArray, CodeArray, FloatArray

# The name of the axis of rows, which no variable has; the most numbers of a clique for all rows of a block.
_ROW, _CELLS = "\0row", 2**21


def left_out_log_joint(
    tables: LogTables, columns: Sequence[FloatArray], codes: CodeArray, hidden: BoolArray, max_clique_size: int
) -> FloatArray:
    """Return the log joint of rows and classes, each row left out of the tables.

    Parameters
    ----------
    tables : LogTables
        The estimates from all rows.
    columns : sequence of float64 arrays of shape (rows, states)
        For each variable and row the log probabilities of its states, given the row's parents and class, without it.
    codes : unsigned array of shape (variables, rows)
        The rows, with their classes.
    hidden : boolean array of shape (variables,)
        The features to marginalize in all rows. Missing cells are marginalized too.
    max_clique_size : int
        As for :func:`bnplug.inference.queries.query`: a ``ValueError`` if a larger table is needed.
    """
    missing, target = np.iinfo(codes.dtype).max, tables.names.index(str(tables.target))
    incomplete = (codes == missing).any(axis=1) & ~hidden
    free = hidden | incomplete
    free[target] = True
    observed = {name for name, absent in zip(tables.names, hidden, strict=True) if not absent}
    wanted = [v for v, name in enumerate(tables.names) if name in relevant(tables, observed | {str(tables.target)})]
    families = [[v, *map(tables.names.index, tables[tables.names[v]].parents)] for v in wanted]
    # A table without a hidden variable and without the class is the same for all classes.
    families = [family for family in families if free[family].any()]
    scopes = [tuple(tables.names[u] for u in family if free[u]) for family in families]
    graph, largest = MoralGraph(tables, scopes, {str(tables.target)}), 1
    while graph.sizes:
        largest = max(largest, graph.take_smallest().n_cells)
    if largest > max_clique_size:
        raise ValueError(f"a table of {largest:,} cells is larger than max_clique_size={max_clique_size:,}")
    size = max(1, _CELLS // largest)
    parts = []
    for start in range(0, codes.shape[1], size):
        rows = slice(start, start + size)
        block = np.minimum(codes[:, rows], np.array([len(labels) for labels in tables.states.values()])[:, None] - 1)
        absent = codes[:, rows] == missing
        factors = [
            ((_ROW, *scope), _instantiated(tables, columns[family[0]][rows], block, absent, family, free, target))
            for family, scope in zip(families, scopes, strict=True)
        ]
        factors += [_finding(tables, u, block, absent) for u in np.flatnonzero(incomplete) if u != target]
        parts.append(_measure(tables, factors, block.shape[1]))
    return np.concatenate(parts)


def _instantiated(
    tables: LogTables,
    column: FloatArray,
    codes: CodeArray,
    absent: BoolArray,
    family: list[int],
    free: BoolArray,
    target: int,
) -> FloatArray:
    """Return a table with the observed states of each row, of shape (rows, free variables), the row left out."""
    axes = [u for u in family if free[u]]
    table: Any = tables[tables.names[family[0]]].values
    at: list[Any] = []
    for u, n_states in zip(family, table.shape, strict=True):
        shape = [1] * (1 + len(axes))
        shape[1 + axes.index(u) if free[u] else 0] = -1
        at.append((np.arange(n_states) if free[u] else codes[u]).reshape(shape))
    result: FloatArray = table[tuple(at)]
    if result.shape[0] != codes.shape[1]:
        result = np.repeat(result, codes.shape[1], axis=0)
    if target in family:
        rows = np.flatnonzero(~absent[family].any(axis=0))
        node = family[0]
        states = tuple(codes[u, rows] for u in axes if u != node)
        if free[node]:
            np.moveaxis(result, 1 + axes.index(node), -1)[(rows, *states)] = column[rows]
        else:
            result[(rows, *states)] = column[rows, codes[node, rows]]
    return result


def _finding(tables: LogTables, u: int, codes: CodeArray, absent: BoolArray) -> Factor:
    """Return the evidence on a variable that only some rows know."""
    name = tables.names[u]
    possible = (codes[u][:, None] == np.arange(len(tables.states[name]))) | absent[u][:, None]
    return (_ROW, name), np.where(possible, 0.0, -np.inf)


def _measure(tables: LogTables, factors: list[Factor], n_rows: int) -> FloatArray:
    described: Any = SimpleNamespace(names=(*tables.names, _ROW), states={**tables.states, _ROW: range(n_rows)})
    kept = (_ROW, str(tables.target))
    return Factors(described, factors, {*kept}, np.inf).measure(kept)
