"""The Markov blanket of the class by HITON-MB, and the structure of the class with its blanket.

Aliferis, Statnikov, Tsamardinos, Mani, Koutsoukos: Local causal and Markov blanket induction for causal discovery and
feature selection for classification (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from bnplug.contracts import StructureLearner
from bnplug.hooks.components import component
from bnplug.search import Constraints, Graph, GreedySearch, Neighbourhood, climb
from bnplug.structure import Learned, Structure
from bnplug.table.table import Table
from bnplug_structures.independence import IndependenceTest, Question, check_levels, independence_test

# Conditioning sets that are tried at once.
_SETS = 256


@dataclass(eq=False, repr=False)
class MarkovBlanket(StructureLearner):
    """The class with its Markov blanket; other features have no edges.

    HITON-MB finds the blanket by tests of independence: first the neighbors of the class, those features that no set
    of other neighbors separates from it, then the other parents of common children. A neighbor is kept only if the
    class is also a neighbor of it. The edges are found by hill climbing with `score` over the class and its blanket,
    which begins with naive Bayes.

    Parameters
    ----------
    score : str or ScoreFunction
        What the climb maximizes.
    test : "g", "chi-squared" or callable
        The test of conditional independence, as for `pc`.
    alpha : float
        The significance level.
    max_conditions : int, optional
        The largest set of neighbors that may separate two variables; None means no limit.
    min_rows : float
        Rows needed for each degree of freedom of a test with a conditioning set; with fewer, the set does not separate.
    required : list of edges, optional
        Edges ``(parent, child)`` by name that the graph has; they connect features outside the blanket, too.
    forbidden : list of edges, optional
        Edges that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.
    max_parents : int, optional
        The largest number of parents of a variable in the climb.
    max_time : float, optional
        Seconds after which the climb ends with the graph so far, with a warning.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int or RandomState, optional
        Passed to the score.
    verbose : int
        1 reports progress.

    Attributes
    ----------
    blanket_ : list of str
        The Markov blanket, in the order of the columns.
    neighbors_ : list of str
        Those features of it that are adjacent to the class; the others are parents of common children.
    n_tests_ : int
        The number of tests.

    Examples
    --------
    >>> from bnplug import BayesianNetworkClassifier
    >>> from bnplug.datasets import corral
    >>> model = BayesianNetworkClassifier(MarkovBlanket()).fit(*corral())
    >>> model.structure_.blanket_
    ['A0', 'A1', 'B0', 'B1', 'Correlated']
    """

    score: Any = "bdeu"
    test: Any = "g"
    alpha: float = 0.05
    max_conditions: int | None = 3
    min_rows: float = 1.0
    required: Any = None
    forbidden: Any = None
    tiers: Any = None
    max_parents: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int | None = None

    def learn(self, table: Table) -> Learned:
        """Return the structure of the class with its blanket."""
        check_levels(self)
        constraints = Constraints.of(self, table)
        search = BlanketSearch.of(self, table, constraints)
        neighbors, blanket = search.blanket(table.target_index)
        self.neighbors_, self.blanket_ = ([table.names[v] for v in sorted(part)] for part in (neighbors, blanket))
        self.n_tests_ = search.test.n_tests
        details = {"neighbors": self.neighbors_, "blanket": self.blanket_, "tests": self.n_tests_}
        return Learned(Structure(table.names, self._climb(table, constraints, blanket)), details=details)

    def _climb(self, table: Table, constraints: Constraints, blanket: set[int]) -> list[list[int]]:
        """Return the parents of each variable, by hill climbing among the class and its blanket."""
        inside = np.zeros(len(table.names), dtype=bool)
        inside[[table.target_index, *blanket]] = True
        start = [
            sorted({*constraints.required_parents(v), *(u for u in family if inside[u] and inside[v])})
            for v, family in enumerate(constraints.start("nb"))
        ]
        for v, family in enumerate(start):
            if self.max_parents is not None and len(family) > self.max_parents:
                start[v] = constraints.required_parents(v)
        capacity = np.full(len(start), len(start) if self.max_parents is None else self.max_parents)
        allowed = constraints.allowed & inside[:, None] & inside
        around = Neighbourhood(
            Graph(start), ("delete", "reverse", "add"), allowed | constraints.required, constraints.required, capacity
        )
        evaluator = component("score function", self.score, self).evaluator(table, self.n_jobs)
        search = GreedySearch(evaluator, start, "blanket", self.max_time, self.verbose)
        with search.running():
            climb(search, around, table.names)
        return search.parents


class BlanketSearch:
    """HITON-MB on a table."""

    def __init__(self, test: IndependenceTest, constraints: Constraints, alpha: float, most: int | None) -> None:
        self.test, self.alpha = test, alpha
        self.n = len(constraints.table.names)
        self.most = self.n if most is None else most
        self.possible = constraints.allowed | constraints.allowed.T
        self.required = constraints.required | constraints.required.T
        self._neighbors: dict[int, tuple[list[int], dict[int, tuple[int, ...]]]] = {}

    @classmethod
    def of(cls, learner: Any, table: Table, constraints: Constraints) -> BlanketSearch:
        """Return the search by the parameters of a learner."""
        test = independence_test(learner.test, table, learner.min_rows, learner.n_jobs)
        return cls(test, constraints, learner.alpha, learner.max_conditions)

    def blanket(self, target: int) -> tuple[set[int], set[int]]:
        """Return the neighbors of a variable, and its Markov blanket."""
        candidates, separating = self._candidates(target)
        neighbors = [v for v in candidates if self.required[v, target] or target in self._candidates(v)[0]]
        blanket = {*neighbors}
        for child in neighbors:
            # A spouse is separated from the class without the common child, and not with it.
            spouses = [v for v in self._candidates(child)[0] if v != target and v not in neighbors]
            spouses = [v for v in spouses if child in self._candidates(v)[0] or self.required[v, child]]
            asked = [Question(target, tuple(sorted({*separating[v], child})), (v,)) for v in spouses if v in separating]
            answers = self.test.ask(asked)
            dependent = answers.reliable & (answers.p_values <= self.alpha)
            blanket |= {question.others[0] for question, is_ in zip(asked, dependent.tolist(), strict=True) if is_}
            # Required edges to the child make a spouse whatever the tests say.
            blanket |= {v for v in spouses if self.required[v, child] and v not in separating}
        return {*neighbors}, blanket

    def _candidates(self, target: int) -> tuple[list[int], dict[int, tuple[int, ...]]]:
        """Return what HITON-PC finds around a variable, and the set that separates each other variable from it."""
        if target not in self._neighbors:
            self._neighbors[target] = self._hiton(target)
        return self._neighbors[target]

    def _hiton(self, target: int) -> tuple[list[int], dict[int, tuple[int, ...]]]:
        others = [v for v in range(self.n) if v != target]
        separating: dict[int, tuple[int, ...]] = {}
        answers = self.test.ask([Question(target, (), tuple(others))])
        strength = dict(zip(others, answers.strengths.tolist(), strict=True))
        for v, is_separated in zip(others, answers.separated(self.alpha).tolist(), strict=True):
            if is_separated and not self.required[v, target]:
                separating[v] = ()
        waiting = sorted((v for v in others if v not in separating), key=lambda v: (-strength[v], v))
        chosen: list[int] = []
        while waiting:
            new = waiting.pop(0)
            if not self.possible[new, target]:
                # Never adjacent; a set that separates it is still of use to recognize spouses.
                self._separate(target, [new], self._sets(chosen), separating)
                continue
            chosen.append(new)
            # All sets without the new neighbor have been tried on those that wait.
            self._separate(target, waiting, self._sets(chosen[:-1], new), separating)
            waiting = [v for v in waiting if v not in separating]
        for v in chosen[::-1]:
            rest = [u for u in chosen if u != v and u not in separating]
            self._separate(target, [v], self._sets(rest), separating)
        return [v for v in chosen if v not in separating], separating

    def _sets(self, neighbors: list[int], new: int | None = None) -> Iterator[tuple[int, ...]]:
        """Yield the conditioning sets among some neighbors, small ones first; each with the `new` one, if given."""
        more = () if new is None else (new,)
        for size in range(1 - len(more), min(self.most - len(more), len(neighbors)) + 1):
            for given in combinations(neighbors, size):
                yield (*given, *more)

    def _separate(
        self, target: int, others: list[int], sets: Iterator[tuple[int, ...]], separating: dict[int, tuple[int, ...]]
    ) -> None:
        """Find sets that separate variables from the target, and record them."""
        left = [v for v in others if not self.required[v, target]]
        while left and (part := list(islice(sets, _SETS))):
            answers = self.test.ask([Question(target, given, tuple(left)) for given in part])
            separated = answers.separated(self.alpha).reshape(len(part), len(left))
            for i in np.flatnonzero(separated.any(axis=0)).tolist():
                separating[left[i]] = part[int(separated[:, i].argmax())]
            left = [v for v in left if v not in separating]
