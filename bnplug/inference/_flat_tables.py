"""The tables of a network as flat arrays, and their instantiation with the observed cells of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config

from bnplug.compiling import inner_kernel
from bnplug.inference._cliques import families
from bnplug.inference._orders import elimination_order
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray, IntArray


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

    `nodes` are records NODE, and `axes` records AXIS: the axes of each table except the class, in the order of
    elimination. `both_ways` lists all nodes children first, then parents first; `order` lists the features in the order
    of elimination. `n_units` is the number of tables if each is counted with any of its variables observed or not.
    `values` holds the tables, then their logarithms. `layouts` are the axes of each table, as positions in its family,
    in the order in which they are stored.
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
    scopes = families(tables)
    layouts = [_layout([rank[u] for u in family]) for family in scopes]
    logs = in_memory(layouts, [table.values for table in tables.tables.values()])
    axes = [_axes(tables, family, layout, rank) for family, layout in zip(scopes, layouts, strict=True)]
    # The number of tables that observing any of the variables of a table makes of it.
    units = [prod(size + 1 for _, _, size, _ in of_table) for of_table in axes]
    nodes = np.zeros(len(scopes), NODE)
    nodes["card"] = [len(tables.states[name]) for name in tables.names]
    nodes["log_card"] = np.log(nodes["card"])
    nodes["rank"] = [rank[name] for name in tables.names]
    nodes["start"], _ = _bounds([table.values.size for table in tables.tables.values()])
    nodes["axes"], nodes["axes_end"] = _bounds([len(of_table) for of_table in axes])
    nodes["unit"], _ = _bounds(units)
    nodes["with_class"] = [target in family for family in scopes]
    parents_first = [position[name] for name in TopologicalSorter(tables.parents).static_order()]
    flat = FlatTables(
        nodes=nodes,
        both_ways=np.array(parents_first[::-1] + parents_first),
        order=np.array([position[name] for name in order], dtype=np.int64),
        target=position[target],
        n_units=sum(units),
        axes=np.array([(position[u], *numbers, 0) for of_table in axes for u, *numbers in of_table], dtype=AXIS),
        values=logs,
        layouts=layouts,
    )
    flat = with_logs(flat, logs)
    flat.nodes["proper"] = [table.normalized for table in tables.tables.values()]
    return flat


def with_logs(flat: FlatTables, logs: FloatArray) -> FlatTables:
    """Return the same network with other log parameters, in the order of memory; no table counts as normalized."""
    nodes = flat.nodes.copy()
    nodes["low"] = np.minimum(np.minimum.reduceat(np.where(np.isfinite(logs), logs, 0.0), nodes["start"]), 0.0)
    nodes["high"] = np.maximum(np.maximum.reduceat(logs, nodes["start"]), 0.0)
    nodes["proper"] = False
    with np.errstate(over="ignore", under="ignore"):
        return flat._replace(nodes=nodes, values=np.concatenate([np.exp(logs), logs]))


def in_memory(layouts: Sequence[Sequence[int]], arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the numbers of all cells in the order of memory, from an array of the shape of each table."""
    return np.concatenate([array.transpose(layout).ravel() for array, layout in zip(arrays, layouts, strict=True)])


def in_shape(tables: LogTables, flat: FlatTables, cells: FloatArray) -> list[FloatArray]:
    """Return numbers of all cells, in the order of memory, as an array of the shape of each table."""
    arrays, start = [], 0
    for table, layout in zip(tables.tables.values(), flat.layouts, strict=True):
        stored = [table.values.shape[axis] for axis in layout]
        array = cells[start : start + table.values.size].reshape(stored)
        arrays.append(np.ascontiguousarray(array.transpose(np.argsort(layout))))
        start += table.values.size
    return arrays


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


