"""Climbing on from a local optimum, for decomposable scores, where a move costs little.

Such a score often gives both directions of an edge the same gain, and which of them a climb takes decides
where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, cycle, product

import numpy as np

from bnplug.search._climbers import RememberingClimber
from bnplug.search._marks import MovingGraph
from bnplug.search.greedy import GreedySearch, score_tie
from bnplug.search.hill_climb import climb
from bnplug.search.moves import Move, Neighbourhood

# Multiples of the golden ratio, modulo one, spread evenly however many are taken: chance without a seed.
_GOLDEN = (5**0.5 - 1) / 2

# How many of the edges are loosened, round after round: one size alone escapes from fewer optima.
_SHARES = (0.1, 0.2, 0.4)


def climb_and_shake(
    search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str], max_iter: int | None = None
) -> None:
    """Climb twice, with the first and with the last of tied moves; if these end apart, shake the better end.

    Parameters
    ----------
    search : GreedySearch
        Of a decomposable score. It ends at the best graph found, a local optimum.
    neighbourhood : Neighbourhood
        The legal moves from the start.
    names : sequence of str
        The variables, for the words of the moves.
    max_iter : int, optional
        The largest number of moves of a climb; then nothing is shaken.
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
    """Loosen some edges and climb again, as long as that takes no more evaluations than were made before."""
    limit = 2 * search.evaluator.n_evaluations
    climber = RememberingClimber(search, neighbourhood.at(search.parents), names)
    positions = (turn * _GOLDEN % 1 for turn in count(1))
    for last_of_ties, share in cycle(product((False, True), _SHARES)):
        if search.evaluator.n_evaluations >= limit:
            return
        with search.trial(again=False) as other:
            other.last_of_ties = last_of_ties
            around = climber.branch(other)
            for _ in range(max(2, int(share * around.graph.edges.sum()))):
                move = _loosen(around.graph, next(positions))
                if move is None:
                    return
                around.make(move)
            around.climb()
        if search.parents is other.parents:
            climber = around


def _loosen(graph: MovingGraph, position: float) -> Move | None:
    """Return the move that reverses the edge at a position from 0 to 1, or deletes it if it cannot be reversed."""
    delete, reverse, _ = graph.legal()
    places = np.flatnonzero(reverse | delete)
    if not len(places):
        return None
    u, v = divmod(int(places[int(position * len(places))]), len(delete))
    return Move("reverse" if reverse[u, v] else "delete", u, v)
