"""The tables of a network as the compiled pass takes them: flat arrays of numbers and of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config

from bnplug.arrays import FloatArray, IntArray
from bnplug.inference._cliques import elimination_order
from bnplug.model.log_tables import LogTables


def record(integers: str, flags: str = "", numbers: str = "") -> np.dtype[Any]:
    """Return the dtype of records with fields of these names."""
    kinds = {np.int64: integers, np.bool_: flags, np.float64: numbers}
    fields = np.dtype([(name, kind) for kind, names in kinds.items() for name in names.split()], align=True)
    return np.dtype((_PlainRecord, fields)) if config.DISABLE_JIT else fields


class _PlainRecord(np.void):  # type: ignore[misc]
    """A record whose fields are attributes, as they are in compiled code; for kernels that are not compiled."""

    def __getattribute__(self, name: str) -> Any:
        dtype = super().__getattribute__("dtype")
        return self[name] if name in dtype.names else super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


#: A node: its number of states; the position of its table and of the table's axes; its place in the order of
#: elimination, -1 for the class; the number of its table without evidence; whether the class is in its family; whether
#: its columns sum to one; the logarithm of its number of states; bounds of its finite log parameters and 0.
NODE = record("card start axes axes_end rank unit", flags="with_class proper", numbers="log_card low high")

#: An axis of a table or a message. Strides count floats. `unit`: by how much the number of a table, as rows leave it,
#: grows with each state, where no state is 0 and the first is 1. `state`: of the message that is being computed.
AXIS = record("variable stride size unit state")


class FlatTables(NamedTuple):
    """The tables of a network, one behind the other. Variables are positions in its names.

    Attributes
    ----------
    nodes : array of NODE
    both_ways, order : int64 arrays
        All nodes, children before parents, and all once more, parents first; the features in the order in which they
        are summed out.
    target, n_units : int
        The class; how many tables there are when each is counted with any of its variables observed or not.
    axes : array of AXIS
        The axes of each table except the class, in the order in which they are summed out.
    values : float64 array
        The tables, one behind the other, and then their logarithms.
    layouts : list of list of int
        For each node the axes of its table, as positions in its family, in the order in which they are stored.
    """

    nodes: npt.NDArray[Any]
    both_ways: IntArray
    order: IntArray
    target: int
    n_units: int
    axes: npt.NDArray[Any]
    values: FloatArray
    layouts: list[list[int]]


def flat_tables(tables: LogTables, target: str) -> FlatTables:
    """Return the tables as the compiled pass takes them."""
    position = {name: v for v, name in enumerate(tables.names)}
    order = elimination_order(tables, [target])
    rank = {target: -1} | {name: place for place, name in enumerate(order)}
    families = [(name, *table.parents) for name, table in tables.tables.items()]
    layouts = [_layout([rank[u] for u in family]) for family in families]
    log_values = np.concatenate(
        [table.values.transpose(own).ravel() for table, own in zip(tables.tables.values(), layouts, strict=True)]
    )
    with np.errstate(over="ignore"):
        values = np.concatenate([np.exp(log_values), log_values])
    axes = [_axes(tables, family, own, rank) for family, own in zip(families, layouts, strict=True)]
    nodes = _nodes(tables, target, [len(own) for own in axes])
    nodes["rank"] = [rank[name] for name in tables.names]
    parents_first = [position[name] for name in TopologicalSorter(tables.parents).static_order()]
    return FlatTables(
        nodes=nodes,
        both_ways=np.array(parents_first[::-1] + parents_first),
        order=np.array([position[name] for name in order], dtype=np.int64),
        target=position[target],
        n_units=int(nodes["unit"][-1]) + _n_units(tables, families[-1], target),
        axes=np.array([(position[u], *numbers, 0) for own in axes for u, *numbers in own], dtype=AXIS),
        values=values,
        layouts=layouts,
    )


def with_logs(flat: FlatTables, logs: FloatArray) -> FlatTables:
    """Return the tables of the same network with other log parameters, in the order of memory.

    No table counts as normalised then: whether one is would have to be looked at each time.
    """
    nodes = flat.nodes.copy()
    nodes["low"] = np.minimum(np.minimum.reduceat(np.where(np.isfinite(logs), logs, 0.0), nodes["start"]), 0.0)
    nodes["high"] = np.maximum(np.maximum.reduceat(logs, nodes["start"]), 0.0)
    nodes["proper"] = False
    with np.errstate(over="ignore", under="ignore"):
        return flat._replace(nodes=nodes, values=np.concatenate([np.exp(logs), logs]))


def in_memory(flat: FlatTables, arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the numbers of all cells in the order of memory, from an array of the shape of each table."""
    return np.concatenate([own.transpose(layout).ravel() for own, layout in zip(arrays, flat.layouts, strict=True)])


def in_shape(tables: LogTables, flat: FlatTables, cells: FloatArray) -> list[FloatArray]:
    """Return numbers of all cells, in the order of memory, as an array of the shape of each table."""
    found, start = [], 0
    for table, layout in zip(tables.tables.values(), flat.layouts, strict=True):
        stored = [table.values.shape[axis] for axis in layout]
        own = cells[start : start + table.values.size].reshape(stored)
        found.append(np.ascontiguousarray(own.transpose(np.argsort(layout))))
        start += table.values.size
    return found


def _layout(ranks: Sequence[int]) -> list[int]:
    """Return the order of axes in memory: summed out last first; the two that are summed out first swap places.

    When the first of them is summed out, sums for all states of the second are then taken at once, from numbers beside
    one another. The class, whose rank is -1, is the last axis for the same reason.
    """
    stored = sorted(range(len(ranks)), key=lambda i: -ranks[i])
    if len(ranks) > 1 and min(ranks) >= 0:
        stored[-2:] = stored[:-3:-1]
    return stored


def _axes(
    tables: LogTables, family: Sequence[str], layout: Sequence[int], rank: Mapping[str, int]
) -> list[tuple[str, int, int, int]]:
    """Return the axes of a family's table but the class, ascending by rank."""
    axes, stride, unit = [], 1, 1
    for i in reversed(layout):
        size = len(tables.states[family[i]])
        if rank[family[i]] >= 0:
            axes.append((family[i], stride, size, unit))
            unit *= size + 1
        stride *= size
    return sorted(axes, key=lambda axis: rank[axis[0]])


def _n_units(tables: LogTables, family: Sequence[str], target: str) -> int:
    return prod(len(tables.states[u]) + 1 for u in family if u != target)


def _nodes(tables: LogTables, target: str, n_axes: Sequence[int]) -> npt.NDArray[Any]:
    arrays = [table.values for table in tables.tables.values()]
    families = [(name, *table.parents) for name, table in tables.tables.items()]
    nodes = np.zeros(len(arrays), NODE)
    nodes["card"] = [len(tables.states[name]) for name in tables.names]
    nodes["log_card"] = np.log(nodes["card"])
    nodes["start"], _ = _bounds([array.size for array in arrays])
    nodes["axes"], nodes["axes_end"] = _bounds(n_axes)
    nodes["unit"], _ = _bounds([_n_units(tables, family, target) for family in families])
    nodes["with_class"] = [target in family for family in families]
    nodes["proper"] = [table.normalized for table in tables.tables.values()]
    nodes["low"] = [array.min(initial=0.0, where=np.isfinite(array)) for array in arrays]
    nodes["high"] = [array.max(initial=0.0) for array in arrays]
    return nodes


def _bounds(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where parts of these sizes begin and end when they lie behind one another."""
    ends = [0, *accumulate(sizes)]
    return ends[:-1], ends[1:]
