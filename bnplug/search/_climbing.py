"""Hill climbing: the best single deletion, reversal or addition of an edge, until none improves the score.

For decomposable scores, whose moves cost little, a climb can also leave a local optimum. Such a score often gives both
directions of an edge the same gain, and which of them a climb takes decides where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import count, cycle, product

import numpy as np

from bnplug.compiling import kernel
from bnplug.scoring import Toggles
from bnplug.search.greedy import GreedySearch, score_tie
from bnplug.search.moves import KINDS, Move, Neighbourhood
from bnplug.typing import BoolArray, FloatArray

# Multiples of the golden ratio, modulo one, are spread evenly however many are taken: a sequence without a seed.
_GOLDEN = (5**0.5 - 1) / 2

# The share of edges that are loosened, round after round: a single size escapes from fewer optima.
_SHARES = (0.1, 0.2, 0.4)


def climb(
    search: GreedySearch,
    neighbourhood: Neighbourhood,
    names: Sequence[str],
    max_iter: int | None = None,
    improve: bool = True,
) -> None:
    """Move to the best neighbor until none is better.

    Parameters
    ----------
    search : GreedySearch
        Makes and records the moves.
    neighbourhood : Neighbourhood
        The legal moves from the current graph of `search`; its graph moves along.
    names : sequence of str
        The names of the variables, to describe moves.
    max_iter : int, optional
        The largest number of moves.
    improve : bool
        Whether a move must improve the score strictly. If not, the search ends when no move is legal.
    """
    # With a decomposable score, a rise stays valid until one of its families changes.
    kind = RememberingClimber if search.evaluator.decomposable else Climber
    try:
        kind(search, neighbourhood, names).climb(max_iter, improve)
    finally:
        neighbourhood.graph.apply(dict(enumerate(search.parents)))


class Climber:
    """Hill climber that scores all neighbors at each step; for parameters see :func:`~bnplug.search.climb`."""

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str]) -> None:
        self.search = search
        self.neighbourhood = neighbourhood
        self.names = names

    def climb(self, max_iter: int | None = None, improve: bool = True) -> None:
        """Make the best move until there is none; see :func:`~bnplug.search.climb`."""
        while max_iter is None or len(self.search.moves) < max_iter:
            move = self.best(self.search.begin(), improve)
            if move is None:
                return
            self.make(move)

    def best(self, value: float, improve: bool) -> Move | None:
        """Return the best legal move from a graph with the score `value`; None if there is none."""
        candidates = self.neighbourhood.candidates()
        chosen = self.search.best(candidates, value, improve)
        return None if chosen is None else candidates.move(chosen)

    def make(self, move: Move) -> Iterable[int]:
        """Make a move; return the variables whose parents changed."""
        changes = self.neighbourhood.graph.changes(move)
        self.search.commit(changes, move.describe(self.names))
        self.neighbourhood.graph.apply(changes)
        return changes


class RememberingClimber(Climber):
    """Hill climber for decomposable scores: the rise of an edge is computed again only when its child has changed.

    ``rise[u, v]`` is the change of the score if u becomes a parent of v, or stops being one. A reversal is two changes.
    """

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str]) -> None:
        super().__init__(search, neighbourhood, names)
        size = len(neighbourhood.graph.parents)
        self.rise: FloatArray = np.zeros((size, size))
        self.known: BoolArray = np.zeros((size, size), dtype=bool)

    def best(self, value: float, improve: bool) -> Move | None:
        """Return the best legal move; rises that are not known are computed."""
        marks, rise = self.neighbourhood.marks(), self.rise
        edges = np.empty((2, rise.size), dtype=np.int64)
        children, others = edges[:, : _list_lacking(marks, self.known, edges)]
        toggles = Toggles(self.neighbourhood.graph.edges, children, others)
        rise[others, children] = self.search.propose(toggles) - value
        self.known[others, children] = True
        places, rises = np.empty(marks.size, dtype=np.int64), np.empty(marks.size)
        n_moves = _list_moves(marks, rise, places, rises)
        chosen = self.search.choose(value + rises[:n_moves], value if improve else None)
        if chosen is None:
            return None
        kind, edge = divmod(int(places[chosen]), rise.size)
        return Move(KINDS[kind], *divmod(edge, len(rise)))

    def make(self, move: Move) -> Iterable[int]:
        """Make a move, and forget the rises of the changed children."""
        changed = super().make(move)
        for v in changed:
            self.known[:, v] = False
        return changed

    def branch(self, search: GreedySearch) -> RememberingClimber:
        """Return a climber for a trial from the current graph that shares the rises known so far."""
        other = copy(self)
        other.search, other.neighbourhood = search, self.neighbourhood.at(self.neighbourhood.graph.copy())
        other.rise, other.known = self.rise.copy(), self.known.copy()
        return other


@kernel(allocates=False)
def _list_lacking(marks, known, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` with the children and parents of unknown edges that legal moves toggle, by child; return how many.

    marks: (3, variables, variables), see Neighbourhood.marks; known: (variables, variables), as [parent, child].
    """
    size = 0
    for v in range(known.shape[0]):
        for u in range(known.shape[0]):
            if not known[u, v] and (marks[0, u, v] or marks[1, u, v] or marks[2, u, v] or marks[1, v, u]):
                edges[0, size], edges[1, size] = v, u
                size += 1
    return size


