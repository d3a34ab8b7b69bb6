"""Decomposable scores: a sum of local terms, one for each variable and its parents.

All are computed from unsmoothed counts. Every parent set of a variable is scored on the rows in which that variable is
known; "unknown" is one more state of each parent that has missing cells. If each parent set were scored on the rows in
which all of it is known, larger sets would be scored on fewer rows, and every column with missing cells would look like
an excellent parent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import groupby, pairwise
from math import fsum, prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import config

from bnplug.compiling import kernel, run_in_threads
from bnplug.contracts import Changes, Evaluator, ScoreFunction
from bnplug.counts.counting import CountsWithEach, count_occurring, lay_out_with_each
from bnplug.errors import ContractError
from bnplug.scoring._batches import Terms, Walked, walk_terms
from bnplug.scoring._layout import Candidates, Toggles
from bnplug.scoring._walks import DRAWING, GO_ON, LEAPS, PHASE, SIZE, VALUE, go_on_address
from bnplug.scoring.walking import Walk
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import ConvertedStore, Rows
from bnplug.table.coding import smallest_dtype
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.typing import DAG

_Family = tuple[int, tuple[int, ...]]

# With fewer cells to count than this in all new families together, threads cost more than they save.
_WORTH_THREADS = 1 << 21

# A family with more cells is counted separately, by the configurations that occur.
_COUNTED_TOGETHER = 1 << 16

# A walk returns to Python after so many tries: some hundredths of a second.
_WALKED_TRIES = 1 << 14


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

        A class that overrides both methods can compute them together, which is faster. If a subclass overrides
        :meth:`local` alone, that is called for each.
        """
        families = [tuple(sorted((*parents, u))) for u in others]
        tables = counts.tables(int(table.cards[child]))
        return [self.local(table, child, *pair) for pair in zip(families, tables, strict=True)]

    def score(self, table: Table, dag: DAG) -> float:
        """Return the sum of the local terms of `dag`."""
        return self.evaluator(table).start(table.parents(dag))

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> DecomposableEvaluator:
        """Return an evaluator that caches local terms."""
        return DecomposableEvaluator(self, table, n_jobs)


class DecomposableEvaluator(Evaluator):
    """Scores the neighbors of a graph by their local terms."""

    decomposable = True

    def __init__(self, score: DecomposableScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self._counts = _FamilyCounts(table)
        # For each child, by its parents as the bits of an integer: toggling one is one operation.
        self._terms: list[dict[int, float]] = [{} for _ in table.names]
        self._looked_up: Terms | None = None
        self._local_with_each = _with_each(score)

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Add up the terms of a graph."""
        self.parents = [tuple(sorted(family)) for family in parents]
        families = list(enumerate(self.parents))
        self._take(families)
        self._now = [self._known(*family) for family in families]
        # An exact sum: the value of a graph does not depend on the path to it.
        self.value = fsum(self._now)
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score with other terms for the variables that change."""
        return float(self.propose_many([changes])[0])

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
        """Continue a walk in compiled code; new terms are computed in between, a batch at a time."""
        n, k = len(self.parents), walk.k
        if config.DISABLE_JIT or not Terms.fit(n, k):
            return False
        if self._looked_up is None or self._looked_up.k != k:
            self._looked_up = Terms(n, walk.target, k)
        terms, before = self._looked_up, walk.tries
        graph, batch, steps = walk.graph(), walk.room(), walk.begin(self.value, _WALKED_TRIES)
        steps.numbers[GO_ON], steps.numbers[LEAPS] = go_on_address(), 0
        current = np.array(self._now)
        walked = Walked(current, np.empty(len(batch.nodes)), np.empty(n + 1), np.zeros(3, dtype=np.int64))
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        while not walk_terms(
            terms.codes, terms.values, terms.shift, n + 1, walk.target, k, walked, steps, graph, batch
        ):
            self.parents = [graph.parents_of(v) for v in range(n)]
            drawn = candidates[: int(steps.numbers[SIZE])]
            families = [(v, tuple(parents)) for changes in drawn for v, parents in changes.items()]
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
            else partial(self._take_one, child, parents)
            for child, parents in others
        ]
        n_cells = (sum(map(len, grown.values())) + len(others)) * self.table.n_rows
        run_in_threads(lambda job: job(), jobs, n_jobs=self.n_jobs if n_cells >= _WORTH_THREADS else 1)

    def _is_small(self, child: int, parents: tuple[int, ...]) -> bool:
        """Return whether a family may be counted with one more parent."""
        return n_configurations(self._counts.table, (child, *parents)) <= _COUNTED_TOGETHER

    def _take_with_each(self, child: int, parents: tuple[int, ...], added: Sequence[int]) -> None:
        """Compute the terms of `child` with `parents` and each one of `added`."""
        counts = self._counts.count_with_each(child, parents, added)
        terms = self._local_with_each(self._counts.views[child], child, parents, added, counts)
        before = _bits(parents)
        keys = [before | 1 << u for u in added]
        self._terms[child].update(zip(keys, np.asarray(terms, dtype=np.float64).tolist(), strict=True))

    def _take_one(self, child: int, parents: tuple[int, ...]) -> None:
        counts = self._counts.count(child, parents)
        self._terms[child][_bits(parents)] = float(self.score.local(self._counts.views[child], child, parents, counts))


