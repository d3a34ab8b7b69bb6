"""The tables of a network as the compiled pass takes them: flat arrays of numbers and of records."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import accumulate, chain
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import config

from bnplug.arrays import FloatArray, IntArray
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


#: A node: its states; where its axes, children and table are; whether the class is in its family; whether its
#: columns sum to one; the logarithm of its number of states; bounds of its finite log parameters and 0.
NODE = record("card axes axes_end children children_end start", flags="with_class proper", numbers="log_card low high")

#: An axis of a table. Strides count floats. The class, always last, is not listed.
AXIS = record("variable stride")


class FlatTables(NamedTuple):
    """The tables of a network, one behind the other. Variables are positions in its names.

    Attributes
    ----------
    nodes : array of NODE
    axes : array of AXIS
        The axes of each node's table.
    children, leaves_first : int64 arrays
        The children of each node; all nodes, children before parents.
    values, log_values : float64 arrays
        The tables, one behind the other, and their logarithms.
    target, n_classes : int
    """

    nodes: npt.NDArray[Any]
    axes: npt.NDArray[Any]
    children: IntArray
    leaves_first: IntArray
    values: FloatArray
    log_values: FloatArray
    target: int
    n_classes: int


def flat_tables(tables: LogTables, target: str) -> FlatTables:
    """Return the tables as the compiled pass takes them."""
    position = {name: v for v, name in enumerate(tables.names)}
    children: list[list[int]] = [[] for _ in tables.names]
    scopes, arrays = [], []
    for node, (name, (parents, array)) in enumerate(tables.tables.items()):
        family = (name, *parents)
        scopes.append([position[u] for u in family if u != target])
        arrays.append(np.moveaxis(array, family.index(target), -1) if target in family else array)
        for v in scopes[-1]:
            if v != node:
                children[v].append(node)
    log_values = np.concatenate([array.ravel() for array in arrays])
    with np.errstate(over="ignore"):
        values = np.exp(log_values)
    parents_first = TopologicalSorter(tables.parents)
    return FlatTables(
        nodes=_nodes(tables, target, arrays, scopes, children),
        axes=_axes(arrays, scopes),
        children=np.array([*chain(*children)], dtype=np.int64),
        leaves_first=np.array([position[name] for name in [*parents_first.static_order()][::-1]]),
        values=values,
        log_values=log_values,
        target=position[target],
        n_classes=len(tables.states[target]),
    )


def _nodes(
    tables: LogTables,
    target: str,
    arrays: Sequence[FloatArray],
    scopes: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
) -> npt.NDArray[Any]:
    nodes = np.zeros(len(arrays), NODE)
    nodes["card"] = [len(tables.states[name]) for name in tables.names]
    nodes["log_card"] = np.log(nodes["card"])
    nodes["axes"], nodes["axes_end"] = _bounds([len(scope) for scope in scopes])
    nodes["children"], nodes["children_end"] = _bounds([len(own) for own in children])
    nodes["start"], _ = _bounds([array.size for array in arrays])
    nodes["with_class"] = [target in (name, *table.parents) for name, table in tables.tables.items()]
    nodes["proper"] = [table.normalized for table in tables.tables.values()]
    nodes["low"] = [array.min(initial=0.0, where=np.isfinite(array)) for array in arrays]
    nodes["high"] = [array.max(initial=0.0) for array in arrays]
    return nodes


def _bounds(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where parts of these sizes begin and end when they lie behind one another."""
    ends = [0, *accumulate(sizes)]
    return ends[:-1], ends[1:]


def _axes(arrays: Sequence[FloatArray], scopes: Sequence[Sequence[int]]) -> npt.NDArray[Any]:
    """Return the axes of arrays that have those of their scopes, and then perhaps the class."""
    axes = [
        (v, prod(array.shape[i + 1 :]))
        for array, scope in zip(arrays, scopes, strict=True)
        for i, v in enumerate(scope)
    ]
    return np.array(axes, dtype=AXIS)
