"""PC-stable: a skeleton by tests of conditional independence, colliders by majority, and the equivalence class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from bnplug.contracts import StructureLearner
from bnplug.search import Constraints
from bnplug.structure import Learned, Structure
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray
from bnplug_structures.independence import IndependenceTest, Question, check_levels, independence_test
from bnplug_structures.orienting import PartialDag, Triple, constrained_class

# Conditioning sets that each variable has tested in the first round of a level; twice as many in each further one.
_FIRST = 8

# Questions that are asked at once.
_AT_ONCE = 1 << 13


@dataclass(eq=False, repr=False)
class PC(StructureLearner):
    """The equivalence class that explains which variables are independent, and one of its graphs.

    All pairs of variables are joined at first. An edge is removed if its ends are independent given some set of
    neighbors of one of them; sets of size 0 are tried first, then of size 1, and so on. The neighbors are those at the
    beginning of each size, so the order of the columns does not matter (PC-stable).

    Two neighbors b - a, b - c of which a and c are not adjacent collide at b if b is in less than half of the sets that
    separate a and c; if it is in half of them, the triple remains undecided. Colliders that contradict an earlier one
    are left out; the clearest come first. Meek's rules direct the edges that follow.

    Parameters
    ----------
    test : "g", "chi-squared" or callable
        The test of conditional independence. A function of two names and a tuple of names returns a p-value, for
        example :class:`~bnplug_structures.independence.Separation`, an oracle.
    alpha : float
        The significance level. Two variables are independent if the p-value is larger.
    max_conditions : int, optional
        The largest conditioning set; None means no limit.
    min_rows : float
        Rows needed for each degree of freedom of a test with a conditioning set; with fewer, the set does not separate.
    required : list of edges, optional
        Edges ``(parent, child)`` by name that the graph has.
    forbidden : list of edges, optional
        Edges that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.
    n_jobs : int, optional
        Threads that count. The result does not depend on it.

    Attributes
    ----------
    separating_sets_ : dict
        For each pair of names that is not adjacent, the first set that separated it, as a tuple of names.
    n_tests_ : int
        The number of tests.

    Examples
    --------
    >>> from bnplug_structures.independence import Separation
    >>> import pandas as pd
    >>> truth = Structure(["a", "b", "c", "d"], [[], [], [0, 1], [2]])
    >>> table = Table.from_frame(pd.DataFrame({name: [0, 1] for name in truth.names}), "d")
    >>> learned = PC(test=Separation(truth)).learn(table)
    >>> learned.structure.edges, learned.pdag.undirected
    ((('a', 'c'), ('b', 'c'), ('c', 'd')), ())
    """

    test: Any = "g"
    alpha: float = 0.05
    max_conditions: int | None = 3
    min_rows: float = 1.0
    required: Any = None
    forbidden: Any = None
    tiers: Any = None
    n_jobs: int | None = None

    def learn(self, table: Table) -> Learned:
        """Return a graph with its equivalence class."""
        check_levels(self)
        constraints = Constraints.of(self, table)
        test = independence_test(self.test, table, self.min_rows, self.n_jobs)
        skeleton = _Skeleton(test, constraints, self.alpha, self.max_conditions)
        skeleton.prune()
        colliders, ambiguous = skeleton.colliders()
        graph = PartialDag(skeleton.adjacent, constraints.allowed, constraints.required)
        conflicts = [triple for triple in colliders if not graph.orient_collider(triple)]
        graph.close(frozenset(ambiguous))
        order = sorted(range(len(table.names)), key=lambda v: v != table.target_index)
        structure = Structure(table.names, graph.extend(order))
        names = table.names
        self.n_tests_ = test.n_tests
        self.separating_sets_ = {
            (names[u], names[v]): tuple(names[w] for w in given) for (u, v), given in sorted(skeleton.sets.items())
        }
        details = {
            "tests": test.n_tests,
            "undecided triples": [[names[v] for v in triple] for triple in ambiguous],
            "contradicting colliders": [[names[v] for v in triple] for triple in conflicts],
        }
        pdag = constrained_class(structure, None if constraints.free else constraints.allowed)
        return Learned(structure, pdag=pdag, details=details)


class _Skeleton:
    """The skeleton while it is pruned, and the sets that separated pairs."""

    def __init__(self, test: IndependenceTest, constraints: Constraints, alpha: float, most: int | None) -> None:
        self.test, self.alpha = test, alpha
        allowed, required = constraints.allowed, constraints.required
        self.allowed: BoolArray = allowed
        self.fixed: BoolArray = required | required.T
        self.adjacent: BoolArray = allowed | allowed.T
        self.most = len(allowed) if most is None else most
        self.level = 0
        self.strength: FloatArray = np.zeros(allowed.shape)
        self.sets: dict[tuple[int, int], tuple[int, ...]] = {}

    def prune(self) -> None:
        """Remove edges, level by level."""
        n = len(self.adjacent)
        self._ask([Question(v, (), _above(self.adjacent[v], v)) for v in range(n)], keep_strength=True)
        while self.level < self.most and (self.adjacent.sum(axis=0) > self.level + 1).any():
            self.level += 1
            self._prune_level()

    def _prune_level(self) -> None:
        """Remove the edges that sets of one size separate; the neighbors are those at the beginning."""
        n = len(self.adjacent)
        sets = [combinations(self._neighbors(v), self.level) for v in range(n)]
        waiting, size = list(range(n)), _FIRST
        while waiting:
            questions, left = [], []
            for v in waiting:
                others = np.flatnonzero(self.adjacent[v] & ~self.fixed[v]).tolist()
                chosen = list(islice(sets[v], size)) if others else []
                for given in chosen:
                    asked = tuple(u for u in others if u not in given)
                    if asked:
                        questions.append(Question(v, given, asked))
                if len(chosen) == size:
                    left.append(v)
            self._ask(questions)
            waiting, size = left, 2 * size

    def _neighbors(self, v: int) -> list[int]:
        """Return the neighbors of a variable that may be its parents, by falling strength."""
        neighbors = np.flatnonzero(self.adjacent[v] & self.allowed[:, v]).tolist()
        return sorted(neighbors, key=lambda u: (-self.strength[u, v], u))

    def _ask(self, questions: list[Question], keep_strength: bool = False) -> None:
        """Test pairs, and remove the edges of those that are separated."""
        for start in range(0, len(questions), _AT_ONCE):
            part = questions[start : start + _AT_ONCE]
            answers = self.test.ask(part)
            pairs = [(question.variable, u, question.given) for question in part for u in question.others]
            if keep_strength:
                for (v, u, _), strength in zip(pairs, answers.strengths.tolist(), strict=True):
                    self.strength[u, v] = self.strength[v, u] = strength
            for i in np.flatnonzero(answers.separated(self.alpha)).tolist():
                v, u, given = pairs[i]
                if self.adjacent[u, v] and not self.fixed[u, v]:
                    self.adjacent[u, v] = self.adjacent[v, u] = False
                    self.sets[min(u, v), max(u, v)] = given

    def colliders(self) -> tuple[list[Triple], list[Triple]]:
        """Return the colliders, the clearest first, and the triples that remain undecided."""
        n_sets, n_with = self._separating_sets()
        colliders, ambiguous = list[tuple[float, Triple]](), list[Triple]()
        for triple in self._triples():
            a, b, c = triple
            total, containing = n_sets.get((a, c), 0), n_with.get(triple, 0)
            if total == 0 and (a, c) in self.sets:  # nothing separates them but the set of the skeleton
                total, containing = 1, int(b in self.sets[a, c])
            if total == 0 or 2 * containing == total:
                ambiguous.append(triple)
            elif 2 * containing < total:
                colliders.append((containing / total, triple))
        return [triple for _, triple in sorted(colliders)], ambiguous

    def _triples(self) -> Iterator[Triple]:
        """Yield the triples (a, b, c) with a < c: b is adjacent to both, which are not adjacent."""
        for b, of_b in enumerate(self.adjacent):
            for a, c in combinations(np.flatnonzero(of_b).tolist(), 2):
                if not self.adjacent[a, c]:
                    yield a, b, c

    def _separating_sets(self) -> tuple[dict[tuple[int, int], int], dict[Triple, int]]:
        """Count the sets of neighbors that separate each pair with a common neighbor, and those with each of them."""
        n_sets: dict[tuple[int, int], int] = {}
        n_with: dict[Triple, int] = {}
        common = (self.adjacent.astype(np.int64) @ self.adjacent > 0) & ~self.adjacent
        questions = chain.from_iterable(
            self._questions_of(v, np.flatnonzero(common[v]).tolist()) for v in range(len(common))
        )
        while part := list(islice(questions, _AT_ONCE)):
            separated = self.test.ask(part).separated(self.alpha)
            tests = ((question.variable, u, question.given) for question in part for u in question.others)
            for (v, u, given), is_separated in zip(tests, separated.tolist(), strict=True):
                if is_separated:
                    a, c = min(u, v), max(u, v)
                    n_sets[a, c] = n_sets.get((a, c), 0) + 1
                    for b in given:
                        n_with[a, b, c] = n_with.get((a, b, c), 0) + 1
        return n_sets, n_with

    def _questions_of(self, v: int, pairs: list[int]) -> Iterator[Question]:
        """Yield the questions whether sets of neighbors of v separate it from others; a set is tried once per pair."""
        others = [u for u in pairs if u != v and (self.allowed[u, v] or self.allowed[v, u])]
        neighbors = self._neighbors(v)
        for size in range(min(self.level, len(neighbors)) + 1 if others else 0):
            for given in combinations(neighbors, size):
                asked = tuple(u for u in others if v < u or not self.adjacent[u, list(given)].all())
                if asked:
                    yield Question(v, given, asked)


def _above(mask: BoolArray, v: int) -> tuple[int, ...]:
    """Return the positions of a mask after v."""
    return tuple(u for u in np.flatnonzero(mask).tolist() if u > v)
