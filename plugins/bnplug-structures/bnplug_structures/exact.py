"""The graph with the highest score, from a bounded search of the order graph (Yuan and Malone 2013).

A graph is built by appending variables to an order: a variable takes the best parents among those before it. A node of
the order graph is the set of variables that are placed. Its value is the highest score of a graph over them; an upper
bound of what the others add tells which nodes cannot lead to a better graph than a known one, and are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug import Structure, StructureLearner
from bnplug.compiling import inner_kernel, kernel
from bnplug.search import Constraints, score_tie
from bnplug_structures.local_scores import check_limits, evaluator_of
from bnplug_structures.tabu import Tabu
from bnplug_structures.useful_sets import UsefulSets

if TYPE_CHECKING:
    from bnplug import Table
    from bnplug.typing import FloatArray

#: With more variables, the order graph has too many nodes: its arrays take 9 bytes for each of 2^n sets.
MAX_VARIABLES = 25


@dataclass(eq=False, repr=False)
class Exact(StructureLearner):
    """`exact`: a graph with the highest score of all graphs.

    Of graphs with the same score, the result is always the same one. If there is a class, it is a variable like the
    others. Up to 25 variables with at most 4 parents each take less than a minute and at most 300 MB beside the local
    scores.

    Parameters
    ----------
    score : str or DecomposableScore
        What to maximize.
    max_parents : int, optional
        The largest number of parents of a variable. None means no limit, for up to 18 variables.
    n_jobs : int, optional
        Threads that score families. The result does not depend on it.
    random_state : int or RandomState, optional
        Passed to a score without one.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the graph must have, and must not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    score_ : float
        The score of the graph.
    n_parent_sets_ : int
        The number of parent sets that score higher than all their subsets.
    n_expanded_ : int
        The number of sets of variables that could not be skipped.

    References
    ----------
    Silander, Myllymäki: A simple approach for finding the globally optimal Bayesian network structure (2006).
    Yuan, Malone: Learning optimal Bayesian networks: a shortest path perspective (2013).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 0] * 9})
    >>> Exact("bdeu").learn(Table.from_frame(frame, target="c")).edges
    (('a', 'c'), ('b', 'c'))
    """

    score: Any = "mdl"
    max_parents: int | None = 4
    n_jobs: int | None = None
    random_state: Any = None
    required: Any = None
    forbidden: Any = None
    tiers: Any = None

    def learn(self, table: Table) -> Structure:
        """Return the best graph over all variables of the table."""
        check_limits(self, "max_parents")
        n = len(table.names)
        if n > MAX_VARIABLES:
            raise ValueError(f"exact takes at most {MAX_VARIABLES} variables; this table has {n}")
        _, local_scores = evaluator_of(self, table)
        sets = UsefulSets.of(local_scores, Constraints.of(self, table), self.max_parents)
        known = self._known_score(table, local_scores)
        # Memory is used only for the parts of `values` that are written to.
        values, sinks = np.empty(1 << n), np.zeros(1 << n, dtype=np.uint8)
        bounds = _bounds(n, sets)
        least = known - 1e3 * score_tie(known)
        self.n_expanded_ = _expand(sets.starts, sets.masks, sets.scores, *bounds, least, values, sinks)
        parents, rest = [0] * n, (1 << n) - 1
        while rest:
            v = int(sinks[rest]) - 1
            rest ^= 1 << v
            parents[v] = int(sets.masks[_first_inside(sets.starts[v], sets.starts[v + 1], sets.masks, rest)])
        self.score_, self.n_parent_sets_ = float(values[-1]), len(sets.masks)
        return Structure(table.names, [[u for u in range(n) if mask >> u & 1] for mask in parents])

    def _known_score(self, table: Table, local_scores: Any) -> float:
        """Return the score of a good graph."""
        shared = {name: getattr(self, name) for name in ("required", "forbidden", "tiers", "random_state")}
        graph = Tabu(self.score, max_parents=self.max_parents, **shared).learn(table)
        return float(local_scores([(v, *parents) for v, parents in enumerate(graph.parents)]).sum())


def _bounds(n: int, sets: UsefulSets) -> tuple[FloatArray, FloatArray]:
    """Return upper bounds of what the variables outside a set add to a graph over it, for both halves of the variables.

    The bound of a set is the sum of two entries, for its part in each half: the variables of a half are ordered among
    themselves as well as possible, and may take any parents in the other half.
    """
    half = n // 2
    lower, upper = np.full(1 << half, -np.inf), np.full(1 << n - half, -np.inf)
    _fill_bounds(0, half, n, sets.starts, sets.masks, sets.scores, lower)
    _fill_bounds(half, n, n, sets.starts, sets.masks, sets.scores, upper)
    return lower, upper


@inner_kernel(allocates=False)
def _find(start, stop, masks, inside):  # type: ignore[no-untyped-def]
    """Return the position of the first of some parent sets that is inside a set; `stop` if none is."""
    outside = ~np.int64(inside)
    while start < stop and masks[start] & outside:
        start += 1
    return start


@kernel(allocates=False)
def _first_inside(start, stop, masks, inside):  # type: ignore[no-untyped-def]
    return _find(start, stop, masks, inside)


@kernel(allocates=False)
def _fill_bounds(first, last, n, starts, masks, scores, bounds):  # type: ignore[no-untyped-def]
    """Fill the bound of each set of the variables first, ..., last - 1; `bounds` is -inf everywhere."""
    outside = ((1 << n) - 1) ^ ((1 << last) - (1 << first))
    bounds[bounds.shape[0] - 1] = 0.0
    for placed in range(bounds.shape[0] - 2, -1, -1):
        for v in range(first, last):
            bit = 1 << v - first
            if placed & bit == 0:
                i = _find(starts[v], starts[v + 1], masks, outside | placed << first)
                if i < starts[v + 1]:
                    bounds[placed] = max(bounds[placed], scores[i] + bounds[placed | bit])


@kernel(allocates=False)
def _expand(starts, masks, scores, lower, upper, least, values, sinks):  # type: ignore[no-untyped-def]
    """Fill the value of each set of variables, and its last variable plus 1; return how many sets were expanded.

    Sets from which no graph with the score `least` can be reached are not expanded. sinks: 0 for sets that are not
    reached, whose values are undefined.
    """
    n, n_expanded = starts.shape[0] - 1, 0
    values[0] = 0.0
    for placed in range((1 << n) - 1):
        if placed > 0 and sinks[placed] == 0:
            continue
        value = values[placed]
        if value + lower[placed & lower.shape[0] - 1] + upper[placed // lower.shape[0]] < least:
            continue
        n_expanded += 1
        for v in range(n):
            larger = placed | 1 << v
            if larger != placed:
                i = _find(starts[v], starts[v + 1], masks, placed)
                if i < starts[v + 1] and (sinks[larger] == 0 or value + scores[i] > values[larger]):
                    values[larger] = value + scores[i]
                    sinks[larger] = v + 1
    return n_expanded
