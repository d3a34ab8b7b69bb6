"""Where a search begins: a named graph, or edges by the names of the variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.arrays import BoolArray

if TYPE_CHECKING:
    from bnplug.data.table import Table


def edge_matrix(table: Table, edges: Iterable[tuple[str, str]] | None) -> BoolArray:
    """Return named edges as a matrix [parent, child]."""
    size = len(table.names)
    matrix = np.zeros((size, size), dtype=bool)
    for edge in edges or ():
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"an edge is a pair (parent, child) of names, not {edge!r}")
        matrix[table.index(edge[0]), table.index(edge[1])] = True
    return matrix


def start_parents(table: Table, start: Any, fixed: BoolArray, forbidden: BoolArray) -> list[list[int]]:
    """Return the parents of every variable at the start.

    Parameters
    ----------
    table : Table
    start : {"nb", "empty"}, DAG or list of edges
    fixed, forbidden : bool matrices
        The edges that are always there, and those that never are; a named start gives way to both.

    Raises
    ------
    ValueError
        If `start` is none of these, has a cycle, or an edge is both there and forbidden.
    """
    if isinstance(start, str):
        if start not in ("nb", "empty"):
            raise ValueError(f"start={start!r} is not 'nb', 'empty', a DAG or a list of edges")
        edges = np.zeros_like(fixed)
        edges[table.target_index, table.features] = start == "nb"
        # An edge of the whitelist may point to the class; its opposite then gives way.
        edges &= ~forbidden & ~fixed.T
    else:
        edges = edge_matrix(table, getattr(start, "edges", start))
    edges |= fixed
    for u, v in np.argwhere(edges & forbidden):
        raise ValueError(
            f"edge {table.names[u]!r} -> {table.names[v]!r} is in the blacklist, and in the start or the whitelist"
        )
    parents: list[list[int]] = [np.flatnonzero(own).tolist() for own in edges.T]
    # Names the cycle, if there is one.
    table.dag(parents)
    return parents
