"""Order-based greedy structure learning: an order of the features, then parents among the earlier ones.

After Pernkopf and Bilmes (2008); equations are numbered as there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils import check_random_state

from bnplug import Structure
from bnplug.contracts import StructureLearner
from bnplug.counts.information import by_falling, pairwise_information
from bnplug.hooks.components import component
from bnplug.search import Constraints, GreedySearch
from bnplug_cmi_order.orders import order_by_all, order_by_score, order_by_single
from bnplug_cmi_order.patterns import PROBABILITY

if TYPE_CHECKING:
    from bnplug.table.table import Table
    from bnplug.typing import FloatArray


class OrderBasedLearner(StructureLearner):
    """Walks an order of the features and gives each the earlier ones that improve the score most.

    The class is a parent of every feature. Parents are kept only if the score improves strictly. Of tied
    sets of parents the smaller is taken, then the one whose features come first in the order. Parents that are
    required are there from the start, and come first in the order; so do earlier tiers.

    Parameters
    ----------
    score : str or ScoreFunction
        What to maximize.
    k : int
        The largest number of feature parents.
    clique : bool
        Take several parents only if they are adjacent to each other: the features then form a partial
        k-tree.
    candidates : int, optional
        Try for each feature Xi only this many earlier features Xj, those with the largest I(Xi; Xj | C).
    walks : int
        How often the order is walked. The paper walks it once, and what an early feature was given stays even if
        later features make it harmful; on another walk a feature may exchange or lose its parents where that
        improves the score strictly. Not with `clique`.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int or RandomState, optional
        Handed to a score that has none of its own.
    verbose : int, optional
        1 tells once a second about moves, score and evaluations; 2 tells about every move.
    required, forbidden : list of edges, optional
        Edges ``(parent, child)`` by name that the structure has, and that it does not have.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.

    Attributes
    ----------
    order_ : list of str
        The features in their order.
    trace_ : list of float
        The score of naive Bayes, with what is required, and after each feature that was given parents.
    n_evaluations_ : int
        How many candidates were scored.
    """

    #: What messages call it.
    label: ClassVar[str]

    def __init__(
        self,
        score: Any = "cr",
        k: int = 1,
        clique: bool = False,
        candidates: int | None = None,
        walks: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
    ) -> None:
        self.score = score
        self.k = k
        self.clique = clique
        self.candidates = candidates
        self.walks = walks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers

    @abstractmethod
    def order(self, constraints: Constraints) -> list[int]:
        """Return the features in the order in which they get their parents."""

    def learn(self, table: Table) -> Structure:
        """Return the structure: naive Bayes, with up to k feature parents for each feature."""
        for name in ("k", "candidates", "walks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if self.clique and self.walks > 1:
            raise ValueError("clique=True needs walks=1: on another walk, parents that are adjacent may cease to be")
        constraints = Constraints.of(self, table)
        start = constraints.augmented(self.label, most=self.k)
        if self.clique:
            _check_cliques(table, start)
        order = self.order(constraints)
        self.order_ = [table.names[v] for v in order]
        evaluator = component("score function", self.score, self).evaluator(table, self.n_jobs)
        search = GreedySearch(evaluator, start, self.label, verbose=self.verbose)
        with search.running():
            steps = list(self._steps(constraints, order))
            for v, earlier in steps * self.walks:
                self._choose_parents(search, v, earlier, start[v], table)
        self.trace_ = search.trace
        self.n_evaluations_ = evaluator.n_evaluations
        return Structure(table.names, search.parents)

    def _steps(self, constraints: Constraints, order: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield each feature but the first, with the earlier features that may become its parents, in order."""
        between = None if self.candidates is None else _between(constraints.table, self.n_jobs)
        for position in range(1, len(order)):
            v = order[position]
            earlier = constraints.allowed_parents(v, order[:position])
            if between is not None:
                near = {*by_falling(between[v], earlier, most=self.candidates), *constraints.required_parents(v)}
                earlier = [u for u in earlier if u in near]
            yield v, earlier

    def _choose_parents(
        self, search: GreedySearch, v: int, earlier: list[int], required: list[int], table: Table
    ) -> None:
        value = search.begin()
        sets = self._parent_sets(search.parents, earlier)
        families = [sorted([table.target_index, *parents]) for parents in sets]
        candidates = [
            {v: parents} for parents in families if parents != search.parents[v] and set(required) <= set(parents)
        ]
        best = search.best(candidates, value)
        if best is not None:
            names = ", ".join(table.names[p] for p in candidates[best][v] if p != table.target_index)
            search.commit(candidates[best], f"give {table.names[v]} the parents {names or 'none'}")

    def _parent_sets(self, parents: Sequence[Sequence[int]], earlier: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield every set of up to k earlier features, smaller ones first; with `clique`, of pairwise adjacent ones."""
        for several in chain.from_iterable(combinations(earlier, size) for size in range(self.k + 1)):
            if not self.clique or all(a in parents[b] for a, b in combinations(several, 2)):
                yield several


def _between(table: Table, n_jobs: int | None) -> FloatArray:
    """Return I(Xi; Xj | C), corrected for chance if cells are missing, or pairs with few known rows would look best."""
    return pairwise_information(table, n_jobs, PROBABILITY if table.has_missing.any() else None)


def _check_cliques(table: Table, start: list[list[int]]) -> None:
    """Raise a ``ValueError`` if two parents of a feature are required, and no edge between them is."""
    for v, parents in enumerate(start):
        for a, b in combinations([u for u in parents if u != table.target_index], 2):
            if a not in start[b] and b not in start[a]:
                names = [table.names[u] for u in (a, b)]
                raise ValueError(
                    f"clique=True needs parents that are adjacent; {names} are required of {table.names[v]!r}, and no "
                    "edge between them is"
                )


class ConditionalInformationOrder(OrderBasedLearner):
    """OMI: each next feature tells most about the class, given all features before it (eq. 5).

    Parameters
    ----------
    score, k, clique, candidates, walks, n_jobs, random_state, verbose, required, forbidden, tiers
        See :class:`OrderBasedLearner`.
    max_condition : int, optional
        Condition on this many of the features chosen last; by default on all.
    by : {"information", "score"}
        What puts the features in order. With ``"score"``, each next one is that with which naive Bayes over it and
        those before it scores best: the order by the classification rate that the paper's conclusion names.
    """

    label = "omi"

    def __init__(
        self,
        score: Any = "cr",
        k: int = 1,
        clique: bool = False,
        candidates: int | None = None,
        max_condition: int | None = None,
        walks: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        required: Any = None,
        forbidden: Any = None,
        tiers: Any = None,
        by: str = "information",
    ) -> None:
        known = (required, forbidden, tiers)
        super().__init__(score, k, clique, candidates, walks, n_jobs, random_state, verbose, *known)
        self.max_condition = max_condition
        self.by = by

    def order(self, constraints: Constraints) -> list[int]:
        """Return the features by conditional mutual information, or by the score."""
        if self.by not in ("information", "score"):
            raise ValueError(f"by={self.by!r} is not 'information' or 'score'")
        if self.max_condition is not None and self.max_condition < 0:
            raise ValueError(f"max_condition={self.max_condition} must not be negative")
        if self.by == "score":
            score = component("score function", self.score, self)
            return order_by_score(constraints.table, score.evaluator(constraints.table, self.n_jobs), constraints.ready)
        return order_by_all(constraints.table, self.max_condition, self.n_jobs, constraints.ready)


class SingleParentInformationOrder(OrderBasedLearner):
    """OMISP: each next feature tells most about the class, given the best single one before it (eq. 6).

    Its parameters are those of :class:`OrderBasedLearner`.
    """

    label = "omisp"

    def order(self, constraints: Constraints) -> list[int]:
        """Return the features by conditional mutual information given a single one."""
        return order_by_single(constraints.table, self.n_jobs, constraints.ready)


class RandomOrder(OrderBasedLearner):
    """RO: the features in random order.

    Its parameters are those of :class:`OrderBasedLearner`; `random_state` also draws the order.
    """

    label = "ro"

    def order(self, constraints: Constraints) -> list[int]:
        """Return the features in an order drawn by `random_state`."""
        left = [int(v) for v in check_random_state(self.random_state).permutation(constraints.table.features)]
        order: list[int] = []
        while left:
            order.append(constraints.ready(left)[0])
            left.remove(order[-1])
        return order
