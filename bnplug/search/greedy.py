"""Greedy search: the current graph, its trace, limits, progress, and the best move.

A step begins, chooses among candidates, and commits; a search is a loop over steps. It may try an alternative, and
adopts it if it ends higher. A search that is interrupted, or runs out of time, keeps the best graph so far.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from math import inf, isfinite

import numpy as np

from bnplug.contracts import Changes, Evaluator, PrefersLargeBatches, begin_step
from bnplug.errors import ContractError, SearchInterruptedWarning, SearchWarning
from bnplug.typing import FloatArray

# Relative to the score. Gains below it come from the order of summation: a reversal between equivalent
# graphs gains exactly nothing, and without a margin could be made and undone endlessly.
_TIE = 1e-12

# Candidates that are scored at once, unless an evaluator prefers large batches: enough to keep threads busy, few enough
# to check the clock in between.
_BATCH = 256

# The number of graphs that TopGraphs keeps.
_MOST = 100

# Seconds between two lines of Progress, unless every move has one.
_PAUSE = 1.0


_Graph = tuple[tuple[int, ...], ...]


class GreedySearch:
    """The state of a greedy search.

    Parameters
    ----------
    evaluator : Evaluator
        Scores the candidates.
    parents : sequence of iterables of int
        The graph to start from.
    label : str
        What runs, for messages.
    max_time : float, optional
        Seconds after which the search ends, with a warning, before its next batch of candidates.
    verbose : int, optional
        See :class:`~bnplug.search.Progress`.

    Attributes
    ----------
    parents : list of list of int
        The current graph.
    trace : list of float
        The score of the start, and after each move that led to `parents`.
    moves : list of str
        These moves, in words.
    evaluations : list of int
        How many candidates had been scored at each entry of `trace`.
    last_of_ties : bool
        Whether the last of tied candidates is taken, and not the first.
    met : TopGraphs
        The best graphs that the search was at, trials included.

    Examples
    --------
    A search that takes the first feature as a parent of the others if that improves the score::

        search = GreedySearch(evaluator, naive_bayes, "star")
        with search.running():
            for v in features[1:]:
                value = search.begin()
                changes = {v: [c, features[0]]}
                if search.best([changes], value) is not None:
                    search.commit(changes, f"star {v}")
    """

    def __init__(
        self,
        evaluator: Evaluator,
        parents: Sequence[Iterable[int]],
        label: str,
        max_time: float | None = None,
        verbose: int | None = None,
    ) -> None:
        if max_time is not None and not max_time > 0:
            raise ValueError(f"max_time={max_time}: give a positive number of seconds, or None for no limit")
        self.evaluator = evaluator
        self.label = label
        self.max_time = max_time
        self.last_of_ties = False
        self.met = TopGraphs()
        self._start = [sorted(family) for family in parents]
        self._deadline = None if max_time is None else time.monotonic() + max_time
        self._progress = Progress(label, verbose)
        self._begin_at_start()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the steps inside; an interrupt, or the end of the time, ends them with a warning."""
        why, category = None, SearchWarning
        try:
            yield
        except KeyboardInterrupt:
            why, category = "was interrupted", SearchInterruptedWarning
        except _TimeUpError:
            why = f"reached max_time={self.max_time}"
        self._progress.report(*self._state())
        if why:
            message = f"{self.label} {why}; the best graph so far is returned, {len(self.moves)} moves from the start"
            warnings.warn(message, category, stacklevel=4)

    @contextmanager
    def trial(self, again: bool) -> Iterator[GreedySearch]:
        """Yield a search that tries another way; its result is adopted if it ends higher.

        If `again`, it begins at the start, and its moves replace all moves so far; if not, it begins at the current
        graph, and its moves together count as one.
        """
        other = copy(self)
        if not again:
            other._start = list(self.parents)
        other._begin_at_start()
        try:
            yield other
        finally:
            if other.trace[-1] <= self.trace[-1] + score_tie(self.trace[-1]):
                self.evaluator.start(self.parents)
            elif again:
                self._reach(other.parents, other.trace, other.moves, other.evaluations)
            else:
                self._append(other.parents, other.trace[-1], ", ".join(other.moves), other.evaluations[-1])

    def _begin_at_start(self) -> None:
        value = float(self.evaluator.start(self._start))
        self._reach(list(self._start), [value], [], [self.evaluator.n_evaluations])
        self.met.add(value, self.parents)

    def _append(self, parents: list[list[int]], value: float, move: str, evaluations: int) -> None:
        """Record where a move led, and after how many evaluations."""
        self._reach(parents, [*self.trace, value], [*self.moves, move], [*self.evaluations, evaluations])

    def _reach(self, parents: list[list[int]], trace: list[float], moves: list[str], evaluations: list[int]) -> None:
        # In one statement: an interrupt never leaves half a move.
        self.parents, self.trace, self.moves, self.evaluations = parents, trace, moves, evaluations

    def begin(self) -> float:
        """Begin a step; return the current graph's score for it."""
        return begin_step(self.evaluator)

    def best(self, candidates: Sequence[Changes], value: float, improve: bool = True) -> int | None:
        """Return which candidate has the highest score; None if there is none.

        If `improve`, it must be strictly better than the current graph, whose score is `value`.
        """
        least = value if improve else -np.inf
        scores = np.full(len(candidates), -np.inf)
        for batch in self._batches(len(candidates)):
            scores[batch] = self._scores(candidates[batch], least if isfinite(least) else None)
            # Scores below the best so far may be dropped; ties may not.
            highest = float(scores[batch].max())
            least = max(least, highest - score_tie(highest))
        return self.choose(scores, value if improve else None)

    def choose(self, scores: FloatArray, value: float | None) -> int | None:
        """Return the position of the highest score; None unless it is above `value`, if given."""
        if not self.last_of_ties:
            return first_best(scores, value)
        from_end = first_best(scores[::-1], value)
        return None if from_end is None else len(scores) - 1 - from_end

    def propose(self, candidates: Sequence[Changes]) -> FloatArray:
        """Return the score of every candidate."""
        scores = np.empty(len(candidates))
        for batch in self._batches(len(candidates)):
            scores[batch] = self._scores(candidates[batch], None)
        return scores

    def _scores(self, batch: Sequence[Changes], at_least: float | None) -> FloatArray:
        """Return the scores of one batch; a score below `at_least` may be ``-inf``."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise _TimeUpError
        scores = np.asarray(self.evaluator.propose_many(batch, at_least=at_least), dtype=np.float64)
        self._progress.tick(*self._state())
        for i in np.flatnonzero(np.isnan(scores)).tolist():
            raise ContractError(f"{self.label}: the score of the parents {dict(batch[i])} is nan")
        return scores

    def _batches(self, n: int) -> Iterator[slice]:
        """Yield the slices of n candidates that are scored at once."""
        size = max(1, n) if isinstance(self.evaluator, PrefersLargeBatches) and self._deadline is None else _BATCH
        return (slice(low, low + size) for low in range(0, n, size))

    def commit(self, changes: Changes, move: str) -> None:
        """Make a move, given as new parents and in words."""
        value = float(self.evaluator.commit(changes))
        parents = self.parents.copy()
        for v, family in changes.items():
            parents[v] = sorted(family)
        self._append(parents, value, move, self.evaluator.n_evaluations)
        self.met.add(value, parents)
        self._progress.moved(*self._state(), move)

    def _state(self) -> tuple[int, float, int]:
        return len(self.moves), self.trace[-1], self.evaluator.n_evaluations


class _TimeUpError(Exception):
    """The search has used up its time."""


def score_tie(value: float) -> float:
    """Return how far two scores near `value` may differ and still be tied.

    Examples
    --------
    >>> score_tie(0.5), score_tie(-2000.0)
    (1e-12, 2e-09)
    """
    return _TIE * max(1.0, abs(value)) if isfinite(value) else 0.0


def first_best(scores: FloatArray, value: float | None = None) -> int | None:
    """Return the position of the highest score, the first of tied ones; None unless it is above `value`, if given.

    Examples
    --------
    >>> first_best(np.array([0.1, 0.3, 0.2, 0.3]), 0.2)
    1
    >>> first_best(np.array([0.1, 0.2]), 0.2) is None
    True
    """
    if not len(scores):
        return None
    highest = float(scores.max())
    if value is not None and not highest > value + score_tie(value):
        return None
    return int(np.argmax(scores >= highest - score_tie(highest)))


class TopGraphs:
    """The best graphs of a search, each once, with its highest score.

    Parameters
    ----------
    most : int
        The number of graphs that are kept.

    Examples
    --------
    >>> met = TopGraphs()
    >>> for score, parents in [(0.1, [[], []]), (0.3, [[1], []]), (0.2, [[], [0]])]:
    ...     met.add(score, parents)
    >>> met.edges(["a", "b"])
    [[('b', 'a')], [('a', 'b')], []]
    """

    def __init__(self, most: int = _MOST) -> None:
        self.most = most
        self._scores: dict[_Graph, float] = {}
        # Lower scores are not among the best.
        self._least = -inf

    def add(self, score: float, parents: Sequence[Iterable[int]]) -> None:
        """Add a graph, given by the parents of every variable."""
        if score < self._least:
            return
        graph = tuple(map(tuple, map(sorted, parents)))
        self._scores[graph] = max(score, self._scores.get(graph, score))
        if len(self._scores) > 2 * self.most:
            self._scores = {kept: self._scores[kept] for kept in self._best()}
            self._least = min(self._scores.values())

    def edges(self, names: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the edges ``(parent, child)`` of every graph, by name, the best graph first."""
        return [
            [(names[parent], names[child]) for child, parents in enumerate(graph) for parent in parents]
            for graph in self._best()
        ]

    def _best(self) -> list[_Graph]:
        return sorted(self._scores, key=lambda graph: -self._scores[graph])[: self.most]


