"""The best graphs that a search met on its way: what else fits the data nearly as well as its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

_Parents = tuple[tuple[int, ...], ...]

# A search may make thousands of moves; who averages structures wants some.
_MOST = 100


class BestMet:
    """Keeps the best graphs that it is told of, each once, with the highest score that it had.

    Parameters
    ----------
    most : int
        How many are kept.

    Examples
    --------
    >>> met = BestMet()
    >>> for score, parents in [(0.1, [[], []]), (0.3, [[1], []]), (0.2, [[], [0]])]:
    ...     met.add(score, parents)
    >>> met.edges(["a", "b"])
    [[('b', 'a')], [('a', 'b')], []]
    """

    def __init__(self, most: int = _MOST) -> None:
        self.most = most
        self._scores: dict[_Parents, float] = {}
        # What scores less is not among the best.
        self._least = -inf

    def add(self, score: float, parents: Sequence[Iterable[int]]) -> None:
        """Note a graph, given by the parents of every variable."""
        if score < self._least:
            return
        graph = tuple(map(tuple, map(sorted, parents)))
        self._scores[graph] = max(score, self._scores.get(graph, score))
        if len(self._scores) > 2 * self.most:
            self._scores = {kept: self._scores[kept] for kept in self._best()}
            self._least = min(self._scores.values())

    def edges(self, names: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the edges ``(parent, child)`` of every graph, by name; the best first, of tied ones the first."""
        return [
            [(names[parent], names[child]) for child, own in enumerate(graph) for parent in own]
            for graph in self._best()
        ]

    def _best(self) -> list[_Parents]:
        return sorted(self._scores, key=lambda graph: -self._scores[graph])[: self.most]
