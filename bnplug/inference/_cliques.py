"""The tree of cliques that summing variables out goes through, and how large a table it may need."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from bnplug.model.log_tables import LogTables

#: Cells of the largest table that marginalising may need, unless told otherwise.
MAX_CLIQUE_SIZE = 10_000_000


def n_cells(tables: LogTables, names: Iterable[str]) -> int:
    """Return the number of joint states of the variables `names`."""
    return prod(len(tables.states[name]) for name in names)


class Clique(NamedTuple):
    """A variable that is summed out, and the variables that the tables with it mention besides.

    Attributes
    ----------
    variable : str
    separator : tuple of str
        In the order in which they are summed out, then those that are kept. The clique's message goes to the first.
    """

    variable: str
    separator: tuple[str, ...]


def clique_tree(tables: LogTables, kept: Iterable[str] = ()) -> list[Clique]:
    """Return the cliques in the order in which their variables are summed out: always the one with the smallest clique.

    Every family is in one of the cliques, or consists of variables that are `kept`.

    Examples
    --------
    >>> import numpy as np
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {name: range(2) for name in "cxy"},
    ...     {"c": ((), np.zeros(2)), "x": (("c",), np.zeros((2, 2))), "y": (("c", "x"), np.zeros((2, 2, 2)))})
    >>> [(clique.variable, *clique.separator) for clique in clique_tree(tables, ["c"])]
    [('x', 'y', 'c'), ('y', 'c')]
    """
    neighbours: dict[str, set[str]] = {name: set() for name in tables.names}
    for name, table in tables.tables.items():
        for u in (name, *table.parents):
            neighbours[u] |= {name, *table.parents} - {u}
    rank = {name: place for place, name in enumerate(tables.names)}
    left = {*tables.names} - {*kept}
    heap = [(n_cells(tables, (v, *neighbours[v])), rank[v], v) for v in left]
    heapq.heapify(heap)
    separators: dict[str, set[str]] = {}
    while heap:
        size, _, v = heapq.heappop(heap)
        # What neighbours were summed out since, an entry does not know: the newest one does.
        if v not in left or size != n_cells(tables, (v, *neighbours[v])):
            continue
        left.remove(v)
        separators[v] = neighbours[v]
        for u in neighbours[v]:
            neighbours[u] = (neighbours[u] | neighbours[v]) - {u, v}
            if u in left:
                heapq.heappush(heap, (n_cells(tables, (u, *neighbours[u])), rank[u], u))
    place = {v: (0, i) for i, v in enumerate(separators)}
    return [Clique(v, tuple(sorted(own, key=lambda u: place.get(u, (1, rank[u]))))) for v, own in separators.items()]


def check_clique(tables: LogTables, names: Sequence[str], limit: int) -> None:
    """Raise a ``ValueError`` where a table over `names` would hold more than `limit` cells."""
    if n_cells(tables, names) > limit:
        raise too_large(tables, names, limit)


def too_large(tables: LogTables, names: Sequence[str], limit: int, where: str = "") -> ValueError:
    """Return the error that names the table that is too large."""
    return ValueError(
        f"{where}summing the missing variables out takes a table over {list(names)}, {n_cells(tables, names):,} "
        f"cells, above max_clique_size={limit:,}. Raise it if memory allows, use a structure with fewer parents or "
        "features with fewer states, or take estimates: inference='sampling'"
    )
