"""The clique tree that the page passes messages in: made here once, shipped as data.

Variables are eliminated by min-fill; the cliques this leaves are joined where they share most. The root holds the
class, and children are spread over the cliques that can take them, since a clique's cost grows with its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

Clique = tuple[int, ...]


@dataclass(frozen=True)
class CliqueTree:
    """Cliques of numbered variables, the root first, each behind its parent.

    Attributes
    ----------
    cliques : list of tuples
        The variables of each, ascending.
    parents : list of int
        The clique that each hangs on; -1 for the root.
    homes : list of int
        For each variable the smallest clique that holds it.
    families : list of int
        For each variable the smallest clique that holds it and its parents: its table goes there.
    n_cells : int
        The cells of all cliques together.
    """

    cliques: list[Clique]
    parents: list[int]
    homes: list[int]
    families: list[int]
    n_cells: int


def clique_tree(parents: Sequence[Sequence[int]], cards: Sequence[int], target: int) -> CliqueTree:
    """Return a clique tree of the network in which variable v, of ``cards[v]`` states, has ``parents[v]``."""
    return _hung(_maximal(list(_cliques(parents, cards))), parents, cards, target)


def n_cells(parents: Sequence[Sequence[int]], cards: Sequence[int], limit: int) -> int | None:
    """Return the cells of the cliques together, or None where they are more than `limit`."""
    found = []
    for clique in _cliques(parents, cards):
        if _size(clique, cards) > limit:
            return None
        found.append(clique)
    total = sum(_size(clique, cards) for clique in _maximal(found))
    return total if total <= limit else None


def _size(clique: Iterable[int], cards: Sequence[int]) -> int:
    return prod(cards[v] for v in clique)


def _cliques(parents: Sequence[Sequence[int]], cards: Sequence[int]) -> Iterator[frozenset[int]]:
    """The clique of each variable as it is eliminated: next always the one that adds fewest edges."""
    near: dict[int, set[int]] = {v: set() for v in range(len(parents))}
    for v, own in enumerate(parents):
        for a, b in combinations((v, *own), 2):
            near[a].add(b)
            near[b].add(a)
    fill = {v: _fill(near, v) for v in near}
    costs = {v: (fill[v], _size((v, *near[v]), cards), v) for v in near}
    while near:
        v = min(costs, key=costs.__getitem__)
        yield frozenset({v, *near[v]})
        del costs[v]
        for u in _eliminate(near, fill, v):
            costs[u] = fill[u], _size((u, *near[u]), cards), u


def _fill(near: Mapping[int, set[int]], v: int) -> int:
    """Return the number of edges that eliminating `v` adds."""
    around = near[v]
    # By sets, since the class may have a thousand neighbors, and so a million pairs of them.
    joined = sum(len(near[u] & around) for u in around) // 2
    return len(around) * (len(around) - 1) // 2 - joined


def _eliminate(near: dict[int, set[int]], fill: dict[int, int], v: int) -> set[int]:
    """Connect the neighbors of `v`, remove it, and update `fill`; return the variables whose costs change."""
    around = near[v]
    changed = set(around)
    for u in around:
        for w in around - near[u] - {u}:
            common = near[u] & near[w]
            for x in common:
                fill[x] -= 1
            fill[u] += len(near[u]) - len(common)
            fill[w] += len(near[w]) - len(common)
            near[u].add(w)
            near[w].add(u)
            changed |= common
    for u in around:
        # Pairs of neighbors of u without an edge no longer count if they contain v.
        near[u].remove(v)
        fill[u] -= len(near[u]) - (len(around) - 1)
    del near[v], fill[v]
    changed.discard(v)
    return changed


def _maximal(cliques: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Those that no other holds, each once. A clique of an elimination is held, if at all, by an earlier one."""
    holding: dict[int, list[frozenset[int]]] = {}
    kept = []
    for clique in cliques:
        rarest = min((holding.get(v, []) for v in clique), key=len)
        if not any(clique <= other for other in rarest):
            kept.append(clique)
            for v in clique:
                holding.setdefault(v, []).append(clique)
    return kept


def _hung(
    cliques: Sequence[frozenset[int]], parents: Sequence[Sequence[int]], cards: Sequence[int], target: int
) -> CliqueTree:
    """Hang the cliques on one another, from the smallest that holds the class downwards."""
    sizes = [_size(clique, cards) for clique in cliques]
    root = min((k for k, clique in enumerate(cliques) if target in clique), key=lambda k: sizes[k])
    order, above = _spanning(cliques, root)
    hung = [-1] * len(order)
    n_children = [0] * len(order)
    for position, k in enumerate(order[1:], 1):
        shared = cliques[k] & cliques[above[k]]
        able = [p for p in range(position) if shared <= cliques[order[p]]]
        hung[position] = min(able, key=lambda p: (max(n_children[p], 1), p))
        n_children[hung[position]] += 1
    ordered = [tuple(sorted(cliques[k])) for k in order]
    by_size = sorted(range(len(ordered)), key=lambda k: (_size(ordered[k], cards), k))
    sets = [set(clique) for clique in ordered]
    homes = [next(k for k in by_size if v in sets[k]) for v in range(len(cards))]
    families = [next(k for k in by_size if sets[k].issuperset((v, *own))) for v, own in enumerate(parents)]
    return CliqueTree(ordered, hung, homes, families, sum(sizes))


def _spanning(cliques: Sequence[frozenset[int]], root: int) -> tuple[list[int], dict[int, int]]:
    """A tree of largest separators, by Prim: the cliques in the order they were reached, and from where each was."""
    best = {k: (len(cliques[k] & cliques[root]), root) for k in range(len(cliques)) if k != root}
    order, above = [root], {}
    while best:
        k = max(best, key=lambda k: (best[k][0], -k))
        above[k] = best.pop(k)[1]
        order.append(k)
        for other, (shared, _) in best.items():
            common = len(cliques[k] & cliques[other])
            if common > shared:
                best[other] = (common, k)
    return order, above
