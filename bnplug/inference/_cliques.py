"""The graph from which variables are summed out one by one, and how large a table that may need."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from bnplug.model.log_tables import LogTables

#: The default limit on the number of cells of the largest table that marginalizing may need.
MAX_CLIQUE_SIZE = 10_000_000

#: The largest limit that compiled code is given: no memory holds so many cells.
NO_LIMIT = 2**61

# An order of elimination looks for small cliques as long as there are any: up to so many cells and variables, which
# are more than memory holds, and as many as an array of numpy has axes.
_MOST_CELLS, _MOST_VARIABLES = 2**32, 64

# A message names so many variables of a clique, and writes numbers of cells up to this one in full.
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
    """The graph that connects the variables of each table; they are taken out one by one.

    Taking a variable out connects its neighbours, and costs time in proportion to the square of their number. A caller
    that refuses large cliques stops at the first.

    Parameters
    ----------
    tables : LogTables
        What says how many states variables have.
    scopes : iterable of tuple of str, optional
        The variables of each table; by default all families.
    kept : iterable of str
        Variables that are never taken out.

    Attributes
    ----------
    sizes : dict of str to int
        For each variable yet to be taken out, the number of cells of its clique.

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
        """Take out the variable with the smallest clique, the first of equal ones, and connect its neighbours."""
        size, _, v = heapq.heappop(self._heap)
        # Other entries are of variables that were taken out, or whose cliques have changed since.
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
        """Take out all variables; return their order, or raise a ``ValueError`` that names the first large clique."""
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
    """Return the order in which variables are summed out: always the one with the smallest clique.

    Where even that is too large for any memory, the other variables follow by the size of their cliques as they are
    then: whatever their order, some of them have to be known.
    """
    graph, order = MoralGraph(tables, kept=kept), []
    while graph.sizes:
        clique = graph.take_smallest()
        order.append(clique.variable)
        if clique.n_cells > _MOST_CELLS or len(clique.neighbours) >= _MOST_VARIABLES:
            break
    return order + sorted(graph.sizes, key=graph.sizes.__getitem__)


def fits(tables: LogTables, scopes: Iterable[tuple[str, ...]], order: Sequence[str], limit: float) -> bool:
    """Whether summing variables out in a given order takes no table of more than `limit` cells."""
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
    """Add the variables of a table to those of the bucket of its first variable in an order, if it has one."""
    first = min((u for u in scope if u in rank), key=rank.__getitem__, default=None)
    if first is not None:
        buckets.setdefault(first, set()).update(scope)


def check_clique(tables: LogTables, names: Sequence[str], limit: float) -> None:
    """Raise a ``ValueError`` if a table over `names` would hold more than `limit` cells, or have too many axes."""
    if n_cells(tables, names) > limit:
        raise too_large(tables, names, limit)
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"summing the missing variables out takes a table over {listed(names)}: {len(names):,} variables, and "
            f"arrays have at most {_MOST_VARIABLES} axes. Use a structure with fewer parents, or take estimates: "
            "inference='sampling'"
        )


def too_large(tables: LogTables, names: Sequence[str], limit: float, where: str = "") -> ValueError:
    """Return the error that names the table that is too large."""
    cells = written(n_cells(tables, names))
    return ValueError(
        f"{where}summing the missing variables out takes a table over {listed(names)}, {cells} cells, above "
        f"max_clique_size={limit:,}. Raise it if memory allows, use a structure with fewer parents or features with "
        "fewer states, or take estimates: inference='sampling'"
    )


def listed(names: Sequence[str]) -> str:
    """Return the names of variables as a list for a message, which names a few of many."""
    others = f" and {len(names) - _NAMED:,} others" if len(names) > _NAMED else ""
    return f"{list(names[:_NAMED])}{others}"


def written(size: int) -> str:
    """Return a number of cells for a message; Python does not write numbers of thousands of digits."""
    return f"{size:,}" if size <= _WRITTEN else f"more than {_WRITTEN:,}"
