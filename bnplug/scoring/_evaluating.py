"""Evaluators of predictive scores: they keep the log joint of every row, and a candidate changes it.

A candidate costs one table, counted in one pass over the rows (:mod:`bnplug.scoring._tables`), and one pass over the
log joint (:mod:`bnplug.scoring._passes`). A change to a node that is neither the class nor, before or after, a child of
the class changes no gain, and is never evaluated.

A table in memory is one block, which counts and scores in the same compiled call. Several blocks take two calls for
many candidates at a time: the first counts tables that are not cached, the second sums the gain.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import config
from sklearn.utils import check_random_state

from bnplug.contracts import Changes, PrefersLargeBatches, ProposesInTurn, Resamples, Walks, _up_to_first
from bnplug.counts._numbering import in_batches, merge_occurring
from bnplug.errors import ContractError
from bnplug.scoring._blocks import WORTH_TIDYING, BlockRows, features_of, most_configurations
from bnplug.scoring._bundles import (
    MOVE,
    MOVE_MADE,
    NOT_GIVEN,
    TOO_WIDE,
    Batch,
    Criterion,
    Given,
    KeptCounts,
    Key,
    Layout,
    Tables,
    make_scratch,
)
from bnplug.scoring._gains import Bounds
from bnplug.scoring._layout import Candidates, FlatGraph, FoldedRows, describe_rows
from bnplug.scoring._walks import DRAWING, GO_ON, LEAPS, N_ACCEPTED, PHASE, TRYING, UNTIL_MOVES, VALUE, go_on_address
from bnplug.scoring.walking import Walk
from bnplug.table.blocks import Blocks
from bnplug.table.table import Table
from bnplug.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from bnplug.scoring.predictive import PredictiveScore

#: The log joint is recomputed after this many moves. Each rounds by about 1e-13 if log joints are in the hundreds, and
#: values within 1e-9 are tied.
REFRESH = 1000

# A walk returns to Python after tries that could look at so many cells of log joints: some hundredths of a second.
_WALKED_CELLS = 1 << 25

# The largest number of cells of tables that are sent to the blocks together, and of candidates that are tried in turn.
_CELLS_AT_ONCE = 1 << 21
_IN_TURN = 16

# Rounding error of a sum over the blocks, relative to the largest possible one.
_ROUNDING = 1e-9

_Parents = dict[int, tuple[int, ...]]


class RowEvaluator(ProposesInTurn, Resamples):
    """Base of the evaluators of a :class:`~bnplug.scoring.PredictiveScore`."""

    _graph: FlatGraph
    _penalty: float

    def __init__(self, score: PredictiveScore, table: Table, n_jobs: int | None = 1) -> None:
        self.score = score
        self.table = table
        self.n_jobs = n_jobs
        self.resamples = score.resamples
        self.random = None if score.random_state is None else check_random_state(score.random_state)
        self._penalties_of: dict[tuple[int, tuple[int, ...]], float] = {}
        self._n_moves = 0
        self._draw()

    @property
    def parents(self) -> list[tuple[int, ...]]:
        """The current graph: the parents of every variable."""
        return [self._graph.parents_of(v) for v in range(len(self.table.names))]

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        """Compute the log joint of a graph, term by term."""
        self._graph = FlatGraph.of([tuple(sorted(family)) for family in parents])
        self._n_moves = 0
        return self._rebuild()

    def step(self) -> float:
        """Begin a step; a score that `resamples` draws new folds, and unless it `keeps`, scores the graph on them."""
        if self.resamples:
            kept = self.value
            self._draw()
            self._rebuild()
            if self.score.keeps:
                self.value = kept
        return self.value

    def propose_many(self, candidates: Sequence[Changes], at_least: float | None = None) -> FloatArray:
        """Return the score of every candidate; a score below `at_least` may be ``-inf``.

        Each candidate is summed separately: the result does not depend on the number of threads.
        """
        return self._scored(candidates, np.full(len(candidates), -np.inf if at_least is None else float(at_least)))

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that reaches its `at_least`."""
        scores = np.empty(0)
        for low in range(0, len(candidates), _IN_TURN):
            least = np.asarray(at_least[low : low + _IN_TURN], dtype=np.float64)
            some = self._scored(candidates[low : low + _IN_TURN], least)
            reached = np.flatnonzero(some >= least)
            scores = np.append(scores, some[: reached[0] + 1] if len(reached) else some)
            if len(reached):
                break
        return scores

    @abstractmethod
    def _draw(self) -> None:
        """Draw the folds, and arrange the rows of every block by them."""

    @abstractmethod
    def _rebuild(self) -> float:
        """Compute the log joint of the current graph from scratch; return its score."""

    @abstractmethod
    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates; a score below its `at_least` may be ``-inf``."""

    def _replace(self, changes: Changes) -> None:
        for v, parents in changes.items():
            self._graph = self._graph.replace(v, tuple(sorted(parents)))

    def _penalty_of(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the penalty of a family; each is computed once."""
        family = node, parents
        if family not in self._penalties_of:
            self._penalties_of[family] = float(self.score.penalty(self.table, node, parents))
        return self._penalties_of[family]

    def _current_penalty(self) -> float:
        families = enumerate(self.parents) if self.score.penalized else ()
        return fsum(self._penalty_of(v, parents) for v, parents in families)

    def _penalty_after(self, changes: Changes) -> float:
        """Return the penalty of the graph that changes lead to."""
        if not self.score.penalized:
            return self._penalty
        return self._penalty + sum(
            self._penalty_of(v, tuple(sorted(parents))) - self._penalty_of(v, self._graph.parents_of(v))
            for v, parents in changes.items()
        )

    def _penalties(self, candidates: Sequence[Changes]) -> FloatArray:
        if not self.score.penalized:
            return np.full(len(candidates), self._penalty)
        return np.array([self._penalty_after(changes) for changes in candidates], dtype=np.float64)

    def _checked(self, value: float) -> float:
        """Return the gain of a graph, or a sum of gains; a ``ContractError`` if it is nan."""
        if np.isnan(value):
            gain = getattr(type(self.score).gain, "__qualname__", "?")
            raise ContractError(
                f"the gain {gain!r} of {type(self.score).__name__} gave nan, or left a row of `out` unfilled, as it "
                "does where it raises an exception; set NUMBA_DISABLE_JIT=1 in the environment to see which"
            )
        return value