class Progress:
    """Writes progress lines to the standard error stream; silent unless `verbose`.

    Parameters
    ----------
    label : str
        The first word of every line.
    verbose : int, optional
        1: about one line per second, and one at the end; 2 and more: also a line for every move.
    """

    def __init__(self, label: str, verbose: int | None) -> None:
        self.label = label
        self.verbose = verbose or 0
        self.started = self._last = time.monotonic()

    def tick(self, moves: int, score: float, evaluations: int) -> None:
        """Report progress, unless that was done less than a second ago."""
        if self.verbose and time.monotonic() - self._last >= _PAUSE:
            self.report(moves, score, evaluations)

    def moved(self, moves: int, score: float, evaluations: int, move: str) -> None:
        """Report a move."""
        if self.verbose > 1:
            self.report(moves, score, evaluations, f": {move}")
        else:
            self.tick(moves, score, evaluations)

    def report(self, moves: int, score: float, evaluations: int, ending: str = "") -> None:
        """Write a line now, unless silent."""
        if not self.verbose:
            return
        self._last = time.monotonic()
        rate = evaluations / max(self._last - self.started, 1e-9)
        counts = f"{moves} moves, score {score:.6g}, {evaluations} evaluations, {rate:.0f} per second"
        print(f"{self.label}: {counts}{ending}", file=sys.stderr, flush=True)
