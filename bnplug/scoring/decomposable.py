"""Decomposable scores: a sum of local terms, one for each variable and its parents.

All are computed from unsmoothed counts. Every parent set of a variable is scored on the rows in which that variable is
known; "unknown" is one more state of each parent that has missing cells. If each parent set were scored on the rows in
which all of it is known, larger sets would be scored on fewer rows, and every column with missing cells would look like
an excellent parent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby, pairwise
from math import fsum, prod
from operator import index as as_number
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

import numpy as np
from numba import config

from bnplug.compiling import kernel, run_in_threads
from bnplug.contracts import Changes, ScoreFunction, Walks
from bnplug.counts.counting import BatchCounts
from bnplug.errors import ContractError
from bnplug.scoring._batches import Walked, walk_terms
from bnplug.scoring._families import Family, counts_of
from bnplug.scoring._layout import Candidates, Toggles
from bnplug.scoring._walks import DRAWING, GO_ON, LEAPS, PHASE, SIZE, VALUE, go_on_address
from bnplug.scoring.walking import Walk
from bnplug.table.table import Table
from bnplug.typing import FloatArray

if TYPE_CHECKING:
    from bnplug.structure import Structure

_Family = tuple[int, tuple[int, ...]]

# With fewer cells to count than this in all new families together, threads cost more than they save.
_WORTH_THREADS = 1 << 21

# The most terms that `local_scores` keeps for later calls; those of the last call are always kept.
_MOST_KEPT = 1 << 20

# A walk returns to Python after so many tries: some hundredths of a second.
_WALKED_TRIES = 1 << 14

# With more possible families than this, nearly every try has to be counted, and a compiled walk gains nothing.
_MOST_WALKED = 1 << 22


class DecomposableScore(ScoreFunction):
    """A score that is the sum of :meth:`local` over all variables.

    A subclass implements :meth:`local`, from counts; each term is computed once.

    Examples
    --------
    The Akaike criterion:

    >>> import pandas as pd
    >>> class Akaike(DecomposableScore):
    ...     def local(self, table, child, parents, counts):
    ...         return log_likelihood(counts) - dimension(table, child, parents)
    >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]}), "c")
    >>> evaluator = Akaike().evaluator(table)
    >>> evaluator.start([[], []]), evaluator.propose_many([{0: [1]}]).round(2).tolist()
    (-7.54..., [-5.77])
    """

    decomposable = True

    @abstractmethod
    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: FloatArray) -> float:
        """Return the term of `child` with `parents`.

        ``counts[k, j]`` is how often state k occurs in configuration j of the parents; the configurations
        are in no particular order, and those that never occur may be omitted. Only rows in which `child` is known are
        counted. If a parent has missing cells, "unknown" is one more of its states, and ``table.cards`` includes it;
        :func:`dimension` and :func:`n_configurations` therefore count it too.
        """

    def local_batch(
        self, table: Table, child: int, parent_sets: Sequence[tuple[int, ...]], counts: BatchCounts
    ) -> Iterable[float]:
        """Return the terms of `child` with each set of parents, whose counts are in one array.

        A class that overrides both methods can compute many terms in one compiled call. If a subclass overrides
        :meth:`local` alone, that is called for each set.
        """
        tables = counts.tables(int(table.cards[child]))
        return [self.local(table, child, *pair) for pair in zip(parent_sets, tables, strict=True)]

    def local_scores(self, table: Table, families: Iterable[Sequence[int]]) -> FloatArray:
        """Return the local term of each family, which is ``(child, *parents)`` as for :meth:`bnplug.Table.counts`.

        The terms of a graph's families add up to its :meth:`score`. New families are counted together in compiled
        code, faster in large batches than one by one. Terms are kept as long as the table exists and until an
        attribute of the score is set, up to a million or those of the last request.

        Examples
        --------
        >>> import pandas as pd
        >>> from bnplug import Table, score_function
        >>> table = Table.from_frame(pd.DataFrame({"x": [0, 0, 1, 1], "c": ["n", "n", "y", "y"]}), "c")
        >>> score_function("ll").local_scores(table, [(0,), (0, 1)]).round(3).tolist()
        [-2.773, 0.0]
        """
        evaluator = DecomposableEvaluator(self, table, None)
        evaluator._terms = _kept_terms(self, table)
        return evaluator.local_scores(families)

    def score(self, table: Table, structure: Structure) -> float:
        """Return the sum of the local terms of `structure`."""
        return fsum(self.local_scores(table, [(v, *parents) for v, parents in enumerate(structure.parents)]))

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> DecomposableEvaluator:
        """Return an evaluator that caches local terms."""
        return DecomposableEvaluator(self, table, n_jobs)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if id(self) in _KEPT:
            _KEPT[id(self)].clear()


#: The terms of each child by its parents, as the bits of an integer: toggling one is one operation.
_Terms = list[dict[int, float]]

# By the identity of the score: a score may be equal to others, or unhashable.
_KEPT: dict[int, WeakKeyDictionary[Table, _Terms]] = {}


def _kept_terms(score: DecomposableScore, table: Table) -> _Terms:
    """Return the stored terms of a score on a table."""
    if id(score) not in _KEPT:
        _KEPT[id(score)] = WeakKeyDictionary()
        finalize(score, _KEPT.pop, id(score), None)
    return _KEPT[id(score)].setdefault(table, [{} for _ in table.names])


class DecomposableEvaluator(Walks):
    """Scores the neighbors of a graph by their local terms."""

    decomposable = True

    def __init__(self, score: DecomposableScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self._counts = counts_of(table)
        self._terms: _Terms = [{} for _ in table.names]
        self._walked: FloatArray = np.empty(0)
        self._local_batch = _batched(score)

    def local_scores(self, families: Iterable[Sequence[int]]) -> FloatArray:
        """Return the local term of each family, ``(child, *parents)``; terms that a search has asked for are reused."""
        n = len(self._terms)
        asked = [_checked(family, n) for family in families]
        keys = [(child, _bits(parents)) for child, *parents in asked]
        new = {family for family, (child, bits) in zip(asked, keys, strict=True) if bits not in self._terms[child]}
        if new and sum(map(len, self._terms)) + len(new) > _MOST_KEPT:
            for terms in self._terms:
                terms.clear()
            new = set(asked)
        n_jobs = self.n_jobs if len(new) * self.table.n_rows >= _WORTH_THREADS else 1
        run_in_threads(self._take_batches, self._counts.split(sorted(new)), n_jobs=n_jobs)
        return np.array([self._terms[child][bits] for child, bits in keys], dtype=np.float64)

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Add up the terms of a graph."""
        self.parents = [tuple(sorted(family)) for family in parents]
        families = list(enumerate(self.parents))
        self._take(families)
        self._now = [self._known(*family) for family in families]
        # An exact sum: the value of a graph does not depend on the path to it.
        self.value = fsum(self._now)
        return self.value

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; new terms are computed in threads."""
        self.n_evaluations += len(candidates)
        if isinstance(candidates, Toggles):
            return self._propose_toggles(candidates)
        starts, families = _families(Candidates.of(candidates))
        self._take(families)
        rises = [self._known(*family) - self._now[family[0]] for family in families]
        return np.array([self.value + sum(rises[first:last]) for first, last in pairwise(starts)], dtype=np.float64)

    def _propose_toggles(self, toggles: Toggles) -> FloatArray:
        """Return the score of every candidate, child by child, without an object for known terms."""
        children = zip(toggles.nodes.tolist(), toggles.others.tolist(), strict=True)
        runs = [(v, _bits(self.parents[v]), [u for _, u in run]) for v, run in groupby(children, itemgetter(0))]
        self._take_toggled(runs)
        terms = [self._terms[v][now ^ 1 << u] for v, now, others in runs for u in others]
        scores: FloatArray = self.value + (np.array(terms, dtype=np.float64) - np.array(self._now)[toggles.nodes])
        return scores

    def _take_toggled(self, runs: Iterable[tuple[int, int, list[int]]]) -> None:
        """Compute the unknown terms of runs (child, its current parents as bits, others that are toggled)."""
        grown: dict[int, list[int]] = {}
        families: list[_Family] = []
        for v, now, others in runs:
            known = self._terms[v]
            new = [u for u in others if now ^ 1 << u not in known]
            if new and self._is_small(v, self.parents[v]):
                grown.setdefault(v, []).extend([u for u in new if not now >> u & 1])
                new = [u for u in new if now >> u & 1]
            families += [(v, tuple(sorted({*self.parents[v]} ^ {u}))) for u in new]
        self._count(grown, families)

    def commit(self, changes: Changes) -> float:
        """Exchange the terms of the variables that change."""
        families = [(v, tuple(sorted(family))) for v, family in changes.items()]
        self._take(families)
        parents, now = self.parents.copy(), self._now.copy()
        for v, family in families:
            parents[v], now[v] = family, self._known(v, family)
        # In one statement: an interrupt never leaves half a move.
        self.parents, self._now, self.value = parents, now, fsum(now)
        return self.value

    def walk(self, walk: Walk) -> bool:
        """Continue a walk in compiled code, unless there are millions of families; count new ones in between."""
        n, k = len(self.parents), walk.k
        if config.DISABLE_JIT or n * (n + 1) ** k > _MOST_WALKED:
            return False
        if self._walked.ndim != k + 1:
            self._walked = np.full((n, *[n + 1] * k), np.nan)
        before, graph, batch, steps = walk.tries, walk.graph(), walk.room(), walk.begin(self.value, _WALKED_TRIES)
        steps.numbers[GO_ON], steps.numbers[LEAPS] = go_on_address(), 0
        current = np.array(self._now)
        walked = Walked(current, np.empty(len(batch.nodes)), np.empty(n + 1), np.zeros(2, dtype=np.int64))
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        while not walk_terms(self._walked.ravel(), n + 1, walk.target, k, walked, steps, graph, batch):
            self.parents = [graph.parents_of(v) for v in range(n)]
            drawn = candidates[: int(steps.numbers[SIZE])]
            families = [(v, tuple(parents)) for changes in drawn for v, parents in changes.items()]
            self._take(families)
            for v, parents in families:
                others = [u for u in parents if u != walk.target]
                self._walked[(v, *others, *[n] * (k - len(others)))] = term = self._known(v, parents)
                if np.isnan(term):
                    raise ContractError(f"the score of the parents { {v: list(parents)} } is nan")
        self.parents, self.value = [graph.parents_of(v) for v in range(n)], float(steps.reals[VALUE])
        self._now = [self._known(*family) for family in enumerate(self.parents)]
        if steps.numbers[PHASE] != DRAWING:
            i = int(walked.last[0])
            raise ContractError(f"the score of the parents {candidates[i]} is nan")
        walk.end(steps)
        self.n_evaluations += walk.tries - before
        return True

    def _known(self, child: int, parents: Iterable[int]) -> float:
        """Return a known term."""
        return self._terms[child][_bits(parents)]

    def _take(self, families: Iterable[_Family]) -> None:
        """Compute the unknown terms. Families with one more parent than now are counted together."""
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
        """Compute, in threads, the terms of children with one more parent, and of other families."""
        jobs = [partial(self._take_with_each, v, self.parents[v], added) for v, added in grown.items() if added]
        jobs += [
            partial(self._take_with_each, child, parents[:-1], parents[-1:])
            if parents and self._is_small(child, parents[:-1])
            else partial(self._take_batches, [(child, *parents)])
            for child, parents in others
        ]
        n_cells = (sum(map(len, grown.values())) + len(others)) * self.table.n_rows
        run_in_threads(lambda job: job(), jobs, n_jobs=self.n_jobs if n_cells >= _WORTH_THREADS else 1)

    def _is_small(self, child: int, parents: tuple[int, ...]) -> bool:
        """Return whether a family may be counted with one more parent."""
        return not self._counts.is_large((child, *parents))

    def _take_with_each(self, child: int, parents: tuple[int, ...], added: Sequence[int]) -> None:
        """Compute the terms of `child` with `parents` and each one of `added`."""
        families = [tuple(sorted((*parents, u))) for u in added]
        self._add_terms(child, families, self._counts.count_with_each(child, parents, added))

    def _take_batches(self, families: Sequence[Family]) -> None:
        """Compute the terms of a part of new families."""
        for child, batch, counts in self._counts.batches(families):
            self._add_terms(child, batch, counts)

    def _add_terms(self, child: int, families: Sequence[tuple[int, ...]], counts: BatchCounts) -> None:
        terms = self._local_batch(self._counts.view(child), child, families, counts)
        values = np.asarray(terms, dtype=np.float64).tolist()
        self._terms[child].update(zip(map(_bits, families), values, strict=True))


def _bits(parents: Iterable[int]) -> int:
    """Return a set of variables as the bits of an integer."""
    bits = 0
    for p in parents:
        bits |= 1 << p
    return bits


def _checked(family: Sequence[int], n: int) -> Family:
    """Return a family of n variables with its parents in ascending order."""
    try:
        numbers = [as_number(v) for v in family]
    except TypeError:
        raise TypeError(f"a family is (child, *parents), the positions of variables, not {family!r}") from None
    if not numbers or min(numbers) < 0 or max(numbers) >= n or len({*numbers}) < len(numbers):
        raise ValueError(f"family {numbers}: expected a child and its parents, distinct numbers from 0 to {n - 1}")
    return (numbers[0], *sorted(numbers[1:]))


def _batched(score: DecomposableScore) -> Callable[..., Iterable[float]]:
    """Return how a score takes the terms of many families: together, unless its `local` is of a later class."""
    one, batch = (next(base for base in type(score).__mro__ if name in vars(base)) for name in ("local", "local_batch"))
    return score.local_batch if issubclass(batch, one) else partial(DecomposableScore.local_batch, score)


def _families(candidates: Candidates) -> tuple[list[int], list[_Family]]:
    """Return the start of each candidate's families and the end of the last, and all families."""
    bounds, parents = candidates.bounds.tolist(), candidates.parents.tolist()
    first, last = int(candidates.starts[0]), int(candidates.starts[-1])
    nodes = candidates.nodes[first:last].tolist()
    families = [(v, tuple(sorted(parents[bounds[j] : bounds[j + 1]]))) for j, v in enumerate(nodes, first)]
    return (candidates.starts - first).tolist(), families


def log_likelihood(counts: FloatArray) -> float:
    """Return the sum of N_ijk log (N_ijk / N_ij) over counts (states, configurations)."""
    return float(_log_likelihood(counts))


def log_likelihood_batch(n_states: int, counts: BatchCounts) -> FloatArray:
    """Return the same of many tables of a child with so many states."""
    terms = np.empty(len(counts.starts))
    _log_likelihoods(counts.cells, counts.starts, counts.stops, n_states, terms)
    return terms


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
def _log_likelihoods(cells, starts, stops, n_states, terms):  # type: ignore[no-untyped-def]
    """Fill `terms` with the log-likelihood of each table, whose cells are those from its start to its stop."""
    for i in range(terms.shape[0]):
        terms[i] = _log_likelihood(cells[starts[i] : stops[i]].reshape(n_states, (stops[i] - starts[i]) // n_states))
