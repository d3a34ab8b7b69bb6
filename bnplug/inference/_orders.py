"""Orders of elimination on graphs as flat arrays: greedy heuristics, restarts with random ties, and given orders.

The cost of an order is the number of cells of all its cliques. Greedy heuristics eliminate next the variable with the
smallest clique (min-size), or whose neighbors lack the fewest edges (min-fill), each weighted by the sizes of its ends
(weighted min-fill) (Kjaerulff: Triangulation of graphs - algorithms giving small total state space, 1990).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel, kernel
from bnplug.model.log_tables import LogTables
from bnplug.typing import BoolArray, FloatArray, IntArray

#: The heuristics of :func:`eliminate`; GIVEN keeps the order of `left`.
MIN_SIZE, MIN_FILL, WEIGHTED_MIN_FILL, GIVEN = 0, 1, 2, 3


# From this cost on, an order is compared with a given one, whose messages may be used again; and with other ones.
WORTH_SHARING, _WORTH_SEARCHING = 2.0**13, 2.0**18

# An order is given up where its cliques hold more cells than memory can; then only a few others are tried.
_MOST_CELLS, _FEW = 2.0**42, 6

# An order is also given up after looking at that many pairs of neighbors.
_MOST_WORK = 2**24

# The noise of random restarts; the number of cells that pay for one at each vertex; the most restarts.
_NOISE, _CELLS_PER_VERTEX, _MOST_RESTARTS = 0.5, 400.0, 200.0


class Graph(NamedTuple):
    """A graph of up to n vertices.

    `linked` and `around` have a row for each vertex, as long as the number of vertices: whether it is linked to each
    vertex, and its neighbors, `degree` of them.
    """

    linked: BoolArray
    around: npt.NDArray[np.int32]
    degree: IntArray


class Search(NamedTuple):
    """A graph, a copy that is eliminated, and arrays with an entry for each of up to n vertices.

    `sizes` are their numbers of states. Vertices of phase 0 are eliminated before those of phase 1; others are kept.
    `left` lists those of a phase, `weight` the number of cells of the clique of each, and `cost` what a heuristic
    minimizes, unless `stale`. `given` is an order to be tried. `order` is the order that is being made, `best` the best
    one so far. `summary` has: the number of cells of the largest clique and its vertex, the number of vertices of each
    phase, and the cost.
    """

    graph: Graph
    copy: Graph
    sizes: FloatArray
    phases: IntArray
    left: IntArray
    weight: FloatArray
    cost: FloatArray
    stale: BoolArray
    given: IntArray
    order: IntArray
    best: IntArray
    summary: FloatArray


def make_search(n: int) -> Search:
    """Return room for a search on graphs of n vertices."""
    graph, copy = (Graph(np.zeros(n * n, np.bool_), np.empty(n * n, np.int32), np.zeros(n, np.int64)) for _ in range(2))
    phases, left, given, order, best = np.zeros((5, n), np.int64)
    sizes, weight, cost = np.zeros((3, n))
    stale = np.zeros(n, np.bool_)
    return Search(graph, copy, sizes, phases, left, weight, cost, stale, given, order, best, np.zeros(5))


def best_order(cards: Sequence[int], scopes: Iterable[Sequence[int]], kept: Collection[int] = ()) -> list[int]:
    """Return the order in which variables are eliminated, but those that are kept.

    It is that of the smallest cliques unless it is expensive, and a search finds a better one.
    """
    found = make_search(len(cards))
    found.sizes[:], found.phases[list(kept)] = cards, 2
    listed = [np.array(scope, dtype=np.int64) for scope in scopes]
    _search_scopes(found, np.concatenate(listed), np.cumsum([len(scope) for scope in listed]))
    return [int(v) for v in found.best[: int(found.summary[2])]]


def elimination_order(tables: LogTables, kept: Collection[str] = ()) -> list[str]:
    """Return the order in which the variables of a network are eliminated, but those that are kept."""
    position = {name: v for v, name in enumerate(tables.names)}
    scopes = [(v, *parents) for v, parents in enumerate(tables.structure.parents)]
    cards = [len(states) for states in tables.states.values()]
    return [tables.names[v] for v in best_order(cards, scopes, [position[name] for name in kept])]


def cliques(order: Sequence[int], scopes: Iterable[Sequence[int]]) -> Iterator[frozenset[int]]:
    """Yield the clique of each variable, itself included, when variables are eliminated in this order."""
    rank = {v: place for place, v in enumerate(order)}
    buckets: dict[int, set[int]] = {place: set() for place in range(len(order))}
    left = [frozenset(scope) for scope in scopes]
    for scope in left:
        first = min((rank[u] for u in scope if u in rank), default=None)
        if first is not None:
            buckets[first] |= scope
    for place, v in enumerate(order):
        clique = frozenset(buckets.pop(place) | {v})
        yield clique
        first = min((rank[u] for u in clique if u != v and u in rank), default=None)
        if first is not None:
            buckets[first] |= clique - {v}


@kernel(allocates=False)
def _search_scopes(search_, variables, ends):  # type: ignore[no-untyped-def]
    """Find an order for a graph that links the variables of each scope."""
    n, start = search_.sizes.shape[0], 0
    clear_graph(search_.graph, n)
    for end in ends:
        for i in range(start, end):
            for j in range(i + 1, end):
                link(search_.graph, n, variables[i], variables[j])
        start = end
    search(search_, n, 0)


@inner_kernel(allocates=False)
def search(found, n, n_given):  # type: ignore[no-untyped-def]
    """Fill `best` with an order for the first n vertices, and the summary; `n_given` vertices are in `given`."""
    cost = _try(found, n, MIN_SIZE, 0.0, np.uint64(0), _MOST_CELLS, n_given)
    if cost > WORTH_SHARING and n_given > 0:
        cost = min(cost, _try(found, n, GIVEN, 0.0, np.uint64(0), 1.5 * cost, n_given))
    if cost > _WORTH_SEARCHING:
        n_attempts = np.int64(min(cost / (_CELLS_PER_VERTEX * n), _MOST_RESTARTS)) if cost <= _MOST_CELLS else _FEW
        for attempt in range(n_attempts):
            heuristic = MIN_FILL if attempt % 3 == 0 else WEIGHTED_MIN_FILL if attempt % 3 == 1 else MIN_SIZE
            noise = 0.0 if attempt < 2 else _NOISE
            limit = min(0.98 * cost, _MOST_CELLS)
            cost = min(cost, _try(found, n, heuristic, noise, np.uint64(attempt), limit, n_given))


@inner_kernel(allocates=False)
def _try(found, n, heuristic, noise, seed, limit, n_given):  # type: ignore[no-untyped-def]
    """Make an order by a heuristic, and return its cost, inf above the limit.

    It becomes the best if its cost is within the limit, which the callers set, or if it is the first that is tried.
    """
    graph, copy, summary = found.graph, found.copy, found.summary
    for i in range(n * n):
        copy.linked[i] = graph.linked[i]
    for v in range(n):
        copy.degree[v] = graph.degree[v]
        found.weight[v], found.stale[v] = found.sizes[v], True
        for i in range(v * n, v * n + graph.degree[v]):
            copy.around[i] = graph.around[i]
            found.weight[v] *= found.sizes[graph.around[i]]
    total = largest = 0.0
    vertex, done, n_sums = np.int64(0), 0, 0
    for phase in range(2):
        n_left = 0
        for k in range(n_given if heuristic == GIVEN else n):
            v = found.given[k] if heuristic == GIVEN else k
            if found.phases[v] == phase:
                found.left[n_left] = v
                n_left += 1
        total += _eliminate(found, n, n_left, done, heuristic, noise, seed, limit - total)
        done += n_left
        n_sums = done if phase == 0 else n_sums
    if total > limit and limit < _MOST_CELLS:
        return np.inf
    for k in range(done):
        v = found.order[k]
        found.best[k] = v
        if found.weight[v] > largest:
            largest, vertex = found.weight[v], v
    summary[0], summary[1], summary[2], summary[3], summary[4] = largest, vertex, n_sums, done - n_sums, total
    return total if total <= limit else np.inf


@inner_kernel(allocates=False)
def clear_graph(graph, n):  # type: ignore[no-untyped-def]
    """Begin a graph of n vertices without links."""
    for i in range(n * n):
        graph.linked[i] = False
    for v in range(n):
        graph.degree[v] = 0


@inner_kernel(allocates=False)
def link(graph, n, u, v):  # type: ignore[no-untyped-def]
    """Link two vertices; return whether they were not linked."""
    if graph.linked[u * n + v]:
        return False
    graph.linked[u * n + v] = graph.linked[v * n + u] = True
    graph.around[u * n + graph.degree[u]] = v
    graph.around[v * n + graph.degree[v]] = u
    graph.degree[u] += 1
    graph.degree[v] += 1
    return True


@inner_kernel(allocates=False)
def _eliminate(found, n, n_left, done, heuristic, noise, seed, limit):  # type: ignore[no-untyped-def]
    """Eliminate the first `n_left` vertices in `left`, behind `done` others; return the cost, once it exceeds a limit.

    Costs are multiplied by random numbers from 1 to ``1 + noise``. Equal ones are taken by weight, then by number.
    """
    weight, cost, left, stale = found.weight, found.cost, found.left, found.stale
    total, work, state = 0.0, 0, seed
    for k in range(n_left):
        chosen, least = k, np.inf
        for i in range(k, n_left if heuristic != GIVEN else k):
            v, u = left[i], left[chosen]
            if stale[v]:
                stale[v] = False
                work += found.copy.degree[v] ** 2 if heuristic != MIN_SIZE else 0
                cost[v] = weight[v] if heuristic == MIN_SIZE else _fill_of(found, n, v, heuristic)
                if noise > 0.0:
                    state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                    cost[v] = (cost[v] + 0.5) * (1.0 + noise * np.float64(state >> np.uint64(40)) / 16777216.0)
            equal = cost[v] == least
            if cost[v] < least or (equal and (weight[v] < weight[u] or (weight[v] == weight[u] and v < u))):
                least, chosen = cost[v], i
        v = left[chosen]
        left[chosen] = left[k]
        found.order[done + k] = v
        total += weight[v] if work < _MOST_WORK else np.inf
        if total > limit:
            for i in range(k + 1, n_left):
                found.order[done + i] = left[i]
                weight[left[i]] = 0.0
            break
        _remove(found, n, v, MIN_SIZE < heuristic < GIVEN)
    return total


@inner_kernel(allocates=False)
def _fill_of(found, n, v, heuristic):  # type: ignore[no-untyped-def]
    """Return the number, or the weight, of the links that the neighbors of a vertex lack."""
    graph, sizes, total = found.copy, found.sizes, 0.0
    for i in range(v * n, v * n + graph.degree[v]):
        u = graph.around[i]
        for j in range(i + 1, v * n + graph.degree[v]):
            w = graph.around[j]
            if not graph.linked[u * n + w]:
                total += 1.0 if heuristic == MIN_FILL else sizes[u] * sizes[w]
    return total


@inner_kernel(allocates=False)
def _remove(found, n, v, by_fill):  # type: ignore[no-untyped-def]
    """Remove a vertex, and link its neighbors; `by_fill`: whether costs depend on the links of neighbors."""
    graph, weight, sizes, stale = found.copy, found.weight, found.sizes, found.stale
    degree, around = graph.degree, graph.around
    first, end = v * n, v * n + degree[v]
    for i in range(first, end):
        u = around[i]
        j = u * n
        while around[j] != v:
            j += 1
        degree[u] -= 1
        around[j] = around[u * n + degree[u]]
    for i in range(first, end):
        u = around[i]
        for j in range(i + 1, end):
            w = around[j]
            if link(graph, n, u, w):
                weight[u] *= sizes[w]
                weight[w] *= sizes[u]
        weight[u] /= sizes[v]
        stale[u] = True
        if by_fill:
            for a in range(u * n, u * n + degree[u]):
                stale[around[a]] = True
