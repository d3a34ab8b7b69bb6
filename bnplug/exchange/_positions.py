"""Where the editors of GeNIe and Hugin draw a network's nodes: a row for each depth, parents above children."""

from __future__ import annotations

from graphlib import TopologicalSorter

from bnplug.model.log_tables import LogTables

#: The size of a node, and the room from one node to the next.
WIDTH, HEIGHT = 100, 40
_ACROSS, _DOWN = 130, 90


def positions(tables: LogTables) -> dict[str, tuple[int, int]]:
    """Return the middle of each node, in the pixels of an editor, from the top left.

    Examples
    --------
    >>> half = [0.5, 0.5]
    >>> tables = LogTables("ab", {v: "xy" for v in "ab"}, {"a": ((), half), "b": (("a",), [half, half])})
    >>> positions(tables)
    {'a': (130, 90), 'b': (130, 180)}
    """
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
