"""The moves that keep a partial 1-tree over the features (Pernkopf and Wohlmayr 2013, section 4.2)."""

from __future__ import annotations

import numpy as np

from bnplug.arrays import BoolArray, IntArray
from bnplug.search import Graph, Neighbourhood


def tree_neighbourhood(
    graph: Graph, target: int, allowed: BoolArray, fixed: BoolArray, capacity: IntArray
) -> Neighbourhood:
    """Return the neighbourhood in which edges between features are added, and no feature has two feature parents.

    Parameters
    ----------
    graph : Graph
        Where the search begins.
    target : int
        The class. It keeps its children, and the parents it has.
    allowed, fixed, capacity
        As of :class:`~bnplug.search.Neighbourhood`.
    """
    allowed = allowed.copy()
    allowed[target, :] = allowed[:, target] = False
    # One feature parent, next to the class where it is one.
    of_tree = 1 + graph.edges[target]
    of_tree[target] = graph.edges[:, target].sum()
    return Neighbourhood(graph, {"add"}, allowed, fixed, np.minimum(capacity, of_tree))
