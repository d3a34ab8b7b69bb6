"""Decomposable scores: a sum of local terms, one for each variable and its parents.

All are computed from unsmoothed counts. Every parent set of a variable is scored on the rows in which that variable is
known; "unknown" is one more state of each parent that has missing cells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby, pairwise
from math import fsum, prod
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.compiling import kernel, run_in_threads
from bnplug.contracts import Changes, Evaluator, ScoreFunction
from bnplug.counts.counting import CountsWithEach
from bnplug.data.table import Table
from bnplug.errors import ContractError
from bnplug.scoring._candidates import Candidates, FlatGraph, Toggles
from bnplug.scoring._family_counts import FamilyCounts
from bnplug.scoring._terms import Terms, Walked, walk_terms
from bnplug.scoring._walks import DRAWING, PHASE, SIZE, VALUE
from bnplug.scoring.walking import Walk, _can_be_compiled, _room_in

if TYPE_CHECKING:
    from bnplug.typing import DAG

_Family = tuple[int, tuple[int, ...]]

# With fewer cells to count than this in all new families together, threads cost more than they save.
_WORTH_THREADS = 1 << 21

# A family with more cells is counted on its own, by the configurations that occur.
_COUNTED_TOGETHER = 1 << 16

# A walk comes back to Python after so many tries: some hundredths of a second.
_WALKED_TRIES = 1 << 14


class DecomposableScore(ScoreFunction):
    """A score that is the sum of :meth:`local` over all variables.

    A subclass writes :meth:`local`, from counts; each term is then taken once only.

    Examples
    --------
    The Akaike criterion, from the log-likelihood of the core:

    >>> import pandas as pd
    >>> class Akaike(DecomposableScore):
    ...     def local(self, table, child, parents, counts):
    ...         return log_likelihood(counts) - dimension(table, child, parents)
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]}), "c")
    >>> evaluator = Akaike().evaluator(table)
    >>> evaluator.start([[], []]), evaluator.propose({0: [1]})
    (-7.54..., -5.77...)
    """

    @abstractmethod
    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return the term of `child` with `parents`.

        ``counts[k, j]`` is how often state k occurs in configuration j of the parents; the configurations
        are in no particular order, and those that never occur may be omitted. Only rows in which `child` is known are
        counted. If a parent has missing cells, "unknown" is one more of its states, and ``table.cards`` includes it;
        :func:`dimension` and :func:`n_configurations` therefore count it too.
        """

    def local_with_each(
        self, table: Table, child: int, parents: tuple[int, ...], others: Sequence[int], counts: CountsWithEach
    ) -> Iterable[float]:
        """Return the terms of `child` with `parents` and one more, for each of `others`.

        A class that has :meth:`local` too may take them together, which is quicker; where a subclass has another
        :meth:`local`, that is asked for every one.
        """
        families = [tuple(sorted((*parents, u))) for u in others]
        tables = counts.tables(int(table.cards[child]))
        return [self.local(table, child, own, found) for own, found in zip(families, tables, strict=True)]

    def score(self, table: Table, dag: DAG) -> float:
        """Return the sum of the local terms of `dag`."""
        return self.evaluator(table).start(table.parents(dag))

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> DecomposableEvaluator:
        """Return an evaluator that keeps every local term it has taken."""
        return DecomposableEvaluator(self, table, n_jobs)