def _bounds(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where parts of these sizes begin and end when they lie behind one another."""
    ends = [0, *accumulate(sizes)]
    return ends[:-1], ends[1:]


# A variable in the current row: its state, -1 where missing; whether it is needed and relevant, and whether its table
# has a relevant feature; the first factor in its bucket, or -1; the number of the last bucket whose factors had it, and
# its place among the axes of the message.
VARIABLE = record("state bucket stamp place", flags="needed relevant touched")

# A factor, an instantiated table or a message: its number, the same in every row; the next one in its bucket; where
# its numbers are; its axes, in the order in which they are summed out; bounds of its finite logarithms and 0.
# As a part of a message: its strides along the axes of that; the first of these, but the very first, that it has (if
# none, their number); where its current numbers are, how far apart along the variable and along the very first axis.
# As a message: the variable that was summed out and the next; its parts; how many numbers it has, whether their sums
# were taken of plain numbers, and the logarithm of what they are to be multiplied by; the message that was computed
# before it, or 0.
FACTOR = record(
    "unit following kind start axes axes_end strides depth offset step inner variable next parts parts_end size "
    "previous",
    flags="plain",
    numbers="low high scale",
)

# The numbers of a factor are in the network's tables, or in a message, plain or as logarithms.
TABLE, PLAIN, LOG = 0, 1, 2


@inner_kernel(allocates=False)
def read_row(codes, m, missing, target, variables):  # type: ignore[no-untyped-def]
    """Set the states of the variables to those of row m, -1 where missing; that of the class to 0."""
    for v in range(codes.shape[0]):
        variables[v].state = -1 if codes[v, m] == missing else np.int64(codes[v, m])
    variables[target].state = 0


@inner_kernel(allocates=False)
def mark(nodes, axes, both_ways, variables):  # type: ignore[no-untyped-def]
    """Find the missing features that matter for the posterior, and return whether any exist.

    These are the features, apart from barren ones, that tables connect with the class.
    """
    _mark_needed(nodes, axes, both_ways, variables)
    # The tables in one direction, then in the other, until nothing changes.
    any_relevant, spread, start = False, True, 0
    while spread:
        spread = False
        for v in both_ways[start : start + nodes.shape[0]]:
            if not variables[v].needed:
                continue
            touched, new = False, False
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variable = variables[axes[i].variable]
                touched |= variable.relevant
                new |= variable.state < 0 and not variable.relevant
            if new and (touched or nodes[v].with_class):
                any_relevant = spread = touched = True
                for i in range(nodes[v].axes, nodes[v].axes_end):
                    variable = variables[axes[i].variable]
                    variable.relevant = variable.state < 0
            variables[v].touched = touched
        start = nodes.shape[0] - start
    return any_relevant


@inner_kernel(allocates=False)
def mark_complete(nodes, axes, both_ways, target, variables):  # type: ignore[no-untyped-def]
    """Find the missing features that matter for the full log joint, all but barren ones; return if any exist."""
    _mark_needed(nodes, axes, both_ways, variables)
    any_relevant = False
    for v in range(nodes.shape[0]):
        variables[v].relevant = v != target and variables[v].needed and variables[v].state < 0
        any_relevant |= variables[v].relevant
    for v in range(nodes.shape[0]):
        for i in range(nodes[v].axes, nodes[v].axes_end):
            variables[v].touched |= variables[v].needed and variables[axes[i].variable].relevant
    return any_relevant


@inner_kernel(allocates=False)
def _mark_needed(nodes, axes, both_ways, variables):  # type: ignore[no-untyped-def]
    """Find the nodes that are not barren: missing, without a needed child, and with columns that sum to one."""
    for v in range(nodes.shape[0]):
        variables[v].needed = variables[v].state >= 0 or not nodes[v].proper
        variables[v].relevant = variables[v].touched = False
        variables[v].bucket = -1
    for v in both_ways[: nodes.shape[0]]:
        if variables[v].needed:
            for i in range(nodes[v].axes, nodes[v].axes_end):
                variables[axes[i].variable].needed = True


@inner_kernel(allocates=False)
def mark_all(nodes, axes, target, variables):  # type: ignore[no-untyped-def]
    """Take all missing features as relevant: each is counted, whether the class depends on it or not."""
    for v in range(nodes.shape[0]):
        variables[v].relevant = v != target and variables[v].state < 0
        variables[v].bucket = -1
    for v in range(nodes.shape[0]):
        variables[v].touched = False
        for i in range(nodes[v].axes, nodes[v].axes_end):
            variables[v].touched |= variables[axes[i].variable].relevant


@inner_kernel(allocates=False)
def collect(nodes, target, variables, axes, factors, end):  # type: ignore[no-untyped-def]
    """Instantiate tables that have a relevant feature, put them in buckets, and count them; `end` is room for axes."""
    n = np.int64(0)
    for v in range(nodes.shape[0]):
        if not variables[v].touched:
            continue
        node, factor = nodes[v], factors[n]
        factor.axes, factor.start, factor.unit = end, node.start, node.unit
        first = target
        if node.with_class:
            axes[end].variable, axes[end].stride = target, 1
            end += 1
        for i in range(node.axes, node.axes_end):
            variable = variables[axes[i].variable]
            if variable.relevant:
                axes[end] = axes[i]
                end += 1
                rank = nodes[axes[i].variable].rank
                if rank >= 0 and (first == target or rank < nodes[first].rank):
                    first = axes[i].variable
            else:
                factor.start += variable.state * axes[i].stride
                factor.unit += (variable.state + 1) * axes[i].unit
        factor.axes_end, factor.kind = end, TABLE
        factor.low, factor.high = node.low, node.high
        factor.following, variables[first].bucket = variables[first].bucket, n
        n += 1
    return n
