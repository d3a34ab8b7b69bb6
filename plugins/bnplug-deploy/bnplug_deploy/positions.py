"""Positions of nodes in the editors of GeNIe and Hugin: one row per depth, parents above children."""

from __future__ import annotations

from graphlib import TopologicalSorter

from bnplug import LogTables

#: The size of a node; below, the distances between nodes.
WIDTH, HEIGHT = 100, 40
_ACROSS, _DOWN = 130, 90


def positions(tables: LogTables) -> dict[str, tuple[int, int]]:
    """Return the center of each node in pixels from the top left."""
    parents = {name: table.parents for name, table in tables.tables.items()}
    depth: dict[str, int] = {}
    for name in TopologicalSorter(parents).static_order():
        depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=0)
    in_row: dict[int, int] = {}
    places = {}
    for name in tables.names:
        in_row[depth[name]] = in_row.get(depth[name], 0) + 1
        places[name] = (_ACROSS * in_row[depth[name]], _DOWN * depth[name])
    return places