class _Kept(NamedTuple):
    """A candidate that was good enough: its changes, whether its table is in the scratch, and its gain."""

    changes: _Parents
    made: bool
    gain: float


class PredictiveEvaluator(RowEvaluator, Walks):
    """Scores the neighbors of a graph by a :class:`~bnplug.scoring.PredictiveScore`, on a table in memory.

    The result does not depend on `n_jobs`, the number of threads that score candidates.
    """

    _gain: float
    _kept: _Kept | None = None

    def propose_in_turn(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        """Return the scores of candidates up to the first that reaches its `at_least`; lower ones may be ``-inf``.

        Candidates after that are not scored, unless threads score them at the same time.
        """
        block = self._block
        if block.n_workers(len(candidates)) > 1:
            scores = _up_to_first(self.propose_many(candidates, float(np.min(at_least, initial=np.inf))), at_least)
            self._keep(candidates, at_least, scores, made=False)
            return scores
        batch = self._batch(candidates, np.asarray(at_least, dtype=np.float64))
        scores, self._kept = batch.scores, None
        n = 0
        while n < len(candidates) and (n == 0 or not scores[n - 1] >= at_least[n - 1]):
            self.n_evaluations += block.score_batch(batch, n, len(candidates), True, block.scratch)
            n = int(block.scratch.last[0]) + 1
            if batch.status[n - 1] == TOO_WIDE:
                block.score_wide(batch, candidates[n - 1], n - 1, block.scratch)
        self._checked(float(scores[:n].sum()))
        self._keep(candidates, at_least, scores[:n], made=block.scratch.last[1] == n - 1)
        return scores[:n]

    def commit(self, changes: Changes) -> float:
        """Apply `changes` to the log joint, and score it.

        If `propose_in_turn` ended with these changes, their score and usually their table are reused.
        """
        new = {v: tuple(sorted(parents)) for v, parents in changes.items()}
        self._n_moves += 1
        if self._n_moves % REFRESH == 0:
            self._replace(new)
            return self._rebuild()
        self._move(new)
        self._penalty = self._current_penalty()
        self.value = self._gain - self._penalty
        return self.value

    def walk(self, walk: Walk) -> bool:
        """Continue a walk in compiled code, unless threads would score its candidates, or the score has a penalty.

        A walk without a class is left to proposals.
        """
        block = self._block
        proposes = config.DISABLE_JIT or self.score.penalized or walk.target != self.table.target_index
        if proposes or block.n_workers(walk.batch_size) > 1:
            return False
        self._kept, block.graph = None, block.graph.with_room(walk.k + 1)
        batch, steps = walk.room(), walk.begin(self._gain, _WALKED_CELLS // block.joint.values.size)
        candidates = Candidates(batch.starts, batch.nodes, batch.bounds, batch.parents)
        numbers, n_before, stop = steps.numbers, self._n_moves, 0
        # Gaps determine the score after a move: to the last bit if it is an integer.
        numbers[GO_ON], numbers[LEAPS] = go_on_address(), block.criterion.whole and len(block.joint.gap) > 0
        while True:
            numbers[UNTIL_MOVES] = (self._n_moves // REFRESH + 1) * REFRESH - n_before
            self.n_evaluations += block.score_batch(batch, stop, stop, True, block.scratch, steps)
            self._graph, self._n_moves = block.graph, n_before + int(numbers[N_ACCEPTED])
            self._gain = self.value = float(steps.reals[VALUE])
            self._is_tidy &= bool(numbers[N_ACCEPTED] == 0)
            if numbers[PHASE] == DRAWING:
                walk.end(steps)
                return True
            # Candidates that the scratch has no room for, and moves that recompute the log joint, are left to Python.
            i = int(block.scratch.last[0])
            if numbers[PHASE] == TRYING:
                self._checked(float(batch.scores[: i + 1].sum()))
                block.score_wide(batch, candidates[i], i, block.scratch)
            else:
                new = {v: tuple(parents) for v, parents in candidates[i].items()}
                self._kept = _Kept(new, False, float(batch.scores[i]))
                batch.scores[i] = self.commit(new)
            stop = i + 1

    def _draw(self) -> None:
        score, table = self.score, self.table
        fold, header = describe_rows(table, score.folds(table, self.random), score.alpha, score.floor)
        self._widest = most_configurations(header, int((fold < header.n_folds).sum()))
        criterion = criterion_of(score, table)
        self._spawn(fold, header, type(score).gain, criterion, self._widest, self.n_jobs)
        weight = float(self._blocks.sum("tested_weight")[0])
        divisor = weight if score.aggregate == "mean" else 1.0 / header.unit
        self._header, self._criterion = header._replace(tested_weight=weight), criterion._replace(divisor=divisor)
        self._divide()

    def _spawn(self, fold: IntArray, *arguments: Any) -> None:
        """Make the rows of each block."""
        self._block = BlockRows(self.table, fold, *arguments)
        self._blocks = Blocks([self._block])

    def _divide(self) -> None:
        """Have the only block divide by itself: compiled code compares scores."""
        self._block.criterion = self._block.criterion._replace(divisor=self._criterion.divisor)
        self._criterion = self._criterion._replace(divisor=1.0)

    def _rebuild(self) -> float:
        """Compute the log joint of the current graph from scratch, family by family."""
        parents, target = self.parents, self.table.target_index
        families: list[Changes] = [{v: family} for v, family in enumerate(parents) if v == target or target in family]
        self._blocks.change("clear")
        n_added = 0
        for chosen, given in self._counted(families, FlatGraph.without_families(len(parents))):
            n_added += len(chosen)
            self._blocks.call("add", [families[i] for i in chosen], given, n_added == len(families))
        self._blocks.change("begin", parents)
        self._is_tidy, self._kept = False, None
        self._gain, self._penalty = self._measure(), self._current_penalty()
        self.value = self._gain - self._penalty
        return self.value

    def _measure(self) -> float:
        """Return the gain of the log joint as it is."""
        return self._checked(float(self._blocks.sum("gain")[0]) / self._criterion.divisor)

    def _tidy_for(self, n_candidates: int) -> None:
        """Sort rows by their gaps if that pays off for so many candidates."""
        columns = len(self.table.names) + self._header.n_classes
        if not self._is_tidy and n_candidates > WORTH_TIDYING * columns:
            self._blocks.change("tidy")
            self._is_tidy = True

    def _counted(self, candidates: Sequence[Changes], graph: FlatGraph) -> Iterator[tuple[IntArray, Given]]:
        """Yield the positions of candidates that are scored together, and their counts."""
        yield np.arange(len(candidates)), NOT_GIVEN

    def _batch(self, candidates: Sequence[Changes], at_least: FloatArray) -> Batch:
        penalties = self._penalties(candidates)
        return self._block.make_batch(candidates, penalties, at_least, self._gain - penalties)

    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        self._kept = None
        self._tidy_for(len(candidates))
        batch = self._batch(candidates, at_least)
        self.n_evaluations += self._block.score_all(batch, candidates)
        self._checked(float(batch.scores.sum()))
        return batch.scores

    def _move(self, changes: _Parents) -> None:
        """Apply changes to the log joint and the graph, and update the gain."""
        kept, self._kept, block = self._kept, None, self._block
        if kept is not None and kept.changes != changes:
            kept = None
        made = kept is not None and kept.made
        changed = block.apply(changes, MOVE_MADE if made else MOVE, block.joint)
        block.replace(changes)
        self._graph = block.graph
        if changed:
            self._is_tidy = False
            self._gain = self._measure() if kept is None else kept.gain

    def _keep(self, candidates: Sequence[Changes], at_least: FloatArray, scores: FloatArray, made: bool) -> None:
        """Remember the last candidate if it was good enough."""
        if len(scores) and scores[-1] >= at_least[len(scores) - 1] and scores[-1] > -np.inf:
            changes = candidates[len(scores) - 1]
            new = {v: tuple(sorted(parents)) for v, parents in changes.items()}
            self._kept = _Kept(new, made, float(scores[-1] + self._penalty_after(changes)))


class BlockEvaluator(PredictiveEvaluator, PrefersLargeBatches):
    """Does the same on rows in several blocks."""

    propose_in_turn = RowEvaluator.propose_in_turn

    def walk(self, walk: Walk) -> bool:
        """Leave the walk to proposals, since each try needs counts of all blocks."""
        return False

    def _spawn(self, fold: IntArray, header: FoldedRows, *arguments: Any) -> None:
        self._blocks = self.table.spawn(BlockRows, self.table.split(fold), header, *arguments)
        self._scratch, self._cache = make_scratch(header, 1), KeptCounts()

    def _divide(self) -> None:
        """Blocks return sums."""

    def _move(self, changes: _Parents) -> None:
        changed = bool(Layout.of(self._header, self._graph, Candidates.of([changes]), self._scratch).sizes[0])
        ((_, given),) = self._counted([changes], self._graph) if changed else [(None, None)]
        self._blocks.change("move", changes, given)
        self._replace(changes)
        if changed:
            self._is_tidy = False
            self._gain = self._measure()

    def _scored(self, candidates: Sequence[Changes], at_least: FloatArray) -> FloatArray:
        self._tidy_for(len(candidates))
        penalties, flat = self._penalties(candidates), Candidates.of(candidates)
        scores, allowed = self._gain - penalties, self._allowed(at_least + penalties)
        for chosen, given in self._counted(flat, self._graph):
            self.n_evaluations += len(chosen)
            (sums,) = self._blocks.sum("scores", _some(flat, chosen), given, allowed[chosen])
            scores[chosen] = sums / self._criterion.divisor - penalties[chosen]
        self._checked(float(scores.sum()))
        return scores

    def _allowed(self, least: FloatArray) -> FloatArray:
        """Return by how much all rows together may fall short of the largest value, for a gain of at least `least`."""
        if not self._criterion.droppable:
            return np.full(len(least), np.inf)
        most = self._criterion.maximum * self._header.tested_weight
        return most - least * self._criterion.divisor + _ROUNDING * max(1.0, abs(most))

    def _counted(self, candidates: Sequence[Changes], graph: FlatGraph) -> Iterator[tuple[IntArray, Given]]:
        """Yield the positions of candidates that change a gain, as many as go together, and their counts."""
        flat = Candidates.of(candidates)
        layout = Layout.of(self._header, graph, flat, self._scratch)
        width = (self._header.n_folds + 1) * self._header.n_classes
        narrow = np.flatnonzero((layout.sizes > 0) & (layout.sizes <= self._widest))
        sizes = (layout.sizes[narrow] * width).astype(np.int64)
        cells = dict(zip(narrow.tolist(), sizes.tolist(), strict=True))
        for chosen in in_batches(cells, cells.__getitem__, _CELLS_AT_ONCE):
            keys = [layout.key(i) for i in chosen]
            self._count({key: cells[i] for i, key in zip(chosen, keys, strict=True)})
            yield np.array(chosen), self._cache.given(keys)
        for i in np.flatnonzero(layout.sizes > self._widest):
            features = features_of(self._header, graph, flat[int(i)])
            states = merge_occurring(self._blocks.each("occurring", features), self._header.sizes[features])[0]
            (counts,) = self._blocks.sum("count_wide", flat[int(i)], states)
            yield np.array([i]), Given(counts, np.array([0, len(counts)]), states)

    def _count(self, cells: Mapping[Key, int]) -> None:
        """Count the tables with so many cells that are not cached."""
        keys = self._cache.lacking(cells)
        if keys:
            tables = Tables.of(keys, [cells[key] for key in keys])
            (counts,) = self._blocks.sum("count", tables)
            self._cache.add(keys, counts, tables.places)


def criterion_of(score: PredictiveScore, table: Table) -> Criterion:
    """Return the criterion of a score, without the address of its gain and the divisor."""
    bounds = score.gain_bounds(table)
    numbers = {name: float(value) for name, value in asdict(bounds or Bounds(maximum=0.0)).items() if name != "whole"}
    params = np.array(score.gain_params(table), dtype=np.float64).ravel()
    whole = bounds is not None and bool(bounds.whole)
    return Criterion(gain=0, params=params, divisor=1.0, droppable=bounds is not None, whole=whole, **numbers)


def _some(candidates: Candidates, chosen: IntArray) -> Candidates:
    """Return some of the candidates."""
    if len(chosen) == len(candidates):
        return candidates
    return Candidates.of([candidates[int(i)] for i in chosen])
