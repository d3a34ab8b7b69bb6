"""Equivalence classes of graphs as matrices, and the operators of greedy equivalence search, compiled.

``class[u, v]`` is true for a directed edge from u to v, and for an undirected edge in both directions. An operator
changes the edge between x and y in the graphs of a class in which y has, beside its directed parents, exactly the
undirected neighbors C as parents, a clique. Its gain is then a difference of local terms of y, and of x for a turn.
"""

from __future__ import annotations

import numpy as np

from bnplug.compiling import inner_kernel, kernel

#: The kinds of operators. A turn reverses a directed edge, or directs an undirected one and changes the class.
INSERT, DELETE, TURN = range(3)


@inner_kernel(allocates=False)
def _joined(graph, u, v):  # type: ignore[no-untyped-def]
    return graph[u, v] or graph[v, u]


@inner_kernel(allocates=False)
def _is_clique(graph, nodes, size):  # type: ignore[no-untyped-def]
    for i in range(size):
        for j in range(i):
            if not _joined(graph, nodes[i], nodes[j]):
                return False
    return True


@kernel
def list_operators(graph, kind, y, changeable, most, xs, bounds, members):  # type: ignore[no-untyped-def]
    """List the operators of a kind on the edges between y and all x: each x, and its clique C; return how many.

    changeable: symmetric, the pairs whose edge may be inserted, deleted or turned. most: the largest number of parents
    of y. ``xs``, ``members``: work space; operator i has the clique ``members[bounds[i]:bounds[i + 1]]``. Without room
    for all, return -1.
    """
    n = graph.shape[0]
    near, n_near, n_parents = np.empty(n, np.int64), 0, 0
    for a in range(n):
        if graph[y, a] and graph[a, y]:
            near[n_near] = a
            n_near += 1
        elif graph[a, y]:
            n_parents += 1
    clique, options, path = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    n_operators = 0
    bounds[0] = 0
    for x in range(n):
        if x == y or not changeable[x, y] or _joined(graph, x, y) != (kind != INSERT):
            continue
        undirected = graph[x, y] and graph[y, x]
        if (kind == DELETE and not graph[x, y]) or (kind == TURN and not graph[y, x]):
            continue
        # The clique has all of `clique`, and any of `options`.
        size = n_options = 0
        for i in range(n_near):
            a = near[i]
            if a != x:
                shared = _joined(graph, a, x)
                if (kind == DELETE and shared) or (kind == TURN and undirected):
                    options[n_options] = a
                    n_options += 1
                elif kind != DELETE and shared:
                    clique[size] = a
                    size += 1
        if not _is_clique(graph, clique, size):
            continue
        if kind == INSERT or (kind == TURN and not undirected):
            for i in range(n_near):
                a = near[i]
                if a != x and not _joined(graph, a, x):
                    inside = True
                    for j in range(size):
                        inside = inside and _joined(graph, a, clique[j])
                    if inside:
                        options[n_options] = a
                        n_options += 1
        # The parents of y beside C and x.
        others = n_parents - (1 if kind == DELETE and not undirected else 0)
        first, depth, start = size, 0, 0
        while True:
            fits = kind == DELETE or others + size + 1 <= most
            if kind == TURN and undirected:
                # Without a parent that is not adjacent to x, the class would stay as it is.
                outside = False
                for j in range(size):
                    outside = outside or not _joined(graph, clique[j], x)
                fits = fits and outside
            if fits:
                if n_operators == xs.shape[0] or bounds[n_operators] + size > members.shape[0]:
                    return -1
                xs[n_operators] = x
                members[bounds[n_operators] : bounds[n_operators] + size] = clique[:size]
                bounds[n_operators + 1] = bounds[n_operators] + size
                n_operators += 1
            # The next clique: one more of the options, or another one as the last.
            grown = False
            while not grown:
                for i in range(start, n_options):
                    inside = others + size + 2 <= most or kind == DELETE
                    for j in range(first, size):
                        inside = inside and _joined(graph, options[i], clique[j])
                    if inside:
                        path[depth] = i
                        clique[size] = options[i]
                        depth, size, start, grown = depth + 1, size + 1, i + 1, True
                        break
                if not grown:
                    if depth == 0:
                        break
                    depth, size = depth - 1, size - 1
                    start = path[depth] + 1
            if not grown:
                break
    return n_operators