@kernel(allocates=False)
def _list_moves(marks, rise, places, rises):  # type: ignore[no-untyped-def]
    """Fill `places` with the positions of legal moves in `marks`, and `rises` of the score; return how many."""
    n, size = rise.shape[0], 0
    for kind in range(marks.shape[0]):
        for u in range(n):
            for v in range(n):
                if marks[kind, u, v]:
                    places[size] = (kind * n + u) * n + v
                    rises[size] = rise[u, v] + rise[v, u] if kind == 1 else rise[u, v]
                    size += 1
    return size


def climb_and_shake(
    search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str], max_iter: int | None = None
) -> None:
    """Climb twice, with the first and with the last of tied moves; if the ends differ, shake the better one.

    The score is decomposable, and nothing is shaken if `max_iter` is given. The search ends at the best graph found.
    """
    start = neighbourhood.graph.parents.copy()
    climb(search, neighbourhood, names, max_iter)
    first = search.trace[-1]
    with search.trial(again=True) as other:
        other.last_of_ties = True
        climb(other, neighbourhood.at(start), names, max_iter)
    if max_iter is None and abs(other.trace[-1] - first) > score_tie(first):
        _shake(search, neighbourhood, names)


def _shake(search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str]) -> None:
    """Loosen some edges and climb again, for at most as many evaluations as were made before."""
    limit = 2 * search.evaluator.n_evaluations
    climber = RememberingClimber(search, neighbourhood.at(search.parents), names)
    positions = (turn * _GOLDEN % 1 for turn in count(1))
    for last_of_ties, share in cycle(product((False, True), _SHARES)):
        if search.evaluator.n_evaluations >= limit:
            return
        with search.trial(again=False) as other:
            other.last_of_ties = last_of_ties
            around = climber.branch(other)
            for _ in range(max(2, int(share * around.neighbourhood.graph.edges.sum()))):
                move = _loosen(around.neighbourhood, next(positions))
                if move is None:
                    return
                around.make(move)
            around.climb()
        if search.parents is other.parents:
            climber = around


def _loosen(neighbourhood: Neighbourhood, position: float) -> Move | None:
    """Return the move that reverses the edge at a position from 0 to 1, or deletes it if it cannot be reversed."""
    delete, reverse, _ = neighbourhood.marks()
    places = np.flatnonzero(reverse | delete)
    if not len(places):
        return None
    u, v = divmod(int(places[int(position * len(places))]), len(delete))
    return Move("reverse" if reverse[u, v] else "delete", u, v)
