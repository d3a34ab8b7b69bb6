"""Tabu search over graphs (Glover 1989), by any decomposable score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug import Structure, StructureLearner
from bnplug.compiling import kernel
from bnplug.scoring import Toggles
from bnplug.search import Constraints, Graph, GreedySearch, Move, Neighbourhood, climb_and_shake, score_tie
from bnplug.search.moves import KINDS
from bnplug_structures.local_scores import check_limits, evaluator_of

if TYPE_CHECKING:
    from bnplug import Table

# Multiples of the golden ratio, modulo one, are spread evenly however many are taken: a sequence without a seed.
_GOLDEN = (5**0.5 - 1) / 2

# The shares of edges that restarts change: a single size leaves fewer local optima.
_SHARES = (0.1, 0.2, 0.4)


@dataclass(eq=False, repr=False)
class Tabu(StructureLearner):
    """`tabu`: climbs, and continues with the best move even if it lowers the score; recent moves are not undone.

    The search begins as `hill-climb`, and never ends at a lower score. It continues with the best deletion, reversal or
    addition of an edge, even if the score falls. The edge between two variables is then not changed again for `tenure`
    moves, unless that leads to the best graph so far. After `patience` moves without a better graph, the search
    restarts at the best graph with some of its edges changed. It does not use random numbers.

    Parameters
    ----------
    score : str or DecomposableScore
        What to maximize.
    start : {"empty", "nb"}, DAG or list of edges
        Where to start; edges are pairs ``(parent, child)`` of names. Without a class variable, ``"nb"`` is empty.
    tenure : int
        The number of moves for which an edge is not changed again, at most half of the number of pairs of variables.
    patience : int, optional
        The number of moves without a better graph after which a run ends. By default 20, or the number of variables if
        that is larger.
    restarts : int
        The number of runs after the first that end without a better graph.
    max_parents : int, optional
        The largest number of parents of a variable.
    max_time : float, optional
        Seconds after which the best graph so far is returned, with a warning. Ctrl-C does the same.
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    random_state : int or RandomState, optional
        Passed to a score without one.
    verbose : int, optional
        1 reports once a second on moves, score and evaluations; 2 reports every move.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the graph must have, and must not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    trace_ : list of float
        The score of the start, after each move of the climb, and of each better graph that a run found.
    n_evaluations_ : int
        How many candidates were scored.

    References
    ----------
    Glover: Tabu search, part I (1989).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnplug import Table
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 0, 1, 1] * 9})
    >>> Tabu().learn(Table.from_frame(frame, target="c")).edges
    (('a', 'c'),)
    """

    score: Any = "mdl"
    start: Any = "empty"
    tenure: int = 15
    patience: int | None = None
    restarts: int = 6
    max_parents: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int | None = None
    required: Any = None
    forbidden: Any = None
    tiers: Any = None

    def learn(self, table: Table) -> Structure:
        """Return the best graph of the search."""
        check_limits(self, "tenure", "patience", "restarts", "max_parents")
        neighbourhood = self._neighbourhood(table)
        evaluator, _ = evaluator_of(self, table)
        search = GreedySearch(evaluator, neighbourhood.graph.parents, "tabu", self.max_time, self.verbose)
        with search.running():
            climb_and_shake(search, neighbourhood, table.names)
            self._search_on(search, neighbourhood)
        self.trace_, self.n_evaluations_ = search.trace, evaluator.n_evaluations
        return Structure(table.names, search.parents)

    def _neighbourhood(self, table: Table) -> Neighbourhood:
        """Return the start and its moves."""
        constraints = Constraints.of(self, table)
        graph, size = Graph(constraints.start(self.start)), len(table.names)
        most = size if self.max_parents is None else self.max_parents
        for v in np.flatnonzero(graph.edges.sum(axis=0) > most).tolist():
            raise ValueError(
                f"the start, with the required edges, gives {table.names[v]!r} the parents "
                f"{[table.names[p] for p in graph.parents[v]]}; max_parents={most}"
            )
        return Neighbourhood(graph, KINDS, constraints.allowed, constraints.required, np.full(size, most))

    def _search_on(self, search: GreedySearch, neighbourhood: Neighbourhood) -> None:
        """Make runs from the best graph until too many have not improved it."""
        patience = max(20, len(search.parents)) if self.patience is None else self.patience
        positions = (turn * _GOLDEN % 1 for turn in count(1))
        n_failed = 0
        # With longer tenures all moves would be tabu.
        tenure = min(self.tenure, neighbourhood.allowed.size // 4)
        run = _Run(search, neighbourhood.at(search.parents), tenure)
        while n_failed <= self.restarts:
            before = search.trace[-1]
            with search.trial(again=False) as other:
                around = run.branch(other)
                if n_failed:
                    around.perturb(_SHARES[(n_failed - 1) % len(_SHARES)], positions)
                around.go(patience)
            if search.parents is other.parents:
                run = around
            n_failed = n_failed + 1 if search.trace[-1] <= before + score_tie(before) else 1


class _Run:
    """One run: the graph moves along, and ends at the best graph met.

    ``rise[u, v]`` is the change of the score if u becomes a parent of v, or stops being one; ``known`` tells which of
    them are computed. The pair u, v is not changed before the move ``until[u, v]``.
    """

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood, tenure: int) -> None:
        size = len(neighbourhood.graph.parents)
        self.search, self.neighbourhood, self.tenure = search, neighbourhood, tenure
        self.rise, self.known = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
        self.until, self.n_moves = np.zeros((size, size), dtype=np.int64), 0

    def branch(self, search: GreedySearch) -> _Run:
        """Return a run from the same graph that shares the rises known so far, and has no tabus."""
        other = _Run(search, self.neighbourhood.at(self.neighbourhood.graph.copy()), self.tenure)
        other.rise, other.known = self.rise.copy(), self.known.copy()
        return other

    def go(self, patience: int) -> None:
        """Make the best move that is not tabu, until `patience` moves have not led to a better graph."""
        best, value, last = self.search.parents, self.search.trace[-1], 0
        try:
            while self.n_moves < last + patience:
                move = self._best(value)
                if move is None:
                    return
                self._make(move)
                if self.search.trace[-1] > value + score_tie(value):
                    best, value, last = self.search.parents, self.search.trace[-1], self.n_moves
        finally:
            # After an interrupt too.
            if best is not self.search.parents:
                self._return_to(best)

    def perturb(self, share: float, positions: Iterator[float]) -> None:
        """Reverse a share of the edges, or delete them; `positions`, from 0 to 1, say which."""
        for _ in range(max(2, int(share * self.neighbourhood.graph.edges.sum()))):
            delete, reverse, _ = self.neighbourhood.marks()
            places = np.flatnonzero(reverse | delete)
            if not len(places):
                return
            u, v = divmod(int(places[int(next(positions) * len(places))]), len(delete))
            self._make(Move("reverse" if reverse[u, v] else "delete", u, v))

    def _best(self, best: float) -> Move | None:
        """Return the best legal move that is not tabu, or that leads above `best`."""
        marks, now = self.neighbourhood.marks(), self.search.trace[-1]
        children, others = np.nonzero((marks.any(axis=0) | marks[1].T).T & ~self.known.T)
        if len(children):
            toggles = Toggles(self.neighbourhood.graph.edges, children, others)
            self.rise[others, children] = self.search.propose(toggles) - now
            self.known[others, children] = True
        place = _choose(marks, self.rise, self.until, self.n_moves, best + score_tie(best) - now, score_tie(now))
        if place < 0:
            return None
        kind, edge = divmod(place, self.rise.size)
        return Move(KINDS[kind], *divmod(edge, len(self.rise)))

    def _make(self, move: Move) -> None:
        changes = self.neighbourhood.graph.changes(move)
        self.search.commit(changes, f"{move.kind} {move.parent} -> {move.child}")
        self.neighbourhood.graph.apply(changes)
        self.known[:, list(changes)] = False
        self.n_moves += 1
        ends = [move.parent, move.child]
        self.until[ends, ends[::-1]] = self.n_moves + self.tenure

    def _return_to(self, parents: list[list[int]]) -> None:
        now = self.search.parents
        changes = {v: family for v, family in enumerate(parents) if family != now[v]}
        if changes:
            self.search.commit(changes, "return")
            self.neighbourhood.graph.apply(changes)
            self.known[:, list(changes)] = False


@kernel(allocates=False)
def _choose(marks, rise, until, n_moves, enough, tie):  # type: ignore[no-untyped-def]
    """Return the place of the best of some moves in `marks`, the first of tied ones; -1 if all are tabu.

    marks: (3, variables, variables), see Neighbourhood.marks. A move is tabu until the pair's number of moves, unless
    it raises the score by more than `enough`.
    """
    n, place, highest = rise.shape[0], -1, -np.inf
    for kind in range(3):
        for u in range(n):
            for v in range(n):
                if marks[kind, u, v]:
                    gain = rise[u, v] + rise[v, u] if kind == 1 else rise[u, v]
                    if (until[u, v] <= n_moves or gain > enough) and gain > highest + tie:
                        place, highest = (kind * n + u) * n + v, gain
    return place
