"""The evaluator of predictive scores: the log joint of every row is kept, and a candidate changes it.

A candidate costs one table, counted in one pass over the rows (:mod:`bnplug.scoring._deltas`), and one pass
over the log joint (:mod:`bnplug.scoring._passes`). A change to a node that is neither the class nor, before or
after, a child of the class has no effect on any gain, and is never evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from bnplug.arrays import FloatArray
from bnplug.contracts import Changes, Evaluator
from bnplug.data.table import Table
from bnplug.scoring._row_state import WORTH_TIDYING
from bnplug.scoring._state import SearchState
from bnplug.scoring._walks import TOO_WIDE
from bnplug.scoring.walking import Walk, _can_be_compiled

if TYPE_CHECKING:
    from bnplug.scoring.predictive import PredictiveScore


class _Kept(NamedTuple):
    """A candidate whose work a commit can use: what it changes, and what came of it.

    Its table may be in the scratch; the gain is always kept, so that it has the same last bits whether or not threads
    found it.
    """

    changes: dict[int, tuple[int, ...]]
    made: bool
    gain: float


class PredictiveEvaluator(Evaluator):
    """Scores the neighbours of a graph by a :class:`~bnplug.scoring.PredictiveScore`.

    Parameters
    ----------
    score : PredictiveScore
    table : Table
    n_jobs : int, optional
        Threads that score candidates. The result does not depend on it.
    """

    def __init__(self, score: PredictiveScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self.redraws = score.redraws
        self.random = None if score.random_state is None else check_random_state(score.random_state)
        self._kept: _Kept | None = None
        self._state = SearchState(score, table)
        self._state.draw(self.random)

    @property
    def parents(self) -> list[tuple[int, ...]]:
        """The current graph: the parents of every variable."""
        return [self._state.graph.parents_of(v) for v in range(len(self.table.names))]

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the log joint of a graph, term by term."""
        self._kept = None
        self._state.start(parents)
        self.value = self._state.value
        return self.value

    def step(self) -> float:
        """Begin a step; a score that draws its folds anew does so, and scores the graph on them unless it keeps."""
        if self.redraws:
            self._kept = None
            self._state.draw(self.random)
            self._state.rebuild()
            if not self.score.keeps:
                self.value = self._state.value
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score if `changes` were made."""
        return float(self.propose_in_turn([changes], np.array([-np.inf]))[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate, ``-inf`` for one that is found to be below `at_least`.

        Each candidate is summed by itself, so the result does not depend on the number of threads.
        """
        least = np.full(len(candidates), -np.inf if at_least is None else float(at_least))
        self._kept = None
        if not self._state.is_tidy and len(candidates) > WORTH_TIDYING * (
            len(self.table.names) + self._state.rows.n_classes
        ):
            self._state.tidy()
        batch = self._state.batch(candidates, least)
        self.n_evaluations += self._state.score_all(batch, candidates, self._workers(len(candidates)))
        self._state.checked(float(batch.scores.sum()))
        return batch.scores

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough, ``-inf`` for others below `at_least`.

        None after that one is scored, unless threads score them at the same time.
        """
        if self._workers(len(candidates)) > 1:
            scores = super().propose_in_turn(candidates, at_least)
            self._keep(candidates, at_least, scores, made=False)
            return scores
        state, batch = self._state, self._state.batch(candidates, np.asarray(at_least, dtype=np.float64))
        scores = batch.scores
        self._kept = None
        n = 0
        while n < len(candidates) and (n == 0 or not scores[n - 1] >= at_least[n - 1]):
            self.n_evaluations += state.score_batch(batch, n, len(candidates), True, state.scratch)
            n = int(state.scratch.last[0]) + 1
            if batch.status[n - 1] == TOO_WIDE:
                state.score_wide(batch, candidates[n - 1], n - 1, state.scratch)
        state.checked(float(scores[:n].sum()))
        self._keep(candidates, at_least, scores[:n], made=state.scratch.last[1] == n - 1)
        return scores[:n]

    def walk(self, walk: Walk) -> bool:
        """Go on with a walk in compiled code, unless threads would score its candidates, or the score has a penalty."""
        if not _can_be_compiled() or self.score.penalized or self._workers(walk.batch_size) > 1:
            return False
        self._kept = None
        self.n_evaluations += self._state.walk(walk)
        self.value = self._state.value
        return True

    def commit(self, changes: Changes) -> float:
        """Make `changes` to the log joint, and score it.

        If `propose` or `propose_in_turn` ended with them, they are not scored again, and mostly not counted again.
        """
        made = _sorted(changes)
        kept, self._kept = self._kept, None
        if kept is not None and kept.changes == made:
            self._state.move(made, kept.made, kept.gain)
        else:
            self._state.move(made)
        self.value = self._state.value
        return self.value

    def _keep(self, candidates: Sequence[Changes], at_least: FloatArray, scores: FloatArray, made: bool) -> None:
        """Keep the candidate that was good enough, and whether its table is in the scratch."""
        if len(scores) and scores[-1] >= at_least[len(scores) - 1] and scores[-1] > -np.inf:
            changes = candidates[len(scores) - 1]
            gain = float(scores[-1] + self._state.penalty_after(changes))
            self._kept = _Kept(_sorted(changes), made, gain)

    def _workers(self, n_candidates: int) -> int:
        return self._state.n_workers(n_candidates, self.n_jobs)


def _sorted(changes: Changes) -> dict[int, tuple[int, ...]]:
    return {v: tuple(sorted(own)) for v, own in changes.items()}
