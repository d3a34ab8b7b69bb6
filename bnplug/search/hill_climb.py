"""Hill climbing: the best single deletion, reversal or addition of an edge, until none improves the score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnplug.arrays import BoolArray, FloatArray
from bnplug.search.greedy import GreedySearch
from bnplug.search.moves import Move, Neighbourhood


def climb(
    search: GreedySearch,
    neighbourhood: Neighbourhood,
    names: Sequence[str],
    max_iter: int | None = None,
    improve: bool = True,
) -> None:
    """Move to the best neighbour until there is none.

    Parameters
    ----------
    search : GreedySearch
        Where the moves are made, and recorded.
    neighbourhood : Neighbourhood
        The legal moves; its graph is the one that `search` starts from, and moves with it.
    names : sequence of str
        The variables, for the words of the moves.
    max_iter : int, optional
        The largest number of moves.
    improve : bool
        Whether a move must be strictly better than none. If not, the search ends when no move is legal.
    """
    graph = neighbourhood.graph
    # Where the score decomposes, a gain stays true until one of its families changes.
    decomposable = search.evaluator.decomposable
    step: _Step = _RememberingStep(search, neighbourhood) if decomposable else _Step(search, neighbourhood)
    while max_iter is None or len(search.moves) < max_iter:
        move = step.best(search.begin(), improve)
        if move is None:
            return
        changes = graph.changes(move)
        search.commit(changes, move.describe(names))
        graph.apply(changes)
        step.committed(changes)


class _Step:
    """Chooses a move by the scores of all neighbours."""

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood) -> None:
        self.search = search
        self.neighbourhood = neighbourhood

    def best(self, value: float, improve: bool) -> Move | None:
        moves = self.neighbourhood.moves()
        candidates = [self.neighbourhood.graph.changes(move) for move in moves]
        chosen = self.search.best(candidates, value, improve)
        return None if chosen is None else moves[chosen]

    def committed(self, changes: dict[int, list[int]]) -> None:
        """Take note of a move that was made."""


class _RememberingStep(_Step):
    """Chooses a move of a decomposable score: what an edge gains is asked again only when its child changed.

    ``gain[u, v]``: what the score gains when v's parents lose u, or get it. A reversal gains two of these.
    """

    def __init__(self, search: GreedySearch, neighbourhood: Neighbourhood) -> None:
        super().__init__(search, neighbourhood)
        size = len(neighbourhood.graph.parents)
        self.gain: FloatArray = np.zeros((size, size))
        self.known: BoolArray = np.zeros((size, size), dtype=bool)

    def best(self, value: float, improve: bool) -> Move | None:
        legal = self.neighbourhood.legal()
        wanted = legal["delete"] | legal["add"] | legal["reverse"] | legal["reverse"].T
        self._learn(wanted & ~self.known, value)
        gains = {"delete": self.gain, "reverse": self.gain + self.gain.T, "add": self.gain}
        # In the order of Neighbourhood.moves().
        scores = np.concatenate([value + gains[kind][mask] for kind, mask in legal.items()])
        chosen = self.search.choose(scores, value if improve else None)
        if chosen is None:
            return None
        edges = np.concatenate([np.argwhere(mask) for mask in legal.values()])
        kinds = np.repeat(list(legal), [np.count_nonzero(mask) for mask in legal.values()])
        return Move(str(kinds[chosen]), *edges[chosen].tolist())

    def _learn(self, wanted: BoolArray, value: float) -> None:
        """Ask for gains that are not known."""
        children, others = np.nonzero(wanted.T)
        candidates = [self._toggled(u, v) for u, v in zip(others.tolist(), children.tolist(), strict=True)]
        self.gain[others, children] = self.search.propose(candidates) - value
        self.known |= wanted

    def _toggled(self, u: int, v: int) -> dict[int, list[int]]:
        """Return v's parents without u if it is one of them, else with it."""
        graph = self.neighbourhood.graph
        return graph.changes(Move("delete" if graph.edges[u, v] else "add", u, v))

    def committed(self, changes: dict[int, list[int]]) -> None:
        self.known[:, list(changes)] = False