class DecomposableEvaluator(Evaluator):
    """Scores the neighbours of a graph by their local terms."""

    #: Tells a search that what a change gains stays true until one of its families changes.
    decomposable = True

    def __init__(self, score: DecomposableScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self._counts = FamilyCounts(table)
        # Of each child, by its parents as the bits of a whole number: one more or less is one operation.
        self._terms: list[dict[int, float]] = [{} for _ in table.names]
        self._looked_up: Terms | None = None
        self._local_with_each = _with_each(score)

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Add up the terms of a graph."""
        self.parents = [tuple(sorted(own)) for own in parents]
        families = list(enumerate(self.parents))
        self._take(families)
        self._now = [self._known(*family) for family in families]
        # An exact sum: the value of a graph does not depend on the way that led to it.
        self.value = fsum(self._now)
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score with other terms for the variables that change."""
        return float(self.propose_many([changes])[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; terms not seen before are taken in threads."""
        self.n_evaluations += len(candidates)
        if isinstance(candidates, Toggles):
            return self._propose_toggles(candidates)
        starts, families = _families(Candidates.of(candidates))
        self._take(families)
        rises = [self._known(*family) - self._now[family[0]] for family in families]
        return np.array([self.value + sum(rises[first:last]) for first, last in pairwise(starts)], dtype=np.float64)

    def _propose_toggles(self, toggles: Toggles) -> FloatArray:
        """Return the score of every candidate, child by child: terms that are known make no object."""
        children = zip(toggles.nodes.tolist(), toggles.others.tolist(), strict=True)
        runs = [(v, _bits(self.parents[v]), [u for _, u in run]) for v, run in groupby(children, itemgetter(0))]
        self._take_toggled(runs)
        terms = [self._terms[v][now ^ 1 << u] for v, now, others in runs for u in others]
        scores: FloatArray = self.value + (np.array(terms, dtype=np.float64) - np.array(self._now)[toggles.nodes])
        return scores

    def _take_toggled(self, runs: Iterable[tuple[int, int, list[int]]]) -> None:
        """Take the terms, not known yet, of children with one of some others less among the parents, or one more.

        runs : child, its parents of now as bits, others
        """
        grown: dict[int, list[int]] = {}
        families: list[_Family] = []
        for v, now, others in runs:
            known = self._terms[v]
            new = [u for u in others if now ^ 1 << u not in known]
            if new and self._is_small(v, self.parents[v]):
                grown.setdefault(v, []).extend([u for u in new if not now >> u & 1])
                new = [u for u in new if now >> u & 1]
            families += [(v, _toggled(self.parents[v], u)) for u in new]
        self._count(grown, families)

    def commit(self, changes: Changes) -> float:
        """Exchange the terms of the variables that change."""
        families = [(v, tuple(sorted(own))) for v, own in changes.items()]
        self._take(families)
        parents, now = self.parents.copy(), self._now.copy()
        for v, own in families:
            parents[v], now[v] = own, self._known(v, own)
        # Together: an interrupt finds no half of a move.
        self.parents, self._now, self.value = parents, now, fsum(now)
        return self.value

    def walk(self, walk: Walk) -> bool:
        """Go on with a walk in compiled code; terms not seen before are taken in between, a batch of them together."""
        n, k = len(self.parents), walk.k
        if not _can_be_compiled() or not Terms.fit(n, k):
            return False
        if self._looked_up is None or self._looked_up.k != k:
            self._looked_up = Terms(n, walk.target, k)
        terms, before = self._looked_up, walk.tries
        graph, batch, steps = (
            _room_in(FlatGraph.of(self.parents), k),
            walk.room(),
            walk.begin(self.value, _WALKED_TRIES),
        )
        current = np.array(self._now)
        walked = Walked(current, np.empty(len(batch.nodes)), np.empty(n + 1), np.zeros(3, dtype=np.int64))
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        while not walk_terms(
            terms.codes, terms.values, terms.shift, n + 1, walk.target, k, walked, steps, graph, batch
        ):
            self.parents = [graph.parents_of(v) for v in range(n)]
            drawn = candidates[: int(steps.numbers[SIZE])]
            families = [(v, tuple(own)) for changes in drawn for v, own in changes.items()]
            self._take(families)
            for family in families:
                terms.add(*family, self._known(*family))
        self.parents, self.value = [graph.parents_of(v) for v in range(n)], float(steps.reals[VALUE])
        self._now = [self._known(*family) for family in enumerate(self.parents)]
        if steps.numbers[PHASE] != DRAWING:
            i = int(walked.last[0])
            raise ContractError(f"the score of the parents {candidates[i]} is nan")
        walk.end(steps)
        self.n_evaluations += walk.tries - before
        return True

    def _known(self, child: int, parents: Iterable[int]) -> float:
        """Return a term that was taken."""
        return self._terms[child][_bits(parents)]

    def _take(self, families: Iterable[_Family]) -> None:
        """Take the terms not known yet. Families with one parent more than now are counted together."""
        grown: dict[int, list[int]] = {}
        others: list[_Family] = []
        new = [(child, parents) for child, parents in families if _bits(parents) not in self._terms[child]]
        for child, parents in dict.fromkeys(new):
            now = self.parents[child]
            added = set(parents).difference(now)
            if len(added) == 1 and len(parents) == len(now) + 1 and self._is_small(child, now):
                grown.setdefault(child, []).extend(added)
            else:
                others.append((child, parents))
        self._count(grown, others)

    def _count(self, grown: dict[int, list[int]], others: list[_Family]) -> None:
        """Take the terms of children with one parent more, each of those given, and of other families, in threads."""
        jobs = [partial(self._take_with_each, v, self.parents[v], added) for v, added in grown.items() if added]
        jobs += [
            partial(self._take_with_each, child, own[:-1], own[-1:])
            if own and self._is_small(child, own[:-1])
            else partial(self._take_one, child, own)
            for child, own in others
        ]
        if not jobs:
            return
        rows = (sum(map(len, grown.values())) + len(others)) * self.table.n_rows
        if rows >= _WORTH_THREADS:
            run_in_threads(lambda job: job(), jobs, n_jobs=self.n_jobs)
            return
        for job in jobs:
            job()

    def _is_small(self, child: int, parents: tuple[int, ...]) -> bool:
        """Say whether a family may be counted with one parent more."""
        return n_configurations(self._counts.table, (child, *parents)) <= _COUNTED_TOGETHER

    def _take_with_each(self, child: int, parents: tuple[int, ...], added: Sequence[int]) -> None:
        """Take the terms of `child` with `parents` and each one of `added`."""
        counts = self._counts.count_with_each(child, parents, added)
        terms = self._local_with_each(self._counts.view(child), child, parents, added, counts)
        before = _bits(parents)
        keys = [before | 1 << u for u in added]
        self._terms[child].update(zip(keys, np.asarray(terms, dtype=np.float64).tolist(), strict=True))

    def _take_one(self, child: int, parents: tuple[int, ...]) -> None:
        counts = self._counts.count(child, parents)
        self._terms[child][_bits(parents)] = float(self.score.local(self._counts.view(child), child, parents, counts))


def _toggled(parents: tuple[int, ...], u: int) -> tuple[int, ...]:
    """Return parents without u, if it is one of them, or with it."""
    return tuple(p for p in parents if p != u) if u in parents else tuple(sorted((*parents, u)))


def _bits(parents: Iterable[int]) -> int:
    """Return a set of variables as the bits of a whole number."""
    bits = 0
    for p in parents:
        bits |= 1 << p
    return bits


def _with_each(score: DecomposableScore) -> Callable[..., Iterable[float]]:
    """Return how a score takes the terms of many families: together, unless its `local` is of a later class."""
    one, each = (next(own for own in type(score).__mro__ if name in vars(own)) for name in ("local", "local_with_each"))
    return score.local_with_each if issubclass(each, one) else partial(DecomposableScore.local_with_each, score)


def _families(candidates: Candidates) -> tuple[list[int], list[_Family]]:
    """Return where each candidate's families begin, and where the last end, and all of them one after the other."""
    bounds, parents = candidates.bounds.tolist(), candidates.parents.tolist()
    first, last = int(candidates.starts[0]), int(candidates.starts[-1])
    nodes = candidates.nodes[first:last].tolist()
    families = [(v, tuple(sorted(parents[bounds[j] : bounds[j + 1]]))) for j, v in enumerate(nodes, first)]
    return (candidates.starts - first).tolist(), families


def log_likelihood(counts: FloatArray) -> float:
    """Return the sum of N_ijk log (N_ijk / N_ij) over counts (states, configurations)."""
    return float(_log_likelihood(counts))


def log_likelihood_with_each(n_states: int, counts: CountsWithEach) -> FloatArray:
    """Return the same of many tables of a child with so many states."""
    found = np.empty(len(counts.starts))
    _log_likelihoods(*counts, n_states, found)
    return found


def dimension(table: Table, child: int, parents: Sequence[int]) -> int:
    """Return the number of free parameters of a family: (states - 1) x parent configurations."""
    return (int(table.cards[child]) - 1) * n_configurations(table, parents)


def n_configurations(table: Table, variables: Sequence[int]) -> int:
    """Return the number of joint states of some variables, whether they occur or not."""
    return prod(int(table.cards[v]) for v in variables)


@kernel
def _log_likelihood(counts):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(counts.shape[1]):
        of_column = 0.0
        for k in range(counts.shape[0]):
            if counts[k, j] > 0:
                total += counts[k, j] * np.log(counts[k, j])
                of_column += counts[k, j]
        if of_column > 0:
            total -= of_column * np.log(of_column)
    return total


@kernel
def _log_likelihoods(cells, starts, stops, n_states, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the log-likelihood of each table, whose cells are those from its start to its stop."""
    for i in range(found.shape[0]):
        found[i] = _log_likelihood(cells[starts[i] : stops[i]].reshape(n_states, (stops[i] - starts[i]) // n_states))
