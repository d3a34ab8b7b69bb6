"""Moral graphs, orders of elimination, and the size of the tables they need."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from bnplug.model.log_tables import LogTables

#: The default limit on the number of cells of the largest table that marginalizing may need.
MAX_CLIQUE_SIZE = 10_000_000

#: The largest limit passed to compiled code: no memory holds that many cells.
NO_LIMIT = 2**61

# The search for an order of elimination stops at a clique with more cells or variables than these: more cells than
# memory holds, or more variables than a numpy array has axes.
_MOST_CELLS, _MOST_VARIABLES = 2**32, 64

# A message names at most this many variables of a clique, and shows numbers of cells up to this one.
_NAMED, _WRITTEN = 20, 10**15


def n_cells(tables: LogTables, names: Iterable[str]) -> int:
    """Return the number of joint states of the variables `names`."""
    return prod(len(tables.states[name]) for name in names)


class Clique(NamedTuple):
    """A variable that is summed out, with the other variables of the tables that mention it.

    Attributes
    ----------
    variable : str
    neighbours : set of str
    n_cells : int
        The number of joint states of all of them.
    """

    variable: str
    neighbours: set[str]
    n_cells: int


class MoralGraph:
    """The graph that connects the variables of each table, for removing variables one by one.

    Removing a variable connects its neighbors, in time proportional to the square of their number. Callers that refuse
    large cliques stop at the first one.

    Parameters
    ----------
    tables : LogTables
        The tables that define the number of states of each variable.
    scopes : iterable of tuple of str, optional
        The variables of each table; by default all families.
    kept : iterable of str
        Variables that are never removed.

    Attributes
    ----------
    sizes : dict of str to int
        For each remaining variable, the number of cells of its clique.

    Examples
    --------
    >>> import numpy as np
    >>> tables = LogTables(
    ...     ["c", "x", "y"], {name: range(2) for name in "cxy"},
    ...     {"c": ((), np.zeros(2)), "x": (("c",), np.zeros((2, 2))), "y": (("x",), np.zeros((2, 2)))})
    >>> graph = MoralGraph(tables, kept=["c"])
    >>> graph.sizes
    {'x': 8, 'y': 4}
    >>> graph.take_smallest()
    Clique(variable='y', neighbours={'x'}, n_cells=4)
    >>> graph.sizes
    {'x': 4}
    """

    def __init__(
        self, tables: LogTables, scopes: Iterable[tuple[str, ...]] | None = None, kept: Iterable[str] = ()
    ) -> None:
        self._tables = tables
        self._cards = {name: len(states) for name, states in tables.states.items()}
        self._rank = {name: place for place, name in enumerate(tables.names)}
        self._neighbours: dict[str, set[str]] = {}
        for scope in families(tables) if scopes is None else scopes:
            for u in scope:
                self._neighbours.setdefault(u, set()).update(scope)
        for name, around in self._neighbours.items():
            around.remove(name)
        ends = {*kept}
        self.sizes = {v: n_cells(tables, (v, *around)) for v, around in self._neighbours.items() if v not in ends}
        self._heap = [(size, self._rank[v], v) for v, size in self.sizes.items()]
        heapq.heapify(self._heap)

    def take_smallest(self) -> Clique:
        """Remove the variable with the smallest clique, the first in case of ties, and connect its neighbors."""
        size, _, v = heapq.heappop(self._heap)
        # Skip outdated entries: variables that were removed, or whose cliques have changed since.
        while self.sizes.get(v) != size:
            size, _, v = heapq.heappop(self._heap)
        del self.sizes[v]
        around = self._neighbours.pop(v)
        for u in around:
            new = around - self._neighbours[u] - {u}
            self._neighbours[u] |= new
            self._neighbours[u].remove(v)
            if u in self.sizes:
                self.sizes[u] = self.sizes[u] // self._cards[v] * prod(self._cards[w] for w in new)
                heapq.heappush(self._heap, (self.sizes[u], self._rank[u], u))
        return Clique(v, around, size)

    def take_all(self, limit: float) -> list[str]:
        """Remove all variables and return their order; raise a ``ValueError`` at the first clique that is too large."""
        order = []
        while self.sizes:
            clique = self.take_smallest()
            if clique.n_cells > limit or len(clique.neighbours) >= _MOST_VARIABLES:
                check_clique(self._tables, (clique.variable, *self.ordered(clique.neighbours)), limit)
            order.append(clique.variable)
        return order

    def ordered(self, names: Iterable[str]) -> list[str]:
        """Return variables in the order of the tables."""
        return sorted(names, key=self._rank.__getitem__)


def families(tables: LogTables) -> list[tuple[str, ...]]:
    """Return the variables of each table: the node, then its parents."""
    return [(name, *table.parents) for name, table in tables.tables.items()]


def elimination_order(tables: LogTables, kept: Iterable[str] = ()) -> list[str]:
    """Return the order in which variables are summed out: always the one with the smallest clique next.

    Once the smallest clique is too large for any memory, the remaining variables follow by the current size of their
    cliques: whatever their order, inference then needs evidence on some of them.
    """
    graph, order = MoralGraph(tables, kept=kept), []
    while graph.sizes:
        clique = graph.take_smallest()
        order.append(clique.variable)
        if clique.n_cells > _MOST_CELLS or len(clique.neighbours) >= _MOST_VARIABLES:
            break
    return order + sorted(graph.sizes, key=graph.sizes.__getitem__)


def fits(tables: LogTables, scopes: Iterable[tuple[str, ...]], order: Sequence[str], limit: float) -> bool:
    """Whether summing variables out in a given order needs no table with more than `limit` cells."""
    rank = {name: place for place, name in enumerate(order)}
    buckets: dict[str, set[str]] = {}
    for scope in scopes:
        _put({*scope}, buckets, rank)
    for v in order:
        clique = buckets.pop(v, set())
        if n_cells(tables, clique) > limit:
            return False
        _put(clique - {v}, buckets, rank)
    return True


def _put(scope: set[str], buckets: dict[str, set[str]], rank: dict[str, int]) -> None:
    """Add the variables of a table to the bucket of the first of them in the order, if any is in it."""
    first = min((u for u in scope if u in rank), key=rank.__getitem__, default=None)
    if first is not None:
        buckets.setdefault(first, set()).update(scope)


def check_clique(tables: LogTables, names: Sequence[str], limit: float) -> None:
    """Raise a ``ValueError`` if a table over `names` would hold more than `limit` cells, or have too many axes."""
    if n_cells(tables, names) > limit:
        raise too_large(tables, names, limit)
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"summing the missing variables out needs a table over {listed(names)}: {len(names):,} variables, and "
            f"arrays have at most {_MOST_VARIABLES} axes. Use a structure with fewer parents, or take estimates: "
            "inference='sampling'"
        )


def too_large(tables: LogTables, names: Sequence[str], limit: float, where: str = "") -> ValueError:
    """Return the error that names the table that is too large."""
    cells = written(n_cells(tables, names))
    return ValueError(
        f"{where}summing the missing variables out needs a table over {listed(names)}, {cells} cells, above "
        f"max_clique_size={limit:,}. Raise it if memory allows, use a structure with fewer parents or features with "
        "fewer states, or take estimates: inference='sampling'"
    )


def listed(names: Sequence[str]) -> str:
    """Return the names of variables as a list for a message, shortened if there are many."""
    others = f" and {len(names) - _NAMED:,} others" if len(names) > _NAMED else ""
    return f"{list(names[:_NAMED])}{others}"


def written(size: int) -> str:
    """Format a number of cells for a message; Python does not format numbers with thousands of digits."""
    return f"{size:,}" if size <= _WRITTEN else f"more than {_WRITTEN:,}"
