"""Hill climbing: the best single deletion, reversal or addition of an edge, until none improves the score."""

from __future__ import annotations

from collections.abc import Sequence

from bnplug.search._climbers import Climber, RememberingClimber
from bnplug.search.greedy import GreedySearch
from bnplug.search.moves import Neighbourhood


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
    # Where the score decomposes, a rise stays true until one of its families changes.
    kind = RememberingClimber if search.evaluator.decomposable else Climber
    try:
        kind(search, neighbourhood, names).climb(max_iter, improve)
    finally:
        neighbourhood.graph.apply(dict(enumerate(search.parents)))
