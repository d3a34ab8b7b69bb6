"""The evaluator of predictive scores: the log joint of every row is kept, and a candidate changes it.

A candidate costs one table, counted in one pass over the rows (:mod:`bnplug.scoring._deltas`), and one pass
over the log joint (:mod:`bnplug.scoring._passes`). A change to a node that is neither the class nor, before or
after, a child of the class has no effect on any gain, and is never evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from bnplug.arrays import FloatArray
from bnplug.compiling import run_in_threads
from bnplug.contracts import Changes, Evaluator
from bnplug.data.table import Table
from bnplug.errors import ContractError
from bnplug.scoring._deltas import (
    CandidateFamilies,
    FlatGraph,
    JointDelta,
    fill_dense,
    find_features,
    flatten_families,
    n_configurations,
    no_delta,
    wide_delta,
    with_replaced,
)
from bnplug.scoring._passes import (
    Criterion,
    Joint,
    Scratch,
    apply_delta,
    delta_in,
    make_scratch,
    score_candidates,
    score_delta,
)
from bnplug.scoring._rows import FoldedRows, arrange
from bnplug.scoring.gains import Bounds, compile_gain

if TYPE_CHECKING:
    from bnplug.scoring.predictive import PredictiveScore

# Sums that terms were added to and taken out of are made anew after this many commits. Each rounds by about 1e-13
# where log joints are in the hundreds, and ties are told within 1e-9.
_REFRESH = 1000

# With fewer cells of log joints than this in all candidates together, threads cost more than they save.
_WORTH_THREADS = 1 << 21

# How many cells [fold, configuration, class] a candidate's table may have before only the configurations
# that occur are numbered: two for each cell of the log joint, within these limits.
_FEWEST_CELLS, _MOST_CELLS = 1 << 16, 1 << 22


class _Kept(NamedTuple):
    """A candidate whose work a commit can use: what it changes, and what came of it.

    The size is that of its JointDelta, which is in the scratch, or 0 where it is not; the gain is always kept, so that
    it has the same last bits whether or not threads found it.
    """

    changes: dict[int, tuple[int, ...]]
    size: int
    gain: float


class _Batch(NamedTuple):
    """Candidates that are scored together.

    Attributes
    ----------
    families : CandidateFamilies
        What they take out and put in.
    penalties, at_least : float64 arrays of shape (candidates,)
        The penalty of the graph that each leads to, and the score below which ``-inf`` will do.
    result : float64 array of shape (candidates,)
        Their scores; at first, what they are if no gain changes.
    """

    families: CandidateFamilies
    penalties: FloatArray
    at_least: FloatArray
    result: FloatArray


class PredictiveEvaluator(Evaluator):
    """Scores the neighbours of a graph by a :class:`~bnplug.scoring.PredictiveScore`."""

    _joint: Joint
    _last: _Kept | None

    def __init__(self, score: PredictiveScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.redraws = score.redraws
        self.table = table
        self.n_jobs = n_jobs
        self.redraws = score.redraws
        self.random = None if score.random_state is None else check_random_state(score.random_state)
        self._compiled = compile_gain(type(score).gain)
        self._known_penalties: dict[tuple[int, tuple[int, ...]], float] = {}
        self._draw()

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Make the log joint of a graph, term by term."""
        self._set_parents([tuple(sorted(own)) for own in parents])
        self._n_commits = 0
        self._rebuild()
        return self.value

    def step(self) -> float:
        """Begin a step; a score that draws its folds anew does so, and the graph is scored on them."""
        if self.redraws:
            self._draw()
            self._rebuild()
        return self.value

    def propose(self, changes: Changes) -> float:
        """Return the score if `changes` were made."""
        return float(self.propose_in_turn([changes], np.array([-np.inf]))[0])

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate, ``-inf`` for one that is found to be below `at_least`.

        Each candidate is summed by itself, so the result does not depend on the number of threads.
        """
        least = np.full(len(candidates), -np.inf if at_least is None else float(at_least))
        batch = self._batch(candidates, least)
        workers = self._workers(len(candidates))
        self._last = None
        if workers == 1:
            self.n_evaluations += self._score_range(batch, 0, len(candidates), self._scratch)
        else:
            parts = np.linspace(0, len(candidates), 4 * workers + 1).astype(int).tolist()
            score_range = partial(self._score_range, batch)
            self.n_evaluations += sum(run_in_threads(score_range, parts[:-1], parts[1:], n_jobs=workers))
        self._checked(float(batch.result.sum()))
        return batch.result

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that is good enough, ``-inf`` for others below `at_least`.

        None after that one is scored, unless threads score them at the same time.
        """
        if self._workers(len(candidates)) > 1:
            scores = super().propose_in_turn(candidates, at_least)
            self._remember(candidates, at_least, scores, 0)
            return scores
        batch = self._batch(candidates, at_least)
        result = batch.result
        self._last = None
        n, made, size = 0, -1, 0
        while n < len(candidates) and (n == 0 or not result[n - 1] >= at_least[n - 1]):
            self.n_evaluations += self._score(batch, True, n, len(candidates), self._scratch)
            last, made, size = self._scratch.found.tolist()
            if result[last] == np.inf:
                self._score_wide(batch, last, self._scratch)
            n = last + 1
        self._checked(float(result[:n].sum()))
        self._remember(candidates, at_least, result[:n], size if made == n - 1 else 0)
        return result[:n]

    def commit(self, changes: Changes) -> float:
        """Make `changes` to the log joint, and score it.

        If `propose` or `propose_in_turn` ended with them, they are not scored again, and mostly not counted again.
        """
        made = _sorted(changes)
        last = self._last if self._last is not None and self._last.changes == made else None
        delta = self._kept_delta(last.size) if last is not None and last.size else self._delta_of(made)
        self._replace_parents(made)
        self._n_commits += 1
        if self._n_commits % _REFRESH == 0:
            self._rebuild()
        elif delta is not None:
            apply_delta(self._rows, self._joint, delta, True)
            self._rate(None if last is None else last.gain)
        else:
            self.value = self._total_gain - self._penalty
        self._last = None
        return self.value

    def _draw(self) -> None:
        """Draw the folds, and arrange the rows by them."""
        folds = self.score.folds(self.table, self.random)
        self._rows = arrange(self.table, folds, self.score.alpha, self.score.floor)
        self._criterion = _criterion(self.score, self.table, self._rows)
        cells = min(max(_FEWEST_CELLS, 2 * self._rows.n_tested * self._rows.n_classes), _MOST_CELLS)
        self._limit = cells // ((self._rows.n_folds + 1) * self._rows.n_classes)
        self._scratch = make_scratch(self._rows, self._limit)
        self._still = no_delta(self._rows)

    def _rebuild(self) -> None:
        """Make the log joint of the current graph anew."""
        self._last = None
        self._scratch.known[:] = False
        shape = (self._rows.n_tested, self._rows.n_classes)
        gapped = not (np.isnan(self._criterion.high_gap) and np.isnan(self._criterion.low_gap))
        n_gaps = shape[0] if gapped else 0
        self._joint = Joint(
            values=np.zeros(shape),
            zeros=np.zeros((0, 0) if self._rows.finite else shape, dtype=np.int16),
            gap=np.empty(n_gaps),
            rival=np.empty(n_gaps, dtype=np.uint32),
            second_gap=np.empty(n_gaps),
        )
        target = self.table.target_index
        families = flatten_families([[(v, own)] for v, own in enumerate(self.parents) if v == target or target in own])
        for i in range(len(families.nodes)):
            apply_delta(self._rows, self._joint, self._delta(families, i), i == len(families.nodes) - 1)
        self._rate()

    def _rate(self, gain: float | None = None) -> None:
        """Score the log joint as it is, unless that is known."""
        self._total_gain: float = self._checked(self._score_delta(self._still, self._scratch)) if gain is None else gain
        self.value = self._total_gain - self._penalty

    def _set_parents(self, parents: list[tuple[int, ...]]) -> None:
        self.parents = parents
        self._graph = FlatGraph.of(parents)
        self._add_penalties()

    def _replace_parents(self, changes: dict[int, tuple[int, ...]]) -> None:
        """Give some variables other parents; what is kept about the others stays as it is."""
        self.parents = list(self.parents)
        for v, own in changes.items():
            self.parents[v] = own
            self._graph = self._graph.replace(v, own)
            self._scratch.known[v] = False
        self._add_penalties()

    def _add_penalties(self) -> None:
        own = enumerate(self.parents) if self.score.penalized else ()
        self._penalty = fsum(self._family_penalty(v, parents) for v, parents in own)

    def _batch(self, candidates: Sequence[Changes], at_least: FloatArray) -> _Batch:
        penalties = np.full(len(candidates), self._penalty)
        if self.score.penalized:
            penalties += [self._penalty_change(changes) for changes in candidates]
        at_least = np.asarray(at_least, dtype=np.float64)
        return _Batch(self._families(candidates), penalties, at_least, self._total_gain - penalties)

    def _remember(self, candidates: Sequence[Changes], at_least: FloatArray, scores: FloatArray, size: int) -> None:
        """Keep the candidate that was good enough, and the size of its JointDelta if that is in the scratch."""
        if len(scores) and scores[-1] >= at_least[len(scores) - 1] and scores[-1] > -np.inf:
            changes = candidates[len(scores) - 1]
            penalty = self._penalty + (self._penalty_change(changes) if self.score.penalized else 0.0)
            self._last = _Kept(_sorted(changes), size, float(scores[-1] + penalty))

    def _families(self, candidates: Sequence[Changes]) -> CandidateFamilies:
        """Return the families that candidates take out and put in."""
        new = flatten_families([changes.items() for changes in candidates])
        return with_replaced(new, self._graph, self.table.target_index)

    def _workers(self, n_candidates: int) -> int:
        worth = n_candidates > 1 and self._joint.values.size * n_candidates >= _WORTH_THREADS
        return int(effective_n_jobs(self.n_jobs)) if worth else 1

    def _delta_of(self, changes: Changes) -> JointDelta | None:
        """Return what `changes` make of the log joint, None if nothing."""
        families = self._families([changes])
        return self._delta(families, 0) if families.starts[-1] else None

    def _delta(self, families: CandidateFamilies, candidate: int) -> JointDelta:
        scratch = self._scratch
        features = scratch.features[: find_features(self._rows, families, candidate, scratch.features)]
        size = n_configurations(self._rows, features)
        if size > self._limit:
            return wide_delta(self._rows, families, candidate)
        delta = self._kept_delta(int(size))
        fill_dense(self._rows, families, candidate, features, scratch.known, scratch.logs, delta)
        return delta

    def _kept_delta(self, size: int) -> JointDelta:
        """Return the JointDelta of `size` configurations that is in the scratch, until the next one is made there."""
        delta: JointDelta = delta_in(self._scratch, self._rows.n_folds, size, self._rows.n_classes)
        return delta

    def _score_delta(self, delta: JointDelta, scratch: Scratch, penalty: float = 0.0, least: float = -np.inf) -> float:
        gain, criterion = self._compiled.address, self._criterion
        return float(score_delta(self._rows, self._joint, delta, gain, criterion, penalty, least, scratch))

    def _score(self, batch: _Batch, in_turn: bool, first: int, stop: int, scratch: Scratch) -> int:
        """Score the candidates first:stop, but those with too many configurations; return how many change a gain."""
        families, penalties, at_least, result = batch
        n_scored = score_candidates(
            self._rows, self._joint, families, first, stop, self._compiled.address, self._criterion, penalties,
            at_least, in_turn, self._limit, scratch, result,
        )  # fmt: skip
        return int(n_scored)

    def _score_range(self, batch: _Batch, first: int, stop: int, scratch: Scratch | None = None) -> int:
        """Score the candidates first:stop; return how many change a gain.

        Each thread needs a scratch of its own.
        """
        scratch = scratch or make_scratch(self._rows, self._limit)
        n_scored = self._score(batch, False, first, stop, scratch)
        for i in (first + np.flatnonzero(batch.result[first:stop] == np.inf)).tolist():
            self._score_wide(batch, i, scratch)
        return n_scored

    def _score_wide(self, batch: _Batch, candidate: int, scratch: Scratch) -> None:
        """Score a candidate with so many configurations that only those that occur are numbered."""
        delta = wide_delta(self._rows, batch.families, candidate)
        penalty, least = float(batch.penalties[candidate]), float(batch.at_least[candidate])
        batch.result[candidate] = self._score_delta(delta, scratch, penalty, least)

    def _family_penalty(self, node: int, parents: tuple[int, ...]) -> float:
        family = (node, parents)
        if family not in self._known_penalties:
            self._known_penalties[family] = float(self.score.penalty(self.table, node, parents))
        return self._known_penalties[family]

    def _penalty_change(self, changes: Changes) -> float:
        return sum(
            self._family_penalty(v, tuple(sorted(own))) - self._family_penalty(v, self.parents[v])
            for v, own in changes.items()
        )

    def _checked(self, score: float) -> float:
        if np.isnan(score):
            name = getattr(type(self.score).gain, "__qualname__", "?")
            raise ContractError(
                f"the gain {name!r} of {type(self.score).__name__} gave nan, or left a row of `out` unfilled"
            )
        return score


def _sorted(changes: Changes) -> dict[int, tuple[int, ...]]:
    return {v: tuple(sorted(own)) for v, own in changes.items()}


def _criterion(score: PredictiveScore, table: Table, rows: FoldedRows) -> Criterion:
    bounds = score.gain_bounds()
    known = bounds or Bounds(maximum=0.0)
    return Criterion(
        params=np.array(score.gain_params(table), dtype=np.float64).ravel(),
        maximum=float(known.maximum),
        high_gap=float(known.high_gap),
        low_gap=float(known.low_gap),
        low_value=float(known.low_value),
        slope=float(known.slope),
        droppable=bounds is not None,
        divisor=rows.tested_weight if score.aggregate == "mean" else 1.0 / rows.unit,
    )