class _FamilyCounts:
    """Counts of a child and its parents over the rows in which the child is known.

    In `table`, "unknown" is the last state of every variable that has missing cells. A child's families are scored with
    ``views[child]``, whose `cards` include the unknown states of parents.
    """

    def __init__(self, table: Table) -> None:
        self._incomplete = table.has_missing
        self.table = _with_unknown_states(table, self._incomplete) if self._incomplete.any() else table
        self.views = [table if self.table is table else self._view(table, v) for v in range(len(table.names))]

    def _view(self, table: Table, child: int) -> Table:
        view = copy(table)
        view.cards = self.table.cards.copy()
        view.cards[child] = table.cards[child]
        return view

    def count(self, child: int, parents: Sequence[int]) -> FloatArray:
        """Count the states of `child` in the configurations of its parents, as an array (child, configurations)."""
        counts = count_occurring(self.table, child, parents)[0]
        return counts[:-1] if self._incomplete[child] else counts

    def count_with_each(self, child: int, parents: Sequence[int], others: Sequence[int]) -> CountsWithEach:
        """Count `child` with `parents` and one more parent, for each of `others`."""
        cells, starts, stops = lay_out_with_each(self.table, child, parents, others)
        if self._incomplete[child]:  # omit its unknown state, the last part of each table
            stops = stops - (stops - starts) // int(self.table.cards[child])
        return CountsWithEach(cells, starts, stops)


def _with_unknown_states(table: Table, incomplete: npt.NDArray[np.bool_]) -> Table:
    """Return a table with one more state for the missing cells of each incomplete variable."""
    states = {
        name: (*table.states[name], "unknown") if has_missing else table.states[name]
        for name, has_missing in zip(table.names, incomplete, strict=True)
    }
    dtype = smallest_dtype(table.cards + incomplete)
    if isinstance(table, BlockTable):
        store = ConvertedStore(table.store, _name_unknown, table.cards, dtype)
        return BlockTable(store, table.names, states, table.target, table.left_out, checked=True)
    codes, weights, _ = _name_unknown(Rows(table.codes, table.weights), table.cards, dtype)
    return Table(codes, table.names, states, table.target, weights, table.left_out)


def _name_unknown(rows: Rows, cards: IntArray, dtype: np.dtype[Any]) -> Rows:
    """Replace the code of missing cells, which is above all others, by the first code after the states."""
    codes = rows.codes.astype(dtype, copy=False)
    return Rows(np.minimum(codes, cards.astype(dtype)[:, None]), rows.weights)


def _bits(parents: Iterable[int]) -> int:
    """Return a set of variables as the bits of an integer."""
    bits = 0
    for p in parents:
        bits |= 1 << p
    return bits


def _with_each(score: DecomposableScore) -> Callable[..., Iterable[float]]:
    """Return how a score takes the terms of many families: together, unless its `local` is of a later class."""
    one, each = (
        next(base for base in type(score).__mro__ if name in vars(base)) for name in ("local", "local_with_each")
    )
    return score.local_with_each if issubclass(each, one) else partial(DecomposableScore.local_with_each, score)


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


def log_likelihood_with_each(n_states: int, counts: CountsWithEach) -> FloatArray:
    """Return the same of many tables of a child with so many states."""
    terms = np.empty(len(counts.starts))
    _log_likelihoods(*counts, n_states, terms)
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
