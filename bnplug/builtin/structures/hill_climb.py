"""Hill climbing over graphs, with any score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bnplug.contracts import StructureLearner
from bnplug.hooks.components import component
from bnplug.search import Graph, GreedySearch, Neighbourhood, climb, climb_and_shake
from bnplug.search.constraints import Constraints
from bnplug.search.moves import KINDS
from bnplug.structure import Structure
from bnplug.table.table import Table
from bnplug.typing import BoolArray, IntArray


@dataclass(eq=False, repr=False)
class HillClimb(StructureLearner):
    """Makes the best single deletion, reversal or addition of an edge until none improves the score.

    Graphs are unrestricted: the class may have parents, and features may lose it. Of tied moves the first
    is made: deletions before reversals before additions, then by the parent's and by the child's position.

    A decomposable score often gives both directions of an edge the same gain, and the direction then
    decides where the climb ends. With such a score, whose moves cost little, a second climb makes the last of
    tied moves. If the two end apart, the better end is shaken: some edges are reversed or deleted, and it is
    climbed on from there, again and again, for no more evaluations than were made before. There is no chance
    in it. What a shake improves is one entry of `trace_` and `moves_`; with `max_iter` nothing is shaken, and
    ``shake=False`` ends with the first climb.

    Parameters
    ----------
    score : str or ScoreFunction
        What to maximize.
    start : {"nb", "empty"}, DAG or list of edges
        Where to start; edges are pairs ``(parent, child)`` of names. Without a class variable, ``"nb"`` is empty.
    max_parents : int, optional
        The largest number of parents of a variable, the class included.
    reversals : bool
        Whether edges are reversed.
    tree : bool
        Only add edges between features, as long as no feature has two feature parents: a partial 1-tree
        (Pernkopf and Wohlmayr 2013, section 4.2).
    complete : bool
        With `tree`, go on when nothing improves any more, until the tree has N - 1 edges or no more is allowed.
    required : list of edges, optional
        Edges that are in the graph from the start and stay there.
    forbidden : list of edges, optional
        Edges that are never in the graph; ``start="nb"`` leaves them out.
    max_iter : int, optional
        The largest number of moves.
    max_time : float, optional
        Seconds after which the graph found so far is returned, with a warning. An interrupt from the
        keyboard does the same.
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    random_state : int or RandomState, optional
        Handed to a score that has none of its own.
    verbose : int, optional
        1 tells once a second about moves, score and evaluations; 2 tells about every move.
    shake : bool
        Whether a decomposable score is climbed a second time and shaken, as above. Without it the search is one plain
        climb, whatever the score.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    trace_ : list of float
        The score of the start, and after each move.
    moves_ : list of str
        The moves, such as ``"add outlook -> wind"``.
    evaluations_ : list of int
        How many candidates had been scored at each entry of `trace_`.
    n_evaluations_ : int
        How many candidates were scored.
    best_structures_ : list of lists of edges
        The graphs that the search was at, as edges ``(parent, child)`` by name, the best of them first; 100 at most.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 0, 1, 1] * 9})
    >>> learner = HillClimb(score="mdl", start="empty")
    >>> structure = learner.learn(Table.from_frame(frame, target="c"))
    >>> learner.moves_
    ['add a -> c']
    """

    score: Any = "mdl"
    start: Any = "nb"
    max_parents: int | None = None
    reversals: bool = True
    tree: bool = False
    complete: bool = False
    required: Any = None
    forbidden: Any = None
    max_iter: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int | None = None
    shake: bool = True
    tiers: Any = None

    def learn(self, table: Table) -> Structure:
        """Return the graph at which the search ends."""
        self._check()
        start = self._neighbourhood(table)
        evaluator = component("score function", self.score, self).evaluator(table, self.n_jobs)
        search = GreedySearch(evaluator, start.graph.parents, "hill-climb", self.max_time, self.verbose)
        with search.running():
            if self.shake and evaluator.decomposable and not self.complete:
                climb_and_shake(search, start, table.names, self.max_iter)
            else:
                climb(search, start, table.names, self.max_iter, improve=not self.complete)
        self.trace_, self.moves_, self.evaluations_ = search.trace, search.moves, search.evaluations
        self.n_evaluations_ = evaluator.n_evaluations
        self.best_structures_ = search.met.edges(table.names)
        return Structure(table.names, search.parents)

    def _check(self) -> None:
        for name in ("max_parents", "max_iter"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name}={value} must not be negative; None means no limit")
        if self.complete and not self.tree:
            raise ValueError("complete=True completes a tree, and needs tree=True")

    def _neighbourhood(self, table: Table) -> Neighbourhood:
        """Return the start with the moves that the parameters allow."""
        constraints = Constraints.of(self, table)
        graph = Graph(constraints.start(self.start))
        allowed, fixed = constraints.allowed, constraints.required
        size = len(table.names)
        capacity = np.full(size, size if self.max_parents is None else self.max_parents)
        if self.tree:
            start = _tree_neighbourhood(graph, table.target_index, allowed, fixed, capacity)
        else:
            kinds = KINDS if self.reversals else ("delete", "add")
            start = Neighbourhood(graph, kinds, allowed, fixed, capacity)
        for v in np.flatnonzero(graph.edges.sum(axis=0) > start.capacity).tolist():
            limit = "tree=True allows one feature parent" if self.tree else f"max_parents={self.max_parents}"
            raise ValueError(
                f"the start, with the required edges, gives {table.names[v]!r} the parents "
                f"{[table.names[p] for p in graph.parents[v]]}; {limit}"
            )
        return start


def _tree_neighbourhood(
    graph: Graph, target: int, allowed: BoolArray, fixed: BoolArray, capacity: IntArray
) -> Neighbourhood:
    """Return the neighborhood of partial 1-trees: edges between features are added, one feature parent each.

    The class keeps its children and parents. Other parameters are those of :class:`~bnplug.search.Neighbourhood`.
    """
    allowed = allowed.copy()
    allowed[target, :] = allowed[:, target] = False
    # One feature parent, beside the class if it is a parent.
    of_tree = 1 + graph.edges[target]
    of_tree[target] = graph.edges[:, target].sum()
    return Neighbourhood(graph, {"add"}, allowed, fixed, np.minimum(capacity, of_tree))
