"""The neighbours of a structure: one feature gets one new feature parent, and no cycle is ever made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from bnplug.search import Constraints


class Rules(NamedTuple):
    """What is known of the edges between features, as a walk needs it.

    Attributes
    ----------
    pairs : list of (int, int)
        Each feature with each that it may get as a new parent.
    required : list of lists of int
        The parents that every variable must keep.
    """

    pairs: list[tuple[int, int]]
    required: list[list[int]]

    @classmethod
    def of(cls, constraints: Constraints, k: int) -> Self | None:
        """Return the rules of a walk on a table, None where everything is allowed."""
        if constraints.free:
            return None
        table = constraints.table
        required = [constraints.required_parents(v) for v in range(len(table.names))]
        loose = [v for v in table.features if len(set(required[v]) - {table.target_index}) < k]
        return cls([(v, u) for v in loose for u in constraints.allowed_parents(v, table.features)], required)


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
    rules : Rules, optional
        Which parents a feature may get, and must keep; by default all, and none.

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

    def __init__(self, parents: Sequence[Iterable[int]], target: int, k: int = 1, rules: Rules | None = None) -> None:
        self.parents = [sorted(own) for own in parents]
        self.target = target
        self.k = k
        self.rules = rules
        self.features = [v for v in range(len(self.parents)) if v != target]
        self._n_edges = sum(len(own) for own in self.parents) - len(self.features)

    @property
    def stuck(self) -> bool:
        """Whether no candidate is legal.

        Without rules, a feature without children can get any other as a new parent, unless it has them all; so that
        is the case only where every two features are joined.
        """
        if self.rules is not None:
            return not any(self._is_new(child, parent) for child, parent in self.rules.pairs)
        n = len(self.features)
        return self._n_edges == n * (n - 1) // 2

    def draw(self, rng: np.random.Generator) -> tuple[int, list[int]]:
        """Return a feature and its new parents, one of them new.

        The new parent is added while there are fewer than `k`, else it takes the place of one of them. Pairs
        that would make a cycle, or are joined in this way already, are drawn again.
        """
        while True:
            child, parent = self._pair(rng)
            if not self._is_new(child, parent):
                continue
            own = [p for p in self.parents[child] if p != self.target]
            if len(own) == self.k:
                loose = own if self.rules is None else [p for p in own if p not in self.rules.required[child]]
                own.remove(loose[int(rng.random() * len(loose))])
            return child, sorted([*own, parent, self.target])

    def _pair(self, rng: np.random.Generator) -> tuple[int, int]:
        """Return two features, the second of which might become a parent of the first."""
        # A number of random() is drawn ten times as fast as one of integers().
        if self.rules is not None:
            return self.rules.pairs[int(rng.random() * len(self.rules.pairs))]
        n = len(self.features)
        return self.features[int(rng.random() * n)], self.features[int(rng.random() * n)]

    def _is_new(self, child: int, parent: int) -> bool:
        return parent not in self.parents[child] and not self._reaches(child, parent)

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
