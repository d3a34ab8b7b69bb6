"""The tables of a network as flat arrays, prepared for single questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.compiling import kernel
from bnplug.inference._flat_tables import AXIS, NODE, FlatTables
from bnplug.model.log_tables import NORMALIZED, LogTables
from bnplug.typing import BoolArray, IntArray


class Relations(NamedTuple):
    """The children of each node, ``children[starts[v]:starts[v + 1]]``, and which tables have zeros."""

    starts: IntArray
    children: IntArray
    has_zeros: BoolArray


def question_tables(tables: LogTables) -> tuple[FlatTables, Relations, IntArray]:
    """Return the tables as they are, with a last node that has no table, in the part of the class."""
    n, position = len(tables.names), {name: v for v, name in enumerate(tables.names)}
    arrays = [table.values for table in tables.tables.values()]
    parents = [[position[u] for u in table.parents] for table in tables.tables.values()]
    families = [v for node, of_node in enumerate(parents) for v in (node, *of_node)]
    counts = np.array([array.ndim for array in arrays], dtype=np.int64)
    cells = np.array([array.size for array in arrays], dtype=np.int64)
    logs = np.concatenate([array.ravel() for array in arrays])
    nodes, axes = np.zeros(n + 1, NODE), np.zeros(len(families), AXIS)
    ends, cell_ends = np.cumsum(counts), np.cumsum(cells)
    cards = np.array([len(array) for array in arrays], dtype=np.int64)
    nodes["card"][:n], nodes["card"][n] = cards, 1
    nodes["log_card"] = np.log(nodes["card"])
    nodes["axes"][:n], nodes["axes_end"][:n] = ends - counts, ends
    nodes["axes"][n] = nodes["axes_end"][n] = ends[-1]
    nodes["start"][:n], nodes["rank"] = cell_ends - cells, -1
    axes["variable"], axes["size"] = families, cards[families]
    is_parent = np.ones(len(families), np.bool_)
    is_parent[ends - counts] = False
    nodes_of = np.repeat(np.arange(n), counts)[is_parent]
    of_parents = np.array(families, dtype=np.int64)[is_parent]
    places = np.argsort(of_parents, kind="stable")
    relations = Relations(
        np.searchsorted(of_parents[places], np.arange(n + 1)).astype(np.int64),
        nodes_of[places].astype(np.int64),
        np.zeros(n, np.bool_),
    )
    both_ways, values = np.empty(n, np.int64), np.empty(2 * len(logs))
    with np.errstate(over="ignore", under="ignore"):
        np.exp(logs, out=values[: len(logs)])
    values[len(logs) :] = logs
    n_units = _lay_out(nodes, axes, relations, both_ways)
    _describe(nodes, cell_ends, values, relations.has_zeros)
    return FlatTables(nodes, both_ways, both_ways, n, n_units, axes, values, []), relations, cards


@kernel(allocates=False)
def _describe(nodes, ends, values, has_zeros):  # type: ignore[no-untyped-def]
    """Fill the bounds of tables, and find which are normalized, and which have zeros."""
    logs = values[values.shape[0] // 2 :]
    for v in range(ends.shape[0]):
        start, low, high = nodes[v].start, 0.0, 0.0
        for i in range(start, ends[v]):
            high = max(high, logs[i])
            if logs[i] == -np.inf:
                has_zeros[v] = True
            else:
                low = min(low, logs[i])
        nodes[v].low, nodes[v].high, nodes[v].proper = low, high, True
        width = (ends[v] - start) // nodes[v].card
        for column in range(start, start + width):
            total = 0.0
            for i in range(nodes[v].card):
                total += values[column + i * width]
            nodes[v].proper &= abs(np.log(total)) <= NORMALIZED


@kernel(allocates=False)
def _lay_out(nodes, axes, relations, order):  # type: ignore[no-untyped-def]
    """Fill the strides and units of all axes, and the units of nodes; list the nodes, parents first."""
    n = nodes.shape[0] - 1
    units = np.int64(0)
    end = np.int64(0)
    for v in range(n):
        stride, unit = np.int64(1), np.int64(1)
        for i in range(nodes[v].axes_end - 1, nodes[v].axes - 1, -1):
            axes[i].stride, axes[i].unit = stride, unit
            stride *= axes[i].size
            unit *= axes[i].size + 1
        nodes[v].unit = units
        units += unit
        # The number of parents that are not listed yet.
        nodes[v].rank = nodes[v].axes_end - nodes[v].axes - 1
        if nodes[v].rank == 0:
            order[end] = v
            end += 1
    k = 0
    while k < end:
        v = order[k]
        k += 1
        for i in range(relations.starts[v], relations.starts[v + 1]):
            child = relations.children[i]
            nodes[child].rank -= 1
            if nodes[child].rank == 0:
                order[end] = child
                end += 1
    for v in range(n):
        nodes[v].rank = -1
    return units
