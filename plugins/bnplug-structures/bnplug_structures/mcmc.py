"""Graphs drawn from their posterior: random walks with edge reversals, in several chains."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bnplug.compiling import run_in_threads
from bnplug.contracts import StructureLearner
from bnplug.errors import SearchInterruptedWarning, SearchWarning
from bnplug.hooks.components import check_numbers, component
from bnplug.scoring import DecomposableEvaluator, Walk
from bnplug.search import Constraints, TopGraphs
from bnplug.structure import Learned, Structure
from bnplug.table.table import Table
from bnplug.typing import BoolArray, FloatArray, IntArray
from bnplug_structures.parent_sets import ParentSets

# Steps of a round, and between two comparisons of the chains.
_ROUND, _PART = 512, 4096

# The walk that scatters the chains has so many steps for each variable, and accepts each.
_SCATTER, _HOT = 4, 1e30

_ALTERNATIVES = 10


@dataclass(eq=False, repr=False)
class StructureMCMC(StructureLearner):
    """Samples acyclic graphs with probabilities proportional to exp(score), and returns the best graph it visits.

    With a Bayesian score and equal prior probabilities of all graphs, that is their posterior distribution. Each chain
    is a random walk that adds and deletes edges. Now and then an edge is reversed, and both of its ends get new
    parents, drawn from all their parent sets (Grzegorczyk and Husmeier): a chain thereby moves between graphs of nearly
    the same score that single edges do not connect. Chains begin at different random graphs, and end when they agree.

    Parameters
    ----------
    score : str or ScoreFunction
        A decomposable score that is a log posterior, up to a constant: ``"bdeu"`` or ``"k2"``, or ``"mdl"`` as an
        approximation.
    n_steps : int
        The largest number of steps of each chain. They end earlier if they agree.
    chains : int
        The number of chains.
    tolerance : float
        Chains agree if the probabilities of every edge differ by no more. If they never do, a warning is issued.
        With 0, all steps are made.
    burn_in : float
        The share of the steps, at the beginning, that the probabilities omit.
    reversals : float
        The share of steps that reverse an edge.
    max_parents : int
        The largest number of parents. Graphs in which a variable has more are not visited.
    n_candidates : int, optional
        The number of possible parents of each variable, those with the best scores as the only parent. By default as
        many as memory allows; with 3 parents, all others of up to 37 variables.
    max_time : float, optional
        Seconds after which the chains end, with a warning. An interrupt from the keyboard does the same.
    required : list of edges, optional
        Edges ``(parent, child)`` by name that all graphs have.
    forbidden : list of edges, optional
        Edges that no graph has.
    tiers : list of lists of str, optional
        No edge goes from a later tier to an earlier one; see :class:`~bnplug.search.Constraints`.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int or RandomState, optional
        The seed of the chains.

    Attributes
    ----------
    chain_probabilities_ : array of shape (chains, variables, variables)
        ``chain_probabilities_[i, u, v]``: the share of the graphs of a chain that have the edge from u to v.
    chain_scores_ : list of float
        The best score of each chain.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 0, 1, 1] * 9})
    >>> learned = StructureMCMC(random_state=0).learn(Table.from_frame(frame, target="c"))
    >>> {edge: round(p, 1) for edge, p in learned.edge_probabilities.items() if p > 0.4}
    {('a', 'c'): 0.5, ('c', 'a'): 0.5}
    """

    score: Any = "bdeu"
    n_steps: int = 200_000
    chains: int = 4
    tolerance: float = 0.1
    burn_in: float = 0.25
    reversals: float = 0.3
    max_parents: int = 3
    n_candidates: int | None = None
    max_time: float | None = None
    required: Any = None
    forbidden: Any = None
    tiers: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def learn(self, table: Table) -> Learned:
        """Return the best graph, with the probabilities of edges over all chains."""
        self._check()
        constraints = Constraints.of(self, table)
        evaluator = component("score function", self.score, self).evaluator(table, self.n_jobs)
        sets = ParentSets.of(evaluator, constraints, int(self.max_parents), self.n_candidates)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        chains = [
            _Chain(self, copy(evaluator), sets, constraints, np.random.SeedSequence([seed, number]))
            for number in range(self.chains)
        ]
        why = self._run(chains)
        if why:
            category = SearchInterruptedWarning if why == "was interrupted" else SearchWarning
            warnings.warn(f"mcmc {why}, after {chains[0].steps} steps of each chain", category, stacklevel=2)
        return self._learned(chains, table)

    def _check(self) -> None:
        for name in ("n_steps", "chains", "max_parents", "n_candidates"):
            value = getattr(self, name)
            if not (value is None and name == "n_candidates") and not (
                isinstance(value, int | np.integer) and value >= 1
            ):
                raise ValueError(f"{name}={value!r} is not a whole number of at least 1")
        check_numbers(self, "burn_in", "reversals", "tolerance")
        check_numbers(self, *(name for name in ("max_time",) if self.max_time is not None), positive=True)
        for name in ("burn_in", "reversals"):
            if not getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: a share of the steps, below 1")

    def _run(self, chains: list[_Chain]) -> str | None:
        """Run the chains side by side until they agree; return why they ended before that, if so."""
        end = None if self.max_time is None else time.monotonic() + self.max_time
        try:
            while chains[0].steps < self.n_steps:
                if end is not None and time.monotonic() >= end:
                    return f"reached max_time={self.max_time}"
                target = min(chains[0].steps + _PART, int(self.n_steps))
                run_in_threads(lambda chain, target=target: chain.run(target), chains, n_jobs=self.n_jobs)
                if len(chains[0].marks) > 2 and _difference(self._shares(chains)).max(initial=0.0) <= self.tolerance:
                    return None
        except KeyboardInterrupt:
            return "was interrupted"
        shares = self._shares(chains)
        differences = _difference(shares)
        if len(chains) > 1 and 0 < self.tolerance < differences.max(initial=0.0):
            u, v = (int(i) for i in np.unravel_index(differences.argmax(), differences.shape))
            low, high = shares[:, u, v].min(), shares[:, u, v].max()
            edge = " -> ".join(repr(chains[0].names[w]) for w in (u, v))
            return (
                f"has not converged: the edge {edge} has the probability {low:.2f} in one chain and {high:.2f} in "
                f"another; n_steps={self.n_steps} is too small for these data"
            )
        return None

    def _shares(self, chains: list[_Chain]) -> FloatArray:
        """Return the share of the steps of each chain, after the burn-in, in which the graph has each edge."""
        return np.array([chain.shares(self.burn_in) for chain in chains])

    def _learned(self, chains: list[_Chain], table: Table) -> Learned:
        names = table.names
        shares = self.chain_probabilities_ = self._shares(chains)
        self.chain_scores_ = [chain.best for chain in chains]
        met = TopGraphs(_ALTERNATIVES + 1)
        for chain in chains:
            for value, parents in chain.met:
                met.add(value, parents)
        best, *others = [Structure.of(edges, table) for edges in met.edges(names)]
        mean = shares.mean(axis=0).clip(0.0, 1.0)
        probabilities = {(names[u], names[v]): float(mean[u, v]) for u, v in np.argwhere(mean > 0).tolist()}
        return Learned(best, best.cpdag(), probabilities, others, self._details(chains, shares))

    def _details(self, chains: list[_Chain], shares: FloatArray) -> Mapping[str, Any]:
        return {
            "steps": chains[0].steps,
            "largest difference between chains": float(_difference(shares).max(initial=0.0)),
            "best scores": [chain.best for chain in chains],
            "accepted changes": [chain.n_changes / max(1, chain.n_walked) for chain in chains],
            "accepted reversals": [chain.n_reversed / max(1, chain.n_reversals) for chain in chains],
        }


def _difference(shares: FloatArray) -> FloatArray:
    """Return the largest difference between chains for each edge."""
    difference: FloatArray = shares.max(axis=0) - shares.min(axis=0)
    return difference


class _Chain:
    """One chain: its current graph, and how long each edge was there.

    Attributes
    ----------
    steps : int
        The number of steps so far.
    best : float
        The best score of a graph of the chain.
    met : list of (float, parents)
        The best graphs, the last of them the best one.
    marks : list of (int, array)
        Numbers of steps, and in how many of them the graph had each edge.
    """

    def __init__(
        self,
        learner: StructureMCMC,
        evaluator: DecomposableEvaluator,
        sets: ParentSets,
        constraints: Constraints,
        seed: np.random.SeedSequence,
    ) -> None:
        n = len(constraints.table.names)
        self.names, self.evaluator, self.sets = constraints.table.names, evaluator, sets
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.required = [constraints.required_parents(v) for v in range(n)]
        self.pairs = np.array(sets.pairs, dtype=np.int64).reshape(-1, 2)
        self.share = float(learner.reversals)
        self.steps = self.n_walked = self.n_changes = self.n_reversals = self.n_reversed = 0
        self.total: IntArray = np.zeros((n, n), dtype=np.int64)
        self.since: dict[tuple[int, int], int] = {}
        self.marks = [(0, self.total.copy())]
        self.edges: BoolArray = np.zeros((n, n), dtype=bool)
        self.parents = [tuple(family) for family in self.required]
        self.best, self.met = -np.inf, list[tuple[float, list[tuple[int, ...]]]]()
        self._scatter()

    def _scatter(self) -> None:
        """Begin at a random graph."""
        value = self.evaluator.start(self.parents)
        if len(self.pairs):
            n_steps = _SCATTER * len(self.parents)
            for made in self._walk(n_steps, _HOT, n_steps).accepted:
                self.parents[made.child] = tuple(made.parents)
            value = self.evaluator.value
        for v, family in enumerate(self.parents):
            self.edges[list(family), v] = True
            self.since.update({(u, v): 0 for u in family})
        self._meet(value)

    def run(self, target: int) -> None:
        """Make steps up to a number of them, and mark how long each edge was there."""
        while self.steps < target:
            size = min(_ROUND, target - self.steps)
            n_reversals = round(self.share * size) if len(self.pairs) else 0
            if size > n_reversals:
                self._walk_on(size - n_reversals)
            for uniform in self.generator.random((n_reversals, 4)):
                self._reverse(uniform)
        total = self.total.copy()
        for edge, since in self.since.items():
            total[edge] += self.steps - since
        self.marks.append((self.steps, total))

    def _walk(self, n_steps: int, scale: float, successes: int) -> Walk:
        """Walk from the current graph."""
        walk = Walk(
            self.parents, None, self.generator, scale=scale, max_try=self.n_walked + n_steps, k=self.sets.most,
            max_success=np.iinfo(np.int64).max, tries=self.n_walked, successes=successes, pairs=self.pairs,
            required=self.required,
        )  # fmt: skip
        while walk.batch_size:
            walk.run(self.evaluator)
        return walk

    def _walk_on(self, n_steps: int) -> None:
        """Add and delete edges."""
        start, before = self.steps, self.n_walked
        if len(self.pairs):
            for made in self._walk(n_steps, 1.0, self.n_changes).accepted:
                self.steps = start + made.tries - before
                self._change({made.child: made.parents}, made.value)
                self.n_changes += 1
        self.steps, self.n_walked = start + n_steps, before + n_steps

    def _reverse(self, uniform: FloatArray) -> None:
        """Reverse an edge, unless that is rejected."""
        self.steps += 1
        self.n_reversals += 1
        changes = self.sets.reverse(self.edges, uniform)
        if changes is not None:
            self._change(changes, self.evaluator.commit(changes))
            self.n_reversed += 1

    def _change(self, changes: Mapping[int, list[int]], value: float) -> None:
        """Record new parents of some variables, in the graph after the current step."""
        for v, family in changes.items():
            for u in {*family} ^ {*self.parents[v]}:
                since = self.since.pop((u, v), None)
                if since is None:
                    self.since[u, v] = self.steps
                else:
                    self.total[u, v] += self.steps - since
                self.edges[u, v] = since is None
            self.parents[v] = tuple(family)
        self._meet(value)

    def _meet(self, value: float) -> None:
        """Keep a graph that is better than those so far."""
        if value > self.best:
            self.best = value
            self.met = [*self.met[-_ALTERNATIVES:], (value, list(self.parents))]

    def shares(self, burn_in: float) -> FloatArray:
        """Return the share of the steps after the burn-in in which the graph had each edge."""
        last, total = self.marks[-1]
        if last == 0:
            return self.edges.astype(np.float64)
        first, before = next(mark for mark in self.marks if mark[0] >= burn_in * (last - _PART))
        shares: FloatArray = (total - before) / (last - first)
        return shares
