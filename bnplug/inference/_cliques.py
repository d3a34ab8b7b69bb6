"""Moral graphs, orders of elimination, the size of the tables they need, and factors to sum variables out of."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

import numpy as np

from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import _align, _log_sum
from bnplug.typing import CodeArray, FloatArray

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
    """A variable that is summed out, the other variables of the tables that mention it, and their joint states."""

    variable: str
    neighbours: set[str]
    n_cells: int


class MoralGraph:
    """The graph that connects the variables of each table (by default of each family), for removing variables.

    Variables in `kept` are never removed. `sizes` holds the number of cells of the clique of each remaining variable.
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
        fixed = {*kept}
        self.sizes = {v: n_cells(tables, clique) for v, clique in self._neighbours.items() if v not in fixed}
        for name, clique in self._neighbours.items():
            clique.remove(name)
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
    """Return the order in which variables are summed out: always the one with the smallest clique next."""
    graph, order = MoralGraph(tables, kept=kept), []
    while graph.sizes:
        clique = graph.take_smallest()
        order.append(clique.variable)
        # No memory holds larger cliques: whatever the order of the other variables, some of them need evidence.
        if clique.n_cells > _MOST_CELLS or len(clique.neighbours) >= _MOST_VARIABLES:
            break
    return order + sorted(graph.sizes, key=graph.sizes.__getitem__)


def fits(tables: LogTables, scopes: Iterable[tuple[str, ...]], order: Sequence[str], limit: float) -> bool:
    """Whether summing variables out in a given order needs no table with more than `limit` cells."""
    rank = {name: place for place, name in enumerate(order)}
    # The bucket of a variable has the scopes of which it is the first in the order; the last one has all others.
    buckets: list[set[str]] = [set() for _ in range(len(order) + 1)]
    for scope in scopes:
        buckets[min((rank[u] for u in scope if u in rank), default=-1)].update(scope)
    for v, clique in zip(order, buckets, strict=False):
        if n_cells(tables, clique) > limit:
            return False
        rest = clique - {v}
        buckets[min((rank[u] for u in rest if u in rank), default=-1)].update(rest)
    return True


def check_clique(tables: LogTables, names: Sequence[str], limit: float) -> None:
    """Raise a ``ValueError`` if a table over `names` would hold more than `limit` cells, or have too many axes."""
    size = n_cells(tables, names)
    if size > limit:
        raise ValueError(
            f"marginalizing the missing variables needs a table over {listed(names)}: {written(size)} cells, more than "
            f"max_clique_size={limit:,}. Raise it if memory allows, use a structure with fewer parents or features "
            "with fewer states, or use estimates: engine='sampling'"
        )
    if len(names) > _MOST_VARIABLES:
        raise ValueError(
            f"summing the missing variables out needs a table over {listed(names)}: {len(names):,} variables, and "
            f"arrays have at most {_MOST_VARIABLES} axes. Use a structure with fewer parents, or take estimates: "
            "engine='sampling'"
        )


def listed(names: Sequence[str]) -> str:
    """Return the names of variables as a list for a message, shortened if there are many."""
    others = f" and {len(names) - _NAMED:,} others" if len(names) > _NAMED else ""
    return f"{list(names[:_NAMED])}{others}"


def written(size: int) -> str:
    """Format a number of cells for a message; Python does not format numbers with thousands of digits."""
    return f"{size:,}" if size <= _WRITTEN else f"more than {_WRITTEN:,}"


#: A scope and the logarithms over it, an axis for each of its variables.
Factor = tuple[tuple[str, ...], FloatArray]

#: A function that removes an axis of logarithms: by their sum, or by their maximum.
Reduce = Callable[[FloatArray, int], FloatArray]


def known_states(tables: LogTables, target: str, row: CodeArray) -> dict[str, int]:
    """Return the known features of a row, by name, and their states."""
    missing = np.iinfo(row.dtype).max
    return {u: int(code) for u, code in zip(tables.names, row, strict=True) if u != target and code != missing}


@contextmanager
def naming_row(m: int) -> Iterator[None]:
    """Name the row in a ``ValueError``."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"row {m}: {error}") from None


def connected(factors: Sequence[Factor], name: str) -> list[Factor]:
    """Return the factors that a variable is in, those that share a variable with them, and so on."""
    mentions: dict[str, list[tuple[str, ...]]] = {}
    for scope, _ in factors:
        for u in scope:
            mentions.setdefault(u, []).append(scope)
    reached, pending = {name}, [name]
    while pending:
        new = {u for scope in mentions.get(pending.pop(), ()) for u in scope} - reached
        reached |= new
        pending += new
    return [(scope, values) for scope, values in factors if not reached.isdisjoint(scope)]


class Factors:
    """The remaining factors by number, and for each variable to sum out the numbers of those that mention it.

    A clique with more than `max_clique_size` cells is refused before any table is computed. Lists in `hidden` may
    include factors that no longer exist until :meth:`cheapest` returns their variable.
    """

    def __init__(
        self,
        tables: LogTables,
        factors: Sequence[Factor],
        kept: set[str],
        max_clique_size: float = MAX_CLIQUE_SIZE,
        reduce: Reduce = _log_sum,
    ) -> None:
        self._order = iter(MoralGraph(tables, (scope for scope, _ in factors), kept).take_all(max_clique_size))
        self._reduce = reduce
        self.by_number = dict(enumerate(factors))
        self._next = len(factors)
        self.hidden: dict[str, list[int]] = {}
        for number, (scope, _) in self.by_number.items():
            for v in scope:
                if v not in kept:
                    self.hidden.setdefault(v, []).append(number)

    def cheapest(self) -> tuple[str, tuple[str, ...]]:
        """Return the variable with the smallest clique, the first of equal ones, and that clique."""
        v = next(self._order)
        self.hidden[v] = [number for number in self.hidden[v] if number in self.by_number]
        return v, tuple(dict.fromkeys(u for number in self.hidden[v] for u in self.by_number[number][0]))

    def sum_out(self, v: str, clique: tuple[str, ...]) -> None:
        """Replace the factors of a variable by their product, summed over it."""
        whole = product([self.by_number.pop(number) for number in self.hidden.pop(v)], clique)
        rest = tuple(u for u in clique if u != v)
        self.by_number[self._next] = rest, self._reduce(whole, clique.index(v))
        for u in rest:
            if u in self.hidden:
                self.hidden[u].append(self._next)
        self._next += 1

    def measure(self, scope: tuple[str, ...]) -> FloatArray:
        """Sum out all hidden variables, and return the product of what is left, with the axes of `scope`."""
        while self.hidden:
            self.sum_out(*self.cheapest())
        return product(list(self.by_number.values()), scope)


def product(factors: Sequence[Factor], scope: tuple[str, ...]) -> FloatArray:
    """Return the sum of logarithmic factors, with the axes of `scope`, which holds all of theirs."""
    total = np.zeros(())
    for axes, values in factors:
        total = total + _align(values, axes, scope)
    return total
