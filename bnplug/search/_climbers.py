"""Who climbs: chooses the best move, makes it, and remembers what stays true."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from bnplug.arrays import BoolArray, FloatArray
from bnplug.scoring._candidates import Toggles
from bnplug.search._marks import MovingGraph
from bnplug.search.greedy import GreedySearch
from bnplug.search.moves import Move, Neighbourhood, changes_by


class Climber:
    """Chooses moves by the scores of all neighbours.

    Parameters
    ----------
    search, neighbourhood, names
        See :func:`~bnplug.search.climb`.
    """

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

    def make(self, move: Move) -> None:
        """Make a move."""
        changes = self.neighbourhood.graph.changes(move)
        self.search.commit(changes, move.describe(self.names))
        self.neighbourhood.graph.apply(changes)


class RememberingClimber(Climber):
    """Chooses moves of a decomposable score: what an edge is worth is asked again only when its child changed.

    ``rise[u, v]``: by how much the score rises when v's parents lose u, or get it. A reversal's rise is that of two.
    """

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood, names: Sequence[str]) -> None:
        super().__init__(search, neighbourhood, names)
        size = len(neighbourhood.graph.parents)
        self.graph = MovingGraph.of(neighbourhood)
        self.rise: FloatArray = np.zeros((size, size))
        self.known: BoolArray = np.zeros((size, size), dtype=bool)

    def best(self, value: float, improve: bool) -> Move | None:
        """Return the best legal move by the rises that are known, and those asked for now."""
        children, others = self.graph.lacking(self.known)
        # An edge that is there goes, any other comes.
        toggles = Toggles(self.graph.edges, children, others)
        self.rise[others, children] = self.search.propose(toggles) - value
        self.known[others, children] = True
        places, rises = self.graph.list_moves(self.rise)
        chosen = self.search.choose(value + rises, value if improve else None)
        if chosen is None:
            return None
        return self.graph.move_at(int(places[chosen]))

    def make(self, move: Move) -> None:
        """Make a move, and forget the rises of the children that it changed."""
        changes = changes_by(move, self.search.parents)
        self.search.commit(changes, move.describe(self.names))
        self.graph.make(*move)
        for v in changes:
            self.known[:, v] = False

    def branch(self, search: GreedySearch) -> RememberingClimber:
        """Return a climber for a trial from the current graph, that begins with what is known here."""
        other = copy(self)
        other.search, other.graph = search, self.graph.copy()
        other.rise, other.known = self.rise.copy(), self.known.copy()
        return other
