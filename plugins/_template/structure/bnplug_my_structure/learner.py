"""Super-parent TAN (Keogh and Pazzani 1999): one edge between features at a time, found in two short steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bnplug import Structure, StructureLearner
from bnplug.hooks.components import component
from bnplug.search import Graph, GreedySearch

if TYPE_CHECKING:
    from bnplug import Table


class MyStructure(StructureLearner):
    """Adds to naive Bayes the edge from the best super parent to its favourite child, while that improves the score.

    A super parent is tried as the parent of all features that have no feature parent yet; the best is then
    tried with each of them alone. So a step asks about 2 N graphs, where trying every edge would ask about N squared.

    Parameters
    ----------
    score : str or ScoreFunction
        What to maximise.
    max_iter : int, optional
        The largest number of edges between features.
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    random_state : int or RandomState, optional
        Handed to a score that has none of its own.
    verbose : int, optional
        1 tells about the progress once a second, 2 about every move.

    Attributes
    ----------
    trace_ : list of float
        The score of naive Bayes, and after each edge.
    moves_ : list of str
        The edges in words.
    n_evaluations_ : int
        How many candidates were scored.
    """

    def __init__(
        self,
        score: Any = "cr",
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.score = score
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def learn(self, table: Table) -> Structure:
        """Return naive Bayes with at most one feature parent for each feature."""
        if self.max_iter is not None and self.max_iter < 0:
            raise ValueError(f"max_iter={self.max_iter} must not be negative; None is no limit")
        evaluator = component("score function", self.score, self).evaluator(table, self.n_jobs)
        graph = Graph(table.naive_bayes())
        search = GreedySearch(evaluator, graph.parents, "my-structure", verbose=self.verbose)
        with search.running():
            while self.max_iter is None or len(search.moves) < self.max_iter:
                if not _add_edge(search, graph, table):
                    break
        self.trace_, self.moves_ = search.trace, search.moves
        self.n_evaluations_ = evaluator.n_evaluations
        return Structure(table.names, search.parents)


def _add_edge(search: GreedySearch, graph: Graph, table: Table) -> bool:
    """Make one step; return whether an edge was added."""
    value = search.begin()
    c = table.target_index
    orphans = [v for v in table.features if graph.parents[v] == [c]]
    # An orphan that the super parent descends from cannot be its child.
    adoptions = {u: [v for v in orphans if not graph.reaches[v, u]] for u in table.features}
    super_parents = [u for u, children in adoptions.items() if children]
    best = search.best([{v: [c, u] for v in adoptions[u]} for u in super_parents], value, improve=False)
    if best is None:
        return False
    u = super_parents[best]
    favourite = search.best([{v: [c, u]} for v in adoptions[u]], value)
    if favourite is None:
        return False
    v = adoptions[u][favourite]
    changes = {v: sorted([c, u])}
    search.commit(changes, f"add {table.names[u]} -> {table.names[v]}")
    graph.apply(changes)
    return True
