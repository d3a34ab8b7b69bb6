"""The neighbours of a structure: one feature gets one new feature parent, and no cycle is ever made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


class Structure:
    """Naive Bayes with up to `k` feature parents for each feature: what annealing walks over.

    Parameters
    ----------
    parents : sequence of iterables of int
        The parents of every variable; the class is one of every feature's.
    target : int
        The class.
    k : int
        The largest number of feature parents.

    Examples
    --------
    Of two features, each may become the other's parent; then there is nothing left to change.

    >>> structure = Structure([[2], [2], []], target=2)
    >>> structure.draw(np.random.default_rng(0))
    (1, [0, 2])
    >>> structure.set(1, [0, 2])
    >>> structure.stuck
    True
    """

    def __init__(self, parents: Sequence[Iterable[int]], target: int, k: int = 1) -> None:
        self.parents = [sorted(own) for own in parents]
        self.target = target
        self.k = k
        self.features = [v for v in range(len(self.parents)) if v != target]
        self._n_edges = sum(len(own) for own in self.parents) - len(self.features)

    @property
    def stuck(self) -> bool:
        """Whether no candidate is legal.

        A feature without children can get any other as a new parent, unless it has them all; so that is the
        case only where every two features are joined.
        """
        n = len(self.features)
        return self._n_edges == n * (n - 1) // 2

    def draw(self, rng: np.random.Generator) -> tuple[int, list[int]]:
        """Return a feature and its new parents, one of them new.

        The new parent is added while there are fewer than `k`, else it takes the place of one of them. Pairs
        that would make a cycle, or are joined in this way already, are drawn again.
        """
        n = len(self.features)
        while True:
            # A number of random() is drawn ten times as fast as one of integers().
            child, parent = self.features[int(rng.random() * n)], self.features[int(rng.random() * n)]
            if parent in self.parents[child] or self._reaches(child, parent):
                continue
            own = [p for p in self.parents[child] if p != self.target]
            if len(own) == self.k:
                own.pop(int(rng.random() * self.k))
            return child, sorted([*own, parent, self.target])

    def set(self, child: int, parents: list[int]) -> None:
        """Give a feature the parents that were drawn for it."""
        self._n_edges += len(parents) - len(self.parents[child])
        self.parents[child] = parents

    def _reaches(self, start: int, end: int) -> bool:
        """Say whether there is a path from `start` to `end`, by going back from there."""
        if self.k == 1:
            # A forest: one way back.
            while end != start:
                own = self.parents[end]
                if len(own) < 2:
                    return False
                end = own[0] if own[1] == self.target else own[1]
            return True
        seen, waiting = {end, self.target}, [end]
        while waiting:
            v = waiting.pop()
            if v == start:
                return True
            new = [p for p in self.parents[v] if p not in seen]
            seen.update(new)
            waiting += new
        return False