@kernel
def apply_operator(graph, kind, x, y, clique, dag):  # type: ignore[no-untyped-def]
    """Fill `dag` with a graph of the class that an operator leads to; return False if the operator is not valid."""
    n = graph.shape[0]
    partial = graph.copy()
    first = np.zeros(n, np.bool_)
    first[clique] = True
    turns_undirected = kind == TURN and graph[x, y]
    for a in range(n):
        if a != x and graph[y, a] and graph[a, y]:
            partial[y, a], partial[a, y] = not first[a], first[a]
    if kind == DELETE:
        partial[y, x] = False
    elif kind == TURN:
        partial[x, y] = False
        for b in range(n):
            if b != y and graph[x, b] and graph[b, x]:
                into = turns_undirected and first[b]
                partial[x, b], partial[b, x] = not into, into
    if not extend(partial, dag):
        return False
    if kind == TURN:
        dag[y, x] = False
    dag[x, y] = kind != DELETE
    return kind == DELETE or not _reaches(dag, y, x)


@inner_kernel
def _reaches(dag, u, v):  # type: ignore[no-untyped-def]
    """Return whether a directed path leads from u to v."""
    n, size = dag.shape[0], 1
    reached, waiting = np.zeros(n, np.bool_), np.empty(n, np.int64)
    reached[u], waiting[0] = True, u
    while size > 0:
        size -= 1
        w = waiting[size]
        for c in range(n):
            if dag[w, c] and not reached[c]:
                reached[c], waiting[size] = True, c
                size += 1
    return reached[v]


@kernel
def extend(partial, dag):  # type: ignore[no-untyped-def]
    """Fill `dag` with an acyclic graph that has the edges and the colliders of `partial`; False if there is none.

    Dor and Tarsi: A simple algorithm to construct a consistent extension of a partially oriented graph (1992).
    """
    n = partial.shape[0]
    left, near, n_removed = np.ones(n, np.bool_), np.empty(n, np.int64), 0
    dag[:] = False
    while n_removed < n:
        before = n_removed
        for v in range(n):
            if left[v] and _is_sink(partial, left, v, near):
                for u in range(n):
                    if left[u] and partial[u, v]:
                        dag[u, v] = True
                left[v] = False
                n_removed += 1
        if n_removed == before:
            return False
    return True


@inner_kernel(allocates=False)
def _is_sink(partial, left, v, near):  # type: ignore[no-untyped-def]
    """Return whether v has no child, and all its undirected neighbors are adjacent to all its others; near: space."""
    size = n_undirected = 0
    for u in range(partial.shape[0]):
        if left[u] and (partial[u, v] or partial[v, u]):
            if not partial[u, v]:
                return False
            near[size] = u
            size += 1
            n_undirected += partial[v, u]
    if n_undirected == 0:
        return True
    for i in range(size):
        if partial[v, near[i]]:
            for j in range(size):
                if i != j and not _joined(partial, near[i], near[j]):
                    return False
    return True


@kernel
def fill_class(dag, graph):  # type: ignore[no-untyped-def]
    """Fill `graph` with the equivalence class of an acyclic graph (Chickering 1995)."""
    n = dag.shape[0]
    n_parents, order, place = np.zeros(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        for u in range(n):
            n_parents[v] += dag[u, v]
    size = 0
    for v in range(n):
        if n_parents[v] == 0:
            order[size] = v
            size += 1
    for i in range(n):
        place[order[i]] = i
        for v in range(n):
            if dag[order[i], v]:
                n_parents[v] -= 1
                if n_parents[v] == 0:
                    order[size] = v
                    size += 1
    # While it is filled, graph[u, v] says whether the edge from u to v is compelled.
    graph[:] = False
    for i in range(n):
        y = order[i]
        x = -1
        for u in range(n):
            if dag[u, y] and (x < 0 or place[u] > place[x]):
                x = u
        if x < 0:
            continue
        all_compelled = False
        for w in range(n):
            all_compelled = all_compelled or (graph[w, x] and not dag[w, y])
            all_compelled = all_compelled or (dag[w, y] and w != x and not dag[w, x])
        for w in range(n):
            graph[w, y] = dag[w, y] if all_compelled else graph[w, x]
    for u in range(n):
        for v in range(n):
            if dag[u, v] and not graph[u, v]:
                graph[u, v] = graph[v, u] = True
