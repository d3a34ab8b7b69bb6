"""Orders of elimination on graphs as flat arrays: greedy heuristics, restarts with random ties, and given orders.

The cost of an order is the number of cells of all its cliques. Greedy heuristics eliminate next the variable with the
smallest clique (min-size), or whose neighbors lack the fewest edges (min-fill), each weighted by the sizes of its ends
(weighted min-fill) (Kjaerulff: Triangulation of graphs - algorithms giving small total state space, 1990).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.compiling import inner_kernel
from bnplug.typing import BoolArray, FloatArray, IntArray

#: The heuristics of :func:`eliminate`; GIVEN keeps the order of `left`.
MIN_SIZE, MIN_FILL, WEIGHTED_MIN_FILL, GIVEN = 0, 1, 2, 3


class Graph(NamedTuple):
    """Room for a graph over up to n vertices, and for an order of elimination.

    `linked` and `around` have a row of the current number of vertices for each vertex: whether two vertices are linked,
    and the neighbors, `degree` of them. `left` lists the vertices that are to be eliminated. `weight` is the number of
    cells of the clique of each vertex, and `cost` what the heuristic minimizes. `order` are the vertices in the order
    of elimination, and `best` the best order so far.
    """

    linked: BoolArray
    around: npt.NDArray[np.int32]
    degree: IntArray
    left: IntArray
    weight: FloatArray
    cost: FloatArray
    stale: BoolArray
    order: IntArray
    best: IntArray


def make_graph(n: int) -> Graph:
    """Return room for graphs over n vertices."""
    integers: list[Any] = [np.zeros(n, np.int64) for _ in range(4)]
    degree, left, order, best = integers
    return Graph(
        linked=np.zeros(n * n, np.bool_),
        around=np.empty(n * n, np.int32),
        degree=degree,
        left=left,
        weight=np.zeros(n),
        cost=np.zeros(n),
        stale=np.zeros(n, np.bool_),
        order=order,
        best=best,
    )


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
def eliminate(graph, n, n_left, sizes, heuristic, noise, limit, summary):  # type: ignore[no-untyped-def]
    """Eliminate the first `n_left` vertices in `left`, until the cost exceeds a limit; return the cost.

    The graph is destroyed. `sizes` has the number of states of each vertex. Costs are multiplied by numbers from 1 to
    ``1 + noise``, drawn from ``summary[2]``. ``summary[0]`` is set to the number of cells of the largest clique, and
    ``summary[1]`` to its vertex.
    """
    degree, around, weight, cost, left = graph.degree, graph.around, graph.weight, graph.cost, graph.left
    for v in range(n):
        weight[v] = sizes[v]
        for i in range(v * n, v * n + degree[v]):
            weight[v] *= sizes[around[i]]
        graph.stale[v] = True
    total = summary[0] = 0.0
    state = np.uint64(summary[2])
    for k in range(n_left):
        chosen = k
        if heuristic != GIVEN:
            least = np.inf
            for i in range(k, n_left):
                v = left[i]
                if graph.stale[v]:
                    graph.stale[v] = False
                    cost[v] = weight[v] if heuristic == MIN_SIZE else _fill_of(graph, n, v, sizes, heuristic)
                    if noise > 0.0:
                        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                        cost[v] = (cost[v] + 0.5) * (1.0 + noise * np.float64(state >> np.uint64(40)) / 16777216.0)
                if cost[v] < least or (cost[v] == least and weight[v] < weight[left[chosen]]):
                    least, chosen = cost[v], i
        v = left[chosen]
        left[chosen] = left[k]
        graph.order[k] = v
        total += weight[v]
        if weight[v] > summary[0]:
            summary[0], summary[1] = weight[v], v
        if total > limit:
            break
        _remove(graph, n, v, sizes, heuristic)
    summary[2] = np.float64(state >> np.uint64(16))
    return total


@inner_kernel(allocates=False)
def _fill_of(graph, n, v, sizes, heuristic):  # type: ignore[no-untyped-def]
    """Return the number, or the weight, of the links that the neighbors of a vertex lack."""
    total = 0.0
    for i in range(v * n, v * n + graph.degree[v]):
        u = graph.around[i]
        for j in range(i + 1, v * n + graph.degree[v]):
            w = graph.around[j]
            if not graph.linked[u * n + w]:
                total += 1.0 if heuristic == MIN_FILL else sizes[u] * sizes[w]
    return total


@inner_kernel(allocates=False)
def _remove(graph, n, v, sizes, heuristic):  # type: ignore[no-untyped-def]
    """Remove a vertex, and link its neighbors."""
    degree, around, weight = graph.degree, graph.around, graph.weight
    first, end = v * n, v * n + degree[v]
    for i in range(first, end):
        u = around[i]
        j = u * n
        while around[j] != v:
            j += 1
        degree[u] -= 1
        around[j] = around[u * n + degree[u]]
        graph.stale[u] = True
    for i in range(first, end):
        u = around[i]
        for j in range(i + 1, end):
            w = around[j]
            if link(graph, n, u, w):
                weight[u] *= sizes[w]
                weight[w] *= sizes[u]
                if MIN_SIZE < heuristic < GIVEN:
                    # What vertices next to both lacked is there now.
                    for a in range(u * n, u * n + degree[u]):
                        graph.stale[around[a]] = True
                    for a in range(w * n, w * n + degree[w]):
                        graph.stale[around[a]] = True
        weight[u] /= sizes[v]
        if MIN_SIZE < heuristic < GIVEN:
            for a in range(u * n, u * n + degree[u]):
                graph.stale[around[a]] = True
