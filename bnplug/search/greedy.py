"""What every greedy search has in common: the current graph, its trace, limits, progress, and the best move.

A step begins, chooses among candidates, and commits; a search is a loop over steps. It may try another
way, and takes it over where that ends higher. A search that is interrupted, or runs out of time, keeps the
best graph it has.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from math import isfinite
from typing import NamedTuple

import numpy as np

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes, Evaluator
from bnplug.errors import ContractError, SearchInterruptedWarning, SearchWarning
from bnplug.search.met import BestMet
from bnplug.search.progress import Progress

# Relative to the score. Gains below it come from the order of summation: a reversal between equivalent
# graphs gains exactly nothing, and without a margin could be made and undone endlessly.
_TIE = 1e-12

# Candidates scored at once, unless an evaluator takes all: enough to keep threads busy, few enough to look at the clock
# in between.
_BATCH = 256


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
    met : BestMet
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

    _reached: _Reached

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
        self.met = BestMet()
        self._start = [sorted(own) for own in parents]
        self._deadline = None if max_time is None else time.monotonic() + max_time
        self._progress = Progress(label, verbose)
        self._begin_at_start()

    @property
    def parents(self) -> list[list[int]]:
        """The current graph."""
        return self._reached.parents

    @property
    def trace(self) -> list[float]:
        """The score of the start, and after each move."""
        return self._reached.trace

    @property
    def moves(self) -> list[str]:
        """The moves, in words."""
        return self._reached.moves

    @property
    def evaluations(self) -> list[int]:
        """How many candidates had been scored at the start, and after each move."""
        return self._reached.evaluations

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
        self._progress.tell(*self._state())
        if why:
            message = f"{self.label} {why}; the best graph so far is returned, {len(self.moves)} moves from the start"
            warnings.warn(message, category, stacklevel=4)

    @contextmanager
    def trial(self, again: bool) -> Iterator[GreedySearch]:
        """Give a search to go another way with; if it ends higher, what it found is taken over.

        Parameters
        ----------
        again : bool
            Whether the trial begins at the start, and its moves replace all moves so far; if not, it begins at
            the current graph, and its moves together count as one.
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
                self._reached = other._reached
            else:
                moves = ", ".join(other.moves)
                self._reached = self._reached.after(other.parents, other.trace[-1], moves, other.evaluations[-1])

    def _begin_at_start(self) -> None:
        value = float(self.evaluator.start(self._start))
        self._reached = _Reached(list(self._start), [value], [], [self.evaluator.n_evaluations])
        self.met.add(self.trace[-1], self.parents)

    def begin(self) -> float:
        """Begin a step; return the current graph's score for it."""
        return float(self.evaluator.step())

    def best(self, candidates: Sequence[Changes], value: float, improve: bool = True) -> int | None:
        """Return which candidate has the highest score; None if there is none.

        Parameters
        ----------
        candidates : sequence of changes
        value : float
            The score of the current graph.
        improve : bool
            Whether a candidate must be strictly better than the current graph.
        """
        least = value if improve else -np.inf
        scores = np.full(len(candidates), -np.inf)
        for batch in self._batches(len(candidates)):
            scores[batch] = self.propose(candidates[batch], least if isfinite(least) else None)
            # What lies below the best so far may be dropped; what ties with it may not.
            highest = float(scores[batch].max())
            least = max(least, highest - score_tie(highest))
        return self.choose(scores, value if improve else None)

    def choose(self, scores: FloatArray, value: float | None) -> int | None:
        """Return the position of the highest score, if it is above `value`, where there is one."""
        if not self.last_of_ties:
            return first_best(scores, value)
        from_end = first_best(scores[::-1], value)
        return None if from_end is None else len(scores) - 1 - from_end

    def propose(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; one below `at_least` may get ``-inf``."""
        scores = np.empty(len(candidates))
        for batch in self._batches(len(candidates)):
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise _TimeUpError
            scores[batch] = self.evaluator.propose_many(candidates[batch], at_least=at_least)
            self._progress.tick(*self._state())
        for i in np.flatnonzero(np.isnan(scores)).tolist():
            raise ContractError(f"{self.label}: the score of the parents {dict(candidates[i])} is nan")
        return scores

    def _batches(self, n: int) -> Iterator[slice]:
        """Yield which of n candidates are scored at once."""
        size = max(1, n) if self.evaluator.takes_all and self._deadline is None else _BATCH
        return (slice(low, low + size) for low in range(0, n, size))

    def commit(self, changes: Changes, move: str) -> None:
        """Make a move, given as new parents and in words."""
        value = float(self.evaluator.commit(changes))
        parents = self.parents.copy()
        for v, own in changes.items():
            parents[v] = sorted(own)
        self._reached = self._reached.after(parents, value, move, self.evaluator.n_evaluations)
        self.met.add(value, parents)
        self._progress.moved(*self._state(), move)

    def _state(self) -> tuple[int, float, int]:
        return len(self.moves), self.trace[-1], self.evaluator.n_evaluations


class _Reached(NamedTuple):
    """Where a search is; replaced as a whole, so that an interrupt never finds half a move in it."""

    parents: list[list[int]]
    trace: list[float]
    moves: list[str]
    evaluations: list[int]

    def after(self, parents: list[list[int]], value: float, move: str, evaluations: int) -> _Reached:
        """Return where a move leads, and after how many evaluations."""
        return _Reached(parents, [*self.trace, value], [*self.moves, move], [*self.evaluations, evaluations])


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
    """Return the position of the highest score, the first of tied ones.

    Parameters
    ----------
    scores : array
    value : float, optional
        The score to be strictly better than; without one, the highest is the best whatever it is.

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
