"""Trees by mutual information (Chow and Liu 1968)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug import Structure, StructureLearner
from bnplug.compiling import kernel
from bnplug.counts.information import INFORMATION_TIE, Correction, chance_information
from bnplug.search import Constraints
from bnplug.search.arborescence import maximum_arborescence

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import BoolArray, FloatArray

# The most cells that are counted at a time.
_CELLS = 1 << 22


@dataclass(eq=False, repr=False)
class ChowLiu(StructureLearner):
    """`chow-liu`: the tree over all variables with the largest sum of mutual information, directed away from its root.

    With ``correction=None`` it is the tree with the highest likelihood. A correction for chance omits edges that chance
    explains; the graph may then have several trees. If there is a class, it is a variable like the others.

    With constraints, directions matter: the graph is the heaviest forest of allowed edges that has the required edges,
    a maximum spanning arborescence. With ``correction=None`` it has as few trees as possible.

    Parameters
    ----------
    root : str, optional
        The variable at the root of its tree. By default, and in other trees, the variable with the most edges in the
        tree; of tied variables, the first.
    correction : float, "expected" or None
        A float subtracts this quantile of the chance distribution from each mutual information, ``"expected"``
        its mean. The result is multiplied by the share of rows in which both variables are known.
        Edges whose corrected measure is 0 are omitted. None uses the plain measure, as published.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the graph must have, and must not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    information_ : array of shape (variables, variables)
        The mutual information of each pair, in nats, corrected for chance.

    References
    ----------
    Chow, Liu: Approximating discrete probability distributions with dependence trees (1968).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 0, 0, 1] * 9})
    >>> ChowLiu(root="b", correction=None).learn(Table.from_frame(frame, target="c")).edges
    (('b', 'a'), ('a', 'c'))
    """

    root: str | None = None
    correction: Correction = 0.999
    required: Any = None
    forbidden: Any = None
    tiers: Any = None

    def learn(self, table: Table) -> Structure:
        """Return the tree, or a forest."""
        constraints = Constraints.of(self, table)
        root = None if self.root is None else table.index(self.root)
        self.information_ = mutual_information(table, self.correction)
        if constraints.free:
            parents = _directed(_spanning_forest(self.information_, self.correction is None), root)
        else:
            parents = _heaviest_forest(self.information_, self._edges(constraints, root), self.correction is None)
        return Structure(table.names, [[] if u < 0 else [u] for u in parents])

    def _edges(self, constraints: Constraints, root: int | None) -> BoolArray:
        """Return the edges that a forest may have; from the last node, above all others, lead edges to its roots."""
        names, n = constraints.table.names, len(constraints.table.names)
        edges = np.zeros((n + 1, n + 1), dtype=bool)
        edges[:n, :n] = constraints.allowed
        edges[n, :n] = True
        if self.correction is not None:
            edges[:n, :n] &= self.information_ > 0
        if root is not None:
            edges[:n, root] = False
        for v in range(n):
            required = constraints.required_parents(v)
            if len(required) > 1:
                raise ValueError(
                    f"chow-liu gives a variable one parent, and {[names[u] for u in required]} are required parents of "
                    f"{names[v]!r}; tabu supports that"
                )
            if required and v == root:
                edge = f"{names[required[0]]!r} -> {names[v]!r}"
                raise ValueError(f"{names[v]!r} is the root, and the edge {edge} is required")
            if required:
                edges[:, v] = False
                edges[required, v] = True
        return edges


def mutual_information(table: Table, correction: Correction = None) -> FloatArray:
    """Return I(A; B) of all pairs of variables, over the rows in which both are known: a symmetric matrix."""
    n = len(table.names)
    pairs = np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    # The information, its degrees of freedom, and the rows of each pair.
    measures, first = np.zeros((3, len(pairs))), 0
    for part in _parts(pairs, table.cards):
        counts = table.counts(part.tolist())
        cells = np.concatenate([joint.ravel() for joint in counts])
        _measure(cells, table.cards[part], measures[:, first : first + len(part)])
        first += len(part)
    values, degrees, rows = measures
    if correction is not None:
        values = (values - chance_information(degrees, rows, correction)) * (rows / table.total_weight)
    result = np.zeros((n, n))
    result[pairs[:, 0], pairs[:, 1]] = np.maximum(values, 0.0)
    return result + result.T


def _parts(pairs: Any, cards: Any) -> Iterator[Any]:
    """Yield the pairs in parts with a limited number of cells."""
    parts = np.cumsum(cards[pairs].prod(axis=1)) // _CELLS
    yield from np.split(pairs, np.flatnonzero(np.diff(parts)) + 1) if len(pairs) else ()


@kernel(allocates=False)
def _measure(cells, cards, measures):  # type: ignore[no-untyped-def]
    """Fill the information, the degrees of freedom and the rows of each pair; cells: all tables in C order."""
    start = 0
    for i in range(cards.shape[0]):
        n_a, n_b = cards[i]
        total = of_joint = of_a = of_b = 0.0
        spare_a = spare_b = -1
        for a in range(n_a):
            count = 0.0
            for b in range(n_b):
                cell = cells[start + a * n_b + b]
                count += cell
                if cell > 0:
                    of_joint += cell * np.log(cell)
            if count > 0:
                of_a += count * np.log(count)
                spare_a += 1
            total += count
        for b in range(n_b):
            count = 0.0
            for a in range(n_a):
                count += cells[start + a * n_b + b]
            if count > 0:
                of_b += count * np.log(count)
                spare_b += 1
        if total > 0:
            measures[0, i] = (of_joint - of_a - of_b) / total + np.log(total)
            measures[1, i] = spare_a * spare_b
        measures[2, i] = total
        start += n_a * n_b


def _spanning_forest(weight: FloatArray, spanning: bool) -> list[list[int]]:
    """Return the neighbors of each variable in a maximum spanning tree; edges of weight 0 are used only if `spanning`.

    Among tied edges, the lowest new variable comes first, then its lowest neighbor (Prim).
    """
    n = len(weight)
    neighbors: list[list[int]] = [[] for _ in range(n)]
    best, origin = weight[0].copy(), np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=bool)
    left[0] = False
    while left.any():
        v = int(np.flatnonzero(left & (best >= best[left].max() - INFORMATION_TIE))[0])
        left[v] = False
        if spanning or best[v] > 0:
            neighbors[v].append(int(origin[v]))
            neighbors[origin[v]].append(v)
        tied = np.abs(weight[v] - best) <= INFORMATION_TIE
        better = np.where(tied, v < origin, weight[v] > best)
        best[better], origin[better] = weight[v][better], v
    return neighbors


def _directed(neighbors: list[list[int]], root: int | None) -> list[int]:
    """Return each variable's parent, -1 for the roots: the given one, otherwise the variable with the most edges."""
    n = len(neighbors)
    starts = sorted(range(n), key=lambda v: (v != root, -len(neighbors[v]), v))
    parents, done = [-1] * n, [False] * n
    for start in starts:
        waiting = [] if done[start] else [start]
        done[start] = True
        while waiting:
            u = waiting.pop()
            for v in neighbors[u]:
                if not done[v]:
                    parents[v], done[v] = u, True
                    waiting.append(v)
    return parents


def _heaviest_forest(weight: FloatArray, edges: BoolArray, spanning: bool) -> list[int]:
    """Return each variable's parent in a heaviest forest, -1 for its roots; `edges` has one more node, above them."""
    n = len(weight)
    above = np.zeros((n + 1, n + 1))
    above[:n, :n] = weight
    if spanning:
        # A tree less is worth more than any edges.
        above[n, :n] = -n * (1 + weight.max(initial=0.0))
    return [u if u < n else -1 for u in maximum_arborescence(above, edges, n)[:n]]
